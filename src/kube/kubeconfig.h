// Kubeconfig files: merged as kubectl merges them, one context of them resolved into a Cluster.
#pragma once

#include <string>
#include <vector>

#include "io/files.h"
#include "kube/credentials.h"

namespace careen::kube {

struct KubeconfigFile {
  std::string path;
  std::string text;
};

// The first file that has an entry of a name wins, as does the first with a current-context. An empty `context`
// means the current one. Files that the chosen entries refer to are read; the rest of the entries need not make
// sense.
io::Result<Cluster> resolve_kubeconfig(io::Files& files, const std::vector<KubeconfigFile>& kubeconfigs,
                                       const std::string& context);

}  // namespace careen::kube
