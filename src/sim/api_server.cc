#include "sim/api_server.h"

#include <algorithm>
#include <charconv>

#include "kube/url.h"

namespace careen::sim {

using kube::Json;
using kube::JsonView;
using kube::Request;
using kube::Response;

// Where a path leads.
struct ApiServer::Place {
  std::string collection;  // of all namespaces
  std::string plural;
  std::string ns;
  std::string name;  // empty: the whole collection
  std::string subresource;
  std::string path;  // of the object
};

namespace {

std::string text_at(JsonView object, std::string_view key) { return std::string(object[key].text().value_or("")); }

// RFC 7386.
Json merged(JsonView target, JsonView patch) {
  if (!patch.is_object()) return Json(patch);
  Json out = target.is_object() ? Json(target) : Json::object();
  patch.for_each_member([&](std::string_view key, JsonView value) {
    if (value.is_null()) {
      out.remove({key});
    } else {
      out.set({key}, merged(out[key], value));
    }
  });
  return out;
}

std::string parameter(std::string_view path, std::string_view key) {
  const size_t query = path.find('?');
  if (query == std::string_view::npos) return {};
  std::string_view rest = path.substr(query + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.substr(0, pair.find('=')) == key) return std::string(pair.substr(std::min(pair.size(), key.size() + 1)));
  }
  return {};
}

std::vector<std::string> segments(std::string_view path) {
  path = path.substr(0, path.find('?'));
  std::vector<std::string> out;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view one = path.substr(0, path.find('/'));
    if (!one.empty()) out.emplace_back(one);
    path.remove_prefix(one.size());
  }
  return out;
}

std::string object_path(std::string_view collection, std::string_view ns, std::string_view name) {
  if (ns.empty()) return std::string(collection) + "/" + std::string(name);
  const size_t plural = collection.rfind('/');
  return std::string(collection.substr(0, plural)) + "/namespaces/" + std::string(ns) +
         std::string(collection.substr(plural)) + "/" + std::string(name);
}

}  // namespace

class HistoryWatch final : public Watch {
 public:
  HistoryWatch(const ApiServer& server, std::string collection, std::string ns, std::string name, uint64_t from,
               io::Steady ends)
      : server_(server),
        collection_(std::move(collection)),
        ns_(std::move(ns)),
        name_(std::move(name)),
        seen_(from),
        ends_(ends) {}

  void read(std::string& into, uint64_t up_to) override {
    const auto& history = server_.history_;
    auto next = std::upper_bound(history.begin(), history.end(), seen_,
                                 [](uint64_t version, const Change& change) { return version < change.version; });
    for (; next != history.end() && next->version <= up_to; ++next) {
      seen_ = next->version;
      if (next->collection != collection_ || (!ns_.empty() && next->ns != ns_)) continue;
      if (!name_.empty() && next->name != name_) continue;
      constexpr std::string_view kTypes[] = {"ADDED", "MODIFIED", "DELETED"};
      into += "{\"type\":\"";
      into += kTypes[static_cast<int>(next->type)];
      into += "\",\"object\":";
      into += *next->object;
      into += "}\n";
    }
  }
  void bookmark(std::string& into) override {
    into +=
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" + std::to_string(seen_) + "\"}}}\n";
  }
  bool ended() const override { return server_.loop_.now() >= ends_; }
  io::Steady ends_at() const override { return ends_; }
  const std::string& collection() const override { return collection_; }

 private:
  const ApiServer& server_;
  std::string collection_, ns_, name_;
  uint64_t seen_;
  io::Steady ends_;
};

ApiServer::ApiServer(io::Loop& loop, uint64_t seed) : loop_(loop), random_(seed) {}
ApiServer::~ApiServer() = default;

namespace {

template <class Place>
Place locate(std::string_view path) {
  const auto parts = segments(path);
  Place place;
  size_t at = parts.empty() ? 0 : parts[0] == "api" ? 2 : 3;
  std::string base;
  for (size_t i = 0; i < std::min(at, parts.size()); ++i) base += "/" + parts[i];
  // namespaces/x/pods lies in a namespace; namespaces/x is one.
  if (at + 2 < parts.size() && parts[at] == "namespaces" && parts[at + 2] != "status" && parts[at + 2] != "finalize") {
    place.ns = parts[at + 1];
    at += 2;
  }
  if (at < parts.size()) place.plural = parts[at];
  place.collection = base + "/" + place.plural;
  if (at + 1 < parts.size()) place.name = parts[at + 1];
  if (at + 2 < parts.size()) place.subresource = parts[at + 2];
  place.path = object_path(place.collection, place.ns, place.name);
  return place;
}

Response ok(const std::string& object, int status = 200) { return {status, object, std::nullopt}; }

Response not_found(std::string_view name) {
  return ApiServer::refusal(404, "NotFound", "\"" + std::string(name) + "\" not found");
}

Response conflict(std::string_view name) {
  return ApiServer::refusal(409, "Conflict",
                            "Operation cannot be fulfilled on \"" + std::string(name) +
                                "\": the object has been modified; please apply your changes to the latest version and "
                                "try again");
}

}  // namespace

Response ApiServer::refusal(int code, std::string_view reason, std::string_view message) {
  return {code,
          Json::object({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", Json::object()},
                        {"status", "Failure"},
                        {"message", message},
                        {"reason", reason},
                        {"code", code}})
              .dump(),
          std::nullopt};
}

Response ApiServer::handle(const Request& request, const Caller& caller) {
  const Place place = locate<Place>(request.path);
  const std::string what = request.method + " " + place.plural;
  ++counts_[what];
  const uint64_t before = version_;
  Response response = answer(request, place, caller);
  if (version_ != before) ++counts_[what + " changed"];
  return response;
}

Response ApiServer::answer(const Request& request, const Place& place, const Caller& caller) {
  if (place.name.empty()) {
    if (request.method == "GET") return list(place);
    if (request.method == "POST") return create(place, request.body, caller);
    return refusal(405, "MethodNotAllowed");
  }
  if (request.method == "DELETE") return remove(place, request.body, caller);
  const Text known = text(place.path);
  if (!known) return not_found(place.name);
  if (request.method == "GET") return ok(*known);
  const auto body = Json::parse(request.body);
  if (!body) return refusal(400, "BadRequest", body.error().message);
  const std::string expected = text_at((*body)["metadata"], "resourceVersion");
  if (request.method == "PUT") return change(place, *body, expected, caller.client);
  if (request.method != "PATCH") return refusal(405, "MethodNotAllowed");
  if (request.content_type != "application/merge-patch+json") return refusal(415, "UnsupportedMediaType");
  return change(place, merged(Json::parse(*known)->view(), body->view()), expected, caller.client);
}

Response ApiServer::list(const Place& place) {
  std::string items;
  for_each(place.collection, [&](const std::string& path, const Text& object) {
    if (!place.ns.empty() && path != object_path(place.collection, place.ns, path.substr(path.rfind('/') + 1))) return;
    if (!items.empty()) items += ",";
    items += *object;
  });
  return ok("{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" + std::to_string(version_) +
            "\"},\"items\":[" + items + "]}");
}

Response ApiServer::create(const Place& place, const std::string& body, const Caller& caller) {
  auto object = Json::parse(body);
  if (!object) return refusal(400, "BadRequest", object.error().message);
  Place made = place;
  made.name = text_at((*object)["metadata"], "name");
  if (made.name.empty()) {
    made.name = text_at((*object)["metadata"], "generateName") + std::to_string(random_.next() % 100000);
  }
  made.path = object_path(made.collection, made.ns, made.name);
  if (text(made.path)) return refusal(409, "AlreadyExists", "\"" + made.name + "\" already exists");
  object->set({"metadata", "name"}, made.name);
  if (!made.ns.empty()) object->set({"metadata", "namespace"}, made.ns);
  object->set({"metadata", "uid"}, random_.uuid());
  object->set({"metadata", "creationTimestamp"}, io::format_rfc3339(loop_.wall_now()));
  store(made, std::move(*object), caller.client);
  return ok(*text(made.path), 201);
}

// `wanted` is the whole object as it shall be; its version is not looked at.
Response ApiServer::change(const Place& place, Json wanted, const std::string& expected_version, std::string_view by) {
  const Text text_before = text(place.path);
  const Json known = *Json::parse(*text_before);
  const std::string version = text_at(known["metadata"], "resourceVersion");
  const std::string uid = text_at(known["metadata"], "uid");
  if (!expected_version.empty() && expected_version != version) return conflict(place.name);
  if (const std::string wanted_uid = text_at(wanted["metadata"], "uid"); !wanted_uid.empty() && wanted_uid != uid) {
    return conflict(place.name);
  }
  wanted.set({"metadata", "uid"}, uid);
  wanted.set({"metadata", "resourceVersion"}, version);
  if (!(wanted == known)) store(place, std::move(wanted), by);
  return ok(*text(place.path));
}

Response ApiServer::remove(const Place& place, const std::string& body, const Caller& caller) {
  const Text known = text(place.path);
  if (!known) return not_found(place.name);
  const Json object = *Json::parse(*known);
  if (const auto options = Json::parse(body)) {
    for (const char* field : {"uid", "resourceVersion"}) {
      const std::string expected = text_at((*options)["preconditions"], field);
      if (!expected.empty() && expected != text_at(object["metadata"], field)) return conflict(place.name);
    }
  }
  erase(place.path, caller.client);
  return ok(Json::object({{"kind", "Status"}, {"status", "Success"}}).dump());
}

void ApiServer::store(const Place& place, Json object, std::string_view by) {
  object.set({"metadata", "resourceVersion"}, std::to_string(++version_));
  Text& slot = objects_[place.path];
  Text before = std::exchange(slot, std::make_shared<const std::string>(object.dump()));
  const auto type = before ? Change::Type::modified : Change::Type::added;
  announce(
      {type, version_, loop_.now(), place.collection, place.ns, place.name, std::move(before), slot, std::string(by)});
}

void ApiServer::put(std::string_view path, Json object, std::string_view by) {
  const Place place = locate<Place>(path);
  const Text known = text(path);
  const std::string uid = known ? text_at((*Json::parse(*known))["metadata"], "uid") : random_.uuid();
  object.set({"metadata", "name"}, place.name).set({"metadata", "uid"}, uid);
  store(place, std::move(object), by);
}

void ApiServer::merge(std::string_view path, const Json& patch, std::string_view by) {
  const Text known = text(path);
  if (known) change(locate<Place>(path), merged(Json::parse(*known)->view(), patch.view()), {}, by);
}

void ApiServer::erase(std::string_view path, std::string_view by) {
  const auto known = objects_.find(path);
  if (known == objects_.end()) return;
  const Place place = locate<Place>(path);
  const Text before = known->second;
  Json gone = *Json::parse(*before);
  objects_.erase(known);
  gone.set({"metadata", "resourceVersion"}, std::to_string(++version_));
  announce({Change::Type::deleted, version_, loop_.now(), place.collection, place.ns, place.name, before,
            std::make_shared<const std::string>(gone.dump()), std::string(by)});
}

Text ApiServer::text(std::string_view path) const {
  const auto known = objects_.find(path);
  return known == objects_.end() ? nullptr : known->second;
}

Json ApiServer::object(std::string_view path) const {
  const Text known = text(path);
  return known ? *Json::parse(*known) : Json();
}

void ApiServer::for_each(std::string_view collection,
                         const std::function<void(const std::string&, const Text&)>& visit) const {
  for (const auto& [path, object] : objects_) {
    if (locate<Place>(path).collection == collection) visit(path, object);
  }
}

int ApiServer::count(std::string_view what) const {
  const auto it = counts_.find(what);
  return it == counts_.end() ? 0 : it->second;
}

void ApiServer::observe(std::function<void(const Change&)> observer) { observers_.push_back(std::move(observer)); }

void ApiServer::announce(Change change) {
  history_.push_back(std::move(change));
  for (const auto& observer : observers_) observer(history_.back());
}

uint64_t ApiServer::version_at(io::Steady when) const {
  const auto later = std::upper_bound(history_.begin(), history_.end(), when,
                                      [](io::Steady time, const Change& change) { return time < change.at; });
  return later == history_.end() ? version_ : later->version - 1;
}

void ApiServer::compact() {
  history_.clear();
  compacted_ = version_;
}

ApiServer::Opened ApiServer::watch(const Request& request, const Caller&) {
  const Place place = locate<Place>(request.path);
  const std::string from = parameter(request.path, "resourceVersion");
  uint64_t version = version_;
  if (!from.empty() && from != "0") std::from_chars(from.data(), from.data() + from.size(), version);
  if (version < compacted_) return {refusal(410, "Expired", "too old resource version"), nullptr};
  int64_t seconds = 1800;
  if (const std::string limit = parameter(request.path, "timeoutSeconds"); !limit.empty()) {
    std::from_chars(limit.data(), limit.data() + limit.size(), seconds);
  }
  std::string name = place.name;
  if (const std::string field = parameter(request.path, "fieldSelector"); field.starts_with("metadata.name%3D")) {
    name = field.substr(16);
  }
  Opened opened;
  opened.head.status = 200;
  opened.watch = std::make_unique<HistoryWatch>(*this, place.collection, place.ns, name, version,
                                                loop_.now() + io::seconds{seconds});
  return opened;
}

}  // namespace careen::sim
