// Events have two APIs and are kept once, as core/v1: here they are turned into events.k8s.io/v1 and back.
#pragma once

#include "sim/value.h"

namespace careen::sim {

json::value event_from_v1(json::value event);
json::value event_to_v1(json::value event);

}  // namespace careen::sim
