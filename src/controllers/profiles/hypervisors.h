// The Hypervisor objects (kvm.cloud.sap/v1), one per node and named like it, as far as they are known; and what became
// of our last writes of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "io/time.h"
#include "kube/cache.h"
#include "kube/json.h"
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

  // The API server refused what a profile wanted of a node's hypervisor: it is not asked again before `until`.
  struct Refusal {
    std::string error;
    io::Wall until{};
  };
  void refuse(const std::string& node, const std::string& profile, Refusal refusal) {
    refusals_[node][profile] = std::move(refusal);
  }
  void forget_refusals() { refusals_.clear(); }
  void accept(std::string_view node, std::string_view profile) {
    const auto of_node = refusals_.find(node);
    if (of_node == refusals_.end()) return;
    if (const auto found = of_node->second.find(profile); found != of_node->second.end()) of_node->second.erase(found);
    if (of_node->second.empty()) refusals_.erase(of_node);
  }
  void forget(const std::string& node) {
    refusals_.erase(node);
    told_.erase(node);
  }
  // The last write of one of its profiles failed.
  bool is_failing(std::string_view node) const { return refusals_.contains(node); }
  // Null: it may be asked.
  const Refusal* refused(std::string_view node, std::string_view profile, io::Wall now) const {
    const auto of_node = refusals_.find(node);
    if (of_node == refusals_.end()) return nullptr;
    const auto found = of_node->second.find(profile);
    return found == of_node->second.end() || found->second.until <= now ? nullptr : &found->second;
  }

  // The API server has taken the value and answered with that version. What it made of that is its affair (a field that
  // its schema does not know is dropped): the same value is not sent twice as long as the object stays unchanged.
  void told(const std::string& node, uint64_t version, const std::string& field, const kube::Json& value) {
    Told& latest = told_[node];
    if (latest.version != version) latest = {version, {}};
    latest.fields.insert_or_assign(field, value);
  }
  bool was_told(const kube::Object& hypervisor, std::string_view field, const kube::Json& value) const {
    const auto latest = told_.find(hypervisor.name);
    if (latest == told_.end() || latest->second.version != hypervisor.version) return false;
    const auto known = latest->second.fields.find(field);
    return known != latest->second.fields.end() && known->second == value;
  }

 private:
  struct Told {
    uint64_t version = 0;
    std::map<std::string, kube::Json, std::less<>> fields;
  };
  const kube::Store<kube::Object>& objects_;
  bool known_ = false;
  std::map<std::string, std::map<std::string, Refusal, std::less<>>, std::less<>> refusals_;  // by node and profile
  std::map<std::string, Told, std::less<>> told_;                                             // by node
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
