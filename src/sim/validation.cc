#include "sim/validation.h"

#include <algorithm>
#include <set>

#include "sim/names.h"

namespace careen::sim {

namespace {

constexpr size_t kMostAnnotationBytes = 256 * 1024;
constexpr std::string_view kImmutable = "field is immutable";

void add_invalid(FieldErrors& errors, const std::string& field, std::string_view value,
                 const std::vector<std::string>& whys) {
  for (const std::string& why : whys) errors.push_back(invalid(field, value, why));
}

void check_labels(const json::value& meta, FieldErrors& errors) {
  const json::value* labels = member(meta, "labels");
  if (!labels || !labels->is_object()) return;
  for (const auto& label : labels->get_object()) {
    add_invalid(errors, "metadata.labels", label.key(), qualified_name_errors(label.key(), "a valid label key"));
    const std::string_view value = label.value().is_string() ? std::string_view(label.value().get_string()) : "";
    add_invalid(errors, "metadata.labels", value, label_value_errors(value));
  }
}

void check_annotations(const json::value& meta, FieldErrors& errors) {
  const json::value* annotations = member(meta, "annotations");
  if (!annotations || !annotations->is_object()) return;
  size_t total = 0;
  for (const auto& one : annotations->get_object()) {
    std::string lower(one.key());
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    add_invalid(errors, "metadata.annotations", one.key(), qualified_name_errors(lower));
    total += one.key().size() + (one.value().is_string() ? one.value().get_string().size() : 0);
  }
  if (total > kMostAnnotationBytes) {
    errors.push_back({"FieldValueTooLong", "metadata.annotations", "Too long: may not be more than 262144 bytes"});
  }
}

void check_owners(const json::value& meta, FieldErrors& errors) {
  const json::value* owners = member(meta, "ownerReferences");
  if (!owners || !owners->is_array()) return;
  const std::string field = "metadata.ownerReferences";
  std::string controller;
  for (const json::value& owner : owners->get_array()) {
    const std::string_view api_version = text_at(owner, "apiVersion");
    if (api_version.empty() || api_version.ends_with("/")) {
      errors.push_back(invalid(field + ".apiVersion", api_version, "version must not be empty"));
    }
    for (const char* key : {"kind", "name", "uid"}) {
      if (text_at(owner, key).empty()) errors.push_back(invalid(field + "." + key, "", "must not be empty"));
    }
    const json::value* controls = member(owner, "controller");
    if (!controls || !controls->is_bool() || !controls->get_bool()) continue;
    if (!controller.empty()) {
      errors.push_back(
          invalid_shown(field, "[]",
                        "Only one reference can have Controller set to true. Found \"true\" in references for " +
                            controller + " and " + std::string(text_at(owner, "name"))));
    }
    controller = text_at(owner, "kind");
    controller += "/" + std::string(text_at(owner, "name"));
  }
}

bool is_standard_finalizer(std::string_view name) {
  return name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
}

void check_finalizers(const Resource& resource, const json::value& meta, FieldErrors& errors) {
  const json::value* finalizers = member(meta, "finalizers");
  if (!finalizers || !finalizers->is_array()) return;
  for (size_t i = 0; i < finalizers->get_array().size(); ++i) {
    const json::value& one = finalizers->get_array()[i];
    const std::string_view name = one.is_string() ? std::string_view(one.get_string()) : "";
    add_invalid(errors, "metadata.finalizers", name, qualified_name_errors(name));
    // Only the core group asks for a domain.
    const bool core = resource.group.empty() && !resource.custom;
    if (core && name.find('/') == std::string_view::npos && !is_standard_finalizer(name)) {
      errors.push_back(invalid("metadata.finalizers[" + std::to_string(i) + "]", name,
                               "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
}

void check_common(const Resource& resource, const json::value& meta, FieldErrors& errors) {
  check_labels(meta, errors);
  check_annotations(meta, errors);
  check_owners(meta, errors);
  check_finalizers(resource, meta, errors);
}

void check_taints(const json::value& object, FieldErrors& errors) {
  const json::value* taints = find(object, {"spec", "taints"});
  if (!taints || !taints->is_array()) return;
  std::set<std::pair<std::string, std::string>> seen;
  for (size_t i = 0; i < taints->get_array().size(); ++i) {
    const json::value& taint = taints->get_array()[i];
    const std::string field = "metadata.taints[" + std::to_string(i) + "]";
    const std::string key(text_at(taint, "key")), value(text_at(taint, "value")), effect(text_at(taint, "effect"));
    add_invalid(errors, field + ".key", key, qualified_name_errors(key));
    add_invalid(errors, field + ".value", value, label_value_errors(value));
    if (effect.empty()) {
      errors.push_back(required(field + ".effect"));
    } else if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
      errors.push_back(
          not_supported(field + ".effect", quoted(effect), {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
    }
    if (seen.emplace(key, effect).second) continue;
    const json::value* added = member(taint, "timeAdded");
    errors.push_back(duplicate(field,
                               "{\"Key\":" + quoted(key) + ",\"Value\":" + quoted(value) +
                                   ",\"Effect\":" + quoted(effect) +
                                   ",\"TimeAdded\":" + (added ? json::serialize(*added) : "null") + "}",
                               "taints must be unique by key and effect pair"));
  }
}

void check_node_change(const json::value& object, const json::value& known, FieldErrors& errors) {
  check_taints(object, errors);
  check_taints(object, errors);  // the server checks them twice, and its causes show it
  const json::value* cidrs = find(object, {"spec", "podCIDRs"});
  const json::value* known_cidrs = find(known, {"spec", "podCIDRs"});
  if (known_cidrs && !known_cidrs->get_array().empty() && (!cidrs || *cidrs != *known_cidrs)) {
    errors.push_back(forbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid"));
  }
  const std::string_view provider = text_at(known, {"spec", "providerID"});
  if (!provider.empty() && provider != text_at(object, {"spec", "providerID"})) {
    errors.push_back(forbidden("spec.providerID", "node updates may not change providerID except from \"\" to valid"));
  }
}

void check_lease(const json::value& object, FieldErrors& errors) {
  if (const auto seconds = integer_at(object, {"spec", "leaseDurationSeconds"}); seconds && *seconds <= 0) {
    errors.push_back(invalid_shown("spec.leaseDurationSeconds", std::to_string(*seconds), "must be greater than 0"));
  }
  if (const auto times = integer_at(object, {"spec", "leaseTransitions"}); times && *times < 0) {
    errors.push_back(
        invalid_shown("spec.leaseTransitions", std::to_string(*times), "must be greater than or equal to 0"));
  }
}

void check_config_key(const std::string& field, std::string_view key, FieldErrors& errors) {
  const std::string at = field + "[" + std::string(key) + "]";
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
  if (key.size() > 253) errors.push_back(invalid(at, key, "must be no more than 253 bytes"));
  if (!plain) {
    errors.push_back(invalid(at, key,
                             "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
                             "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                             "'[-._a-zA-Z0-9]+')"));
  }
  if (key == ".") errors.push_back(invalid(at, key, "must not be '.'"));
  if (key == "..") {
    errors.push_back(invalid(at, key, "must not be '..'"));
  } else if (key.starts_with("..")) {
    errors.push_back(invalid(at, key, "must not start with '..'"));
  }
}

void check_config_map(const json::value& object, FieldErrors& errors) {
  const json::value* binary = member(object, "binaryData");
  for (const char* field : {"data", "binaryData"}) {
    const json::value* entries = member(object, field);
    if (!entries || !entries->is_object()) continue;
    for (const auto& one : entries->get_object()) {
      check_config_key(field, one.key(), errors);
      if (std::string_view(field) == "data" && binary && member(*binary, one.key())) {
        errors.push_back(
            invalid("data[" + std::string(one.key()) + "]", one.key(), "duplicate of key present in binaryData"));
      }
    }
  }
}

// Events of the newer API have stricter rules; they are told apart by the API they came through.
void check_event_v1(const json::value& object, FieldErrors& errors) {
  const json::value* time = member(object, "eventTime");
  if (!time || time->is_null()) {
    errors.push_back(required("eventTime"));
    return;
  }
  const std::string_view controller = text_at(object, "reportingComponent");
  if (controller.empty()) errors.push_back(required("reportingController"));
  add_invalid(errors, "reportingController", controller, qualified_name_errors(controller));
  const std::string_view instance = text_at(object, "reportingInstance");
  if (instance.empty()) errors.push_back(required("reportingInstance"));
  if (instance.size() > 128) errors.push_back(invalid("reportingInstance", "", "can have at most 128 characters"));
  for (const char* key : {"action", "reason"}) {
    const std::string_view text = text_at(object, key);
    if (text.empty()) errors.push_back(required(key));
    if (text.size() > 128) errors.push_back(invalid(key, "", "can have at most 128 characters"));
  }
  if (text_at(object, "message").size() > 1024) {
    errors.push_back(invalid("message", "", "can have at most 1024 characters"));
  }
  const std::string_view type = text_at(object, "type");
  if (type != "Normal" && type != "Warning")
    errors.push_back(invalid("type", "", "has invalid value: " + std::string(type)));
}

void check_event(const Resource& resource, const json::value& object, FieldErrors& errors) {
  if (resource.is_events_v1()) check_event_v1(object, errors);
  const std::string_view ns = text_at(object, {"metadata", "namespace"});
  const std::string_view about = text_at(object, {"involvedObject", "namespace"});
  // Events about what has no namespace lie in "default"; the newer API lets them lie in "kube-system", too.
  const bool home = ns == "default" || (resource.is_events_v1() && ns == "kube-system");
  if (about.empty() ? !home : about != ns) {
    errors.push_back(invalid("involvedObject.namespace", about, "does not match event.namespace"));
  }
}

void check_event_change(const Resource& resource, const json::value& object, const json::value& known,
                        FieldErrors& errors) {
  if (!resource.is_events_v1()) return;
  for (const char* key : {"involvedObject", "reason", "reportingComponent", "reportingInstance", "action", "related",
                          "message", "type", "eventTime"}) {
    const json::value* now = member(object, key);
    const json::value* before = member(known, key);
    if ((now && before && *now == *before) || (!now && !before)) continue;
    std::string name = key;
    if (name == "involvedObject") name = "regarding";
    if (name == "message") name = "note";
    if (name == "reportingComponent") name = "reportingController";
    errors.push_back(invalid_shown(name, now ? json::serialize(*now) : "null", kImmutable));
  }
}

void check_pod(const json::value& object, FieldErrors& errors) {
  const json::value* containers = find(object, {"spec", "containers"});
  if (!containers || !containers->is_array() || containers->get_array().empty()) {
    errors.push_back(required("spec.containers"));
    return;
  }
  for (size_t i = 0; i < containers->get_array().size(); ++i) {
    const json::value& one = containers->get_array()[i];
    const std::string field = "spec.containers[" + std::to_string(i) + "]";
    const std::string_view name = text_at(one, "name");
    if (name.empty()) {
      errors.push_back(required(field + ".name"));
    } else {
      add_invalid(errors, field + ".name", name, label_errors(name));
    }
    if (text_at(one, "image").empty()) errors.push_back(required(field + ".image"));
  }
}

void check_pod_change(const json::value& object, const json::value& known, FieldErrors& errors) {
  const json::value* now = member(object, "spec");
  const json::value* before = member(known, "spec");
  if (!now || !before) return;
  json::value left = *now, right = *before;
  const auto hide = [](json::value& spec) {
    json::object& fields = spec.get_object();
    for (const char* key :
         {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"}) {
      if (auto* const at = fields.find(key); at != fields.end()) fields.stable_erase(at);
    }
    for (const char* key : {"containers", "initContainers"}) {
      json::value* list = fields.if_contains(key);
      if (!list || !list->is_array()) continue;
      for (json::value& one : list->get_array()) {
        if (one.is_object()) one.get_object()["image"] = nullptr;
      }
    }
  };
  hide(left);
  hide(right);
  if (left == right) return;
  errors.push_back(forbidden(
      "spec",
      "pod updates may not change fields other than "
      "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
      "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
      "previously negative)"));
}

// ConfigMaps and Secrets that say so.
void check_immutable(const json::value& object, const json::value& known, FieldErrors& errors) {
  const json::value* immutable = member(known, "immutable");
  if (!immutable || !immutable->is_bool() || !immutable->get_bool()) return;
  for (const char* key : {"immutable", "data", "binaryData"}) {
    const json::value* now = member(object, key);
    const json::value* before = member(known, key);
    if ((now && before && *now == *before) || (!now && !before)) continue;
    errors.push_back(forbidden(key, "field is immutable when `immutable` is set"));
  }
}

void check_kind(const Resource& resource, const json::value& object, FieldErrors& errors) {
  if (resource.custom) return;
  if (resource.kind == "Lease") check_lease(object, errors);
  if (resource.kind == "ConfigMap") check_config_map(object, errors);
}

std::string first_version(const Resource& resource) { return resource.plural + "." + resource.group; }

void check_definition(const json::value& object, FieldErrors& errors) {
  const json::value* spec = member(object, "spec");
  if (!spec) return;
  const std::string wanted =
      std::string(text_at(*spec, {"names", "plural"})) + "." + std::string(text_at(*spec, "group"));
  const std::string_view name = text_at(object, {"metadata", "name"});
  if (name != wanted) errors.push_back(invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
  if (text_at(*spec, "group").empty()) errors.push_back(required("spec.group"));
  const std::string_view scope = text_at(*spec, "scope");
  if (scope.empty()) {
    errors.push_back(required("spec.scope"));
  } else if (scope != "Cluster" && scope != "Namespaced") {
    errors.push_back(not_supported("spec.scope", quoted(scope), {"Cluster", "Namespaced"}));
  }
  const json::value* versions = member(*spec, "versions");
  size_t stored = 0;
  if (versions && versions->is_array()) {
    for (const json::value& one : versions->get_array()) {
      const json::value* storage = member(one, "storage");
      stored += storage && storage->is_bool() && storage->get_bool();
    }
  }
  if (stored != 1) {
    errors.push_back(invalid_shown("spec.versions", versions ? json::serialize(*versions) : "null",
                                   "must have exactly one version marked as storage version"));
  }
}

}  // namespace

FieldErrors validate_new(const Resource& resource, const json::value& object) {
  FieldErrors errors;
  const json::value& meta = *member(object, "metadata");
  const std::string_view name = text_at(meta, "name");
  if (std::string base(text_at(meta, "generateName")); !base.empty()) {
    // What is made of it may not end with a dash, it may.
    const std::string whole = base;
    if (base.size() > 1 && base.back() == '-') base.back() = 'a';
    add_invalid(errors, "metadata.generateName", whole,
                resource.label_name ? label_errors(base) : subdomain_errors(base));
  }
  if (name.empty()) {
    errors.push_back(required("metadata.name", "name or generateName is required"));
  } else {
    add_invalid(errors, "metadata.name", name, resource.label_name ? label_errors(name) : subdomain_errors(name));
  }
  check_common(resource, meta, errors);
  check_kind(resource, object, errors);
  if (resource.kind == "Node" && !resource.custom) check_taints(object, errors);
  if (resource.plural == "events" && !resource.custom) check_event(resource, object, errors);
  if (resource.kind == "Pod" && !resource.custom) check_pod(object, errors);
  if (first_version(resource) == "customresourcedefinitions.apiextensions.k8s.io") check_definition(object, errors);
  return errors;
}

void keep_system_fields(json::value& object, const json::value& known) {
  json::object& meta = object_at(object.get_object(), "metadata");
  const json::value& known_meta = *member(known, "metadata");
  const auto keep = [&](const char* key) {
    if (const json::value* value = member(known_meta, key)) {
      meta[key] = *value;
    } else if (auto* const at = meta.find(key); at != meta.end()) {
      meta.stable_erase(at);
    }
  };
  if (text_at(*member(object, "metadata"), "uid").empty()) keep("uid");
  keep("creationTimestamp");
  keep("generation");
  if (member(known_meta, "deletionTimestamp")) keep("deletionTimestamp");
  if (member(known_meta, "deletionGracePeriodSeconds") && !meta.contains("deletionGracePeriodSeconds")) {
    keep("deletionGracePeriodSeconds");
  }
  if (auto* const link = meta.find("selfLink"); link != meta.end()) meta.stable_erase(link);
}

FieldErrors validate_change(const Resource& resource, const json::value& object, const json::value& known) {
  FieldErrors errors;
  const json::value& meta = *member(object, "metadata");
  const json::value& known_meta = *member(known, "metadata");
  if (member(known_meta, "deletionTimestamp")) {
    const json::value* before = member(known_meta, "finalizers");
    const json::value* now = member(meta, "finalizers");
    std::string added;
    if (now && now->is_array()) {
      for (const json::value& one : now->get_array()) {
        const bool kept = before && std::find(before->get_array().begin(), before->get_array().end(), one) !=
                                        before->get_array().end();
        if (!kept) added += (added.empty() ? "" : ", ") + json::serialize(one);
      }
    }
    if (!added.empty()) {
      errors.push_back(forbidden("metadata.finalizers",
                                 "no new finalizers can be added if the object is being deleted, found new finalizers "
                                 "[]string{" +
                                     added + "}"));
    }
  }
  for (const char* key : {"name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const json::value* now = member(meta, key);
    const json::value* before = member(known_meta, key);
    if ((now && before && *now == *before) || (!now && !before)) continue;
    errors.push_back(invalid_shown("metadata." + std::string(key), now ? json::serialize(*now) : "null", kImmutable));
  }
  check_common(resource, meta, errors);
  // The server checks metadata once for all kinds and once for each; its causes tell both.
  const FieldErrors once = errors;
  errors.insert(errors.end(), once.begin(), once.end());
  check_kind(resource, object, errors);
  if (resource.custom) return errors;
  if (resource.kind == "ConfigMap" || resource.kind == "Secret") check_immutable(object, known, errors);
  if (resource.kind == "Node") check_node_change(object, known, errors);
  if (resource.plural == "events") check_event_change(resource, object, known, errors);
  if (resource.kind == "Pod") check_pod_change(object, known, errors);
  return errors;
}

}  // namespace careen::sim
