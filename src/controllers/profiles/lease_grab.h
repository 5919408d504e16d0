// A lease as a decision wants it: to be written with what is known of it as precondition.
#pragma once

#include <cstdint>
#include <string>

#include "io/time.h"

namespace careen::profiles {

struct LeaseGrab {
  std::string ns;
  std::string name;
  io::Duration duration{};
  uint64_t version = 0;  // of the lease that was looked at; 0: there was none
  std::string uid;
  int32_t transitions = -1;  // its leaseTransitions before; -1: it had none

  std::string key() const;  // namespace/name
  bool operator==(const LeaseGrab&) const = default;
};

}  // namespace careen::profiles
