// A kind of object as the paths of the API name it, and the kinds that careen itself reads and writes.
#pragma once

#include <string>
#include <string_view>

namespace careen::kube {

struct Resource {
  std::string group;  // empty for the core group
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = false;

  // "v1", "coordination.k8s.io/v1"
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  // /api/v1/nodes, /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x/status …
  std::string path(std::string_view ns = {}, std::string_view name = {}, std::string_view subresource = {}) const;
};

namespace resources {
extern const Resource nodes, pods, namespaces, config_maps, leases, core_events, events;
}

}  // namespace careen::kube
