// The inside of the controller of MaintenanceRequests: one lane per object, in which decision and write alternate, and
// one per node for holds whose request is over.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "budget/pause_guard.h"
#include "controllers/requests/attachments.h"
#include "controllers/requests/controller.h"
#include "controllers/requests/decide.h"
#include "controllers/requests/limit_reporter.h"
#include "controllers/requests/roster.h"
#include "controllers/requests/selector_keeper.h"
#include "drain/key.h"
#include "io/sync.h"
#include "kube/controller_meters.h"
#include "kube/node.h"
#include "kube/object_writer.h"
#include "kube/objects.h"
#include "kube/queue.h"
#include "kube/watched.h"
#include "kube/write_turns.h"

namespace careen::requests {

struct Controller::Core {
  Core(controllers::Host host, ControllerOptions wanted);

  // What changes in the world (controller.cc).
  void request_changed(const kube::Object* before, const kube::Object* after);
  void follow_place(const std::string& name, const Request* request);
  void take_running_place(const Request& request, std::string uid);
  void renew_places(const std::string& node);
  void node_changed(const kube::Node* before, const kube::Node* after);
  void limit_changed(const kube::Object* before, const kube::Object* after);
  void watch_attachments();
  void wake_next_on(const std::string& node);
  void wake_node(std::string_view node);
  void wake_all();
  void adopt_claims();
  void queue_moved();
  void look_at_waiting();

  // Deciding.
  std::optional<Request> find(std::string_view name) const;
  const budget::Pause* pause() const { return p.pauses.of(""); }
  std::vector<const limits::Limit*> limits_of(const Request& request) const;
  World world(const Request& request) const;
  Memory& memory_of(const Request& request);
  Claim claim_on(const Request& request, const kube::Node* node) const;
  int64_t position_of(const std::string& owner) const;
  void decide_one(const std::string& key);
  void decide_request(const std::string& name);
  void take_place(const Request& request, const kube::Node& node);
  void follow_queue(const Request& request, const Decision& decision);
  void leave_queue(const std::string& name);
  void follow_drain(const Request* request, const std::string& name, const std::optional<drain::Options>& wanted);
  bool may_write(const std::string& name, Memory& memory, const Decision& decision);
  void forget(const std::string& name);
  void done(const std::string& key);

  // Writing (controller_writes.cc).
  struct Stray {
    std::string owner;
    drain::NodeChange change;
  };
  std::optional<Stray> stray_hold(const kube::Node& node) const;
  io::Task<void> act(std::string name, Effect effect);
  io::Task<void> approve(std::string name);
  io::Task<void> end(std::string name, Ended why);
  io::Task<void> remove_instead(Request request, Ended why);
  io::Task<void> turn_away(std::string name, Ended why);
  io::Task<void> touch(std::string name);
  io::Task<void> hold_node(std::string name, HoldNode effect);
  io::Task<void> write_status(std::string name, WriteStatus effect);
  io::Task<void> remove(std::string name);
  io::Task<void> release_stray(std::string node);
  kube::WriteRequest patch_of(const Request& request, kube::Json patch) const;
  void status_is_written(const Request& request, const Status& before, const Status& now);
  bool settle(const std::string& name, const kube::WriteResult& result, std::string_view what);
  void record(const Request& request, const char* type, std::string_view reason, std::string note);
  void record_on_node(const kube::Node& node, std::string_view reason, std::string note);

  // A claim is in the ledger, for the node with that UID.
  struct Claimed {
    std::string node, uid;
  };
  struct Draining {
    drain::Key key;
    std::string node_uid;
    drain::Options options;
  };

  controllers::Host p;
  const ControllerOptions options;
  limits::Desk& desk;
  std::unique_ptr<kube::Watched<kube::Object>> watched;
  kube::ObjectWriter<kube::Object> requests;
  kube::ObjectWriter<kube::Node> nodes;
  Roster roster;
  kube::WorkQueue queue;
  kube::ControllerMeters meters;
  kube::WriteTurns turns;         // of statuses that say what is waited for
  kube::WriteTurns urgent_turns;  // of those in which something has happened
  std::map<std::string, Memory, std::less<>> memories;
  std::map<std::string, Claimed, std::less<>> claims;
  std::map<std::string, std::string, std::less<>> places;  // at the desk: by request, the node
  std::map<std::string, Draining, std::less<>> draining;
  std::map<std::string, limits::Asking, std::less<>> waiting;  // at the desk
  std::set<std::string, std::less<>> offered;                  // of those, whose turn it was
  std::string looked_at;                                       // of those, the last whose text was looked at
  size_t to_look_at = 0;
  io::Alarm look;
  mutable std::map<std::string, int64_t, std::less<>> positions;
  mutable bool positions_known = false;
  std::set<std::string, std::less<>> troubled;
  std::map<std::string, std::string, std::less<>> rehearsed;
  budget::PauseGuard pause_guard;
  Attachments attachments;
  LimitReporter limit_reporter;
  SelectorKeeper selectors;
  std::optional<io::Wall> leading_since;
  bool running = false, stopping = false;
  std::vector<io::Subscription> changes;
  io::Scope acting;  // last: its tasks use everything above
};

}  // namespace careen::requests
