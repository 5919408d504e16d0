// What a campaign under MaintenanceLimits is about, as the actors and the invariants know it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::explore {

inline constexpr std::string_view kLimitsPath = "/apis/repairman.k8s.io/v1/maintenancelimits";
inline constexpr std::string_view kWebhooksPath =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
inline constexpr std::string_view kRequestsPath = "/apis/repairman.k8s.io/v1/maintenancerequests";

// How many nodes may be out at once: in the whole cluster, or in each zone.
struct Cap {
  int nodes = 1;
  bool by_zone = false;
  bool counts_others = false;  // cordons of people, too
};

// What an actor does for a request once it has been approved.
struct Errand {
  // The step before which it dies.
  enum class Dies { never, begin, cordon, complete, uncordon };
  std::string node;
  io::Duration begins_after{};
  io::Duration works_for{};
  bool cordons = true;
  Dies dies = Dies::never;
  // Until people clean up after an actor that died and left the node cordoned.
  io::Duration cleaned_up_after{};
};

// Somebody who empties a node, as kubectl drain does: cordons it, evicts its pods and tries again every few seconds.
struct ForeignDrain {
  std::string node;
  io::Duration at{};
  std::string user;
  int pods = 2;
  io::Duration works_for{};
  // Unless its first pod has gone by then.
  std::optional<io::Duration> patience = {};
};

// What is done to a node before a request for it is approved.
struct DrainFirst {
  io::Duration timeout{}, after{};
};

struct RequestsPlan {
  Cap cap;
  std::optional<DrainFirst> drains_first = {};
  bool governs = false;                   // others are held back while the limit has no room
  std::map<std::string, Errand> errands;  // by request
  std::vector<ForeignDrain> drains;
  // The limit makes others wait, from then on.
  std::optional<io::Duration> queues = {};
};

}  // namespace careen::explore
