#include "session/kube_session.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "cli/environment.h"
#include "io/files.h"
#include "io/process.h"
#include "io/real_loop.h"
#include "kube/base64.h"
#include "kube/credentials.h"
#include "kube/http_transport.h"
#include "kube/json.h"
#include "kube/kubeconfig.h"
#include "kube/stream.h"
#include "kube/url.h"

namespace careen::app {

using io::Task;

namespace {

constexpr int kPageSize = 500;

// Problems are told to the session instead of a log.
class ProblemListener final : public io::LogSink {
 public:
  explicit ProblemListener(KubeSession& session) : session_(session) {}

  bool enabled(io::LogLevel level) const override { return level == io::LogLevel::error; }
  void write(io::LogLevel, std::string_view, std::string_view message, const io::LogFields& fields) override {
    const std::string key = fields.empty() ? "" : fields.front().second;
    if (session_.on_problem) return session_.on_problem(key, message);
    session_.screen.warning(message);
  }

 private:
  KubeSession& session_;
};

// Of whoever sits at the terminal: also behind sudo.
std::string user_name() {
  if (const auto name = read_environment("SUDO_USER"); name && !name->empty()) return *name;
  if (const passwd* entry = ::getpwuid(::geteuid()); entry && entry->pw_name) return entry->pw_name;
  return std::to_string(::geteuid());
}

std::string user_at_host() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("{}@{}", user_name(), host);
}

// `asked` is the session whose cluster is asked from then on.
Task<int> run_in_workload(KubeSession& management, std::string workload, const Command& command, KubeSession*& asked) {
  auto access = co_await workload_access(management, std::move(workload));
  if (!access) {
    management.screen.error(access.error().message);
    co_return kFailed;
  }
  KubeSession session(
      {management.loop, std::move(*access), management.connect, management.random, management.screen, user_at_host()});
  session.process = management.process;
  session.management = &management;
  asked = &session;
  const int code = co_await command(session);
  asked = &management;
  co_return code;
}

Task<void> with_permit(io::Semaphore* places, Task<void> task) {
  const auto permit = co_await places->acquire();
  co_await std::move(task);
}

}  // namespace

KubeSession::KubeSession(KubeSessionParts parts)
    : loop(parts.loop),
      random(parts.random),
      screen(parts.screen),
      owner("terminal/" + parts.user),
      ns(parts.access.ns),
      problems(io::Log(std::make_shared<ProblemListener>(*this), "")),
      connect(std::move(parts.connect)),
      cluster({parts.loop, parts.random, metrics, problems}, {}, std::move(parts.access), connect),
      interrupted(parts.loop) {}

Task<kube::Result<uint64_t>> read_list(KubeSession& session, kube::Resource resource, std::string query,
                                       std::function<io::Result<bool>(kube::RawObject&)> visit) {
  uint64_t version = 0;
  std::string token;
  do {
    kube::CallOptions call;
    call.timeout = io::seconds{60};
    call.query = fmt::format("limit={}{}{}", kPageSize, query.empty() ? "" : "&", query);
    if (!token.empty()) call.query += "&continue=" + url_text(token);
    auto body = co_await session.client.list(resource, "", std::move(call));
    if (!body) co_return tl::make_unexpected(std::move(body.error()));
    const auto page = kube::read_page(*body, visit);
    if (!page) co_return tl::make_unexpected(kube::to_api_error(page.error()));
    if (version == 0) version = page->version;
    token = page->continue_token;
  } while (!token.empty());
  co_return version;
}

Task<void> run_all(io::Loop& loop, std::vector<Task<void>> tasks, int at_once) {
  io::Semaphore places(loop, at_once);
  io::Scope scope(loop);
  for (Task<void>& task : tasks) scope.spawn(with_permit(&places, std::move(task)));
  co_await scope.join();
}

Task<bool> ends_within(io::Loop& loop, io::Duration limit, Task<void> task) {
  if (limit > io::Duration{0}) {
    const auto ended = co_await io::with_timeout(loop, limit, io::completed(std::move(task)));
    co_return ended.has_value();
  }
  co_await std::move(task);
  co_return true;
}

Task<bool> heard_within(io::Loop& loop, io::Duration limit, io::Signal& signal) {
  const auto came = co_await io::with_timeout(loop, limit, io::completed(io::wait_for(signal)));
  co_return came.has_value();
}

std::string url_text(std::string_view text) {
  std::string encoded;
  kube::append_encoded(encoded, text);
  return encoded;
}

std::string server_error(const kube::ApiError& error) {
  if (error.code == 0) return error.message;
  if (error.reason.empty()) return fmt::format("Error from server: {}", error.message);
  return fmt::format("Error from server ({}): {}", error.reason, error.message);
}

Task<io::Result<kube::Access>> workload_access(KubeSession& management, std::string workload) {
  const size_t slash = workload.find('/');
  const std::string ns = workload.substr(0, slash);
  const std::string name = workload.substr(slash + 1) + "-kubeconfig";
  const std::string from = fmt::format("Secret {}/{}", ns, name);
  const auto secret = co_await management.client.get({"", "v1", "secrets", "Secret", true}, ns, name);
  if (!secret) {
    co_return io::fail(io::ErrorKind::invalid, fmt::format("cluster {} cannot be reached without its kubeconfig: {}",
                                                           workload, server_error(secret.error())));
  }
  const auto object = kube::Json::parse(*secret);
  const auto value = object ? object->at("/data/value").text() : std::nullopt;
  auto text = value ? kube::base64_decode(*value) : std::nullopt;
  if (!text) co_return io::fail(io::ErrorKind::invalid, from + " has no key \"value\" with a kubeconfig");
  co_return kube::resolve_untrusted_kubeconfig(from, std::move(*text), "");
}

int run_on_cluster(const ClusterOptions& options, const Command& command) {
  io::RealLoop loop;
  io::RealFiles files(loop);
  Screen screen(process_screen());
  auto access = kube::load_access(files, {read_environment}, {options.kubeconfig, options.context});
  if (!access) {
    screen.error(access.error().message);
    return kFailed;
  }
  io::Random random;
  const KubeSession::Process process{loop, files};
  KubeSession session({loop, std::move(*access), kube::over_http(loop, files), random, screen, user_at_host()});
  session.process = &process;
  KubeSession* asked = &session;
  const auto watch = io::watch_signals(loop, {SIGTERM, SIGINT}, [&](int) {
    if (asked->leaves_signals) return;
    if (!asked->heeds_interrupt || asked->interrupted.is_open()) ::_exit(kInterrupted);
    asked->interrupted.open();
  });
  std::optional<int> code;
  session.cluster.tasks().spawn(io::keep(
      options.workload.empty() ? command(session) : run_in_workload(session, options.workload, command, asked), code));
  loop.run_until([&] { return code.has_value(); });
  return *code;
}

}  // namespace careen::app
