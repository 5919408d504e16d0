// The resources the API server serves: built-in ones and those that CustomResourceDefinitions add, with what makes
// each of them different.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/schema.h"
#include "sim/types.h"

namespace careen::sim {

struct Collection;

// A column of a custom resource's table.
struct PrinterColumn {
  std::string name, type, format, description, path;
  int64_t priority = 0;
};

struct Resource {
  std::string group, version, plural, singular, kind, list_kind;
  std::vector<std::string> short_names, categories;
  bool namespaced = false;
  bool status = false;  // has the subresource
  bool custom = false;
  bool served = true;
  bool storage = true;                     // objects are kept in this version
  bool generation = false;                 // counts changes of the spec
  bool create_on_update = false;           // PUT makes what is missing
  bool unconditional_update = false;       // PUT needs no resourceVersion
  bool label_name = false;                 // its names are DNS labels, not subdomains
  const Type* type = nullptr;              // of built-in ones
  std::shared_ptr<const Schema> schema{};  // of custom ones
  std::vector<PrinterColumn> columns{};
  Collection* collection = nullptr;  // where its objects are

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  // nodes, leases.coordination.k8s.io
  std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
  // /api/v1/nodes
  std::string path() const;
  // How its objects begin: {"kind":"Node","apiVersion":"v1",
  std::string head() const;
  // Its size can be read and written by itself.
  bool has_scale() const {
    return group == "apps" && !custom && (kind == "Deployment" || kind == "ReplicaSet" || kind == "StatefulSet");
  }
  bool is_events_v1() const { return group == "events.k8s.io"; }
};

class Resources {
 public:
  Resources();

  // Null when there is none.
  const Resource* find(std::string_view group, std::string_view version, std::string_view plural) const;
  bool has_group(std::string_view group) const;
  // Only definitions made it.
  bool is_custom_group(std::string_view group) const;
  bool has_version(std::string_view group, std::string_view version) const;
  // Of the version objects are kept in.
  const Resource* stored(std::string_view group, std::string_view plural) const;
  // The kind as a resource, for owner references.
  const Resource* of_kind(std::string_view api_version, std::string_view kind) const;

  void add(Resource resource);
  // All versions of it.
  void remove(std::string_view group, std::string_view plural);
  // In order of group, version and plural.
  std::vector<const Resource*> all() const;

 private:
  std::map<std::string, Resource, std::less<>> resources_;  // by group/version/plural
};

}  // namespace careen::sim
