// Which pods of a node a drain takes: the filters of kubectl drain, in its order and with its words, and Cluster API's:
// what pods say of themselves by its label, and what MachineDrainRules say of them. The drain's own options come before
// the label, and the label before the rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drain/options.h"
#include "kube/pod_store.h"

namespace careen::drain {

struct NodeRules;

enum class DaemonSetState { exists, missing, unknown };

enum class Fate {
  take,    // evict, and wait until it is gone
  leave,   // not this drain's business
  await,   // not evicted, but waited for
  refuse,  // the drain must not begin
};

struct Verdict {
  Fate fate = Fate::take;
  std::string message = {};  // of a refusal or a warning, or why it is awaited; may be empty
  // It is left or awaited because it says so itself, or a rule says so. Where budgets are overridden in time, the wait
  // for such a pod ends then, too.
  bool told = false;
  int32_t order = 0;    // of one that is taken: those with a lower one leave first
  std::string by = {};  // the rule that gives it this order; empty: none does
};

// On a pod, whatever its value's case: skip leaves it alone, wait-completed lets it end by itself.
inline constexpr std::string_view kDrainLabel = "cluster.x-k8s.io/drain";

// `daemon_set` counts only for pods that one controls, `beyond_grace` (for how long its grace period has been over)
// only for one that terminates. Null: there are no rules.
Verdict judge(const kube::Pod& pod, const Options& options, DaemonSetState daemon_set, io::Duration beyond_grace,
              const NodeRules* rules = nullptr);

// "ns/name" of pods by message. kubectl's lines: cannot delete <message>: ns/a, ns/b, and WARNING: <message>: …
using Remarks = std::vector<std::pair<std::string, std::vector<std::string>>>;
void remark(Remarks& remarks, const std::string& message, const kube::Pod& pod);
std::vector<std::string> refusals_text(const Remarks& refusals);
std::string warnings_text(const Remarks& warnings);
// A line for each message, with the names of the first pods.
std::vector<std::string> short_lines(const Remarks& remarks);

}  // namespace careen::drain
