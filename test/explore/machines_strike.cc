// What perturbations do to the stage of a campaign of Machines.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "budget/pause.h"
#include "machines_perturbations.h"
#include "machines_stage.h"
#include "write_faults.h"

namespace careen::explore {

using io::seconds;
using kube::Json;

namespace {

constexpr const char* kMachinesLockPath =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/runtime-extension-maintenance-controller";
constexpr const char* kPauseLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause";
// Until a watch that was away tells everything again, and what has failed is tried again.
constexpr io::Duration kHealing = seconds{30};

bool is_any_request(const sim::Sending&) { return true; }
bool is_for_events(const sim::Sending& sending) { return sending.request.path.find("/events") != std::string::npos; }

// What a refused right is about.
std::function<bool(const sim::Sending&)> is_refused(uint64_t choice) {
  const std::string resource(kRefusedResources[refused_resource(choice)]);
  return [resource](const sim::Sending& sending) { return sending.request.path.find(resource) != std::string::npos; };
}

std::string path_without_query(const sim::Sending& sending) {
  return sending.request.path.substr(0, sending.request.path.find('?'));
}

}  // namespace

MachinesStage::Cluster& MachinesStage::cluster_of(const std::string& slot) {
  return *clusters_[static_cast<size_t>(plan_.slot(slot).cluster)];
}

std::string MachinesStage::slot_of(const Hit& hit, uint64_t choice) const {
  const auto& slots = case_.campaign.nodes;
  for (const NodePlan& slot : slots) {
    if (!hit.sending) break;
    const std::string path = path_without_query(*hit.sending);
    const ClusterPlan& its = plan_.cluster_of(plan_.slot(slot.name));
    const bool meant = hit.server->name().empty()
                           ? path == sim::MachineWorld::machine_path(its.ns, world_->newest_of(slot.name)) ||
                                 path == sim::MachineWorld::host_path(its.ns, "host-" + plan_.slot(slot.name).name)
                           : its.key() == hit.server->name() && path == node_path(world_->node_of(slot.name));
    if (meant) return slot.name;
  }
  return slots[choice % slots.size()].name;
}

void MachinesStage::strike_due(Trigger::Kind kind, const MachinesServer& server, Process& process,
                               const sim::Sending& sending, sim::Treatment* treatment) {
  const Target target = target_of(sending);
  const int count = kind == Trigger::Kind::before_write ? sent_[target] : served_[target];
  for (size_t i = 0; armed_ && i < struck_.size(); ++i) {
    const Perturbation& what = case_.perturbations[i];
    if (struck_[i] || what.trigger.kind != kind || what.trigger.target != target || what.trigger.count != count)
      continue;
    struck_[i] = true;
    strike(what, {&process, &server, &sending, treatment,
                  fmt::format("{} {} {}", treatment ? "before" : "after", sending.request.method, name_of(target))});
  }
}

void MachinesStage::strike(const Perturbation& what, const Hit& hit) {
  coverage_.hit(what.action, hit.place);
  note(fmt::format("PERTURBATION {}", what.text()));
  lasts(io::Duration{0});
  if (concerns_a_write(what.action)) {
    lasts(what.span + seconds{15});
    return harm(*hit.treatment, what);
  }
  if (what.action <= Action::isolate) return strike_process(what, hit);
  if (what.action == Action::usurp || (what.action >= Action::take_lock && what.action <= Action::delete_lock))
    return strike_lock(what, hit);
  const std::string slot = slot_of(hit, what.choice);
  // Observers of a change must not make another: after a write it has to wait for a moment.
  if (hit.treatment || !hit.sending) return strike_later(what, *hit.process, slot);
  agenda_.soon([this, &what, process = hit.process, slot] { strike_later(what, *process, slot); });
}

void MachinesStage::strike_later(const Perturbation& what, Process& process, const std::string& slot) {
  if (what.action == Action::step_clock) return step_clock(what, process);
  if (what.action == Action::pause) return pause(what.span);
  if (what.action >= Action::withdraw_request) return strike_people(what, slot);
  if (what.action >= Action::renew_token) return strike_secret(what, slot);
  if (what.action <= Action::delete_node) return edit_others(what, slot);
  strike_server(what, slot);
}

// ---- Processes and their lock ------------------------------------------------------------------------------------

void MachinesStage::strike_process(const Perturbation& what, const Hit& hit) {
  Process& process = *hit.process;
  if (!process.careen || process.dying || process.suspended) return;
  if (hit.treatment && (what.action == Action::crash || what.action == Action::suspend)) {
    lasts(part_with(*hit.treatment, what));
  }
  switch (what.action) {
    case Action::crash:
      return crash(process, what.span);
    case Action::suspend: {
      process.suspended = true;
      process.careen->suspend();
      stands_still(what.span);
      agenda_.later(what.span, [this, &process, name = process.name] {
        if (process.name != name || !process.careen || process.dying) return;
        note(fmt::format("{} wakes up", name));
        process.suspended = false;
        process.careen->resume();
      });
      return;
    }
    case Action::stop:
      agenda_.soon([&process] {
        if (!process.careen || process.dying) return;
        process.stopped = true;
        process.careen->stop();
      });
      return lasts(seconds{30});
    default:
      return blind(process, what.span, what.choice);
  }
}

// Nothing new reaches any process, or not before it acts.
void MachinesStage::stands_still(io::Duration span) {
  lasts(span);
  for (MachinesServer* server : servers()) server->view.stands_still(time_.now(), time_.now() + span);
}

// One process reaches no API server, or only those of workload clusters, or only that of the management cluster.
void MachinesStage::blind(const Process& process, io::Duration span, uint64_t choice) {
  lasts(span + kHealing);
  const auto concerns = [name = process.name](const sim::Sending& sending) {
    return process_behind(sending.client) == name;
  };
  for (MachinesServer* server : servers()) {
    const bool of_management = server == &management_;
    if ((choice % 3 == 1 && !of_management) || (choice % 3 == 2 && of_management)) continue;
    server->view.stands_still(time_.now(), time_.now() + span);
    trouble(*server, {concerns, std::nullopt}, span);
    for (const std::string& client : {process.name, process.name + std::string(kLeaseConnection)}) {
      server->set_blind(client, true);
      agenda_.later(span, [server, client] { server->set_blind(client, false); });
    }
  }
}

void MachinesStage::strike_lock(const Perturbation& what, const Hit& hit) {
  lasts(seconds{30});
  if (what.action == Action::usurp) {
    // Another replica takes it at once while its holder still believes in it.
    hit.treatment->before = what.delay / 30;
    blind(*hit.process, what.span, 1);
  }
  const auto tamper = [this, &what] {
    lock_.tampered();
    if (what.action == Action::delete_lock) return management_.api().erase(kMachinesLockPath, "people");
    Json patch = Json::object();
    patch.set({"spec", "holderIdentity"}, what.action == Action::take_lock ? "somebody" : "");
    if (what.action != Action::usurp) patch.set({"spec", "renewTime"}, io::format_micro_time(time_.wall_now()));
    management_.api().merge(kMachinesLockPath, patch, "people");
  };
  if (hit.treatment || !hit.sending) return tamper();
  agenda_.soon(tamper);
}

// Whatever it shows from now on, it is off by no more than a bad one.
void MachinesStage::step_clock(const Perturbation& what, Process& process) {
  const io::Duration off = clock_after(what.choice), by = off - process.skew;
  process.skew = off;
  lasts(seconds{8});
  if (process.careen) process.careen->step_clock(by);
}

// ---- Servers and the ways to them --------------------------------------------------------------------------------

void MachinesStage::trouble(MachinesServer& server, MachinesServer::Trouble what, io::Duration span) {
  const auto added = server.troubles.insert(server.troubles.end(), std::move(what));
  agenda_.later(span, [&server, added] { server.troubles.erase(added); });
}

// The one of the management cluster, or that of the slot's.
void MachinesStage::strike_server(const Perturbation& what, const std::string& slot) {
  MachinesServer& struck =
      strikes_management(what.choice) && what.action != Action::lose_server ? management_ : cluster_of(slot).server;
  const io::Steady now = time_.now(), until = now + what.span;
  const auto answer = what.code ? std::optional(sim::ApiServer::refusal(what.code, "Trouble")) : std::nullopt;
  lasts(what.span + kHealing);
  switch (what.action) {
    case Action::delay_streams:
    case Action::freeze_streams: {
      const bool frozen = what.action == Action::freeze_streams;
      struck.set_weather({frozen ? io::Duration{0} : what.delay, frozen});
      struck.view.stands_still(now, until + what.delay);
      // Then all that was kept back comes, and a watch may have to be opened again.
      lasts(what.span + what.delay + kHealing);
      return agenda_.later(what.span, [&struck] { struck.set_weather({}); });
    }
    case Action::end_streams:
    case Action::break_streams:
      struck.view.is_cut_off(now, now);
      return struck.end_streams(what.action == Action::break_streams);
    case Action::stale_reads:
      ++struck.stale_windows;
      struck.stale = what.delay;
      struck.view.stands_still(now - what.delay, until);
      return agenda_.later(what.span, [&struck] {
        if (--struck.stale_windows == 0) struck.stale = {};
      });
    case Action::compact:
      struck.view.is_cut_off(now, now);
      struck.api().compact();
      return struck.end_streams(false);
    case Action::outage:
      struck.view.is_cut_off(now, until);
      return trouble(struck, {is_any_request, answer}, what.span);
    case Action::event_trouble:
      return trouble(management_, {is_for_events, answer}, what.span);
    case Action::forbid: {
      struck.view.is_cut_off(now, until);
      lasts(what.span + io::minutes{2});
      const char* const reason = what.code == 401 ? "Unauthorized" : "Forbidden";
      return trouble(struck, {is_refused(what.choice), sim::ApiServer::refusal(what.code, reason)}, what.span);
    }
    default:  // lose_server
      struck.end_streams(true);
      // What was on its way when it was lost may open one still.
      agenda_.later(io::milliseconds{200}, [&struck] { struck.end_streams(true); });
      struck.view.is_cut_off(now, until, true);
      return trouble(struck, {is_any_request, std::nullopt}, what.span);
  }
}

void MachinesStage::strike_secret(const Perturbation& what, const std::string& slot) {
  Cluster& struck = cluster_of(slot);
  MachinesSecret& secret = struck.secret;
  struck.server.view.is_cut_off(time_.now(), time_.now() + what.span);
  lasts(what.span + kHealing);
  // What was there before may end before careen can know of what is there now.
  const bool too_early = what.choice / 16 % 2;
  const auto afterwards = [&](void (MachinesSecret::*act)()) {
    agenda_.later(what.span, [&secret, act] { (secret.*act)(); });
  };
  switch (what.action) {
    case Action::renew_token:
      too_early ? secret.take_back_all_tokens() : secret.renew_token();
      return afterwards(too_early ? &MachinesSecret::renew_token : &MachinesSecret::take_back_old_tokens);
    case Action::move_server:
      too_early ? secret.shut_all_addresses() : secret.move();
      return afterwards(too_early ? &MachinesSecret::move : &MachinesSecret::shut_old_addresses);
    case Action::hide_secret:
      secret.hide();
      return afterwards(&MachinesSecret::show);
    default:
      secret.garble();
      return afterwards(&MachinesSecret::mend);
  }
}

// ---- People ------------------------------------------------------------------------------------------------------

void MachinesStage::strike_people(const Perturbation& what, const std::string& slot) {
  lasts(what.span);
  switch (what.action) {
    case Action::withdraw_request:
      return people_->withdraw(slot);
    case Action::disable_machine:
      return people_->disable(slot, disables_for_ever(what.choice) ? io::Duration::max() : what.span);
    case Action::erase_machine:
      return people_->erase(slot, what.choice % 2);
    case Action::withdraw_approvals:
      return profiles_->withdraw(slot);
    case Action::leave_node:
      return people_->leave_node(slot, what.span);
    case Action::fail_node:
      return people_->fail(slot, what.span);
    default:
      return renew_unheard(what, slot);
  }
}

// Between the news that its Node is gone and the news that there is one again there is one all the time.
void MachinesStage::renew_unheard(const Perturbation& what, const std::string& slot) {
  MachinesServer& its = cluster_of(slot).server;
  its.set_weather({what.delay, false});
  its.view.stands_still(time_.now(), time_.now() + what.span + what.delay);
  lasts(what.span + what.delay + kHealing);
  agenda_.later(what.span + what.delay, [&its] { its.set_weather({}); });
  world_->renew_node(slot, seconds{1});
}

// Labels and annotations of others, on the Machine or on its Node; or the Node is made anew.
void MachinesStage::edit_others(const Perturbation& what, const std::string& slot) {
  if (what.action == Action::delete_node) {
    lasts(what.span);
    return world_->renew_node(slot, what.choice % 2 ? what.span / 8 : io::Duration{0});
  }
  Cluster& its = cluster_of(slot);
  Json patch = Json::object();
  patch.set({"metadata", what.action == Action::edit_foreign_label ? "labels" : "annotations", "foreign.example/key"},
            std::to_string(what.choice % 1000));
  if (what.choice % 2) return its.server.api().merge(node_path(world_->node_of(slot)), patch, "people");
  management_.api().merge(sim::MachineWorld::machine_path(its.plan.ns, world_->newest_of(slot)), patch, "people");
}

void MachinesStage::pause(io::Duration span) {
  const auto write = [this](int more) {
    paused_ += more;
    budget::PauseRecord record;
    if (paused_ > 0) record.pauses[""] = {"", "ana@host", std::chrono::floor<seconds>(time_.wall_now()), ""};
    Json lease = Json::object({{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}});
    lease.set({"metadata", "annotations", budget::PauseRecord::kAnnotation}, record.text());
    management_.api().put(kPauseLease, lease, "people");
    watch_.pause(paused_ > 0);
  };
  lasts(span);
  write(+1);
  agenda_.later(span, [write] { write(-1); });
}

}  // namespace careen::explore
