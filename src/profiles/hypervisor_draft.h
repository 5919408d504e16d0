// Fields of the spec of the Hypervisor named like the node, as they shall be; only those that differ.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "kube/json.h"

namespace careen::profiles {

using HypervisorDraft = std::map<std::string, kube::Json, std::less<>>;

}  // namespace careen::profiles
