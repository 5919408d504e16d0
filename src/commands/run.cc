#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "cli/environment.h"
#include "commands/commands.h"
#include "commands/dashboard_server.h"
#include "commands/webhook_server.h"
#include "controllers/profiles/hosted.h"
#include "controllers/slot/kind.h"
#include "io/files.h"
#include "io/http.h"
#include "io/mail.h"
#include "io/process.h"
#include "io/real_loop.h"
#include "kube/credentials.h"
#include "kube/http_transport.h"
#include "replica/replica.h"
#include "web/probes.h"
#include "web/replica_key.h"
#include "web/replica_token.h"
#include "web/server.h"
#include "web/site.h"

namespace careen::app {

using io::Task;

namespace {

// Of Prometheus or Slack; what is longer makes no sense.
constexpr size_t kMostOfAnAnswer = 4u << 20;

// In a pod its name, by which the other replicas find it: that of the host, unless the host's network makes it another.
std::string host_name() {
  if (const auto pod = read_environment("POD_NAME"); pod && !pod->empty()) return *pod;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string temporary_folder() { return read_environment("TMPDIR").value_or("/tmp"); }

// A side-car of a mesh hands everything that comes to the pod over on loopback, so that says nothing there.
web::ViewPolicy dashboard_policy(const RunOptions& options) {
  const bool in_a_pod = read_environment("KUBERNETES_SERVICE_HOST").has_value();
  return options.dashboard_policy.value_or(in_a_pod ? web::ViewPolicy::token : web::ViewPolicy::loopback);
}

io::HttpClientOptions to_the_leader() {
  io::HttpClientOptions options;
  options.tls.server_name = web::kReplicaHost;
  options.direct = true;
  return options;
}

// A webhook is called only on replicas that are ready, and other controllers need no profiles: where both are served, a
// broken file must not keep a replica that starts from serving the other one.
std::vector<std::string> awaited(const RunOptions& options) {
  const bool profiles = profiles::options_in(options.controllers) != nullptr;
  const bool webhook = options.controllers.size() > (profiles ? 1 : 0) && options.webhook.wanted();
  if (!profiles || webhook) return {"caches"};
  return {"config", "caches"};
}

// What runs in workload clusters: whatever may, of what needs no objects there.
std::optional<replica::HubOptions> hub_options(const RunOptions& options) {
  if (!options.hub) return std::nullopt;
  replica::HubOptions hub{.selector = options.hub_selector};
  for (const auto& choice : options.known_controllers) {
    if (choice->kind().nodes && !choice->kind().has_objects()) hub.controllers.push_back(choice);
  }
  return hub;
}

// A careen process on a real cluster: a replica, its way to the API server, and the ports it serves.
class Process {
 public:
  Process(const RunOptions& options, io::RealLoop& loop, io::Files& files, kube::Access access,
          std::optional<web::ReplicaKey> key, const io::Log& log)
      : options_(options),
        profiles_(profiles::options_in(options.controllers)),
        loop_(loop),
        key_(std::move(key)),
        log_(log.named("setup")),
        replica_options_{
            .host = host_name(),
            .ns = options.leader_election_namespace.empty() ? access.ns : options.leader_election_namespace,
            .controllers = options.controllers,
            .webhooks = options.known_controllers,
            .leader_election = options.leader_election && !options.dry_run,
            .dry_run = options.dry_run,
            .instance = key_ ? key_->digest : std::string(),
            .own_pod = read_environment("POD_NAME").value_or(""),
            .awaits_pauses = options.awaits_pauses,
            .limit_webhook = options.webhook.limits,
            .break_glass_group = options.webhook.break_glass_group,
            .counted_taints = options.counted_taints,
            .hub = hub_options(options)},
        http_(io::make_http_client(loop, {.tls = {}, .proxy = {}, .max_body = kMostOfAnAnswer})),
        leader_http_(io::make_http_client(loop, to_the_leader())),
        mail_(io::make_mail_client(loop, {})),
        replica_({loop, files, random_, std::move(access), kube::over_http(loop, files, log.named("credentials")),
                  *http_, *mail_, read_environment, log},
                 replica_options_),
        replica_token_(replica_.reader(), replica_options_.ns, replica_options_.own_pod, log.named("dashboard")),
        dashboard_({loop, replica_, *leader_http_, &replica_.reader(),
                    [this] { return replica_token_.authorization(); }, log.named("metrics")},
                   dashboard_options(options, loop, files)),
        probes_(replica_.problems(), awaited(options)),
        webhook_({loop, files, replica_, random_, *leader_http_, replica_options_.ns, temporary_folder(),
                  log.named("webhook")},
                 options),
        scraped_(loop),
        scope_(loop) {
    probes_.add_ready_check("webhook", [this] { return webhook_.unready(); });
    replica_.on_config = [this] { probes_.set_ready("config"); };
    replica_.on_synced = [this] {
      // The pages of the first list are garbage by now: give their memory back.
      ::malloc_trim(0);
      probes_.set_ready("caches");
    };
  }

  // Opens the ports; false, with the reason logged, when one cannot be had.
  bool serve();
  // The exit code.
  Task<int> main();
  void stop() { replica_.stop(); }

 private:
  void scraped() {
    ++scrapes_;
    last_scrape_ = loop_.now();
    scraped_.open();
  }
  Task<void> await_last_scrape();
  DashboardOptions dashboard_options(const RunOptions& options, io::RealLoop& loop, io::Files& files);

  const RunOptions& options_;
  const profiles::HostedOptions* profiles_;  // null: they do not run
  io::RealLoop& loop_;
  std::optional<web::ReplicaKey> key_;  // with --metrics-secure
  io::Log log_;
  io::Random random_;
  replica::ReplicaOptions replica_options_;
  std::unique_ptr<io::HttpClient> http_;
  std::unique_ptr<io::HttpClient> leader_http_;
  std::unique_ptr<io::MailClient> mail_;
  replica::Replica replica_;
  web::ReplicaToken replica_token_;
  DashboardServer dashboard_;
  web::Probes probes_;
  WebhookServer webhook_;
  std::unique_ptr<io::HttpServer> probe_server_;
  io::Gate scraped_;
  int scrapes_ = 0;
  io::Steady last_scrape_{};
  io::Scope scope_;
};

DashboardOptions Process::dashboard_options(const RunOptions& options, io::RealLoop& loop, io::Files& files) {
  DashboardOptions dashboard{.address = options.metrics_address, .policy = dashboard_policy(options)};
  dashboard.on_scrape = [this] { scraped(); };
  // Nobody sits at the machine that a pod runs on.
  if (replica_options_.own_pod.empty()) dashboard.known_as = "careen run";
  const auto& hub = replica_options_.hub;
  if (const auto* known = profiles_ || !hub ? profiles_ : profiles::options_in(hub->controllers)) {
    dashboard.config = [known, &files] { return files.read(known->config); };
  }
  if (!options.metrics_secure) return dashboard;
  // As the original secures its metrics.
  const std::string usual = temporary_folder() + "/" + web::kMetricsFolder;
  dashboard.replica_pair = key_ ? key_->pair : nullptr;
  dashboard.tls = web::metrics_tls(loop, files, options.metrics_cert_dir.empty() ? usual : options.metrics_cert_dir);
  return dashboard;
}

bool Process::serve() {
  io::add_process_metrics(replica_.metrics());
  web::show_problems(replica_.metrics(), replica_.problems());
  auto probes = web::serve_probes(loop_, options_.health_address, {log_, probes_.routes()});
  if (!probes) {
    log_.error(probes.error().message);
    return false;
  }
  probe_server_ = std::move(*probes);
  if (const auto opened = dashboard_.open(); !opened) {
    log_.error(opened.error().message);
    return false;
  }
  if (const auto opened = webhook_.open(); !opened) {
    log_.error(opened.error().message);
    return false;
  }
  return true;
}

Task<int> Process::main() {
  scope_.spawn(webhook_.run());
  const int code = co_await replica_.main();
  if (code == 0) co_await await_last_scrape();
  co_return code;
}

// If somebody collects our metrics regularly, the last values are worth a little patience.
Task<void> Process::await_last_scrape() {
  const bool collected = scrapes_ >= 2 && loop_.now() - last_scrape_ <= options_.metrics_timeout;
  if (!collected || options_.metrics_timeout <= io::Duration{0}) co_return;
  scraped_.close();
  log_.info("waiting for a last scrape of the metrics", "at most", io::format_duration(options_.metrics_timeout));
  co_await io::with_timeout(loop_, options_.metrics_timeout, io::completed(io::wait_for(scraped_)));
}

}  // namespace

int run(const RunOptions& options) {
  // One thread needs one arena, and what a list page took goes back to the system: its size must not raise the
  // threshold above which memory is mapped on its own.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 10);
  io::allow_many_files();
  io::RealLoop loop;
  io::RealFiles files(loop);
  const io::Log root(io::make_stderr_sink(options.log, [&loop] { return loop.wall_now(); }), "");
  const io::Log log = root.named("setup");
  for (const std::string& remark : options.remarks) log.warn(remark);
  auto access = kube::load_access(files, {read_environment}, {options.kubeconfig, options.kubecontext, options.master});
  if (!access) {
    log.error(access.error().message);
    return 1;
  }
  log.info("cluster", "server", access->server, "from", access->source);
  if (access->in_cluster && !options.master.empty()) {
    log.warn("--master changes nothing: this pod's service account is for its own cluster");
  }

  std::optional<web::ReplicaKey> key;
  if (options.metrics_secure) {
    auto made = web::make_replica_key(loop.wall_now());
    if (!made) {
      log.error("no key for this replica can be made", "error", made.error().message);
      return 1;
    }
    key = std::move(*made);
  }
  Process process(options, loop, files, std::move(*access), std::move(key), root);
  if (!process.serve()) return 1;
  int signals = 0;
  const auto watch = io::watch_signals(loop, {SIGTERM, SIGINT}, [&](int) {
    if (++signals > 1) ::_exit(1);
    process.stop();
  });
  std::optional<int> code;
  io::Scope scope(loop);
  scope.spawn(io::keep(process.main(), code));
  loop.run_until([&] { return code.has_value(); });
  return *code;
}

}  // namespace careen::app
