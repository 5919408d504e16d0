// The scheduler of the model: gives each pod a node, the one with most room among those that will take it, and tries
// again when nodes or pods change. It acts a little after a change, as one that watches does, and costs nothing while
// every pod has its node.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/loop.h"
#include "sim/api_server.h"
#include "sim/by_name.h"
#include "sim/placement.h"

namespace careen::sim {

class Scheduler {
 public:
  Scheduler(io::Loop& loop, ApiServer& api);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Pods that fit nowhere for now.
  size_t refused() const { return refused_.size(); }

 private:
  struct Shelf;
  // A node, and what its pods ask of it.
  struct Machine {
    NodeFacts facts;
    Room used{};
    double free = 0;         // the share of it that is left
    Shelf* shelf = nullptr;  // where it stands
  };
  struct MoreRoom {
    bool operator()(const Machine* a, const Machine* b) const {
      return a->free != b->free ? a->free > b->free : a->facts.name < b->facts.name;
    }
  };
  // The nodes with the same taints, most room first: a pod bears all of them or none, however many are cordoned.
  struct Shelf {
    std::set<const Machine*, MoreRoom> machines{};
  };
  // A pod that has a node and has not ended.
  struct Placed {
    std::string node;
    Room asks;
    Text pod;
    bool keeps_others_away = false;  // has required anti-affinity
  };
  // Where a pod must not go because of others there: the topology label and its values.
  using Avoid = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;
  struct Choice {
    const Machine* machine = nullptr;
    std::map<std::string_view, int> refusals{};  // why, and how many nodes, when there is none
  };

  void note(const Change& change);
  void wake();
  void run();
  void catch_up();
  void read_node(const std::string& name);
  void read_pod(const std::string& key);
  void place(const std::string& key, const Text& text, const json::value& pod);
  void unplace(const std::string& key);
  void rank(Machine& machine, const Room& change);
  void take_off(Machine& machine);

  void try_pod(const std::string& key);
  Choice choose(const std::string& ns, const json::value& pod) const;
  static std::string_view refusal(const Machine& machine, const json::value& spec, const Room& asks,
                                  const Avoid& avoid);
  // The nodes whose taints it bears, most room first, until the visitor returns false.
  void visit_bearable(const json::value& spec, Choice& choice, const std::function<bool(const Machine&)>& visit) const;
  Avoid to_avoid(const std::string& ns, const json::value& pod) const;
  void avoid_like(const json::value& term, const std::string& ns, Avoid& into) const;
  bool bind(const std::string& ns, const std::string& name, const std::string& node);
  void say_refused(const std::string& ns, const json::value& pod, const Choice& choice);

  io::Loop& loop_;
  ApiServer& api_;
  io::Alarm next_;
  std::map<std::string, uint64_t> waiting_;  // pods without a node, and in which order they came
  std::map<std::string, uint64_t> refused_;
  uint64_t arrivals_ = 0;
  // Nodes and pods are followed from the first pod on that needs a node.
  bool following_ = false;
  std::unordered_set<std::string> changed_nodes_, changed_pods_;
  ByName<Machine> machines_;
  std::map<std::vector<Taint>, Shelf> shelves_;
  ByName<Placed> placed_;                   // by namespace/name
  std::set<std::string> keep_others_away_;  // those of them that do
  ByName<std::unordered_set<std::string>> pods_on_;
};

}  // namespace careen::sim
