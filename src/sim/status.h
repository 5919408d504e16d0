// How the API server refuses: Status objects, and the errors about single fields that they are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/transport.h"

namespace careen::sim {

struct Resource;

struct Cause {
  std::string reason;
  std::string message;
  std::string field;
};

// A refusal before it is put into words.
struct Failure {
  int code = 500;
  std::string reason = {};
  std::string message = {};
  bool details = false;  // told even when empty
  std::string name = {};
  std::string group = {};
  std::string kind = {};
  std::vector<Cause> causes = {};
  int retry_after = 0;
  std::string continue_token = {};
};

std::string to_text(const Failure& failure);
kube::Response to_response(const Failure& failure);

// What is wrong with one field.
struct FieldError {
  std::string reason;   // FieldValueInvalid …
  std::string field;    // spec.taints[0].key
  std::string message;  // without the field
};
using FieldErrors = std::vector<FieldError>;

// `value` is put in quotes, `shown` is printed as given.
FieldError invalid(std::string field, std::string_view value, std::string_view why);
FieldError invalid_shown(std::string field, std::string_view shown, std::string_view why);
FieldError required(std::string field, std::string_view why = {});
FieldError forbidden(std::string field, std::string_view why);
FieldError not_supported(std::string field, std::string_view shown, const std::vector<std::string>& supported);
FieldError duplicate(std::string field, std::string_view shown, std::string_view why = {});

Failure bad_request(std::string message);
Failure not_found(const Resource& resource, std::string_view name);
Failure already_exists(const Resource& resource, std::string_view name);
Failure conflict(const Resource& resource, std::string_view name, std::string_view why);
Failure modified(const Resource& resource, std::string_view name);
Failure invalid_object(std::string_view kind, std::string_view group, std::string_view name, const FieldErrors& errors);
Failure method_not_allowed();
Failure no_such_resource();
// Of options in the query: "ListOptions".
Failure invalid_options(std::string_view kind, const FieldErrors& errors);

}  // namespace careen::sim
