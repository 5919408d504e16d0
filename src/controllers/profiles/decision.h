// What was decided about one node: what is to be done, what becomes of the place that it takes, what could change the
// decision, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "budget/admission.h"
#include "budget/key.h"
#include "budget/topic.h"
#include "controllers/profiles/hypervisor_draft.h"
#include "controllers/profiles/lease_grab.h"
#include "controllers/profiles/outbox.h"
#include "controllers/profiles/outcome.h"
#include "controllers/profiles/state.h"
#include "controllers/slot/why.h"
#include "drain/options.h"
#include "io/time.h"
#include "limits/place.h"
#include "observe/prometheus_query.h"

namespace careen::profiles {

struct Moved {
  std::string profile;
  State from = State::operational;
  State to = State::operational;
};

struct Failure {
  std::string profile;
  std::string what;    // as the event says it: At least one check plugin failed
  std::string detail;  // which and why
  std::string stays;   // the state
};

// A drain that has to run for a profile, whose cordon has been acknowledged.
struct DrainWanted {
  std::string owner;
  drain::Options options;
  std::optional<Failure> overdue;  // it takes too long: to be reported once
};

// A message to be sent before anything else happens to its profile, and the state that the profile is in.
struct Announcement {
  RenderedMessage message;
  std::string state;
};

// Why nothing was decided.
struct Gone {};  // no such node
struct Unreadable {
  std::string error;  // what is wrong with the data annotation
};
struct NeedsDocument {};  // a message prints the whole node: decide again with it
using Obstacle = std::variant<std::monostate, Gone, Unreadable, NeedsDocument>;

// What is to be done: first leases and hypervisor, then the patch, which is all or nothing.
struct Effects {
  std::optional<std::string> patch;  // merge patch of the node, with the version that was looked at as precondition
  std::string data;                  // the data annotation as the patch leaves it
  std::vector<LeaseGrab> leases;     // to be taken before the node is written
  HypervisorDraft hypervisor;        // changes of the node's Hypervisor, to be written before the node
  std::vector<Moved> moved;          // by the patch
  std::vector<observe::PrometheusQuery> observed;  // observations that the moves use up
  std::optional<io::Wall> valid_until;             // of the moves: from then on a check may say something else
  std::vector<RenderedMessage> posted;             // by the patch
  std::vector<OutboxMessage> dropped;              // by the patch, because the outbox was full
  std::optional<Announcement> announced;           // to be sent first
  std::vector<DrainWanted> drains;                 // those that should run; all other drains of profiles end
  std::vector<std::string> drains_left;            // owners of drains that stay as they are, running or not
};

// What becomes of the place in a budget, and of the leases, that a transition of the node takes.
namespace place {
// It takes none, and what an earlier decision took is given back.
struct None {};
// Not decided, since a check has no answer yet or a document is missing: leases that are taken stay taken.
struct Open {};
// The patch makes the move, which ends what it takes.
struct Used {
  budget::Admission admission;
};
// The patch begins a transition: what it takes stays taken after it.
struct Begun {
  budget::Admission admission;
};
// A transition that has begun continues: its admission, should that have been lost.
struct Continued {
  budget::Admission admission;
};
// The fate of a transition that has begun is unknown: it keeps what it has taken.
struct Kept {};
}  // namespace place
using Place = std::variant<place::None, place::Open, place::Used, place::Begun, place::Continued, place::Kept>;

// What could change the decision, besides the node itself.
struct Waits {
  std::optional<io::Wall> wake;
  std::vector<budget::Wait> places;                    // for one to become free
  std::vector<budget::Scope> rises;                    // for a place to be taken
  std::vector<limits::Asking> limits;                  // for a place in MaintenanceLimits
  std::vector<budget::Topic> topics;                   // facts about other objects
  std::vector<observe::PrometheusQuery> observations;  // to be made
};

struct Decision {
  std::string uid;
  uint64_t version = 0;  // of the node that was looked at
  Obstacle obstacle;
  Effects effects;
  Place place;
  Waits waits;
  bool unanswered = false;  // a check or a trigger looks at what has not been read yet
  std::vector<Failure> failures;
  Why why;
  std::vector<ProfileOutcome> profiles;  // in the order of the label; only with reasons

  bool gone() const { return std::holds_alternative<Gone>(obstacle); }
  const Unreadable* unreadable() const { return std::get_if<Unreadable>(&obstacle); }
  bool needs_document() const { return std::holds_alternative<NeedsDocument>(obstacle); }
  bool failing() const { return !failures.empty(); }
  bool begins() const { return std::holds_alternative<place::Begun>(place); }
  // What has begun keeps what it has taken.
  bool keeps() const {
    return std::holds_alternative<place::Kept>(place) || std::holds_alternative<place::Continued>(place);
  }
  // To be reserved now and recorded before anything is sent; null when the decision takes nothing.
  const budget::Admission* admission() const {
    if (const auto* used = std::get_if<place::Used>(&place)) return &used->admission;
    if (const auto* begun = std::get_if<place::Begun>(&place)) return &begun->admission;
    return nullptr;
  }
  // Something has to be written, sent or read for it, besides drains.
  bool is_to_be_carried_out() const {
    return effects.patch || effects.announced || needs_document() || !effects.hypervisor.empty();
  }
};

}  // namespace careen::profiles
