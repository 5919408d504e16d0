// What the plugins of a configuration need to know besides the nodes. Only what somebody needs is watched.
#pragma once

#include <set>
#include <string>

namespace careen::profiles {

struct Needs {
  std::set<std::string> lease_namespaces;
  bool hypervisors = false;
  bool pods = false;
  bool budgets = false;  // PodDisruptionBudgets, for drains
  // Parts of the node beyond what is always kept, as JSON pointers: /status/nodeInfo.
  std::set<std::string> node_sections;

  bool operator==(const Needs&) const = default;
};

struct Config;
// Of all its instances, whether or not a profile uses them.
Needs needs_of(const Config& config);

}  // namespace careen::profiles
