// Watches pods, their budgets and evictions at the API server: careen names each pod it evicts by its UID, evicts only
// from nodes it holds, does not ask for what its own evictions have just used up and seldom for what a budget refuses,
// deletes only where it was told to, and calls a node drained only after a list of its own, when none of the pods of
// that list is there any more.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hold_watch.h"
#include "settings.h"
#include "sim/api_server.h"
#include "sim/network.h"

namespace careen::explore {

class DrainWatch {
 public:
  DrainWatch(const Settings& settings, const HoldWatch& holds, Report report)
      : settings_(settings), holds_(holds), report_(std::move(report)) {}

  // What careen sees is the truth, except for a moment; and nobody else leads.
  struct Certain {
    bool budgets = false, nodes = false;
    // It has read the node itself since then, whatever it hears: it knows of another node of that name.
    io::Steady asked_for_node{};
  };
  void sent(const sim::Sending& sending, Certain certain, io::Steady now);
  // Those for whom it may evict the pod, if the request is about one.
  std::set<std::string> may_be_for(const sim::Sending& sending, io::Steady now) const;
  void served(const sim::Sending& sending, const kube::Response& response, io::Steady now);
  void pod_changed(const sim::Change& change, bool by_careen, io::Steady now);
  void budget_changed(const sim::Change& change, io::Steady now);
  // The process says that the node, which it holds since then, is empty.
  void check_drained(const std::string& process, const std::string& node, io::Steady held_since);

 private:
  struct Pod {
    std::string key;  // namespace/name
    std::string node;
    std::string owner;  // UID
    std::string phase;
    std::map<std::string, std::string> labels;
    io::Steady bound{};
    bool stays = false;  // of a DaemonSet
    bool leaves = false;
    bool ready = false;
    io::Steady ready_since{};
    bool there = true;
  };
  // The status of a budget, from some time on.
  struct Allowance {
    io::Steady since{};
    int64_t allowed = 0;
    int64_t generation = 0, observed = 0;
  };
  struct Budget {
    std::map<std::string, std::string> selector;
    std::vector<Allowance> history;
  };
  // An eviction that the server has granted, and told its sender.
  struct Granted {
    std::string process, budget;
    io::Steady at{};
  };
  static Pod read(const kube::Json& pod);
  static bool is_counted(const Pod& pod, io::Steady now);
  void check_budget(const std::string& process, const std::string& uid, const Pod& pod, io::Steady now);
  bool may_be_open(const std::string& process, const std::string& budget, io::Steady now) const;
  void check_storm(const std::string& process, const Pod& pod, io::Steady now);
  void check_force(const std::string& process, const Pod& pod, io::Steady now);
  std::vector<std::string> budgets_of(const Pod& pod) const;

  const Settings& settings_;
  const HoldWatch& holds_;
  Report report_;
  std::map<std::string, Pod> pods_;  // by UID, also those that are gone
  std::map<std::string, Budget> budgets_;
  std::set<std::string> named_;  // UIDs in careen's requests
  std::vector<Granted> granted_;
  std::map<std::string, std::vector<io::Steady>> evicted_;                        // by process, node and owner
  std::map<std::pair<std::string, std::string>, io::Steady> refused_;             // by process and UID: the last one
  std::map<std::pair<std::string, std::string>, std::vector<io::Steady>> lists_;  // by process and node
};

}  // namespace careen::explore
