#include "controllers/requests/limit_reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "controllers/requests/decide.h"
#include "controllers/requests/names.h"
#include "io/problems.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/events.h"
#include "kube/node.h"
#include "limits/foreign_places.h"
#include "limits/limit.h"
#include "limits/webhook_state.h"

namespace careen::requests {

using io::Task;
using kube::Json;

namespace {

// Between two looks at limits, whichever they are; of one limit no more than one a second.
constexpr io::Duration kBetweenLooks = io::milliseconds{200};
constexpr io::Duration kBetweenReports = io::seconds{1};
constexpr io::Duration kLongestRetry = io::minutes{1};
constexpr const char* kLimitsProblem = "write maintenancelimits";

}  // namespace

LimitReporter::LimitReporter(controllers::Host& host, const Roster& roster)
    : p_(host),
      roster_(roster),
      writer_(
          host.client, limits::kLimitResource, *host.limit_objects,
          [](std::string_view json) { return kube::decode_object(json); }, host.log),
      wake_(host.loop),
      retry_(host.loop, [this] { changed(); }) {}

void LimitReporter::follow(const ControllerOptions& options) { not_ready_only_false_ = options.not_ready_only_false; }

void LimitReporter::changed() { wake_.notify(); }

void LimitReporter::approved(const std::string& node) { note(node, &LimitTimes::approved); }
void LimitReporter::finished(const std::string& node) { note(node, &LimitTimes::finished); }

void LimitReporter::note(const std::string& node, std::optional<io::Wall> LimitTimes::* which) {
  for (const limits::Limit* const limit : p_.limits->limits_of(node)) times_[limit->name].*which = p_.loop.wall_now();
  changed();
}

LimitPicture LimitReporter::picture_of(const limits::Limit& limit) const {
  LimitPicture picture = picture_of_limit(limit, p_.nodes, roster_, *p_.limits, not_ready_only_false_);
  picture.times = {limit.last_approval, limit.last_finish};
  if (p_.limit_webhook && limits::makes_wait(limit)) {
    picture.asked = p_.limit_webhook->is() == limits::WebhookState::Is::serving;
    picture.not_asked = p_.limit_webhook->why();
  }
  if (const auto known = times_.find(limit.name); known != times_.end()) {
    const auto later = [](std::optional<io::Wall>& time, const std::optional<io::Wall>& other) {
      if (other && (!time || *time < *other)) time = other;
    };
    later(picture.times.approved, known->second.approved);
    later(picture.times.finished, known->second.finished);
  }
  return picture;
}

int64_t LimitReporter::allowed(std::string_view limit) const {
  const kube::Object* const object = p_.limit_objects->find(limit);
  return object ? object->document["status"]["limit"].integer().value_or(0) : 0;
}

// A change while a round is under way makes another one.
Task<void> LimitReporter::run() {
  if (p_.dry_run) co_return;
  if (p_.limit_webhook) webhook_changes_ = p_.limit_webhook->on_change([this] { changed(); });
  for (;;) {
    waiting_.clear();
    p_.limits->for_each_limit([this](const limits::Limit& limit) { waiting_.insert(limit.name); });
    std::erase_if(times_, [this](const auto& one) { return !waiting_.contains(one.first); });
    std::vector<std::string> gone;
    for (const auto& [name, trouble] : troubled_) {
      if (!waiting_.contains(name)) gone.push_back(name);
    }
    for (const std::string& name : gone) healed(name);
    while (!waiting_.empty()) {
      const std::string name = waiting_.extract(waiting_.begin()).value();
      co_await report(name);
      co_await io::sleep_for(p_.loop, kBetweenLooks);
    }
    const auto next = std::ranges::min_element(troubled_, {}, [](const auto& one) { return one.second.retry_at; });
    if (next != troubled_.end()) retry_.set(next->second.retry_at);
    co_await io::sleep_for(p_.loop, kBetweenReports - kBetweenLooks);
    co_await wake_.wait();
  }
}

Task<void> LimitReporter::report(const std::string& name) {
  const limits::Limit* const limit = p_.limits->find(name);
  const kube::Object* const object = p_.limit_objects->find(name);
  if (!limit || !object || limit->deleting) co_return;
  if (const auto trouble = troubled_.find(name); trouble != troubled_.end() && p_.loop.now() < trouble->second.retry_at)
    co_return;
  const LimitPicture picture = picture_of(*limit);
  auto change = limit_status_change(*limit, picture, object->document["status"], p_.loop.wall_now());
  if (!change) {
    // Whatever could not be written has become so, or is not wanted any more.
    healed(name);
    co_return;
  }
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {limits::kLimitResource.api_version(), limits::kLimitResource.kind, "", name, object->uid,
                     std::to_string(object->version)};
  event.reason = "UpdatedLimits";
  event.note = fmt::format("updated limits to {} of {}", picture.allowed(), picture.total);
  event.controller = kEventSource;
  const bool tells = changes_allowance(*change);
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(object->version));
  patch.set({"status"}, std::move(*change));
  const auto result =
      co_await writer_.write({.name = name, .body = patch.dump(), .subresource = "status", .version = object->version});
  if (result.done()) {
    if (tells) p_.events.record(std::move(event));
    healed(name);
    co_return;
  }
  const kube::ApiError& error = *result.error;
  const bool moved_on = error.conflict() || error.not_found() || error.not_leader() || error.too_late();
  if (moved_on) {
    changed();
  } else {
    failed(name, error.message);
  }
}

void LimitReporter::failed(const std::string& name, const std::string& message) {
  Trouble& trouble = troubled_[name];
  const io::Duration pause =
      std::min<io::Duration>(kLongestRetry, kBetweenReports * (1 << std::min(trouble.failures, 6)));
  ++trouble.failures;
  trouble.retry_at = p_.loop.now() + pause;
  p_.problems.raise(kLimitsProblem,
                    fmt::format("the status of MaintenanceLimit {} cannot be written: {}", name, message));
}

void LimitReporter::healed(const std::string& name) {
  if (troubled_.erase(name) > 0 && troubled_.empty()) p_.problems.clear(kLimitsProblem);
}

}  // namespace careen::requests
