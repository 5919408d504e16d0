#include "commands/clusters_text.h"

#include <algorithm>
#include <initializer_list>

#include "commands/view_words.h"

namespace careen::app {

using kube::JsonView;

namespace {

std::string count_in(JsonView machines, std::initializer_list<const char*> phases) {
  int64_t sum = 0;
  for (const char* phase : phases) sum += count_of(machines[phase]);
  return std::to_string(sum);
}

std::string age_of(JsonView time, io::Wall now) {
  const auto since = time_of(time);
  return since ? age_text(now - *since) : "";
}

}  // namespace

bool is_chosen_cluster(JsonView cluster, const std::vector<std::string>& names) {
  const std::string key = shown(cluster["name"]);
  return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
           return key == name || key.substr(key.find('/') + 1) == name;
         });
}

Row cluster_header() {
  return {"CLUSTER", "STATE", "SINCE", "NODES", "GUARDED", "DELETING", "MAINTENANCE", "UNPROTECTED"};
}

std::vector<Row> cluster_rows(JsonView clusters, io::Wall now, const std::vector<std::string>& names) {
  std::vector<Row> rows;
  clusters.for_each_element([&](JsonView cluster) {
    if (!is_chosen_cluster(cluster, names)) return;
    if (!cluster["phase"].exists()) return rows.push_back({shown(cluster["name"]), "-", "-", "-", "-", "-", "-", "-"});
    const JsonView machines = cluster["machines"];
    rows.push_back({shown(cluster["name"]), shown(cluster["phase"]), age_of(cluster["since"], now),
                    std::to_string(count_of(cluster["nodes"])), count_in(machines, {"Guarded"}),
                    count_in(machines, {"DeletionHeld", "DeletionReleased"}),
                    count_in(machines, {"MaintenanceRequested", "MaintenanceApproved", "Returning"}),
                    count_in(machines, {"Unmaintained", "Unseen", "NoNode"})});
  });
  return rows;
}

Row machine_header() { return {"MACHINE", "CLUSTER", "PHASE", "NODE", "DELETED"}; }

std::vector<Row> machine_rows(JsonView clusters, io::Wall now, const std::vector<std::string>& names) {
  std::vector<Row> rows;
  clusters.for_each_element([&](JsonView cluster) {
    if (!is_chosen_cluster(cluster, names)) return;
    cluster["busy"].for_each_element([&](JsonView machine) {
      rows.push_back({shown(machine["name"]), shown(cluster["name"]), shown(machine["phase"]), shown(machine["node"]),
                      age_of(machine["deleting"], now)});
    });
  });
  return rows;
}

}  // namespace careen::app
