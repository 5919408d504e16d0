#include <algorithm>
#include <charconv>
#include <cmath>

#include "io/printable.h"
#include "sim/apply.h"
#include "sim/ask.h"
#include "sim/defaults.h"
#include "sim/events.h"
#include "sim/patch.h"
#include "sim/validation.h"
#include "sim/write_options.h"

namespace careen::sim {

using kube::Response;

namespace {

constexpr std::string_view kNoKind = "in scheme \"pkg/runtime/scheme.go:111\"";

// Part of generated names; no letters that make words, no digits that look like letters.
constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";

// A body as errors show it: its beginning.
std::string shown_body(const std::string& body) {
  if (body.empty()) return "<empty>";
  constexpr size_t most = 30;
  const std::string end = body.size() > most ? " ..." : "";
  if (body[0] == '{') return body.substr(0, most) + end;
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : body.substr(0, most)) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out + end;
}

std::string_view media_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

Failure unknown_format(std::string_view accepted) {
  return {.code = 415,
          .reason = "UnsupportedMediaType",
          .message = "the body of the request was in an unknown format - accepted media types include: " +
                     std::string(accepted)};
}

// Whole numbers are written without a point.
void settle_numbers(json::value& value) {
  if (value.is_double()) {
    const double number = value.get_double();
    if (std::abs(number) < 9e15 && number == std::trunc(number)) {
      value = static_cast<int64_t>(number);
    }
  } else if (value.is_object()) {
    for (auto& one : value.get_object()) settle_numbers(one.value());
  } else if (value.is_array()) {
    for (json::value& one : value.get_array()) settle_numbers(one);
  }
}

// The same complaint in the words of the converter that strategic patches go through.
std::string converter_error(const std::string& why) {
  const std::string from_text = "cannot unmarshal ", type_text = " of type ";
  const size_t from_at = why.find(from_text), type_at = why.rfind(type_text);
  if (from_at == std::string::npos || type_at == std::string::npos) return why;
  std::string from = why.substr(from_at + from_text.size());
  from = from.substr(0, from.find(' '));
  const std::string to = why.substr(type_at + type_text.size());
  if (from == "number") from = "int64";
  if (from == "object") from = "map";
  if (from == "array") from = "slice";
  if (to.starts_with("map[") || to == "v1.ResourceList") return "cannot restore map from " + from;
  if (to.starts_with("[]")) return "cannot restore slice from " + from;
  if (to.starts_with("v1.")) return "cannot restore struct from: " + from;
  if (from == "int64" && to == "string") return "cannot convert int64 to string";
  return "unrecognized type: " + to;
}

// Where etcd would have it, for messages.
std::string storage_key(const Resource& resource, const std::string& key) {
  if (resource.custom) return "/registry/" + resource.group + "/" + resource.plural + "/" + key;
  if (resource.kind == "Node") return "/registry/minions/" + key;
  if (resource.kind == "Service") return "/registry/services/specs/" + key;
  if (resource.kind == "Endpoints") return "/registry/services/endpoints/" + key;
  return "/registry/" + resource.plural + "/" + key;
}

// The status is checked by itself when it is written by itself, and the messages name fields from there.
void leave_out_status(FieldErrors& errors) {
  for (FieldError& error : errors) {
    const size_t at = error.message.find(": status.");
    if (at != std::string::npos) error.message.erase(at + 2, std::string_view("status.").size());
  }
}

bool is_version(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }
Failure no_version(std::string_view text) {
  return {.message = "strconv.ParseUint: parsing " + quoted(text) + ": invalid syntax"};
}

Failure wrong_uid(const Resource& resource, const std::string& key, const std::string& name, std::string_view wanted,
                  std::string_view has) {
  return conflict(resource, name,
                  "StorageError: invalid object, Code: 4, Key: " + storage_key(resource, key) +
                      ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: " +
                      std::string(wanted) + ", UID in object meta: " + std::string(has));
}

// Metadata in the order the server prints it.
void order_metadata(json::object& object, const json::object& front) {
  json::object meta(front, front.storage());
  for (auto& one : object_at(object, "metadata")) {
    if (!meta.contains(one.key())) meta.emplace(one.key(), std::move(one.value()));
  }
  object["metadata"] = std::move(meta);
}

}  // namespace

std::optional<Failure> wrong_body_type(const std::string& content_type) {
  const std::string_view type = media_type(content_type);
  if (type.empty() || type == "application/json") return std::nullopt;
  return unknown_format("application/json, application/yaml, application/vnd.kubernetes.protobuf");
}

std::optional<Failure> wrong_write_options(const Query& query, std::string_view kind, bool applies) {
  FieldErrors errors;
  if (const std::string_view dry = query["dryRun"]; !dry.empty() && dry != "All") {
    errors.push_back(not_supported("dryRun", "[" + quoted(dry) + "]", {"All"}));
  }
  if (kind == "PatchOptions") {
    if (applies && query["fieldManager"].empty()) {
      errors.push_back(required("fieldManager", "is required for apply patch"));
    }
    if (!applies && query.has("force")) {
      errors.push_back(forbidden("force", "may not be specified for non-apply patch"));
    }
  }
  if (query["fieldManager"].size() > 128) {
    errors.push_back({"FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes"});
  }
  if (const std::string shown = io::printable(query["fieldManager"]); shown != query["fieldManager"]) {
    errors.push_back({"FieldValueInvalid", "fieldManager",
                      "Invalid value: " + quoted(shown) + ": should only contain printable characters"});
  }
  const std::string_view validation = query["fieldValidation"];
  if (!validation.empty() && validation != "Ignore" && validation != "Warn" && validation != "Strict") {
    errors.push_back(not_supported("fieldValidation", quoted(validation), {"", "Ignore", "Strict", "Warn"}));
  }
  if (errors.empty()) return std::nullopt;
  return invalid_options(kind, errors);
}

// A body as the object it should become, without kind and apiVersion.
ApiServer::Either<json::value> ApiServer::decode(const Resource& resource, const std::string& body,
                                                 json::storage_ptr memory) const {
  const std::string unrecognized = "the object provided is unrecognized (must be of type " + resource.kind + "): ";
  auto parsed = sim::parse(body, std::move(memory));
  if (!parsed || !parsed->is_object()) {
    const std::string why =
        parsed ? "json: cannot unmarshal " + std::string(go_kind(*parsed)) +
                     " into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind "
                     "string \"json:\\\"kind,omitempty\\\"\" }"
               : go_syntax_error(body);
    return tl::unexpected(bad_request(unrecognized + "couldn't get version/kind; json parse error: " + why + " (" +
                                      shown_body(body) + ")"));
  }
  const std::string kind(text_at(*parsed, "kind")), api_version(text_at(*parsed, "apiVersion"));
  if (resource.custom) {
    for (const auto& [name, value] : {std::pair("Kind", kind), std::pair("apiVersion", api_version)}) {
      if (!value.empty()) continue;
      return tl::unexpected(
          bad_request(unrecognized + "Object '" + name + "' is missing in '" + body + "' (" + shown_body(body) + ")"));
    }
    if (api_version != resource.api_version()) {
      return tl::unexpected(bad_request("the API version in the data (" + api_version +
                                        ") does not match the expected API version (" + resource.api_version() + ")"));
    }
    if (kind != resource.kind) {
      return tl::unexpected(invalid_object(kind, resource.group, text_at(*parsed, {"metadata", "name"}),
                                           {invalid("kind", kind, "must be " + resource.kind)}));
    }
  } else if ((!kind.empty() && kind != resource.kind) ||
             (!api_version.empty() && api_version != resource.api_version())) {
    const std::string version = api_version.substr(api_version.find('/') + 1);
    const std::string start =
        kind + " in version " + quoted(version) + " cannot be handled as a " + resource.kind + ": ";
    if (!resources_.of_kind(api_version, kind)) {
      return tl::unexpected(bad_request(start + "no kind " + quoted(kind) + " is registered for version " +
                                        quoted(api_version) + " " + std::string(kNoKind)));
    }
    const std::string package = resource.group.empty() ? "core" : resource.group.substr(0, resource.group.find('.'));
    return tl::unexpected(bad_request(start + "converting (" + version + "." + kind + ") to (" + package + "." +
                                      resource.kind + "): unknown conversion"));
  }
  json::value object = resource.is_events_v1() ? event_from_v1(std::move(*parsed)) : std::move(*parsed);
  drop_type(object);
  if (auto failure = conform_to(resource, object)) return tl::unexpected(std::move(*failure));
  return object;
}

// Reads the object through its type; what does not fit is a bad request.
std::optional<Failure> ApiServer::conform_to(const Resource& resource, json::value& object) const {
  const auto wrong = [&](const std::string& why) {
    return bad_request(resource.kind + " in version " + quoted(resource.version) + " cannot be handled as a " +
                       resource.kind + ": " + why);
  };
  if (resource.type) {
    if (const auto error = conform(object, *resource.type)) return wrong(*error);
    fill_left_out(resource, object);
    return std::nullopt;
  }
  json::value& meta = object.get_object()["metadata"];
  if (meta.is_null()) meta.emplace_object();
  if (!meta.is_object()) {
    return wrong("json: cannot unmarshal " + std::string(go_kind(meta)) + " into Go value of type v1.ObjectMeta");
  }
  if (const auto error = conform(meta, *builtin_type("ObjectMeta"))) return wrong(*error);
  settle_numbers(object);
  if (!resource.schema) return std::nullopt;
  resource.schema->prune(object);
  resource.schema->fill_defaults(object);
  return std::nullopt;
}

std::optional<Failure> ApiServer::check_namespace(const Ask& ask, std::string_view name) const {
  const Resource& namespaces = *resources_.find("", "v1", "namespaces");
  if (!namespaces.collection->objects.contains(ask.ns)) return not_found(namespaces, ask.ns);
  if (!terminating_.contains(ask.ns)) return std::nullopt;
  Failure failure{.code = 403, .reason = "Forbidden"};
  failure.message = ask.resource->qualified() + " \"" + std::string(name) +
                    "\" is forbidden: unable to create new content in namespace " + ask.ns +
                    " because it is being terminated";
  failure.name = name;
  failure.group = ask.resource->group;
  failure.kind = ask.resource->plural;
  failure.causes.push_back(
      {"NamespaceTerminating", "namespace " + ask.ns + " is being terminated", "metadata.namespace"});
  return failure;
}

Response ApiServer::create(const Ask& ask) {
  if (const auto wrong = wrong_body_type(ask.request->content_type)) return to_response(*wrong);
  if (const auto wrong = wrong_write_options(ask.query, "CreateOptions", false)) return to_response(*wrong);
  Draft draft;
  auto object = decode(*ask.resource, ask.request->body, draft.storage());
  if (!object) return to_response(object.error());
  draft.value() = std::move(*object);
  return create_decoded(ask, std::move(draft));
}

Response ApiServer::create_decoded(const Ask& ask, Draft draft) {
  const Resource& resource = *ask.resource;
  json::value& object = draft.value();
  json::object& meta = object_at(object.get_object(), "metadata");
  const std::string given_ns(text_at(object, {"metadata", "namespace"}));
  if (resource.namespaced && !given_ns.empty() && given_ns != ask.ns) {
    return to_response(
        bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  }
  std::string name(text_at(object, {"metadata", "name"}));
  const std::string base(text_at(object, {"metadata", "generateName"}));
  if (resource.namespaced) {
    if (const auto wrong = check_namespace(ask, name)) return to_response(*wrong);
  }
  if (name.empty() && !base.empty()) {
    name = base.substr(0, 58);
    for (int i = 0; i < 5; ++i) name += kAlphabet[random_.next() % kAlphabet.size()];
  }
  for (const char* key : {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}) meta.erase(key);
  const std::string version(text_at(object, {"metadata", "resourceVersion"}));
  json::object front(object.storage());
  if (!name.empty()) front["name"] = name;
  if (!base.empty()) front["generateName"] = base;
  if (resource.namespaced) front["namespace"] = ask.ns;
  front["uid"] = random_.uuid();
  front["resourceVersion"] = "";
  if (resource.generation) front["generation"] = 1;
  front["creationTimestamp"] = now_text();
  if (!resource.namespaced) meta.erase("namespace");
  order_metadata(object.get_object(), front);
  if (resource.kind == "Pod" && !resource.custom) take_topology(object, text_at(object, {"spec", "nodeName"}));
  prepare_new(resource, object);
  FieldErrors errors = validate_new(resource, object);
  if (resource.schema) {
    const FieldErrors more = resource.schema->validate(object);
    errors.insert(errors.end(), more.begin(), more.end());
  }
  if (!errors.empty()) {
    const bool event = resource.is_events_v1();
    return to_response(invalid_object(resource.kind, event ? "" : resource.group, name, errors));
  }
  if (!version.empty() && !resource.create_on_update) {
    return to_response({.message = "resourceVersion should not be set on objects to be created"});
  }
  if (!version.empty() && ask.request->method == "POST") {
    return to_response({.message = "resourceVersion should not be set on objects to be created"});
  }
  const std::string key = ask.key_of(name);
  if (const auto known = resource.collection->objects.find(key); known != resource.collection->objects.end()) {
    Failure failure = already_exists(resource, name);
    if (find(*parsed(known->second), {"metadata", "deletionTimestamp"})) {
      failure.message = "object is being deleted: " + failure.message;
    }
    return to_response(failure);
  }
  if (ask.dry_run()) {
    json::object& shown_meta = object.at("metadata").get_object();
    if (auto* const at = shown_meta.find("resourceVersion"); at != shown_meta.end()) shown_meta.stable_erase(at);
    if (resource.is_events_v1()) object = event_to_v1(std::move(object));
    return answer_with(201, resource.head() + json::serialize(object).substr(1));
  }
  const Text stored = store(resource, key, std::move(draft), ask.caller.client);
  return answer_with(201, shown(resource, key, stored, false));
}

// What a new object gets beside what the client says.
void ApiServer::prepare_new(const Resource& resource, json::value& object) const {
  if (resource.custom) {
    if (resource.status) object.get_object().erase("status");
    return;
  }
  fill_new(resource, object);
  conform(object, *resource.type);
}

Response ApiServer::update(const Ask& ask) {
  const Resource& resource = *ask.resource;
  if (const auto wrong = wrong_body_type(ask.request->content_type)) return to_response(*wrong);
  if (const auto wrong = wrong_write_options(ask.query, "UpdateOptions", false)) return to_response(*wrong);
  Draft draft;
  auto object = decode(resource, ask.request->body, draft.storage());
  if (!object) {
    // The kind of a custom resource is looked at last.
    const bool exists = resource.collection->objects.contains(ask.key());
    return to_response(resource.custom && object.error().code == 422 && !exists ? not_found(resource, ask.name)
                                                                                : object.error());
  }
  object_at(object->get_object(), "metadata");
  const std::string_view name = text_at(*object, {"metadata", "name"});
  const std::string_view ns = text_at(*object, {"metadata", "namespace"});
  if (name.empty()) {
    return to_response(bad_request("the name of the object (" + ask.name +
                                   " based on URL) was undeterminable: name must be provided"));
  }
  if (name != ask.name) {
    return to_response(bad_request("the name of the object (" + std::string(name) +
                                   ") does not match the name on the URL (" + ask.name + ")"));
  }
  if (resource.namespaced && !ns.empty() && ns != ask.ns) {
    return to_response(
        bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  }
  const auto known = resource.collection->objects.find(ask.key());
  if (known == resource.collection->objects.end()) {
    if (!resource.create_on_update || !ask.subresource.empty()) return to_response(not_found(resource, ask.name));
    if (const std::string_view uid = text_at(*object, {"metadata", "uid"}); !uid.empty()) {
      return to_response(wrong_uid(resource, ask.key(), ask.name, uid, ""));
    }
    const std::string_view version = text_at(*object, {"metadata", "resourceVersion"});
    if (!is_version(version)) return to_response(no_version(version));
    draft.value() = std::move(*object);
    return create_decoded(ask, std::move(draft));
  }
  draft.value() = std::move(*object);
  const Parsed before = parsed(known->second);
  return change(ask, std::move(draft), known->second, *before, false);
}

Response ApiServer::patch(const Ask& ask) {
  const Resource& resource = *ask.resource;
  const std::string_view type = media_type(ask.request->content_type);
  const bool strategic = type == "application/strategic-merge-patch+json";
  const bool applies = type == "application/apply-patch+yaml";
  const bool known_type =
      type == "application/merge-patch+json" || type == "application/json-patch+json" || strategic || applies;
  if (!known_type && !resource.custom) {
    return to_response(
        {.code = 415, .reason = "UnsupportedMediaType", .message = "415: Unsupported Media Type", .details = true});
  }
  if (resource.custom && (strategic || !known_type)) {
    return to_response(
        unknown_format("application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
  }
  if (const auto wrong = wrong_write_options(ask.query, "PatchOptions", applies)) return to_response(*wrong);
  if (applies) return apply(ask);
  const auto known = resource.collection->objects.find(ask.key());
  if (known == resource.collection->objects.end()) return to_response(not_found(resource, ask.name));
  const Parsed before = parsed(known->second);
  Draft draft;
  auto wanted = patched(ask, *before, draft.storage());
  if (!wanted) return to_response(wanted.error());
  draft.value() = std::move(*wanted);
  return change(ask, std::move(draft), known->second, *before, true);
}

// The object as the patch makes it.
ApiServer::Either<json::value> ApiServer::patched(const Ask& ask, const json::value& known, json::storage_ptr memory) {
  const Resource& resource = *ask.resource;
  const std::string& body = ask.request->body;
  const std::string_view type = media_type(ask.request->content_type);
  const bool operations = type == "application/json-patch+json";
  Scratch of_patch;
  const auto patch = sim::parse(body, of_patch.storage());
  if (!patch) return tl::unexpected(bad_request("error decoding patch: " + go_syntax_error(body)));
  if (operations ? !patch->is_array() : !patch->is_object()) {
    return tl::unexpected(bad_request("error decoding patch: json: cannot unmarshal " + std::string(go_kind(*patch)) +
                                      " into Go value of type " +
                                      (operations ? "[]handlers.jsonPatchOp" : "map[string]interface {}")));
  }
  const auto as_seen = [&](json::storage_ptr storage) {
    json::value seen(known, std::move(storage));
    if (resource.is_events_v1()) seen = event_to_v1(std::move(seen));
    seen.get_object()["kind"] = resource.kind;
    seen.get_object()["apiVersion"] = resource.api_version();
    return seen;
  };
  json::value object = as_seen(memory);
  if (operations) {
    if (!json_patch(object, patch->get_array())) {
      return tl::unexpected(Failure{.code = 422,
                                    .reason = "Invalid",
                                    .message = "the server rejected our request due to an error in our request",
                                    .details = true});
    }
  } else if (type == "application/strategic-merge-patch+json") {
    if (const auto error = strategic_patch(object, *patch, *resource.type)) {
      if (error->bad_request) return tl::unexpected(bad_request(error->message));
      return tl::unexpected(Failure{.message = error->message});
    }
  } else {
    merge_patch(object, *patch);
  }
  if (!object.is_object()) return tl::unexpected(bad_request("the patched object is none"));
  // A patched object that is none of this kind is refused as such a body would be, in other words.
  const auto refused = [&](const Failure& failure, json::value shown_object) {
    if (failure.code != 400) return failure;
    const std::string api_version(text_at(shown_object, "apiVersion")), kind(text_at(shown_object, "kind"));
    drop_type(shown_object);
    const std::string whole = "{\"apiVersion\":" + quoted(api_version) + ",\"kind\":" + quoted(kind) + "," +
                              json::serialize(shown_object).substr(1);
    constexpr std::string_view before = "cannot be handled as a ";
    const size_t why = failure.message.find(": ", failure.message.find(before));
    return invalid_object("", "", "", {invalid("patch", whole, failure.message.substr(why + 2))});
  };
  for (const auto& [key, wanted] :
       {std::pair("kind", resource.kind), std::pair("apiVersion", resource.api_version())}) {
    if (text_at(object, key) == wanted) continue;
    const std::string whole = json::serialize(object);
    if (const auto decoded = decode(resource, whole); !decoded) return tl::unexpected(refused(decoded.error(), object));
  }
  if (resource.is_events_v1()) object = event_from_v1(std::move(object));
  drop_type(object);
  if (const auto failure = conform_to(resource, object)) {
    json::value again = as_seen({});
    if (!operations) merge_patch(again, *patch);
    if (type == "application/strategic-merge-patch+json") {
      const std::string why = failure->message.substr(failure->message.find("json: ") + 6);
      return tl::unexpected(invalid_object("", "", "", {invalid("patch", go_map(*patch), converter_error(why))}));
    }
    return tl::unexpected(refused(*failure, std::move(again)));
  }
  object_at(object.get_object(), "metadata");
  const std::string_view name = text_at(object, {"metadata", "name"});
  if (name.empty()) {
    return tl::unexpected(bad_request("the name of the object (" + ask.name +
                                      " based on URL) was undeterminable: name must be provided"));
  }
  if (name != ask.name) {
    return tl::unexpected(bad_request("the name of the object (" + std::string(name) +
                                      ") does not match the name on the URL (" + ask.name + ")"));
  }
  return object;
}

namespace {

bool same_member(const json::value& a, const json::value& b, std::string_view key) {
  const json::value* left = member(a, key);
  const json::value* right = member(b, key);
  return left && right ? same(*left, *right) : left == right;
}

// What generation counts: the spec, of custom resources all but metadata and status.
bool same_spec(const Resource& resource, const json::value& a, const json::value& b) {
  if (!resource.custom) return same_member(a, b, "spec");
  const auto covered = [&](const json::value& from, const json::value& in) {
    for (const auto& one : from.get_object()) {
      if (one.key() == "metadata" || (resource.status && one.key() == "status")) continue;
      if (!same_member(from, in, one.key())) return false;
    }
    return true;
  };
  return covered(a, b) && covered(b, a);
}

void take_member(json::value& object, const json::value& from, std::string_view key) {
  if (const json::value* value = member(from, key)) {
    object.get_object()[key] = *value;
  } else if (auto* const at = object.get_object().find(key); at != object.get_object().end()) {
    object.get_object().stable_erase(at);
  }
}

}  // namespace

// Writes to the object leave its status, writes to the status leave the rest.
void ApiServer::prepare_change(const Ask& ask, json::value& object, const json::value& known) const {
  const Resource& resource = *ask.resource;
  if (resource.status) {
    if (ask.subresource.empty()) {
      take_member(object, known, "status");
    } else if (resource.custom) {
      json::value whole = known;
      take_member(whole, object, "status");
      // Its version and UID stay to be compared.
      for (const char* key : {"resourceVersion", "uid", "managedFields"}) {
        take_member(whole.at("metadata"), object.at("metadata"), key);
      }
      object = std::move(whole);
    } else {
      take_member(object, known, "spec");
      if (resource.kind == "Pod") take_member(object.at("metadata"), known.at("metadata"), "ownerReferences");
      if (resource.kind == "Deployment") take_member(object.at("metadata"), known.at("metadata"), "labels");
    }
  }
  keep_system_fields(object, known);
  if (resource.kind == "Namespace" && !resource.custom) {
    // The name is a label, too.
    object_at(object.at("metadata").get_object(), "labels")["kubernetes.io/metadata.name"] = ask.name;
    take_member(object, known, "spec");
  }
}

Response ApiServer::change(const Ask& ask, Draft draft, const Text& known_text, const json::value& known,
                           bool patching) {
  const Resource& resource = *ask.resource;
  json::value& wanted = draft.value();
  const std::string key = ask.key();
  const std::string version(text_at(known, {"metadata", "resourceVersion"}));
  const std::string uid(text_at(known, {"metadata", "uid"}));
  const std::string expected(text_at(wanted, {"metadata", "resourceVersion"}));
  const std::string expected_uid(text_at(wanted, {"metadata", "uid"}));
  if (!patching && !expected_uid.empty() && expected_uid != uid) {
    return to_response(wrong_uid(resource, key, ask.name, expected_uid, uid));
  }
  if (expected.empty() || expected == "0") {
    if (!resource.unconditional_update) {
      return to_response(
          invalid_object(resource.plural, resource.group, ask.name,
                         {invalid_shown("metadata.resourceVersion", "0", "must be specified for an update")}));
    }
  } else if (!is_version(expected)) {
    return to_response(no_version(expected));
  } else if (expected != version) {
    return to_response(modified(resource, ask.name));
  }
  if (resource.namespaced) object_at(wanted.get_object(), "metadata")["namespace"] = ask.ns;
  if (!resource.namespaced) object_at(wanted.get_object(), "metadata").erase("namespace");
  prepare_change(ask, wanted, known);
  wanted.at("metadata").get_object()["resourceVersion"] = version;
  if (same(wanted, known)) return answer_with(200, shown(resource, key, known_text, false));

  FieldErrors errors = validate_change(resource, wanted, known);
  if (resource.schema) {
    FieldErrors more = resource.schema->validate(wanted);
    if (ask.subresource == "status") leave_out_status(more);
    errors.insert(errors.end(), more.begin(), more.end());
  }
  if (!errors.empty()) {
    const bool event = resource.is_events_v1();
    return to_response(invalid_object(resource.kind, event ? "" : resource.group, ask.name, errors));
  }
  if (resource.generation && !same_spec(resource, wanted, known)) {
    const auto generation = integer_at(known, {"metadata", "generation"}).value_or(0);
    wanted.at("metadata").get_object()["generation"] = generation + 1;
  }
  const auto as_answer = [&](const json::value& object) {
    json::value out = resource.is_events_v1() ? event_to_v1(object) : object;
    return answer_with(200, resource.head() + json::serialize(out).substr(1));
  };
  if (ask.dry_run()) return as_answer(wanted);
  const json::value& meta = wanted.at("metadata");
  const json::value* finalizers = member(meta, "finalizers");
  const bool unheld = !finalizers || finalizers->get_array().empty();
  const bool namespaces = resource.kind == "Namespace" && !resource.custom;
  if (member(meta, "deletionTimestamp") && unheld && !namespaces &&
      integer_at(meta, {"deletionGracePeriodSeconds"}).value_or(0) == 0) {
    // The last finalizer went: the object goes as this write would have left it.
    Response response = as_answer(wanted);
    drop(resource, key, ask.caller.client);
    return response;
  }
  const Text stored = store(resource, key, std::move(draft), ask.caller.client);
  Response response = answer_with(200, shown(resource, key, stored, false));
  if (namespaces && terminating_.contains(ask.name)) finish_namespace(ask.name, ask.caller.client);
  return response;
}

Response ApiServer::apply(const Ask& ask) {
  const Resource& resource = *ask.resource;
  const std::string& body = ask.request->body;
  auto applied = parse(body);
  if (!applied || !applied->is_object()) {
    return to_response(bad_request("error decoding YAML: " + go_syntax_error(body)));
  }
  const std::string kind(text_at(*applied, "kind")), api_version(text_at(*applied, "apiVersion"));
  if (kind != resource.kind || api_version != resource.api_version()) {
    const size_t slash = api_version.find('/');
    const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
    const std::string version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
    return to_response(bad_request("invalid object type: " + group + "/" + version + ", Kind=" + kind));
  }
  const std::string_view name = text_at(*applied, {"metadata", "name"});
  if (!name.empty() && name != ask.name) {
    return to_response(bad_request("the name of the object (" + std::string(name) +
                                   ") does not match the name on the URL (" + ask.name + ")"));
  }
  if (const json::value* given = find(*applied, {"metadata", "managedFields"}); given && !given->is_null()) {
    return to_response(bad_request("metadata.managedFields must be nil"));
  }
  if (resource.is_events_v1()) *applied = event_from_v1(std::move(*applied));
  drop_type(*applied);
  const auto known = resource.collection->objects.find(ask.key());
  const bool exists = known != resource.collection->objects.end();
  if (!exists && !ask.subresource.empty()) return to_response(not_found(resource, ask.name));
  json::value before = exists ? *parse(*known->second) : json::value(json::object());
  drop_type(before);
  const Applier applier{std::string(ask.query["fieldManager"]), resource.api_version(), ask.subresource, now_text(),
                        is_on(ask.query, "force")};
  auto merged = server_side_apply(before, *applied, resource, applier);
  if (!merged) return to_response(merged.error());
  object_at(merged->get_object(), "metadata")["name"] = ask.name;
  if (const auto wrong = conform_to(resource, *merged)) return to_response(*wrong);
  if (exists) return change(ask, Draft(*merged), known->second, before, true);
  merged->at("metadata").get_object().erase("resourceVersion");
  return create_decoded(ask, Draft(*merged));
}

}  // namespace careen::sim
