#include <algorithm>

#include "sim/removal.h"
#include "sim/selector.h"

namespace careen::sim {

using kube::Response;

namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kDefinitionCleanup = "customresourcecleanup.apiextensions.k8s.io";

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
  const int64_t grace = wanted.value_or(integer_at(pod, {"spec", "terminationGracePeriodSeconds"}).value_or(0));
  // Negative ones become the shortest.
  return grace < 0 ? 1 : grace;
}

// A pod that ends already may only be given less time, counted from when its end began.
void shorten_grace(json::object& meta, int64_t has, int64_t wanted, io::Wall now) {
  if (wanted < 0) wanted = 1;
  if (wanted >= has) return;
  const auto due = io::parse_rfc3339(text_at(meta, "deletionTimestamp"));
  io::Wall at = (due ? *due : now) + io::seconds{wanted - has};
  if (at < now) {
    at = now;
    if (wanted != 0) wanted = 1;
  }
  meta["deletionTimestamp"] = io::format_whole_seconds(at);
  meta["deletionGracePeriodSeconds"] = wanted;
}

// Marks what is being deleted, or changes the mark; what is left of its time is in the mark.
void mark_pod(json::value& pod, std::optional<int64_t> wanted, io::Wall now) {
  json::object& meta = pod.at("metadata").get_object();
  if (meta.contains("deletionTimestamp")) {
    const int64_t has = integer_at(pod, {"metadata", "deletionGracePeriodSeconds"}).value_or(0);
    if (wanted) shorten_grace(meta, has, *wanted, now);
    return;
  }
  const int64_t grace = pod_grace(pod, wanted);
  meta["deletionTimestamp"] = io::format_whole_seconds(now + io::seconds{grace});
  meta["deletionGracePeriodSeconds"] = grace;
  if (const auto generation = integer_at(pod, {"metadata", "generation"})) meta["generation"] = *generation + 1;
}

}  // namespace

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
    if (!selector->matches_text(text, [this](const Text& one) { return parsed(one); })) return true;
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
  const Parsed found = parsed(known->second);
  const json::value& before = *found;
  Draft draft(before);
  json::value& object = draft.value();
  json::object& meta = object.at("metadata").get_object();
  const std::string uid(text_at(object, {"metadata", "uid"}));
  if (const auto wrong = options.fails_for(resource, object)) return to_response(*wrong);
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
  const bool deleting = meta.contains("deletionTimestamp");
  const auto as_answer = [&](const json::value& shown_object) {
    return answer_with(options.wait ? 202 : 200, resource.head() + json::serialize(shown_object).substr(1));
  };
  if (finalizers.empty() && !is_pod && !is_namespace) {
    Response response = answer_with(200, success(resource, name, uid));
    if (!dry_run) drop(resource, key, by);
    return response;
  }

  // It stays for now, marked.
  set_finalizers(object, finalizers);
  if (is_pod) {
    mark_pod(object, options.grace, loop_.wall_now());
    if (finalizers.empty() && integer_at(object, {"metadata", "deletionGracePeriodSeconds"}).value_or(0) == 0) {
      return remove_marked_pod(resource, key, std::move(draft), by, dry_run);
    }
  } else if (!deleting) {
    meta["deletionTimestamp"] = now_text();
    if (!is_namespace && !definition) meta["deletionGracePeriodSeconds"] = 0;
    if (const auto generation = integer_at(object, {"metadata", "generation"}); generation && !definition) {
      meta["generation"] = *generation + 1;
    }
  }
  if (is_namespace) object_at(object.get_object(), "status")["phase"] = "Terminating";
  if (dry_run || same(object, before)) return as_answer(object);
  const Text stored = store(resource, key, std::move(draft), by);
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

// Its mark is a change of its own, which watches see before the pod goes.
Response ApiServer::remove_marked_pod(const Resource& resource, const std::string& key, Draft pod,
                                      const std::string& by, bool dry_run) {
  if (dry_run) return answer_with(200, resource.head() + json::serialize(pod.value()).substr(1));
  store(resource, key, std::move(pod), by);
  // The answer has the version of its end.
  const Text last = drop(resource, key, by);
  return answer_with(200, *last);
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
      for (const auto& [key, text] : std::map(collection->objects.all())) {
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
