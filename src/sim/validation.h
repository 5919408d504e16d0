// What the API server checks before it keeps an object: metadata of every kind, and the kinds careen deals with.
#pragma once

#include "sim/resources.h"
#include "sim/status.h"
#include "sim/value.h"

namespace careen::sim {

FieldErrors validate_new(const Resource& resource, const json::value& object);
// Fields that clients may leave out are taken from the known object first, see keep_system_fields().
FieldErrors validate_change(const Resource& resource, const json::value& object, const json::value& known);

// What a client cannot change by leaving it out or giving another value.
void keep_system_fields(json::value& object, const json::value& known);

}  // namespace careen::sim
