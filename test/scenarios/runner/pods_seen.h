// What the witness sees of pods: where they are, which of them careen evicts or deletes, and whether it took more of
// them away than their budgets allow, counted here and not by the budgets' own status.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "timeline.h"

namespace careen::scenarios {

struct PodView {
  std::map<std::string, std::string> labels;
  std::string node;
  std::string phase;
  bool ready = false;
  bool terminating = false;

  bool healthy() const { return ready && !terminating; }
};

// An eviction that careen asked for and the server answered.
struct EvictionSeen {
  std::string pod;  // namespace/name
  std::string uid;  // that the request insisted on
  bool accepted = false;
};

class PodsSeen {
 public:
  PodsSeen(sim::ApiServer& api, Timeline& timeline) : api_(api), timeline_(timeline) {}

  void see(const sim::Change& change, bool by_careen);
  void see_request(io::Steady at, const std::string& replica, const kube::Request& request, int status);

  // By namespace/name.
  const std::map<std::string, PodView>& pods() const { return pods_; }
  const std::vector<EvictionSeen>& evictions() const { return evictions_; }
  // In words: which budgets had fewer healthy pods left than they demand after careen took one.
  const std::vector<std::string>& broken_budgets() const { return broken_; }

 private:
  void check_budgets(const std::string& ns, const std::string& name, const PodView& taken);

  sim::ApiServer& api_;
  Timeline& timeline_;
  std::map<std::string, PodView> pods_;
  std::vector<EvictionSeen> evictions_;
  std::vector<std::string> broken_;
};

}  // namespace careen::scenarios
