// The Hypervisor objects (kvm.cloud.sap/v1), one a node and named like it, as far as they are known.
#pragma once

#include <string>
#include <string_view>

#include "kube/cache.h"
#include "kube/objects.h"
#include "kube/resource.h"

namespace careen::profiles {

inline const kube::Resource kHypervisorResource{"kvm.cloud.sap", "v1", "hypervisors", "Hypervisor"};

class Hypervisors {
 public:
  explicit Hypervisors(const kube::Store<kube::Object>& objects) : objects_(objects) {}

  const kube::Object* find(std::string_view node) const { return objects_.find(node); }
  // Nothing can be said before the first list is complete.
  bool known() const { return known_; }
  void set_known() { known_ = true; }

 private:
  const kube::Store<kube::Object>& objects_;
  bool known_ = false;
};

// The node's hypervisor. If there is none, nullptr, and `result` (of a check or a trigger) says why: pending or error.
template <class PluginResult>
const kube::Object* find_hypervisor(const Hypervisors& hypervisors, const std::string& node, PluginResult& result) {
  if (!hypervisors.known()) {
    result.pending = true;
    result.reason = "the hypervisors have not been listed yet";
    return nullptr;
  }
  const kube::Object* found = hypervisors.find(node);
  if (!found) result.error = "there is no hypervisor " + node;
  return found;
}

}  // namespace careen::profiles
