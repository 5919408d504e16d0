// A NodeMaintenance as careen reads it: spec, status and the metadata it acts on, from whatever JSON the API server
// has. What is missing or of another type counts as absent, so objects that the original operator began are read as
// well as our own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drain/options.h"
#include "io/time.h"
#include "kube/json.h"
#include "kube/objects.h"

namespace careen::nodemaintenance {

enum class Phase { none, running, succeeded, failed };
std::string_view name_of(Phase phase);

struct PodRef {
  std::string ns, name;
  friend auto operator<=>(const PodRef&, const PodRef&) = default;
};

struct Condition {
  std::string type;
  bool holds = false;
  std::string reason, message;
  io::Wall since{};  // lastTransitionTime, in whole seconds
  friend bool operator==(const Condition&, const Condition&) = default;
};

struct Status {
  Phase phase = Phase::none;
  int64_t progress = 0;  // percent
  int64_t total_pods = 0;
  int64_t eviction_pods = 0;
  int64_t lease_errors = 0;
  std::string last_error;
  std::vector<PodRef> pending;
  std::vector<Condition> conditions;
  std::optional<io::Wall> last_update;

  // Equal but for the time of the update.
  bool same_facts(const Status& other) const;
  const Condition* condition(std::string_view type) const;
};

// As a merge patch of the object's status: fields that are zero or empty are removed.
kube::Json status_patch(const Status& status, io::Wall now);

// More lost attempts than this end a maintenance for good.
inline constexpr int64_t kLeaseErrorsAllowed = 3;

struct Maintenance {
  std::string name;
  std::string uid;
  uint64_t version = 0;
  std::string created;  // as it came: RFC 3339 in whole seconds, which sorts as text
  std::string node;
  std::string reason;
  bool deleting = false;
  std::vector<std::string> finalizers;
  bool marked = false;     // begun, or taken over, by careen
  drain::Options options;  // as usual when there is a mistake
  std::string mistake;     // what is wrong with spec.drain; nothing is evicted while there is something
  Status status;

  bool has_finalizer() const;
  // The lease was lost for good and the node was given back: nothing happens any more until it is deleted.
  bool given_up() const { return status.phase == Phase::failed && status.lease_errors > kLeaseErrorsAllowed; }
  // The original operator has begun it, and careen has not taken it over yet.
  bool of_predecessor() const { return has_finalizer() && !marked && status.phase != Phase::none; }
  // What keeps it from going on, for people; empty when nothing does.
  const std::string& blocked_by() const;
  // It came first, so the node belongs to it.
  bool before(const Maintenance& other) const;
};

Maintenance parse_maintenance(const kube::Object& object);

}  // namespace careen::nodemaintenance
