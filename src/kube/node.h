// Node, with the fields careen uses and no others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/time.h"
#include "kube/atoms.h"

namespace careen::kube {

struct NodeCondition {
  Atom type;
  Atom status;
  Atom reason = {};
  io::Wall since = {};  // lastTransitionTime; 1970 where there is none
  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};

struct Taint {
  Atom key;
  Atom value;
  Atom effect;
  Atom time_added;  // as it came
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Node {
  std::string name;
  std::string uid;
  uint64_t version = 0;                                   // resourceVersion
  std::vector<std::pair<Atom, Atom>> labels;              // sorted by key
  std::vector<std::pair<Atom, std::string>> annotations;  // sorted by key
  std::vector<std::string> finalizers;
  std::vector<Taint> taints;
  std::vector<NodeCondition> conditions;
  // Further parts that were asked for (NodeSections), as JSON text by JSON pointer, sorted by it. They lack what every
  // heartbeat changes: lastHeartbeatTime of conditions, resourceVersion, and managedFields.
  std::vector<std::pair<Atom, std::string>> sections;
  Atom kubelet_version;
  // Of a node that is unschedulable: the field manager that made it so last, and when; empty and 1970 where it is not
  // known. A person is not known by it, only the program.
  Atom cordoned_by;
  io::Wall cordoned{};
  // Of conditions that hold and do not say why: the type, and the field manager that wrote it last.
  std::vector<std::pair<Atom, Atom>> condition_managers;
  io::Wall created{};
  bool unschedulable = false;
  bool deleting = false;

  const std::string& key() const { return name; }
  // nullptr when absent; the value may be empty.
  const Atom* label(std::string_view key) const;
  const std::string* annotation(std::string_view key) const;
  const std::string* section(std::string_view pointer) const;
  const NodeCondition* condition(std::string_view type) const;
  // Empty where it is not known.
  std::string_view condition_manager(std::string_view type) const;
  // Equal but for the resource version, and for times that alone say nothing new: a heartbeat changes nothing careen
  // looks at, also one of a controller that writes a new transition time with each.
  bool same_facts(const Node& other) const;
};

}  // namespace careen::kube
