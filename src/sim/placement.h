// What decides whether a pod may run on a node: readiness, taints and tolerations, node selectors and affinity,
// resources. The scheduler and the DaemonSet controller ask the same questions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/value.h"

namespace careen::sim {

// What pods ask for and nodes have.
struct Room {
  int64_t milli_cpu = 0;
  int64_t memory = 0;  // bytes
  int64_t pods = 0;
  Room& operator+=(const Room& other);
  Room& operator-=(const Room& other);
  friend Room operator-(Room a, const Room& b) { return a -= b; }
  friend bool operator==(const Room&, const Room&) = default;
};

// "500m", "1.5", "128Gi", "1e3" in thousandths, rounded up; 0 for what is no quantity.
int64_t milli_quantity(std::string_view text);

struct Taint {
  std::string key, value, effect;
  friend auto operator<=>(const Taint&, const Taint&) = default;
};

// A node as far as placement is concerned.
struct NodeFacts {
  explicit NodeFacts(const json::value& node);

  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  // Those of the node, and those that stand for unschedulable and not ready before the control plane has set them.
  std::vector<Taint> taints;
  Room allocatable;

  friend bool operator==(const NodeFacts&, const NodeFacts&);
};

// What a pod asks for: the sum of its containers, or its largest init container, and its overhead.
Room requests_of(const json::value& pod_spec);

bool tolerates(const json::value& toleration, const Taint& taint);
// The first taint with one of these effects that the pod does not tolerate; null when there is none.
const Taint* untolerated(const json::value& pod_spec, const NodeFacts& node,
                         const std::vector<std::string_view>& effects);

// nodeSelector and required node affinity.
bool selects(const json::value& pod_spec, const NodeFacts& node);
// The one node that required affinity names, as for the pods of DaemonSets; empty when it does not.
std::string_view only_node(const json::value& pod_spec);
// The sum of the weights of the preferences it meets.
int64_t preference(const json::value& pod_spec, const NodeFacts& node);
bool has_preferences(const json::value& pod_spec);

}  // namespace careen::sim
