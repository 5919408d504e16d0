// What happens next to the host that a Machine runs on: off while the Machine's maintenance is approved, on again when
// it is over. A pure function from what is known of both to the next write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/machines/machine.h"

namespace careen::budget {
struct Pause;
}

namespace careen::machines {

// What keeps a host from doing as it is told; each is told once, as an event on the Machine with that reason.
struct HostTrouble {
  std::string_view reason;
  std::string message;
};

enum class Power {
  on,
  going_off,
  off,
  going_on,
  servicing,  // its operator changes its firmware: it is not through, whatever its power
  stuck,      // see the trouble
};
std::string_view name_of(Power power);

struct PowerWorld {
  const Host* host = nullptr;
  // That name it and are not deleted for good; whoever can write a Machine can name any host.
  std::vector<const Machine*> machines;
  const budget::Pause* pause = nullptr;
};

struct HostWrite {
  bool hold_off = false;  // otherwise the hold goes
};
// For a host that cannot be powered off: it is rebooted once, and the Machine says so before.
struct RebootOnce {
  std::string machine;  // its key
};

struct PowerDecision {
  std::optional<HostWrite> hold;
  std::optional<RebootOnce> reboot;
  std::string machine;  // for which it is held, or that it belongs to; empty: none
  Power power = Power::on;
  std::optional<HostTrouble> trouble;
};

// Whether the host is this Machine's: it is consumed by its infrastructure, in its namespace.
bool belongs(const Host& host, const Machine& machine);
PowerDecision decide_power(const PowerWorld& world);

}  // namespace careen::machines
