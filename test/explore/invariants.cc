#include "invariants.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/names.h"
#include "controllers/slot/kind.h"
#include "drain/holds.h"
#include "kube/lock_object.h"
#include "perturbation.h"
#include "replica/controllers.h"

namespace careen::explore {

using kube::Json;
using kube::JsonView;
using profiles::State;

namespace {

// From the start of the calm on, faults may still be felt for so long: pauses after failures, a new leader.
constexpr io::Duration kGrace = io::minutes{2};
// Between the time a wait is over and the write that says so.
constexpr io::Duration kPromptWrite = io::seconds{2};
constexpr std::string_view kPods = "/api/v1/pods";
constexpr std::string_view kBudgets = "/apis/policy/v1/poddisruptionbudgets";
// How old the facts can be that careen acts on: while all is well, and otherwise.
constexpr io::Duration kUsualLag = io::seconds{1};
constexpr io::Duration kLongestLag = io::minutes{5};
// A process that evicts has read the pod's node within this time.
constexpr io::Duration kNodeKnownFor = io::seconds{30};

// One that does not exist yet is named in the body only.
bool is_for_ledger(const kube::Request& request) {
  return request.path.starts_with(kLedgerPath) ||
         (request.method == "POST" && request.body.find("careen-ledger") != std::string::npos);
}

bool is_event(std::string_view path) { return path.find("/events") != std::string_view::npos; }

// Whose lock it is, as named in the path, or in the body when it is made.
const controllers::Kind& locked_by(const kube::Request& request) {
  for (const controllers::Kind* kind : replica::object_kinds()) {
    const bool named = request.path.find(kind->lock) != std::string::npos;
    if (named || request.body.find(kind->lock) != std::string::npos) return *kind;
  }
  return *replica::controller_kinds().front();
}

bool is_maintenance(std::string_view path) { return path.starts_with(kMaintenances); }

bool in_maintenance(const NodeFacts& node, std::string_view profile) {
  return node.state(profile) == State::in_maintenance;
}

}  // namespace

void Invariants::started(const std::string& process, const std::string& identity, io::Duration skew) {
  Process& known = processes_[process];
  known.identity = identity;
  known.clock.emplace_back(time_.now(), skew);
}

void Invariants::clock_stepped(const std::string& process, io::Duration skew) {
  processes_[process].clock.emplace_back(time_.now(), skew);
  messages_.clock_stepped(2 * kFurthestOff);
}

void Invariants::outbox_forged(const std::string& node) {
  const auto known = nodes_.find(node);
  if (known != nodes_.end()) messages_.forged(known->second.uid);
}

void Invariants::disturbed(io::Duration span) {
  disturbed_until_ = std::max(disturbed_until_, time_.now() + span + kGrace);
}

void Invariants::query_answered(bool allows, io::Duration latency) {
  answers_.push_back({time_.now() - (outside_slowed_ ? io::Duration{0} : latency), time_.now(), allows});
}

void Invariants::configured(const std::string& process, const Settings& settings) {
  processes_[process].history.emplace_back(time_.now(), settings);
  // Whichever of its incarnations it is.
  messages_.configured(process.substr(0, process.find('.')), settings.muted);
}

void Invariants::violate(std::string rule, std::string what) {
  violations_.push_back({time_.now().time_since_epoch(), std::move(rule), std::move(what)});
}

Invariants::Process* Invariants::process_of(std::string_view client) {
  if (client.ends_with(kLeaseConnection)) client.remove_suffix(kLeaseConnection.size());
  const auto it = processes_.find(client);
  return it == processes_.end() ? nullptr : &it->second;
}

void Invariants::sent(const sim::Sending& sending) {
  Process* process = process_of(sending.client);
  if (!process || !sending.writes() || is_event(sending.request.path)) return;
  if (sending.client.ends_with(kLeaseConnection)) {
    if (const auto object = Json::parse(sending.request.body)) {
      const controllers::Kind& kind = locked_by(sending.request);
      const auto record = kube::lock_object(kind.lock_kind).read(*object);
      auto& renewals = kind.has_objects() ? process->further[std::string(kind.lock)].renewals : process->renewals;
      renewals.emplace(record ? record->renew_time : "", time_.now());
    }
    return;
  }
  check_leadership(sending, *process);
  check_drain_sent(sending, *process);
  check_further_lock(sending, *process);
  if (sending.request.path.starts_with("/api/v1/nodes/")) check_recorded(sending, *process);
  if (sending.request.path.find("/leases") != std::string::npos) check_lease_recorded(sending, *process);
}

void Invariants::check_drain_sent(const sim::Sending& sending, Process& process) {
  const bool certain = time_.now() >= disturbed_until_;
  const io::Steady asked_for_node = std::max(process.resumed, time_.now() - kNodeKnownFor);
  drains_.sent(sending, {certain, time_.now() >= unseeing_until_, asked_for_node}, time_.now());
  if (!is_maintenance(sending.request.path)) return;
  if (const auto success = maintenances_.success_in(sending)) {
    check_drained(sending.client, success->node, success->owner);
  }
}

// What is a controller's own is written under its own lock.
void Invariants::check_further_lock(const sim::Sending& sending, Process& process) {
  const controllers::Kind* kind = kind_at(sending.request.path);
  if (!kind) return;
  const std::string lock(kind->lock), &holder = further_holders_[lock];
  const auto& renewed = process.further[lock].renewed;
  const bool tampered = lock_tampered_ && process.renewed && *lock_tampered_ >= *process.renewed;
  const bool late = !renewed || time_.now() - *renewed > kRenewDeadline;
  if (tampered || (!late && holder == process.identity)) return;
  violate("lease", fmt::format("{} sent {} {} while the lock of {} objects was {} \"{}\"", sending.client,
                               sending.request.method, sending.request.path, kind->object.kind,
                               late ? "not renewed by" : "held by", late ? process.identity : holder));
}

void Invariants::join(const Guest& guest) {
  guests_.push_back({guest, guest.watch(reporting(), [this] { return time_.now().time_since_epoch(); })});
}

bool Invariants::is_a_guests(std::string_view key) const {
  return std::any_of(guests_.begin(), guests_.end(), [&](const Joined& one) { return one.guest.owns(key); });
}

bool Invariants::is_written_for_guests(std::string_view collection) const {
  return std::any_of(guests_.begin(), guests_.end(), [&](const Joined& one) { return one.guest.writes(collection); });
}

Circumstances Invariants::circumstances(bool by_careen) const {
  const bool lost = lock_tampered_ || ledger_missing_ || ledger_back_ ||
                    std::any_of(processes_.begin(), processes_.end(), [this](const auto& process) {
                      return process.second.ledger_again || may_lack_ledger(process.second);
                    });
  return {.by_careen = by_careen,
          .exact = !lost,
          .informed = time_.now() >= unseeing_until_ && time_.now() >= disturbed_until_,
          .leads_since = lock_taken_.time_since_epoch()};
}

void Invariants::tell_guests(const sim::Change& change) {
  const Circumstances now = circumstances(process_of(change.by) != nullptr);
  for (const Joined& one : guests_) one.watch->changed(change, now);
}

void Invariants::evicted(const Evicted& what) {
  for (const Joined& one : guests_) one.watch->evicted(what, circumstances(false));
}

void Invariants::check_drained(const std::string& process, const std::string& node, std::string_view owner) {
  if (const auto since = holds_.held_since(node, owner)) return drains_.check_drained(process, node, *since);
  // Somebody may have deleted the node, which careen cannot know yet.
  const auto made = holds_.made_at(node);
  if (!made || time_.now() - *made < kUsualLag || time_.now() < disturbed_until_) return;
  violate("drained", fmt::format("{} says that node {} is drained although it does not hold it", process, node));
}

void Invariants::refused(const sim::Sending& sending, int code) {
  Process* process = process_of(sending.client);
  if (!process || !is_for_ledger(sending.request)) return;
  if (code != 403) return ledger_answered(*process);
  if (!process->ledger_refused) process->ledger_refused = time_.now();
}

bool Invariants::may_lack_ledger(const Process& process) const {
  const auto age = [&](io::Steady since) { return time_.now() - since; };
  return ledger_missing_ || (process.ledger_again && age(*process.ledger_again) < kUsualLag) ||
         (process.ledger_refused && age(*process.ledger_refused) >= kube::SteadyRefusal::kPatience);
}

void Invariants::ledger_answered(Process& process) {
  if (may_lack_ledger(process)) process.ledger_again = time_.now();
  process.ledger_refused.reset();
}

void Invariants::served(const sim::Sending& sending, const kube::Response& response) {
  Process* process = process_of(sending.client);
  if (!process) return;
  if (is_for_ledger(sending.request) && !sending.abandoned) ledger_answered(*process);
  drains_.served(sending, response, time_.now());
  // Refused now means refused for ever: a record that grows with the fleet must stop growing before.
  if (response.status == 422 && response.body.find("Too long") != std::string::npos) {
    violate("size", fmt::format("{} sent {} {}, which is too large: {}", sending.client, sending.request.method,
                                sending.request.path, response.body));
  }
}

// Nothing that depends on the time of day is decided, or sent, at the wrong time.
void Invariants::check_admission_sent(const sim::Sending& sending, Process& process, const NodeFacts& node,
                                      const std::string& name, const std::string& profile, io::Wall decided) {
  const Plan* plan = settings_at(process, decided_at(process, decided)).find(profile);
  if (!plan || node.state(profile) != State::maintenance_required) return;
  const io::Wall now = time_.wall_now() + process.skew();
  // A clock that is set back right after a decision makes that decision too early.
  const bool set_since = process.clock.back().first >= decided_at(process, decided);
  for (const io::Wall when : {decided, now}) {
    if (plan->hours.is_open(when) || (when == now && set_since)) continue;
    violate("hours", fmt::format("{} {} node {} into maintenance at {}, outside of its hours", sending.client,
                                 when == now ? "sent" : "decided", name, io::format_rfc3339(when)));
    return;
  }
}

void Invariants::changed(const sim::Change& change) {
  stagger_.check_left(time_.now(), time_.wall_now(), disturbed_until_);
  holds_.check_withdrawn(time_.now(), disturbed_until_);
  if (change.collection == kPods) {
    drains_.pod_changed(change, process_of(change.by) != nullptr, time_.now());
    tell_guests(change);
    return note_facts();
  }
  if (change.collection == kBudgets) drains_.budget_changed(change, time_.now());
  if (change.collection == kMaintenances) return maintenances_.changed(change, process_of(change.by) != nullptr);
  if (kind_at(change.collection) || is_written_for_guests(change.collection)) return tell_guests(change);
  if (change.collection == "/api/v1/nodes") {
    node_changed(change);
    tell_guests(change);
    return note_facts();
  }
  if (change.collection == "/apis/coordination.k8s.io/v1/leases") {
    if (std::string_view(kLedgerPath).ends_with("/" + change.name)) tell_guests(change);
    return lease_changed(change);
  }
  const auto locks = replica::leader_locks();
  const replica::HomeObject named{kube::LockKind::config_map, change.name};
  if (change.collection == "/api/v1/configmaps" && std::ranges::find(locks, named) != locks.end()) {
    return further_lock_changed(change, process_of(change.by), named.kind);
  }
  if (!process_of(change.by)) return;
  if (is_event(change.collection)) return events_.changed(change);
  if (change.collection == "/api/v1/namespaces" && change.name == kNodeLeases) return;
  violate("foreign",
          fmt::format("{} changed {}/{}, which is none of its business", change.by, change.collection, change.name));
}

void Invariants::node_changed(const sim::Change& change) {
  Process* process = process_of(change.by);
  if (!process) stagger_.edited(change.name, time_.now());
  if (change.type == sim::Change::Type::deleted) {
    if (process) violate("foreign", fmt::format("{} deleted node {}", change.by, change.name));
    if (const auto known = nodes_.find(change.name); known != nodes_.end()) {
      messages_.gone(known->second.uid);
      events_.gone(known->second.uid);
    }
    nodes_.erase(change.name);
    admitted_.erase(change.name);
    holds_.gone(change.name, time_.now());
    return;
  }
  NodeFacts after = NodeFacts::read(*change.object);
  messages_.seen(after);
  const auto known = nodes_.find(change.name);
  if (known == nodes_.end()) {
    if (process) violate("foreign", fmt::format("{} created node {}", change.by, change.name));
    holds_.made(change.name, after, time_.now());
    nodes_.emplace(change.name, std::move(after));
    return;
  }
  const NodeFacts before = std::exchange(known->second, std::move(after));
  const NodeFacts& now = known->second;
  if (process) node_written(change, *process, before, now);
  if (process) {
    const bool uncordons = std::any_of(settings_.plans.begin(), settings_.plans.end(), [&](const Plan& plan) {
      return plan.drain != Plan::Drain::none && in_maintenance(before, plan.name) && !in_maintenance(now, plan.name);
    });
    holds_.changed_by_careen(change.by, change.name, before, now, uncordons, time_.now());
  } else {
    holds_.changed_by_others(change.name, before, now);
  }
  for (const Plan& plan : settings_.plans) {
    holds_.withdrawn(change.name, fmt::format("profile/{}/begun", plan.name), !now.labelled(plan.go()), time_.now());
  }
  const auto remembered = [](const NodeFacts& node) {
    const auto text = [&](std::string_view key) {
      const auto found = node.annotations.find(key);
      return found == node.annotations.end() ? std::string() : found->second;
    };
    return std::tuple(node.label(profiles::kProfileLabel), text(profiles::kDataAnnotation),
                      text(profiles::kOutboxAnnotation));
  };
  if (!process && remembered(before) != remembered(now)) {
    messages_.altered(now);
    events_.rewritten(now.uid);
  }
  const auto entry = admitted_.find(change.name);
  if (entry == admitted_.end()) return;
  if (!in_maintenance(now, entry->second.profile)) {
    admitted_.erase(entry);
  } else if (!process) {
    entry->second.altered = true;
  }
}

void Invariants::node_written(const sim::Change& change, Process& process, const NodeFacts& before,
                              const NodeFacts& after) {
  check_untouched(change, before, after);
  const auto without_touch = [this](const NodeFacts& node) {
    auto annotations = node.annotations;
    auto labels = node.labels;
    annotations.erase(std::string(profiles::kTouchAnnotation));
    annotations.erase(std::string(profiles::kOutboxAnnotation));
    std::erase_if(annotations, [this](const auto& one) {
      return HoldWatch::concerns_annotation(one.first) || is_a_guests(one.first);
    });
    std::erase_if(labels,
                  [this](const auto& one) { return HoldWatch::concerns_label(one.first) || is_a_guests(one.first); });
    return std::pair(std::move(annotations), std::move(labels));
  };
  if (without_touch(before) == without_touch(after)) return;
  if (!before.data || !after.data) {
    return violate("data", fmt::format("{} wrote node {} although its data cannot be read", change.by, change.name));
  }
  State worst = State::operational;
  int entered = 0;
  for (const std::string& name : after.named_profiles()) {
    const Plan* plan = settings_.find(name);
    if (!plan) continue;
    if (!after.profile(name)) {
      violate("data", fmt::format("{} left no data of profile {} on node {}", change.by, name, change.name));
      continue;
    }
    worst = more_severe(worst, after.state(name).value_or(State::operational));
    entered += in_maintenance(after, name) && !in_maintenance(before, name);
  }
  for (const Plan& plan : settings_.plans) check_profile(change, process, plan, before, after);
  if (after.label(profiles::kStateLabel) != name_of(worst)) {
    violate("data", fmt::format("{} left node {} with the state label \"{}\" while its data say {}", change.by,
                                change.name, after.label(profiles::kStateLabel), name_of(worst)));
  }
  const auto named = after.named_profiles();
  if (entered > 0 && std::count_if(named.begin(), named.end(), [&](const auto& name) {
                       return settings_.find(name) && in_maintenance(after, name);
                     }) > 1) {
    violate("data", fmt::format("{} let two profiles of node {} into maintenance", change.by, change.name));
  }
}

namespace {

// What HoldWatch looks after.
void strip_holds(Json& document) {
  std::vector<std::string> labels, annotations;
  document["metadata"]["labels"].for_each_member([&](std::string_view key, JsonView) {
    if (HoldWatch::concerns_label(key)) labels.emplace_back(key);
  });
  document["metadata"]["annotations"].for_each_member([&](std::string_view key, JsonView) {
    if (HoldWatch::concerns_annotation(key)) annotations.emplace_back(key);
  });
  for (const std::string& key : labels) document.remove({"metadata", "labels", key});
  for (const std::string& key : annotations) document.remove({"metadata", "annotations", key});
  Json taints = Json::array();
  document["spec"]["taints"].for_each_element([&](JsonView taint) {
    if (!HoldWatch::concerns_taint(text_at(taint, "key"), text_at(taint, "effect"))) taints.push_back(Json(taint));
  });
  document.set({"spec", "taints"}, std::move(taints));
  document.remove({"spec", "unschedulable"});
}

// It waits for its drain: the triggers before it in the chain are written with the cordon, and their effects stay if it
// is withdrawn.
bool has_begun(const Plan& plan, const NodeFacts& node) {
  if (plan.drain != Plan::Drain::in_trigger) return false;
  const auto text = node.annotations.find(drain::kHoldsAnnotation);
  if (text == node.annotations.end()) return false;
  const auto holds = drain::Holds::parse(text->second);
  return holds && holds->by_owner.contains(fmt::format("profile/{}/begun", plan.name));
}

}  // namespace

// Outside careen's own keys and those of the triggers, nothing changes.
void Invariants::check_untouched(const sim::Change& change, const NodeFacts& before, const NodeFacts& after) {
  const auto stripped = [&](const NodeFacts& node) {
    Json document = node.document;
    for (const char* field : {"resourceVersion", "managedFields", "generation"}) document.remove({"metadata", field});
    document.remove({"metadata", "labels", profiles::kStateLabel});
    document.remove({"metadata", "annotations", profiles::kDataAnnotation});
    document.remove({"metadata", "annotations", profiles::kTouchAnnotation});
    document.remove({"metadata", "annotations", profiles::kOutboxAnnotation});
    Json finalizers = Json::array();
    document["metadata"]["finalizers"].for_each_element([&](JsonView finalizer) {
      const bool own = std::any_of(settings_.plans.begin(), settings_.plans.end(),
                                   [&](const Plan& plan) { return plan.guards && finalizer.text() == plan.guard(); });
      if (!own) finalizers.push_back(Json(finalizer));
    });
    document.set({"metadata", "finalizers"}, std::move(finalizers));
    strip_holds(document);
    for (const auto& [key, value] : node.labels) {
      if (is_a_guests(key)) document.remove({"metadata", "labels", key});
    }
    for (const auto& [key, value] : node.annotations) {
      if (is_a_guests(key)) document.remove({"metadata", "annotations", key});
    }
    for (const Plan& plan : settings_.plans) {
      if (plan.versions) document.remove({"metadata", "labels", kVersion});
      document.remove({"metadata", "labels", plan.busy()});
      document.remove({"metadata", "labels", plan.done()});
      document.remove({"metadata", "annotations", plan.mark()});
      document.remove({"metadata", "annotations", plan.note()});
    }
    if (document["metadata"]["annotations"].size() == 0) document.remove({"metadata", "annotations"});
    if (document["metadata"]["labels"].size() == 0) document.remove({"metadata", "labels"});
    return document;
  };
  const Json was = stripped(before), is = stripped(after);
  if (was == is) return;
  violate("foreign", fmt::format("{} changed what is not its own on node {}:\n    before {}\n    after  {}", change.by,
                                 change.name, was.dump(), is.dump()));
}

// Triggers fire with their transition, or when it begins with a drain that they stand before, and only then.
void Invariants::check_profile(const sim::Change& change, Process& process, const Plan& plan, const NodeFacts& before,
                               const NodeFacts& after) {
  const State from = before.state(plan.name).value_or(State::operational);
  const State to = after.state(plan.name).value_or(State::operational);
  const bool enters = to == State::in_maintenance && from != to;
  const bool named = [&] {
    const auto names = after.named_profiles();
    return std::find(names.begin(), names.end(), plan.name) != names.end();
  }();
  const bool leaves = named && from == State::in_maintenance && from != to;
  const auto expect = [&](const std::string& key, const auto& was, const auto& is, bool fires, const char* value) {
    const auto old = was.find(key), now = is.find(key);
    const std::string expected = fires ? value : old == was.end() ? "" : old->second;
    if ((now == is.end() ? "" : now->second) == expected) return;
    violate("trigger", fmt::format("{} left {}=\"{}\" on node {} where \"{}\" was expected", change.by, key,
                                   now == is.end() ? "" : now->second, change.name, expected));
  };
  const bool begun = has_begun(plan, after);
  // Where somebody has forged the record, nobody can tell whether it has.
  const bool can_tell = plan.drain != Plan::Drain::in_trigger || !holds_.is_forged(change.name);
  if (can_tell) expect(plan.busy(), before.labels, after.labels, enters || leaves || begun, leaves ? "" : "yes");
  expect(plan.done(), before.labels, after.labels, leaves && !plan.versions, "yes");
  if (plan.versions) expect(kVersion, before.labels, after.labels, leaves, kNewVersion);
  if (can_tell) check_guard(change, plan, before, after, enters || begun, leaves);
  expect(plan.note(), before.annotations, after.annotations, leaves, "yes");
  const auto* was = before.profile(plan.name);
  const auto* is = after.profile(plan.name);
  const auto pending = [](const profiles::ProfileData* data) {
    return data && data->current.known() == State::in_maintenance && data->previous != data->current;
  };
  const bool entered = named && pending(was) && !pending(is);
  const bool marked = plan.marks && entered;
  if (plan.drain == Plan::Drain::in_enter && entered && to == State::in_maintenance) {
    check_drained(change.by, change.name, "profile/");
  }
  expect(plan.mark(), before.annotations, after.annotations, marked, "yes");
  if (plan.marks && leaves && !after.annotations.contains(plan.mark())) {
    violate("trigger",
            fmt::format("{} let node {} out of maintenance before its enter chain has run", change.by, change.name));
  }
  if (named && from != to) check_move(change, process, plan, before, after);
}

void Invariants::check_guard(const sim::Change& change, const Plan& plan, const NodeFacts& before,
                             const NodeFacts& after, bool enters, bool leaves) {
  const auto guarded = [&](const NodeFacts& node) {
    bool found = false;
    node.document["metadata"]["finalizers"].for_each_element(
        [&](JsonView finalizer) { found |= finalizer.text() == plan.guard(); });
    return found;
  };
  const bool expected = plan.guards && (enters || (!leaves && guarded(before)));
  if (guarded(after) != expected) {
    violate("trigger", fmt::format("{} left node {} {} the finalizer {}", change.by, change.name,
                                   expected ? "without" : "with", plan.guard()));
  }
}

// A transition follows an edge whose checks hold.
void Invariants::check_move(const sim::Change& change, Process& process, const Plan& plan, const NodeFacts& before,
                            const NodeFacts& after) {
  const State from = *before.state(plan.name), to = *after.state(plan.name);
  const io::Wall decided = after.profile(plan.name)->transition;
  const auto* was = before.profile(plan.name);
  const bool wanted = before.labelled(plan.go());
  const auto blame = [&](std::string_view why) {
    violate("transition",
            fmt::format("{} moved node {} from {} to {} {}", change.by, change.name, name_of(from), name_of(to), why));
  };
  ++transitions_;
  events_.moved(after.uid, plan.name, name_of(to));
  const io::Steady decided_then = decided_at(process, decided);
  // As it was configured when that was decided.
  const Settings& in_force = settings_at(process, decided_then);
  const Plan& planned = *in_force.find(plan.name);
  if (!in_force.muted) messages_.moved(planned, before, after);
  const auto staggered = [&] {
    const bool urgent = planned.stagger->or_urgent && before.labelled(kUrgent);
    stagger_.moved(change.name, *planned.stagger, decided, urgent);
  };
  if (from == State::operational) {
    if (to != State::maintenance_required) return blame("although there is no such transition");
    if (!wanted || (!plan.versions && before.labelled(plan.done()))) blame("although nobody asked for it");
    if (plan.versions && (before.label(kVersion) != kOldVersion || largest("newest", decided_then) == 0)) {
      blame("although none has a newer version");
    }
    if (planned.stagger && planned.stagger->at_request) staggered();
    return;
  }
  if (from == State::maintenance_required && to == State::operational) {
    if (wanted) blame("although it is wanted");
    return;
  }
  const io::Duration wait = to == State::in_maintenance ? plan.notice : plan.stay;
  if (wait > io::Duration{0} && decided <= was->transition + wait) return blame("before its wait was over");
  if (to == State::in_maintenance) {
    if (!wanted) blame("although it was called off");
    if (planned.stagger && !planned.stagger->at_request) staggered();
    check_surroundings(change, process, planned, decided_then);
    if (plan.drain == Plan::Drain::in_trigger) {
      check_drained(change.by, change.name, "profile/");
    }
    return admit(change, process, planned, after);
  }
  if (to != State::operational) return blame("although there is no such transition");
  if (plan.healthy) {
    const auto status = before.document["status"]["conditions"][size_t{0}]["status"].text();
    if (status != "True") blame("although it is not healthy");
  }
  // A drain on entering takes as long as it takes.
  if (plan.drain == Plan::Drain::in_enter) return;
  // The leader's clock may be off; it is the one that counts.
  const io::Wall due = was->transition + plan.stay - process.skew();
  const io::Duration late = time_.wall_now() - due;
  const bool due_in_calm = calm_since_ && time_.now() - late > *calm_since_ + kGrace;
  if (due_in_calm && late > kPromptWrite) blame(fmt::format("{} after its wait was over", io::format_duration(late)));
}

// What is true of the cluster, or was a moment ago.
void Invariants::check_surroundings(const sim::Change& change, Process& process, const Plan& plan, io::Steady decided) {
  const auto blame = [&](std::string_view why) {
    violate("surroundings", fmt::format("{} let node {} into maintenance {}", change.by, change.name, why));
  };
  if (plan.least_nodes > 0 && largest("nodes", decided) < plan.least_nodes) blame("although nodes are missing");
  if (plan.unless_frozen && largest("thawed", decided) == 0) blame("although a node has the label that forbids it");
  if (plan.affinity && largest(fmt::format("first {} {}", plan.name, change.name), decided) == 0) {
    blame("although others go first");
  }
  if (plan.calm) check_observed(change, process, decided);
}

// Each transition has an answer of its own, asked for when the one before had happened.
void Invariants::check_observed(const sim::Change& change, Process& process, io::Steady decided) {
  const io::Duration age = kRequeue + io::seconds{outside_slowed_ ? 12 : 1};
  const bool found = std::any_of(answers_.begin(), answers_.end(), [&](const Answer& answer) {
    return answer.allows && answer.answered <= decided && decided - answer.answered <= age &&
           (!process.last_observed || answer.asked >= *process.last_observed);
  });
  if (!found) {
    violate("observed", fmt::format("{} let node {} into maintenance on a value that is old, used or too high",
                                    change.by, change.name));
  }
  process.last_observed = time_.now();
}

const Settings& Invariants::settings_at(const Process& process, io::Steady when) const {
  const Settings* in_force = process.history.empty() ? &settings_ : &process.history.front().second;
  for (const auto& [since, settings] : process.history) {
    if (since <= when) in_force = &settings;
  }
  return *in_force;
}

// By the clock as it was set then: the latest moment that fits.
io::Steady Invariants::decided_at(const Process& process, io::Wall decided) const {
  io::Steady at{};
  for (auto clock = process.clock.rbegin(); clock != process.clock.rend(); ++clock) {
    at = time_.now() - (time_.wall_now() + clock->second - decided);
    if (at >= clock->first && at <= time_.now()) break;
  }
  return at;
}

int Invariants::largest(std::string_view fact, io::Steady decided) const {
  const io::Duration lag = time_.now() < disturbed_until_ ? kLongestLag : kUsualLag;
  return facts_.largest(fact, decided - lag, decided);
}

bool Invariants::has_affinity_pod(std::string_view node) const { return api_.text(pod_path(node)) != nullptr; }

void Invariants::note_facts() {
  const auto set = [this](const std::string& fact, int value) { facts_.set(fact, value, time_.now()); };
  const auto count = [this](const auto& counts) {
    return static_cast<int>(std::count_if(nodes_.begin(), nodes_.end(), counts));
  };
  set("nodes", static_cast<int>(nodes_.size()));
  const auto any_plan = [this](auto asks) { return std::any_of(settings_.plans.begin(), settings_.plans.end(), asks); };
  if (any_plan([](const Plan& plan) { return plan.unless_frozen; })) {
    set("thawed", count([](const auto& node) { return node.second.labelled(kFreeze); }) == 0);
  }
  if (any_plan([](const Plan& plan) { return plan.versions; })) {
    set("newest", count([](const auto& node) { return node.second.label(kVersion) == kNewVersion; }));
  }
  for (const Plan& plan : settings_.plans) {
    const auto has_plan = [&](const NodeFacts& node) {
      const auto names = node.named_profiles();
      return node.labelled(profiles::kProfileLabel) && std::find(names.begin(), names.end(), plan.name) != names.end();
    };
    // Looked at only for percentages, and dear to count in a large fleet.
    for (const char* zone : {"", "z1", "z2", "z3"}) {
      if (plan.limit.percent == 0) break;
      const auto in_zone = [&](const NodeFacts& node) { return !*zone || node.label(kZone) == zone; };
      set(fmt::format("size {}", zone), count([&](const auto& node) { return in_zone(node.second); }));
      set(fmt::format("size {} {}", zone, plan.name),
          count([&](const auto& node) { return in_zone(node.second) && has_plan(node.second); }));
    }
    if (!plan.affinity) continue;
    const auto is = [&](const NodeFacts& node, State state) {
      return node.profile(plan.name) && node.state(plan.name) == state;
    };
    const int operational = count([&](const auto& node) { return is(node.second, State::operational); });
    const auto blocks = [&](const auto& node) {
      return is(node.second, State::maintenance_required) && !has_affinity_pod(node.first);
    };
    const int blockers = count(blocks);
    for (const auto& node : nodes_) {
      const bool first = (plan.min_operational > 0 && operational >= plan.min_operational) ||
                         !has_affinity_pod(node.first) || blockers == 0;
      set(fmt::format("first {} {}", plan.name, node.first), first);
    }
  }
}

}  // namespace careen::explore
