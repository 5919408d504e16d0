#include <fmt/format.h>

#include <utility>

#include "controllers/machines/controller_core.h"
#include "controllers/machines/event_about.h"
#include "controllers/machines/names.h"
#include "io/problems.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/json.h"

namespace careen::machines {

using io::Task;
using kube::Json;
using kube::WriteFate;
using kube::WriteResult;

namespace {

// An annotation is there with a value, or goes.
void set_annotation(Json& patch, std::string_view name, const std::optional<bool>& wanted, std::string_view value) {
  if (wanted) patch.set({"metadata", "annotations", name}, *wanted ? Json(value) : Json());
}

}  // namespace

// The write belongs to a decision that was made when what is paused had changed so often.
std::function<budget::PauseGuard::Write(budget::PauseGuard::Write)> Controller::Core::unless_paused(uint64_t pauses) {
  return [this, pauses](budget::PauseGuard::Write write) { return pause_guard.carry(pauses, std::move(write)); };
}

// What became of a write. The key is decided on again in any case: what it finds then is the world.
void Controller::Core::settle(const std::string& key, const WriteResult& result, std::string_view what) {
  const bool fresh = result.done() || result.fate == WriteFate::conflict || result.fate == WriteFate::missing;
  if (fresh) {
    queue.succeeded(key);
    queue.wake(key);
    return done(key);
  }
  queue.wake_after_failure(key);
  const bool stopped = result.fate == WriteFate::unsent || budget::PauseGuard::interrupted(*result.error);
  if (!stopped) {
    meters.errors().add();
    meters.retries.add();
    p.problems.raise(key, fmt::format("{}: {} failed: {}; it is tried again", key, what, result.error->message));
  }
  done(key);
}

Task<void> Controller::Core::write_node(std::string key, std::string cluster, std::string name, NodeWrite what) {
  const auto workload = workloads.find(cluster);
  const auto* const nodes = workload == workloads.end() ? nullptr : workload->second->nodes();
  const Node* const node = nodes ? nodes->find(name) : nullptr;
  if (!node) {
    queue.wake(key);
    co_return done(key);
  }
  const WriteResult result = co_await workload->second->write(*node, what);
  const std::string machine = key.starts_with("machine/") ? key.substr(key.find('/') + 1) : std::string();
  if (const auto memory = memories.find(machine); memory != memories.end()) {
    memory->second.node_failures = result.done() ? 0 : memory->second.node_failures + 1;
  }
  if (result.done()) {
    for (const auto& [label, set] : what.labels) {
      p.log.info(set ? "the node is told" : "the node is told no more", "cluster", cluster, "node", name, "label",
                 label);
    }
  }
  settle(key, result, fmt::format("writing the labels of node {}", name));
}

Task<void> Controller::Core::write_machine(std::string key, std::string name, MachineWrite what, Sight sight,
                                           uint64_t pauses) {
  const Machine* const decided = machines.store().find(name);
  if (!decided) {
    queue.wake(key);
    co_return done(key);
  }
  const uint64_t version = decided->version;
  // That a Node is gone has to be more than something that has not been heard of yet.
  if (sight == Sight::gone && what.lets_go) {
    const auto workload = workloads.find(decided->cluster_key());
    const std::string node = decided->node;
    std::optional<kube::ApiError> blind;
    if (workload != workloads.end()) blind = co_await workload->second->look(node);
    const auto still = machines.store().find(name);
    const World now = still ? world(*still) : World{};
    if (blind || !still || still->version != version || now.sight != Sight::gone) {
      if (blind) queue.wake_after_failure(key);
      if (!blind) queue.wake(key);
      co_return done(key);
    }
  }
  const Machine machine = *machines.store().find(name);
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(version));
  set_annotation(patch, kPreDrainHook, what.hook, kOwnValue);
  set_annotation(patch, kSkipRemediation, what.skip_remediation, kOwnValue);
  if (what.approve) patch.set({"metadata", "labels", kMaintenance}, kApproved);
  kube::WriteRequest request{
      .ns = std::string(machine.ns.view()), .name = machine.name, .body = patch.dump(), .version = version};
  if (what.lets_go) {
    request.carry = unless_paused(pauses);
  }
  const auto is_so = [&what](const Machine& now) {
    return (!what.hook || now.hooked == *what.hook) && (!what.approve || now.asked == Asked::granted) &&
           (!what.skip_remediation || now.skips_remediation.has_value() == *what.skip_remediation);
  };
  const auto writer = machine_writer;
  const WriteResult result = co_await writer->write(std::move(request), is_so);
  if (result.done()) tell_of(machine, what);
  settle(key, result, "writing the Machine");
}

Task<void> Controller::Core::write_host(std::string key, std::string name, HostWrite what, std::string machine,
                                        uint64_t pauses) {
  const Host* const host = hosts->store().find(name);
  if (!host) {
    queue.wake(key);
    co_return done(key);
  }
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(host->version));
  patch.set({"metadata", "annotations", kPowerOff}, what.hold_off ? Json("") : Json());
  kube::WriteRequest request{
      .ns = std::string(host->ns.view()), .name = host->name, .body = patch.dump(), .version = host->version};
  if (what.hold_off) {
    request.carry = unless_paused(pauses);
  }
  const WriteResult result =
      co_await host_writer->write(std::move(request), [&](const Host& now) { return now.held_off == what.hold_off; });
  if (result.done()) {
    p.log.info(what.hold_off ? "the host is told to power off" : "the host is told to power on again", "host", name,
               "machine", machine);
    if (const Machine* const one = machines.store().find(machine)) {
      record(*one, "Normal", what.hold_off ? "HostPowerOff" : "HostPowerOn",
             fmt::format("host {} is {}", name,
                         what.hold_off ? "told to power off, and to stay off" : "told to power on again"));
    }
  }
  settle(key, result, "writing the BareMetalHost");
}

// First the Machine says that it was done: twice would be worse than never.
Task<void> Controller::Core::reboot_once(std::string key, std::string name, std::string machine, uint64_t pauses) {
  const Machine* const asks = machines.store().find(machine);
  if (!asks || !hosts->store().find(name)) {
    queue.wake(key);
    co_return done(key);
  }
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(asks->version));
  patch.set({"metadata", "annotations", kRebootHost}, kDone);
  const Machine told = *asks;
  const auto writer = machine_writer;
  const auto failed = [this, name](const Machine& whose) {
    record(whose, "Warning", "HostRebootFailed",
           fmt::format("host {} could not be told to reboot; set {}={} again", name, kRebootHost, kRequested));
  };
  const WriteResult said =
      co_await writer->write({.ns = std::string(told.ns.view()),
                              .name = told.name,
                              .body = patch.dump(),
                              .version = told.version,
                              .carry = unless_paused(pauses)},
                             [](const Machine& now) { return now.reboot_host && *now.reboot_host == kDone; });
  // Without an answer nobody knows whether it was this write.
  if (said.fate == WriteFate::already) failed(told);
  if (said.fate != WriteFate::written) co_return settle(key, said, "writing the Machine");
  Json reboot = Json::object();
  const Host* const host = hosts->store().find(name);
  if (!host) {
    queue.wake(key);
    co_return done(key);
  }
  reboot.set({"metadata", "resourceVersion"}, std::to_string(host->version));
  reboot.set({"metadata", "annotations", kReboot}, "");
  const WriteResult result = co_await host_writer->write(
      {.ns = std::string(host->ns.view()), .name = host->name, .body = reboot.dump(), .version = host->version},
      [](const Host& now) { return now.reboots; });
  if (result.done()) {
    record(told, "Normal", "HostReboot", fmt::format("host {} is rebooted once", name));
  } else {
    failed(told);
  }
  settle(key, result, "writing the BareMetalHost");
}

void Controller::Core::tell_of(const Machine& machine, const MachineWrite& what) {
  const std::string name = machine.key();
  if (what.hook) {
    if (*what.hook) p.log.info("the hook is set", "machine", name);
    if (!*what.hook) p.log.info("the hook is removed", "machine", name, "why", what.reason);
    record(machine, "Normal", *what.hook ? "PreDrainHookAdded" : "PreDrainHookRemoved",
           *what.hook ? std::string("Cluster API waits with the deletion of this Machine for its Node's approval")
                      : fmt::format("Cluster API may go on with its deletion: {}", what.reason));
  }
  if (what.approve) {
    p.log.info("the maintenance is approved", "machine", name, "node", machine.node);
    record(machine, "Normal", "MaintenanceApproved", fmt::format("Node {} approves the maintenance", machine.node));
  }
}

// Once for each that is new.
void Controller::Core::tell_trouble(const std::string& host, const std::string& machine,
                                    const std::optional<HostTrouble>& trouble) {
  if (!trouble) {
    troubles.erase(host);
    return;
  }
  std::string& told = troubles[host];
  const std::string now = fmt::format("{} {} {}", machine, trouble->reason, trouble->message);
  if (std::exchange(told, now) == now) return;
  p.log.warn(trouble->message, "machine", machine);
  const Machine* const one = machines.store().find(machine);
  if (one && !p.dry_run) record(*one, "Warning", trouble->reason, trouble->message);
}

void Controller::Core::record(const Machine& machine, const char* type, std::string_view reason, std::string note) {
  p.events.record(event_about(machines.resource(),
                              {std::string(machine.ns.view()), machine.name, machine.uid, machine.version}, type,
                              reason, std::move(note)));
}

}  // namespace careen::machines
