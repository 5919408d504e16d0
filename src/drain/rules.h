// MachineDrainRules of Cluster API: which pods they are about and what they say of them, as Cluster API reads them.
// Which of them are about a node's Machine, and what namespaces there are, is found out elsewhere
// (replica/drain_rules_watch.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/result.h"
#include "kube/label_selector.h"

namespace careen::kube {
struct Namespace;
struct Object;
struct Pod;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::drain {

struct Rule {
  enum class Behavior { drain, skip, wait_completed, unknown };
  // Of a part that is not given all match.
  struct MachineChoice {
    kube::LabelSelector machine, cluster;
  };
  struct PodChoice {
    kube::LabelSelector pod, ns;
  };
  std::string name;  // with its kind, for people: MachineDrainRule fleet/db
  Behavior behavior = Behavior::drain;
  std::string said;                     // the behavior, as it stands there
  int32_t order = 0;                    // of drain: pods with a lower one leave first
  std::vector<MachineChoice> machines;  // one of them has to match; none: all match
  std::vector<PodChoice> pods;          // the same
};

// The error says which field is wrong. An unknown behavior is none: it concerns only the pods that the rule is about.
io::Result<Rule> read_rule(const kube::Object& object);

// The labels of a Machine and of its Cluster.
bool applies(const Rule& rule, const kube::LabelSelector::Lookup& machine, const kube::LabelSelector::Lookup& cluster);

// What is in force for the pods of one node.
struct NodeRules {
  bool known = true;         // false: nothing is evicted before it is
  std::string mistake = {};  // of a rule that cannot be read; no pod is evicted then
  std::vector<std::shared_ptr<const Rule>>
      rules;  // in the order in which they are asked; the first that is about a pod counts
  const kube::Store<kube::Namespace>* namespaces = nullptr;  // not used where no rule chooses by them
};

struct Ruling {
  const Rule* rule = nullptr;  // none is about the pod
  bool open = false;           // it depends on the pod's namespace, of which nothing is known yet
};
Ruling ruling_for(const kube::Pod& pod, const NodeRules& rules);

}  // namespace careen::drain
