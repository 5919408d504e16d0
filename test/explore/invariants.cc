#include "invariants.h"

#include <fmt/format.h>

#include <algorithm>

#include "budget/ledger.h"
#include "profiles/names.h"

namespace careen::explore {

using kube::Json;
using kube::JsonView;
using profiles::State;

namespace {

constexpr io::Duration kRenewDeadline = io::seconds{10};
constexpr io::Duration kLeaseDuration = io::seconds{15};
// From the start of the calm on, faults may still be felt for so long: pauses after failures, a new leader.
constexpr io::Duration kGrace = io::minutes{2};
// Between the time a wait is over and the write that says so.
constexpr io::Duration kPrompt = io::seconds{2};
constexpr std::string_view kLeaseConnection = "/lease";

std::string text_at(JsonView object, std::string_view key) { return std::string(object[key].text().value_or("")); }

std::optional<budget::LedgerRecord> ledger_in(const sim::Text& lease) {
  if (!lease) return std::nullopt;
  const auto document = Json::parse(*lease);
  if (!document) return std::nullopt;
  const auto record = budget::LedgerRecord::parse(
      (*document)["metadata"]["annotations"][budget::Ledger::kAnnotation].text().value_or(""));
  if (!record) return std::nullopt;
  return *record;
}

bool is_event(std::string_view path) { return path.find("/events") != std::string_view::npos; }

bool in_maintenance(const NodeFacts& node, std::string_view profile) {
  return node.state(profile) == State::in_maintenance;
}

}  // namespace

void Invariants::started(const std::string& process, const std::string& identity, io::Duration skew) {
  Process& known = processes_[process];
  known.identity = identity;
  known.skew = skew;
}

void Invariants::configured(const std::string& process, const Settings& settings) {
  processes_[process].history.emplace_back(time_.now(), settings);
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
    if (const auto lease = Json::parse(sending.request.body)) {
      process->renewals.emplace(text_at((*lease)["spec"], "renewTime"), time_.now());
    }
    return;
  }
  check_leadership(sending, *process);
  if (sending.request.path.starts_with("/api/v1/nodes/")) check_recorded(sending, *process);
}

// Nothing is sent under a lease that may have ended, and everything is over before another can hold it.
void Invariants::check_leadership(const sim::Sending& sending, Process& process) {
  const auto blame = [&](std::string why) {
    violate("lease",
            fmt::format("{} sent {} {} {}", sending.client, sending.request.method, sending.request.path, why));
  };
  if (!process.renewed) return blame("without ever having held the lock");
  const io::Duration age = time_.now() - *process.renewed;
  if (age > kRenewDeadline) return blame(fmt::format("{} after its last renewal", io::format_duration(age)));
  if (age + sending.request.timeout > kLeaseDuration) {
    return blame(fmt::format("with a time-out of {}, {} after its last renewal",
                             io::format_duration(sending.request.timeout), io::format_duration(age)));
  }
  // Who takes the lock away by hand does so without the holder's knowing.
  if (lock_tampered_ && *lock_tampered_ >= *process.renewed) return;
  if (lock_holder_ != process.identity) blame(fmt::format("while the lock was held by \"{}\"", lock_holder_));
}

// An admission is in the ledger before the node is written.
void Invariants::check_recorded(const sim::Sending& sending, Process& process) {
  const auto patch = Json::parse(sending.request.body);
  if (!patch || sending.request.method != "PATCH") return;
  const auto data = (*patch)["metadata"]["annotations"][profiles::kDataAnnotation].text();
  if (!data) return;
  const std::string path = sending.request.path.substr(0, sending.request.path.find('?'));
  const auto node = nodes_.find(path.substr(path.rfind('/') + 1));
  const auto wanted = profiles::parse_node_data(*data);
  if (node == nodes_.end() || !wanted) return;
  const std::string version = text_at((*patch)["metadata"], "resourceVersion");
  if (!version.empty() && version != text_at(node->second.document["metadata"], "resourceVersion")) return;
  for (const auto& [profile, entry] : wanted->profiles) {
    if (entry.current.known() != State::in_maintenance || in_maintenance(node->second, profile)) continue;
    const auto ledger = ledger_in(api_.text(kLedgerPath));
    if (ledger_missing_ || (ledger && ledger->writer != process.identity)) continue;
    if (!ledger || !ledger->admitted.contains(node->second.uid)) {
      violate("ledger", fmt::format("{} writes node {} into maintenance before that is in the ledger", sending.client,
                                    node->first));
    }
  }
}

void Invariants::changed(const sim::Change& change) {
  if (change.collection == "/api/v1/nodes") return node_changed(change);
  if (change.collection == "/apis/coordination.k8s.io/v1/leases") return lease_changed(change);
  if (!process_of(change.by)) return;
  if (is_event(change.collection)) return event_changed(change);
  violate("foreign",
          fmt::format("{} changed {}/{}, which is none of its business", change.by, change.collection, change.name));
}

void Invariants::node_changed(const sim::Change& change) {
  Process* process = process_of(change.by);
  if (change.type == sim::Change::Type::deleted) {
    if (process) violate("foreign", fmt::format("{} deleted node {}", change.by, change.name));
    nodes_.erase(change.name);
    admitted_.erase(change.name);
    return;
  }
  NodeFacts after = NodeFacts::read(*change.object);
  const auto known = nodes_.find(change.name);
  if (known == nodes_.end()) {
    if (process) violate("foreign", fmt::format("{} created node {}", change.by, change.name));
    nodes_.emplace(change.name, std::move(after));
    return;
  }
  const NodeFacts before = std::exchange(known->second, std::move(after));
  const NodeFacts& now = known->second;
  if (process) node_written(change, *process, before, now);
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
  const bool same_labels = before.labels == after.labels;
  const auto without_touch = [](const NodeFacts& node) {
    auto annotations = node.annotations;
    annotations.erase(std::string(profiles::kTouchAnnotation));
    return annotations;
  };
  if (same_labels && without_touch(before) == without_touch(after)) return;
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

// Outside careen's own keys and those of the triggers, nothing changes.
void Invariants::check_untouched(const sim::Change& change, const NodeFacts& before, const NodeFacts& after) {
  const auto stripped = [&](const NodeFacts& node) {
    Json document = node.document;
    for (const char* field : {"resourceVersion", "managedFields", "generation"}) document.remove({"metadata", field});
    document.remove({"metadata", "labels", profiles::kStateLabel});
    document.remove({"metadata", "annotations", profiles::kDataAnnotation});
    document.remove({"metadata", "annotations", profiles::kTouchAnnotation});
    for (const Plan& plan : settings_.plans) {
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

// Triggers fire with their transition, and only then.
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
  expect(plan.busy(), before.labels, after.labels, enters || leaves, enters ? "yes" : "");
  expect(plan.done(), before.labels, after.labels, leaves, "yes");
  expect(plan.note(), before.annotations, after.annotations, leaves, "yes");
  const auto* was = before.profile(plan.name);
  const auto* is = after.profile(plan.name);
  const auto pending = [](const profiles::ProfileData* data) {
    return data && data->current.known() == State::in_maintenance && data->previous != data->current;
  };
  const bool marked = plan.marks && named && pending(was) && !pending(is);
  expect(plan.mark(), before.annotations, after.annotations, marked, "yes");
  if (named && from != to) check_move(change, process, plan, before, after);
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
  moved_.insert(fmt::format("{} {} {}", after.uid, plan.name, name_of(to)));
  if (from == State::operational) {
    if (to != State::maintenance_required) return blame("although there is no such transition");
    if (!wanted || before.labelled(plan.done())) blame("although nobody asked for it");
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
    return admit(change, process, plan, after);
  }
  if (to != State::operational) return blame("although there is no such transition");
  // The leader's clock may be off; it is the one that counts.
  const io::Wall due = was->transition + plan.stay - process.skew;
  const io::Duration late = time_.wall_now() - due;
  const bool due_in_calm = calm_since_ && time_.now() - late > *calm_since_ + kGrace;
  if (due_in_calm && late > kPrompt) blame(fmt::format("{} after its wait was over", io::format_duration(late)));
}

const Limit& Invariants::limit_at(const Process& process, std::string_view profile, io::Steady when) const {
  const Settings* in_force = &settings_;
  for (const auto& [since, settings] : process.history) {
    if (since <= when) in_force = &settings;
  }
  return in_force->find(profile)->limit;
}

void Invariants::admit(const sim::Change& change, Process& process, const Plan& plan, const NodeFacts& after) {
  const io::Wall since = after.profile(plan.name)->transition;
  const io::Steady decided = time_.now() - (time_.wall_now() + process.skew - since);
  // What was in a ledger that somebody deleted, the next leader does not know; that is the price of deleting it.
  const bool forgotten = ledger_missing_ || (ledger_back_ && decided <= *ledger_back_);
  if (forgotten && ledger_writer_ != process.identity) return;
  admitted_[change.name] = {plan.name,          change.by, decided, since, limit_at(process, plan.name, decided),
                            after.label(kZone), false};
  check_limits();
}

bool Invariants::counts_for(const Admitted& asking, const std::string& node, const Admitted& other) const {
  if (&asking == &other || other.altered || other.decided > asking.decided) return false;
  // In the same instant: whichever of two profiles came first, the limit of the first did not count the second.
  if (other.decided == asking.decided && other.profile != asking.profile) return false;
  const NodeFacts& facts = nodes_.find(node)->second;
  if (asking.limit.by_zone && !asking.zone.empty() && facts.label(kZone) != asking.zone) return false;
  if (asking.limit.own_profile) {
    const auto names = facts.named_profiles();
    if (!facts.labelled(profiles::kProfileLabel)) return false;
    if (std::find(names.begin(), names.end(), asking.profile) == names.end()) return false;
  }
  // A limit on one profile that forgets takes the age from that profile, also of a node another one keeps.
  if (asking.limit.skip_after > io::Duration{0} && asking.limit.own_profile && other.profile != asking.profile) {
    return false;
  }
  return asking.limit.skip_after <= io::Duration{0} || other.since + asking.limit.skip_after > asking.since;
}

// Whoever is in maintenance was let in while those let in before, and still there, left a place. Late writes arrive
// in any order, so everybody is looked at again.
void Invariants::check_limits() {
  for (const auto& [name, asking] : admitted_) {
    if (asking.altered) continue;
    int others = 0, max = asking.limit.max;
    std::string who;
    for (const auto& [node, other] : admitted_) {
      if (!counts_for(asking, node, other)) continue;
      ++others;
      who += fmt::format(" {} (let in by {} at {})", node, other.process,
                         io::format_duration(other.decided.time_since_epoch()));
      // Decided in the same instant, perhaps on both sides of a change of the limit.
      if (other.decided == asking.decided && other.profile == asking.profile) max = std::max(max, other.limit.max);
    }
    if (others < max) continue;
    violate("limit", fmt::format("node {} was let into maintenance by {} at {} over a limit of {}, with{}", name,
                                 asking.process, io::format_duration(asking.decided.time_since_epoch()), max, who));
    return;
  }
}

void Invariants::lease_changed(const sim::Change& change) {
  Process* process = process_of(change.by);
  const bool lock = change.name == std::string_view(kLockPath).substr(std::string_view(kLockPath).rfind('/') + 1);
  const bool deleted = change.type == sim::Change::Type::deleted;
  if (!lock && change.name == "careen-ledger") return ledger_changed(change);
  if (!lock || (process && (deleted || !change.by.ends_with(kLeaseConnection)))) {
    if (process) violate("foreign", fmt::format("{} changed lease {}", change.by, change.name));
    return;
  }
  const auto lease = Json::parse(*change.object);
  const JsonView spec = (*lease)["spec"];
  lock_holder_ = deleted ? "" : text_at(spec, "holderIdentity");
  if (!process || lock_holder_ != process->identity) return;
  const auto sent = process->renewals.find(text_at(spec, "renewTime"));
  if (sent != process->renewals.end()) process->renewed = sent->second;
  process->renewals.clear();
}

// The ledger goes from leader to leader, with a higher epoch each time.
void Invariants::ledger_changed(const sim::Change& change) {
  Process* process = process_of(change.by);
  if (!process) return;
  if (change.type == sim::Change::Type::deleted) {
    return violate("foreign", fmt::format("{} deleted the ledger", change.by));
  }
  const auto is = ledger_in(change.object);
  if (!is) return violate("ledger", fmt::format("{} wrote a ledger that cannot be read", change.by));
  ledger_writer_ = is->writer;
  if (std::exchange(ledger_missing_, false)) ledger_back_ = time_.now();
  if (is->writer != process->identity) violate("ledger", fmt::format("{} wrote in the name of another", change.by));
  const auto was = ledger_in(change.before);
  if (!was) return;
  if (was->writer != is->writer ? is->epoch <= was->epoch : is->epoch < was->epoch) {
    violate("ledger",
            fmt::format("{} wrote epoch {} over epoch {} of {}", change.by, is->epoch, was->epoch, was->writer));
  }
}

// An event tells of what has happened.
void Invariants::event_changed(const sim::Change& change) {
  if (change.type == sim::Change::Type::deleted) return;
  const auto event = Json::parse(*change.object);
  const std::string note = text_at(event->view(), "message");
  constexpr std::string_view kBegin = "The node is now in the ", kMiddle = " state caused by profile ";
  const size_t middle = note.find(kMiddle);
  if (!note.starts_with(kBegin) || middle == std::string::npos) return;
  const std::string state = note.substr(kBegin.size(), middle - kBegin.size());
  const std::string key =
      fmt::format("{} {} {}", text_at((*event)["involvedObject"], "uid"), note.substr(middle + kMiddle.size()), state);
  if (!moved_.contains(key)) {
    violate("event", fmt::format("{} tells of what has not happened to node {}: {}", change.by,
                                 text_at((*event)["involvedObject"], "name"), note));
  }
}

}  // namespace careen::explore
