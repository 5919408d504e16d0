#include "controllers/requests/controller.h"

#include <algorithm>
#include <utility>

#include "budget/ledger.h"
#include "budget/pause.h"
#include "controllers/requests/controller_core.h"
#include "controllers/requests/names.h"
#include "controllers/requests/picture.h"
#include "drain/engine.h"
#include "drain/progress.h"
#include "io/problems.h"
#include "io/steady_at.h"
#include "kube/cache.h"
#include "kube/decode.h"
#include "kube/events.h"
#include "kube/node_decoder.h"
#include "limits/limit.h"

namespace careen::requests {

using io::Task;

namespace {

// What is waited for is told of four requests a second; what has happened, of twenty.
constexpr io::Duration kPace = io::milliseconds{250};
constexpr io::Duration kUrgentPace = io::milliseconds{50};
constexpr io::Duration kPaceOfOne = io::seconds{1};
// Of the keys in the queue, those of nodes: no object's name has a slash.
constexpr std::string_view kNodeKey = "node/";

bool same_spec(const kube::Object& a, const kube::Object& b) { return a.document["spec"] == b.document["spec"]; }

}  // namespace

Controller::Core::Core(controllers::Host host, ControllerOptions wanted)
    : p(std::move(host)),
      options(wanted),
      desk(*p.limits),
      watched(p.watches.objects({.resource = kResource})),
      requests(
          p.client, kResource, watched->store(), [](std::string_view json) { return kube::decode_object(json); },
          p.log),
      nodes(
          p.client, kube::resources::nodes, p.nodes, [this](std::string_view json) { return p.decoder.decode(json); },
          p.log, p.node_lanes),
      queue(p.loop),
      meters(p.metrics, "maintenancerequest"),
      turns(p.loop, kPace, [this](const std::string& name) { queue.wake(name); }),
      urgent_turns(p.loop, kUrgentPace, [this](const std::string& name) { queue.wake(name); }),
      look(p.loop, [this] { look_at_waiting(); }),
      pause_guard(p.loop, &p.pauses),
      attachments(p.watches,
                  [this](std::string_view node) {
                    if (node.empty()) return wake_all();
                    roster.for_each_on(node, [this](const std::string& name, const auto&) { queue.wake(name); });
                  }),
      limit_reporter(p, roster),
      selectors(p, watched->store(), roster),
      acting(p.loop) {
  desk.follow({.floor_of_one = options.floor_of_one, .not_ready_only_false = options.not_ready_only_false});
  limit_reporter.follow(options);
  p.metrics.before_scrape([this] { meters.show_work(p.loop.now()); });
  changes.push_back(watched->store().subscribe(
      [this](const kube::Object* before, const kube::Object* after) { request_changed(before, after); }));
  changes.push_back(
      p.nodes.subscribe([this](const kube::Node* before, const kube::Node* after) { node_changed(before, after); }));
  changes.push_back(p.limit_objects->subscribe(
      [this](const kube::Object* before, const kube::Object* after) { limit_changed(before, after); }));
  changes.push_back(desk.on_turn([this](const std::string&, const std::string& who) {
    const auto name = request_of(who);
    if (!name) return;
    offered.emplace(*name);
    queue.wake(*name);
  }));
  changes.push_back(desk.on_change([this] {
    limit_reporter.changed();
    queue_moved();
  }));
  changes.push_back(p.engine.subscribe([this](const drain::Key& key) {
    if (const auto name = request_of(key.owner)) queue.wake(*name);
  }));
  changes.push_back(p.pauses.subscribe([this] { wake_all(); }));
}

// Also while somebody else leads: others who ask at the desk have to find the places that are taken.
void Controller::Core::request_changed(const kube::Object* before, const kube::Object* after) {
  const std::string name = (after ? after : before)->name;
  const std::optional<Request> is = after ? std::optional(parse_request(*after)) : std::nullopt;
  const Roster::Entry* const known = roster.find(name);
  const std::string left = known ? known->node : std::string();
  if (is) roster.put(*is);
  if (!is) roster.remove(name);
  follow_place(name, is ? &*is : nullptr);
  if (!left.empty()) wake_next_on(left);
  if (is && is->node != left) wake_next_on(is->node);
  limit_reporter.changed();
  const bool lives = is && is->live();
  const bool due = is && (!is_settled(*is, p.loop.wall_now()) || time_to_live(*is, limits_of(*is)));
  if (lives || !is || due || memories.contains(name)) queue.wake(name);
  if (!lives && !left.empty()) queue.wake(std::string(kNodeKey) + left);
}

// Its place at the desk, and its claim in the ledger, as its state has it. A claim ends when the state has got there,
// or when another version than it was decided on shows that it will not.
void Controller::Core::follow_place(const std::string& name, const Request* request) {
  const std::string owner = std::string(kOwnerPrefix) + name;
  const auto claim = claims.find(name);
  const bool is_running = request && request->running() && !request->node.empty();
  const bool keeps = request && request->live() && request->state == State::pending && claim != claims.end() &&
                     claim->second.node == request->node;
  if (keeps) return;
  const auto place = places.find(name);
  if (place != places.end() && (!is_running || place->second != request->node)) {
    const std::string node = place->second;
    places.erase(place);
    roster.set_placed(name, false);
    desk.release(node, owner);
    if (running) limit_reporter.finished(node);
  }
  // Its node may have been made anew while the approval was on its way.
  const kube::Node* const node = is_running ? p.nodes.find(request->node) : nullptr;
  const bool is_new = claim != claims.end() && node && node->uid != claim->second.uid;
  if (is_running && (is_new || !places.contains(name))) {
    take_running_place(*request, claim != claims.end() && !is_new ? claim->second.uid : std::string());
  }
  if (is_running) roster.set_placed(name, true);
  if (claim != claims.end()) {
    p.ledger.finish(budget::claim_key(owner, claim->second.uid));
    claims.erase(claim);
  }
}

// `uid`: of the node that the place was given for; empty: of the one that is there.
void Controller::Core::take_running_place(const Request& request, std::string uid) {
  const kube::Node* const node = p.nodes.find(request.node);
  if (uid.empty() && node) uid = node->uid;
  places.insert_or_assign(request.name, request.node);
  desk.take({.node = request.node,
             .uid = std::move(uid),
             .who = request.owner(),
             .actor = request.actor(),
             .since = request.approved_at.value_or(request.status.approved.value_or(p.loop.wall_now()))});
}

// A node that is made anew is in the hands of whoever works on the node of that name.
void Controller::Core::renew_places(const std::string& node) {
  roster.for_each_on(node, [&](const std::string& name, const Roster::Entry&) {
    const auto request = places.contains(name) ? find(name) : std::nullopt;
    if (request && request->running()) take_running_place(*request, {});
  });
}

void Controller::Core::node_changed(const kube::Node* before, const kube::Node* after) {
  if (!before) renew_places(after->name);
  wake_node(after ? after->name : before->name);
  limit_reporter.changed();
  selectors.node_changed(before, after);
}

void Controller::Core::limit_changed(const kube::Object* before, const kube::Object* after) {
  limit_reporter.changed();
  if (before && after && same_spec(*before, *after)) return;
  watch_attachments();
  wake_all();
  // Their time to live may be another one.
  watched->store().for_each([this](const kube::Object& one) {
    const Request request = parse_request(one);
    if (request.finished() && time_to_live(request, limits_of(request))) queue.wake(one.name);
  });
}

void Controller::Core::watch_attachments() {
  if (attachments.started()) return;
  bool wanted = false;
  desk.for_each_limit([&](const limits::Limit& limit) { wanted |= limit.infra_drain.enabled; });
  if (wanted) attachments.start();
}

void Controller::Core::wake_next_on(const std::string& node) {
  const std::string next = roster.next_on(node);
  if (!next.empty()) queue.wake(next);
}

void Controller::Core::wake_node(std::string_view node) {
  roster.for_each_on(node, [this](const std::string& name, const Roster::Entry&) { queue.wake(name); });
  const kube::Node* const found = p.nodes.find(node);
  if (found && found->annotation(drain::kHoldsAnnotation)) queue.wake(std::string(kNodeKey) + std::string(node));
}

void Controller::Core::wake_all() {
  roster.for_each([this](const std::string& name, const Roster::Entry&) { queue.wake(name); });
}

// What a predecessor has left in the ledger, which may have been unreadable for a while. A request that is still
// Pending may have its approval on the way: its place counts, and it is touched before anything else.
void Controller::Core::adopt_claims() {
  std::vector<std::string> over;
  for (const auto& [key, entry] : p.ledger.entries()) {
    const auto name = request_of(entry.admission.by);
    if (!name || !entry.inherited) continue;
    const std::optional<Request> request = find(*name);
    const bool pending = request && request->live() && request->state == State::pending;
    if (!pending || request->node != entry.admission.node || claims.contains(*name)) {
      over.push_back(key);
      continue;
    }
    claims.insert_or_assign(request->name, Claimed{entry.admission.node, entry.admission.uid});
    places.insert_or_assign(request->name, request->node);
    roster.set_placed(request->name, true);
    desk.take({request->node, entry.admission.uid, request->owner(), request->actor(), entry.admission.since});
    queue.wake(request->name);
  }
  for (const std::string& key : over) p.ledger.finish(key);
}

void Controller::Core::queue_moved() {
  positions_known = false;
  to_look_at = waiting.size();
  if (to_look_at > 0 && !look.pending()) look.set(p.loop.now() + kPace);
}

// One at a time: what a request waits for is told anew, as the queue moves.
void Controller::Core::look_at_waiting() {
  if (to_look_at == 0 || waiting.empty()) return;
  --to_look_at;
  auto next = waiting.upper_bound(looked_at);
  if (next == waiting.end()) next = waiting.begin();
  looked_at = next->first;
  if (const auto memory = memories.find(looked_at); memory != memories.end()) memory->second.wants_text = true;
  queue.wake(looked_at);
  if (to_look_at > 0) look.set(p.loop.now() + kPace);
}

std::optional<Request> Controller::Core::find(std::string_view name) const {
  const kube::Object* const object = watched->store().find(name);
  return object ? std::optional(parse_request(*object)) : std::nullopt;
}

// Of a node that is gone, those about all nodes.
std::vector<const limits::Limit*> Controller::Core::limits_of(const Request& request) const {
  if (p.nodes.find(request.node)) return desk.limits_of(request.node);
  std::vector<const limits::Limit*> found;
  desk.for_each_limit([&](const limits::Limit& limit) {
    if (limit.subject == limits::Subject::node && limit.selector.empty()) found.push_back(&limit);
  });
  return found;
}

Claim Controller::Core::claim_on(const Request& request, const kube::Node* node) const {
  const auto claim = claims.find(request.name);
  if (claim == claims.end()) return Claim::none;
  const auto& entries = p.ledger.entries();
  const auto entry = entries.find(budget::claim_key(request.owner(), claim->second.uid));
  if (entry == entries.end()) return Claim::stale;
  if (entry->second.inherited) return Claim::inherited;
  return node && node->uid == claim->second.uid ? Claim::ours : Claim::stale;
}

int64_t Controller::Core::position_of(const std::string& owner) const {
  if (!positions_known) {
    positions.clear();
    positions_known = true;
    int64_t position = 0;
    for (const limits::Waiting& one : desk.queue()) positions.emplace(one.asking.who, ++position);
  }
  const auto found = positions.find(owner);
  return found == positions.end() ? 0 : found->second;
}

World Controller::Core::world(const Request& request) const {
  const kube::Node* const node = p.nodes.find(request.node);
  World world(p.atoms, options);
  world.request = &request;
  world.node = node;
  world.limits = limits_of(request);
  world.busy_with = roster.busy_with(request);
  world.claim = claim_on(request, node);
  world.has_place = places.contains(request.name);
  world.ledger_fits = p.ledger.room() > 0;
  world.ask = [this](const limits::Asking& asking, limits::Desk::Detail detail) { return desk.ask(asking, detail); };
  const auto memory = memories.find(request.name);
  const bool tells =
      memory != memories.end() && (memory->second.wants_text || memory->second.status.reason != reasons::kWaiting);
  if (tells && waiting.contains(request.name)) world.position = position_of(request.owner());
  world.progress = p.engine.progress({request.node, request.owner()});
  if (attachments.started()) world.volumes = attachments.on(request.node, node);
  world.pause = pause();
  world.leading_since = leading_since;
  return world;
}

// Of another object under the same name nothing is known.
Memory& Controller::Core::memory_of(const Request& request) {
  Memory& memory = memories[request.name];
  if (memory.uid != request.uid) {
    memory = {};
    memory.uid = request.uid;
    memory.status = request.status;
    memory.status_version = request.version;
  } else if (request.version > memory.status_version && !memory.drops_status) {
    memory.status = request.status;
    memory.status_version = request.version;
  }
  return memory;
}

void Controller::Core::decide_one(const std::string& key) {
  meters.queue_wait.observe(io::to_seconds(queue.last_wait()));
  meters.queue_depth.set(static_cast<double>(queue.depth()));
  meters.begin_work(key, p.loop.now());
  if (!key.starts_with(kNodeKey)) return decide_request(key);
  const std::string name = key.substr(kNodeKey.size());
  const kube::Node* const node = p.nodes.find(name);
  if (!node || p.dry_run || !stray_hold(*node)) return done(key);
  acting.spawn(release_stray(name));
}

// Nothing waits in here: a place is taken before the next request is decided.
void Controller::Core::decide_request(const std::string& name) {
  const std::optional<Request> request = find(name);
  if (!request) {
    follow_drain(nullptr, name, std::nullopt);
    forget(name);
    return done(name);
  }
  const io::Steady begun = p.loop.now();
  const io::Wall now = p.loop.wall_now();
  Memory& memory = memory_of(*request);
  const World seen = world(*request);
  observe(seen, memory, now);
  Decision decision = decide(seen, memory, now);
  memory.wants_text = false;
  meters.reconciles(decision.wake ? "requeue_after" : "success").add();
  meters.reconcile_time.observe(io::to_seconds(p.loop.now() - begun));
  if (decision.wake) queue.wake_at(name, io::steady_at(p.loop, *decision.wake));
  if (p.dry_run) {
    if (std::exchange(rehearsed[name], decision.why.text) != decision.why.text) {
      p.log.info("dry run", "name", name, "decision", decision.why.text);
    }
    return done(name);
  }
  follow_queue(*request, decision);
  follow_drain(&*request, name, decision.drain);
  if (decision.takes) {
    take_place(*request, *seen.node);
    queue.wake(name);
    return done(name);
  }
  if (decision.settled) {
    forget(name);
    return done(name);
  }
  const bool at_rest = !decision.effect && memory.trouble.failures == 0 && memory.status_trouble.failures == 0;
  if (at_rest && troubled.erase(name) > 0 && troubled.empty()) p.problems.clear("write maintenancerequests");
  if (!may_write(name, memory, decision)) return done(name);
  acting.spawn(act(name, std::move(*decision.effect)));
}

void Controller::Core::take_place(const Request& request, const kube::Node& node) {
  const io::Wall now = p.loop.wall_now();
  p.ledger.reserve({.uid = node.uid, .node = node.name, .by = request.owner(), .since = now});
  claims.insert_or_assign(request.name, Claimed{node.name, node.uid});
  places.insert_or_assign(request.name, node.name);
  roster.set_placed(request.name, true);
  waiting.erase(request.name);
  offered.erase(request.name);
  desk.take({node.name, node.uid, request.owner(), request.actor(), now});
}

void Controller::Core::follow_queue(const Request& request, const Decision& decision) {
  if (!decision.waits) {
    if (!decision.takes) leave_queue(request.name);
    return;
  }
  const limits::Asking& asking = *decision.waits;
  const auto [known, is_new] = waiting.try_emplace(request.name, asking);
  const bool offered_in_vain = offered.erase(request.name) > 0;
  const bool same = known->second.node == asking.node && known->second.actor == asking.actor;
  if (!is_new && same && !offered_in_vain) return;
  if (known->second.node != asking.node) desk.leave(known->second.node, asking.who);
  known->second = asking;
  desk.wait(asking);
  queue_moved();
}

void Controller::Core::leave_queue(const std::string& name) {
  const auto known = waiting.find(name);
  if (known == waiting.end()) return;
  const std::string node = known->second.node;
  waiting.erase(known);
  offered.erase(name);
  desk.leave(node, std::string(kOwnerPrefix) + name);
}

// Begins, alters or ends the drain as it was decided.
void Controller::Core::follow_drain(const Request* request, const std::string& name,
                                    const std::optional<drain::Options>& wanted) {
  const kube::Node* const node = request ? p.nodes.find(request->node) : nullptr;
  const auto known = draining.find(name);
  if (known != draining.end()) {
    const bool same = wanted && node && known->second.key.node == node->name && known->second.node_uid == node->uid;
    if (same && known->second.options == *wanted) return;
    if (!same) {
      p.engine.end(known->second.key);
      draining.erase(known);
    }
  }
  if (!wanted || !node) return;
  const drain::Key key{node->name, request->owner()};
  p.engine.begin(key, node->uid, *wanted);
  draining.insert_or_assign(name, Draining{key, node->uid, *wanted});
  queue.wake(name);
}

bool Controller::Core::may_write(const std::string& name, Memory& memory, const Decision& decision) {
  const auto* const status = decision.effect ? std::get_if<WriteStatus>(&*decision.effect) : nullptr;
  if (!status) {
    turns.leave(name);
    urgent_turns.leave(name);
    return decision.effect.has_value();
  }
  // Told later, it is told as it will be then.
  if (memory.status_written && p.loop.now() < *memory.status_written + kPaceOfOne) {
    memory.wants_text = true;
    queue.wake_at(name, *memory.status_written + kPaceOfOne);
    return false;
  }
  (status->urgent ? turns : urgent_turns).leave(name);
  const bool may = (status->urgent ? urgent_turns : turns).take(name);
  memory.wants_text |= !may;
  return may;
}

void Controller::Core::forget(const std::string& name) {
  memories.erase(name);
  rehearsed.erase(name);
  turns.leave(name);
  urgent_turns.leave(name);
  leave_queue(name);
  if (troubled.erase(name) > 0 && troubled.empty()) p.problems.clear("write maintenancerequests");
  queue.forget(name);
}

void Controller::Core::done(const std::string& key) {
  meters.end_work(key, p.loop.now());
  queue.done(key);
}

Controller::Controller(controllers::Host host, ControllerOptions options)
    : core_(std::make_unique<Core>(std::move(host), options)) {}
Controller::~Controller() = default;

void Controller::watch() {
  core_->p.watches.pods([] {});
  core_->p.watches.disruption_budgets();
  core_->p.watches.workloads(kube::WorkloadKind::daemon_set);
  core_->p.watches.node_sections("requests", {std::string(kBootIdPointer)}, {});
  core_->watched->start();
  core_->selectors.watch();
}

Task<void> Controller::synced() { co_await core_->watched->synced_gate().wait(); }

Task<void> Controller::refresh() { co_await core_->watched->refresh(); }

Task<void> Controller::lead() {
  Core& core = *core_;
  co_await core.watched->refresh();
  core.adopt_claims();
  core.changes.push_back(core.p.ledger.on_inherited([&core] { core.adopt_claims(); }));
  core.leading_since = core.p.loop.wall_now();
  core.running = true;
  core.watch_attachments();
  core.watched->store().for_each([&core](const kube::Object& one) {
    const Request request = parse_request(one);
    if (!is_settled(request, *core.leading_since) || time_to_live(request, core.limits_of(request)))
      core.queue.wake(one.name);
  });
  core.p.nodes.for_each([&core](const kube::Node& node) {
    if (node.annotation(drain::kHoldsAnnotation)) core.queue.wake(std::string(kNodeKey) + node.name);
  });
  core.acting.spawn(core.limit_reporter.run());
  core.acting.spawn(core.selectors.run());
  while (!core.stopping) {
    const std::string key = co_await core.queue.next();
    if (core.stopping) {
      core.queue.done(key);
      break;
    }
    core.decide_one(key);
  }
}

Task<void> Controller::stop() {
  Core& core = *core_;
  core.stopping = true;
  core.queue.clear();
  while (core.queue.working() > 0) co_await core.queue.idle().wait();
}

bool Controller::running() const { return core_->running; }

void Controller::clock_stepped(io::Duration by) {
  for (auto& [name, memory] : core_->memories) memory.clock_stepped(by);
  core_->wake_all();
  for (const auto& [name, memory] : core_->memories) core_->queue.wake(name);
}

std::unique_ptr<controllers::Picture> Controller::picture() const {
  const Core& core = *core_;
  std::vector<Shown> all;
  core.roster.for_each([&](const std::string& name, const Roster::Entry&) {
    const auto request = core.find(name);
    if (!request) return;
    const auto memory = core.memories.find(name);
    const kube::Node* const node = core.p.nodes.find(request->node);
    Shown shown{*request, {}, node ? node->uid : std::string(), core.places.contains(name)};
    if (core.running && memory != core.memories.end()) {
      shown.why = decide(core.world(*request), memory->second, core.p.loop.wall_now()).why;
    }
    all.push_back(std::move(shown));
  });
  return picture_of(std::move(all));
}

std::optional<std::string> Controller::node_of(std::string_view object) const {
  const auto request = core_->find(object);
  return request ? std::optional(request->node) : std::nullopt;
}

std::optional<controllers::Entry> Controller::entry_of(const kube::EventRecord& event, io::Wall time) {
  return requests::entry_of(event, time, node_of(event.regarding.name).value_or(""));
}

void Controller::on_change(std::function<void()> tell) {
  core_->changes.push_back(core_->watched->store().subscribe(
      [tell = std::move(tell)](const kube::Object*, const kube::Object*) { tell(); }));
}

}  // namespace careen::requests
