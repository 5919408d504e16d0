#include "sim/api_server.h"

#include <algorithm>

#include "sim/ask.h"
#include "sim/discovery.h"
#include "sim/events.h"
#include "sim/patch.h"

namespace careen::sim {

using kube::Json;
using kube::Request;
using kube::Response;

namespace {

// Events live for an hour after they were last written.
constexpr io::Duration kEventLife = io::hours{1};

std::string object_path(const Collection& collection, std::string_view key) {
  if (!collection.namespaced) return collection.path + "/" + std::string(key);
  const auto [ns, name] = split_key(collection, key);
  const size_t plural = collection.path.rfind('/');
  return collection.path.substr(0, plural) + "/namespaces/" + std::string(ns) + collection.path.substr(plural) + "/" +
         std::string(name);
}

struct ResourcePath {
  std::string_view group{}, version{}, plural{}, ns{}, name{};  // of the segments
  std::string subresource{};
  bool watch = false;
};

// Segments from the resource on; namespaces/x/pods lies in a namespace, namespaces/x is one.
ResourcePath resource_path(const std::vector<std::string>& segments) {
  ResourcePath named;
  size_t at = 2;
  if (segments[0] == "apis") {
    named.group = segments[1];
    named.version = segments[2];
    at = 3;
  } else {
    named.version = segments[1];
  }
  if (at < segments.size() && segments[at] == "watch") {
    named.watch = true;
    ++at;
  }
  const auto has = [&](size_t i) { return i < segments.size(); };
  if (has(at + 2) && segments[at] == "namespaces" && segments[at + 2] != "status" && segments[at + 2] != "finalize") {
    named.ns = segments[at + 1];
    at += 2;
  }
  if (has(at)) named.plural = segments[at];
  if (has(at + 1)) named.name = segments[at + 1];
  for (size_t i = at + 2; i < segments.size(); ++i) named.subresource += (i > at + 2 ? "/" : "") + segments[i];
  return named;
}

bool is_resource_path(const std::vector<std::string>& segments) {
  if (segments.empty()) return false;
  return segments[0] == "api" ? segments.size() > 2 : segments[0] == "apis" && segments.size() > 3;
}

bool is_acceptable(std::string_view accept) {
  if (accept.empty()) return true;
  for (const char* type :
       {"application/json", "*/*", "application/*", "application/yaml", "application/vnd.kubernetes.protobuf"}) {
    if (accept.find(type) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

ApiServer::ApiServer(io::Loop& loop, uint64_t seed)
    : loop_(loop), random_(seed), store_(loop), expiry_(loop, [this] { expire_events(); }) {
  for (const Resource* resource : resources_.all()) {
    Resource copy = *resource;
    const bool other_events = copy.is_events_v1();
    copy.collection = &store_.collection(other_events ? "/api/v1/events" : copy.path(), copy.namespaced);
    resources_.add(std::move(copy));
  }
  for (const Resource* resource : resources_.all()) {
    if (resource->storage) keep_as(*resource);
  }
  pods_ = resources_.find("", "v1", "pods")->collection;
  budgets_ = resources_.find("policy", "v1", "poddisruptionbudgets")->collection;
  for (const char* name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
    const Resource& namespaces = *resources_.find("", "v1", "namespaces");
    json::value ns = {{"metadata",
                       {{"name", name},
                        {"uid", random_.uuid()},
                        {"creationTimestamp", now_text()},
                        {"labels", {{"kubernetes.io/metadata.name", name}}}}}};
    prepare_new(namespaces, ns);
    store(namespaces, name, std::move(ns), "kube-apiserver");
  }
}
ApiServer::~ApiServer() = default;

void ApiServer::keep_as(const Resource& resource) {
  resource.collection->head = resource.head();
  stored_as_.insert_or_assign(resource.collection, resource);
}

std::string ApiServer::now_text() const { return io::format_whole_seconds(loop_.wall_now()); }

Response ApiServer::refusal(int code, std::string_view reason, std::string_view message) {
  return to_response({.code = code, .reason = std::string(reason), .message = std::string(message)});
}

namespace {

// A client that reads neither JSON nor what a table is made of.
std::optional<Response> not_acceptable(std::string_view accept, const Resource& resource) {
  if (accept.empty()) return std::nullopt;
  for (const std::string_view type : {"application/json", "*/*", "application/*", "application/yaml", "protobuf"}) {
    if (accept.find(type) != std::string_view::npos) return std::nullopt;
  }
  constexpr std::string_view kTypes = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
  Failure failure{.code = 406, .reason = "NotAcceptable", .details = !resource.custom};
  failure.message = resource.custom ? "only the following media types are accepted: " + std::string(kTypes)
                                    : "406: Not Acceptable\n\nAvailable representations: " + std::string(kTypes);
  return to_response(failure);
}

}  // namespace

bool ApiServer::is_watch(const Request& request) {
  if (request.method != "GET") return false;
  const auto segments = path_segments(request.path);
  if (!is_resource_path(segments)) return false;
  const ResourcePath named = resource_path(segments);
  return named.watch || (is_on(query_of(request.path), "watch") && named.name.empty());
}

tl::expected<ApiServer::Ask, Response> ApiServer::understand(const Request& request, const Caller& caller) const {
  const auto segments = path_segments(request.path);
  if (!is_resource_path(segments)) return tl::unexpected(discover(resources_, segments, request));
  const ResourcePath named = resource_path(segments);
  if (!resources_.has_group(named.group)) return tl::unexpected(page_not_found());
  Ask ask;
  ask.request = &request;
  ask.caller = caller;
  ask.resource = resources_.find(named.group, named.version, named.plural);
  ask.ns = named.ns;
  ask.name = named.name;
  ask.subresource = named.subresource;
  ask.query = query_of(request.path);
  const bool fits = ask.resource && ask.resource->served && (ask.ns.empty() || ask.resource->namespaced) &&
                    (ask.name.empty() || !ask.ns.empty() || !ask.resource->namespaced);
  if (!ask.resource && resources_.is_custom_group(named.group)) return tl::unexpected(page_not_found());
  const bool known_subresource = ask.subresource.empty() ||
                                 (ask.subresource == "status" && fits && ask.resource->status) ||
                                 (ask.subresource == "scale" && fits && ask.resource->has_scale()) ||
                                 ((ask.subresource == "binding" || ask.subresource == "eviction") && fits &&
                                  ask.resource->kind == "Pod" && !ask.resource->custom);
  if (!fits || !known_subresource) {
    // Custom resources have a different server, with different words.
    if (fits && ask.resource->custom) return tl::unexpected(to_response(not_found(*ask.resource, ask.name)));
    return tl::unexpected(resources_.is_custom_group(named.group) ? page_not_found() : to_response(no_such_resource()));
  }
  if (auto refused = not_acceptable(request.accept, *ask.resource)) return tl::unexpected(std::move(*refused));
  return ask;
}

// For direct access: what nobody defined is made up.
ApiServer::Ask ApiServer::locate(std::string_view path) {
  const auto segments = path_segments(path);
  const ResourcePath named = resource_path(segments);
  if (!resources_.find(named.group, named.version, named.plural)) {
    Resource made;
    made.group = named.group;
    made.version = named.version;
    made.plural = named.plural;
    made.singular = named.plural.substr(0, named.plural.size() - (named.plural.ends_with("s") ? 1 : 0));
    made.kind = made.singular;
    if (!made.kind.empty() && made.kind[0] >= 'a' && made.kind[0] <= 'z') made.kind[0] -= 32;
    made.list_kind = made.kind + "List";
    made.namespaced = !named.ns.empty();
    made.custom = true;
    made.generation = true;
    made.collection = &store_.collection(made.path(), made.namespaced);
    resources_.add(made);
    keep_as(made);
  }
  Ask ask;
  locate_known(path, ask);
  return ask;
}

const ApiServer::Ask* ApiServer::locate_known(std::string_view path, Ask& into) const {
  const auto segments = path_segments(path);
  if (!is_resource_path(segments)) return nullptr;
  const ResourcePath named = resource_path(segments);
  into.resource = resources_.find(named.group, named.version, named.plural);
  into.ns = named.ns;
  into.name = named.name;
  return into.resource ? &into : nullptr;
}

Response ApiServer::handle(const Request& request, const Caller& caller) {
  const auto ask = understand(request, caller);
  if (!ask) return ask.error();
  const bool evicts = ask->subresource == "eviction";
  const std::string what = request.method + " " + ask->resource->plural + (evicts ? "/eviction" : "");
  ++counts_[what];
  const uint64_t before = store_.version();
  Response response = answer(*ask);
  if (store_.version() != before) ++counts_[what + " changed"];
  return response;
}

Response ApiServer::answer(const Ask& ask) {
  const std::string& method = ask.request->method;
  if (!is_acceptable(ask.request->accept)) {
    return to_response({.code = 406,
                        .reason = "NotAcceptable",
                        .message = "406: Not Acceptable\n\nAvailable representations: application/json, "
                                   "application/yaml, application/vnd.kubernetes.protobuf",
                        .details = true});
  }
  if (ask.subresource == "binding") return method == "POST" ? bind(ask) : to_response(method_not_allowed());
  if (ask.subresource == "scale") return scale(ask);
  if (ask.subresource == "eviction") return method == "POST" ? evict(ask) : to_response(method_not_allowed());
  if (ask.name.empty()) {
    if (method == "GET") return list(ask);
    if (ask.resource->namespaced && ask.ns.empty()) {
      return ask.resource->custom ? page_not_found() : to_response(method_not_allowed());
    }
    if (method == "POST") return create(ask);
    if (method == "DELETE") return remove_collection(ask);
    const bool writes = method == "PUT" || method == "PATCH";
    if (writes && ask.resource->custom) return to_response(bad_request("name must be provided"));
    return to_response(method_not_allowed());
  }
  if (method == "GET") return get(ask);
  if (method == "PUT") return update(ask);
  if (method == "PATCH") return patch(ask);
  if (method == "DELETE" && ask.subresource.empty()) return remove(ask);
  return to_response(method_not_allowed());
}

void ApiServer::observe(std::function<void(const Change&)> observer) { observers_.push_back(std::move(observer)); }

void ApiServer::announce(const Collection& collection, const Past& past, const std::string& by) {
  if (observers_.empty()) return;
  const auto [ns, name] = split_key(collection, past.key);
  const auto type = past.deleted ? Change::Type::deleted : past.before ? Change::Type::modified : Change::Type::added;
  const Change change{type,        past.version, past.at, collection.path, std::string(ns), std::string(name),
                      past.before, past.object,  by};
  for (const auto& observer : observers_) observer(change);
}

// The object comes without kind and apiVersion; its text begins with them, so that lists can leave them out.
Text ApiServer::store(const Resource& resource, const std::string& key, Draft draft, const std::string& by) {
  Collection& collection = *resource.collection;
  json::value& object = draft.value();
  json::object& meta = object_at(object.get_object(), "metadata");
  meta["resourceVersion"] = std::to_string(store_.next_version());
  const std::string rest = json::serialize(object);
  std::string text;
  text.reserve(collection.head.size() + rest.size());
  text.append(collection.head).append(rest, 1);
  const Past& past = store_.change(collection, key, std::make_shared<const std::string>(std::move(text)));
  const Text stored = past.object;
  // Whoever is told may look at it.
  const Parsed kept = parsed_.keep(stored, std::move(draft));
  const bool owned = meta.contains("ownerReferences");
  if (owned || (past.before && find_text(*past.before, "\"ownerReferences\"") != std::string::npos)) {
    const Parsed before = parsed(past.before);
    follow_owners(collection, key, before.get(), kept.get());
  }
  follow_node(collection, key, past.before, kept.get());
  follow_budget(collection, key, past.before, kept.get());
  if (collection.path == "/api/v1/events") {
    expiries_.push_back({loop_.now() + kEventLife, key, stored});
    if (!expiry_.pending()) expiry_.set(expiries_.front().at);
  }
  const Text before = past.before;
  announce(collection, past, by);
  if (before) parsed_.forget(before);
  if (stored_as_.at(&collection).kind == "CustomResourceDefinition") {
    // What is learnt from it outlives its memory.
    define(json::value(*kept, json::storage_ptr()), false);
  }
  return stored;
}

Text ApiServer::drop(const Resource& resource, const std::string& key, const std::string& by) {
  Collection& collection = *resource.collection;
  const auto known = collection.objects.find(key);
  if (known == collection.objects.end()) return nullptr;
  Scratch memory;
  json::value gone(*parsed(known->second), memory.storage());
  const std::string uid(text_at(gone, {"metadata", "uid"}));
  gone.at("metadata").get_object()["resourceVersion"] = std::to_string(store_.next_version());
  std::string text = collection.head;
  const std::string rest = json::serialize(gone);
  text.append(rest, 1);
  const Past& past = store_.change(collection, key, nullptr, std::make_shared<const std::string>(std::move(text)));
  const Text before = past.before, last = past.object;
  follow_owners(collection, key, &gone, nullptr);
  follow_node(collection, key, past.before, nullptr);
  follow_budget(collection, key, past.before, nullptr);
  announce(collection, past, by);
  const std::string ns(split_key(collection, key).first);
  if (stored_as_.at(&collection).kind == "CustomResourceDefinition") define(gone, true);
  if (resource.kind == "Namespace" && !resource.custom) terminating_.erase(key);
  foreground_.erase(uid);
  collect_garbage(uid, by);
  if (!ns.empty() && terminating_.contains(ns)) finish_namespace(ns, by);
  if (resource.custom) finish_definition(resource.qualified(), by);
  parsed_.forget(before);
  return last;
}

void ApiServer::follow_owners(const Collection& collection, const std::string& key, const json::value* before,
                              const json::value* now) {
  const auto each_owner = [](const json::value* object, const auto& visit) {
    const json::value* owners = object ? find(*object, {"metadata", "ownerReferences"}) : nullptr;
    if (!owners || !owners->is_array()) return;
    for (const json::value& owner : owners->get_array()) visit(std::string(text_at(owner, "uid")));
  };
  const json::value* had = before ? find(*before, {"metadata", "ownerReferences"}) : nullptr;
  const json::value* has = now ? find(*now, {"metadata", "ownerReferences"}) : nullptr;
  if (had && has && same(*had, *has)) return;
  const Dependent dependent{const_cast<Collection*>(&collection), key};
  each_owner(before, [&](const std::string& uid) {
    const auto known = dependents_.find(uid);
    if (known == dependents_.end()) return;
    known->second.erase(dependent);
    if (known->second.empty()) dependents_.erase(known);
  });
  each_owner(now, [&](const std::string& uid) { dependents_[uid].insert(dependent); });
}

void ApiServer::follow_node(Collection& collection, const std::string& key, const Text& before,
                            const json::value* now) {
  if (&collection != pods_) return;
  const std::string_view node = now ? text_at(*now, {"spec", "nodeName"}) : std::string_view();
  // A pod that is bound hardly ever moves.
  if (!node.empty() && pods_->on_node.contains(node, key)) return;
  if (const Parsed was = parsed(before)) pods_->on_node.erase(text_at(*was, {"spec", "nodeName"}), key);
  if (!node.empty()) pods_->on_node.insert(node, key);
}

void ApiServer::follow_budget(const Collection& collection, const std::string& key, const Text& before,
                              const json::value* now) {
  if (&collection != budgets_) return;
  const json::value* selector = now ? find(*now, {"spec", "selector"}) : nullptr;
  const auto [ns, name] = split_key(collection, key);
  if (selector && before) {
    // Its status changes often.
    const Parsed whole = parsed(before);
    const json::value* was = find(*whole, {"spec", "selector"});
    if (was && *was == *selector) return;
  }
  if (now) {
    if (const auto read = kube::LabelSelector::from_json(kube::JsonView(selector))) {
      budget_selectors_[std::string(ns)].set(std::string(name), *read);
      return;
    }
  }
  const auto known = budget_selectors_.find(ns);
  if (known != budget_selectors_.end()) known->second.erase(std::string(name));
}

void ApiServer::expire_events() {
  const Resource& events = *resources_.find("", "v1", "events");
  while (!expiries_.empty() && expiries_.front().at <= loop_.now()) {
    const Expiry due = std::move(expiries_.front());
    expiries_.pop_front();
    const auto known = events.collection->objects.find(due.key);
    // A later write has an expiry of its own.
    if (known != events.collection->objects.end() && known->second == due.object) drop(events, due.key, "etcd");
  }
  if (!expiries_.empty()) expiry_.set(expiries_.front().at);
}

void ApiServer::put(std::string_view path, const Json& object, std::string_view by) {
  const Ask ask = locate(path);
  const Text known = text(path);
  const Parsed before = parsed(known);
  std::string uid(before ? text_at(*before, {"metadata", "uid"}) : object.at("/metadata/uid").text().value_or(""));
  if (uid.empty()) uid = random_.uuid();
  const std::string given = object.dump();
  const auto complete = [&] {
    Draft draft;
    json::value& value = draft.value();
    value = *sim::parse(given, draft.storage());
    if (!value.is_object()) value.emplace_object();
    if (ask.resource->is_events_v1()) value = event_from_v1(std::move(value));
    drop_type(value);
    json::object& meta = object_at(value.get_object(), "metadata");
    meta["name"] = ask.name;
    if (!ask.ns.empty()) meta["namespace"] = ask.ns;
    meta["uid"] = uid;
    if (!meta.contains("creationTimestamp")) {
      const std::string_view created = before ? text_at(*before, {"metadata", "creationTimestamp"}) : "";
      meta["creationTimestamp"] = created.empty() ? std::string_view(now_text()) : created;
    }
    return draft;
  };
  Draft draft = complete();
  const bool wrong = ask.resource->type && conform(draft.value(), *ask.resource->type);
  store(*ask.resource, ask.key(), wrong ? complete() : std::move(draft), std::string(by));
}

void ApiServer::merge(std::string_view path, const Json& patch, std::string_view by) {
  Scratch memory;
  merge(path, *sim::parse(patch.dump(), memory.storage()), by);
}

void ApiServer::merge(std::string_view path, const json::value& patch, std::string_view by) {
  Ask ask;
  if (!locate_known(path, ask)) return;
  const auto known = ask.resource->collection->objects.find(ask.key());
  if (known == ask.resource->collection->objects.end()) return;
  const Parsed before = parsed(known->second);
  const auto merged = [&] {
    Draft draft(*before);
    merge_patch(draft.value(), patch);
    drop_type(draft.value());
    return draft;
  };
  Draft draft = merged();
  const bool wrong = ask.resource->type && patch.is_object() &&
                     conform_members(draft.value(), *ask.resource->type, patch.get_object());
  if (wrong) draft = merged();
  json::object& meta = draft.value().at("metadata").get_object();
  const json::object& known_meta = before->at("metadata").get_object();
  meta["uid"] = known_meta.at("uid");
  meta["resourceVersion"] = known_meta.at("resourceVersion");
  if (!same(draft.value(), *before)) store(*ask.resource, ask.key(), std::move(draft), std::string(by));
}

void ApiServer::erase(std::string_view path, std::string_view by) {
  Ask ask;
  if (locate_known(path, ask)) drop(*ask.resource, ask.key(), std::string(by));
}

Text ApiServer::text(std::string_view path) const {
  Ask ask;
  if (!locate_known(path, ask)) return nullptr;
  const auto known = ask.resource->collection->objects.find(ask.key());
  if (known == ask.resource->collection->objects.end()) return nullptr;
  const Text text = fresh(*ask.resource->collection, known->first, known->second);
  if (ask.resource->storage) return text;
  return std::make_shared<const std::string>(shown(*ask.resource, known->first, text, false));
}

Parsed ApiServer::stored(std::string_view path) const {
  Ask ask;
  if (!locate_known(path, ask)) return nullptr;
  const auto known = ask.resource->collection->objects.find(ask.key());
  return known == ask.resource->collection->objects.end() ? nullptr : parsed(known->second);
}

Text ApiServer::pod_text(std::string_view key) const {
  const auto known = pods_->objects.find(key);
  return known == pods_->objects.end() ? nullptr : known->second;
}

Json ApiServer::object(std::string_view path) const {
  const Text known = text(path);
  return known ? *Json::parse(*known) : Json();
}

void ApiServer::for_each(std::string_view path,
                         const std::function<void(const std::string&, const Text&)>& visit) const {
  Ask ask;
  if (!locate_known(path, ask)) return;
  const Collection& collection = *ask.resource->collection;
  // The visitor may change what it visits.
  std::vector<std::pair<std::string, Text>> all(collection.objects.begin(), collection.objects.end());
  for (const auto& [key, text] : all) visit(object_path(collection, key), fresh(collection, key, text));
}

void ApiServer::freshen(std::string_view path, Freshen freshen) {
  if (const Collection* collection = store_.find(path)) freshen_[collection] = std::move(freshen);
}

Text ApiServer::fresh(const Collection& collection, const std::string& key, const Text& text) const {
  const auto known = freshen_.find(&collection);
  if (known == freshen_.end()) return text;
  const auto [ns, name] = split_key(collection, key);
  Text made = known->second(ns, name, text);
  return made ? made : text;
}

int ApiServer::count(std::string_view what) const {
  const auto it = counts_.find(what);
  return it == counts_.end() ? 0 : it->second;
}

}  // namespace careen::sim
