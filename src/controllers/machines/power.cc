#include "controllers/machines/power.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/machines/names.h"

namespace careen::machines {

namespace {

bool is_provisioned(const Host& host) {
  return host.provisioning == "provisioned" || host.provisioning == "externally provisioned";
}

Power power_of(const Host& host, bool wanted_off) {
  if (host.operational == "servicing") return Power::servicing;
  if (wanted_off) return host.powered ? Power::going_off : Power::off;
  return host.powered || !host.online ? Power::on : Power::going_on;
}

// Also in vain: then its operator says that it is in error.
bool is_serviced(const Host& host, Power power) {
  return power == Power::servicing || (host.operational == "error" && host.error == "servicing error");
}

// What keeps it from going off, or from coming back.
std::optional<HostTrouble> trouble_of(const Host& host, bool wanted_off) {
  if (host.error == "servicing error") {
    return HostTrouble{
        "HostServicingFailed",
        fmt::format("host {} cannot be serviced, and its operator tries again: {}", host.key(), host.error_message)};
  }
  if (host.paused || host.detached) {
    return HostTrouble{host.paused ? "HostPaused" : "HostDetached",
                       fmt::format("host {} has the annotation {}: nothing happens to its power while it is there",
                                   host.key(), host.paused ? kHostPaused : kHostDetached)};
  }
  if (!wanted_off) return std::nullopt;
  if (host.keeps_power) {
    return HostTrouble{"PowerOffDisabled",
                       fmt::format("host {} has disablePowerOff: it stays on. The annotation {}={} on the Machine has "
                                   "it rebooted once",
                                   host.key(), kRebootHost, kRequested)};
  }
  if (!is_provisioned(host)) {
    return HostTrouble{"HostNotProvisioned",
                       fmt::format("host {} is in the provisioning state \"{}\": it goes off once it is provisioned",
                                   host.key(), host.provisioning.view())};
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Power power) {
  switch (power) {
    case Power::on:
      return "On";
    case Power::going_off:
      return "GoingOff";
    case Power::off:
      return "Off";
    case Power::going_on:
      return "GoingOn";
    case Power::servicing:
      return "Servicing";
    case Power::stuck:
      return "Stuck";
  }
  return "";
}

bool belongs(const Host& host, const Machine& machine) {
  const bool same_namespace = host.consumer_ns.empty() ? host.ns == machine.ns : host.consumer_ns == machine.ns;
  return same_namespace && !host.consumer.empty() && host.consumer == machine.infrastructure;
}

PowerDecision decide_power(const PowerWorld& world) {
  const Host& host = *world.host;
  PowerDecision decision;
  const Machine* owner = nullptr;
  const Machine* stranger = nullptr;
  for (const Machine* machine : world.machines) {
    if (!belongs(host, *machine)) {
      if (machine->asked == Asked::granted) stranger = machine;
    } else if (!owner || machine->asked == Asked::granted) {
      owner = machine;
    }
  }
  const bool wanted_off = owner && owner->asked == Asked::granted;
  if (owner) decision.machine = owner->key();
  decision.power = power_of(host, wanted_off);
  if (!wanted_off && stranger) {
    decision.machine = stranger->key();
    decision.trouble = {
        "HostOfAnother",
        fmt::format("host {} is not consumed by this Machine: careen leaves its power alone", host.key())};
  }
  // With the hold such a host would be rebooted again and again.
  const bool hold = wanted_off && !host.keeps_power;
  if (host.held_off && !hold) decision.hold = HostWrite{false};
  if (wanted_off || host.held_off || (owner && is_serviced(host, decision.power))) {
    if (auto trouble = trouble_of(host, wanted_off)) decision.trouble = std::move(trouble);
  }
  if (decision.trouble && wanted_off) decision.power = Power::stuck;
  if (world.pause) return decision;
  if (hold && !host.held_off) decision.hold = HostWrite{true};
  const bool asks = wanted_off && owner->reboot_host && *owner->reboot_host == kRequested;
  if (asks && host.keeps_power && is_provisioned(host) && !host.reboots) {
    decision.reboot = RebootOnce{owner->key()};
  }
  return decision;
}

}  // namespace careen::machines
