// What must hold of what careen writes between Machines, their Nodes and their hosts, at every change of any of the API
// servers: nobody is let go who was not allowed to go, nothing is written on behalf of somebody else, nothing of users
// is touched, and in the end nothing is left behind. Judged by what the API servers have held, never by what careen
// thought.
//
// Each write names the version it replaces, so what it is about is as the write found it. Everything else careen knows
// from watches, and may have been so at any time from the oldest that its view may be (view_age.h) until the write was
// sent: it may arrive much later, and then nobody can take it back. Only that a Node is gone has to be true as the
// write is sent, but for the time that asking takes: a Node that has not been heard of yet looks the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "guest.h"
#include "history.h"
#include "io/virtual_time.h"
#include "machines_facts.h"
#include "machines_plan.h"
#include "machines_server.h"

namespace careen::explore {

class MachinesWatch {
 public:
  MachinesWatch(const MachinesPlan& plan, const io::VirtualTime& time, Report report)
      : plan_(plan), time_(time), report_(std::move(report)) {}

  void add(const MachinesServer& server) { servers_[server.name()] = &server; }
  // Everything, from now on.
  void pause(bool paused) { paused_.set(time_.now(), tick(), paused); }
  // From now on there is nobody who remembers since when something is so.
  void leader_changed() { leader_changed_ = time_.now(); }

  // A write by careen; then what it changes, if anything; then that it has had its effect.
  void sent(const sim::Sending& sending) { sent_[&sending.request] = time_.now(); }
  void changed(const MachinesServer& server, const sim::Change& change, bool by_careen);
  void served(const sim::Sending& sending);

  // What is not as it has to be once careen has come to rest, with the rule.
  struct Unfinished {
    std::string rule, what;
  };
  std::vector<Unfinished> unfinished() const;
  // What may last, but not for ever.
  void check_patience();
  // Writes that took effect.
  int writes() const { return writes_; }

 private:
  struct Written {
    const MachinesServer& server;
    sim::Change change;
    io::Steady sent{};
  };
  using NodeKey = std::pair<std::string, std::string>;  // cluster, node
  using Own = std::vector<std::pair<std::string_view, std::string_view>>;

  uint64_t tick() const { return ticks_.size() - 1; }
  void machine_changed(const sim::Change& change);
  void check_machine(const Written& write);
  void check_node(const Written& write);
  void check_host(const Written& write);
  void check_hook_gone(const Written& write, const MachineFacts& machine);
  void check_hook_set(const Written& write, const MachineFacts& machine);
  void check_approval(const Written& write, const MachineFacts& before, const MachineFacts& after);
  void check_skip(const Written& write, const MachineFacts& before, const MachineFacts& after);
  void check_labels(const Written& write, const MachineNodeFacts& before, const MachineNodeFacts& after);
  void check_hold(const Written& write, const HostFacts& before, const HostFacts& after);
  void check_pause(const Written& write, std::string_view what);
  // Everything but those fields of labels or annotations is as it was.
  void check_untouched(const sim::Change& change, const Own& own);

  // Whether that held at some time, as far as careen could know when it was sent.
  bool ever_node(const MachineFacts& machine, io::Steady sent,
                 const std::function<bool(const MachineNodeFacts*)>& holds) const;
  bool ever_of_machines(io::Steady sent, const std::function<bool(uint64_t tick)>& holds) const;
  bool may_be_its(const MachineFacts& machine, const MachineNodeFacts& node, io::Steady sent) const;
  bool may_be_anothers(const MachineFacts& machine, const MachineNodeFacts& node, io::Steady sent) const;
  // The Machine that has the Node at that time; null: none, or nobody can say.
  const MachineFacts* owner(const NodeKey& key, const MachineNodeFacts& node, uint64_t tick) const;
  const MachineNodeFacts* node_now(const MachineFacts& machine) const;
  bool is_silent(const MachineFacts& machine, io::Steady when) const;
  bool is_kept(const MachineNodeFacts& node) const { return plan_.relay.hook_without_state || node.maintained; }
  bool keeps_from_remediation(const MachineFacts& machine) const;
  bool wants_off(const HostFacts& host, uint64_t tick) const;

  // What is to be in the end (machines_end.cc).
  bool is_dead(const std::string& cluster) const;
  bool is_back(const MachineFacts& machine) const;
  void add_unfinished(const MachineFacts& machine, std::vector<Unfinished>& all) const;
  void add_unfinished(const NodeKey& key, const MachineNodeFacts& node, std::vector<Unfinished>& all) const;

  const MachinesPlan& plan_;
  const io::VirtualTime& time_;
  Report report_;
  std::map<std::string, const MachinesServer*> servers_;   // by cluster
  std::map<std::string, History<MachineFacts>> machines_;  // by key
  std::map<NodeKey, History<MachineNodeFacts>> nodes_;
  std::map<std::string, History<HostFacts>> hosts_;  // by key
  std::map<std::string, io::Steady> unapproved_;     // Machines: since when
  History<bool> paused_;
  io::Steady leader_changed_{};
  std::vector<io::Steady> ticks_{io::Steady{}};  // changes so far
  std::map<const kube::Request*, io::Steady> sent_;
  std::optional<Written> effect_;  // of the write that is being served
  int writes_ = 0;
};

}  // namespace careen::explore
