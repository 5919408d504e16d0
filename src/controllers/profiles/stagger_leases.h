// The leases that `stagger` checks share: as the API server holds them, and which of them a transition that has begun
// has taken. A lease that a node takes counts as taken from the decision on, before the server has heard of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "budget/key.h"
#include "budget/topic.h"
#include "io/time.h"
#include "kube/cache.h"
#include "kube/objects.h"

namespace careen::profiles {

// The precision with which the API server keeps the times of leases.
inline std::chrono::sys_time<io::microseconds> in_microseconds(io::Wall t) {
  return std::chrono::floor<io::microseconds>(t);
}

// The leases <name>-0 to <name>-<parallel − 1> of one namespace. It holds all their keys: nodes that wait ask often.
class LeaseGroup {
 public:
  // `key` is <namespace>/<name>.
  LeaseGroup(std::string key, int64_t parallel);

  std::string_view ns() const { return std::string_view(key_).substr(0, slash_); }
  const std::string& key() const { return key_; }
  size_t parallel() const { return leases_.size(); }
  // <namespace>/<name>-<index>
  const std::string& lease_key(size_t index) const { return leases_[index]; }
  std::string_view lease_name(size_t index) const { return std::string_view(leases_[index]).substr(slash_ + 1); }
  // Its leases are places for nodes.
  budget::LeasePlaces budget() const;

 private:
  std::string key_;
  size_t slash_;
  std::vector<std::string> leases_;
};

// How much of a group is free.
struct LeaseUse {
  int64_t free = 0;
  std::optional<size_t> first;      // the lease to take
  std::optional<io::Wall> free_at;  // when the next of the others becomes free by itself
};

class StaggerLeases {
 public:
  StaggerLeases(const kube::Store<kube::Lease>& leases, budget::Topics& topics) : leases_(leases), topics_(topics) {}

  const kube::Lease* find(std::string_view key) const { return leases_.find(key); }
  // Nothing is known of a namespace whose leases have not been listed.
  bool known(std::string_view ns) const { return known_.contains(ns); }
  void set_known(std::string ns) { known_.insert(std::move(ns)); }

  // The node whose decision has taken the lease and which has not been seen to move yet.
  const std::string* taken_by(std::string_view key) const {
    const auto found = taken_.find(key);
    return found == taken_.end() ? nullptr : &found->second;
  }
  void take(const std::string& key, const std::string& node) { taken_[key] = node; }
  void give_back(std::string_view key) {
    if (const auto found = taken_.find(key); found != taken_.end()) taken_.erase(found);
  }

  // The node acquired the lease at that time for a transition that is not done yet: to the node it is still free.
  void begin(const std::string& key, std::string node, io::Wall acquired) { begun_[key] = {std::move(node), acquired}; }
  void ended(std::string_view key) {
    if (const auto found = begun_.find(key); found != begun_.end()) begun_.erase(found);
  }
  bool begun_by(std::string_view node, std::string_view key) const;
  size_t unfinished() const { return taken_.size() + begun_.size(); }

  // Until when the lease is held by somebody, itself included; nullopt: free, but for what decisions have taken.
  std::optional<io::Wall> held_until(std::string_view key, io::Wall now) const;
  // For that node, whose own leases do not hinder it and are the first to take; for any other if it is empty.
  LeaseUse measure(const LeaseGroup& group, io::Wall now, std::string_view node = {}) const;

  // Told when a lease of the group changes, or what decisions have taken of it.
  budget::Topic topic(const LeaseGroup& group) const;
  // Of the groups that a lease belongs to and that were asked about.
  std::vector<budget::Topic> topics_of(std::string_view lease_key) const;

 private:
  struct Begun {
    std::string node;
    io::Wall acquired{};
  };
  bool is_free(std::string_view key, io::Wall now, std::string_view node) const;

  const kube::Store<kube::Lease>& leases_;
  budget::Topics& topics_;
  mutable std::map<std::string, budget::Topic, std::less<>> by_group_;
  std::set<std::string, std::less<>> known_;
  std::map<std::string, std::string, std::less<>> taken_;
  std::map<std::string, Begun, std::less<>> begun_;
};

// The same for a group's budget.
budget::Use measure(const StaggerLeases& leases, const budget::LeasePlaces& places, io::Wall now,
                    std::string_view asking = {});

}  // namespace careen::profiles
