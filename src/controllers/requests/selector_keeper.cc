#include "controllers/requests/selector_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "budget/pause.h"
#include "controllers/requests/names.h"
#include "controllers/requests/request.h"
#include "controllers/requests/roster.h"
#include "io/problems.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "kube/node.h"

namespace careen::requests {

using io::Task;
using kube::Json;

namespace {

// Between two writes, and between two looks at all of them.
constexpr io::Duration kBetweenWrites = io::milliseconds{50};
constexpr io::Duration kBetweenRounds = io::seconds{1};
constexpr const char* kSelectorsProblem = "write for maintenanceselectors";

std::string selector_of(const kube::Object& request) {
  const kube::JsonView labels = request.document["metadata"]["labels"];
  const auto name = labels[kSelectorLabel].text();
  if (!name) return {};
  return fmt::format("{}/{}", labels[kSelectorNamespaceLabel].text().value_or(""), *name);
}

}  // namespace

SelectorKeeper::SelectorKeeper(controllers::Host& host, kube::Store<kube::Object>& requests, const Roster& roster)
    : p_(host),
      requests_(requests),
      roster_(roster),
      watched_(host.watches.objects({.resource = kSelectorResource, .optional = true})),
      writer_(
          host.client, kSelectorResource, watched_->store(),
          [](std::string_view json) { return kube::decode_object(json); }, host.log),
      request_writer_(
          host.client, kResource, requests, [](std::string_view json) { return kube::decode_object(json); }, host.log),
      by_selector_(requests,
                   [](const kube::Object& one) {
                     std::string selector = selector_of(one);
                     return selector.empty() ? std::vector<std::string>() : std::vector{std::move(selector)};
                   }),
      wake_(host.loop) {
  changes_.push_back(requests.subscribe(
      [this](const kube::Object* before, const kube::Object* after) { request_changed(before, after); }));
  changes_.push_back(watched_->store().subscribe(
      [this](const kube::Object* before, const kube::Object* after) { look_again((after ? after : before)->key()); }));
  changes_.push_back(p_.pauses.subscribe(
      [this] { watched_->store().for_each([this](const kube::Object& one) { look_again(one.key()); }); }));
}

void SelectorKeeper::watch() { watched_->start(); }

void SelectorKeeper::look_again(const std::string& selector) {
  due_.insert(selector);
  wake_.notify();
}

void SelectorKeeper::node_changed(const kube::Node* before, const kube::Node* after) {
  if (watched_->store().size() == 0 || (before && after && before->labels == after->labels)) return;
  watched_->store().for_each([this](const kube::Object& one) { look_again(one.key()); });
}

// Requests of anybody matter: one that lives may be of the client that a selector names.
void SelectorKeeper::request_changed(const kube::Object* before, const kube::Object* after) {
  if (watched_->store().size() == 0) return;
  if (before && after && before->document["spec"] == after->document["spec"]) return;
  watched_->store().for_each([this](const kube::Object& one) { look_again(one.key()); });
}

std::vector<Request> SelectorKeeper::made_by(const std::string& selector) const {
  std::vector<Request> all;
  by_selector_.for_each(selector, [&](const kube::Object& one) { all.push_back(parse_request(one)); });
  return all;
}

Task<void> SelectorKeeper::run() {
  if (p_.dry_run) co_return;
  co_await watched_->synced_gate().wait();
  watched_->store().for_each([this](const kube::Object& one) { due_.insert(one.key()); });
  for (;;) {
    const std::set<std::string> round = std::exchange(due_, {});
    for (const std::string& selector : round) co_await keep(selector);
    co_await io::sleep_for(p_.loop, kBetweenRounds);
    if (due_.empty()) co_await wake_.wait();
  }
}

Task<void> SelectorKeeper::keep(std::string key) {
  const kube::Object* const object = watched_->store().find(key);
  if (!object) co_return;
  const Selector selector = parse_selector(*object);
  if (selector.deleting) co_return;
  const SelectorPlan plan = plan_of(selector, p_.nodes, roster_, made_by(key));
  const bool paused = selector.paused || p_.pauses.of("");
  bool failed = false;
  if (!paused) {
    for (const auto& what : plan.create) {
      failed |= !co_await make(selector, what);
      co_await io::sleep_for(p_.loop, kBetweenWrites);
      if (p_.pauses.of("") || due_.contains(key)) break;  // what it was planned on is not so any more
    }
    for (const std::string& name : plan.remove) {
      failed |= !co_await take_back(name);
      co_await io::sleep_for(p_.loop, kBetweenWrites);
      if (p_.pauses.of("") || due_.contains(key)) break;
    }
  }
  // Under a selector without effect its status is left alone.
  if (selector.wants || !selector.message.empty()) {
    co_await tell(selector, plan_of(selector, p_.nodes, roster_, made_by(key)));
  }
  if (failed) look_again(key);
}

Task<bool> SelectorKeeper::make(const Selector& selector, SelectorPlan::Creation what) {
  Json object = Json::object({{"apiVersion", kResource.api_version()}, {"kind", kResource.kind}});
  object.set({"metadata", "name"}, what.name);
  object.set({"metadata", "labels", kClientLabel}, selector.client);
  object.set({"metadata", "labels", kSelectorLabel}, selector.name);
  object.set({"metadata", "labels", kSelectorNamespaceLabel}, selector.ns);
  object.set({"spec", "name"}, what.node).set({"spec", "type"}, "node").set({"spec", "state"}, name_of(State::pending));
  const std::string key = selector.key();
  const auto answer = co_await p_.client.create(kResource, "", object.dump());
  if (answer) {
    request_writer_.enter(*answer);
    if (troubled_.erase(key) > 0 && troubled_.empty()) p_.problems.clear(kSelectorsProblem);
    co_return true;
  }
  const kube::ApiError& error = answer.error();
  // It was made before, and nobody heard of it.
  if (error.already_exists()) co_return !co_await request_writer_.look("", what.name);
  if (error.not_leader() || error.too_late()) co_return false;
  troubled_.insert(key);
  p_.problems.raise(kSelectorsProblem,
                    fmt::format("MaintenanceSelector {}: the request for node {} cannot be made: {}; "
                                "it is tried again",
                                key, what.node, error.message));
  co_return false;
}

// Under its version: one that is being approved meanwhile stays.
Task<bool> SelectorKeeper::take_back(std::string name) {
  const kube::Object* const object = requests_.find(name);
  if (!object) co_return true;
  const Request request = parse_request(*object);
  const Roster::Entry* const entry = roster_.find(name);
  if (request.state != State::pending || (entry && entry->placed)) co_return true;
  kube::DeleteOptions what;
  what.preconditions = {request.uid, std::to_string(request.version)};
  const auto answer = co_await p_.client.remove(kResource, "", name, what);
  co_await request_writer_.look("", name);
  co_return answer || answer.error().not_found() || answer.error().conflict();
}

Task<void> SelectorKeeper::tell(const Selector& selector, const SelectorPlan& plan) {
  const std::string message = !selector.mistake.empty() ? selector.mistake : selector.paused ? "paused" : "";
  const bool same = plan.matched == selector.matched && plan.created == selector.created && message == selector.message;
  if (same) co_return;
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(selector.version));
  patch.set({"status"}, Json::object({{"matched", plan.matched},
                                      {"created", plan.created},
                                      {"message", message.empty() ? Json() : Json(message)}}));
  const auto result = co_await writer_.write({.ns = selector.ns,
                                              .name = selector.name,
                                              .body = patch.dump(),
                                              .subresource = "status",
                                              .version = selector.version});
  if (!result.done() && result.fate == kube::WriteFate::conflict) look_again(selector.key());
}

}  // namespace careen::requests
