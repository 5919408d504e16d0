#include "web/info.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "kube/json.h"
#include "kube/json_text.h"

namespace careen::web {

namespace {

constexpr io::Duration kStepLimit = io::seconds{1};
// How long the leader may pause within the document.
constexpr io::Duration kPauseLimit = io::seconds{5};
// A pod keeps its address; a leader that is made anew under its name soon shows up under the new one.
constexpr io::Duration kRememberAddress = io::seconds{5};
// On a request that a replica sends on, so that it goes no further.
constexpr const char* kForwarded = "X-Careen-Forwarded";

io::ServerResponse json_response() {
  io::ServerResponse response;
  response.content_type = "application/json";
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

io::ServerResponse error_response(int status, std::string_view text) {
  io::ServerResponse response = json_response();
  response.status = status;
  response.body = "{\"error\":";
  kube::append_json_text(response.body, text);
  response.body += "}";
  return response;
}

// Our own document: between two pieces, everything else has its turn.
class OwnBody final : public io::BodyStream {
 public:
  OwnBody(io::Loop& loop, InfoSource::Pieces pieces) : loop_(loop), pieces_(std::move(pieces)) {}
  io::Task<io::Result<bool>> read(std::string& into) override {
    co_await io::yield_to_others(loop_);
    co_return pieces_(into);
  }

 private:
  io::Loop& loop_;
  InfoSource::Pieces pieces_;
};

// The leader's, as it comes.
class LeadersBody final : public io::BodyStream {
 public:
  explicit LeadersBody(std::unique_ptr<io::HttpStream> stream) : stream_(std::move(stream)) {}
  io::Task<io::Result<bool>> read(std::string& into) override { return stream_->read(into); }

 private:
  std::unique_ptr<io::HttpStream> stream_;
};

// The address as it stands in a URL.
std::string url_host(const std::string& ip) { return ip.find(':') == std::string::npos ? ip : "[" + ip + "]"; }

}  // namespace

struct InfoApi::Failed {
  int status = 502;
  std::string text;
};

InfoApi::InfoApi(io::Loop& loop, kube::Client& client, io::HttpClient& http, InfoSource source, std::string ns)
    : loop_(loop), client_(client), http_(http), source_(std::move(source)), ns_(std::move(ns)) {}

InfoApi::~InfoApi() = default;

io::Task<io::ServerResponse> InfoApi::answer(io::ServerRequest request) {
  if (source_.leading()) co_return own();
  if (!io::header(request.headers, kForwarded).empty()) {
    co_return error_response(503, "the replica that was asked for the leader's information does not lead any more");
  }
  co_return co_await forwarded();
}

io::ServerResponse InfoApi::own() {
  io::ServerResponse response = json_response();
  response.stream = std::make_unique<OwnBody>(loop_, source_.document());
  return response;
}

io::Task<io::ServerResponse> InfoApi::forwarded() {
  const std::string holder = source_.holder();
  if (holder.empty()) co_return error_response(503, "no replica leads at the moment");
  const Outcome<std::string> ip = co_await leader_ip(holder);
  if (!ip) co_return error_response(ip.error().status, ip.error().text);

  io::HttpRequest request;
  request.url = fmt::format("http://{}:{}{}", url_host(*ip), port_, kPath);
  request.headers = {{kForwarded, "true"}, {"Accept", "application/json"}};
  request.connect_timeout = kStepLimit;
  request.timeout = kStepLimit;
  request.idle_timeout = kPauseLimit;
  const std::string url = request.url;
  auto stream = co_await http_.open(std::move(request));
  if (!stream) {
    address_.reset();
    co_return error_response(
        502, fmt::format("the leader {} does not answer at {}: {}", holder, url, stream.error().message));
  }
  if ((*stream)->status() != 200) {
    address_.reset();
    co_return error_response(
        502, fmt::format("the leader {} answers with status {} at {}", holder, (*stream)->status(), url));
  }
  io::ServerResponse response = json_response();
  response.stream = std::make_unique<LeadersBody>(std::move(*stream));
  co_return response;
}

io::Task<InfoApi::Outcome<std::string>> InfoApi::leader_ip(std::string holder) {
  if (address_ && address_->holder == holder && loop_.now() - address_->read < kRememberAddress) {
    co_return address_->ip;
  }
  const std::string pod = holder.substr(0, holder.find('_'));
  if (pod.empty()) {
    co_return tl::make_unexpected(Failed{502, "the leader calls itself " + holder + ", which names no pod"});
  }
  kube::CallOptions options;
  options.timeout = kStepLimit;
  options.attempts = 1;
  const auto body = co_await client_.get(kube::resources::pods, ns_, pod, options);
  if (!body) {
    co_return tl::make_unexpected(
        Failed{502, fmt::format("the leader's pod {}/{} cannot be read: {}", ns_, pod, body.error().message)});
  }
  const auto json = kube::Json::parse(*body);
  const auto ip = json ? json->at("/status/podIP").text() : std::nullopt;
  if (!ip || ip->empty()) {
    co_return tl::make_unexpected(Failed{502, fmt::format("the leader's pod {}/{} has no address", ns_, pod)});
  }
  address_ = Address{std::move(holder), std::string(*ip), loop_.now()};
  co_return address_->ip;
}

}  // namespace careen::web
