// The inside of the NodeMaintenance controller: one lane per object, in which decision and write alternate.
#pragma once

#include <map>
#include <set>
#include <string>

#include "budget/pause_guard.h"
#include "controllers/nodemaintenance/controller.h"
#include "controllers/nodemaintenance/controller_meters.h"
#include "controllers/nodemaintenance/decide.h"
#include "controllers/nodemaintenance/places.h"
#include "controllers/nodemaintenance/roster.h"
#include "io/sync.h"
#include "kube/node.h"
#include "kube/object_writer.h"
#include "kube/queue.h"
#include "kube/steady_refusal.h"
#include "kube/write_turns.h"

namespace careen::nodemaintenance {

struct Controller::Core {
  Core(controllers::Host host, kube::Store<kube::Object>& store, ControllerOptions wanted);

  // Waking (controller.cc).
  void maintenance_changed(const kube::Object* before, const kube::Object* after);
  void node_changed(const std::string& name);
  void lease_changed(const kube::Lease& lease);
  void drain_changed(const drain::Key& key);
  void wake_node(std::string_view node);
  void wake_all();

  // Deciding.
  World world() const;
  const budget::Pause* pause() const { return p.pauses.of(""); }
  Memory& memory_of(const Maintenance& maintenance);
  void decide_one(const std::string& key);
  void decide_maintenance(const std::string& name);
  void remember(Memory& memory, const Maintenance& maintenance, const Decision& decision);
  void follow_drain(const std::string& name, const Decision& decision);
  void say_that_it_lasts(const std::string& name, const Decision& decision);
  bool may_write(const std::string& name, const Decision& decision);
  void rehearse(const std::string& name, const Decision& decision);
  void forget(const std::string& name);
  void done(const std::string& key);

  // Writing (controller_writes.cc, controller_lease.cc).
  io::Task<void> act(std::string name, Effect effect);
  io::Task<void> enlist(std::string name, bool announce);
  io::Task<void> write_status(std::string name, WriteStatus effect);
  io::Task<void> request_lease(std::string name, RequestLease effect);
  io::Task<void> hold_node(std::string name, HoldNode effect);
  kube::WriteRequest node_patch(const std::string& node, const drain::NodeChange& change, uint64_t version) const;
  kube::WriteRequest object_patch(const Maintenance& maintenance, kube::Json patch) const;
  // Also when it has failed, which is told.
  bool node_is_written(const std::string& name, const kube::WriteResult& result);
  io::Task<void> release_node(std::string name, ReleaseNode effect);
  io::Task<void> give_lease_back(std::string name, GiveLeaseBack effect);
  io::Task<void> tell_lifecycle(std::string name, TellLifecycle effect);
  io::Task<void> discharge(std::string name);
  io::Task<void> release_orphan(std::string node);

  io::Task<void> look_at_lease(std::string ns, std::string lease, kube::ApiError error);
  void status_is_written(const std::string& name, const WriteStatus& effect);
  void succeeded(const std::string& name, const std::string& problem);
  // `what` begins the sentence: patching node failed.
  void failed(const std::string& name, std::string_view what, const std::string& problem, const kube::ApiError& error);
  io::Task<void> settle_place(limits::Place place);
  io::Task<bool> is_settled(const limits::Place& place);
  void complain(const std::string& name, const std::string& problem, const std::string& message);
  void clear(const std::string& problem);
  void record(const Maintenance& maintenance, const char* type, const char* reason, const char* note);
  void record_uncordon(const kube::Node& node);

  // A drain that was begun.
  struct Draining {
    drain::Key key;
    drain::Options options;
    std::string node_uid;
    io::Wall since{};
    bool told = false;  // that it lasts
  };

  controllers::Host p;
  ControllerOptions options;
  kube::ObjectWriter<kube::Object> maintenances;
  kube::ObjectWriter<kube::Node> nodes;
  kube::ObjectWriter<kube::Lease> leases;
  Roster roster;
  Places places;
  kube::WorkQueue queue;
  Meters meters;
  kube::WriteTurns turns;
  std::map<std::string, Memory, std::less<>> memories;    // by name
  std::map<std::string, Draining, std::less<>> draining;  // by name
  std::map<std::string, std::string, std::less<>> rehearsed;
  // Whose maintenances have raised a problem that is open. It goes with the last of them.
  std::map<std::string, std::set<std::string, std::less<>>> complaints;
  budget::PauseGuard pause_guard;
  kube::SteadyRefusal lifecycle_refusals;  // of writing conditions of nodes
  kube::SteadyRefusal lease_refusals;      // of deleting leases of nodes, and of freeing them
  bool leases_known = false;
  bool pods_known = false;
  bool running = false;
  bool stopping = false;
  std::vector<io::Subscription> changes;
  io::Scope acting;  // last: its tasks use everything above
};

}  // namespace careen::nodemaintenance
