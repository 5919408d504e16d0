// A Machine of Cluster API, or its Cluster, as far as MachineDrainRules choose by it and a node is joined to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result.h"
#include "kube/atoms.h"
#include "kube/objects.h"

namespace careen::kube {
class RawObject;
}

namespace careen::replica {

struct RuleMachine {
  kube::Atom ns;
  std::string name;
  std::string uid;
  uint64_t version = 0;
  std::vector<std::pair<kube::Atom, kube::Atom>> labels;
  // Of a Machine.
  std::string node;         // empty: it has none yet
  std::string provider_id;  // empty: not said
  kube::Atom cluster;       // the name of its Cluster, which is in its namespace

  std::string key() const { return kube::object_key(ns.view(), name); }
  std::optional<std::string_view> label(std::string_view key) const;
  bool same_facts(const RuleMachine& other) const;
};

io::Result<RuleMachine> read_rule_machine(kube::RawObject& raw, kube::AtomPool& atoms);

}  // namespace careen::replica
