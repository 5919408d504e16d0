#include "controllers/profiles/claims.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "budget/ledger.h"
#include "budget/occupancy.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/decide.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/limits.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/profile_states.h"
#include "controllers/profiles/stagger_leases.h"
#include "io/overloaded.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "kube/objects.h"

namespace careen::profiles {

namespace {

using budget::Claim;

// The checks in whose limits nodes count, by node.
class Counted {
 public:
  Counted(const Facts& facts, const std::vector<Limit>& limits, io::Wall now) {
    for (const Limit& limit : limits) {
      std::visit(io::Overloaded{
                     [&](const budget::NodePlaces& places) {
                       for_each_holder(facts.occupancy, places, now, {},
                                       [&](const std::string& node) { by_place_[node].insert(limit.check); });
                     },
                     [&](const budget::LeasePlaces& leases) { add_holders(facts.leases, leases, limit.check, now); },
                     [](const auto&) {},
                 },
                 limit.key);
    }
  }

  // Of a node that is not on its way into maintenance only leases count.
  std::vector<std::string> of(const std::string& node, bool in_maintenance) const {
    std::set<std::string> checks;
    for (const auto* map : {in_maintenance ? &by_place_ : nullptr, &by_lease_}) {
      if (!map) continue;
      if (const auto found = map->find(node); found != map->end())
        checks.insert(found->second.begin(), found->second.end());
    }
    return {checks.begin(), checks.end()};
  }

 private:
  using Checks = std::map<std::string, std::set<std::string>>;
  void add_holders(const StaggerLeases& leases, const budget::LeasePlaces& places, const std::string& check,
                   io::Wall now) {
    const LeaseGroup group(places.group, places.max);
    for (size_t i = 0; i < group.parallel(); ++i) {
      const std::string& key = group.lease_key(i);
      if (const std::string* taker = leases.taken_by(key)) {
        by_lease_[*taker].insert(check);
      } else if (const kube::Lease* lease = leases.held_until(key, now) ? leases.find(key) : nullptr) {
        by_lease_[lease->holder].insert(check);
      }
    }
  }

  Checks by_place_, by_lease_;
};

}  // namespace

std::vector<Claim> claims_of_node(const kube::Node& node, const Config* config) {
  std::vector<Claim> claims;
  const kube::Atom* const label = node.label(kProfileLabel);
  const auto names = profiles_of(label ? std::optional(label->view()) : std::nullopt);
  const std::string* const text = node.annotation(kDataAnnotation);
  const auto data = parse_node_data(text ? std::string_view(*text) : std::string_view{});
  for (const std::string& name : names) {
    if (!data || (config && !config->find_profile(name))) continue;
    const auto known = data->profiles.find(name);
    if (known == data->profiles.end() || known->second.current.known() != State::in_maintenance) continue;
    claims.push_back({.who = holder_name(name), .node = node.name, .uid = node.uid});
    if (known->second.transition != kZeroTime) claims.back().since = known->second.transition;
  }
  // Only its label says so, which somebody has edited, or its data cannot be read: it may be for any of them.
  if (claims.empty()) {
    claims.push_back({.who = holder_name(label ? label->view() : kDefaultProfile), .node = node.name, .uid = node.uid});
  }
  return claims;
}

std::vector<Claim> claims_of_profiles(const World& world, const std::vector<Limit>& limits, io::Wall now) {
  std::vector<Claim> claims;
  const Counted counted(world.facts, limits, now);
  std::set<std::pair<std::string, std::string>> out;  // UID and who
  for (const auto& [name, member] : world.facts.occupancy.members({})) {
    const kube::Node* const node = member.in_state ? world.nodes.find(name) : nullptr;
    if (!node) continue;
    for (Claim& claim : claims_of_node(*node, &world.config)) {
      out.emplace(claim.uid, claim.who);
      claim.budgets = counted.of(name, true);
      claims.push_back(std::move(claim));
    }
  }
  if (!world.ledger) return claims;
  for (const auto& [key, entry] : world.ledger->entries()) {
    const budget::Admission& admission = entry.admission;
    if (!is_of_profile(admission) || out.contains({admission.uid, admission.by})) continue;
    claims.push_back(claim_of(admission));
    claims.back().budgets = counted.of(admission.node, admission.counts);
  }
  return claims;
}

}  // namespace careen::profiles
