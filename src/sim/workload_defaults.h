// What the API server fills into workloads: sizes, strategies, the defaults of pod templates, and the labels by which
// a Job knows its pods.
#pragma once

#include "sim/resources.h"
#include "sim/value.h"

namespace careen::sim {

// In every write.
void fill_workload(const Resource& resource, json::object& object);
// Once, with the UID it has got.
void fill_new_workload(const Resource& resource, json::object& object);

// In a pod, or in a template of one: restart policy, grace period, what containers leave out.
void fill_pod_template(json::object& spec);

}  // namespace careen::sim
