// Flags that several commands share: which cluster, how to print, how long to wait.
#pragma once

#include <functional>
#include <string>

#include "io/time.h"

namespace CLI {
class App;
}

namespace careen::app {

struct ClusterOptions {
  std::string kubeconfig;
  std::string context;
  std::string workload = {};  // a cluster that is reached through this one; empty: this one itself
};

// --kubeconfig and --context.
void add_cluster_flags(CLI::App& command, ClusterOptions& cluster);

// --cluster, of a command that talks to the cluster itself.
void add_workload_flag(CLI::App& command, ClusterOptions& cluster);

// -o json.
void add_json_flag(CLI::App& command, bool& json);

// A flag with a duration such as 90s or 1h30m; refuses what is not one, or is negative.
void add_duration_flag(CLI::App& command, const std::string& flag, const std::string& help,
                       std::function<void(io::Duration)> take);

// --timeout, of a --wait.
void add_wait_timeout(CLI::App& command, io::Duration& timeout);

}  // namespace careen::app
