// What decisions know of drains: how far the profiles' drains are, what holds them up, and under which name a profile
// holds a node's cordon.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/time.h"

namespace careen::drain {
struct Hold;
struct Progress;
}  // namespace careen::drain

namespace careen::kube {
struct Node;
}

namespace careen::profiles {

// All owners of cordons that are profiles begin so.
inline constexpr std::string_view kHoldPrefix = "profile/";
// Who keeps the node cordoned for a profile: until an uncordon, or for a transition that has begun and may be
// withdrawn. These are two, since what a profile cordoned earlier stays when the transition is withdrawn.
std::string holder_name(std::string_view profile);
std::string beginner_name(std::string_view profile);

class Drains {
 public:
  virtual ~Drains() = default;
  // Null when no such drain of this very node runs. Valid until the decision is made.
  virtual const drain::Progress* progress(const kube::Node& node, const std::string& owner) const = 0;
};

// The API server has acknowledged the owner's cordon: from now on no pod is put there by a scheduler.
bool has_cordoned(const kube::Node& node, std::string_view owner);
// A transition of any profile has begun with a drain.
bool has_begun(const kube::Node& node);
bool is_begun(const std::pair<const std::string, drain::Hold>& hold);

// What is left, and what holds the first pods of it.
std::string describe(const drain::Progress& progress);

// Time limits of a drain that only tells when they have passed.
struct DrainLimits {
  io::Duration eviction{};  // for pods to be evicted
  io::Duration deletion{};  // for evicted pods to end
};
struct Overdue {
  std::string what;                 // empty: nothing is
  std::optional<io::Wall> look_at;  // when something may be
};
Overdue overdue(const drain::Progress& progress, const DrainLimits& limits, io::Wall now);

}  // namespace careen::profiles
