// The replicas of careen in a scenario: which run, which leads, what they log. One that ends by itself is started again
// after ten seconds, as the kubelet does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/profiles/decision.h"
#include "io/virtual_time.h"
#include "replica/model_process.h"
#include "timeline.h"

namespace careen::controllers {
struct Kind;
}

namespace careen::scenarios {

struct CrewPlan {
  int replicas = 1;
  bool leader_election = false;
  bool notify_blocking = false;
  bool pod_events = true;
  bool dry_run = false;
  bool cache_pods = false;
  bool profiles = true;
  std::vector<const controllers::Kind*> controllers = {};  // besides profiles
  bool in_pods = false;  // each runs in the pod kube-system/NAME; where that is gone or going, it is not started again
  std::map<std::string, std::string> environment;
  std::map<std::string, io::Duration> skew;  // by replica
  std::string config;
};

struct LogLine {
  io::Steady at{};
  std::string replica;
  io::LogLevel level = io::LogLevel::info;
  std::string text;  // message key=value …
};

class Crew {
 public:
  enum class State { running, suspended, down };

  Crew(io::VirtualTime& time, sim::Cluster& cluster, Timeline& timeline, CrewPlan plan, uint64_t seed);
  ~Crew();

  // careen-0, careen-1, …
  std::vector<std::string> names() const;
  // "leader" gives who leads now (a suspended one does not); nobody: nullopt.
  std::optional<std::string> resolve(const std::string& name) const;
  std::optional<std::string> leader() const;
  State state(const std::string& name) const;
  // How it ended by itself, last; nullopt when it never did.
  std::optional<int> exit_code(const std::string& name) const;
  // Null when it is down.
  replica::Replica* replica(const std::string& name) const;

  // Each returns what is wrong, or nothing.
  std::string start(const std::string& name);
  std::string crash(const std::string& name);
  std::string stop(const std::string& name);
  std::string suspend(const std::string& name);
  std::string resume(const std::string& name);
  // Of all, also of those that start later.
  void configure(std::string config);
  const std::string& config() const { return plan_.config; }

  // To be called now and then, from outside the loops: deals with replicas that have ended.
  void tend();

  // What the replica thinks about the node now; nullopt while it does not know its configuration.
  std::optional<profiles::Decision> explain(const std::string& name, const std::string& node) const;
  // The same of all its controllers, as text; empty when it can tell nothing.
  std::string reasons(const std::string& name, const std::string& node) const;

  const std::vector<LogLine>& logs() const { return logs_; }
  std::function<void()> on_log;

 private:
  struct Member;
  class Sink;
  void launch(Member& member);
  void note(const std::string& who, std::string what);
  Member& member(const std::string& name) const;
  bool may_run(const std::string& name) const;

  io::VirtualTime& time_;
  sim::Cluster& cluster_;
  Timeline& timeline_;
  CrewPlan plan_;
  uint64_t seed_;
  uint64_t launches_ = 0;
  std::unique_ptr<io::Loop> loop_;
  std::vector<LogLine> logs_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace careen::scenarios
