// A careen process on the model cluster, in virtual time: it can be killed, suspended and given another
// configuration. Its clock may be off.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/profiles/controller_options.h"
#include "io/files.h"
#include "io/log.h"
#include "io/random.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"
#include "io/virtual_time.h"
#include "replica/replica.h"
#include "turnstile/reach.h"
#include "web/routes.h"

namespace careen::kube {
struct Access;
}

namespace careen::sim {
struct Cluster;
class Network;
}  // namespace careen::sim

namespace careen::profiles {
struct Config;
}

namespace careen::replica {

struct ModelProcessOptions {
  std::string name = "careen-0";  // its host; its connections are <name> and <name>/lease
  uint64_t seed = 1;
  io::Duration skew{};
  bool leader_election = true;
  bool awaits_pauses = true;
  bool cache_pods = false;
  bool profiles = true;
  bool hub = false;                                                          // profiles in workload clusters instead
  std::vector<std::shared_ptr<const controllers::Choice>> controllers = {};  // besides profiles
  profiles::ControllerOptions controller = {};
  std::string own_pod = {};
  std::map<std::string, std::string> environment = {};
  std::function<void(profiles::Config&)> adjust_config = {};
  io::Log log = {};
  // The network of another model cluster by how it is reached; null: there is none, and nobody answers.
  std::function<sim::Network*(const kube::Access&)> elsewhere = {};
};

class ModelProcess {
 public:
  ModelProcess(io::VirtualTime& time, sim::Cluster& cluster, std::string config, ModelProcessOptions options = {});
  // As by kill -9: what it sent still arrives.
  ~ModelProcess();

  void set_config(std::string config) { files_.write(kConfig, std::move(config)); }
  void suspend() { time_.suspend(*loop_); }
  void resume() { time_.resume(*loop_); }
  void step_clock(io::Duration by) { time_.step_clock(*loop_, by); }
  // As by SIGTERM.
  void stop() { replica_->stop(); }
  // From now on it answers what the API server, and other replicas, ask at its webhooks.
  void serve_webhooks(turnstile::Reach reach);
  // What arrives there. `tell` is called on its own loop, unless it dies before it has an answer.
  void ask(io::ServerRequest request, std::function<void(io::ServerResponse)> tell);
  // Once it has ended by itself.
  std::optional<int> exit_code() const { return exit_code_; }

  Replica& replica() { return *replica_; }
  const std::string& name() const { return name_; }

 private:
  static constexpr const char* kConfig = "/etc/careen/maintenance.yaml";
  io::Task<void> main();
  io::Task<void> answer(io::ServerRequest request, std::function<void(io::ServerResponse)> tell);

  io::VirtualTime& time_;
  std::string name_;
  std::unique_ptr<io::Loop> loop_;
  io::MemoryFiles files_;
  io::Random random_;
  std::unique_ptr<io::HttpClient> http_;
  std::unique_ptr<io::MailClient> mail_;
  std::unique_ptr<Replica> replica_;
  std::optional<int> exit_code_;
  web::Routes webhooks_;
  io::Scope scope_;
};

}  // namespace careen::replica
