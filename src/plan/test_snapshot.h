// Snapshots of made-up clusters, for tests and benchmarks.
#pragma once

#include <fmt/format.h>

#include <string>

#include "plan/snapshot.h"

namespace careen::plan {

inline const io::Wall kMonday = *io::parse_rfc3339("2026-03-02T10:00:00Z");

inline kube::Json parsed(std::string_view text) {
  auto json = kube::Json::parse(text);
  if (!json) throw std::runtime_error(std::string(text) + ": " + json.error().message);
  return std::move(*json);
}

inline std::string uid_of(std::string_view kind, int number) {
  return fmt::format("{:08x}-0000-4000-8000-{:012x}", std::hash<std::string_view>{}(kind) & 0xFFFFFFFF, number);
}

// A node with profile update that waits for it, in one of three zones.
inline kube::Json sample_node(int number) {
  return parsed(fmt::format(
      R"({{"metadata":{{"name":"node-{:04}","uid":"{}","labels":{{"cloud.sap/maintenance-profile":"update",)"
      R"("update":"wanted","topology.kubernetes.io/zone":"zone-{}","kubernetes.io/hostname":"node-{:04}"}}}},)"
      R"("spec":{{}},"status":{{"capacity":{{"cpu":"32","memory":"128Gi","pods":"110"}},)"
      R"("allocatable":{{"cpu":"32","memory":"128Gi","pods":"110"}},)"
      R"("conditions":[{{"type":"Ready","status":"True"}}],"nodeInfo":{{"kubeletVersion":"v1.34.1"}}}}}})",
      number, uid_of("node", number), static_cast<char>('a' + number % 3), number));
}

inline Snapshot sample_snapshot(int nodes, io::Wall time = kMonday) {
  Snapshot snapshot;
  snapshot.time = time;
  snapshot.server = "v1.34.1";
  for (int i = 0; i < nodes; ++i) snapshot.objects[Kind::nodes].push_back(sample_node(i));
  return snapshot;
}

// A ReplicaSet of this many pods, spread over the nodes from the first one on, with a budget unless that is 0.
inline void add_workload(Snapshot& snapshot, const std::string& name, int replicas, int max_unavailable,
                         int first_node = 0) {
  const int nodes = static_cast<int>(snapshot.of(Kind::nodes).size());
  const std::string labels = fmt::format(R"({{"app":"{}"}})", name);
  const std::string spec =
      R"({"terminationGracePeriodSeconds":30,"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}]})";
  const std::string uid = uid_of(name, 0);
  snapshot.objects[Kind::replica_sets].push_back(parsed(fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"default","uid":"{1}","generation":1}},"spec":{{"replicas":{2},)"
      R"("selector":{{"matchLabels":{3}}},"template":{{"metadata":{{"labels":{3}}},"spec":{4}}}}}}})",
      name, uid, replicas, labels, spec)));
  for (int i = 0; i < replicas; ++i) {
    kube::Json pod = parsed(fmt::format(
        R"({{"metadata":{{"name":"{0}-{1}","namespace":"default","uid":"{2}","labels":{3},"ownerReferences":[)"
        R"({{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{0}","uid":"{4}","controller":true}}]}},"spec":{5},)"
        R"("status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True"}}]}}}})",
        name, i, uid_of(name, i + 1), labels, uid, spec));
    pod.set({"spec", "nodeName"}, fmt::format("node-{:04}", (first_node + i) % nodes));
    snapshot.objects[Kind::pods].push_back(std::move(pod));
  }
  if (max_unavailable == 0) return;
  snapshot.objects[Kind::budgets].push_back(parsed(fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"default","uid":"{1}","generation":1}},"spec":{{"maxUnavailable":{2},)"
      R"("selector":{{"matchLabels":{3}}}}}}})",
      name, uid_of(name, -1), max_unavailable, labels)));
}

// Needed while the label says so; at most so many at once; back when the label says done.
inline std::string sample_config(std::string_view to_maintenance = "few", std::string_view more_checks = "",
                                 int max = 2, std::string_view trigger = "") {
  return fmt::format(R"(
intervals: {{requeue: 30s}}
instances:
  check:
  - {{name: wanted, type: hasLabel, config: {{key: update, value: wanted}}}}
  - {{name: done, type: hasLabel, config: {{key: update, value: done}}}}
  - {{name: few, type: maxMaintenance, config: {{max: {2}}}}}
{1}
  trigger:
  - {{name: drain, type: eviction, config: {{action: drain, forceEviction: false}}}}
  - {{name: uncordon, type: eviction, config: {{action: uncordon}}}}
profiles:
- name: update
  operational: {{transitions: [{{check: wanted, next: maintenance-required}}]}}
  maintenance-required: {{transitions: [{{check: "{0}", next: in-maintenance{3}}}]}}
  in-maintenance: {{transitions: [{{check: done, next: operational{4}}}]}}
)",
                     to_maintenance, more_checks, max, trigger.empty() ? "" : fmt::format(", trigger: {}", trigger),
                     trigger.empty() ? "" : ", trigger: uncordon");
}

}  // namespace careen::plan
