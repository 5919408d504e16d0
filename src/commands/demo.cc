#include "commands/demo.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "cli/environment.h"
#include "cli/screen.h"
#include "commands/dashboard_server.h"
#include "commands/demo_colleague.h"
#include "commands/model_kubeconfig.h"
#include "demo/config.h"
#include "demo/hints.h"
#include "demo/log.h"
#include "demo/world.h"
#include "io/http.h"
#include "io/metrics.h"
#include "io/paced_time.h"
#include "io/process.h"
#include "plan/upcoming.h"
#include "sim/http_face.h"

namespace careen::app {

namespace {

constexpr const char* kUsualAddress = "127.0.0.1:8080";
constexpr const char* kFreeAddress = "127.0.0.1:0";
// How often the log is brought up to date, in real time.
constexpr io::Duration kLogEvery = io::milliseconds{500};
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
                       .seed = options.seed,
                       .actors = options.actors,
                       .tell = [this](const std::string& node,
                                      const std::string& text) { log_.tell(time_.wall_now(), node, text); }}),
        http_(io::make_http_client(real_, {})),
        paced_(real_, time_, options.speed),
        show_log_(real_, [this] { show_log(); }),
        colleague_(options.actors
                       ? std::make_unique<DemoColleague>(time_, world_, options.seed,
                                                         [this](const std::string& node, const std::string& text) {
                                                           log_.tell(time_.wall_now(), node, text);
                                                         })
                       : nullptr),
        upcoming_(
            {real_, world_.careen().replica().reader(), [this] { return io::Result<std::string>(world_.config()); }}) {}

  int run();

 private:
  bool serve();
  io::Result<void> open_dashboard(const std::string& address);
  std::string kubeconfig_path() const;
  std::string config_path() const { return folder_.path() + "/maintenance.yaml"; }
  bool write_files() const;
  std::string dashboard_url() const;
  DemoPlace place() const;
  void show_log() {
    log_.show(dashboard_->chronicle().timeline());
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
  plan::Upcoming upcoming_;
  std::unique_ptr<io::HttpServer> cluster_server_;
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
                       .plan = [this](int hours) { return upcoming_.document(hours); }});
  return dashboard_->open();
}

bool Demo::serve() {
  auto cluster = sim::serve_model(real_, world_.cluster().network, kFreeAddress, options_.speed);
  if (!cluster) {
    screen_.error(cluster.error().message);
    return false;
  }
  cluster_server_ = std::move(*cluster);
  auto opened = open_dashboard(options_.listen.empty() ? kUsualAddress : options_.listen);
  if (!opened && options_.listen.empty()) opened = open_dashboard(kFreeAddress);
  if (!opened) {
    screen_.error(opened.error().message);
    return false;
  }
  return write_files();
}

bool Demo::write_files() const {
  const std::string server = fmt::format("http://127.0.0.1:{}", cluster_server_->port());
  std::ofstream config(config_path(), std::ios::trunc);
  config << world_.config();
  config.close();
  const bool written = write_model_kubeconfig(kubeconfig_path(), server);
  if (!written) screen_.error(fmt::format("{}: cannot be written", kubeconfig_path()));
  if (!config.good()) screen_.error(fmt::format("{}: cannot be written", config_path()));
  return written && config.good();
}

std::string Demo::dashboard_url() const {
  if (const auto local = dashboard_->local_url()) return *local;
  return fmt::format("http://{}:{}", options_.listen.substr(0, options_.listen.rfind(':')), dashboard_->port());
}

DemoPlace Demo::place() const {
  return {.nodes = options_.nodes,
          .speed = options_.speed,
          .dashboard = dashboard_url(),
          .kubeconfig = kubeconfig_path(),
          .config = config_path(),
          .folder = own_folder(),
          .kubectl = on_path("kubectl"),
          .blocked = world_.node_with("data", "orders")};
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
