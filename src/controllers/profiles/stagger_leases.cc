#include "controllers/profiles/stagger_leases.h"

#include <algorithm>
#include <chrono>

#include "controllers/profiles/lease_grab.h"

namespace careen::profiles {

namespace {

// <group>-<index> without its index; empty when the key is of no such form.
std::string_view group_of(std::string_view lease_key) {
  const size_t dash = lease_key.rfind('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view index = lease_key.substr(dash + 1);
  const bool is_number =
      !index.empty() && std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? lease_key.substr(0, dash) : std::string_view{};
}

}  // namespace

std::string LeaseGrab::key() const { return kube::object_key(ns, name); }

LeaseGroup::LeaseGroup(std::string key, int64_t parallel) : key_(std::move(key)), slash_(key_.find('/')) {
  leases_.reserve(static_cast<size_t>(parallel));
  for (int64_t i = 0; i < parallel; ++i) leases_.push_back(key_ + '-' + std::to_string(i));
}

budget::LeasePlaces LeaseGroup::budget() const { return {key_, static_cast<int64_t>(parallel())}; }

bool StaggerLeases::begun_by(std::string_view node, std::string_view key) const {
  const auto begun = begun_.find(key);
  if (begun == begun_.end() || begun->second.node != node) return false;
  const kube::Lease* lease = leases_.find(key);
  return lease && lease->holder == node && lease->acquired &&
         in_microseconds(*lease->acquired) == in_microseconds(begun->second.acquired);
}

std::optional<io::Wall> StaggerLeases::held_until(std::string_view key, io::Wall now) const {
  const kube::Lease* lease = leases_.find(key);
  if (!lease || !lease->renewed || !lease->duration_seconds) return std::nullopt;
  const io::Wall end = io::add(*lease->renewed, io::seconds{*lease->duration_seconds});
  return end < now ? std::nullopt : std::optional(end);
}

bool StaggerLeases::is_free(std::string_view key, io::Wall now, std::string_view node) const {
  if (const std::string* taker = taken_by(key); taker && *taker != node) return false;
  return !held_until(key, now) || (!node.empty() && begun_by(node, key));
}

LeaseUse StaggerLeases::measure(const LeaseGroup& group, io::Wall now, std::string_view node) const {
  LeaseUse use;
  bool own = false;
  for (size_t i = 0; i < group.parallel(); ++i) {
    const std::string& key = group.lease_key(i);
    if (is_free(key, now, node)) {
      ++use.free;
      const std::string* taker = taken_by(key);
      const bool is_own = !node.empty() && (taker || begun_by(node, key));
      if (!use.first || (is_own && !own)) use.first = i;
      own = own || is_own;
    } else if (!taken_by(key)) {
      const io::Wall end = io::add(*held_until(key, now), io::Duration{1});
      use.free_at = std::min(use.free_at.value_or(end), end);
    }
  }
  return use;
}

budget::Topic StaggerLeases::topic(const LeaseGroup& group) const {
  const auto known = by_group_.find(group.key());
  if (known != by_group_.end()) return known->second;
  return by_group_.emplace(group.key(), topics_.of("stagger " + group.key())).first->second;
}

std::vector<budget::Topic> StaggerLeases::topics_of(std::string_view lease_key) const {
  const auto found = by_group_.find(group_of(lease_key));
  if (found == by_group_.end()) return {};
  return {found->second};
}

budget::Use measure(const StaggerLeases& leases, const budget::LeasePlaces& places, io::Wall now,
                    std::string_view asking) {
  const LeaseUse use = leases.measure(LeaseGroup(places.group, places.max), now, asking);
  return {places.max - use.free, places.max, use.free_at};
}

}  // namespace careen::profiles
