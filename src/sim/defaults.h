// What the API server adds to new objects of built-in kinds.
#pragma once

#include "sim/resources.h"
#include "sim/value.h"

namespace careen::sim {

void fill_new(const Resource& resource, json::value& object);

}  // namespace careen::sim
