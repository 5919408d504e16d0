// The folder that `careen gather` fills, in the layout of `oc adm inspect`, which tools for must-gather archives read:
//   cluster-scoped-resources/<group>/<resource>/<name>.yaml
//   namespaces/<namespace>/<group>/<resource>/<name>.yaml
//   namespaces/<namespace>/pods/<pod>/<container>/<container>/logs/current.log
// Whatever may be secret is taken out of an object before it gets there.
#pragma once

#include <string>
#include <string_view>

#include "io/result.h"
#include "kube/json.h"
#include "kube/resource.h"

namespace careen::app {

// An object as it may be handed on: values of environment variables are ***, and the copy of the object that kubectl
// keeps in an annotation is gone, as is the bookkeeping of field managers.
kube::Json shareable_object(const kube::Resource& resource, kube::JsonView object);

class GatherFolder {
 public:
  explicit GatherFolder(std::string root) : root_(std::move(root)) {}

  // `path` is relative; folders are made on the way. Parts that came from the cluster go through file_name() before.
  io::Result<bool> put(const std::string& path, const std::string& content);
  io::Result<bool> put_object(const kube::Resource& resource, kube::JsonView object);
  io::Result<bool> put_log(kube::JsonView pod, std::string_view container, bool previous, const std::string& text);

  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

// A name from the cluster as one part of a path, whatever is in it.
std::string file_name(std::string_view name);

}  // namespace careen::app
