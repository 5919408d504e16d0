// careen's configuration in a campaign: as data that the invariants understand, and as the YAML file careen reads.
#pragma once

#include <string>
#include <vector>

#include "io/time.h"

namespace careen::explore {

inline constexpr const char* kZone = "topology.kubernetes.io/zone";

struct Limit {
  int max = 1;
  bool by_zone = false;
  bool own_profile = false;  // counts only nodes that have the profile
  io::Duration skip_after{};
};

// One profile: asked for by a label, a place within the limit, a stay, and a label that says it is done.
struct Plan {
  std::string name;
  Limit limit;
  io::Duration stay = io::seconds{20};
  io::Duration notice{};  // between being required and being in maintenance
  bool marks = false;     // an `enter` chain, so that a transition takes two writes

  std::string go() const { return "example.com/go-" + name; }
  std::string done() const { return "example.com/done-" + name; }
  std::string busy() const { return "example.com/busy-" + name; }
  std::string mark() const { return "example.com/mark-" + name; }
  std::string note() const { return "example.com/note-" + name; }
};

struct Settings {
  std::vector<Plan> plans;

  const Plan* find(std::string_view profile) const;
  std::string yaml() const;
};

}  // namespace careen::explore
