#include <fmt/format.h>

#include "commands/event_stream.h"
#include "commands/leader_lock.h"
#include "commands/view_source.h"
#include "kube/error.h"
#include "kube/resource.h"
#include "kube/transport.h"
#include "web/holder.h"
#include "web/view_token.h"

namespace careen::app {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

constexpr io::Duration kLeaderTimeout = io::seconds{10};
constexpr int kUsualPort = 8080;

struct Leader {
  std::string ns, pod;
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
  ViewOfLeader(kube::Transport& transport, Leader leader, std::string workload)
      : transport_(transport), leader_(std::move(leader)), workload_(std::move(workload)) {}

  std::string name() const override {
    return fmt::format("the leader {} in namespace {}, through the API server", leader_.pod, leader_.ns);
  }

  Task<ViewResult<Json>> get(std::string path) override {
    kube::Request request;
    request.path = proxy_path(leader_, of_cluster(std::move(path), workload_));
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
    request.path = proxy_path(leader_, of_cluster("stream", workload_));
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
    text +=
        status == 401 || status == 403
            ? wants_token()
            : "\nGive its dashboard's address with --server or CAREEN_SERVER, or --config FILE to compute the answer "
              "here.";
    return {status, text};
  }

  // Either careen itself wants a token that it knows, or the API server does not let the user through to the pod.
  std::string wants_token() const {
    return fmt::format(
        "\nYour own token is for the API server alone. careen is shown one for its view, which you may not make, or "
        "which does not suffice. What you can do:\n"
        "  --token \"$(kubectl -n {0} create token SERVICEACCOUNT --audience {3})\", of a service account that "
        "may look (ClusterRole careen-viewer);\n"
        "  \"kubectl -n {0} port-forward pod/{1} {2}\", and --server http://127.0.0.1:{2} (or CAREEN_SERVER), with "
        "--token unless careen lets this machine look without one;\n"
        "  --config FILE to compute the answer here.",
        leader_.ns, leader_.pod, leader_.port, web::kViewAudience);
  }

  kube::Transport& transport_;
  Leader leader_;
  std::string workload_;
};

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

// A token of that pod's service account for the view alone; empty when the user may not make one.
Task<std::string> token_of(kube::Transport* transport, const Leader* leader, const Json* pod) {
  const kube::Resource accounts{"", "v1", "serviceaccounts", "ServiceAccount", true};
  kube::Request request;
  request.method = "POST";
  request.path = accounts.path(leader->ns, pod->at("/spec/serviceAccountName").text().value_or("default"), "token");
  request.content_type = "application/json";
  request.body = web::view_token_request(leader->pod, pod->at("/metadata/uid").text().value_or("")).dump();
  request.timeout = kLeaderTimeout;
  const auto answer = co_await transport->send(std::move(request));
  if (!answer || answer->status != 201) co_return std::string();
  const auto document = Json::parse(answer->body);
  co_return document ? std::string(document->at("/status/token").text().value_or("")) : std::string();
}

}  // namespace

Task<ViewResult<std::unique_ptr<ViewSource>>> view_of_leader(LeaderAccess access) {
  const auto lock = co_await find_leader_lock({access.api, access.now, access.ns});
  if (!lock) co_return tl::make_unexpected(lock.error());
  const auto name = web::pod_of_holder(lock->holder);
  if (!name) {
    co_return tl::make_unexpected(ViewError{0, fmt::format("the {} {}/{} is held by \"{}\", which names no pod",
                                                           lock->kind, lock->ns, lock->name, lock->holder)});
  }
  Leader leader{.ns = lock->ns, .pod = *name};
  const auto pod = co_await read_document(access.api, kube::resources::pods.path(leader.ns, leader.pod));
  if (!pod) {
    co_return tl::make_unexpected(
        ViewError{pod.error().status, fmt::format("{} holds the {} {}/{}, and cannot be reached through the API "
                                                  "server: {}",
                                                  leader.pod, lock->kind, leader.ns, lock->name, pod.error().message)});
  }
  leader.port = port_of(pod->view());
  // The user's own token is for the API server; a pod never gets to see it.
  std::string token = std::move(access.view_token);
  if (token.empty()) token = co_await token_of(&access.api, &leader, &*pod);
  if (!token.empty()) access.show_token(std::move(token));
  co_return std::make_unique<ViewOfLeader>(access.proxied, std::move(leader), std::move(access.workload));
}

}  // namespace careen::app
