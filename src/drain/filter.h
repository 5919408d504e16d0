// Which pods of a node a drain takes: the filters of kubectl drain, in its order and with its words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "drain/options.h"
#include "kube/pod_store.h"

namespace careen::drain {

enum class DaemonSetState { exists, missing, unknown };

enum class Fate {
  take,    // evict, and wait until it is gone
  leave,   // not this drain's business
  await,   // not evicted, but waited for
  refuse,  // the drain must not begin
};

struct Verdict {
  Fate fate = Fate::take;
  std::string message;  // of a refusal or a warning; may be empty
};

// `daemon_set` counts only for pods that one controls, `beyond_grace` (for how long its grace period has been over)
// only for one that terminates.
Verdict judge(const kube::Pod& pod, const Options& options, DaemonSetState daemon_set, io::Duration beyond_grace);

// "ns/name" of pods by message. kubectl's lines: cannot delete <message>: ns/a, ns/b, and WARNING: <message>: …
using Remarks = std::vector<std::pair<std::string, std::vector<std::string>>>;
void remark(Remarks& remarks, const std::string& message, const kube::Pod& pod);
std::vector<std::string> refusals_text(const Remarks& refusals);
std::string warnings_text(const Remarks& warnings);

}  // namespace careen::drain
