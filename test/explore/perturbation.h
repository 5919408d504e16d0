// One thing that goes wrong: when, and what. A case is a campaign and a list of these; each is a value that can be
// printed, and left out when a failing case is made smaller.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "campaign.h"
#include "io/time.h"

namespace careen::explore {

// What careen writes.
enum class Target { nodes, ledger, leases, lock, events, maintenances, pods, node_leases, machines, hosts, any };

struct Trigger {
  enum class Kind { at, before_write, after_write };
  Kind kind = Kind::at;
  io::Duration at{};  // since the beginning
  Target target = Target::nodes;
  int count = 1;  // the how many-th write to the target
};

enum class Action {
  // To the write that triggers it.
  lose,
  refuse,      // with `code`
  mask,        // it takes effect, and is answered with `code`
  cut,         // it takes effect, and the connection breaks
  unanswered,  // it takes effect, and no answer comes
  slow,        // it takes `span` to arrive
  hold,        // the same, but its sender has long given up
  slow_answer,
  // To the process that sends the write; to one that leads, if triggered by time.
  crash,    // `fate` tells what becomes of the write
  suspend,  // for `span`
  stop,     // as by SIGTERM
  isolate,  // nothing passes for `span`
  // To a node: that of the write, or any.
  edit_foreign_label,
  edit_foreign_annotation,
  add_taint,
  add_finalizer,
  edit_state_label,
  remove_data,
  damage_data,  // for `span`
  call_off,     // the label that asks for maintenance is away for `span`
  change_profile,
  change_zone,
  ask_again,
  break_condition,  // for `span`
  freeze,           // for `span`: a label that keeps others from going on
  drop_version,     // for `span`: a check has no answer
  move_pod,         // the node's pod goes, or comes
  delete_node,      // made again after `span`
  // To the configuration.
  lower_limit,
  raise_limit,
  close_limit,  // nothing is let in for `span`
  shift_hours,
  change_stagger,
  mute,          // no notifications for `span`
  break_config,  // it cannot be read for `span`
  // To the API server and the way to it.
  delay_streams,
  freeze_streams,
  end_streams,
  break_streams,
  stale_reads,
  outage,         // every request is answered with `code`, or lost if that is 0
  event_trouble,  // the same for events
  compact,
  delete_ledger,
  take_lock,   // somebody else is written into it
  empty_lock,  // it seems to be given back
  delete_lock,
  // To the leases of stagger checks and Slack threads.
  delete_lease,
  take_lease,  // a stranger holds it for `span`
  end_lease,   // it seems to have run out
  // To the world around the cluster.
  outside_refuses,  // for `span`, as all of these
  outside_hangs,
  outside_loses_answers,
  outside_is_slow,
  raise_load,
  usurp,  // it seems to be given back, but its holder does not see that, and what it sends is slow
  // To nodes that are drained, and what is on them.
  uncordon,           // by somebody else
  relabel,            // the label that NodeMaintenance objects put there, by somebody else
  edit_maintenance,   // labels, annotations and finalizers of others on a NodeMaintenance
  renew_maintenance,  // it is deleted, and made again once it is gone
  replace_pod,        // the pod that is to be evicted is gone, and another has its name when the eviction arrives
  place_pod,          // a pod comes past the scheduler
  close_budget,       // a budget allows nothing for `span`
  delete_node_lease,
  // To all of it.
  pause,  // everything, or one profile, for `span`
  // To some requests, all of them for `span`.
  forbid,                  // what concerns one resource is refused with `code`: 401 or 403
  break_node_webhook,      // writes of some nodes fail, and prove that nothing was stored
  break_eviction_webhook,  // the same for evictions of some pods
  // By the kubelet of a node, which may annotate it.
  forge_holds,   // a record of an owner that does not exist, about taints and labels of others
  forge_outbox,  // messages that careen never wrote
  // To the wall clock of a process.
  step_clock,
  // To whoever asks careen.
  lose_webhook,  // for `span` the API server reaches no replica; or replicas do not reach each other
  // To a workload cluster of several.
  lose_server,    // for `span` nothing gets there or back
  renew_token,    // of its Secret; the old one is refused `span` later, or from now on while there is no other yet
  move_server,    // to another address, in the same way
  hide_secret,    // for `span`, as the next
  garble_secret,  //
  // To a Machine or its Node: that of the write, or any.
  withdraw_request,
  disable_machine,     // for `span`, or for ever
  erase_machine,       // whatever holds it, and its Node stays
  withdraw_approvals,  // from its Node
  leave_node,          // profiles do so for `span`
  fail_node,           // it is not Ready for `span`
  renew_node,          // it is deleted and made again at once, and both are heard of `delay` later
};
inline constexpr int kActions = static_cast<int>(Action::renew_node) + 1;
inline bool concerns_a_write(Action action) { return action <= Action::slow_answer; }
// No clock is ever set further off than this.
inline constexpr io::Duration kFurthestOff = io::seconds{25};
// By how much it is off afterwards, for `choice`: often it is set right. And the choice that sets it so.
io::Duration clock_after(uint64_t choice);
uint64_t step_to(io::Duration off);

// For `choice` of a pause: everything, instead of one profile.
inline constexpr uint64_t kEverything = UINT64_MAX;
// The choice of the streams that are frozen.
inline constexpr uint64_t kLeaseStreams = 1;

// Of a write whose sender crashes or stands still.
enum class Fate { lost, passes, late };

struct Perturbation {
  int index = 0;
  Trigger trigger;
  Action action = Action::lose;
  io::Duration span{};
  io::Duration delay{};  // of a crash: until the process is started again; of a late write: until it arrives
  int code = 503;
  Fate fate = Fate::passes;
  uint64_t choice = 0;  // which node, which resource, which value

  std::string text() const;
};

// The nodes that a broken webhook keeps from being written.
std::set<std::string> stuck_nodes(const Perturbation& what, const Campaign& campaign);

std::string_view name_of(Action action);
std::string_view name_of(Target target);

// As many as the seed says, within a campaign that takes about `horizon`.
std::vector<Perturbation> draw_perturbations(uint64_t seed, const Campaign& campaign, io::Duration horizon);

}  // namespace careen::explore
