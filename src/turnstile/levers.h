// The levers by which other programs are asked to hold back: annotations that they look for. Pure: what an object's
// annotations become when levers are pulled or let go. The record of what was pulled lies beside them. It only says
// what to take away again, of the keys in this table alone, and only while they have the value that careen gave them:
// whatever else stands there was set by somebody who meant it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "kube/json.h"

namespace careen::turnstile {

enum class Governor { karpenter, karpenter_node_pool, cluster_autoscaler, kured, cluster_api };
inline constexpr Governor kAllGovernors[] = {Governor::karpenter, Governor::karpenter_node_pool,
                                             Governor::cluster_autoscaler, Governor::kured, Governor::cluster_api};
std::optional<Governor> governor_of(std::string_view name);
std::string_view name_of(Governor governor);

// Of what a lever is an annotation.
enum class Governed { node, daemon_set, machine, cluster };

inline constexpr std::string_view kGovernedKey = "careen.dev/governed";

// The annotations by which these governors hold back what is done to such an object.
std::map<std::string, std::string> levers_of(const std::set<Governor>& governors, Governed what);

// What to change in an object with these annotations (null: remove) so that it has `wanted`; nothing if it does. With
// the record: {key: value before}, which is null, because a key that is there is left alone.
using Annotations = std::map<std::string, std::string, std::less<>>;
std::optional<kube::Json> pull(const Annotations& annotations, const std::map<std::string, std::string>& wanted,
                               Governed what);

// karpenterNodePool: the budgets of a NodePool with an entry that allows no disruption, or without the one that was
// recorded; nothing if they are as they should be. The record holds the entry under the key spec.disruption.budgets.
std::optional<kube::Json> pull_node_pool(kube::JsonView pool, bool hold);

}  // namespace careen::turnstile
