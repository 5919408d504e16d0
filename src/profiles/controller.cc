#include "profiles/controller.h"

#include <algorithm>

#include "kube/decode.h"
#include "kube/json.h"
#include "profiles/data.h"
#include "profiles/names.h"

namespace careen::profiles {

using io::Task;

namespace {
constexpr io::Duration kSettleRetry = io::seconds{1};
constexpr io::Duration kSweepPatience = io::milliseconds{10};
constexpr std::string_view kWriteProblem = "write nodes";

bool wants_details(const kube::Node& node) {
  const kube::Atom* details = node.label(kLogDetailsLabel);
  return details && *details == "true";
}

// Nothing but our own touch has changed: there is nothing new to decide.
bool only_touched(const kube::Node& before, const kube::Node& after) {
  const std::string* const touched = after.annotation(kTouchAnnotation);
  const std::string* const known = before.annotation(kTouchAnnotation);
  if (!touched || (known && *known == *touched)) return false;
  const auto without_touch = [](kube::Node node) {
    std::erase_if(node.annotations, [](const auto& item) { return item.first.view() == kTouchAnnotation; });
    return node;
  };
  return before.uid == after.uid && without_touch(before).same_facts(without_touch(after));
}
}  // namespace

struct Controller::Meters {
  explicit Meters(io::Metrics& m)
      : metrics(m),
        reconcile_time(m.histogram("controller_runtime_reconcile_time_seconds", "Time of one decision.",
                                   {0.00001, 0.0001, 0.001, 0.01, 0.1, 1}, {{"controller", "node"}})),
        queue_depth(m.gauge("workqueue_depth", "Keys that are due.", {{"name", "node"}})),
        queue_wait(m.histogram("workqueue_queue_duration_seconds", "How long keys were due before their turn.",
                               {0.0001, 0.001, 0.01, 0.1, 1, 10, 60}, {{"name", "node"}})),
        late(m.counter("careen_sweep_late_total", "Decisions that only the slow sweep found; it should stay zero.")) {
    for (const char* result : {"success", "error"}) reconciles(result);
    errors();
  }
  io::Counter& reconciles(const std::string& result) {
    return metrics.counter("controller_runtime_reconcile_total", "Decisions by result.",
                           {{"controller", "node"}, {"result", result}});
  }
  io::Counter& errors() {
    return metrics.counter("controller_runtime_reconcile_errors_total", "Decisions with a failing plugin.",
                           {{"controller", "node"}});
  }
  io::Counter& failures(const std::string& profile) {
    return metrics.counter("maintenance_controller_transition_failure_count",
                           "Failures while a profile was being processed.", {{"profile", profile}});
  }
  io::Counter& transitions(const Moved& moved) {
    return metrics.counter("careen_transitions_total", "State changes that were written.",
                           {{"profile", moved.profile}, {"to", std::string(name_of(moved.to))}});
  }
  io::Counter& writes(const std::string& outcome) {
    return metrics.counter("careen_node_writes_total", "Node writes by outcome.", {{"outcome", outcome}});
  }
  io::Metrics& metrics;
  io::Histogram& reconcile_time;
  io::Gauge& queue_depth;
  io::Histogram& queue_wait;
  io::Counter& late;
};

Controller::Controller(ControllerParts parts, ControllerOptions options)
    : p_(std::move(parts)),
      options_(options),
      occupancy_(p_.nodes, p_.ledger),
      queue_(p_.loop),
      slots_(p_.loop, options.writes_in_flight),
      configured_(p_.loop),
      meters_(std::make_unique<Meters>(p_.metrics)),
      acting_(p_.loop) {
  p_.nodes.subscribe([this](const kube::Node* before, const kube::Node* after) { node_changed(before, after); });
}

Controller::~Controller() = default;

void Controller::set_config(std::shared_ptr<const Config> config) {
  config_ = std::move(config);
  occupancy_.rebuild(*config_);
  waiters_.clear();
  alarms_.clear();
  p_.nodes.for_each([&](const kube::Node& node) { queue_.wake(node.name); });
  configured_.open();
}

void Controller::node_changed(const kube::Node* before, const kube::Node* after) {
  if (before && after && only_touched(*before, *after)) return;
  const std::string& name = after ? after->name : before->name;
  // A late write cannot reach a node that is gone, nor one made anew under its name: it names another version.
  if (before && (!after || after->uid != before->uid)) p_.ledger.finish(before->uid);
  if (config_) refresh_occupancy(name);
  queue_.wake(name);
}

void Controller::refresh_occupancy(std::string_view node) {
  const Occupancy::Changes changes = occupancy_.update(node, *config_);
  for (const Scope& scope : changes.left) {
    for (const BudgetKey& key : waiters_.waited_for(scope)) offer(key);
  }
  for (const auto* scopes : {&changes.left, &changes.joined, &changes.altered}) {
    for (const Scope& scope : *scopes) {
      for (const BudgetKey& key : waiters_.waited_for(scope)) follow_age(key);
    }
  }
  for (const Scope& scope : changes.joined) {
    for (const std::string& waiting : waiters_.waiting_for_rise(scope)) queue_.wake(waiting);
  }
}

void Controller::offer(const BudgetKey& key) {
  const BudgetUse use = measure(occupancy_, key, p_.loop.wall_now());
  for (const std::string& node : waiters_.offer(key, key.max - use.used)) queue_.wake(node);
}

// A maintenance that grows too old to count frees its place without any change in the cluster.
void Controller::follow_age(const BudgetKey& key) {
  if (key.skip_after <= io::Duration{0} || waiters_.waiting(key) == 0) return;
  const BudgetUse use = measure(occupancy_, key, p_.loop.wall_now());
  if (!use.free_at) return;
  auto& alarm = alarms_[key];
  if (!alarm) {
    alarm = std::make_unique<io::Alarm>(p_.loop, [this, key] {
      offer(key);
      follow_age(key);
    });
  }
  alarm->set(steady(*use.free_at));
}

io::Steady Controller::steady(io::Wall when) const {
  const io::Wall now = p_.loop.wall_now();
  return p_.loop.now() + std::max(io::Duration{0}, std::min(when, io::add(now, io::hours{24 * 365})) - now);
}

Task<void> Controller::run() {
  co_await configured_.wait();
  occupancy_.rebuild(*config_);
  acting_.spawn(settle_all_inherited());
  acting_.spawn(sweep());
  while (!stopping_) {
    const std::string key = co_await queue_.next();
    if (stopping_) {
      queue_.done(key);
      break;
    }
    meters_->queue_wait.observe(io::to_seconds(queue_.last_wait()));
    meters_->queue_depth.set(static_cast<double>(queue_.depth()));
    decide_one(key);
  }
}

Task<void> Controller::stop() {
  stopping_ = true;
  queue_.clear();
  while (queue_.working() > 0) co_await io::sleep_for(p_.loop, io::milliseconds{20});
}

Decision Controller::explain(std::string_view node) const {
  return decide({p_.nodes, *config_, occupancy_}, node, p_.loop.wall_now(), Detail::reasons);
}

void Controller::decide_one(const std::string& key) {
  const kube::Node* node = p_.nodes.find(key);
  if (const auto entry = p_.ledger.entries().find(node ? node->uid : std::string());
      entry != p_.ledger.entries().end() && entry->second.inherited) {
    // A predecessor's write may still be on its way; the node is decided when that is settled.
    queue_.done(key);
    return;
  }
  const io::Steady begun = p_.loop.now();
  const bool reasons = node && wants_details(*node);
  Decision decision =
      decide({p_.nodes, *config_, occupancy_}, key, p_.loop.wall_now(), reasons ? Detail::reasons : Detail::verdicts);
  // From here to the end of the function nothing waits: what the decision takes is reserved before the next one.
  if (decision.admission) {
    p_.ledger.reserve(*decision.admission);
    refresh_occupancy(key);
  } else {
    release(key, decision.uid);
  }
  schedule(key, decision);
  report_failures(key, decision);
  meters_->reconciles(decision.failing() ? "error" : "success").add();
  meters_->reconcile_time.observe(io::to_seconds(p_.loop.now() - begun));

  if (!decision.patch) {
    p_.problems.clear("write node/" + key);
    if (unwritable_.erase(key) > 0 && unwritable_.empty()) p_.problems.clear(kWriteProblem);
    if (decision.gone) queue_.forget(key);
    queue_.done(key);
    return;
  }
  acting_.spawn(act(key, std::move(decision)));
}

// When the key has to be looked at again, besides changes of the node itself.
void Controller::schedule(const std::string& key, const Decision& decision) {
  for (const BudgetKey& offered : waiters_.update(key, decision.waits, decision.rises)) offer(offered);
  for (const BudgetWait& wait : decision.waits) {
    if (const auto alarm = alarms_.find(wait.key); alarm == alarms_.end() || !alarm->second->pending()) {
      follow_age(wait.key);
    }
  }
  if (decision.wake) queue_.wake_at(key, steady(*decision.wake));
  if (decision.failing()) {
    held_.insert(key);
    if (config_->requeue > io::Duration{0}) queue_.wake_at(key, p_.loop.now() + config_->requeue);
  } else if (const auto it = held_.find(key); it != held_.end()) {
    held_.erase(it);
  }
}

void Controller::report_failures(const std::string& key, const Decision& decision) {
  const std::string problem = "node/" + key;
  if (!decision.unreadable.empty()) {
    p_.problems.raise(problem,
                      fmt::format("annotation {} of node {} cannot be read: {}; the node is left alone until it "
                                  "is mended or removed",
                                  kDataAnnotation, key, decision.unreadable));
    return;
  }
  p_.problems.clear(problem);
  const kube::Node* node = p_.nodes.find(key);
  if (!node) return;
  if (wants_details(*node)) p_.log.info("decision", "node", key, "why", to_text(decision.why));
  for (const Failure& failure : decision.failures) {
    meters_->failures(failure.profile).add();
    meters_->errors().add();
    p_.log.error(failure.what, "node", key, "profile", failure.profile, "state", failure.stays, "cause",
                 failure.detail);
    record(*node, "ChangeMaintenanceStateFailed",
           fmt::format("{} for profile {}: Will stay in {} state", failure.what, failure.profile, failure.stays));
  }
}

void Controller::record(const kube::Node& node, std::string reason, std::string note) {
  kube::EventRecord event;
  event.regarding.kind = "Node";
  event.regarding.name = node.name;
  event.regarding.uid = node.uid;
  event.regarding.resource_version = std::to_string(node.version);
  event.reason = std::move(reason);
  event.action = "ChangeMaintenanceState";
  event.note = std::move(note);
  event.controller = "maintenance";
  p_.events.record(std::move(event));
}

Task<void> Controller::act(std::string key, Decision decision) {
  co_await carry_out(key, std::move(decision));
  queue_.done(key);
}

Task<void> Controller::carry_out(std::string key, Decision decision) {
  if (decision.admission && !co_await p_.ledger.recorded(decision.uid)) {
    if (!p_.ledger.fenced()) queue_.wake(key);
    co_return;
  }
  auto slot = co_await slots_.acquire();
  const kube::Node* node = p_.nodes.find(key);
  if (!node || node->uid != decision.uid || node->version != decision.version) {
    // It changed while we waited for our turn: the write could only conflict. The admission stays for the next
    // decision.
    queue_.wake(key);
    co_return;
  }
  const auto answer =
      co_await p_.client.patch(kube::resources::nodes, "", key, kube::PatchType::merge, *decision.patch);
  // The server's answer is the newest there is of this node.
  if (answer && enter_world(*answer)) {
    meters_->writes("accepted").add();
    succeeded(key, decision);
    co_return;
  }
  // Behind a proxy even a 503 may come from a server that has passed the write on.
  if (answer || answer.error().ambiguous() || answer.error().code >= 500) {
    meters_->writes("unknown").add();
    if (decision.admission) {
      while (!co_await settle(key, decision.uid, decision.version)) co_await io::sleep_for(p_.loop, kSettleRetry);
    } else {
      // It holds no place: should it still come, one of it and the next write conflicts.
      co_await read_again(key, decision.version);
    }
    const kube::Node* now = p_.nodes.find(key);
    const std::string* data = now && now->uid == decision.uid ? now->annotation(kDataAnnotation) : nullptr;
    if (data && *data == decision.data) {
      succeeded(key, decision);
      co_return;
    }
    release(key, decision.uid);
    if (answer) {
      queue_.wake_after_failure(key);
    } else {
      failed(key, answer.error());
    }
    co_return;
  }
  const kube::ApiError& error = answer.error();
  if (error.not_leader()) {  // nothing was sent
    queue_.wake_after_failure(key);
    co_return;
  }
  if (error.conflict() || error.not_found()) {
    meters_->writes("conflict").add();
    if (co_await read_again(key, decision.version)) {
      queue_.wake(key);
      co_return;
    }
  }
  meters_->writes("refused").add();
  release(key, decision.uid);
  failed(key, error);
}

// After a write that did not fit. True when the node is another than the one it was computed from.
Task<bool> Controller::read_again(std::string key, uint64_t version) {
  // What the server does not have now, it may have made anew by the time we hear of it.
  const uint64_t asked_at = p_.nodes.newest_version();
  const auto current = co_await p_.client.get(kube::resources::nodes, "", key);
  if (current) {
    enter_world(*current);
  } else if (current.error().not_found()) {
    p_.nodes.remove(key, asked_at);
  }
  const kube::Node* node = p_.nodes.find(key);
  co_return !node || node->version != version;
}

bool Controller::enter_world(const std::string& body) {
  auto node = kube::decode_node(body, p_.atoms);
  if (!node) {
    p_.log.error("the server's answer cannot be read", "cause", node.error().message);
    return false;
  }
  p_.nodes.put(std::move(*node));
  return true;
}

void Controller::succeeded(const std::string& key, const Decision& decision) {
  p_.problems.clear("write node/" + key);
  p_.problems.clear(kWriteProblem);
  unwritable_.clear();
  queue_.succeeded(key);
  release(key, decision.uid);
  queue_.wake(key);
  const kube::Node* node = p_.nodes.find(key);
  for (const Moved& moved : decision.moved) {
    meters_->transitions(moved).add();
    p_.log.info("node moved to the next state", "node", key, "profile", moved.profile, "state", name_of(moved.to));
    // One that was made anew meanwhile has not moved.
    if (!node || node->uid != decision.uid) continue;
    record(*node, "ChangedMaintenanceState",
           fmt::format("The node is now in the {} state caused by profile {}", name_of(moved.to), moved.profile));
  }
}

void Controller::failed(const std::string& key, const kube::ApiError& error) {
  // Missing rights and a server in trouble concern all nodes alike: the first that meets them tells, for all.
  const bool for_all =
      error.network || error.forbidden() || error.code == 429 || (error.code > 500 && error.code < 600);
  const std::string problem = for_all ? std::string(kWriteProblem) : "write node/" + key;
  if (!for_all || unwritable_.empty()) {
    p_.problems.raise(problem, fmt::format("node {} cannot be written: {}; {} tried again, less and less often", key,
                                           error.message, for_all ? "it and others are" : "it is"));
  }
  if (for_all) unwritable_.insert(key);
  held_.insert(key);
  queue_.wake_after_failure(key);
}

void Controller::release(const std::string& key, const std::string& uid) {
  if (!p_.ledger.has(uid)) return;
  p_.ledger.finish(uid);
  refresh_occupancy(key);
}

Task<bool> Controller::settle(std::string name, std::string uid, std::optional<uint64_t> precondition) {
  const auto found = co_await p_.client.get(kube::resources::nodes, "", name);
  if (!found) {
    if (found.error().not_found()) co_return true;
    report_unsettled(name, found.error());
    co_return false;
  }
  if (!enter_world(*found)) co_return false;
  const kube::Node* node = p_.nodes.find(name);
  if (!node || node->uid != uid) co_return true;
  // Any change since makes the late write conflict.
  if (precondition && node->version != *precondition) co_return true;
  if (!precondition && occupancy_.members({}).contains(name) && occupancy_.members({}).at(name).in_state)
    co_return true;
  kube::Json touch = kube::Json::object();
  touch.set({"metadata", "resourceVersion"}, std::to_string(node->version));
  touch.set({"metadata", "annotations", kTouchAnnotation}, io::format_rfc3339(p_.loop.wall_now()));
  const auto touched = co_await p_.client.patch(kube::resources::nodes, "", name, kube::PatchType::merge, touch.dump());
  if (touched) {
    meters_->writes("touch").add();
    enter_world(*touched);
    co_return true;
  }
  if (touched.error().not_found()) co_return true;
  if (!touched.error().conflict()) report_unsettled(name, touched.error());
  co_return false;
}

void Controller::report_unsettled(const std::string& node, const kube::ApiError& error) {
  p_.problems.raise("write node/" + node,
                    fmt::format("it is not known whether the last write of node {} took effect: {}; the node is left "
                                "alone and keeps its place until it is",
                                node, error.message));
}

// Also of a ledger that could not be read at first.
Task<void> Controller::settle_all_inherited() {
  for (;;) {
    for (const auto& [uid, entry] : p_.ledger.entries()) {
      if (!entry.inherited || !settling_.insert(uid).second) continue;
      refresh_occupancy(entry.admission.node);
      acting_.spawn(settle_inherited(entry.admission.node, uid));
    }
    co_await p_.ledger.inherited().wait();
  }
}

Task<void> Controller::settle_inherited(std::string node, std::string uid) {
  while (!co_await settle(node, uid, std::nullopt)) co_await io::sleep_for(p_.loop, kSettleRetry);
  p_.problems.clear("write node/" + node);
  settling_.erase(uid);
  release(node, uid);
  queue_.wake(node);
}

bool Controller::overlooked(const std::string& node) const {
  if (held_.contains(node) || queue_.busy(node)) return false;
  return decide({p_.nodes, *config_, occupancy_}, node, p_.loop.wall_now(), Detail::verdicts).patch.has_value();
}

Task<void> Controller::sweep() {
  for (;;) {
    co_await io::sleep_for(p_.loop, options_.sweep);
    std::vector<std::string> names;
    p_.nodes.for_each([&](const kube::Node& node) { names.push_back(node.name); });
    int looked_at = 0;
    for (const std::string& name : names) {
      if (stopping_) co_return;
      if (++looked_at % 1000 == 0) co_await io::yield_to_others(p_.loop);
      if (!overlooked(name)) continue;
      // What is due in this very moment is about to be found without us.
      co_await io::sleep_for(p_.loop, kSweepPatience);
      if (stopping_) co_return;
      if (!overlooked(name)) continue;
      meters_->late.add();
      p_.log.warn("only the sweep found that this node can move", "node", name);
      queue_.wake(name);
    }
  }
}

}  // namespace careen::profiles
