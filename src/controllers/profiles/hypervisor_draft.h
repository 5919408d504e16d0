// Fields of the spec of the Hypervisor named like the node, with the values they should have; only those that differ.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "kube/json.h"

namespace careen::profiles {

struct HypervisorWish {
  kube::Json value;
  std::string profile;  // the last that wants it
};

using HypervisorDraft = std::map<std::string, HypervisorWish, std::less<>>;

}  // namespace careen::profiles
