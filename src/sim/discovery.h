// What the API server says about itself: groups, versions, resources, in the plain and the aggregated form.
#pragma once

#include <string>
#include <vector>

#include "kube/transport.h"
#include "sim/resources.h"

namespace careen::sim {

// Paths that lead to no resource; those that lead nowhere are answered with 404, too.
kube::Response discover(const Resources& resources, const std::vector<std::string>& segments,
                        const kube::Request& request);
kube::Response page_not_found();

}  // namespace careen::sim
