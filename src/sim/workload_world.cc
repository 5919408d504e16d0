#include "sim/workload_world.h"

#include <algorithm>
#include <charconv>

namespace careen::sim {

namespace {

// The same text for equal values, whatever the order of members.
void canonical(const json::value& value, std::string& into) {
  if (value.is_array()) {
    into += '[';
    for (const json::value& one : value.get_array()) {
      canonical(one, into);
      into += ',';
    }
    into += ']';
    return;
  }
  if (!value.is_object()) {
    into += json::serialize(value);
    return;
  }
  std::map<std::string_view, const json::value*> members;
  for (const auto& one : value.get_object()) members.emplace(one.key(), &one.value());
  into += '{';
  for (const auto& [key, one] : members) {
    into += quoted(key) + ":";
    canonical(*one, into);
    into += ',';
  }
  into += '}';
}

// Whether the object at that path is one of the collection, in any namespace.
bool is_in(std::string_view collection, std::string_view path) {
  return path.substr(0, path.rfind('/')).ends_with(collection.substr(collection.rfind('/')));
}

// The dependents that are no pods are ReplicaSets, in a group of their own.
bool is_pod(std::string_view path) { return path.starts_with("/api/v1/"); }

}  // namespace

std::vector<json::value> WorkloadWorld::dependents(std::string_view collection, std::string_view owner_uid) const {
  std::vector<json::value> out;
  const auto found = dependents_.find(owner_uid);
  if (found == dependents_.end()) return out;
  for (const auto& [path, one] : found->second) {
    // A copy would otherwise live in the memory of what it is a copy of, which may go first.
    if (is_in(collection, path)) out.emplace_back(*api_.parsed(one.object), json::storage_ptr());
  }
  return out;
}

std::vector<const PodFacts*> WorkloadWorld::pods_of(std::string_view owner_uid) const {
  std::vector<const PodFacts*> out;
  const auto found = dependents_.find(owner_uid);
  if (found == dependents_.end()) return out;
  out.reserve(found->second.size());
  for (const auto& [path, one] : found->second) {
    if (!is_pod(path)) continue;
    if (!one.pod) one.pod.emplace(*api_.parsed(one.object));
    out.push_back(&*one.pod);
  }
  return out;
}

std::string WorkloadWorld::now_text() const { return io::format_whole_seconds(loop_.wall_now()); }

bool WorkloadWorld::create(const std::string& collection_path, const json::value& object) {
  const kube::Response response = api_.handle(
      {.method = "POST", .path = collection_path, .content_type = "application/json", .body = json::serialize(object)},
      {kControllerManager});
  return response.status == 201;
}

void WorkloadWorld::remove(const std::string& path, std::string_view uid) {
  const json::value options = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"preconditions", {{"uid", uid}}}};
  api_.handle({.method = "DELETE", .path = path, .content_type = "application/json", .body = json::serialize(options)},
              {kControllerManager});
}

void WorkloadWorld::merge(const std::string& path, const json::value& patch) {
  api_.handle(
      {.method = "PATCH", .path = path, .content_type = "application/merge-patch+json", .body = json::serialize(patch)},
      {kControllerManager});
}

void WorkloadWorld::write_status(const std::string& path, const json::value& owner, const json::value& status) {
  const json::value* known = member(owner, "status");
  if (known && same(*known, status)) return;
  Scratch memory;
  json::object patch(status.get_object(), memory.storage());
  if (known && known->is_object()) {
    for (const auto& one : known->get_object()) {
      if (!patch.contains(one.key())) patch[one.key()] = nullptr;
    }
  }
  json::object whole(memory.storage());
  whole["status"] = std::move(patch);
  merge(path + "/status", json::value(std::move(whole)));
}

void WorkloadWorld::unfollow(const std::string& owner_uid, const std::string& path) {
  const auto found = dependents_.find(owner_uid);
  if (found == dependents_.end()) return;
  found->second.erase(path);
  if (found->second.empty()) dependents_.erase(found);
}

bool WorkloadWorld::read_node(const std::string& name) {
  const Parsed node = api_.stored(node_path(name));
  const auto known = nodes_.find(name);
  if (!node) return nodes_.erase(name) > 0;
  NodeFacts facts(*node);
  if (known != nodes_.end() && known->second == facts) return false;
  nodes_.insert_or_assign(name, std::move(facts));
  return true;
}

std::string collection_in(std::string_view collection, std::string_view ns) {
  const size_t plural = collection.rfind('/');
  return std::string(collection.substr(0, plural)) + "/namespaces/" + std::string(ns) +
         std::string(collection.substr(plural));
}

std::string object_in(std::string_view collection, std::string_view ns, std::string_view name) {
  return collection_in(collection, ns) + "/" + std::string(name);
}

std::string path_of(std::string_view collection, const json::value& object) {
  return object_in(collection, namespace_of(object), name_of(object));
}

bool is_terminating(const json::value& object) { return find(object, {"metadata", "deletionTimestamp"}) != nullptr; }

namespace {

const json::value* ready_condition(const json::value& pod) {
  const json::value* conditions = find(pod, {"status", "conditions"});
  if (!conditions || !conditions->is_array()) return nullptr;
  for (const json::value& one : conditions->get_array()) {
    if (text_at(one, "type") == "Ready") return &one;
  }
  return nullptr;
}

}  // namespace

PodFacts::PodFacts(const json::value& pod)
    : name(name_of(pod)),
      uid(uid_of(pod)),
      node(text_at(pod, {"spec", "nodeName"})),
      phase(text_at(pod, {"status", "phase"})),
      created(text_at(pod, {"metadata", "creationTimestamp"})),
      terminating(is_terminating(pod)),
      ended(has_ended(pod)) {
  if (const json::value* list = find(pod, {"metadata", "labels"}); list && list->is_object()) {
    for (const auto& one : list->get_object()) {
      if (one.value().is_string()) labels.emplace(one.key(), one.value().get_string());
    }
  }
  const json::value* cost = find(pod, {"metadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"});
  if (cost && cost->is_string()) deletion_cost = std::atoll(cost->get_string().c_str());
  const json::value* condition = ready_condition(pod);
  ready = condition && text_at(*condition, "status") == "True";
  if (ready) ready_since = io::parse_rfc3339(text_at(*condition, "lastTransitionTime"));
}

bool is_available(const json::value& pod, int64_t min_ready_seconds, io::Wall now, std::optional<io::Duration>& again) {
  return is_available(PodFacts(pod), min_ready_seconds, now, again);
}

bool is_available(const PodFacts& pod, int64_t min_ready_seconds, io::Wall now, std::optional<io::Duration>& again) {
  if (!pod.ready) return false;
  if (min_ready_seconds <= 0) return true;
  if (!pod.ready_since) return false;
  const io::Wall due = *pod.ready_since + io::seconds{min_ready_seconds};
  if (due <= now) return true;
  sooner(again, std::chrono::ceil<std::chrono::milliseconds>(due - now));
  return false;
}

json::value controller_reference(const json::value& owner, std::string_view api_version, std::string_view kind,
                                 json::storage_ptr memory) {
  return json::value({{"apiVersion", api_version},
                      {"kind", kind},
                      {"name", name_of(owner)},
                      {"uid", uid_of(owner)},
                      {"controller", true},
                      {"blockOwnerDeletion", true}},
                     std::move(memory));
}

json::value pod_from_template(const json::value& owner, std::string_view api_version, std::string_view kind,
                              json::storage_ptr memory) {
  const json::value* pod_template = find(owner, {"spec", "template"});
  json::object meta(memory);
  meta["generateName"] = std::string(name_of(owner)) + "-";
  meta["namespace"] = namespace_of(owner);
  if (pod_template) {
    for (const char* key : {"labels", "annotations", "finalizers"}) {
      if (const json::value* value = find(*pod_template, {"metadata", key})) meta[key] = *value;
    }
  }
  meta["ownerReferences"].emplace_array().push_back(controller_reference(owner, api_version, kind, memory));
  const json::value* spec = pod_template ? member(*pod_template, "spec") : nullptr;
  json::object pod(memory);
  pod["kind"] = "Pod";
  pod["apiVersion"] = "v1";
  pod["metadata"] = std::move(meta);
  if (spec) {
    pod["spec"] = *spec;
  } else {
    pod["spec"].emplace_object();
  }
  return json::value(std::move(pod));
}

std::string_view uid_of(const json::value& object) { return text_at(object, {"metadata", "uid"}); }
std::string_view name_of(const json::value& object) { return text_at(object, {"metadata", "name"}); }
std::string_view namespace_of(const json::value& object) { return text_at(object, {"metadata", "namespace"}); }
int64_t generation_of(const json::value& object) { return integer_at(object, {"metadata", "generation"}).value_or(0); }

int64_t spec_number(const json::value& object, std::string_view field, int64_t otherwise) {
  return integer_at(object, {"spec", field}).value_or(otherwise);
}

int64_t status_number(const json::value& object, std::string_view field) {
  return integer_at(object, {"status", field}).value_or(0);
}

json::object labels_of(const json::value& object) {
  const json::value* labels = find(object, {"metadata", "labels"});
  return labels && labels->is_object() ? labels->get_object() : json::object();
}

void sooner(std::optional<io::Duration>& again, io::Duration in) { again = again ? std::min(*again, in) : in; }

int64_t scaled(const json::value* number, int64_t whole, bool round_up, int64_t otherwise) {
  if (!number) return otherwise;
  if (number->is_int64()) return number->get_int64();
  if (!number->is_string()) return otherwise;
  const std::string_view text = number->get_string();
  int64_t percent = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (parsed.ec != std::errc() || parsed.ptr + 1 != text.data() + text.size() || *parsed.ptr != '%') return otherwise;
  return (whole * percent + (round_up ? 99 : 0)) / 100;
}

std::string template_hash(const json::value& pod_template, int64_t collisions) {
  std::string text;
  canonical(pod_template, text);
  if (collisions > 0) text += std::to_string(collisions);
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  // The digits of the number in the alphabet of generated names.
  constexpr std::string_view alphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (const char digit : std::to_string(hash)) out += alphabet[static_cast<size_t>(digit) % alphabet.size()];
  return out;
}

}  // namespace careen::sim
