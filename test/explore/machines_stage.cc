#include "machines_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controllers/machines/controller_options.h"
#include "controllers/machines/hosted.h"
#include "controllers/machines/names.h"
#include "io/problems.h"
#include "kube/lock.h"
#include "timeline_log.h"

namespace careen::explore {

using io::milliseconds;
using io::seconds;
using kube::Json;
using sim::Change;

namespace {

// Until the kubelet starts a process again that has ended by itself.
constexpr io::Duration kRestartsAfter = seconds{3};
// In one instant.
constexpr int kMostAtOnce = 1'000'000;
// For how long careen acts on what a cluster told that it hears nothing of any more.
constexpr io::Duration kTrusted = seconds{30};
// Until people know that a cluster is dead.
constexpr io::Duration kMourning = io::minutes{2};

bool is_machines_lock(const Change& change) {
  return change.name == machines::kLock && change.collection.ends_with("/leases");
}

}  // namespace

MachinesStage::Cluster::Cluster(const ClusterPlan& what, io::Loop& loop, uint64_t seed, MachinesServer& management,
                                MachinesServer::Treat treat)
    : plan(what),
      server(loop, seed, what.key(), ViewAge(kTrusted), std::move(treat)),
      secret(management, server, what) {}

MachinesStage::MachinesStage(const Case& one, bool timeline)
    : case_(one),
      plan_(*one.campaign.machines),
      timeline_(timeline),
      draw_(one.seed * 3 + 2),
      time_(one.seed),
      agenda_(time_),
      loop_(time_.make_loop()),
      watch_(plan_, time_, [this](std::string rule, std::string what) { violate(std::move(rule), std::move(what)); }),
      lock_(time_, kube::LockKind::lease),
      management_(*loop_, one.campaign.seed + 1, "", ViewAge(),
                  [this](MachinesServer& server, const sim::Sending& sending) { return treat(server, sending); }),
      struck_(one.perturbations.size()) {
  set_up_clusters();
  for (MachinesServer* server : servers()) {
    watch_.add(*server);
    server->api().observe([this, server](const Change& change) { observe(*server, change); });
    server->on_served([this, server](const sim::Sending& sending) { served(*server, sending); });
  }
  set_up_slots();
  people_->begin();
  set_up_faults();
  for (size_t i = 0; i < one.campaign.skews.size(); ++i) {
    processes_.push_back(std::make_unique<Process>());
    processes_.back()->number = static_cast<int>(i);
    processes_.back()->skew = one.campaign.skews[i];
    start(*processes_.back());
  }
}

MachinesStage::~MachinesStage() {
  // The servers still answer while processes go; nobody is interested any more.
  for (MachinesServer* server : servers()) server->quit();
  processes_.clear();
}

void MachinesStage::set_up_clusters() {
  world_ = std::make_unique<sim::MachineWorld>(*loop_, management_.api(), case_.campaign.seed + 2);
  std::vector<sim::ApiServer*> apis;
  for (const ClusterPlan& plan : plan_.clusters) {
    management_.api().put("/api/v1/namespaces/" + plan.ns,
                          *Json::parse(R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})"),
                          "people");
    const int number = static_cast<int>(clusters_.size());
    clusters_.push_back(std::make_unique<Cluster>(
        plan, *loop_, case_.campaign.seed + 3 + clusters_.size(), management_,
        [this](MachinesServer& server, const sim::Sending& sending) { return treat(server, sending); }));
    apis.push_back(&clusters_.back()->server.api());
    world_->add_cluster(plan.ns, plan.name, *apis.back());
    if (!plan.dies) continue;
    ++deaths_;
    agenda_.at(io::Steady{*plan.dies}, [this, number] { die(number); });
  }
  const auto later = [this](io::Duration after, std::function<void()> act) { agenda_.later(after, std::move(act)); };
  profiles_ = std::make_unique<MachinesProfiles>(plan_, *world_, apis, later, case_.campaign.seed * 7 + 1);
  people_ = std::make_unique<MachinesPeople>(plan_, management_.api(), *world_, *profiles_, later,
                                             case_.campaign.seed * 7 + 2);
}

void MachinesStage::set_up_slots() {
  for (const NodePlan& wanted : case_.campaign.nodes) {
    const SlotPlan& plan = plan_.slot(wanted.name);
    const ClusterPlan& cluster = plan_.cluster_of(plan);
    sim::MachineSlot slot{.id = plan.id, .name = plan.name, .ns = cluster.ns, .cluster = cluster.name};
    slot.node = plan.node;
    if (plan.has_host) slot.host = "host-" + plan.name;
    slot.host_by_uid = plan.host_by_uid;
    slot.keeps_power = plan.keeps_power;
    slot.services_firmware = plan.services_firmware;
    slot.overlaps = plan.overlaps;
    slot.remediated_after = plan.remediated_after;
    if (plan.enabled) slot.labels[std::string(machines::kEnabled)] = machines::kTrue;
    if (plan.maintained && cluster.registers_maintained) {
      slot.node_labels = [] {
        return std::map<std::string, std::string>{{std::string(machines::kMaintenanceState), "operational"}};
      };
    }
    world_->add(std::move(slot));
    // It stays for ever, and so would the troubles of a cluster that is dead.
    if (plan.has_stranger && !cluster.dies) add_stranger(plan, cluster);
  }
}

void MachinesStage::add_stranger(const SlotPlan& plan, const ClusterPlan& cluster) {
  Json machine = Json::object({{"apiVersion", "cluster.x-k8s.io/v1beta2"}, {"kind", "Machine"}});
  machine.set({"metadata", "labels"},
              Json::object({{machines::kEnabled, machines::kTrue}, {machines::kMaintenance, machines::kApproved}}));
  machine.set({"spec"},
              Json::object({{"clusterName", cluster.name},
                            {"providerID", fmt::format("metal3://{}/host-{}/stranger", cluster.ns, plan.name)}}));
  management_.api().put(sim::MachineWorld::machine_path(cluster.ns, "stranger-of-" + plan.name), machine, "people");
}

void MachinesStage::set_up_faults() {
  for (const Perturbation& what : case_.perturbations) {
    if (what.trigger.kind != Trigger::Kind::at) continue;
    agenda_.at(io::Steady{what.trigger.at}, [this, &what] {
      if (armed_) strike(what, {.process = &leader(), .place = "at a time"});
    });
  }
}

std::vector<MachinesServer*> MachinesStage::servers() {
  std::vector<MachinesServer*> all{&management_};
  for (const auto& cluster : clusters_) all.push_back(&cluster->server);
  return all;
}

void MachinesStage::die(int number) {
  Cluster& cluster = *clusters_[static_cast<size_t>(number)];
  note(fmt::format("cluster {} is dead", cluster.plan.key()));
  cluster.server.end_streams(true);
  cluster.server.view.is_cut_off(time_.now(), io::kNever, true);
  cluster.server.troubles.push_back({[](const sim::Sending&) { return true; }, std::nullopt});
  agenda_.later(kMourning, [this, &cluster, number] {
    --deaths_;
    people_->give_up(number, [&cluster] { cluster.secret.remove(); });
  });
}

// ---- Processes ---------------------------------------------------------------------------------------------------

void MachinesStage::note(std::string_view line) {
  if (timeline_) timeline_text_ += fmt::format("{:>10.3f}  {}\n", io::to_seconds(now()), line);
}

void MachinesStage::violate(std::string rule, std::string what) {
  violations_.push_back({now(), std::move(rule), std::move(what)});
}

void MachinesStage::start(Process& process) {
  process.name = fmt::format("careen-{}.{}", process.number, ++process.starts);
  process.dying = process.suspended = process.stopped = false;
  replica::ModelProcessOptions options;
  options.name = process.name;
  options.seed = case_.seed * 1000 + static_cast<uint64_t>(process.starts * 10 + process.number);
  options.skew = process.skew;
  options.profiles = false;
  options.controllers = {machines::with_options({.relay = plan_.relay})};
  options.elsewhere = [this](const kube::Access& access) -> sim::Network* {
    for (const auto& cluster : clusters_) {
      if (sim::Network* const way = cluster->secret.way(access)) return way;
    }
    return nullptr;
  };
  if (timeline_) {
    options.log =
        io::Log(std::make_shared<TimelineLog>([this](std::string_view line) { note(line); }, process.name), "");
  }
  process.careen = std::make_unique<replica::ModelProcess>(time_, management_.cluster(), "", std::move(options));
  lock_.started(process.name, process.careen->replica().identity());
  note(fmt::format("{} starts", process.name));
}

// From now on it does nothing more; it is gone as soon as it can be destroyed.
void MachinesStage::crash(Process& process, io::Duration restart_after) {
  if (process.dying || !process.careen) return;
  process.dying = true;
  process.careen->suspend();
  lasts(restart_after);
  agenda_.soon([this, &process, restart_after] {
    note(fmt::format("{} is dead", process.name));
    process.careen.reset();
    agenda_.later(restart_after, [this, &process] {
      if (!process.careen) start(process);
    });
  });
}

bool MachinesStage::has_ended() const {
  return std::ranges::any_of(processes_, [](const auto& process) {
    return process->careen && !process->dying && process->careen->exit_code();
  });
}

// None ends that was not told to, unless it has lost the lock.
void MachinesStage::see_to_ends() {
  for (const auto& process : processes_) {
    if (!process->careen || process->dying || !process->careen->exit_code()) continue;
    note(fmt::format("{} has ended by itself", process->name));
    if (!process->stopped && !lock_.may_be_lost(process->name)) {
      violate("stop",
              fmt::format("{} ends with {} although it has the lock", process->name, *process->careen->exit_code()));
    }
    crash(*process, kRestartsAfter);
  }
}

MachinesStage::Process* MachinesStage::sender(std::string_view client) {
  const auto found = std::ranges::find(processes_, process_behind(client), [](const auto& one) { return one->name; });
  return found == processes_.end() ? nullptr : found->get();
}

MachinesStage::Process& MachinesStage::leader() {
  for (const auto& process : processes_) {
    if (process->careen && process->careen->replica().election().leading()) return *process;
  }
  return *processes_.front();
}

// ---- Time --------------------------------------------------------------------------------------------------------

// Something that runs for ever while time stands still.
void MachinesStage::check_progress() {
  if (std::exchange(last_step_, time_.now()) != time_.now()) steps_ = 0;
  if (++steps_ > kMostAtOnce) violate("livelock", "careen does not come to rest");
}

void MachinesStage::run_until(io::Duration when) {
  agenda_.run_until(io::Steady{when}, {.stepped = [this] { check_progress(); },
                                       .over = [this] { return violated(); },
                                       .urgent = [this] { return has_ended(); },
                                       .see_to_it = [this] { see_to_ends(); }});
  watch_.check_patience();
}

bool MachinesStage::people_have_plans() const { return deaths_ > 0 || people_->have_plans(); }
bool MachinesStage::busy() const { return deaths_ > 0 || people_->busy() || profiles_->busy() || world_->busy(); }

// ---- What processes send, and what it leads to -------------------------------------------------------------------

Target MachinesStage::target_of(const sim::Sending& sending) {
  const std::string& path = sending.request.path;
  if (path.find("/events") != std::string::npos) return Target::events;
  if (sending.client.ends_with(kLeaseConnection)) return Target::lock;
  if (path.find("/machines/") != std::string::npos) return Target::machines;
  if (path.find("/baremetalhosts/") != std::string::npos) return Target::hosts;
  return Target::nodes;
}

sim::Treatment MachinesStage::treat(MachinesServer& server, const sim::Sending& sending) {
  sim::Treatment treatment;
  treatment.before = draw_.between(milliseconds{1}, milliseconds{8});
  treatment.after = draw_.between(milliseconds{1}, milliseconds{8});
  Process* const process = sender(sending.client);
  if (!process || process->dying) {
    treatment.lost = true;
    return treatment;
  }
  if (!sending.writes()) return treatment;
  const Target target = target_of(sending);
  const bool matters = target != Target::lock && target != Target::events;
  if (target == Target::lock) lock_.renewal_sent(sending);
  if (matters) {
    const std::string objection = lock_.objection(process->name, sending.request.timeout);
    if (!objection.empty())
      violate("lease",
              fmt::format("{} sent {} {} {}", sending.client, sending.request.method, sending.request.path, objection));
    last_write_ = now();
    watch_.sent(sending);
  }
  if (timeline_)
    note(fmt::format("{} sends {} {} {}", sending.client, sending.request.method, server.name() + sending.request.path,
                     matters ? sending.request.body : ""));
  ++sent_[target];
  strike_due(Trigger::Kind::before_write, server, *process, sending, &treatment);
  return treatment;
}

void MachinesStage::served(const MachinesServer& server, const sim::Sending& sending) {
  watch_.served(sending);
  Process* const process = sender(sending.client);
  if (!process || !sending.writes()) return;
  ++served_[target_of(sending)];
  strike_due(Trigger::Kind::after_write, server, *process, sending, nullptr);
}

void MachinesStage::observe(const MachinesServer& server, const Change& change) {
  const bool of_management = &server == &management_;
  if (timeline_) note_change(server, change);
  if (of_management && is_machines_lock(change)) {
    const std::string before = lock_.holder();
    lock_.changed(change);
    if (before != lock_.holder()) watch_.leader_changed();
    return;
  }
  if (of_management && change.collection.ends_with("/events")) return;
  watch_.changed(server, change, change.by.starts_with("careen-"));
  if (of_management && change.collection.ends_with("/machines")) people_->changed(change);
  if (of_management || change.collection != "/api/v1/nodes") return;
  for (size_t i = 0; i < clusters_.size(); ++i) {
    if (&clusters_[i]->server == &server) profiles_->changed(static_cast<int>(i), change);
  }
}

void MachinesStage::note_change(const MachinesServer& server, const Change& change) {
  constexpr const char* kTypes[] = {"made", "changed", "deleted"};
  const bool dull = change.collection.ends_with("/leases") || change.collection.ends_with("/customresourcedefinitions");
  note(fmt::format("{} {} {} {}/{} {}", change.by, kTypes[static_cast<int>(change.type)],
                   change.collection.substr(change.collection.rfind('/') + 1),
                   server.name().empty() ? change.ns : server.name(), change.name, dull ? "" : *change.object));
}

void MachinesStage::check_settled() {
  bool led = false;
  for (const auto& process : processes_) {
    if (!process->careen) {
      violate("idle", process->name + " does not run");
      continue;
    }
    led |= process->careen->replica().election().leading();
    for (const auto& [key, problem] : process->careen->replica().problems().open()) {
      // Whether events can be written again shows when there is the next one.
      if (key == "events") continue;
      violate("problem", fmt::format("{} still has a problem: {}: {}", process->name, key, problem));
    }
  }
  if (!led) violate("idle", "nobody leads");
}

Outcome MachinesStage::outcome() {
  Outcome outcome;
  outcome.violations = violations_;
  outcome.timeline = std::move(timeline_text_);
  outcome.coverage = coverage_;
  outcome.virtual_time = now();
  outcome.transitions = watch_.writes();
  outcome.end.takes = last_write_;
  outcome.writes = sent_;
  return outcome;
}

}  // namespace careen::explore
