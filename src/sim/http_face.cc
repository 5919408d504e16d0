#include "sim/http_face.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "sim/ask.h"

namespace careen::sim {

namespace {

using io::ServerRequest;
using io::ServerResponse;
using io::Task;

// More than any watch lasts: the server decides when one ends.
constexpr io::Duration kPatience = io::hours{24};
// kubectl and informers keep a connection for each watch.
constexpr int kConnections = 2000;

// Of a client that sets no limit to its watch.
constexpr double kWatchSeconds = 30 * 60;

constexpr const char* kDiscoveryType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

std::string client_name(const ServerRequest& request) {
  const std::string_view agent = io::header(request.headers, "User-Agent");
  const std::string_view name = agent.substr(0, agent.find_first_of(" /"));
  return name.empty() ? "unknown" : std::string(name);
}

class WatchBody final : public io::BodyStream {
 public:
  explicit WatchBody(std::unique_ptr<kube::Stream> stream) : stream_(std::move(stream)) {}
  Task<io::Result<bool>> read(std::string& into) override { return stream_->read(into); }

 private:
  std::unique_ptr<kube::Stream> stream_;
};

ServerResponse to_http(kube::Response from) {
  ServerResponse response;
  response.status = from.status;
  response.body = std::move(from.body);
  // All but "404 page not found" is JSON. Clients tell the two forms of discovery by their type.
  if (response.body.starts_with('{')) response.content_type = "application/json";
  if (response.body.starts_with(R"({"kind":"APIGroupDiscoveryList")")) response.content_type = kDiscoveryType;
  if (from.retry_after) {
    const auto whole = std::chrono::ceil<std::chrono::seconds>(*from.retry_after);
    response.headers.emplace_back("Retry-After", std::to_string(whole.count()));
  }
  return response;
}

// The network lost the request or its answer: to an HTTP client that is a connection that breaks.
class Broken final : public io::BodyStream {
 public:
  Task<io::Result<bool>> read(std::string&) override { co_return io::fail(io::ErrorKind::closed, "lost on the way"); }
};
ServerResponse broken() {
  ServerResponse response;
  response.stream = std::make_unique<Broken>();
  return response;
}

// A watch lasts as long on the client's clock as the client asked for, or as long as the server lets it.
std::string lasting(std::string path, double speed) {
  double seconds = kWatchSeconds;
  const std::string asked(query_of(path)["timeoutSeconds"]);
  int64_t limit = 0;
  std::from_chars(asked.data(), asked.data() + asked.size(), limit);
  if (limit > 0) seconds = static_cast<double>(limit);
  // The first value of a name counts.
  const size_t query = path.find('?');
  const std::string added = "timeoutSeconds=" + std::to_string(static_cast<int64_t>(std::ceil(seconds * speed)));
  if (query == std::string::npos) return path + "?" + added;
  return path.insert(query + 1, added + "&");
}

Task<ServerResponse> answer(io::RealLoop& loop, Network& network, double speed, ServerRequest from) {
  kube::Request request;
  request.method = from.method;
  request.path = std::move(from.target);
  request.content_type = std::string(io::header(from.headers, "Content-Type"));
  request.accept = std::string(io::header(from.headers, "Accept"));
  request.body = std::move(from.body);
  request.timeout = kPatience;
  const auto transport = network.connect(loop, client_name(from));
  if (!ApiServer::is_watch(request)) {
    auto answer = co_await transport->send(std::move(request));
    co_return answer ? to_http(std::move(*answer)) : broken();
  }
  if (speed != 1) request.path = lasting(std::move(request.path), speed);
  auto opened = co_await transport->open(std::move(request));
  if (!opened) co_return broken();
  ServerResponse response = to_http(std::move(opened->head));
  if (opened->stream) {
    response.content_type = "application/json";
    response.stream = std::make_unique<WatchBody>(std::move(opened->stream));
  }
  co_return response;
}

}  // namespace

io::Result<std::unique_ptr<io::HttpServer>> serve_model(io::RealLoop& loop, Network& network, std::string address,
                                                        double speed) {
  io::ServerOptions options;
  options.address = std::move(address);
  return serve_model(loop, network, std::move(options), speed);
}

io::Result<std::unique_ptr<io::HttpServer>> serve_model(io::RealLoop& loop, Network& network, io::ServerOptions options,
                                                        double speed) {
  options.max_connections = kConnections;
  return io::serve_http(loop, std::move(options), [&loop, &network, speed](ServerRequest request) {
    return answer(loop, network, speed, std::move(request));
  });
}

}  // namespace careen::sim
