#include "web/leader.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "kube/client.h"
#include "kube/json.h"
#include "kube/resource.h"
#include "web/json_answer.h"

namespace careen::web {

namespace {

constexpr io::Duration kStepLimit = io::seconds{1};
// A pod keeps its address; a leader that is made anew under its name soon shows up under the new one.
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

// The address as it stands in a URL.
std::string url_host(const std::string& ip) { return ip.find(':') == std::string::npos ? ip : "[" + ip + "]"; }

io::Task<io::ServerResponse> passed_on(std::unique_ptr<io::HttpStream> stream) {
  io::ServerResponse response = json_answer();
  response.status = stream->status();
  for (;;) {
    const auto more = co_await stream->read(response.body);
    if (!more || !*more || response.body.size() > kLongestError) break;
  }
  co_return response;
}

}  // namespace

Leader::Leader(io::Loop& loop, kube::Client& client, io::HttpClient& http, std::function<std::string()> holder,
               std::string ns)
    : loop_(loop), client_(client), http_(http), holder_(std::move(holder)), ns_(std::move(ns)) {}

bool Leader::was_passed_on(const io::ServerRequest& request) { return !io::header(request.headers, kPassedOn).empty(); }

io::Task<io::ServerResponse> Leader::answer(LeaderRequest wanted) {
  const std::string holder = holder_();
  if (holder.empty()) co_return json_error(503, "no replica leads at the moment");
  const Outcome<std::string> ip = co_await ip_of(holder);
  if (!ip) co_return json_error(ip.error().status, ip.error().text);

  io::HttpRequest request;
  request.url = fmt::format("http://{}:{}{}", url_host(*ip), port_, wanted.target);
  request.headers = std::move(wanted.headers);
  request.headers.emplace_back(kPassedOn, "true");
  request.connect_timeout = kStepLimit;
  request.timeout = kStepLimit;
  request.idle_timeout = wanted.pause_limit;
  const std::string url = request.url;
  auto stream = co_await http_.open(std::move(request));
  if (!stream) {
    address_.reset();
    co_return json_error(502,
                         fmt::format("the leader {} does not answer at {}: {}", holder, url, stream.error().message));
  }
  const int status = (*stream)->status();
  if (status != 200 && wanted.pass_errors) co_return co_await passed_on(std::move(*stream));
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

io::Task<Leader::Outcome<std::string>> Leader::ip_of(std::string holder) {
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
