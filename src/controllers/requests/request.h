// A MaintenanceRequest as careen reads it, from whatever JSON the API server has: actors write spec and annotations as
// they like. What is missing or of another type counts as absent, so objects that were made for the original are read
// as well as our own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "kube/json.h"

namespace careen::kube {
struct Object;
}

namespace careen::requests {

// spec.state. What is absent or unknown counts as Pending, as in the original.
enum class State { pending, approved, in_progress, completed, rejected };
std::string_view name_of(State state);

// status.phase: of one that has not been approved how far it is, of any other the state that was last seen.
enum class Phase {
  none,
  waiting,
  reserved,  // it has its place
  cordoned,
  draining,
  grace,
  infra_draining,
  approved,
  in_progress,
  completed,
  rejected,
};
std::string_view name_of(Phase phase);
Phase phase_of(State state);  // none for Pending

// Why a request is where it is; status.reason, and the reasons of events.
namespace reasons {
inline constexpr std::string_view kWaiting = "WaitingForPlace";
inline constexpr std::string_view kInterval = "Interval";
inline constexpr std::string_view kPaused = "Paused";
inline constexpr std::string_view kTargetBusy = "TargetBusy";
inline constexpr std::string_view kTypeMissing = "TypeMissing";
inline constexpr std::string_view kLimitRequired = "LimitRequired";
inline constexpr std::string_view kLimitInvalid = "LimitInvalid";
inline constexpr std::string_view kReserved = "Reserved";
inline constexpr std::string_view kDraining = "Draining";
inline constexpr std::string_view kDrainRefused = "DrainRefused";
inline constexpr std::string_view kGrace = "GracePeriod";
inline constexpr std::string_view kVolumesAttached = "VolumesAttached";
inline constexpr std::string_view kApproved = "MaintenanceApproved";
inline constexpr std::string_view kUnapproved = "UnapprovedTransition";
inline constexpr std::string_view kInProgress = "InProgress";
inline constexpr std::string_view kCompleted = "Completed";
inline constexpr std::string_view kNodeStillCordoned = "NodeStillCordoned";
// Of an event only: a request that was rejected went on all the same.
inline constexpr std::string_view kRejectedTransition = "RejectedTransition";

// Those that careen ends a request with.
inline constexpr std::string_view kTargetNotFound = "TargetNotFound";
inline constexpr std::string_view kUnsupportedType = "UnsupportedType";
inline constexpr std::string_view kPendingExpired = "PendingExpired";
inline constexpr std::string_view kApprovalExpired = "ApprovalExpired";
inline constexpr std::string_view kTimedOut = "MaintenanceTimedOut";
inline constexpr std::string_view kDrainTimedOut = "DrainTimedOut";
inline constexpr std::string_view kInfraDrainTimedOut = "InfraDrainTimedOut";
inline constexpr std::string_view kNoWorkSeen = "NoWorkSeen";
inline constexpr std::string_view kFinishedByEvidence = "FinishedByEvidence";
}  // namespace reasons

struct Condition {
  std::string type;
  bool holds = false;
  std::string reason, message;
  io::Wall since{};  // lastTransitionTime, in whole seconds
  friend bool operator==(const Condition&, const Condition&) = default;
};
namespace conditions {
inline constexpr std::string_view kApproved = "Approved";
inline constexpr std::string_view kDrained = "Drained";
inline constexpr std::string_view kVolumesDetached = "VolumesDetached";
inline constexpr std::string_view kFinished = "Finished";
inline constexpr std::string_view kNodeReleased = "NodeReleased";
}  // namespace conditions

// Times are in whole seconds.
struct Status {
  Phase phase = Phase::none;
  std::string reason, message;
  int64_t position = 0;  // in the queue; 0: in none
  std::optional<io::Wall> pending_since, approved, started, finished, work_seen;
  std::string boot_id;
  std::vector<Condition> conditions;

  bool empty() const { return *this == Status{}; }
  const Condition* condition(std::string_view type) const;
  // `now` is its time if it is new, or says the opposite of what it said.
  void set_condition(std::string_view type, bool holds, std::string_view reason, std::string_view message,
                     io::Wall now);
  bool operator==(const Status&) const = default;
};
// As a merge patch of the object's status: what is empty is removed.
kube::Json status_patch(const Status& status);

// Why careen has ended it: `<reason>: <message>` in an annotation.
struct Ended {
  std::string reason, message;
  bool rejects() const { return reason != reasons::kFinishedByEvidence; }
  std::string text() const;
  bool operator==(const Ended&) const = default;
};

struct Request {
  std::string name;
  std::string uid;
  uint64_t version = 0;
  io::Wall created{};
  bool deleting = false;
  std::string client;    // label; empty: none
  std::string selector;  // namespace/name of the MaintenanceSelector that made it; empty: none
  std::string node;      // spec.name in small letters: nodes have no others
  std::string type;      // spec.type; empty: absent
  State state = State::pending;
  std::optional<io::Wall> approved_at;  // annotation: careen has approved it
  std::optional<Ended> ended;           // annotation
  Status status;

  bool finished() const { return state == State::completed || state == State::rejected; }
  // It takes up its node, or wants to.
  bool live() const { return !finished() && !deleting; }
  bool running() const { return live() && state != State::pending; }
  // It was made, or is kept, for something that can be asked for.
  bool askable() const { return type == "node" && !node.empty(); }
  // `who` at the desk and in the ledger, and the owner of its hold and its drain.
  std::string owner() const;
  // As people know whoever asks: request/<client>.
  std::string actor() const;
  // It came first.
  bool before(const Request& other) const;
};

// Texts that it keeps are cut to what an object of ours could have.
Request parse_request(const kube::Object& object);

// The other way round; nothing when the owner is no request.
std::optional<std::string_view> request_of(std::string_view owner);

}  // namespace careen::requests
