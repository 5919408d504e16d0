// What the kubelets of the model do with pods: start those that are bound to their node, let them run to their end, and
// end those that are being deleted. A kubelet that is stopped does none of it; pods of nodes without a kubelet of the
// model are left alone. Annotations on a pod say how it behaves:
//   model.careen.dev/start-time: "5"          seconds until it runs
//   model.careen.dev/ready: "false"           it runs and is not ready; "true" makes it ready again
//   model.careen.dev/run-time: "30"           seconds until it has done its work, as the pods of Jobs do
//   model.careen.dev/termination-time: "20"   seconds it takes to end, at most its grace period; or "never"
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "io/loop.h"
#include "sim/api_server.h"
#include "sim/by_name.h"
#include "sim/kubelets.h"

namespace careen::sim {

class Pods {
 public:
  Pods(io::Loop& loop, ApiServer& api, Kubelets& kubelets);
  Pods(const Pods&) = delete;
  Pods& operator=(const Pods&) = delete;

  // For pods that do not say how long they take.
  struct Times {
    io::Duration to_start = io::milliseconds{200};
    io::Duration to_end = io::seconds{1};
  };
  void set_times(const Times& times) { times_ = times; }

 private:
  struct Pod {
    std::string node;
    std::string uid;
    io::Steady bound{};                      // when its kubelet heard of it
    std::optional<io::Steady> runs_since{};  // since its kubelet started it
    std::optional<io::Steady> ends_since{};  // since its kubelet heard that it is being deleted
    io::Steady due = io::kNever;
  };
  void note(const Change& change);
  void look_again(const std::string& node);
  void run();
  // Decides what its kubelet does next, and when.
  void plan(const std::string& key);
  void act(const std::string& key);
  void wake(const std::string& key, Pod& pod, io::Steady at);
  void forget(const std::string& key);

  enum class Step { none, start, finish, end, show_readiness };
  struct Next {
    Step step = Step::none;
    io::Steady at{};
  };
  Next next_step(Pod& pod, const json::value& object) const;
  void write_status(const std::string& path, const json::value& object, std::string_view phase, bool ready,
                    bool started);
  std::string address_of(std::string_view node) const;
  void end(const std::string& path, const json::value& object);

  io::Loop& loop_;
  ApiServer& api_;
  Kubelets& kubelets_;
  Times times_{};
  io::Alarm next_;
  std::set<std::string> changed_;
  ByName<Pod> pods_;                       // bound ones, by namespace/name
  ByName<std::set<std::string>> on_node_;  // their keys
  std::set<std::pair<io::Steady, std::string>> by_time_;
  uint64_t addresses_ = 0;
};

}  // namespace careen::sim
