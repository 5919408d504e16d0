#include "kube/resource.h"

#include "kube/url.h"

namespace careen::kube {

namespace resources {
const Resource nodes{"", "v1", "nodes", "Node", false};
const Resource pods{"", "v1", "pods", "Pod", true};
const Resource namespaces{"", "v1", "namespaces", "Namespace", false};
const Resource config_maps{"", "v1", "configmaps", "ConfigMap", true};
const Resource leases{"coordination.k8s.io", "v1", "leases", "Lease", true};
const Resource core_events{"", "v1", "events", "Event", true};
const Resource events{"events.k8s.io", "v1", "events", "Event", true};
}  // namespace resources

std::string Resource::path(std::string_view ns, std::string_view name, std::string_view subresource) const {
  std::string out = group.empty() ? "/api/" : "/apis/" + group + "/";
  out += version;
  if (namespaced && !ns.empty()) {
    out += "/namespaces/";
    append_encoded(out, ns);
  }
  out += '/';
  out += plural;
  if (!name.empty()) {
    out += '/';
    append_encoded(out, name);
  }
  if (!subresource.empty()) {
    out += '/';
    out += subresource;
  }
  return out;
}

}  // namespace careen::kube
