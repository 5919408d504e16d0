// Kubeconfig files: merged as kubectl merges them, one context of them resolved into an Access.
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
// sense. With a `server` the cluster is asked at that address, as with kubectl's --server; it is named --master in
// messages.
io::Result<Access> resolve_kubeconfig(io::Files& files, const std::vector<KubeconfigFile>& kubeconfigs,
                                      const std::string& context, const std::string& server = {});

// Of a text that anybody may have written, such as a Secret in a cluster: it may name a server and carry credentials
// inline. What would make careen read a file, start a program or go through a proxy of its choosing is refused, and so
// is a server that is not reached over https. `from` stands for the path in messages: Secret ns/name.
io::Result<Access> resolve_untrusted_kubeconfig(std::string from, std::string text, const std::string& context);

}  // namespace careen::kube
