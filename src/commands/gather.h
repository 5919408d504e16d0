// What people need to track down a fault in a cluster with careen in it, as files: `careen gather`, and what `oc adm
// must-gather` starts as /usr/bin/gather. It only reads; what it may not read or does not find it reports and leaves
// out.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/task.h"
#include "kube/json.h"
#include "session/cluster_flags.h"

namespace careen::app {

class KubeSession;

struct GatherOptions {
  ClusterOptions cluster = {};
  std::string dest = {};
  std::vector<std::string> lease_namespaces = {};  // taken for their leases alone
  std::vector<std::string> namespaces = {};        // taken besides those in which careen is found
};

// The exit code. 0 also when parts are missing: what is there is worth having.
io::Task<int> gather(KubeSession& session, GatherOptions options);

// Of the pods of one namespace those that are careen or a program that it replaces: by their labels, because they hold
// a lock (`holders` are names of pods), or because they have the same owner as one of these.
std::vector<kube::JsonView> pods_of_careen(const std::vector<kube::Json>& pods, const std::set<std::string>& holders);

// Whether a lease of this name lies where careen, or a program that it replaces, is at home.
bool is_home_lease(std::string_view lease);

}  // namespace careen::app
