// What the API server adds to new objects of built-in kinds.
#pragma once

#include "sim/resources.h"
#include "sim/value.h"

namespace careen::sim {

// What a field that is left out means, in every write.
void fill_left_out(const Resource& resource, json::value& object);
void fill_new(const Resource& resource, json::value& object);

}  // namespace careen::sim
