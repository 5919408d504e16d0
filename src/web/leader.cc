#include "web/leader.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "io/address.h"
#include "io/query.h"
#include "kube/client.h"
#include "kube/json.h"
#include "kube/resource.h"
#include "kube/url.h"
#include "web/holder.h"
#include "web/json_answer.h"
#include "web/replica_key.h"

namespace careen::web {

namespace {

constexpr io::Duration kStepLimit = io::seconds{1};
// A pod keeps its address; a leader that is created again under its name soon shows up under the new one.
constexpr io::Duration kRememberAddress = io::seconds{5};
constexpr const char* kPassedOn = "X-Careen-Forwarded";
constexpr size_t kLongestError = 64 << 10;

// The leader's body, as it comes.
class LeadersBody final : public io::BodyStream {
 public:
  explicit LeadersBody(std::unique_ptr<io::HttpStream> stream) : stream_(std::move(stream)) {}
  io::Task<io::Result<bool>> read(std::string& into) override { return stream_->read(into); }

 private:
  std::unique_ptr<io::HttpStream> stream_;
};

// The address as it is written in a URL.
std::string url_host(const std::string& ip) { return ip.find(':') == std::string::npos ? ip : "[" + ip + "]"; }

io::Task<io::ServerResponse> passed_on(std::unique_ptr<io::HttpStream> stream) {
  io::ServerResponse response = json_answer();
  response.status = stream->status();
  const std::string_view type = io::header(stream->headers(), "content-type");
  if (!type.empty()) response.content_type = type;
  for (;;) {
    const auto more = co_await stream->read(response.body);
    if (!more || !*more || response.body.size() > kLongestError) break;
  }
  co_return response;
}

}  // namespace

std::string encoded_target(std::string_view path, std::string_view query) {
  std::string out;
  do {
    if (path.starts_with('/')) path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    out += '/';
    kube::append_encoded(out, segment);
  } while (!path.empty());
  char joint = '?';
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    out += std::exchange(joint, '&');
    const size_t equals = pair.find('=');
    kube::append_encoded(out, io::url_decoded(pair.substr(0, equals), true));
    if (equals == std::string_view::npos) continue;
    out += '=';
    kube::append_encoded(out, io::url_decoded(pair.substr(equals + 1), true));
  }
  return out;
}

Leader::Leader(io::Loop& loop, kube::Client& client, io::HttpClient& http, std::function<std::string()> holder,
               std::string ns, bool tls)
    : loop_(loop), client_(client), http_(http), holder_(std::move(holder)), ns_(std::move(ns)), tls_(tls) {}

bool Leader::was_passed_on(const io::ServerRequest& request) { return !io::header(request.headers, kPassedOn).empty(); }

io::Task<io::ServerResponse> Leader::answer(LeaderRequest wanted) {
  const std::string holder = holder_();
  if (holder.empty()) co_return json_error(503, "no replica leads at the moment");
  const Outcome<std::string> ip = co_await ip_of(holder);
  if (!ip) co_return json_error(ip.error().status, ip.error().text);

  const bool pass_errors = wanted.pass_errors;
  auto request = request_to(holder, *ip, std::move(wanted));
  if (!request) co_return json_error(request.error().status, request.error().text);
  const std::string url = request->url;
  auto stream = co_await http_.open(std::move(*request));
  if (!stream) {
    address_.reset();
    co_return json_error(502,
                         fmt::format("the leader {} does not answer at {}: {}", holder, url, stream.error().message));
  }
  const int status = (*stream)->status();
  if (status != 200 && pass_errors) co_return co_await passed_on(std::move(*stream));
  if (status != 200) {
    address_.reset();
    co_return json_error(502, fmt::format("the leader {} answers with status {} at {}", holder, status, url));
  }
  io::ServerResponse response = json_answer();
  const std::string_view type = io::header((*stream)->headers(), "content-type");
  if (!type.empty()) response.content_type = type;
  response.stream = std::make_unique<LeadersBody>(std::move(*stream));
  co_return response;
}

io::Task<io::Result<std::string>> Leader::post(std::string path, std::string body, std::string key,
                                               io::Duration limit) {
  const std::string holder = holder_();
  if (holder.empty()) co_return io::fail(io::ErrorKind::connect, "no replica leads at the moment");
  const Outcome<std::string> ip = co_await ip_of(holder);
  if (!ip) co_return io::fail(io::ErrorKind::connect, ip.error().text);
  io::HttpRequest request;
  request.method = "POST";
  request.url = fmt::format("https://{}:{}{}", url_host(*ip), port_, encoded_target(path, ""));
  request.headers = {{"Accept", "application/json"}, {"Content-Type", "application/json"}, {kPassedOn, "true"}};
  request.body = std::move(body);
  request.connect_timeout = limit;
  request.timeout = limit;
  request.pinned_key = std::move(key);
  auto answer = co_await http_.send(std::move(request));
  if (answer && answer->status == 200) co_return std::move(answer->body);
  address_.reset();
  co_return io::fail(io::ErrorKind::connect,
                     answer ? fmt::format("the leader {} answers with status {}", holder, answer->status)
                            : fmt::format("the leader {} does not answer: {}", holder, answer.error().message));
}

Leader::Outcome<io::HttpRequest> Leader::request_to(const std::string& holder, const std::string& ip,
                                                    LeaderRequest wanted) const {
  io::HttpRequest request;
  request.url = fmt::format("{}://{}:{}{}", tls_ ? "https" : "http", url_host(ip), port_,
                            encoded_target(wanted.path, wanted.query));
  request.headers = {{"Accept", "application/json, text/event-stream"}, {kPassedOn, "true"}};
  request.connect_timeout = kStepLimit;
  request.timeout = kStepLimit;
  request.idle_timeout = wanted.pause_limit;
  std::string authorization = std::move(wanted.own_authorization);
  if (tls_ && !wanted.users_authorization.empty()) authorization = std::move(wanted.users_authorization);
  if (!authorization.empty()) request.headers.emplace_back("Authorization", std::move(authorization));
  if (!tls_) return request;

  auto key = pinned_key_of(holder);
  if (!key) {
    return tl::make_unexpected(
        Failed{502, fmt::format("the leader {} does not name in the lock the key by which a careen with "
                                "--metrics-secure is known, so nothing is passed on to it; ask it directly: kubectl "
                                "-n {} port-forward pod/{} {}",
                                holder, ns_, pod_of_holder(holder).value_or("NAME"), port_)});
  }
  request.pinned_key = std::move(*key);
  return request;
}

io::Task<Leader::Outcome<std::string>> Leader::ip_of(std::string holder) {
  if (address_ && address_->holder == holder && loop_.now() - address_->read < kRememberAddress) {
    co_return address_->ip;
  }
  const auto pod = pod_of_holder(holder);
  if (!pod) {
    co_return tl::make_unexpected(Failed{502, "the leader calls itself " + holder + ", which names no pod"});
  }
  kube::CallOptions options;
  options.timeout = kStepLimit;
  options.attempts = 1;
  const auto body = co_await client_.get(kube::resources::pods, ns_, *pod, options);
  if (!body) {
    co_return tl::make_unexpected(
        Failed{502, fmt::format("the leader's pod {}/{} cannot be read: {}", ns_, *pod, body.error().message)});
  }
  const auto json = kube::Json::parse(*body);
  const auto ip = json ? json->at("/status/podIP").text() : std::nullopt;
  if (!ip || ip->empty()) {
    co_return tl::make_unexpected(Failed{502, fmt::format("the leader's pod {}/{} has no address", ns_, *pod)});
  }
  if (!io::is_address(std::string(*ip))) {
    co_return tl::make_unexpected(
        Failed{502, fmt::format("the leader's pod {}/{} has \"{}\" for an address, which is none", ns_, *pod, *ip)});
  }
  address_ = Address{std::move(holder), std::string(*ip), loop_.now()};
  co_return address_->ip;
}

}  // namespace careen::web
