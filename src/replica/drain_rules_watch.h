// Which MachineDrainRules of Cluster API are in force for a node's pods: where the cluster that the node is in, or with
// a hub its management cluster, serves the kind, and has the node's Machine too. Machines, Clusters and namespaces are
// watched only while rules choose by them. As long as it is not known which rules there are nothing is evicted; where
// careen may not read them drains go on without, and that is said once.
//
// A Machine is joined to its node by what Cluster API itself joins them by: it names the node, and both have the same
// provider ID. A name alone proves nothing, since a management cluster has Machines of other clusters.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "drain/rules.h"
#include "io/loop.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "kube/cache.h"
#include "kube/cluster.h"
#include "kube/objects.h"
#include "replica/followed_kinds.h"
#include "replica/rule_machine.h"

namespace careen::drain {
class Engine;
}

namespace careen::kube {
struct Node;
}

namespace careen::replica {

struct DrainRulesParts {
  kube::Cluster& cluster;
  const kube::Store<kube::Node>& nodes;
  drain::Engine& engine;
  // From now on nodes have to say which machine they are, or need not any more; `known` is called once they do.
  std::function<void(bool wanted, std::function<void()> known)> know_machines;
  const FollowedPlace& cluster_api;  // where its objects about this cluster are; it outlives the watch
};

class DrainRulesWatch {
 public:
  // From now on the engine heeds rules; it has to be gone, or at rest, when this is.
  explicit DrainRulesWatch(DrainRulesParts parts);
  DrainRulesWatch(const DrainRulesWatch&) = delete;
  DrainRulesWatch& operator=(const DrainRulesWatch&) = delete;

  // Until cancelled.
  io::Task<void> run();

 private:
  struct Read {
    std::shared_ptr<const drain::Rule> rule;  // null: there is a mistake
    std::string mistake;
  };

  std::unique_ptr<kube::Sink> sink_of(kube::Store<RuleMachine>& store);
  void rule_changed(const kube::Object* before, const kube::Object* after);
  void machine_changed(const RuleMachine* before, const RuleMachine* after);
  // What is needed besides the rules.
  void consider_needs();
  void change();
  bool known() const;
  drain::NodeRules of(const std::string& node) const;
  const RuleMachine* machine_of(const kube::Node& node) const;
  bool is_about(const drain::Rule& rule, const RuleMachine& machine) const;
  void report();

  DrainRulesParts p_;
  io::Loop& loop_;
  kube::Store<kube::Object> rules_;
  kube::Store<RuleMachine> machines_, clusters_;
  kube::Store<kube::Namespace> namespaces_;
  std::map<std::string, Read, std::less<>> read_;                                   // by the rule's key
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> by_node_;  // keys of Machines
  bool knows_nodes_ = false;                                                        // nodes say which machine they are
  bool asked_nodes_ = false;
  int asks_ = 0;
  const FollowedPlace here_;
  FollowedKinds kinds_;
  FollowedKinds::Kind& of_rules_;
  FollowedKinds::Kind& of_machines_;
  FollowedKinds::Kind& of_clusters_;
  FollowedKinds::Kind& of_namespaces_;
  io::Signal look_;
  io::Alarm tell_;
  std::vector<io::Subscription> changes_;
};

}  // namespace careen::replica
