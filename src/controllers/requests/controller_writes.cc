// The writes of the controller of MaintenanceRequests. Each carries the version it was decided on; what the server
// answers enters the world, and what went wrong is remembered until it is tried again.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "budget/ledger.h"
#include "budget/touch.h"
#include "controllers/requests/controller_core.h"
#include "controllers/requests/names.h"
#include "io/problems.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/json.h"
#include "kube/names.h"
#include "limits/limit.h"

namespace careen::requests {

using io::Task;
using kube::Json;
using kube::WriteFate;
using kube::WriteResult;

namespace {

constexpr io::Duration kFirstRetry = io::milliseconds{500};
constexpr io::Duration kLongestRetry = io::minutes{1};
constexpr int kFreeConflicts = 3;
constexpr const char* kProblem = "write maintenancerequests";
constexpr int kUnprocessable = 422;

bool moved_on(const kube::ApiError& error) { return error.conflict() || error.already_exists() || error.not_found(); }

void fail(Memory::Trouble& trouble, const kube::ApiError& error, io::Wall now) {
  ++trouble.failures;
  trouble.what = error.message;
  const bool at_once = moved_on(error) && trouble.failures <= kFreeConflicts;
  trouble.retry_at = now;
  if (!at_once) {
    trouble.retry_at += std::min<io::Duration>(kLongestRetry, kFirstRetry * (1 << std::min(trouble.failures - 1, 10)));
  }
}

bool is_state(const kube::Object& object, State state) { return parse_request(object).state == state; }

}  // namespace

Task<void> Controller::Core::act(std::string name, Effect effect) {
  if (std::holds_alternative<Approve>(effect)) {
    co_await approve(name);
  } else if (auto* one = std::get_if<End>(&effect)) {
    co_await end(name, std::move(one->why));
  } else if (auto* away = std::get_if<TurnAway>(&effect)) {
    co_await turn_away(name, std::move(away->why));
  } else if (std::holds_alternative<Touch>(effect)) {
    co_await touch(name);
  } else if (auto* hold = std::get_if<HoldNode>(&effect)) {
    co_await hold_node(name, std::move(*hold));
  } else if (auto* status = std::get_if<WriteStatus>(&effect)) {
    co_await write_status(name, std::move(*status));
  } else {
    co_await remove(name);
  }
  queue.wake(name);
  done(name);
}

kube::WriteRequest Controller::Core::patch_of(const Request& request, Json patch) const {
  patch.set({"metadata", "resourceVersion"}, std::to_string(request.version));
  return {.name = request.name, .body = patch.dump(), .version = request.version};
}

// What became of a write: true when the object is as it was to be. Otherwise it is tried again, later if need be.
bool Controller::Core::settle(const std::string& name, const WriteResult& result, std::string_view what) {
  const auto memory = memories.find(name);
  if (result.done()) {
    if (memory != memories.end()) memory->second.trouble = {};
    if (troubled.erase(name) > 0 && troubled.empty()) p.problems.clear(kProblem);
    return true;
  }
  const kube::ApiError& error = *result.error;
  if (memory == memories.end() || budget::PauseGuard::interrupted(error)) return false;
  fail(memory->second.trouble, error, p.loop.wall_now());
  if (moved_on(error) || error.not_leader() || error.too_late()) return false;
  meters.errors().add();
  meters.retries.add();
  troubled.insert(name);
  p.problems.raise(kProblem,
                   fmt::format("MaintenanceRequest {}: {} failed: {}; it is tried again", name, what, error.message));
  return false;
}

// Its place is on record before it is sent, and it is about the request as it was when the place was given.
Task<void> Controller::Core::approve(std::string name) {
  const auto decided = find(name);
  const auto claim = claims.find(name);
  if (!decided || claim == claims.end()) co_return;
  const std::string key = budget::claim_key(decided->owner(), claim->second.uid);
  if (!co_await p.ledger.recorded(key)) co_return;
  const auto request = find(name);
  const auto still = claims.find(name);
  const uint64_t pauses = pause_guard.changes();
  if (!request || request->version != decided->version || still == claims.end() || pause() ||
      claim_on(*request, p.nodes.find(request->node)) != Claim::ours) {
    co_return;
  }
  const io::Wall now = p.loop.wall_now();
  Json patch = Json::object();
  patch.set({"metadata", "annotations", kApprovedAnnotation}, io::format_whole_seconds(now));
  patch.set({"spec", "state"}, name_of(State::approved));
  kube::WriteRequest write = patch_of(*request, std::move(patch));
  write.carry = [this, pauses](budget::PauseGuard::Write sent) { return pause_guard.carry(pauses, std::move(sent)); };
  const std::string node = request->node;
  const WriteResult result =
      co_await requests.write(std::move(write), [](const kube::Object& one) { return is_state(one, State::approved); });
  if (!settle(name, result, "approving it")) co_return;
  limit_reporter.approved(node);
  int64_t allowed = std::numeric_limits<uint32_t>::max();
  for (const limits::Limit* const limit : desk.limits_of(node)) {
    allowed = std::min(allowed, limit_reporter.allowed(limit->name));
  }
  p.log.info("approved", "name", name, "node", node, "client", request->client);
  record(*request, "Normal", "MaintenanceApproved",
         fmt::format("approved maintenance request, under limits {}", allowed));
}

Task<void> Controller::Core::end(std::string name, Ended why) {
  const auto decided = find(name);
  if (!decided) co_return;
  // A node that joins and whoever asks for it may be seen in the other order.
  const bool may_exist =
      why.reason == reasons::kTargetNotFound && !decided->node.empty() && kube::subdomain_errors(decided->node).empty();
  if (may_exist) {
    if (const auto blind = co_await nodes.look("", decided->node)) {
      settle(name, {WriteFate::refused, *blind, std::nullopt}, "reading its node");
      co_return;
    }
    if (p.nodes.find(decided->node)) co_return;
  }
  const auto request = find(name);
  if (!request || request->version != decided->version) co_return;
  const State state = why.rejects() ? State::rejected : State::completed;
  Json patch = Json::object();
  patch.set({"metadata", "annotations", kEndedAnnotation}, why.text());
  patch.set({"spec", "state"}, name_of(state));
  const WriteResult result = co_await requests.write(patch_of(*request, std::move(patch)),
                                                     [&](const kube::Object& one) { return is_state(one, state); });
  // The original's definition knows no Rejected.
  const bool unknown_state = result.error && result.error->code == kUnprocessable && state == State::rejected;
  if (unknown_state && !result.error->conflict()) co_return co_await remove_instead(*request, std::move(why));
  if (!settle(name, result, "ending it")) co_return;
  p.log.info("ended", "name", name, "node", request->node, "reason", why.reason, "message", why.message);
  if (state == State::completed) {
    record(*request, "Normal", why.reason, why.message);
  } else {
    record(*request, "Warning", "MaintenanceRejected", why.text());
  }
}

Task<void> Controller::Core::remove_instead(Request request, Ended why) {
  // Once the request is gone nobody knows that the node is to stay as it is.
  const kube::Node* const node = p.nodes.find(request.node);
  if (why.reason == reasons::kTimedOut && node && holds_node(*node, request)) {
    const drain::NodeChange change = drain::abandon(*node, request.owner(), p.atoms);
    const WriteResult left = co_await nodes.write(
        {.name = request.node, .body = change.merge_patch(node->version), .version = node->version});
    if (!settle(request.name, left, "letting go of its node")) co_return;
  }
  record(request, "Warning", "MaintenanceRejected", why.text());
  kube::DeleteOptions what;
  what.preconditions = {request.uid, std::to_string(request.version)};
  const auto answer = co_await p.client.remove(kResource, "", request.name, what);
  WriteResult result{answer ? WriteFate::written : WriteFate::refused, std::nullopt, std::nullopt};
  if (!answer) result.error = answer.error();
  if (!settle(request.name, result, "deleting it, since its definition knows no Rejected,")) co_return;
  p.log.info("deleted in place of being rejected", "name", request.name, "reason", why.reason);
  co_await requests.look("", request.name);
}

Task<void> Controller::Core::turn_away(std::string name, Ended why) {
  const auto request = find(name);
  if (!request) co_return;
  Json patch = Json::object();
  patch.set({"spec", "state"}, name_of(State::rejected));
  const WriteResult result = co_await requests.write(
      patch_of(*request, std::move(patch)), [](const kube::Object& one) { return is_state(one, State::rejected); });
  if (!settle(name, result, "rejecting it again")) co_return;
  record(*request, "Warning", reasons::kRejectedTransition,
         fmt::format("it was set to {}, but had been rejected: {}", name_of(request->state), why.reason));
}

Task<void> Controller::Core::touch(std::string name) {
  const auto request = find(name);
  const auto claim = claims.find(name);
  if (!request || claim == claims.end()) co_return;
  const std::string key = budget::claim_key(request->owner(), claim->second.uid);
  Json patch = Json::object();
  patch.set({"metadata", "annotations", budget::kTouchAnnotation}, io::format_rfc3339(p.loop.wall_now()));
  const WriteResult result = co_await requests.write(patch_of(*request, std::move(patch)));
  // After a conflict there is another version than any write of a predecessor could name: or one that it made.
  if (!settle(name, result, "touching it")) co_return;
  p.ledger.settled(key);
  const auto now = find(name);
  const auto still = claims.find(name);
  if (!now || still == claims.end() || now->state != State::pending) co_return;
  const kube::Node* const node = p.nodes.find(now->node);
  if (node && node->uid == still->second.uid) co_return;
  // Its place was that of another node.
  const std::string place = still->second.node;
  p.ledger.finish(key);
  claims.erase(still);
  places.erase(name);
  roster.set_placed(name, false);
  desk.release(place, now->owner());
}

Task<void> Controller::Core::hold_node(std::string name, HoldNode effect) {
  const auto request = find(name);
  const auto claim = claims.find(name);
  if (!request || claim == claims.end()) co_return;
  if (!co_await p.ledger.recorded(budget::claim_key(request->owner(), claim->second.uid)) || pause()) co_return;
  const uint64_t pauses = pause_guard.changes();
  kube::WriteRequest write{
      .name = request->node, .body = effect.change.merge_patch(effect.version), .version = effect.version};
  write.carry = [this, pauses](budget::PauseGuard::Write sent) { return pause_guard.carry(pauses, std::move(sent)); };
  const WriteResult result = co_await nodes.write(std::move(write));
  settle(name, result, "cordoning its node");
}

Task<void> Controller::Core::write_status(std::string name, WriteStatus effect) {
  const auto request = find(name);
  const auto memory = memories.find(name);
  if (!request || memory == memories.end()) co_return;
  memory->second.status_written = p.loop.now();
  const Status before = memory->second.status;
  Json patch = Json::object();
  patch.set({"status"}, status_patch(effect.status));
  kube::WriteRequest write = patch_of(*request, std::move(patch));
  write.subresource = "status";
  const WriteResult result = co_await requests.write(
      std::move(write), [&](const kube::Object& one) { return parse_request(one).status == effect.status; });
  const auto known = memories.find(name);
  if (known == memories.end()) co_return;
  if (!result.done()) {
    if (budget::PauseGuard::interrupted(*result.error)) co_return;
    fail(known->second.status_trouble, *result.error, p.loop.wall_now());
    if (moved_on(*result.error) || result.error->not_leader() || result.error->too_late()) co_return;
    meters.errors().add();
    troubled.insert(name);
    p.problems.raise(kProblem, fmt::format("the status of MaintenanceRequest {} cannot be written: {}", name,
                                           result.error->message));
    co_return;
  }
  known->second.status_trouble = {};
  const auto now = find(name);
  known->second.drops_status = now && now->status != effect.status;
  known->second.status = effect.status;
  if (now) known->second.status_version = now->version;
  status_is_written(*request, before, effect.status);
}

// Events that belong to what the status tells, once.
void Controller::Core::status_is_written(const Request& request, const Status& before, const Status& now) {
  if (now.reason != before.reason && (now.reason == reasons::kUnapproved || now.reason == reasons::kTypeMissing)) {
    record(request, "Warning", now.reason, now.message);
  }
  const Condition* const released = now.condition(conditions::kNodeReleased);
  if (!released || before.condition(conditions::kNodeReleased)) return;
  record(request, "Warning", released->reason, released->message);
  if (const kube::Node* const node = p.nodes.find(request.node)) {
    record_on_node(*node, released->reason, released->message);
  }
}

Task<void> Controller::Core::remove(std::string name) {
  const auto request = find(name);
  if (!request) co_return;
  kube::DeleteOptions what;
  what.preconditions = {request->uid, std::to_string(request->version)};
  const auto answer = co_await p.client.remove(kResource, "", name, what);
  WriteResult result{answer ? WriteFate::written : WriteFate::refused, std::nullopt, std::nullopt};
  if (!answer) result.error = answer.error();
  settle(name, result, "deleting it");
  co_await requests.look("", name);
}

// A hold on the node for which no request stands any more.
std::optional<Controller::Core::Stray> Controller::Core::stray_hold(const kube::Node& node) const {
  if (!node.annotation(drain::kHoldsAnnotation)) return std::nullopt;
  for (const auto& [owner, hold] : drain::holds_of(node).by_owner) {
    const auto name = request_of(owner);
    if (!name) continue;
    const auto request = find(*name);
    // One that waits without a place holds nothing: its record was lost, or somebody has made the hold up.
    const bool waits =
        request && request->live() && request->state == State::pending && !places.contains(request->name);
    drain::NodeChange change =
        end_hold(node, owner, hold, request && !waits ? &*request : nullptr, desk.limits_of(node.name), p.atoms);
    if (!change.empty()) return Stray{owner, std::move(change)};
  }
  return std::nullopt;
}

Task<void> Controller::Core::release_stray(std::string name) {
  const std::string key = "node/" + name;
  const kube::Node* const node = p.nodes.find(name);
  const auto stray = node ? stray_hold(*node) : std::nullopt;
  if (stray) {
    const WriteResult result = co_await nodes.write(
        {.name = name, .body = stray->change.merge_patch(node->version), .version = node->version});
    if (result.done()) {
      p.log.info("the node is let go of", "node", name, "owner", stray->owner);
      queue.succeeded(key);
      queue.wake(key);
      if (const auto request = request_of(stray->owner)) queue.wake(*request);
    } else {
      queue.wake_after_failure(key);
    }
  }
  done(key);
}

void Controller::Core::record(const Request& request, const char* type, std::string_view reason, std::string note) {
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {kResource.api_version(),        kResource.kind, "", request.name, request.uid,
                     std::to_string(request.version)};
  event.type = type;
  event.reason = reason;
  event.note = std::move(note);
  event.controller = kEventSource;
  p.events.record(std::move(event));
}

void Controller::Core::record_on_node(const kube::Node& node, std::string_view reason, std::string note) {
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {"v1", "Node", "", node.name, node.uid, std::to_string(node.version)};
  event.type = "Warning";
  event.reason = reason;
  event.note = std::move(note);
  event.controller = kEventSource;
  p.events.record(std::move(event));
}

}  // namespace careen::requests
