#include "controllers/profiles/begun_leases.h"

#include <algorithm>
#include <utility>

#include "budget/admission.h"
#include "controllers/profiles/stagger_leases.h"

namespace careen::profiles {

using io::Task;

BegunLeases::BegunLeases(io::Loop& loop, LeaseTaker taker, StaggerLeases& facts,
                         std::function<void(const std::string& lease)> freed)
    : taker_(std::move(taker)), facts_(facts), freed_(std::move(freed)), giving_back_(loop) {}

BegunLeases::Begun& BegunLeases::begun_with(const std::string& node, const std::string& lease) {
  std::vector<Begun>& begun = begun_[node];
  const auto known = std::find_if(begun.begin(), begun.end(), [&](const Begun& other) { return other.lease == lease; });
  return known != begun.end() ? *known : begun.emplace_back(Begun{lease, {}, false});
}

void BegunLeases::free(const std::string& lease) {
  facts_.ended(lease);
  facts_.give_back(lease);
  freed_(lease);
}

void BegunLeases::reserve(const std::string& node, const std::vector<LeaseGrab>& leases) {
  std::vector<Begun> ended;
  if (const auto found = begun_.find(node); found != begun_.end()) {
    const auto is_kept = [&](const Begun& lease) {
      return std::any_of(leases.begin(), leases.end(),
                         [&](const LeaseGrab& grab) { return grab.key() == lease.lease; });
    };
    const auto end = std::partition(found->second.begin(), found->second.end(), is_kept);
    ended.assign(end, found->second.end());
    found->second.erase(end, found->second.end());
    if (found->second.empty()) begun_.erase(found);
  }
  for (const Begun& lease : ended) {
    if (!lease.acquired.empty() && !lease.may_be_used) {
      giving_back_.spawn(taker_.give_back(lease.lease, node, lease.acquired));
    }
    free(lease.lease);
  }
  for (const LeaseGrab& grab : leases) {
    facts_.take(grab.key(), node);
    begun_with(node, grab.key());
  }
}

void BegunLeases::spend(const std::string& node) {
  const auto found = begun_.find(node);
  if (found == begun_.end()) return;
  const std::vector<Begun> begun = std::move(found->second);
  begun_.erase(found);
  for (const Begun& lease : begun) free(lease.lease);
}

Task<kube::Result<LeaseTaker::Outcome>> BegunLeases::take(std::string node, LeaseGrab grab, io::Wall acquired) {
  const std::string key = grab.key();
  // Whether or not the answer comes, it may be ours from now on.
  begun_with(node, key).acquired.push_back(acquired);
  auto outcome = co_await taker_.take(std::move(grab), node, acquired);
  if (outcome && *outcome == LeaseTaker::Outcome::taken) {
    begun_with(node, key).acquired = {acquired};
    facts_.begin(key, node, acquired);
  }
  co_return outcome;
}

Task<void> BegunLeases::look(std::vector<std::string> leases) {
  for (const std::string& lease : leases) co_await taker_.read(lease);
}

void BegunLeases::inherit(const budget::Admission& admission, Use use, bool drains) {
  for (const budget::HeldLease& lease : admission.leases) {
    if (drains) facts_.take(lease.key, admission.node);
    Begun& with = begun_with(admission.node, lease.key);
    with.acquired = {lease.acquired};
    with.may_be_used = use == Use::possible;
    facts_.begin(lease.key, admission.node, lease.acquired);
  }
}

}  // namespace careen::profiles
