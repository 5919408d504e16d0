#include "sim/status.h"

#include <algorithm>

#include "sim/resources.h"
#include "sim/value.h"

namespace careen::sim {

std::string to_text(const Failure& failure) {
  json::object meta;
  if (!failure.continue_token.empty()) meta["continue"] = failure.continue_token;
  json::object status{{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", meta}, {"status", "Failure"}};
  if (!failure.message.empty()) status["message"] = failure.message;
  if (!failure.reason.empty()) status["reason"] = failure.reason;
  json::object details;
  if (!failure.name.empty()) details["name"] = failure.name;
  if (!failure.group.empty()) details["group"] = failure.group;
  if (!failure.kind.empty()) details["kind"] = failure.kind;
  if (!failure.causes.empty()) {
    json::array causes;
    for (const Cause& cause : failure.causes) {
      json::object one{{"reason", cause.reason}, {"message", cause.message}};
      if (!cause.field.empty()) one["field"] = cause.field;
      causes.push_back(std::move(one));
    }
    details["causes"] = std::move(causes);
  }
  if (failure.retry_after) details["retryAfterSeconds"] = failure.retry_after;
  if (failure.details || !details.empty()) status["details"] = std::move(details);
  status["code"] = failure.code;
  // Messages may show what the client sent.
  return as_utf8(json::serialize(status));
}

kube::Response to_response(const Failure& failure) {
  kube::Response response{failure.code, to_text(failure), std::nullopt};
  if (failure.retry_after) response.retry_after = io::seconds{failure.retry_after};
  return response;
}

FieldError invalid(std::string field, std::string_view value, std::string_view why) {
  return invalid_shown(std::move(field), quoted(value), why);
}

FieldError invalid_shown(std::string field, std::string_view shown, std::string_view why) {
  return {"FieldValueInvalid", std::move(field), "Invalid value: " + std::string(shown) + ": " + std::string(why)};
}

FieldError required(std::string field, std::string_view why) {
  std::string message = "Required value";
  if (!why.empty()) message += ": " + std::string(why);
  return {"FieldValueRequired", std::move(field), std::move(message)};
}

FieldError forbidden(std::string field, std::string_view why) {
  return {"FieldValueForbidden", std::move(field), "Forbidden: " + std::string(why)};
}

FieldError not_supported(std::string field, std::string_view shown, const std::vector<std::string>& supported) {
  std::string list;
  for (const std::string& one : supported) list += (list.empty() ? "" : ", ") + quoted(one);
  return {"FieldValueNotSupported", std::move(field),
          "Unsupported value: " + std::string(shown) + ": supported values: " + list};
}

FieldError duplicate(std::string field, std::string_view shown, std::string_view why) {
  std::string message = "Duplicate value: " + std::string(shown);
  if (!why.empty()) message += ": " + std::string(why);
  return {"FieldValueDuplicate", std::move(field), std::move(message)};
}

Failure bad_request(std::string message) {
  return {.code = 400, .reason = "BadRequest", .message = std::move(message)};
}

namespace {

// nodes "a", leases.coordination.k8s.io "a"
std::string named(const Resource& resource, std::string_view name) {
  return resource.qualified() + " \"" + std::string(name) + "\"";
}

Failure about(const Resource& resource, std::string_view name, int code, std::string reason, std::string message) {
  return {.code = code,
          .reason = std::move(reason),
          .message = std::move(message),
          .name = std::string(name),
          .group = resource.group,
          .kind = resource.plural};
}

}  // namespace

Failure not_found(const Resource& resource, std::string_view name) {
  return about(resource, name, 404, "NotFound", named(resource, name) + " not found");
}

Failure already_exists(const Resource& resource, std::string_view name) {
  return about(resource, name, 409, "AlreadyExists", named(resource, name) + " already exists");
}

Failure conflict(const Resource& resource, std::string_view name, std::string_view why) {
  return about(resource, name, 409, "Conflict",
               "Operation cannot be fulfilled on " + named(resource, name) + ": " + std::string(why));
}

Failure modified(const Resource& resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version and try again");
}

Failure invalid_object(std::string_view kind, std::string_view group, std::string_view name,
                       const FieldErrors& errors) {
  Failure failure{.code = 422, .reason = "Invalid"};
  failure.name = name;
  failure.group = group;
  failure.kind = kind;
  // The message tells each error once, the causes tell all of them.
  std::vector<std::string> told;
  for (const FieldError& error : errors) {
    failure.causes.push_back({error.reason, error.message, error.field});
    std::string one = error.field + ": " + error.message;
    if (std::find(told.begin(), told.end(), one) == told.end()) told.push_back(std::move(one));
  }
  std::string list;
  for (const std::string& one : told) list += (list.empty() ? "" : ", ") + one;
  if (told.size() != 1) list = "[" + list + "]";
  failure.message = std::string(kind) + (group.empty() ? "" : "." + std::string(group)) + " \"" + std::string(name) +
                    "\" is invalid: " + list;
  return failure;
}

Failure method_not_allowed() {
  return {.code = 405,
          .reason = "MethodNotAllowed",
          .message = "the server does not allow this method on the requested resource",
          .details = true};
}

Failure no_such_resource() {
  return {.code = 404,
          .reason = "NotFound",
          .message = "the server could not find the requested resource",
          .details = true};
}

Failure invalid_options(std::string_view kind, const FieldErrors& errors) {
  return invalid_object(kind, "meta.k8s.io", "", errors);
}

}  // namespace careen::sim
