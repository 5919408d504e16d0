#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "app/commands.h"
#include "app/config_source.h"
#include "app/environment.h"
#include "budget/ledger.h"
#include "io/files.h"
#include "io/process.h"
#include "io/real_loop.h"
#include "kube/credentials.h"
#include "kube/election.h"
#include "kube/events.h"
#include "kube/http_transport.h"
#include "kube/pod_store.h"
#include "kube/reflector.h"
#include "profiles/controller.h"
#include "web/probes.h"
#include "web/server.h"

namespace careen::app {

using io::Task;

namespace {

constexpr const char* kLock = "maintenance-controller-leader-election.cloud.sap";
constexpr io::Duration kFinishWrites = io::seconds{15};
constexpr io::Duration kFlushEvents = io::seconds{3};

Task<void> wait_for(io::Gate& gate) { co_await gate.wait(); }
Task<bool> completed(Task<void> task) {
  co_await std::move(task);
  co_return true;
}
Task<void> keep(Task<int> task, std::optional<int>& out) { out = co_await std::move(task); }

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

kube::ReflectorOptions reflector_options(const kube::Resource& resource) {
  kube::ReflectorOptions options;
  options.resource = resource;
  return options;
}

// A careen process on a real cluster: everything it owns, in the order in which it is made.
class Process {
 public:
  Process(const RunOptions& options, io::RealLoop& loop, io::Files& files, kube::Cluster cluster, const io::Log& log)
      : options_(options),
        loop_(loop),
        log_(log.named("setup")),
        problems_(log.named("problems")),
        identity_(fmt::format("{}_{}", host_name(), random_.uuid())),
        ns_(options.leader_election_namespace.empty() ? cluster.ns : options.leader_election_namespace),
        authenticator_(kube::make_authenticator(loop, files, std::move(cluster), log.named("credentials"))),
        transport_(kube::make_http_transport(loop, authenticator_)),
        lease_transport_(kube::make_http_transport(loop, authenticator_)),
        client_(loop, *transport_, metrics_, random_),
        event_client_(loop, *transport_, metrics_, random_),
        lease_client_(loop, *lease_transport_, metrics_, random_),
        node_sink_(kube::make_sink(nodes_, atoms_)),
        pod_sink_(kube::make_sink(pods_)),
        node_reflector_(loop, event_client_, metrics_, problems_, random_, *node_sink_,
                        reflector_options(kube::resources::nodes), log.named("nodes")),
        pod_reflector_(loop, event_client_, metrics_, problems_, random_, *pod_sink_,
                       reflector_options(kube::resources::pods), log.named("pods")),
        election_(loop, lease_client_, random_, problems_, log.named("election"),
                  {.ns = ns_, .name = kLock, .identity = identity_}),
        ledger_(loop, client_, problems_, log.named("ledger"), metrics_, ledger_options()),
        events_(loop, event_client_, metrics_, problems_, host_name()),
        controller_({loop, client_, atoms_, nodes_, ledger_, events_, metrics_, problems_,
                     log.named("controllers.maintenance")},
                    {}),
        config_(loop, files, options.config, read_environment, metrics_, problems_, log.named("config"),
                [this](std::shared_ptr<const profiles::Config> config) {
                  controller_.set_config(std::move(config));
                  probes_.set_ready("config");
                }),
        probes_(problems_, {"config", "caches"}),
        stop_(loop),
        scraped_(loop),
        scope_(loop),
        leading_(loop) {}

  // Opens the ports; false, with the reason logged, when one cannot be had.
  bool serve();
  // The exit code.
  Task<int> main();
  void stop() { stop_.open(); }

 private:
  std::optional<budget::LedgerOptions> ledger_options() const {
    if (!options_.leader_election) return std::nullopt;
    return budget::LedgerOptions{.ns = ns_, .identity = identity_};
  }
  void scraped() {
    ++scrapes_;
    last_scrape_ = loop_.now();
    scraped_.open();
  }
  void record_election(std::string message);
  Task<void> lead();
  Task<void> mark_synced();
  Task<void> until_lost();
  Task<void> wind_down();

  const RunOptions& options_;
  io::RealLoop& loop_;
  io::Log log_;
  io::Problems problems_;
  io::Random random_;
  io::Metrics metrics_;
  std::string identity_;
  std::string ns_;
  std::shared_ptr<kube::Authenticator> authenticator_;
  std::unique_ptr<kube::Transport> transport_;
  std::unique_ptr<kube::Transport> lease_transport_;
  kube::Client client_;        // writes only while we lead
  kube::Client event_client_;  // reads, and events, which harm nobody when late
  kube::Client lease_client_;
  kube::AtomPool atoms_;
  kube::Store<kube::Node> nodes_;
  kube::PodStore pods_{atoms_};
  std::unique_ptr<kube::Sink> node_sink_;
  std::unique_ptr<kube::Sink> pod_sink_;
  kube::Reflector node_reflector_;
  kube::Reflector pod_reflector_;
  kube::Election election_;
  budget::Ledger ledger_;
  kube::EventRecorder events_;
  profiles::Controller controller_;
  ConfigSource config_;
  web::Probes probes_;
  std::unique_ptr<io::HttpServer> probe_server_;
  std::unique_ptr<io::HttpServer> metrics_server_;
  io::Gate stop_;
  io::Gate scraped_;
  int scrapes_ = 0;
  io::Steady last_scrape_{};
  io::Scope scope_;
  io::Scope leading_;
};

bool Process::serve() {
  io::add_process_metrics(metrics_);
  web::show_problems(metrics_, problems_);
  election_.report_to(metrics_);
  election_.on_event([this](std::string message) { record_election(std::move(message)); });
  auto probes = web::serve_probes(loop_, options_.health_address, probes_);
  auto metrics = web::serve_metrics(loop_, options_.metrics_address, metrics_, [this] { scraped(); });
  for (const auto* served : {&probes, &metrics}) {
    if (*served) continue;
    log_.error(served->error().message);
    return false;
  }
  probe_server_ = std::move(*probes);
  metrics_server_ = std::move(*metrics);
  return true;
}

// As client-go records it, on the Lease.
void Process::record_election(std::string message) {
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {"coordination.k8s.io/v1", "Lease", ns_, kLock, election_.uid(), ""};
  event.reason = "LeaderElection";
  event.note = std::move(message);
  event.controller = identity_;
  events_.record(std::move(event));
}

Task<void> Process::mark_synced() {
  co_await node_reflector_.synced_gate().wait();
  if (options_.cache_pods) co_await pod_reflector_.synced_gate().wait();
  // The pages of the first list are garbage by now: give their memory back.
  ::malloc_trim(0);
  probes_.set_ready("caches");
  log_.info("nodes are known", "count", nodes_.size());
}

// Decides and writes, under the lock if there is one.
Task<void> Process::lead() {
  if (options_.leader_election) {
    co_await election_.leading_gate().wait();
    log_.info("this replica leads", "lock", fmt::format("{}/{}", ns_, kLock), "identity", identity_);
    // First the ledger, then the nodes: what a predecessor admitted is either in one or in the other.
    co_await ledger_.take_over();
    co_await node_reflector_.refresh();
    leading_.spawn(ledger_.run());
  } else {
    log_.warn(
        "leader election is off: limits hold within this process; a second one would not know of its admissions, "
        "nor would this one after a crash in the middle of a write");
    co_await node_reflector_.synced_gate().wait();
  }
  co_await controller_.run();
}

// Returns when this process must not go on.
Task<void> Process::until_lost() {
  if (!options_.leader_election) {
    co_await ledger_.fenced_gate().wait();
    co_return;
  }
  co_await io::race(loop_, election_.run(), wait_for(ledger_.fenced_gate()));
}

Task<int> Process::main() {
  scope_.spawn(node_reflector_.run());
  if (options_.cache_pods) scope_.spawn(pod_reflector_.run());
  scope_.spawn(events_.run());
  scope_.spawn(mark_synced());
  config_.start();
  leading_.spawn(lead());
  const int ended = co_await io::race(loop_, wait_for(stop_), until_lost());
  if (ended == 1) {
    log_.error("leadership is lost; this process ends so that it starts afresh as a follower");
    co_return 1;
  }
  log_.info("stopping");
  co_await wind_down();
  co_return 0;
}

Task<void> Process::wind_down() {
  co_await io::with_timeout(loop_, kFinishWrites, completed(controller_.stop()));
  leading_.cancel();
  if (options_.leader_election) co_await election_.release();
  co_await events_.flush(kFlushEvents);
  // If somebody collects our metrics regularly, the last values are worth a little patience.
  const bool collected = scrapes_ >= 2 && loop_.now() - last_scrape_ <= options_.metrics_timeout;
  if (!collected || options_.metrics_timeout <= io::Duration{0}) co_return;
  scraped_.close();
  log_.info("waiting for a last scrape of the metrics", "at most", io::format_duration(options_.metrics_timeout));
  co_await io::with_timeout(loop_, options_.metrics_timeout, completed(wait_for(scraped_)));
}

}  // namespace

int run(const RunOptions& options) {
  // One thread needs one arena, and what a list page took goes back to the system: its size must not raise the
  // threshold above which memory is mapped on its own.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 10);
  io::RealLoop loop;
  io::RealFiles files(loop);
  const io::Log root(io::make_stderr_sink(options.log, [&loop] { return loop.wall_now(); }), "");
  const io::Log log = root.named("setup");
  auto cluster = kube::load_cluster(files, {read_environment}, {options.kubeconfig, options.kubecontext});
  if (!cluster) {
    log.error(cluster.error().message);
    return 1;
  }
  log.info("cluster", "server", cluster->server, "from", cluster->source);

  Process process(options, loop, files, std::move(*cluster), root);
  if (!process.serve()) return 1;
  int signals = 0;
  const auto watch = io::watch_signals(loop, {SIGTERM, SIGINT}, [&](int) {
    if (++signals > 1) ::_exit(1);
    process.stop();
  });
  std::optional<int> code;
  io::Scope scope(loop);
  scope.spawn(keep(process.main(), code));
  loop.run_until([&] { return code.has_value(); });
  return *code;
}

}  // namespace careen::app
