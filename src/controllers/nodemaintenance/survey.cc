#include "controllers/nodemaintenance/survey.h"

#include <algorithm>

#include "drain/filter.h"
#include "drain/rules.h"
#include "kube/pod_store.h"

namespace careen::nodemaintenance {

Survey survey(const kube::PodStore& pods, const Maintenance& maintenance, const DaemonSets& daemon_sets,
              const drain::NodeRules& rules) {
  Survey out;
  pods.for_each_on(maintenance.node, [&](const kube::Pod& pod) {
    ++out.total;
    const bool daemon = pod.flags.daemon_set && daemon_sets;
    const auto state = daemon ? daemon_sets(pod.ns, pod.owner_name) : drain::DaemonSetState::exists;
    const drain::Verdict verdict = drain::judge(pod, maintenance.options, state, io::Duration{0}, &rules);
    if (verdict.fate != drain::Fate::leave) out.pending.push_back({std::string(pod.ns), std::string(pod.name)});
  });
  std::sort(out.pending.begin(), out.pending.end());
  return out;
}

}  // namespace careen::nodemaintenance
