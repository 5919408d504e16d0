#include "view/budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "budget/occupancy.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/controller.h"
#include "controllers/profiles/hosted.h"
#include "controllers/profiles/limits.h"
#include "controllers/profiles/stagger_leases.h"
#include "drain/engine.h"
#include "kube/disruption_budget.h"
#include "kube/json_writer.h"
#include "kube/name_order.h"
#include "replica/replica.h"
#include "view/work.h"

namespace careen::view {

namespace {

constexpr size_t kMostHolders = 20;
constexpr size_t kMostDisruptionBudgets = 200;

std::string scope_text(const budget::Scope& scope) {
  return scope.subset.empty() ? scope.text() : fmt::format("{} with profile {}", scope.text(), scope.subset);
}

// A lease has ended a moment after its last one; nobody wants to read of nanoseconds.
void set_free_at(Budget& budget, const budget::Use& use) {
  if (use.free_at) budget.free_at = std::chrono::floor<io::microseconds>(*use.free_at);
}

Budget limit(const profiles::Facts& facts, io::Wall now, const std::string& name, const budget::NodePlaces& places) {
  const budget::Use use = budget::measure(facts.occupancy, places, now);
  Budget budget{
      .kind = "maxMaintenance", .name = name, .scope = scope_text(places.scope), .max = places.max, .used = use.used};
  for (const auto& [node, member] : facts.occupancy.members(places.scope)) budget.reserved += member.in_state ? 0 : 1;
  budget.holders = budget::holders(facts.occupancy, places, now, {}, kMostHolders);
  set_free_at(budget, use);
  return budget;
}

Budget leases(const profiles::StaggerLeases& facts, io::Wall now, const std::string& name,
              const budget::LeasePlaces& places) {
  const budget::Use use = profiles::measure(facts, places, now);
  Budget budget{
      .kind = "stagger", .name = name, .scope = "leases " + places.group, .max = places.max, .used = use.used};
  const profiles::LeaseGroup group(places.group, places.max);
  for (size_t i = 0; i < group.parallel() && budget.holders.size() < kMostHolders; ++i) {
    const std::string& lease = group.lease_key(i);
    const std::string* taker = facts.taken_by(lease);
    if (taker) ++budget.reserved;
    const kube::Lease* held = facts.held_until(lease, now) ? facts.find(lease) : nullptr;
    if (taker) {
      budget.holders.push_back(*taker);
    } else if (held && !held->holder.empty()) {
      budget.holders.push_back(held->holder);
    }
  }
  set_free_at(budget, use);
  return budget;
}

void add_limits(const profiles::Controller& controller, io::Wall now, std::vector<Budget>& all) {
  const profiles::Facts& facts = controller.facts();
  for (const profiles::Limit& one : controller.limits()) {
    const auto* const nodes = std::get_if<budget::NodePlaces>(&one.key);
    Budget budget = nodes ? limit(facts, now, one.check, *nodes)
                          : leases(facts.leases, now, one.check, std::get<budget::LeasePlaces>(one.key));
    budget.waiting = controller.waiters().waiting(one.key);
    all.push_back(std::move(budget));
  }
}

// How many pods of running drains each disruption budget holds up.
std::map<std::string, size_t> blocked_pods(const replica::Replica& replica) {
  std::map<std::string, size_t> blocked;
  for (const drain::Key& key : replica.drains().keys()) {
    const drain::Progress* progress = replica.drains().progress(key);
    if (!progress) continue;
    for (const drain::PodProgress& pod : progress->pods) {
      if (!pod.budget.empty()) ++blocked[pod.budget];
    }
  }
  return blocked;
}

void add_disruption_budgets(const replica::Replica& replica, std::vector<Budget>& all) {
  const auto blocked = blocked_pods(replica);
  size_t count = 0;
  const auto add = [&](const kube::DisruptionBudget& from, size_t waiting) {
    if (count++ >= kMostDisruptionBudgets) return;
    Budget budget{.kind = "disruption", .name = from.key(), .scope = fmt::format("{} pods", from.expected_pods)};
    budget.max = std::max(0, from.expected_pods - from.desired_healthy);
    budget.used = std::max<int64_t>(0, budget.max - from.allowed);
    budget.waiting = waiting;
    for (const std::string& pod : from.disrupted_pods) {
      if (budget.holders.size() < kMostHolders) budget.holders.push_back(from.ns + "/" + pod);
    }
    all.push_back(std::move(budget));
  };
  // Those that hold a drain up matter most.
  for (const auto& [name, waiting] : blocked) {
    if (const kube::DisruptionBudget* budget = replica.disruption_budgets().find(name)) add(*budget, waiting);
  }
  replica.disruption_budgets().for_each([&](const kube::DisruptionBudget& budget) {
    if (budget.allowed <= 0 && budget.expected_pods > 0 && !blocked.contains(budget.key())) add(budget, 0);
  });
}

}  // namespace

std::vector<Budget> budgets_of(const replica::Replica& replica) {
  std::vector<Budget> all;
  if (const auto* const profiles = profiles::controller_in(replica.hosted())) add_limits(*profiles, replica.now(), all);
  add_disruption_budgets(replica, all);
  for (Budget& budget : all) std::sort(budget.holders.begin(), budget.holders.end(), kube::NameOrder());
  return all;
}

void append_json(std::string& out, const Budget& budget) {
  using kube::append_json;
  kube::Members members(out, '{', '}');
  append_json(members.next("kind"), budget.kind);
  append_json(members.next("name"), budget.name);
  append_json(members.next("scope"), budget.scope);
  append_json(members.next("max"), budget.max);
  append_json(members.next("used"), budget.used);
  append_json(members.next("reserved"), budget.reserved);
  append_json(members.next("holders"), budget.holders);
  append_json(members.next("waiting"), budget.waiting);
  if (budget.free_at) append_json(members.next("free_at"), *budget.free_at);
}

}  // namespace careen::view
