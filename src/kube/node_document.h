// A node as the API server would send it, as far as it is cached: for those who look for fields by name, such as
// message templates.
#pragma once

#include "kube/json.h"
#include "kube/node.h"

namespace careen::kube {

// With the node's sections at their places. Labels, annotations and unschedulable are always there.
Json node_document(const Node& node);

}  // namespace careen::kube
