// CustomResourceDefinitions: the resources they make, and what the server says of them in their status.
#include "sim/ask.h"

namespace careen::sim {

namespace {

std::vector<std::string> texts(const json::value* list) {
  std::vector<std::string> out;
  if (!list || !list->is_array()) return out;
  for (const json::value& one : list->get_array()) {
    if (one.is_string()) out.emplace_back(std::string_view(one.get_string()));
  }
  return out;
}

std::vector<PrinterColumn> columns_of(const json::value& version) {
  std::vector<PrinterColumn> out;
  const json::value* columns = member(version, "additionalPrinterColumns");
  if (!columns || !columns->is_array()) return out;
  for (const json::value& one : columns->get_array()) {
    PrinterColumn column;
    column.name = text_at(one, "name");
    column.type = text_at(one, "type");
    column.format = text_at(one, "format");
    column.description = text_at(one, "description");
    column.path = text_at(one, "jsonPath");
    column.priority = integer_at(one, {"priority"}).value_or(0);
    out.push_back(std::move(column));
  }
  return out;
}

Resource resource_of(const json::value& spec, const json::value& version) {
  Resource resource;
  resource.group = text_at(spec, "group");
  resource.version = text_at(version, "name");
  resource.plural = text_at(spec, {"names", "plural"});
  resource.singular = text_at(spec, {"names", "singular"});
  resource.kind = text_at(spec, {"names", "kind"});
  resource.list_kind = text_at(spec, {"names", "listKind"});
  if (resource.list_kind.empty()) resource.list_kind = resource.kind + "List";
  resource.short_names = texts(find(spec, {"names", "shortNames"}));
  resource.categories = texts(find(spec, {"names", "categories"}));
  resource.namespaced = text_at(spec, "scope") == "Namespaced";
  resource.custom = true;
  resource.generation = true;
  resource.served = is_true(version, "served");
  resource.storage = is_true(version, "storage");
  resource.status = find(version, {"subresources", "status"}) != nullptr;
  if (const json::value* schema = find(version, {"schema", "openAPIV3Schema"})) {
    resource.schema = std::make_shared<const Schema>(*schema);
  }
  resource.columns = columns_of(version);
  return resource;
}

json::value accepted(const json::value& spec, const std::string& now) {
  const auto condition = [&](const char* type, const char* reason, const char* message) {
    return json::value{
        {"type", type}, {"status", "True"}, {"lastTransitionTime", now}, {"reason", reason}, {"message", message}};
  };
  return {{"conditions",
           json::array{condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                       condition("Established", "InitialNamesAccepted", "the initial names have been accepted")}},
          {"acceptedNames", spec.at("names")}};
}

}  // namespace

void ApiServer::define(const json::value& definition, bool remove) {
  const json::value* spec = member(definition, "spec");
  if (!spec) return;
  const std::string group(text_at(*spec, "group")), plural(text_at(*spec, {"names", "plural"}));
  // Objects stay where the first storage version put them.
  Collection* collection = nullptr;
  if (const Resource* known = resources_.stored(group, plural)) collection = known->collection;
  resources_.remove(group, plural);
  if (remove) return;
  const json::value* versions = member(*spec, "versions");
  if (!versions || !versions->is_array()) return;
  for (const bool storage : {true, false}) {
    for (const json::value& version : versions->get_array()) {
      Resource resource = resource_of(*spec, version);
      if (resource.storage != storage) continue;
      if (!collection) collection = &store_.collection(resource.path(), resource.namespaced);
      resource.collection = collection;
      const std::string name = resource.version;
      resources_.add(std::move(resource));
      if (storage) keep_as(*resources_.find(group, name, plural));
    }
  }
  if (find(definition, {"status", "conditions"}) && !find(definition, {"status", "conditions"})->is_null()) return;
  json::value established = definition;
  json::value status = accepted(*spec, now_text());
  if (const json::value* stored = find(definition, {"status", "storedVersions"})) {
    status.get_object()["storedVersions"] = *stored;
  }
  established.get_object()["status"] = std::move(status);
  const Resource& definitions = *resources_.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  store(definitions, std::string(text_at(definition, {"metadata", "name"})), std::move(established), "kube-apiserver");
}

}  // namespace careen::sim
