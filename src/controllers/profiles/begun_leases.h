// The leases of transitions that take more than one write: which node has begun to take which, so that it keeps them
// for its next decision, gives them back when the transition is withdrawn, and lets them run out when it has happened
// or may have.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/profiles/lease_taker.h"
#include "io/sync.h"

namespace careen::budget {
struct Admission;
}

namespace careen::profiles {

class StaggerLeases;

class BegunLeases {
 public:
  // `freed`: told of each lease that decisions may take again.
  BegunLeases(io::Loop& loop, LeaseTaker taker, StaggerLeases& facts,
              std::function<void(const std::string& lease)> freed);

  bool has(std::string_view node) const { return begun_.contains(node); }
  // The node's decision takes these, and gives back what an earlier one took besides.
  void reserve(const std::string& node, const std::vector<LeaseGrab>& leases);
  // The transition does not happen: gives back what it had begun to take.
  void withdraw(const std::string& node) { reserve(node, {}); }
  // The transition has happened, or may have: its leases are spent and run out by themselves.
  void spend(const std::string& node);

  // Writes the lease; `acquired` is when that was decided.
  io::Task<kube::Result<LeaseTaker::Outcome>> take(std::string node, LeaseGrab grab, io::Wall acquired);

  // Reads the leases of a predecessor's admission, since our cache may not have heard of its last writes.
  io::Task<void> look(std::vector<std::string> leases);
  enum class Use { none, possible };
  // They stay with the node for its next decision. Those that may have been used for a move are not given back; those
  // of a drain nobody else gets, however long it takes.
  void inherit(const budget::Admission& admission, Use use, bool drains);

  size_t nodes() const { return begun_.size(); }

 private:
  struct Begun {
    std::string lease;
    std::vector<io::Wall> acquired;  // when: what it was, or may have been, written with
    bool may_be_used = false;
  };
  Begun& begun_with(const std::string& node, const std::string& lease);
  void free(const std::string& lease);

  LeaseTaker taker_;
  StaggerLeases& facts_;
  std::function<void(const std::string& lease)> freed_;
  std::map<std::string, std::vector<Begun>, std::less<>> begun_;  // by node
  io::Scope giving_back_;                                         // last: its tasks use the above
};

}  // namespace careen::profiles
