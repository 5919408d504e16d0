// The writes of the NodeMaintenance controller. Each carries the version it was decided on; what the server answers
// enters the world, and what went wrong is remembered until it is tried again.
#include <fmt/format.h>

#include <algorithm>

#include "controllers/nodemaintenance/controller_core.h"
#include "controllers/nodemaintenance/drain_report.h"
#include "controllers/nodemaintenance/names.h"
#include "io/problems.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/events.h"
#include "kube/json.h"
#include "kube/node.h"
#include "kube/node_decoder.h"
#include "kube/objects.h"

namespace careen::nodemaintenance {

using io::Task;
using kube::Json;

namespace {

constexpr io::Duration kFirstRetry = io::milliseconds{500};
constexpr io::Duration kLongestRetry = io::minutes{1};
constexpr int kFreeConflicts = 3;
constexpr io::Duration kLongestSettlePause = io::seconds{10};

constexpr const char* kObjectsProblem = "write nodemaintenances";
constexpr const char* kNodesProblem = "write nodes for nodemaintenances";
constexpr const char* kLifecycleProblem = "write conditions of nodes";

io::Duration backoff(int failures) {
  return std::min<io::Duration>(kLongestRetry, kFirstRetry * (1 << std::min(failures - 1, 10)));
}

Json under_version(uint64_t version) {
  return std::move(Json::object().set({"metadata", "resourceVersion"}, std::to_string(version)));
}

bool is_paused(const Status& status) {
  const Condition* blocked = status.condition(kBlocked);
  return blocked && blocked->holds && blocked->reason == kPaused;
}

// True of a node on which the change is in effect, whether or not an answer says so.
kube::ObjectWriter<kube::Node>::Test makes(const drain::NodeChange& change) {
  return [change](const kube::Node& node) {
    const auto is_there = [&](const auto& item) {
      const std::string* const text = node.annotation(item.first);
      return item.second ? text && *text == *item.second : !text;
    };
    return std::all_of(change.annotations.begin(), change.annotations.end(), is_there) &&
           (!change.unschedulable || node.unschedulable == *change.unschedulable);
  };
}

Json list_of(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(text);
  return out;
}

}  // namespace

Task<void> Controller::Core::act(std::string name, Effect effect) {
  if (std::holds_alternative<Enlist>(effect)) {
    co_await enlist(name, true);
  } else if (std::holds_alternative<Mark>(effect)) {
    co_await enlist(name, false);
  } else if (auto* status = std::get_if<WriteStatus>(&effect)) {
    co_await write_status(name, std::move(*status));
  } else if (auto* lease = std::get_if<RequestLease>(&effect)) {
    co_await request_lease(name, std::move(*lease));
  } else if (auto* hold = std::get_if<HoldNode>(&effect)) {
    co_await hold_node(name, std::move(*hold));
  } else if (auto* release = std::get_if<ReleaseNode>(&effect)) {
    co_await release_node(name, std::move(*release));
  } else if (auto* back = std::get_if<GiveLeaseBack>(&effect)) {
    co_await give_lease_back(name, std::move(*back));
  } else if (auto* lifecycle = std::get_if<TellLifecycle>(&effect)) {
    co_await tell_lifecycle(name, std::move(*lifecycle));
  } else {
    co_await discharge(name);
  }
  queue.wake(name);
  done(name);
}

Task<void> Controller::Core::enlist(std::string name, bool announce) {
  const Maintenance* maintenance = roster.find(name);
  if (!maintenance) co_return;
  Json patch = under_version(maintenance->version);
  patch.set({"metadata", "annotations", kBegunAnnotation},
            io::format_rfc3339(std::chrono::floor<io::seconds>(p.loop.wall_now())));
  if (announce) {
    std::vector<std::string> finalizers = maintenance->finalizers;
    finalizers.emplace_back(kFinalizer);
    patch.set({"metadata", "finalizers"}, list_of(finalizers));
  }
  // An answer that never came may have been a yes.
  const auto result = co_await maintenances.write(
      object_patch(*maintenance, std::move(patch)),
      [announce](const kube::Object& object) { return announce && parse_maintenance(object).has_finalizer(); });
  if (!result.done()) {
    failed(name, "writing the finalizer failed", kObjectsProblem, *result.error);
    co_return;
  }
  const bool answered = result.fate == kube::WriteFate::written;
  if (answered) succeeded(name, kObjectsProblem);
  maintenance = roster.find(name);
  if (!announce || !maintenance) co_return;
  if (answered) {
    p.log.info("Applying maintenance mode", "name", name, "node", maintenance->node, "reason", maintenance->reason);
  }
  record(*maintenance, "Normal", "BeginMaintenance", "Begin a node maintenance");
}

Task<void> Controller::Core::write_status(std::string name, WriteStatus effect) {
  const Maintenance* maintenance = roster.find(name);
  if (!maintenance) co_return;
  const io::Wall now = p.loop.wall_now();
  Json patch = under_version(maintenance->version);
  patch.set({"status"}, status_patch(effect.status, now));
  const auto written_at = io::parse_rfc3339(patch["status"]["lastUpdate"].text().value_or(""));
  kube::WriteRequest request = object_patch(*maintenance, std::move(patch));
  request.subresource = "status";
  const Phase phase = effect.status.phase;
  const auto result = co_await maintenances.write(std::move(request), [&](const kube::Object& object) {
    const Status there = parse_maintenance(object).status;
    return there.last_update == written_at && there.phase == phase;
  });
  if (result.done()) {
    status_is_written(name, effect);
    co_return;
  }
  const kube::ApiError& error = *result.error;
  const auto memory = memories.find(name);
  if (memory == memories.end()) co_return;
  Trouble& trouble = memory->second.status_trouble;
  ++trouble.failures;
  const bool at_once = error.conflict() && trouble.failures <= kFreeConflicts;
  trouble.retry_at = at_once ? now : p.loop.wall_now() + backoff(trouble.failures);
  if (at_once || error.not_leader() || error.not_found()) co_return;
  meters.errors().add();
  complain(name, kObjectsProblem,
           fmt::format("the status of NodeMaintenance {} cannot be written: {}", name, error.message));
}

void Controller::Core::status_is_written(const std::string& name, const WriteStatus& effect) {
  clear(kObjectsProblem);
  const auto known = memories.find(name);
  const Maintenance* maintenance = roster.find(name);
  if (known == memories.end() || !maintenance || known->second.uid != maintenance->uid) return;
  Memory& memory = known->second;
  const Phase before = memory.written.phase;
  if (is_paused(effect.status) && !is_paused(memory.written)) {
    record(*maintenance, "Warning", "PausedMaintenance",
           ("Nothing is begun or evicted: " + effect.status.last_error).c_str());
  }
  memory.written = effect.status;
  memory.written.last_update = maintenance->status.last_update;
  memory.written_at = p.loop.wall_now();
  memory.written_version = maintenance->version;
  memory.bare = false;
  memory.status_trouble = {};
  if (!effect.counted.empty()) {
    memory.counted_uid = effect.counted;
  } else if (effect.status.phase != Phase::failed && !memory.held_uid.empty()) {
    memory.counted_uid = memory.held_uid;
  }
  if (effect.status.lease_errors == 0) memory.lost_at.reset();
  if (effect.status.phase == before) return;
  if (effect.status.phase == Phase::succeeded) {
    p.log.info("Maintenance was completed - all pods were evicted", "name", name, "node", maintenance->node);
    record(*maintenance, "Normal", "SucceedMaintenance", "Node maintenance was succeeded");
  }
  if (effect.status.phase == Phase::failed) {
    p.log.warn("the maintenance has failed", "name", name, "node", maintenance->node, "cause",
               effect.status.last_error);
    record(*maintenance, "Warning", "FailedMaintenance", "Failed a node maintenance");
  }
}

Task<void> Controller::Core::hold_node(std::string name, HoldNode effect) {
  const Maintenance* maintenance = roster.find(name);
  if (!maintenance) co_return;
  const std::string node = maintenance->node;
  if (!co_await places.recorded(name, effect.node_uid) || pause()) co_return;
  kube::WriteRequest request = node_patch(node, effect.change, effect.version);
  request.carry = [this, decided = pause_guard.changes()](budget::PauseGuard::Write write) {
    return pause_guard.carry(decided, std::move(write));
  };
  places.sending(name, node);
  const auto result = co_await nodes.write(std::move(request), makes(effect.change));
  places.sent(name, node, result);
  if (result.error && budget::PauseGuard::interrupted(*result.error)) co_return;
  if (!node_is_written(name, result)) co_return;
  if (const auto memory = memories.find(name); memory != memories.end()) {
    memory->second.held_uid = effect.node_uid;
    memory->second.held_at = p.loop.wall_now();
  }
}

kube::WriteRequest Controller::Core::node_patch(const std::string& node, const drain::NodeChange& change,
                                                uint64_t version) const {
  return {.name = node, .body = change.merge_patch(version), .version = version};
}

kube::WriteRequest Controller::Core::object_patch(const Maintenance& maintenance, Json patch) const {
  return {.name = maintenance.name, .body = patch.dump(), .version = maintenance.version};
}

bool Controller::Core::node_is_written(const std::string& name, const kube::WriteResult& result) {
  if (result.done()) {
    succeeded(name, kNodesProblem);
  } else {
    failed(name, "patching node failed", kNodesProblem, *result.error);
  }
  return result.done();
}

Task<void> Controller::Core::release_node(std::string name, ReleaseNode effect) {
  const Maintenance* maintenance = roster.find(name);
  if (!maintenance) co_return;
  const std::string node = maintenance->node;
  if (!node_is_written(name,
                       co_await nodes.write(node_patch(node, effect.change, effect.version), makes(effect.change)))) {
    co_return;
  }
  if (const auto memory = memories.find(name); memory != memories.end()) memory->second.held_uid.clear();
  const kube::Node* released = p.nodes.find(node);
  if (released && !released->unschedulable) record_uncordon(*released);
}

Task<void> Controller::Core::tell_lifecycle(std::string name, TellLifecycle effect) {
  const Maintenance* maintenance = roster.find(name);
  if (!maintenance) co_return;
  const std::string node = maintenance->node;
  const auto answer =
      co_await p.client.patch(kube::resources::nodes, "", node, kube::PatchType::strategic, effect.patch, "status");
  if (answer) {
    nodes.enter(*answer);
    lifecycle_refusals.granted();
    clear(kLifecycleProblem);
    co_return;
  }
  // What may not be written is left alone.
  const bool missing = lifecycle_refusals.missing(answer.error(), p.loop.now());
  const auto memory = memories.find(name);
  if (memory != memories.end() && (missing || answer.error().not_found())) memory->second.lifecycle_stays = true;
  if (missing) {
    p.problems.raise(kLifecycleProblem, fmt::format("the conditions of node {} cannot be written: {}; maintenances go "
                                                    "on without them",
                                                    node, answer.error().message));
    co_return;
  }
  failed(name, "writing the conditions of the node failed", kLifecycleProblem, answer.error());
}

Task<void> Controller::Core::discharge(std::string name) {
  const Maintenance* maintenance = roster.find(name);
  if (!maintenance) co_return;
  const Maintenance leaving = *maintenance;
  std::vector<std::string> finalizers = leaving.finalizers;
  std::erase(finalizers, kFinalizer);
  Json patch = under_version(leaving.version);
  patch.set({"metadata", "finalizers"}, list_of(finalizers));
  kube::WriteRequest request = object_patch(leaving, std::move(patch));
  // That was the last one: the answer is how it was at its end.
  request.ends = finalizers.empty();
  const auto result = co_await maintenances.write(std::move(request));
  maintenance = roster.find(name);
  const bool is_out = !maintenance || maintenance->uid != leaving.uid || !maintenance->has_finalizer();
  const bool answered = result.fate == kube::WriteFate::written;
  if (!answered && !is_out) {
    failed(name, "removing the finalizer failed", kObjectsProblem, *result.error);
    co_return;
  }
  if (answered) succeeded(name, kObjectsProblem);
  p.log.info("the maintenance is over", "name", name, "node", leaving.node);
  record(leaving, "Normal", "RemovedMaintenance", "Removed a node maintenance");
}

// Of a NodeMaintenance that went without letting go of its node.
Task<void> Controller::Core::release_orphan(std::string name) {
  const std::string key = "node/" + name;
  const kube::Node* node = p.nodes.find(name);
  const std::string owner = node ? orphaned_hold(world(), *node) : std::string();
  if (!owner.empty()) {
    const drain::NodeChange change = drain::release(*node, owner, p.atoms, earlier_cordon(world()));
    const auto result = co_await nodes.write(node_patch(name, change, node->version));
    if (result.done()) {
      p.log.warn("a node was still held for a maintenance that is gone; it is released", "node", name, "owner", owner);
      queue.succeeded(key);
    } else {
      queue.wake_after_failure(key);
    }
  }
  done(key);
}

// A hold that was sent without an answer has arrived, or the node is changed so that it must fail should it still come.
Task<void> Controller::Core::settle_place(limits::Place place) {
  const io::Steady over = p.loop.now() + kube::kLongestFlight;
  for (io::Duration pause = io::seconds{1}; !co_await is_settled(place);
       pause = std::min<io::Duration>(2 * pause, kLongestSettlePause)) {
    if (p.loop.now() >= over) {
      p.log.warn("a write without an answer has not been applied for so long that it is taken for lost", "node",
                 place.node, "for", place.who, "after", io::format_duration(kube::kLongestFlight));
      break;
    }
    co_await io::sleep_for(p.loop, pause);
  }
  places.settled(place);
}

Task<bool> Controller::Core::is_settled(const limits::Place& place) {
  if (co_await nodes.look("", place.node)) co_return false;
  const kube::Node* node = p.nodes.find(place.node);
  if (!node || node->uid != place.uid || drain::holds_of(*node).by_owner.contains(place.who)) co_return true;
  Json touch = under_version(node->version);
  touch.set({"metadata", "annotations", kTouchAnnotation}, io::format_rfc3339(p.loop.wall_now()));
  const auto result = co_await nodes.write({.name = place.node, .body = touch.dump(), .version = node->version});
  co_return result.done() || result.fate == kube::WriteFate::missing;
}

void Controller::Core::succeeded(const std::string& name, const std::string& problem) {
  clear(problem);
  if (const auto memory = memories.find(name); memory != memories.end()) memory->second.trouble = {};
}

void Controller::Core::complain(const std::string& name, const std::string& problem, const std::string& message) {
  complaints[problem].insert(name);
  p.problems.raise(problem, message);
}

void Controller::Core::clear(const std::string& problem) {
  complaints.erase(problem);
  p.problems.clear(problem);
}

void Controller::Core::failed(const std::string& name, std::string_view what, const std::string& problem,
                              const kube::ApiError& error) {
  const auto memory = memories.find(name);
  if (memory == memories.end()) return;
  Trouble& trouble = memory->second.trouble;
  ++trouble.failures;
  const bool at_once = (error.conflict() || error.already_exists()) && trouble.failures <= kFreeConflicts;
  trouble.retry_at = p.loop.wall_now() + (at_once ? io::Duration{0} : backoff(trouble.failures));
  // Nothing was sent, or the world has moved on: neither is worth a word.
  if (at_once || error.not_leader()) return;
  trouble.what = fmt::format("{}: {}", what, error.message);
  meters.errors().add();
  meters.retries.add();
  if (error.forbidden()) {
    complain(name, problem, fmt::format("NodeMaintenance {}: {}; it is tried again", name, trouble.what));
  } else {
    p.log.warn("a write failed and is tried again", "name", name, "cause", trouble.what);
  }
}

void Controller::Core::record(const Maintenance& maintenance, const char* type, const char* reason, const char* note) {
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {kResource.group + "/" + kResource.version, kResource.kind, "", maintenance.name, maintenance.uid,
                     std::to_string(maintenance.version)};
  event.type = type;
  event.reason = reason;
  event.note = note;
  event.controller = "NodeMaintenance";
  p.events.record(std::move(event));
}

void Controller::Core::record_uncordon(const kube::Node& node) {
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {"v1", "Node", "", node.name, node.uid, std::to_string(node.version)};
  event.reason = "UncordonNode";
  event.note = "Uncordon a node";
  event.controller = "NodeMaintenance";
  p.events.record(std::move(event));
}

}  // namespace careen::nodemaintenance
