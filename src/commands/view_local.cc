#include "commands/view_local.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/environment.h"
#include "commands/event_stream.h"
#include "commands/leader_lock.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/decision.h"
#include "controllers/profiles/hosted.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/slot/kind.h"
#include "io/files.h"
#include "io/http.h"
#include "io/http_server.h"
#include "io/mail.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/real_loop.h"
#include "kube/cache.h"
#include "kube/http_transport.h"
#include "kube/node.h"
#include "replica/controllers.h"
#include "replica/replica.h"
#include "version_info.h"
#include "view/changes.h"
#include "view/chronicle.h"
#include "view/fleet.h"
#include "view/row.h"
#include "view/story.h"

namespace careen::app {

using io::Task;
using kube::Json;

namespace {

constexpr io::Duration kLongestStart = io::seconds{30};
constexpr io::Duration kQuiet = io::milliseconds{300};
constexpr int kMostTurns = 30;

ViewError no_such(std::string_view kind, const std::string& name) {
  return {404, fmt::format("there is no {} \"{}\"", kind, name)};
}

class ViewComputedHere final : public ViewSource {
 public:
  ViewComputedHere(ViewParts parts, kube::Access access, kube::Connect connect, std::string config,
                   replica::ReplicaOptions options)
      : loop_(parts.loop),
        config_(std::move(config)),
        http_(io::make_http_client(parts.loop, {})),
        mail_(io::make_mail_client(parts.loop, {})),
        replica_({parts.loop,
                  parts.files,
                  parts.random,
                  std::move(access),
                  std::move(connect),
                  *http_,
                  *mail_,
                  read_environment,
                  {}},
                 std::move(options)),
        chronicle_(replica_),
        shown_{replica_, chronicle_, CAREEN_VERSION},
        changes_(parts.loop, shown_),
        synced_(parts.loop),
        scope_(parts.loop) {
    replica_.on_synced = [this] { synced_.open(); };
    replica::ReplicaListener listener;
    listener.node = [this](const std::string&) { ++heard_; };
    listener.other = [this] { ++heard_; };
    replica_.listen(std::move(listener));
  }

  // Nothing, or why it cannot begin.
  Task<std::optional<ViewError>> begin() {
    scope_.spawn(run());
    const auto ready = co_await io::with_timeout(loop_, kLongestStart, known());
    if (ready) co_return std::nullopt;
    std::string text = fmt::format("after {} the cluster is not known yet", io::format_duration(kLongestStart));
    for (const auto& [key, message] : replica_.problems().open()) text += fmt::format("\n  {}: {}", key, message);
    co_return ViewError{0, text};
  }

  std::string name() const override { return fmt::format("the cluster and {}, computed here", config_); }

  Task<ViewResult<Json>> get(std::string path) override {
    for (int turn = 1; turn < kMostTurns && is_unanswered(path); ++turn) co_await io::sleep_for(loop_, kQuiet);
    const ViewResult<std::string> text = document(path);
    if (!text) co_return tl::make_unexpected(text.error());
    auto json = Json::parse(*text);
    if (!json) co_return tl::make_unexpected(ViewError{0, json.error().message});
    co_return std::move(*json);
  }

  Task<ViewError> follow(OnEvent on_event) override {
    const auto stream = changes_.listen();
    EventStreamDecoder decoder([&](std::string_view event, std::string_view data) {
      if (const auto document = Json::parse(data)) on_event(event, *document);
    });
    while (true) {
      const io::Result<bool> more = co_await stream->read(decoder.buffer());
      if (!more) co_return ViewError{0, more.error().message};
      if (!*more) co_return ViewError{0, "the stream has ended"};
      decoder.drain();
    }
  }

 private:
  Task<void> run() { co_await replica_.main(); }

  Task<bool> known() {
    co_await synced_.wait();
    // What the configuration needs besides nodes arrives at its own pace; a moment of silence is the sign that it is
    // complete.
    int before = -1;
    while (!replica_.running() || before != heard_) {
      before = heard_;
      co_await io::sleep_for(loop_, kQuiet);
    }
    co_return true;
  }

  struct Subject {
    std::string kind, name;
  };
  static Subject subject_of(const std::string& path) {
    const size_t slash = path.find('/');
    return {path.substr(0, slash), slash == std::string::npos ? "" : path.substr(slash + 1)};
  }

  // What a decision looks at besides nodes may still be on its way; the document would then say that and nothing else.
  bool is_unanswered(const std::string& path) const {
    const auto [kind, name] = subject_of(path);
    if (kind == "nodes") return is_unanswered(replica_.nodes().find(name));
    if (kind != "fleet") {
      const auto node = view::node_of_object(replica_, kind, name);
      return node && is_unanswered(replica_.nodes().find(*node));
    }
    for (const kube::Node* node = replica_.nodes().next(""); node; node = replica_.nodes().next(node->name)) {
      if (is_unanswered(node)) return true;
    }
    return false;
  }
  bool is_unanswered(const kube::Node* node) const {
    const auto decision = node ? view::explained(replica_, *node) : std::nullopt;
    return decision && decision->unanswered;
  }

  ViewResult<std::string> document(const std::string& path) {
    const auto [kind, name] = subject_of(path);
    if (kind == "fleet") return fleet();
    if (kind == "timeline") return view::timeline_document(shown_, "");
    if (kind == "nodes") return story(name);
    for (const controllers::Kind* one : replica::controller_kinds()) {
      if (one->explained != kind) continue;
      auto told = view::told_document(replica_, kind, name);
      if (!told) return tl::make_unexpected(no_such(std::string(one->event_source), name));
      return std::move(*told);
    }
    const auto& kinds = replica::object_kinds();
    const auto known = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const controllers::Kind* one) { return one->object.plural == kind; });
    if (known == kinds.end()) return tl::make_unexpected(no_such("document", path));
    const auto node = view::node_of_object(replica_, kind, name);
    if (!node) return tl::make_unexpected(no_such((*known)->object.kind, name));
    return story(*node);
  }

  ViewResult<std::string> story(const std::string& node) {
    auto text = view::story(shown_, node);
    if (!text) return tl::make_unexpected(no_such("node", node));
    return std::move(*text);
  }

  std::string fleet() {
    view::FleetPieces pieces(shown_);
    std::string text;
    while (pieces.read(text)) {
    }
    return text;
  }

  io::RealLoop& loop_;
  std::string config_;
  std::unique_ptr<io::HttpClient> http_;
  std::unique_ptr<io::MailClient> mail_;
  replica::Replica replica_;
  view::Chronicle chronicle_;
  view::Shown shown_;
  view::Changes changes_;
  io::Gate synced_;
  int heard_ = 0;
  io::Scope scope_;
};

// What is wrong with the file; empty: nothing.
std::string config_errors(io::Files& files, const std::string& path) {
  const auto text = files.read(path);
  if (!text) return text.error().message;
  const auto report = profiles::examine_config(*text, path, profiles::all_plugins(), read_environment);
  std::string out;
  for (const config::ConfigError& error : report.errors) {
    out += fmt::format("{}{}:{}:{}: {}", out.empty() ? "" : "\n", error.file, error.line, error.column, error.message);
  }
  return out;
}

// Profiles, and those whose objects the cluster has and may be listed.
Task<std::vector<std::shared_ptr<const controllers::Choice>>> usable_controllers(const std::string* config,
                                                                                 kube::Transport* transport) {
  std::vector<std::shared_ptr<const controllers::Choice>> usable{
      profiles::with_options({.config = *config, .cache_pods = false})};
  for (const controllers::Kind* kind : replica::object_kinds()) {
    kube::Request request;
    request.path = kind->object.path() + "?limit=1";
    const auto answer = co_await transport->send(std::move(request));
    if (answer && answer->status == 200) usable.push_back(kind->usual());
  }
  co_return usable;
}

}  // namespace

Task<ViewResult<std::unique_ptr<ViewSource>>> view_computed_here(ViewParts parts, kube::Access access,
                                                                 ViewOptions given) {
  if (const std::string errors = config_errors(parts.files, given.config); !errors.empty()) {
    co_return tl::make_unexpected(ViewError{0, errors});
  }
  replica::ReplicaOptions options;
  options.host = "careen-explain";
  options.ns = access.ns;
  options.dry_run = true;
  // One way for all, so that a program that gives credentials is run but once.
  const kube::Transports transports = kube::over_http(parts.loop, parts.files)(access);
  options.controllers = co_await usable_controllers(&given.config, transports.requests.get());
  // Where careen runs are its pauses and the leases of its own.
  if (!given.ns.empty()) {
    options.ns = std::move(given.ns);
  } else if (auto lock = co_await find_leader_lock({*transports.requests, parts.loop.wall_now()})) {
    options.ns = std::move(lock->ns);
  } else if (lock.error().status == kSeveralLocks) {
    co_return tl::make_unexpected(lock.error());
  }
  auto view = std::make_unique<ViewComputedHere>(
      parts, std::move(access), [transports](const kube::Access&) { return transports; }, std::move(given.config),
      std::move(options));
  if (auto error = co_await view->begin()) co_return tl::make_unexpected(std::move(*error));
  co_return view;
}

}  // namespace careen::app
