#include "demo/config.h"

#include <fmt/format.h>

namespace careen::app {

namespace {

constexpr std::chrono::minutes kEvery{120};
constexpr std::chrono::minutes kOpen{100};
// A transition must lie strictly within a window.
constexpr std::chrono::minutes kOpenBefore{5};

std::string time_of_day(std::chrono::minutes since_midnight) {
  const auto minutes = since_midnight.count() % (24 * 60);
  return fmt::format("{}:{:02}", minutes / 60, minutes % 60);
}

std::string windows(io::Wall start) {
  const auto minute = std::chrono::floor<std::chrono::minutes>(start);
  const auto of_day = minute - std::chrono::floor<std::chrono::days>(minute);
  const std::chrono::minutes first{(of_day - kOpenBefore + kEvery).count() % kEvery.count()};
  std::string out;
  for (auto opens = first; opens < std::chrono::hours{24}; opens += kEvery) {
    const char* days = out.empty() ? "&daily [mon, tue, wed, thu, fri, sat, sun]" : "*daily";
    out += fmt::format("      - {{start: \"{}\", end: \"{}\", weekdays: {}}}\n", time_of_day(opens),
                       time_of_day(opens + kOpen), days);
  }
  return out;
}

constexpr std::string_view kFile =
    R"(# careen's demonstration: two maintenance profiles. "careen plugins" tells what else there is.
intervals:
  requeue: 30s

instances:
  check:
  # A release agent labels the nodes that do not run the newest image yet.
  - name: outdated
    type: hasLabel
    config: {{key: {outdated}, value: needed}}
  - name: window_open
    type: timeWindow
    config:
      windows:
{windows}  # Nodes follow one another at a distance, two at most in twenty seconds ...
  - name: my_turn
    type: stagger
    config: {{duration: 20s, parallel: 2, leaseName: os-update, leaseNamespace: kube-system}}
  # ... and never more than {per_zone} of a zone at once.
  - name: zone_has_room
    type: maxMaintenance
    config: {{max: {per_zone}, groupBy: [topology.kubernetes.io/zone]}}
  # Nodes of the storage pool wait for a person, and then for nobody's turn.
  - name: worker
    type: hasLabel
    config: {{key: {pool}, value: worker}}
  - name: approved
    type: hasAnnotation
    config: {{key: {approved}}}
  - name: node_ready
    type: condition
    config: {{type: Ready, status: "True"}}
  - name: settled
    type: wait
    config: {{duration: 15s}}

  - name: broken
    type: hasLabel
    config: {{key: {hardware}, value: broken}}
  - name: repaired
    type: hasLabel
    config: {{key: {hardware}, value: repaired}}
  # Repairs may go beyond the limit of updates, but not far.
  - name: bench_is_free
    type: maxMaintenance
    config: {{max: {most}}}

  trigger:
  - name: drain
    type: eviction
    config: {{action: drain}}
  - name: uncordon
    type: eviction
    config: {{action: uncordon}}
  - name: use_up_approval
    type: alterAnnotation
    config: {{key: {approved}, remove: true}}
  - name: forget_fault
    type: alterLabel
    config: {{key: {hardware}, remove: true}}

profiles:
- name: {os_update}
  operational:
    transitions:
    - check: outdated
      next: maintenance-required
  maintenance-required:
    transitions:
    - check: "!outdated"
      next: operational
    - check: window_open && zone_has_room && (worker && my_turn || approved)
      next: in-maintenance
      trigger: drain
  in-maintenance:
    transitions:
    - check: "!outdated && node_ready && settled"
      next: operational
      trigger: uncordon && use_up_approval

- name: {repair}
  operational:
    transitions:
    - check: broken
      next: maintenance-required
  maintenance-required:
    transitions:
    - check: "!broken"
      next: operational
    - check: bench_is_free
      next: in-maintenance
      trigger: drain
  in-maintenance:
    transitions:
    - check: repaired && node_ready
      next: operational
      trigger: uncordon && forget_fault
)";

}  // namespace

std::string demo_config(io::Wall start) {
  using fmt::arg;
  return fmt::format(fmt::runtime(kFile), arg("windows", windows(start)), arg("outdated", kOutdatedLabel),
                     arg("pool", kPoolLabel), arg("approved", kApprovedAnnotation), arg("hardware", kHardwareLabel),
                     arg("per_zone", kUpdatesPerZone), arg("most", kMostInMaintenance), arg("os_update", kOsUpdate),
                     arg("repair", kHardwareRepair));
}

}  // namespace careen::app
