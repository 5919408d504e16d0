#include "controllers/machines/upgrade_doors.h"

#include <fmt/format.h>

#include <utility>

#include "budget/pause.h"
#include "controllers/machines/event_about.h"
#include "controllers/machines/names.h"
#include "io/problems.h"
#include "io/steady_at.h"
#include "kube/json.h"
#include "kube/raw_object.h"
#include "kube/sink.h"
#include "windows/window_text.h"

namespace careen::machines {

using io::Task;
using kube::WriteResult;

namespace {

constexpr const char* kClusterWatch = "clusters.cluster.x-k8s.io";

std::string problem_of(std::string_view cluster) { return fmt::format("upgrade window of {}", cluster); }

}  // namespace

UpgradeDoors::UpgradeDoors(UpgradeDoorsParts parts)
    : p_(std::move(parts)),
      resource_(kClusters),
      pause_guard_(p_.loop, &p_.pauses),
      changes_(clusters_.subscribe(
          [this](const ManagedCluster* before, const ManagedCluster* after) { cluster_changed(before, after); })),
      pauses_(p_.pauses.subscribe([this] { wake_all(); })),
      lanes_(p_.loop, p_.problems, "upgrade door", [this](const std::string& key) { return step(key); }) {}

// What is known stays while they are listed anew.
void UpgradeDoors::follow(const std::string& version) {
  if (watch_ && resource_.version == version) return;
  resource_.version = version;
  const auto read = [this](auto&& json) { return read_cluster(json, p_.atoms); };
  writer_ = std::make_shared<Writer>(
      p_.client, resource_, clusters_, [read](std::string_view json) { return read(json); }, p_.log);
  watch_.reset();
  watch_ = std::make_unique<kube::Watch>(
      p_.watch(kClusterWatch), kube::ReflectorOptions{.resource = resource_, .name = kClusterWatch},
      kube::make_sink(clusters_, [read](kube::RawObject& raw) { return read(raw); }));
  watch_->start();
  wake_all();
}

void UpgradeDoors::cluster_changed(const ManagedCluster* before, const ManagedCluster* after) {
  const std::string key = (after ? after : before)->key();
  if (!after || after->window.empty()) {
    windows_.erase(key);
  } else if (!before || before->window != after->window || !windows_.contains(key)) {
    auto settings = windows::parse_window_text(after->window);
    windows_.insert_or_assign(key, settings ? Window(windows::TimeWindow(std::move(*settings)))
                                            : Window(tl::make_unexpected(settings.error())));
  }
  lanes_.wake(key);
}

void UpgradeDoors::wake_all() {
  clusters_.for_each([this](const ManagedCluster& one) { lanes_.wake(one.key()); });
}

Door UpgradeDoors::door_of(const ManagedCluster& cluster) const {
  const auto window = windows_.find(cluster.key());
  return decide_door(
      {.cluster = &cluster, .window = window == windows_.end() ? nullptr : &window->second, .pause = p_.pauses.of("")},
      p_.loop.wall_now());
}

std::string UpgradeDoors::shown(std::string_view cluster) const {
  const ManagedCluster* const known = clusters_.find(cluster);
  if (!known) return {};
  const Door door = door_of(*known);
  return door.why.empty() ? std::string() : fmt::format("{}: {}", door.shut ? "held" : "may begin", door.why);
}

Lanes::Step UpgradeDoors::step(const std::string& key) {
  p_.changed();
  const ManagedCluster* const cluster = clusters_.find(key);
  if (!cluster) {
    told_.erase(key);
    p_.problems.clear(problem_of(key));
    return {.gone = true, .again = {}, .write = {}};
  }
  Door door = door_of(*cluster);
  tell(*cluster, door);
  Lanes::Step step;
  if (door.changes_at) step.again = io::steady_at(p_.loop, *door.changes_at);
  if (door.hook && !p_.dry_run) step.write = write(*cluster, std::move(door), pause_guard_.changes());
  return step;
}

// A mistake is a problem as long as it is there; either trouble is one event each time that it is new.
void UpgradeDoors::tell(const ManagedCluster& cluster, const Door& door) {
  const std::string key = cluster.key();
  const auto window = windows_.find(key);
  if (door.trouble && window != windows_.end() && !window->second) {
    p_.problems.raise(problem_of(key), door.trouble->message);
  } else {
    p_.problems.clear(problem_of(key));
  }
  if (!door.trouble) {
    told_.erase(key);
    return;
  }
  if (std::exchange(told_[key], door.trouble->message) == door.trouble->message || p_.dry_run) return;
  record(cluster, "Warning", door.trouble->reason, door.trouble->message);
}

// One that lets an upgrade begin is not sent once the window has passed, nor when a pause came meanwhile.
Task<WriteResult> UpgradeDoors::write(ManagedCluster cluster, Door door, uint64_t pauses) {
  const auto writer = writer_;
  const bool shut = *door.hook;
  kube::Json patch = kube::Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(cluster.version));
  patch.set({"metadata", "annotations", kUpgradeHook}, shut ? kube::Json(kUpgradeHookValue) : kube::Json());
  kube::WriteRequest request{
      .ns = std::string(cluster.ns.view()), .name = cluster.name, .body = patch.dump(), .version = cluster.version};
  if (!shut) {
    request.call.not_after = door.changes_at;
    request.carry = [this, pauses](budget::PauseGuard::Write write) {
      return pause_guard_.carry(pauses, std::move(write));
    };
  }
  WriteResult result =
      co_await writer->write(std::move(request), [shut](const ManagedCluster& now) { return now.shut == shut; });
  if (!result.done()) co_return result;
  const std::string why = door.why.empty() ? fmt::format("it has no annotation {} any more", kUpgradeWindow) : door.why;
  p_.log.info(shut ? "upgrades are held" : "upgrades may begin", "cluster", cluster.key(), "why", why);
  record(cluster, "Normal", shut ? "UpgradeHeld" : "UpgradeReleased",
         fmt::format("Cluster API {} an upgrade of this cluster: {}", shut ? "does not begin" : "may begin", why));
  co_return result;
}

void UpgradeDoors::record(const ManagedCluster& cluster, std::string_view type, std::string_view reason,
                          std::string note) {
  p_.events.record(event_about(resource_, {std::string(cluster.ns.view()), cluster.name, cluster.uid, cluster.version},
                               type, reason, std::move(note)));
}

}  // namespace careen::machines
