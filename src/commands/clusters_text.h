// Workload clusters and their Machines as tables of text: what `careen clusters` prints, and `careen status` beside the
// rest.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal_table.h"
#include "io/time.h"
#include "kube/json.h"

namespace careen::app {

// By its name, with the namespace or without it; no names are all.
bool is_chosen_cluster(kube::JsonView cluster, const std::vector<std::string>& names);

Row cluster_header();
std::vector<Row> cluster_rows(kube::JsonView clusters, io::Wall now, const std::vector<std::string>& names = {});
// Those that something is being done about.
Row machine_header();
std::vector<Row> machine_rows(kube::JsonView clusters, io::Wall now, const std::vector<std::string>& names = {});

}  // namespace careen::app
