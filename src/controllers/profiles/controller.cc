#include "controllers/profiles/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "budget/ledger.h"
#include "controllers/profiles/claims.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/controller_meters.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/limits.h"
#include "controllers/profiles/message_text.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/observation_topic.h"
#include "drain/engine.h"
#include "io/problems.h"
#include "io/steady_at.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/events.h"
#include "kube/node_decoder.h"

namespace careen::profiles {

using io::Task;

namespace {
// Drains as the engine has them; none in a rehearsal.
class EngineDrains final : public Drains {
 public:
  explicit EngineDrains(const drain::Engine* engine) : engine_(engine) {}
  const drain::Progress* progress(const kube::Node& node, const std::string& owner) const override {
    const drain::Progress* const progress = engine_ ? engine_->progress({node.name, owner}) : nullptr;
    return progress && progress->node_uid == node.uid ? progress : nullptr;
  }

 private:
  const drain::Engine* engine_;
};

constexpr io::Duration kSweepPatience = io::milliseconds{10};
constexpr std::string_view kWriteProblem = "write nodes";
constexpr int kRetriesInFlight = 4;

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

Controller::Controller(ControllerParts parts, ControllerOptions options)
    : p_(std::move(parts)),
      options_(options),
      pause_guard_(p_.loop, p_.pauses),
      fleet_(p_.nodes, p_.pods, topics_),
      observations_(p_.loop, p_.outside.http, p_.metrics, {},
                    [this](const observe::PrometheusQuery& source) { observation_changed(source); }),
      lease_facts_(p_.leases, topics_),
      hypervisor_facts_(p_.hypervisors),
      desk_(p_.loop, {p_.nodes, p_.ledger, lease_facts_, observations_},
            [this](const std::string& node) { queue_.wake(node); }),
      drains_(p_.engine || options.dry_run ? std::make_unique<EngineDrains>(options.dry_run ? nullptr : p_.engine)
                                           : nullptr),
      facts_{desk_.occupancy(), fleet_, lease_facts_, hypervisor_facts_, observations_, topics_, drains_.get()},
      taker_(p_.client, p_.leases, p_.atoms, p_.log),
      queue_(p_.loop),
      slots_(p_.loop, options.writes_in_flight),
      retry_slots_(p_.loop, kRetriesInFlight),
      sends_(p_.loop, options.writes_in_flight),
      courier_(p_.outside, p_.metrics, p_.random,
               {.on_sent = [this](const std::string& id) { message_sent(id); },
                .on_failed = [this](const std::string& id,
                                    const notify::Courier::Failure& failure) { message_failed(id, failure); }}),
      ration_alarm_(p_.loop, [this] { collect_rationed(); }),
      configured_(p_.loop),
      meters_(std::make_unique<Meters>(p_.metrics)),
      acting_(p_.loop) {
  p_.metrics.before_scrape([this] { meters_->show_work(p_.loop.now()); });
  p_.nodes.subscribe([this](const kube::Node* before, const kube::Node* after) { node_changed(before, after); });
  p_.pods.subscribe_nodes([this](std::string_view node) { pods_changed(node); });
  p_.leases.subscribe([this](const kube::Lease* before, const kube::Lease* after) {
    lease_changed(after ? after->key() : before->key());
  });
  p_.hypervisors.subscribe([this](const kube::Object* before, const kube::Object* after) {
    queue_.wake(after ? after->name : before->name);
  });
  if (p_.engine) p_.engine->subscribe([this](const drain::Key& changed) { drain_changed(changed); });
  if (p_.pauses) p_.pauses->subscribe([this] { decide_all(); });
}

Controller::~Controller() = default;

void Controller::set_config(std::shared_ptr<const Config> config) {
  config_ = std::move(config);
  desk_.set_config(*config_);
  topic_waiters_.clear();
  told_values_.clear();
  hypervisor_facts_.forget_refusals();
  observations_.set_interval(config_->requeue);
  ration_.set_pace(message_pace(*config_));
  collect_all_messages();
  decide_all();
  configured_.open();
}

void Controller::clock_stepped() {
  hypervisor_facts_.forget_refusals();
  decide_all();
}

void Controller::decide_all() {
  p_.nodes.for_each([&](const kube::Node& node) { queue_.wake(node.name); });
}

World Controller::world(const kube::Json* document) const {
  return {p_.nodes, *config_,         facts_,    deliveries_, options_.notify_blocking,
          document, options_.dry_run, p_.pauses, &p_.ledger};
}

void Controller::leases_known(const std::string& ns) {
  lease_facts_.set_known(ns);
  decide_all();
}

void Controller::hypervisors_known() {
  hypervisor_facts_.set_known();
  decide_all();
}

void Controller::pods_known() {
  std::vector<budget::Topic> topics;
  fleet_.pods_changed({}, topics);
  wake_waiting(topics);
}

void Controller::lease_changed(const std::string& key) {
  desk_.lease_changed(key);
  wake_waiting(lease_facts_.topics_of(key));
}

void Controller::observation_changed(const observe::PrometheusQuery& source) {
  desk_.observation_changed(source);
  const budget::Topic topic = topics_.of(observation_topic(source));
  if (is_news(source)) {
    wake_waiting({topic});
  } else if (topic_waiters_.any(topic)) {
    // The same again: nobody decides otherwise, but they all wait for the next.
    observations_.want(source);
  }
}

bool Controller::is_news(const observe::PrometheusQuery& source) {
  auto latest = observations_.latest(source);
  if (!latest) return false;
  // Beside an error there may be the value of before, on which nobody decides.
  std::pair<double, std::string> now{latest->error.empty() ? latest->value->number : 0, std::move(latest->error)};
  std::pair<double, std::string>& told = told_values_.try_emplace(source, 0, "nothing yet").first->second;
  if (told == now) return false;
  told = std::move(now);
  return true;
}

void Controller::pods_changed(std::string_view node) {
  std::vector<budget::Topic> topics;
  if (fleet_.pods_changed(node, topics)) queue_.wake(std::string(node));
  wake_waiting(topics);
}

void Controller::wake_waiting(const std::vector<budget::Topic>& topics) {
  for (const budget::Topic topic : topics) {
    for (const std::string& node : topic_waiters_.of(topic)) queue_.wake(node);
  }
}

void Controller::node_changed(const kube::Node* before, const kube::Node* after) {
  if (before && after && only_touched(*before, *after)) return;
  const std::string& name = after ? after->name : before->name;
  // A late write can reach neither a node that is gone nor one created again under its name: it names another version.
  if (before && (!after || after->uid != before->uid)) {
    desk_.finish(before->uid);
    drop_messages(before->uid, {});
    deliveries_.forget(before->uid);
  }
  if (config_) desk_.node_changed(name);
  if (after) collect_messages(*after);
  wake_waiting(fleet_.node_changed(before, after));
  queue_.wake(name);
}

Task<void> Controller::run() {
  co_await configured_.wait();
  desk_.rebuild();
  running_ = true;
  collect_all_messages();
  acting_.spawn(settle_all_inherited());
  acting_.spawn(courier_.run());
  // What is not carried out would be found again and again.
  if (!options_.dry_run) acting_.spawn(sweep());
  if (options_.count_standing) acting_.spawn(count_standing());
  while (!stopping_) {
    const std::string key = co_await queue_.next();
    if (stopping_) {
      queue_.done(key);
      break;
    }
    meters_->queue_wait.observe(io::to_seconds(queue_.last_wait()));
    meters_->queue_depth.set(static_cast<double>(queue_.depth()));
    meters_->begin_work(key, p_.loop.now());
    decide_one(key);
  }
}

Task<void> Controller::stop() {
  stopping_ = true;
  running_ = false;
  queue_.clear();
  while (queue_.working() > 0) co_await queue_.idle().wait();
  co_await end_messages();
}

Decision Controller::explain(std::string_view node) const {
  World explained = world();
  explained.only_explained = true;
  return decide(explained, node, p_.loop.wall_now(), Detail::reasons);
}

std::vector<Limit> Controller::limits() const {
  return config_ ? limits_in_use(world(), p_.loop.wall_now()) : std::vector<Limit>();
}

std::vector<budget::Claim> Controller::claims(const std::vector<Limit>& limits) const {
  return config_ ? claims_of_profiles(world(), limits, p_.loop.wall_now()) : std::vector<budget::Claim>();
}

// A predecessor's write may still be on its way; the node is decided when that is settled.
bool Controller::waits_for_settling(std::string_view name) const {
  const kube::Node* node = p_.nodes.find(name);
  const auto entry = p_.ledger.entries().find(node ? node->uid : std::string());
  return entry != p_.ledger.entries().end() && entry->second.inherited;
}

void Controller::decide_one(const std::string& key) {
  if (waits_for_settling(key)) {
    done(key);
    return;
  }
  const kube::Node* node = p_.nodes.find(key);
  const io::Steady begun = p_.loop.now();
  const bool reasons = (node && wants_details(*node)) || options_.dry_run;
  const auto document = documents_.find(key);
  Decision decision = decide(world(document == documents_.end() ? nullptr : &document->second), key, p_.loop.wall_now(),
                             reasons ? Detail::reasons : Detail::verdicts);
  if (document != documents_.end()) documents_.erase(document);
  // From here to the end of the function nothing waits: what the decision takes is reserved before the next one.
  reserve(key, decision);
  schedule(key, decision);
  follow_drains(key, decision);
  report_failures(key, decision);
  meters_->decided(key, decision);
  meters_->reconcile_time.observe(io::to_seconds(p_.loop.now() - begun));

  if (options_.dry_run) {
    rehearse(key, decision);
    done(key);
    return;
  }
  if (!decision.patch && !decision.due && !decision.needs_document && decision.hypervisor.empty()) {
    p_.problems.clear("write node/" + key);
    if (unwritable_.erase(key) > 0 && unwritable_.empty()) p_.problems.clear(kWriteProblem);
    if (decision.gone) {
      queue_.forget(key);
      hypervisor_facts_.forget(key);
    }
    done(key);
    return;
  }
  keep_texts(key, decision);
  acting_.spawn(act(key, std::move(decision), basis()));
}

// What the decision takes counts as taken for all that follow, and what an earlier one took and this one does not is
// given back.
void Controller::reserve(const std::string& key, const Decision& decision) {
  if (decision.keeps) {
    keep(key, decision);
    return;
  }
  // Nothing was decided yet about what has begun.
  if (!decision.admission && (decision.needs_document || decision.pending) && begun_.contains(key)) return;
  withdraw(key, decision.leases);
  for (const LeaseGrab& grab : decision.leases) {
    lease_facts_.take(grab.key(), key);
    begun_with(key, grab.key());
  }
  if (!options_.dry_run) {
    for (const observe::PrometheusQuery& source : decision.observed) observations_.use_up(source, key);
  }
  if (decision.admission) {
    desk_.reserve(*decision.admission);
  } else {
    release(key, decision.uid);
  }
}

// What would be done, told once.
void Controller::rehearse(const std::string& key, const Decision& decision) {
  if (decision.gone) {
    rehearsed_.erase(key);
    return;
  }
  std::string would;
  for (const Moved& moved : decision.moved) {
    would += fmt::format("move profile {} from {} to {}; ", moved.profile, name_of(moved.from), name_of(moved.to));
  }
  if (decision.begins || !decision.drains.empty()) would += "drain it; ";
  for (const RenderedMessage& message : decision.posted) would += fmt::format("send {}; ", message.what.instance);
  if (decision.due) would += fmt::format("send {}; ", decision.due->what.instance);
  if (would.empty() && decision.patch) would = "write its data; ";
  std::string& told = rehearsed_[key];
  if (told == would) return;
  told = would;
  if (!would.empty()) would.resize(would.size() - 2);
  p_.log.info("dry run", "node", key, "would", would.empty() ? "do nothing" : would, "why", to_text(decision.why));
}

// When the key has to be looked at again, besides changes of the node itself.
void Controller::schedule(const std::string& key, const Decision& decision) {
  topic_waiters_.update(key, decision.topics);
  for (const observe::PrometheusQuery& source : decision.wanted) observations_.want(source);
  desk_.wait(key, decision.waits, decision.rises);
  if (decision.wake) queue_.wake_at(key, io::steady_at(p_.loop, *decision.wake));
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
  for (const Failure& failure : decision.failures) report_failure(key, failure);
}

void Controller::report_failure(const std::string& key, const Failure& failure) {
  meters_->failures(failure.profile).add();
  meters_->errors().add();
  p_.log.error(failure.what, "node", key, "profile", failure.profile, "state", failure.stays, "cause", failure.detail);
  const kube::Node* node = p_.nodes.find(key);
  if (!node) return;
  record(*node, "ChangeMaintenanceStateFailed",
         fmt::format("{} for profile {}: Will stay in {} state", failure.what, failure.profile, failure.stays));
}

void Controller::record(const kube::Node& node, std::string reason, std::string note, std::string type) {
  if (options_.dry_run) return;
  kube::EventRecord event;
  event.regarding.kind = "Node";
  event.regarding.name = node.name;
  event.regarding.uid = node.uid;
  event.regarding.resource_version = std::to_string(node.version);
  event.reason = std::move(reason);
  event.action = "ChangeMaintenanceState";
  event.note = std::move(note);
  event.type = std::move(type);
  event.controller = "maintenance";
  p_.events.record(std::move(event));
}

Task<void> Controller::act(std::string key, Decision decision, Basis basis) {
  const bool uses_observation = !decision.observed.empty();
  const bool written = co_await carry_out(key, std::move(decision), std::move(basis));
  if (uses_observation) observations_.settled(key, written);
  done(key);
}

void Controller::done(const std::string& key) {
  meters_->end_work(key, p_.loop.now());
  queue_.done(key);
}

bool Controller::outdated(const std::string& key, const Decision& decision, const Basis& on) const {
  if (on != basis()) return true;
  const kube::Node* node = p_.nodes.find(key);
  if (!node || node->uid != decision.uid || node->version != decision.version) return true;
  return decision.valid_until && p_.loop.wall_now() >= *decision.valid_until;
}

// A write that carries the decision out: every attempt of it comes in time, and under the pauses of the decision.
budget::PauseGuard::Write Controller::write(kube::Resource resource, std::string key, std::string patch,
                                            const Decision& decision, const Basis& on) {
  kube::CallOptions options;
  options.not_after = decision.valid_until;
  return pause_guard_.carry(on.pauses, p_.client.patch(std::move(resource), "", std::move(key), kube::PatchType::merge,
                                                       std::move(patch), {}, std::move(options)));
}

Task<bool> Controller::carry_out(std::string key, Decision decision, Basis on) {
  if (decision.needs_document) {
    co_await fetch_document(key);
    co_return false;
  }
  if (decision.due) co_await send_first(key, decision, on);
  if (!decision.patch) {
    if (!decision.hypervisor.empty()) co_await tell_hypervisor(key, std::move(decision), std::move(on));
    co_return false;
  }
  if (decision.admission && !co_await p_.ledger.recorded(decision.uid)) {
    if (!p_.ledger.fenced()) queue_.wake(key);
    co_return false;
  }
  const auto sent = co_await send(key, decision, on);
  if (!sent) co_return false;
  // The server's answer is the newest there is of this node.
  if (*sent && enter_world(**sent)) {
    meters_->writes("accepted").add();
    succeeded(key, decision);
    co_return true;
  }
  if (*sent || sent->error().ambiguous()) co_return co_await find_out(key, decision, *sent);
  const kube::ApiError& error = sent->error();
  if (error.not_leader()) {  // nothing was sent
    queue_.wake_after_failure(key);
    co_return false;
  }
  if (error.too_late()) {
    queue_.wake(key);
    co_return false;
  }
  if (error.conflict() || error.not_found()) {
    meters_->writes("conflict").add();
    if (!co_await read_again(key)) co_return co_await find_out(key, decision, *sent);
    // Somebody on the way may have sent it twice: then it conflicts with itself.
    if (!decision.moved.empty() && took_effect(key, decision)) {
      succeeded(key, decision);
      co_return true;
    }
    const kube::Node* node = p_.nodes.find(key);
    if (!node || node->version != decision.version) {
      queue_.wake(key);
      co_return false;
    }
  }
  meters_->writes("refused").add();
  give_up(key, decision);
  failed(key, error);
  co_return false;
}

// Nodes whose last write failed have slots of their own, so that they hold up nobody else.
io::Semaphore& Controller::slots_for(const std::string& key) {
  return queue_.is_failing(key) || hypervisor_facts_.is_failing(key) ? retry_slots_ : slots_;
}

// Everything up to the node's own write, and its answer; nothing when it does not come to that.
Task<std::optional<kube::Result<std::string>>> Controller::send(std::string key, Decision& decision, const Basis& on) {
  const auto slot = co_await slots_for(key).acquire();
  // It changed while we waited for our turn: the write could only conflict, comes too late, or must not be. The
  // admission stays for the next decision.
  if (outdated(key, decision, on)) {
    queue_.wake(key);
    co_return std::nullopt;
  }
  if (!co_await take_leases(key, decision)) co_return std::nullopt;
  if (outdated(key, decision, on)) {
    queue_.wake(key);
    co_return std::nullopt;
  }
  if (!co_await write_hypervisor(key, decision, on)) co_return std::nullopt;
  if (outdated(key, decision, on)) {
    queue_.wake(key);
    co_return std::nullopt;
  }
  co_return co_await write(kube::resources::nodes, key, *decision.patch, decision, on);
}

// No answer says what became of the write. True when it has taken effect, or still may.
Task<bool> Controller::find_out(std::string key, const Decision& decision, const kube::Result<std::string>& answer) {
  meters_->writes("unknown").add();
  // A move is announced once, and one that holds a place keeps it until its fate is certain. Any other write may still
  // arrive: it or the next one then conflicts.
  const bool matters = decision.admission || !decision.moved.empty();
  Fate fate = Fate::over;
  if (matters) {
    fate = co_await settle_in_time(key, decision.uid, decision.version);
  } else {
    co_await read_again(key);
  }
  if (took_effect(key, decision)) {
    succeeded(key, decision);
    co_return true;
  }
  // What stands on the node proves nothing, since others write there: leases that may have been used run out.
  if (fate != Fate::never && decision.admission && !decision.begins) spend(key);
  give_up(key, decision);
  if (answer) {
    queue_.wake_after_failure(key);
  } else if (budget::PauseGuard::interrupted(answer.error())) {
    queue_.wake(key);
  } else {
    failed(key, answer.error());
  }
  // It may still come, if nothing has made it impossible.
  co_return !matters;
}

// The node is what the write would have made of it, whatever others have done to it since.
bool Controller::took_effect(const std::string& key, const Decision& decision) const {
  const kube::Node* node = p_.nodes.find(key);
  const std::string* text = node && node->uid == decision.uid ? node->annotation(kDataAnnotation) : nullptr;
  if (!text) return false;
  if (*text == decision.data) return true;
  const auto now = parse_node_data(*text), wanted = parse_node_data(decision.data);
  if (decision.moved.empty() || !now || !wanted) return false;
  return std::all_of(decision.moved.begin(), decision.moved.end(), [&](const Moved& moved) {
    const auto is = now->profiles.find(moved.profile), was = wanted->profiles.find(moved.profile);
    return is != now->profiles.end() && was != wanted->profiles.end() && is->second.current == was->second.current &&
           is->second.transition == was->second.transition;
  });
}

// After a write that did not fit. False when the node could not be read.
Task<bool> Controller::read_again(std::string key) {
  // What the server does not have now may exist again by the time we hear of it.
  const uint64_t asked_at = p_.nodes.newest_version();
  const auto current = co_await p_.client.get(kube::resources::nodes, "", key);
  if (current) co_return enter_world(*current);
  if (!current.error().not_found()) co_return false;
  p_.nodes.remove(key, asked_at);
  co_return true;
}

bool Controller::enter_world(const std::string& body) {
  auto node = p_.decoder.decode(body);
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
  // Any other write leaves what has begun as it is.
  if (decision.admission && !decision.begins) {
    spend(key);
    release(key, decision.uid);
  }
  queue_.wake(key);
  const kube::Node* node = p_.nodes.find(key);
  for (const Moved& moved : decision.moved) {
    meters_->transitions(moved).add();
    p_.log.info("node moved to the next state", "node", key, "profile", moved.profile, "state", name_of(moved.to));
    // One that was created again meanwhile has not moved.
    if (!node || node->uid != decision.uid) continue;
    record(*node, "ChangedMaintenanceState",
           fmt::format("The node is now in the {} state caused by profile {}", name_of(moved.to), moved.profile));
    if (on_moved) on_moved(key, moved);
    if (moved.to == State::in_maintenance && on_maintenance) on_maintenance(*node, moved.profile);
  }
  if (node) report_dropped(*node, decision.dropped);
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
  meters_->retries.add();
  queue_.wake_after_failure(key);
}

// It could not be carried out. What began earlier stays begun.
void Controller::give_up(const std::string& key, const Decision& decision) {
  if (!decision.keeps) release(key, decision.uid);
}

// The node will not get there by what was begun.
void Controller::release(const std::string& key, const std::string& uid) {
  withdraw(key, {});
  if (!p_.ledger.has(uid)) return;
  desk_.finish(uid);
  desk_.node_changed(key);
}

std::vector<std::pair<std::string_view, size_t>> Controller::unfinished() const {
  const auto is_gone = [this](const std::string& node) { return !p_.nodes.find(node); };
  const auto drained =
      std::count_if(draining_.begin(), draining_.end(), [&](const auto& of) { return is_gone(of.first); });
  return {{"transitions begun", begun_.size()},
          {"leases of transitions", lease_facts_.unfinished()},
          {"nodes that wait and are gone", desk_.waiters().nodes_if(is_gone) + topic_waiters_.nodes_if(is_gone)},
          {"nodes that are drained and are gone", static_cast<size_t>(drained)},
          {"messages with the courier", parcels_.size() + courier_.pending()},
          {"messages being rendered", rendering_.size()},
          {"nodes fetched for a message", documents_.size()},
          {"failing nodes", held_.size()},
          {"nodes that cannot be written", unwritable_.size()},
          {"admissions of a predecessor", settling_.size()},
          {"nodes over their ration of messages", rationed_.size()},
          {"nodes at work", queue_.working()}};
}

bool Controller::overlooked(const std::string& node) const {
  if (held_.contains(node) || queue_.busy(node) || waits_for_settling(node)) return false;
  const Decision decision = decide(world(), node, p_.loop.wall_now(), Detail::verdicts);
  return decision.patch || !decision.hypervisor.empty() || decision.due || decision.needs_document ||
         lacks_drain(node, decision);
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
