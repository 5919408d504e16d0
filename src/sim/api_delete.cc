#include <algorithm>
#include <charconv>

#include "sim/ask.h"
#include "sim/selector.h"

namespace careen::sim {

using kube::Response;

// How a deletion shall go, from the body or the query.
struct ApiServer::Removal {
  enum class Policy { background, foreground, orphan };
  std::optional<int64_t> grace;
  std::string uid, version;  // what must be so
  Policy policy = Policy::background;
  bool wait = false;  // orphanDependents=false: the answer says that it is not gone yet
  bool dry_run = false;
};

namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kDefinitionCleanup = "customresourcecleanup.apiextensions.k8s.io";

void drop_type(json::value& object) {
  object.get_object().stable_erase(object.get_object().find("kind"));
  object.get_object().stable_erase(object.get_object().find("apiVersion"));
}

json::array finalizers_of(const json::value& object) {
  const json::value* list = find(object, {"metadata", "finalizers"});
  return list && list->is_array() ? list->get_array() : json::array();
}

void set_finalizers(json::value& object, json::array list) {
  json::object& meta = object.at("metadata").get_object();
  if (!list.empty()) {
    meta["finalizers"] = std::move(list);
  } else if (auto* const at = meta.find("finalizers"); at != meta.end()) {
    meta.stable_erase(at);
  }
}

void without(json::array& list, std::string_view value) {
  remove_elements(list, [&](const json::value& one) { return one == json::value(value); });
}

std::string success(const Resource& resource, std::string_view name, std::string_view uid) {
  json::object details{{"name", name}};
  if (!resource.group.empty()) details["group"] = resource.group;
  details["kind"] = resource.plural;
  details["uid"] = uid;
  return json::serialize(json::object{{"kind", "Status"},
                                      {"apiVersion", "v1"},
                                      {"metadata", json::object()},
                                      {"status", "Success"},
                                      {"details", std::move(details)}});
}

// How long a pod may take: nothing when no kubelet has it.
int64_t pod_grace(const json::value& pod, std::optional<int64_t> wanted) {
  const std::string_view phase = text_at(pod, {"status", "phase"});
  if (text_at(pod, {"spec", "nodeName"}).empty() || phase == "Failed" || phase == "Succeeded") return 0;
  int64_t grace = wanted.value_or(integer_at(pod, {"spec", "terminationGracePeriodSeconds"}).value_or(30));
  // Negative ones become the shortest.
  if (grace < 0) grace = 1;
  return grace;
}

}  // namespace

ApiServer::Either<ApiServer::Removal> ApiServer::removal_options(const Ask& ask) const {
  Removal out;
  std::string policy(ask.query["propagationPolicy"]);
  std::string dry_run(ask.query["dryRun"]);
  std::optional<bool> orphan;
  if (const std::string_view text = ask.query["gracePeriodSeconds"]; !text.empty()) {
    int64_t number = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), number).ptr != text.data() + text.size()) {
      return tl::unexpected(bad_request("strconv.ParseInt: parsing " + quoted(text) + ": invalid syntax"));
    }
    out.grace = number;
  }
  if (ask.query.has("orphanDependents")) orphan = is_on(ask.query, "orphanDependents");
  if (!ask.request->body.empty()) {
    const auto body = parse(ask.request->body);
    if (!body || !body->is_object()) {
      return tl::unexpected(bad_request("couldn't get version/kind; json parse error: " +
                                        (body ? std::string("json: cannot unmarshal ") + std::string(go_kind(*body)) +
                                                    " into Go value of type struct { APIVersion string "
                                                    "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                                                    "\"json:\\\"kind,omitempty\\\"\" }"
                                              : go_syntax_error(ask.request->body))));
    }
    const std::string_view kind = text_at(*body, "kind");
    if (!kind.empty() && kind != "DeleteOptions") {
      const std::string_view version = text_at(*body, "apiVersion");
      return tl::unexpected(bad_request("no kind " + quoted(kind) + " is registered for version " + quoted(version) +
                                        " in scheme \"pkg/runtime/scheme.go:111\""));
    }
    // With a body the parameters of the path do not count, not even dryRun.
    dry_run.clear();
    orphan.reset();
    out.grace = integer_at(*body, {"gracePeriodSeconds"});
    out.uid = text_at(*body, {"preconditions", "uid"});
    out.version = text_at(*body, {"preconditions", "resourceVersion"});
    policy = text_at(*body, "propagationPolicy");
    if (const json::value* flag = member(*body, "orphanDependents"); flag && flag->is_bool()) orphan = flag->get_bool();
    if (const json::value* dry = member(*body, "dryRun"); dry && dry->is_array() && !dry->get_array().empty()) {
      dry_run = json::value_to<std::string>(dry->get_array().front());
    }
  }
  FieldErrors errors;
  if (!policy.empty() && orphan) {
    errors.push_back(
        invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (!policy.empty() && policy != "Foreground" && policy != "Background" && policy != "Orphan") {
    errors.push_back(not_supported("propagationPolicy", quoted(policy), {"Foreground", "Background", "Orphan", "nil"}));
  }
  if (!dry_run.empty() && dry_run != "All") {
    errors.push_back(not_supported("dryRun", "[" + quoted(dry_run) + "]", {"All"}));
  }
  if (!errors.empty()) return tl::unexpected(invalid_options("DeleteOptions", errors));
  if (policy == "Foreground") out.policy = Removal::Policy::foreground;
  if (policy == "Orphan" || orphan.value_or(false)) out.policy = Removal::Policy::orphan;
  out.wait = orphan && !*orphan;
  out.dry_run = dry_run == "All";
  return out;
}

Response ApiServer::remove(const Ask& ask) {
  const auto options = removal_options(ask);
  if (!options) return to_response(options.error());
  return remove_one(*ask.resource, ask.key(), *options, ask.caller.client, options->dry_run);
}

Response ApiServer::remove_collection(const Ask& ask) {
  const auto options = removal_options(ask);
  if (!options) return to_response(options.error());
  const Resource resource = *ask.resource;  // a definition may go with its last object
  const auto selector = Selector::parse(ask.query["labelSelector"], ask.query["fieldSelector"], resource);
  if (!selector) return to_response(bad_request(selector.error()));
  const std::string prefix = resource.namespaced ? ask.ns + "/" : std::string();
  const uint64_t at = store_.version();
  std::vector<std::string> keys;
  std::string items;
  store_.visit(*resource.collection, at, prefix, [&](const std::string& key, const Text& text) {
    if (!std::string_view(key).starts_with(prefix)) return false;
    if (!selector->empty() && !selector->matches(*parse(*text))) return true;
    if (!items.empty()) items += ',';
    items += shown(resource, key, text, true);
    keys.push_back(key);
    return true;
  });
  for (const std::string& key : keys) remove_one(resource, key, *options, ask.caller.client, options->dry_run);
  return answer_with(200, "{\"kind\":\"" + resource.list_kind + "\",\"apiVersion\":\"" + resource.api_version() +
                              "\",\"metadata\":{\"resourceVersion\":\"" + std::to_string(at) + "\"" +
                              (resource.custom ? ",\"continue\":\"\"" : "") + "},\"items\":[" + items + "]}");
}

Response ApiServer::remove_one(const Resource& resource, const std::string& key, const Removal& options,
                               const std::string& by, bool dry_run) {
  const std::string name(split_key(*resource.collection, key).second);
  const auto known = resource.collection->objects.find(key);
  if (known == resource.collection->objects.end()) return to_response(not_found(resource, name));
  json::value object = *parse(*known->second);
  drop_type(object);
  const json::value before = object;
  json::object& meta = object.at("metadata").get_object();
  const std::string uid(text_at(object, {"metadata", "uid"}));
  const std::string version(text_at(object, {"metadata", "resourceVersion"}));
  const auto mismatch = [&](const std::string& why) {
    Failure failure = conflict(resource, name, why);
    const std::string kind = resource.kind + (resource.group.empty() ? "" : "." + resource.group);
    failure.message = "Operation cannot be fulfilled on " + kind + " \"" + name + "\": " + why;
    failure.kind = resource.kind;
    return to_response(failure);
  };
  if (!options.uid.empty() && options.uid != uid) {
    return mismatch("the UID in the precondition (" + options.uid + ") does not match the UID in record (" + uid +
                    "). The object might have been deleted and then recreated");
  }
  if (!options.version.empty() && options.version != version) {
    return mismatch("the ResourceVersion in the precondition (" + options.version +
                    ") does not match the ResourceVersion in record (" + version +
                    "). The object might have been modified");
  }
  const bool is_namespace = resource.kind == "Namespace" && !resource.custom;
  if (is_namespace && (name == "default" || name == "kube-system" || name == "kube-public")) {
    Failure failure = not_found(resource, name);
    failure.code = 403;
    failure.reason = "Forbidden";
    failure.message = "namespaces \"" + name + "\" is forbidden: this namespace may not be deleted";
    return to_response(failure);
  }

  json::array finalizers = finalizers_of(object);
  without(finalizers, kForeground);
  without(finalizers, kOrphan);
  if (options.policy == Removal::Policy::foreground) finalizers.push_back(json::value(kForeground));
  if (options.policy == Removal::Policy::orphan) finalizers.push_back(json::value(kOrphan));
  const bool definition = resource.kind == "CustomResourceDefinition" && !resource.custom;
  if (definition &&
      std::find(finalizers.begin(), finalizers.end(), json::value(kDefinitionCleanup)) == finalizers.end()) {
    finalizers.push_back(json::value(kDefinitionCleanup));
  }
  const bool is_pod = resource.kind == "Pod" && !resource.custom;
  int64_t grace = is_pod ? pod_grace(object, options.grace) : 0;
  const bool deleting = meta.contains("deletionTimestamp");
  const auto as_answer = [&](const json::value& shown_object) {
    return answer_with(options.wait ? 202 : 200, resource.head() + json::serialize(shown_object).substr(1));
  };
  if (finalizers.empty() && grace == 0 && !is_namespace) {
    Response response = is_pod ? as_answer(object) : answer_with(200, success(resource, name, uid));
    if (!dry_run) drop(resource, key, by);
    return response;
  }

  // It stays for now, marked.
  set_finalizers(object, finalizers);
  const auto due = [&](int64_t seconds) {
    return io::format_rfc3339(std::chrono::floor<std::chrono::seconds>(loop_.wall_now()) + io::seconds{seconds});
  };
  if (!deleting) {
    meta["deletionTimestamp"] = due(grace);
    if (!is_namespace && !definition) meta["deletionGracePeriodSeconds"] = grace;
    if (const auto generation = integer_at(object, {"metadata", "generation"}); generation && !definition) {
      meta["generation"] = *generation + 1;
    }
  } else if (is_pod && grace < integer_at(object, {"metadata", "deletionGracePeriodSeconds"}).value_or(0)) {
    meta["deletionTimestamp"] = due(grace);
    meta["deletionGracePeriodSeconds"] = grace;
  }
  if (is_namespace) object_at(object.get_object(), "status")["phase"] = "Terminating";
  if (dry_run || object == before) return as_answer(object);
  const Text stored = store(resource, key, std::move(object), by);
  Response response = answer_with(options.wait ? 202 : 200, shown(resource, key, stored, false));
  if (is_namespace) {
    terminating_.insert(name);
    remove_namespace_content(name, by);
    finish_namespace(name, by);
  } else if (definition) {
    finish_definition(name, by);
  } else if (options.policy != Removal::Policy::background) {
    finish_foreground(resource, key, by);
  }
  return response;
}

void ApiServer::remove_namespace_content(const std::string& ns, const std::string& by) {
  if (!controllers_) return;
  for (const auto& [collection, resource] : std::map(stored_as_)) {
    if (!resource.namespaced) continue;
    std::vector<std::string> keys;
    const std::string prefix = ns + "/";
    for (auto at = collection->objects.lower_bound(prefix);
         at != collection->objects.end() && at->first.starts_with(prefix); ++at) {
      keys.push_back(at->first);
    }
    for (const std::string& key : keys) remove_one(resource, key, {}, by, false);
  }
}

// When nothing is left in it, the namespace goes, or waits for its own finalizers.
void ApiServer::finish_namespace(const std::string& ns, const std::string& by) {
  if (!controllers_) return;
  const std::string prefix = ns + "/";
  for (const auto& [collection, resource] : stored_as_) {
    if (!resource.namespaced) continue;
    const auto at = collection->objects.lower_bound(prefix);
    if (at != collection->objects.end() && at->first.starts_with(prefix)) return;
  }
  const Resource& namespaces = *resources_.find("", "v1", "namespaces");
  const auto known = namespaces.collection->objects.find(ns);
  if (known == namespaces.collection->objects.end()) return;
  json::value object = *parse(*known->second);
  drop_type(object);
  const json::value* kept = find(object, {"spec", "finalizers"});
  if (kept && !kept->get_array().empty()) {
    object_at(object.get_object(), "spec").erase("finalizers");
    store(namespaces, ns, object, by);
  }
  if (finalizers_of(object).empty()) drop(namespaces, ns, by);
}

// Deletes the objects of a definition that is going; when none is left it goes itself.
void ApiServer::finish_definition(const std::string& name, const std::string& by) {
  const Resource& definitions = *resources_.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  const auto known = definitions.collection->objects.find(name);
  if (known == definitions.collection->objects.end()) return;
  json::value object = *parse(*known->second);
  if (!find(object, {"metadata", "deletionTimestamp"})) return;
  const Resource* resource =
      resources_.stored(text_at(object, {"spec", "group"}), text_at(object, {"spec", "names", "plural"}));
  if (resource) {
    // The last object takes the definition with it.
    const Resource kept = *resource;
    std::vector<std::string> keys;
    for (const auto& [key, text] : kept.collection->objects) {
      if (text->find("\"deletionTimestamp\"") == std::string::npos) keys.push_back(key);
    }
    for (const std::string& key : keys) remove_one(kept, key, {}, by, false);
    if (!kept.collection->objects.empty()) return;
  }
  // The last object's own deletion may have led here already.
  const auto still = definitions.collection->objects.find(name);
  if (still == definitions.collection->objects.end()) return;
  object = *parse(*still->second);
  drop_type(object);
  json::array finalizers = finalizers_of(object);
  without(finalizers, kDefinitionCleanup);
  if (finalizers.empty()) {
    drop(definitions, name, by);
  } else if (finalizers != finalizers_of(object)) {
    set_finalizers(object, finalizers);
    store(definitions, name, std::move(object), by);
  }
}

// The owner is gone: what no other owner holds goes, too.
void ApiServer::collect_garbage(const std::string& uid, const std::string& by) {
  const auto found = dependents_.find(uid);
  if (found == dependents_.end() || !controllers_) return;
  for (const Dependent& dependent : std::set(found->second)) {
    const auto known = dependent.collection->objects.find(dependent.key);
    if (known == dependent.collection->objects.end()) continue;
    json::value object = *parse(*known->second);
    drop_type(object);
    json::value* owners = find(object, {"metadata", "ownerReferences"});
    if (!owners) continue;
    remove_elements(owners->get_array(), [&](const json::value& owner) { return text_at(owner, "uid") == uid; });
    const Resource resource = stored_as_.at(dependent.collection);
    if (owners->get_array().empty()) {
      remove_one(resource, dependent.key, {}, by, false);
    } else {
      store(resource, dependent.key, std::move(object), by);
    }
  }
  // What its dependents held back may go now.
  for (const std::string& owner : std::set(foreground_)) {
    if (dependents_.contains(owner)) continue;
    foreground_.erase(owner);
    for (const auto& [collection, resource] : std::map(stored_as_)) {
      for (const auto& [key, text] : std::map(collection->objects)) {
        if (text->find(owner) == std::string::npos || text->find(kForeground) == std::string::npos) continue;
        finish_foreground(resource, key, by);
      }
    }
  }
}

// Foreground: first the dependents, then the object. Orphan: the dependents forget it.
void ApiServer::finish_foreground(const Resource& resource, const std::string& key, const std::string& by) {
  if (!controllers_) return;
  const auto known = resource.collection->objects.find(key);
  if (known == resource.collection->objects.end()) return;
  json::value object = *parse(*known->second);
  const std::string uid(text_at(object, {"metadata", "uid"}));
  json::array finalizers = finalizers_of(object);
  const auto has = [&](std::string_view name) {
    return std::find(finalizers.begin(), finalizers.end(), json::value(name)) != finalizers.end();
  };
  const auto dependents = dependents_.contains(uid) ? std::set(dependents_.at(uid)) : std::set<Dependent>();
  for (const Dependent& dependent : dependents) {
    const auto at = dependent.collection->objects.find(dependent.key);
    if (at == dependent.collection->objects.end()) continue;
    const Resource kind = stored_as_.at(dependent.collection);
    if (has(kForeground)) {
      remove_one(kind, dependent.key, {}, by, false);
      continue;
    }
    json::value orphan = *parse(*at->second);
    drop_type(orphan);
    json::array& owners = find(orphan, {"metadata", "ownerReferences"})->get_array();
    remove_elements(owners, [&](const json::value& owner) { return text_at(owner, "uid") == uid; });
    if (owners.empty()) orphan.at("metadata").get_object().erase("ownerReferences");
    store(kind, dependent.key, std::move(orphan), by);
  }
  if (dependents_.contains(uid)) {
    foreground_.insert(uid);
    return;
  }
  const auto still = resource.collection->objects.find(key);
  if (still == resource.collection->objects.end()) return;
  object = *parse(*still->second);
  drop_type(object);
  finalizers = finalizers_of(object);
  without(finalizers, kForeground);
  without(finalizers, kOrphan);
  if (finalizers.empty() && integer_at(object, {"metadata", "deletionGracePeriodSeconds"}).value_or(0) == 0) {
    drop(resource, key, by);
  } else if (finalizers != finalizers_of(object)) {
    set_finalizers(object, std::move(finalizers));
    store(resource, key, std::move(object), by);
  }
}

}  // namespace careen::sim
