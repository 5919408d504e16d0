#include "stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "budget/ledger.h"
#include "budget/ledger_record.h"
#include "controllers/nodemaintenance/hosted.h"
#include "controllers/profiles/controller.h"
#include "controllers/profiles/hosted.h"
#include "controllers/profiles/names.h"
#include "controllers/slot/definition.h"
#include "controllers/slot/kind.h"
#include "drain/engine.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "kube/lock.h"
#include "timeline_log.h"

namespace careen::explore {

using io::milliseconds;
using io::seconds;
using kube::Json;

namespace {

// Until the kubelet starts a process again that has ended by itself.
constexpr io::Duration kRestart = seconds{3};
constexpr std::string_view kRequestsGroup = "/apis/repairman.k8s.io/";
constexpr std::string_view kAppsGroup = "/apis/apps/";
constexpr std::string_view kWebhooksGroup = "/apis/admissionregistration.k8s.io/";
// In one instant.
constexpr int kMostSteps = 1'000'000;

// Who somebody is: nothing is stored.
bool only_asks(const sim::Sending& sending) { return sending.request.path.starts_with("/apis/authentication.k8s.io/"); }

Target target_of(const sim::Sending& sending) {
  const std::string& path = sending.request.path;
  if (path.find("/events") != std::string::npos) return Target::events;
  if (sending.client.ends_with("/lease")) return Target::lock;
  if (kind_at(path) || path.starts_with(kRequestsGroup) || path.starts_with(kWebhooksGroup) ||
      path.starts_with(kAppsGroup))
    return Target::maintenances;
  if (path.find("/pods/") != std::string::npos) return Target::pods;
  if (path.find("/medik8s-leases/") != std::string::npos || path.starts_with("/api/v1/namespaces"))
    return Target::node_leases;
  if (path.find("/leases") == std::string::npos) return Target::nodes;
  // A new one is named in the body only.
  const bool ledger = path.find("/careen-ledger") != std::string::npos ||
                      sending.request.body.find("careen-ledger") != std::string::npos;
  return ledger ? Target::ledger : Target::leases;
}

}  // namespace

Stage::Stage(const Case& one, bool timeline)
    : time(one.seed),
      server_(time.make_loop()),
      cluster(std::make_unique<sim::Cluster>(*server_, one.campaign.seed + 1)),
      invariants(time, cluster->api, one.campaign.settings),
      case_(one),
      timeline_(timeline),
      draw_(one.seed * 3 + 2),
      agenda_(time),
      settings_(one.campaign.settings),
      struck_(one.perturbations.size()) {
  cluster->api.observe([this](const sim::Change& change) { observe(change); });
  cluster->network.treat = [this](const sim::Sending& sending) { return treat(sending); };
  cluster->network.served = [this](const sim::Sending& sending, const kube::Response& response) {
    served(sending, response);
  };
  cluster->outside.values[kQuery] = 1;
  cluster->outside.on_message = [this](const sim::Outside::Message& message) {
    note(fmt::format("MESSAGE by {}: {}", message.way, message.text));
    last_write_ = now();
    invariants.message(message);
  };
  // Streams are never as fast as answers.
  if (one.campaign.drains) cluster->network.set_weather("", {draw_.between(milliseconds{0}, milliseconds{300})});
  if (one.campaign.drains) set_up_drains();
  for (const auto& guest : one.campaign.guests) {
    for (const Json& definition : guest->choice()->kind().definitions()) {
      ask("POST", controllers::kDefinitionsPath, definition);
    }
    invariants.join(*guest);
    for (const Json& definition : guest->definitions()) ask("POST", controllers::kDefinitionsPath, definition);
    if (auto actors = guest->actors(hands())) actors_.push_back(std::move(actors));
  }
  for (const NodePlan& node : one.campaign.nodes) {
    wanted_[node.name] = node.labels;
    make(node.name);
    if (node.affinity_pod) make_pod(node.name);
  }
  for (const Edit& what : one.campaign.edits) {
    agenda_.at(io::Steady{what.at}, [this, &what] { edit(what); });
  }
  for (const Perturbation& what : one.perturbations) {
    if (what.trigger.kind != Trigger::Kind::at) continue;
    // At the very beginning there is nobody yet who could be hit.
    const bool hits_nobody = what.action == Action::forbid || what.action == Action::pause;
    if (what.trigger.at == io::Duration{0} && hits_nobody) {
      strike(what, {nullptr, nullptr, nullptr, "from the start"});
      continue;
    }
    agenda_.at(io::Steady{what.trigger.at}, [this, &what] {
      if (armed_) strike(what, {leader(), nullptr, nullptr, "at a time"});
    });
  }
  for (size_t i = 0; i < one.campaign.skews.size(); ++i) {
    auto replica = std::make_unique<Replica>();
    replica->name = fmt::format("careen-{}", i);
    replica->skew = one.campaign.skews[i];
    replicas_.push_back(std::move(replica));
    start(*replicas_.back());
  }
}

Stage::~Stage() {
  // The server still answers while processes go; nobody is interested any more.
  cluster->network.treat = nullptr;
  cluster->network.served = nullptr;
  cluster->outside.on_message = nullptr;
}

void Stage::note(std::string_view line) {
  if (timeline_) timeline_text += fmt::format("{:>10.3f}  {}\n", io::to_seconds(now()), line);
}

void Stage::start(Replica& replica) {
  const std::string name = fmt::format("{}.{}", replica.name.substr(0, replica.name.find('.')), ++replica.starts);
  replica.name = name;
  replica.dying = false;
  replica.suspended = false;
  replica.leads_since.reset();
  replica::ModelProcessOptions options;
  options.name = name;
  options.seed = case_.seed * 1000 + static_cast<uint64_t>(replica.starts * 10) + (replica.name[7] - '0');
  options.skew = replica.skew;
  options.cache_pods = case_.campaign.cache_pods;
  if (case_.campaign.drains) options.controllers = {nodemaintenance::kind().usual()};
  for (const auto& guest : case_.campaign.guests) options.controllers.push_back(guest->choice());
  if (timeline_)
    options.log = io::Log(std::make_shared<TimelineLog>([this](std::string_view line) { note(line); }, name), "");
  replica.process = std::make_unique<replica::ModelProcess>(time, *cluster, "", options);
  if (case_.campaign.asks) serve_webhooks(replica);
  write_config(replica);
  invariants.started(name, replica.process->replica().identity(), replica.skew);
  replica.process->replica().on_config = [this, &replica] { invariants.configured(replica.name, replica.settings); };
  note(fmt::format("{} starts", name));
}

void Stage::write_config(Replica& replica) {
  if (!replica.process) return;
  replica.settings = settings_;
  if (closed_ > 0) {
    for (Plan& plan : replica.settings.plans) plan.limit.max = plan.limit.percent = 0;
  }
  replica.settings.muted = muted_ > 0;
  replica.process->set_config(broken_ > 0 ? "profiles: [" : replica.settings.yaml());
}

// From now on it does nothing more; it is gone as soon as it can be destroyed.
void Stage::crash(Replica& replica, io::Duration restart_after) {
  if (replica.dying || !replica.process) return;
  replica.dying = true;
  invariants.repeats_are_fine();
  replica.process->suspend();
  lasts(restart_after);
  agenda_.soon([this, &replica, restart_after] {
    note(fmt::format("{} is dead", replica.name));
    replica.process.reset();
    later(restart_after, [this, &replica] {
      if (!replica.process) start(replica);
    });
  });
}

Stage::Replica* Stage::sender(std::string_view client) {
  for (const auto& replica : replicas_) {
    if (client.substr(0, client.find('/')) == replica->name) return replica.get();
  }
  return nullptr;
}

Stage::Replica* Stage::leader() {
  for (const auto& replica : replicas_) {
    if (replica->process && replica->process->replica().election().leading()) return replica.get();
  }
  return replicas_.front().get();
}

void Stage::lasts(io::Duration span) { faults_end_ = std::max(faults_end_, now() + span); }

void Stage::later(io::Duration span, std::function<void()> action) { agenda_.later(span, std::move(action)); }

// Something that runs for ever while time stands still.
void Stage::check_progress() {
  if (std::exchange(last_step_, time.now()) != time.now()) steps_ = 0;
  if (++steps_ > kMostSteps) invariants.violate("livelock", "careen does not come to rest");
  watch_queries();
}

void Stage::watch_queries() {
  const auto& queries = cluster->outside.queries();
  const auto known = queries.find(kQuery);
  if (known == queries.end() || known->second == queries_) return;
  queries_ = known->second;
  const double value = cluster->outside.values.at(kQuery);
  note(fmt::format("Prometheus answers {}", value));
  invariants.query_answered(value < kTooHigh, cluster->outside.latency);
}

void Stage::run_until(io::Duration when) {
  const auto ended = [this] {
    return std::any_of(replicas_.begin(), replicas_.end(), [](const auto& replica) {
      return replica->process && !replica->dying && replica->process->exit_code();
    });
  };
  agenda_.run_until(io::Steady{when}, {.stepped = [this] { check_progress(); },
                                       .over = [this] { return violated(); },
                                       .urgent = ended,
                                       .see_to_it = [this] { restart_ended(); }});
}

void Stage::restart_ended() {
  for (const auto& replica : replicas_) {
    if (!replica->process || replica->dying || !replica->process->exit_code()) continue;
    note(fmt::format("{} has ended by itself", replica->name));
    crash(*replica, kRestart);
  }
}

void Stage::observe(const sim::Change& change) {
  Replica* writer = std::string_view(kLockPath).ends_with("/" + change.name) ? sender(change.by) : nullptr;
  if (writer && !writer->leads_since) writer->leads_since = time.now();
  if (timeline_) {
    std::string what;
    if (change.collection == "/api/v1/nodes" && change.type != sim::Change::Type::deleted) {
      what = end_state(NodeFacts::read(*change.object));
      if (case_.campaign.drains) what = *change.object;
    } else if (kind_at(change.collection) || change.collection == "/api/v1/pods") {
      what = *change.object;
    } else if (change.name == "careen-ledger") {
      what = *change.object;
    }
    constexpr const char* kTypes[] = {"made", "changed", "deleted"};
    note(fmt::format("{} {} {}/{} {}", change.by, kTypes[static_cast<int>(change.type)],
                     change.collection.substr(change.collection.rfind('/') + 1), change.name, what));
  }
  invariants.changed(change);
  for (const auto& actors : actors_) actors->changed(change);
}

// Whether it is ready, too, where somebody beside profiles looks at that.
Json Stage::conditions_with(const char* health) const {
  const char* const ready = case_.campaign.guests.empty() ? "True" : health;
  return Json::array(
      {Json::object({{"type", "Healthy"}, {"status", health}}), Json::object({{"type", "Ready"}, {"status", ready}})});
}

Hands Stage::hands() {
  Hands hands;
  hands.later = [this](io::Duration after, std::function<void()> act) { later(after, std::move(act)); };
  hands.read = [this](std::string_view path) { return cluster->api.text(path); };
  hands.merge = [this](const std::string& path, const Json& patch) {
    if (cluster->api.text(path)) cluster->api.merge(path, patch, "people");
  };
  hands.put = [this](const std::string& path, const Json& object) { cluster->api.put(path, object, "people"); };
  hands.evict = [this](Hands::Eviction eviction) { evict(std::move(eviction)); };
  hands.cordon = [this](std::string_view node, bool cordoned) { set_cordon(std::string(node), cordoned); };
  return hands;
}

sim::Treatment Stage::treat(const sim::Sending& sending) {
  sim::Treatment treatment;
  treatment.before = draw_.between(milliseconds{1}, milliseconds{8});
  treatment.after = draw_.between(milliseconds{1}, milliseconds{8});
  treatment.stale = stale_;
  Replica* replica = sender(sending.client);
  if (!replica || replica->dying) {
    treatment.lost = true;
    return treatment;
  }
  const Target target = target_of(sending);
  if (replica->isolated_until && time.now() < *replica->isolated_until) treatment.lost = true;
  for (const auto& trouble : {outage_, target == Target::events ? event_trouble_ : std::nullopt}) {
    if (!trouble) continue;
    treatment.lost |= *trouble == 0;
    if (*trouble != 0) treatment.refuse = sim::ApiServer::refusal(*trouble, "Trouble");
  }
  if (const auto refused = stuck(sending)) treatment.refuse = refused;
  if (const Workload* moved = moved_by(sending); moved && moved->mover_denies && !treatment.refuse && !treatment.lost) {
    tell_mover(sending, *moved);
    treatment.refuse = sim::ApiServer::refusal(
        429, "TooManyRequests", "admission webhook \"move.example.com\" denied the request: it is being moved");
  }
  if (treatment.refuse) invariants.refused(sending, treatment.refuse->status);
  if (!sending.writes() || only_asks(sending)) return treatment;

  invariants.sent(sending);
  check_paused(sending, *replica);
  // Leases of nodes are renewed for as long as there is a maintenance.
  if (target != Target::lock && target != Target::events && target != Target::node_leases) last_write_ = now();
  ++writes[target];
  const int count = ++sent_[target], all = ++sent_[Target::any];
  if (timeline_)
    note(fmt::format("{} sends {} {} {}", sending.client, sending.request.method, sending.request.path,
                     target != Target::lock && target != Target::events ? sending.request.body : ""));
  for (size_t i = 0; armed_ && i < struck_.size(); ++i) {
    const Perturbation& what = case_.perturbations[i];
    const bool due = what.trigger.target == Target::any ? what.trigger.count == all
                                                        : what.trigger.target == target && what.trigger.count == count;
    if (struck_[i] || !due || what.trigger.kind != Trigger::Kind::before_write) continue;
    struck_[i] = true;
    strike(what, {replica, &sending, &treatment, fmt::format("before {} {}", sending.request.method, name_of(target))});
  }
  return treatment;
}

void Stage::served(const sim::Sending& sending, const kube::Response& response) {
  Replica* replica = sender(sending.client);
  if (replica) invariants.served(sending, response);
  // It passes the request on, which the budget refuses.
  if (const Workload* moved = moved_by(sending); moved && !moved->mover_denies) tell_mover(sending, *moved);
  if (!replica || !sending.writes() || only_asks(sending)) return;
  const Target target = target_of(sending);
  const int count = ++served_[target], all = ++served_[Target::any];
  for (size_t i = 0; armed_ && i < struck_.size(); ++i) {
    const Perturbation& what = case_.perturbations[i];
    const bool due = what.trigger.target == Target::any ? what.trigger.count == all
                                                        : what.trigger.target == target && what.trigger.count == count;
    if (struck_[i] || !due || what.trigger.kind != Trigger::Kind::after_write) continue;
    struck_[i] = true;
    strike(what, {replica, &sending, nullptr, fmt::format("after {} {}", sending.request.method, name_of(target))});
  }
}

void Stage::edit(const Edit& what) {
  switch (what.kind) {
    case Edit::Kind::label: {
      if (what.value.view().is_null()) {
        wanted_[what.node].erase(what.key);
      } else {
        wanted_[what.node][what.key] = std::string(*what.value.view().text());
      }
      return set(what.node, "labels", what.key, what.value);
    }
    case Edit::Kind::annotate:
      return set(what.node, "annotations", what.key, what.value);
    case Edit::Kind::remove:
      return cluster->api.erase(node_path(what.node), "people");
    case Edit::Kind::make:
      return make(what.node);
    case Edit::Kind::pod:
      return move_pod(what.node);
    case Edit::Kind::load:
      cluster->outside.values[kQuery] = static_cast<double>(*what.value.view().integer());
      return;
    case Edit::Kind::maintain:
      return maintain(what.key, what.node);
    case Edit::Kind::release:
      return release(what.key);
    case Edit::Kind::cordon:
    case Edit::Kind::uncordon:
      return set_cordon(what.node, what.kind == Edit::Kind::cordon);
    case Edit::Kind::budget:
      allowed_[what.key] = static_cast<int>(*what.value.view().integer());
      return set_budget(what.key, allowed_.at(what.key));
    case Edit::Kind::create:
      return ask("POST", what.key, what.value);
    case Edit::Kind::erase:
      return ask("DELETE", what.key, Json::object());
    case Edit::Kind::change:
      return ask("PATCH", what.key, what.value);
  }
}

void Stage::set(const std::string& node, std::string_view map, std::string_view key, Json value) {
  Json patch = Json::object();
  patch.set({"metadata", map, key}, std::move(value));
  cluster->api.merge(node_path(node), patch, "people");
}

void Stage::make(const std::string& node) {
  if (cluster->api.text(node_path(node))) return;
  if (case_.campaign.drains) return make_machine(node);
  Json object = Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
  for (const auto& [key, value] : wanted_[node]) object.set({"metadata", "labels", key}, value);
  object.set({"metadata", "annotations", "people.example/remark"}, "mine");
  object.set({"metadata", "finalizers"}, Json::array({"people.example/keep"}));
  object.set({"spec", "taints"},
             Json::array({Json::object({{"key", "people.example/pool"}, {"effect", "NoSchedule"}})}));
  object.set({"status", "conditions"}, conditions_with("True"));
  cluster->api.put(node_path(node), std::move(object), "people");
}

std::map<std::string, std::string> Stage::end_states() const {
  std::map<std::string, std::string> states;
  for (const NodePlan& node : case_.campaign.nodes) {
    const sim::Text text = cluster->api.text(node_path(node.name));
    if (!text) continue;
    NodeFacts facts = NodeFacts::read(*text);
    std::erase_if(facts.annotations, [this](const auto& one) { return guest_with(&Guest::owns, one.first); });
    states[node.name] = end_state(facts);
  }
  states.merge(MaintenanceWatch::ends(cluster->api));
  return states;
}

bool Stage::busy() const {
  return std::any_of(actors_.begin(), actors_.end(), [](const auto& actors) { return actors->busy(); });
}

double Stage::swept_late() {
  double late = 0;
  for (const auto& replica : replicas_) {
    if (replica->process) late += replica->process->replica().metrics().counter("careen_sweep_late_total", "").value();
  }
  return late;
}

void Stage::check_problems() {
  for (const auto& replica : replicas_) {
    if (!replica->process) continue;
    for (const auto& [key, problem] : replica->process->replica().problems().open()) {
      // A right to write events that is missing stays a problem until one has been written.
      if (key == "events" && events_forbidden_) continue;
      // Whether the right is there again shows when the next one is deleted.
      if (key == "delete leases of nodes" && !rightless_.empty()) continue;
      invariants.violate("problem", fmt::format("{} still has a problem: {}: {}", replica->name, key, problem));
    }
  }
}

bool Stage::guest_with(bool (Guest::*fact)(std::string_view) const, std::string_view name) const {
  const auto& guests = case_.campaign.guests;
  return std::any_of(guests.begin(), guests.end(), [&](const auto& guest) { return ((*guest).*fact)(name); });
}

void Stage::check_settled() {
  const Replica* leads = nullptr;
  for (const auto& replica : replicas_) {
    if (!replica->process) invariants.violate("idle", replica->name + " does not run");
    if (replica->process && replica->process->replica().election().leading()) leads = replica.get();
  }
  if (!leads) return invariants.violate("idle", "nobody leads");
  invariants.check_end();
  for (const auto& [uid, entry] : leads->process->replica().ledger().entries()) {
    if (guest_with(&Guest::claims, entry.admission.by)) continue;
    invariants.violate("ledger", fmt::format("{} still keeps a place for node {}", leads->name, entry.admission.node));
  }
  const auto check_left = [&](const auto& unfinished) {
    for (const auto& [what, count] : unfinished) {
      if (count > 0) invariants.violate("leak", fmt::format("{} still has {} {}", leads->name, count, what));
    }
  };
  check_left(profiles::controller_in(leads->process->replica().hosted())->unfinished());
  check_left(leads->process->replica().drains().unfinished());
  const sim::Text lease = cluster->api.text(kLedgerPath);
  const auto document = Json::parse(lease ? *lease : "null");
  const auto record = budget::LedgerRecord::parse(
      (*document)["metadata"]["annotations"][budget::Ledger::kAnnotation].text().value_or(""));
  const bool empty = record && std::all_of(record->admitted.begin(), record->admitted.end(), [this](const auto& one) {
                       return guest_with(&Guest::claims, one.second.by);
                     });
  if (!empty) {
    // One that somebody deleted is written again with the next admission; and who was given the lock back by hand finds
    // with it that another has written meanwhile.
    if (lease && !invariants.overtaken_unawares())
      invariants.violate("ledger", "the ledger is not empty in the end: " + *lease);
  }
}

}  // namespace careen::explore
