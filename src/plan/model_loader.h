// Puts the objects of a snapshot into the model cluster, a few at a time. Names, UIDs, labels and times stay; versions
// are the model's own.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "plan/snapshot.h"
#include "sim/cluster.h"

namespace careen::plan {

class ModelLoader {
 public:
  struct Scope {
    bool pods = true;                  // and what only concerns them
    std::set<std::string> namespaces;  // to be there in any case
  };
  // The snapshot must outlive it.
  ModelLoader(const Snapshot& snapshot, sim::Cluster& cluster, Scope scope);

  // Loads up to this many objects; true when all are loaded.
  bool load(size_t most);

 private:
  void prepare();
  void put(Kind kind, const kube::Json& object);
  void define(const kube::Resource& resource);
  void put_namespace(const std::string& name);
  void put_node(const kube::Json& node);

  struct Part {
    Kind kind;
    const std::vector<kube::Json>* objects;
  };
  sim::Cluster& cluster_;
  std::vector<Part> parts_;
  std::set<std::string> namespaces_;  // that are there
  Scope scope_;
  bool limits_;  // there are MaintenanceLimits
  bool prepared_ = false;
  size_t part_ = 0, next_ = 0;
};

}  // namespace careen::plan
