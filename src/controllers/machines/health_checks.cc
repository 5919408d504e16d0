#include "controllers/machines/health_checks.h"

#include <utility>

#include "controllers/machines/workload.h"
#include "io/loop.h"

namespace careen::machines {

using io::Task;
using kube::WriteResult;

namespace {

// How often a cluster that does not answer is asked whether it does again.
constexpr io::Duration kAskAgain = io::seconds{5};

std::string key_of(std::string_view cluster, std::string_view check) {
  return std::string(cluster) + '/' + std::string(check);
}

}  // namespace

HealthChecks::HealthChecks(HealthChecksParts parts)
    : p_(std::move(parts)),
      lanes_(p_.loop, p_.problems, "health check", [this](const std::string& key) { return step(key); }) {}

void HealthChecks::decided(const Machine& machine, bool out) {
  if (machine.cluster.empty()) return;
  const std::string key = machine.key(), cluster = machine.cluster_key();
  const auto known = noted_.find(key);
  if (known != noted_.end() && known->second.cluster != cluster) forget(key);
  const auto [noted, fresh] = noted_.try_emplace(key, Noted{cluster, false});
  const bool changed = std::exchange(noted->second.out, out) != out;
  note_out(cluster, key, out);
  // One that is out may have another Node; the last one to be known may be what a release waited for.
  if (out || changed || (fresh && !held(cluster).empty())) wake(cluster);
}

void HealthChecks::forget(const std::string& machine) {
  const auto known = noted_.find(machine);
  if (known == noted_.end()) return;
  const std::string cluster = known->second.cluster;
  noted_.erase(known);
  note_out(cluster, machine, false);
  wake(cluster);
}

void HealthChecks::note_out(const std::string& cluster, const std::string& machine, bool out) {
  const bool before = anybody_out(cluster);
  if (out) {
    out_[cluster].insert(machine);
  } else if (before) {
    std::set<std::string, std::less<>>& machines = out_[cluster];
    machines.erase(machine);
    if (machines.empty()) out_.erase(cluster);
  }
  if (before != anybody_out(cluster)) p_.out_changed(cluster);
}

void HealthChecks::check_changed(const std::string& cluster, const HealthCheck* before, const HealthCheck* after) {
  p_.changed();
  lanes_.wake(key_of(cluster, (after ? after : before)->name));
}

void HealthChecks::node_changed(const std::string& cluster, const Node* before, const Node* after) {
  if (!out_.contains(cluster)) return;
  if (!before || !after || before->labels != after->labels) wake(cluster);
}

void HealthChecks::wake(const std::string& cluster) {
  const Workload* const workload = p_.workload(cluster);
  const auto* const checks = workload ? workload->health_checks() : nullptr;
  if (checks) checks->for_each([&](const HealthCheck& one) { lanes_.wake(key_of(cluster, one.name)); });
}

std::vector<std::string> HealthChecks::held(const std::string& cluster) const {
  std::vector<std::string> names;
  const Workload* const workload = p_.workload(cluster);
  const auto* const checks = workload ? workload->health_checks() : nullptr;
  if (!checks) return names;
  checks->for_each([&](const HealthCheck& one) {
    if (one.is_held()) names.push_back(one.name);
  });
  return names;
}

HealthCheckWorld HealthChecks::world(const std::string& cluster, const HealthCheck& check,
                                     const Workload& workload) const {
  HealthCheckWorld world{.check = &check, .out = {}, .complete = true};
  p_.machines.for_each(cluster, [&](const Machine& machine) {
    const auto noted = noted_.find(machine.key());
    if (noted == noted_.end()) world.complete = false;
    // What has no Node is checked by nobody.
    if (noted == noted_.end() || !noted->second.out || machine.node.empty()) return;
    world.out.push_back(workload.nodes()->find(machine.node));
  });
  return world;
}

Lanes::Step HealthChecks::step(const std::string& key) {
  const size_t slash = key.rfind('/');
  const std::string cluster = key.substr(0, slash);
  const Workload* const workload = p_.workload(cluster);
  const auto* const checks = workload ? workload->health_checks() : nullptr;
  const HealthCheck* const check = checks ? checks->find(key.substr(slash + 1)) : nullptr;
  Lanes::Step step;
  step.gone = !check;
  if (!check || !workload->nodes()) return step;
  auto requests = decide_pause(world(cluster, *check, *workload));
  if (!requests || p_.dry_run) return step;
  if (workload->state() == Workload::State::connected) {
    step.write = write(cluster, *check, std::move(*requests));
  } else {
    step.again = p_.loop.now() + kAskAgain;
  }
  return step;
}

Task<WriteResult> HealthChecks::write(std::string cluster, HealthCheck check, std::vector<std::string> requests) {
  Workload* const workload = p_.workload(cluster);
  if (!workload || !workload->health_checks()) co_return WriteResult{kube::WriteFate::missing};
  const WriteResult result = co_await workload->write(check, requests);
  if (result.done()) {
    p_.log.info(check.is_held() ? "the health check is let go" : "the health check is held back", "cluster", cluster,
                "check", check.name);
  }
  co_return result;
}

}  // namespace careen::machines
