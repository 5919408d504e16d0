#include "commands/demo.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "cli/environment.h"
#include "cli/screen.h"
#include "commands/dashboard_server.h"
#include "commands/demo_colleague.h"
#include "commands/model_kubeconfig.h"
#include "demo/config.h"
#include "demo/hints.h"
#include "demo/log.h"
#include "demo/world.h"
#include "io/certificates.h"
#include "io/http.h"
#include "io/http_server.h"
#include "io/metrics.h"
#include "io/paced_time.h"
#include "io/process.h"
#include "sim/http_face.h"

namespace careen::app {

namespace {

constexpr const char* kUsualAddress = "127.0.0.1:8080";
constexpr const char* kFreeAddress = "127.0.0.1:0";
// How often the log is brought up to date, in real time.
constexpr io::Duration kLogEvery = io::milliseconds{500};
// How long its certificates are good for.
constexpr io::Duration kLongest = io::hours{24 * 365};
// Faster than this, single drains are too many lines.
constexpr double kBriefFrom = 10;

// A folder that is removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = read_environment("TMPDIR").value_or("/tmp") + "/careen-demo-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;  // there is nobody to tell, and nothing to do about it
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool on_path(const std::string& program) {
  std::string folders = read_environment("PATH").value_or("");
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    if (::access((folders.substr(0, end) + "/" + program).c_str(), X_OK) == 0) return true;
    folders.erase(0, end + 1);
  }
  return false;
}

// Where this program is, unless the shell finds it anyhow.
std::string own_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error || on_path("careen") ? "" : program.parent_path().string();
}

class Demo {
 public:
  Demo(const DemoOptions& options, Screen& screen)
      : options_(options),
        screen_(screen),
        time_(options.seed, real_.wall_now() - DemoWorld::kHeadStart),
        log_(screen, options.speed >= kBriefFrom),
        world_(time_, {.nodes = options.nodes,
                       .clusters = options.clusters,
                       .seed = options.seed,
                       .actors = options.actors,
                       .tell = [this](const std::string& node,
                                      const std::string& text) { log_.tell(time_.wall_now(), node, text); }}),
        http_(io::make_http_client(real_, {})),
        paced_(real_, time_, options.speed),
        show_log_(real_, [this] { show_log(); }),
        colleague_(options.actors && !world_.has_hub()
                       ? std::make_unique<DemoColleague>(time_, world_, options.seed,
                                                         [this](const std::string& node, const std::string& text) {
                                                           log_.tell(time_.wall_now(), node, text);
                                                         })
                       : nullptr) {}

  int run();

 private:
  bool serve();
  io::Result<void> serve_home();
  io::Result<void> serve_cluster(size_t index, const io::KeyPair& authority);
  io::Result<void> serve_clusters();
  io::Result<void> open_dashboard(const std::string& address);
  std::string kubeconfig_path() const;
  std::string config_path() const { return folder_.path() + "/maintenance.yaml"; }
  bool write_files() const;
  io::Validity validity() const { return {real_.wall_now() - io::hours{1}, real_.wall_now() + kLongest}; }
  std::string dashboard_url() const;
  DemoPlace place();
  void show_log() {
    dashboard_->for_each_chronicle([this](const std::string& cluster, const view::Chronicle& chronicle) {
      log_.show(cluster.substr(cluster.find('/') + 1), chronicle.timeline());
    });
    show_log_.set(real_.now() + kLogEvery);
  }
  bool is_over(io::Steady since) const { return options_.lasts && real_.now() - since >= *options_.lasts; }

  const DemoOptions& options_;
  Screen& screen_;
  TemporaryFolder folder_;
  io::RealLoop real_;
  io::VirtualTime time_;
  DemoLog log_;
  DemoWorld world_;
  std::unique_ptr<io::HttpClient> http_;
  io::PacedTime paced_;
  io::Alarm show_log_;
  std::unique_ptr<DemoColleague> colleague_;
  std::vector<std::unique_ptr<io::HttpServer>> servers_;  // of all model clusters
  std::vector<ModelContext> contexts_;                    // by which they are reached, careen's own first
  std::unique_ptr<DashboardServer> dashboard_;
};

std::string Demo::kubeconfig_path() const {
  return options_.kubeconfig.empty() ? folder_.path() + "/kubeconfig"
                                     : std::filesystem::absolute(options_.kubeconfig).string();
}

io::Result<void> Demo::open_dashboard(const std::string& address) {
  dashboard_ = std::make_unique<DashboardServer>(
      DashboardParts{.loop = real_, .replica = world_.careen().replica(), .http = *http_},
      DashboardOptions{.address = address,
                       .speed = [this] { return options_.speed; },
                       .known_as = "careen demo",
                       .config = [this] { return io::Result<std::string>(world_.config()); }});
  return dashboard_->open();
}

io::Result<void> Demo::serve_home() {
  auto server = sim::serve_model(real_, world_.home().network, kFreeAddress, options_.speed);
  if (!server) return tl::make_unexpected(std::move(server.error()));
  contexts_.push_back({.server = fmt::format("http://127.0.0.1:{}", (*server)->port())});
  if (world_.has_hub()) contexts_.back().name = "management";
  servers_.push_back(std::move(*server));
  return {};
}

// A hub trusts no kubeconfig that leads to a server without TLS.
io::Result<void> Demo::serve_cluster(size_t index, const io::KeyPair& authority) {
  const std::string name = kClusterNames[index];
  auto pair = io::issue_certificate(authority, {"127.0.0.1"}, validity());
  if (!pair) return tl::make_unexpected(std::move(pair.error()));
  io::ServerOptions options;
  options.address = kFreeAddress;
  options.tls_pair = [shown = std::make_shared<const io::KeyPair>(std::move(*pair))] { return shown; };
  auto server = sim::serve_model(real_, world_.cluster(index).model().network, std::move(options), options_.speed);
  if (!server) return tl::make_unexpected(std::move(server.error()));
  ModelContext context{name, fmt::format("https://127.0.0.1:{}", (*server)->port()), authority.certificate};
  world_.publish(index, context.server, model_kubeconfig({context}));
  contexts_.push_back(std::move(context));
  servers_.push_back(std::move(*server));
  return {};
}

io::Result<void> Demo::serve_clusters() {
  const auto authority = io::make_authority("careen demo", validity());
  if (!authority) return tl::make_unexpected(authority.error());
  for (size_t index = 0; index < world_.size(); ++index) {
    if (auto served = serve_cluster(index, *authority); !served) return served;
  }
  return {};
}

bool Demo::serve() {
  auto opened = serve_home();
  if (opened && world_.has_hub()) opened = serve_clusters();
  if (opened) {
    opened = open_dashboard(options_.listen.empty() ? kUsualAddress : options_.listen);
    if (!opened && options_.listen.empty()) opened = open_dashboard(kFreeAddress);
  }
  if (!opened) {
    screen_.error(opened.error().message);
    return false;
  }
  return write_files();
}

bool Demo::write_files() const {
  std::ofstream config(config_path(), std::ios::trunc);
  config << world_.config();
  config.close();
  const bool written = write_model_kubeconfig(kubeconfig_path(), contexts_);
  if (!written) screen_.error(fmt::format("{}: cannot be written", kubeconfig_path()));
  if (!config.good()) screen_.error(fmt::format("{}: cannot be written", config_path()));
  return written && config.good();
}

std::string Demo::dashboard_url() const {
  if (const auto local = dashboard_->local_url()) return *local;
  return fmt::format("http://{}:{}", options_.listen.substr(0, options_.listen.rfind(':')), dashboard_->port());
}

DemoPlace Demo::place() {
  return {.nodes = options_.nodes,
          .clusters = options_.clusters,
          .speed = options_.speed,
          .dashboard = dashboard_url(),
          .kubeconfig = kubeconfig_path(),
          .config = config_path(),
          .folder = own_folder(),
          .kubectl = on_path("kubectl"),
          .blocked = world_.cluster().node_with("data", "orders")};
}

int Demo::run() {
  io::add_process_metrics(world_.careen().replica().metrics());
  if (!serve()) return 1;
  bool stop = false;
  const auto watch = io::watch_signals(real_, {SIGTERM, SIGINT}, [&](int signal) {
    if (stop) ::_exit(128 + signal);
    stop = true;
  });
  print_demo_start(screen_, place());
  show_log();
  const io::Steady begun = real_.now();
  io::Alarm end(real_, [] {});
  if (options_.lasts) end.set(begun + *options_.lasts);
  paced_.run_until([&] { return stop || is_over(begun); });
  if (!options_.kubeconfig.empty()) std::filesystem::remove(kubeconfig_path());
  screen_.line("");
  screen_.line("The demonstration has ended; nothing is left of it.");
  return 0;
}

}  // namespace

int run_demo(const DemoOptions& options) {
  Screen screen(process_screen());
  if (options.print_config) {
    const io::RealLoop loop;
    screen.document(demo_config(loop.wall_now()));
    return 0;
  }
  Demo demo(options, screen);
  return demo.run();
}

}  // namespace careen::app
