// The three ways to patch an object: JSON merge patch (RFC 7386), JSON patch (RFC 6902) and Kubernetes' strategic
// merge patch, which knows how the lists of a type merge.
#pragma once

#include <optional>
#include <string>

#include "sim/types.h"
#include "sim/value.h"

namespace careen::sim {

void merge_patch(json::value& target, const json::value& patch);

// False when the patch does not fit the object: a failed test, a path that is not there, an operation that is none.
bool json_patch(json::value& target, const json::array& operations);

// The error is what the server says.
struct StrategicError {
  bool bad_request = false;
  std::string message;
};
// A value as Go prints it: map[a:b].
std::string go_map(const json::value& value);

std::optional<StrategicError> strategic_patch(json::value& target, const json::value& patch, const Type& type);

}  // namespace careen::sim
