#include <fmt/format.h>

#include <array>
#include <optional>

#include "app/event_stream.h"
#include "app/view_local.h"
#include "app/view_source.h"
#include "kube/error.h"
#include "kube/transport.h"
#include "nodemaintenance/names.h"
#include "replica/replica.h"
#include "web/replica_token.h"

namespace careen::app {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

constexpr io::Duration kLeaderTimeout = io::seconds{10};
constexpr int kUsualPort = 8080;
constexpr int kTokenSeconds = 600;  // the shortest that an API server makes

struct Leader {
  std::string ns, pod, lock;
  int port = kUsualPort;
};

// Where the API server passes requests on to a pod.
std::string proxy_path(const Leader& leader, std::string_view path) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}:{}/proxy/careen/v1/{}", leader.ns, leader.pod, leader.port, path);
}

// An error of careen itself, or of the API server on the way to it.
std::string refusal(int status, const std::string& body) {
  const auto document = Json::parse(body);
  if (document) {
    if (const auto text = (*document)["error"].text()) return std::string(*text);
  }
  return kube::to_api_error(status, body).message;
}

class ViewOfLeader final : public ViewSource {
 public:
  ViewOfLeader(kube::Transport& transport, Leader leader) : transport_(transport), leader_(std::move(leader)) {}

  std::string name() const override {
    return fmt::format("the leader {} in namespace {}, through the API server", leader_.pod, leader_.ns);
  }

  Task<ViewResult<Json>> get(std::string path) override {
    kube::Request request;
    request.path = proxy_path(leader_, path);
    request.timeout = kLeaderTimeout;
    const auto answer = co_await transport_.send(std::move(request));
    if (!answer) co_return tl::make_unexpected(ViewError{0, answer.error().message});
    if (answer->status != 200) co_return tl::make_unexpected(refused(answer->status, answer->body));
    auto document = Json::parse(answer->body);
    if (!document) co_return tl::make_unexpected(ViewError{answer->status, document.error().message});
    co_return std::move(*document);
  }

  Task<ViewError> follow(OnEvent on_event) override {
    kube::Request request;
    request.path = proxy_path(leader_, "stream");
    request.accept = "text/event-stream";
    request.timeout = kLeaderTimeout;
    auto opened = co_await transport_.open(std::move(request));
    if (!opened) co_return ViewError{0, opened.error().message};
    if (!opened->stream) co_return refused(opened->head.status, opened->head.body);
    EventStreamDecoder decoder([&](std::string_view event, std::string_view data) {
      if (const auto document = Json::parse(data)) on_event(event, *document);
    });
    while (true) {
      const io::Result<bool> more = co_await opened->stream->read(decoder.buffer());
      if (!more) co_return ViewError{0, more.error().message};
      if (!*more) co_return ViewError{0, "the leader ended the stream"};
      decoder.drain();
    }
  }

 private:
  ViewError refused(int status, const std::string& body) const {
    std::string text = refusal(status, body);
    if (status == 404) return {status, text};
    text = fmt::format("{} does not answer: {}", name(), text);
    const bool wants_token = status == 401 || status == 403;
    text +=
        wants_token
            ? fmt::format(
                  "\n\"kubectl -n {} port-forward pod/{} {}\" and --server http://127.0.0.1:{} (or CAREEN_SERVER) lead "
                  "around it, or --config FILE to compute the answer here.",
                  leader_.ns, leader_.pod, leader_.port, leader_.port)
            : "\nGive its dashboard's address with --server or CAREEN_SERVER, or --config FILE to compute the answer "
              "here.";
    return {status, text};
  }

  kube::Transport& transport_;
  Leader leader_;
};

// The latest renewed one of all namespaces, if somebody holds it.
std::optional<Leader> holder_of(JsonView leases, std::string_view lock) {
  std::optional<Leader> found;
  std::string renewed;
  leases["items"].for_each_element([&](JsonView lease) {
    const std::string holder(lease.at("/spec/holderIdentity").text().value_or(""));
    const std::string time(lease.at("/spec/renewTime").text().value_or(""));
    if (holder.empty() || (found && time < renewed)) return;
    renewed = time;
    found = Leader{.ns = std::string(lease.at("/metadata/namespace").text().value_or("")),
                   .pod = holder.substr(0, holder.rfind('_')),
                   .lock = std::string(lock)};
  });
  return found;
}

// The port that careen serves its metrics and documents on, as its container names it.
int port_of(JsonView pod) {
  int port = kUsualPort;
  pod.at("/spec/containers").for_each_element([&](JsonView container) {
    container["ports"].for_each_element([&](JsonView entry) {
      const auto name = entry["name"].text().value_or("");
      const auto number = entry["containerPort"].integer();
      if (number && (name == "metrics" || name == "dashboard")) port = static_cast<int>(*number);
    });
  });
  return port;
}

Task<ViewResult<Json>> read(kube::Transport* transport, std::string path) {
  kube::Request request;
  request.path = std::move(path);
  request.timeout = kLeaderTimeout;
  const auto answer = co_await transport->send(std::move(request));
  if (!answer) co_return tl::make_unexpected(ViewError{0, answer.error().message});
  if (answer->status != 200) {
    co_return tl::make_unexpected(ViewError{answer->status, kube::to_api_error(answer->status, answer->body).message});
  }
  auto document = Json::parse(answer->body);
  if (!document) co_return tl::make_unexpected(ViewError{answer->status, document.error().message});
  co_return std::move(*document);
}

// A short-lived token of that service account, for the view alone; empty when the user may not make one.
Task<std::string> token_of(kube::Transport* transport, std::string ns, std::string account) {
  kube::Request request;
  request.method = "POST";
  request.path = fmt::format("/api/v1/namespaces/{}/serviceaccounts/{}/token", ns, account);
  request.content_type = "application/json";
  request.body = Json::object({{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}})
                     .set({"spec", "audiences"}, Json::array({web::kViewAudience}))
                     .set({"spec", "expirationSeconds"}, kTokenSeconds)
                     .dump();
  request.timeout = kLeaderTimeout;
  const auto answer = co_await transport->send(std::move(request));
  if (!answer || answer->status != 201) co_return std::string();
  const auto document = Json::parse(answer->body);
  co_return document ? std::string(document->at("/status/token").text().value_or("")) : std::string();
}

Task<ViewResult<Leader>> find_leader(kube::Transport* transport) {
  const std::array<std::string_view, 2> locks = {replica::Replica::kLock, nodemaintenance::kLock};
  for (const std::string_view lock : locks) {
    std::string path = fmt::format("/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3D{}", lock);
    const auto leases = co_await read(transport, std::move(path));
    if (!leases) {
      co_return tl::make_unexpected(ViewError{leases.error().status, "the leader's lock: " + leases.error().message});
    }
    if (auto leader = holder_of(leases->view(), lock)) co_return std::move(*leader);
  }
  co_return tl::make_unexpected(ViewError{
      404,
      fmt::format("nobody holds the Lease {} or {} in any namespace: careen does not lead here", locks[0], locks[1])});
}

}  // namespace

Task<std::string> namespace_of_leader(kube::Transport& transport) {
  const auto leader = co_await find_leader(&transport);
  co_return leader ? leader->ns : "";
}

Task<ViewResult<std::unique_ptr<ViewSource>>> view_of_leader(LeaderAccess access) {
  auto leader = co_await find_leader(&access.api);
  if (!leader) co_return tl::make_unexpected(leader.error());
  const auto pod = co_await read(&access.api, fmt::format("/api/v1/namespaces/{}/pods/{}", leader->ns, leader->pod));
  if (!pod) {
    co_return tl::make_unexpected(
        ViewError{pod.error().status, fmt::format("{} holds the Lease {}/{}, and cannot be reached through the API "
                                                  "server: {}",
                                                  leader->pod, leader->ns, leader->lock, pod.error().message)});
  }
  leader->port = port_of(pod->view());
  std::string token = std::move(access.own_token);
  if (token.empty()) {
    const auto account = pod->at("/spec/serviceAccountName").text().value_or("default");
    token = co_await token_of(&access.api, leader->ns, std::string(account));
  }
  if (!token.empty()) access.show_token(std::move(token));
  co_return std::make_unique<ViewOfLeader>(access.proxied, std::move(*leader));
}

}  // namespace careen::app
