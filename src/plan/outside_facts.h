// The facts that careen's checks look at and others change: labels, annotations and conditions of a node, its
// Hypervisor. For a transition that waits for such facts this finds out what somebody would have to change so that it
// happens, without saying anything about what careen and the clock decide (windows, limits, leases).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "controllers/profiles/config.h"
#include "kube/json.h"

namespace careen::plan {

// What somebody changes on a node and its Hypervisor.
struct Edit {
  std::map<std::string, std::optional<std::string>> labels, annotations;  // nullopt: remove
  std::map<std::string, std::string> conditions, hypervisor_conditions;   // type and status
  std::map<std::string, kube::Json> hypervisor_status;

  bool empty() const;
  // False when the two contradict one another.
  bool add(const Edit& other);
};

// A node as it is at this moment.
struct NodeState {
  const boost::json::value& node;
  const boost::json::value* hypervisor = nullptr;
  // The greatest version that any node shows in this label.
  std::function<std::string(const std::string& label)> newest;
};

// The configuration with checks that know which facts they ask for. It decides nothing.
profiles::ConfigReport examine_facts(std::string_view text, std::string_view filename,
                                     const config::Environment& environment);

// Which facts may be changed: all of them by somebody who maintains the node; a person who approves does not update it.
enum class Editor { maintainer, approver };

// The smallest change after which the expression has that value, as far as it rests on such facts. Nothing when no
// change leads there; an empty one when none is needed. Of a configuration from examine_facts().
std::optional<Edit> edit_for(const profiles::Config& facts, const profiles::CheckExpression& expression, bool wanted,
                             const NodeState& state, Editor editor);

// The check asks for such a fact.
bool is_outside(const profiles::CheckInstance& check);

}  // namespace careen::plan
