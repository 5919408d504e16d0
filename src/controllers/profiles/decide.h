// decide(): what should happen to one node, given the world and the time, and why. A pure function: no I/O, no clock,
// no randomness. The caller reserves the admission before the next decision is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
#include "observe/prometheus_query.h"

namespace careen::budget {
class Ledger;
class Pauses;
}  // namespace careen::budget

namespace careen::kube {
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

struct Config;
struct Facts;

struct World {
  const kube::Store<kube::Node>& nodes;
  const Config& config;
  const Facts& facts;
  const Deliveries& deliveries;
  // Messages are sent before the state machine moves on, as with the original.
  bool notify_blocking = false;
  // The node as the API server has it, for templates that print all of it; null until it was asked for.
  const kube::Json* document = nullptr;
  // The messages will not be read: what is cached of the node is enough for them.
  bool only_explained = false;
  const budget::Pauses* pauses = nullptr;  // null: nothing is paused
  const budget::Ledger* ledger = nullptr;  // null: it has room for everybody
};

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

struct Decision {
  bool gone = false;       // no such node
  std::string unreadable;  // not empty: what is wrong with the data annotation; nothing else is decided
  std::string uid;
  uint64_t version = 0;  // of the node that was looked at
  // effects
  std::optional<std::string> patch;            // merge patch of the node, with that version as precondition
  std::string data;                            // the data annotation as the patch leaves it
  std::optional<budget::Admission> admission;  // to be reserved now and recorded before anything is sent
  std::vector<LeaseGrab> leases;               // to be taken before the node is written
  HypervisorDraft hypervisor;                  // changes of the node's Hypervisor, to be written before the node
  std::vector<Moved> moved;                    // by the patch
  bool begins = false;                         // the patch begins a transition: what it takes stays taken after it
  // A transition that has begun keeps what it has taken, whether it continues or its fate is unknown.
  bool keeps = false;
  std::optional<budget::Admission> goes_on;        // its admission, should that have been lost
  std::vector<DrainWanted> drains;                 // those that should run; all other drains of profiles end
  std::vector<std::string> undecided;              // owners of drains that stay as they are, running or not
  std::optional<io::Wall> valid_until;             // of the moves: from then on a check may say something else
  std::vector<observe::PrometheusQuery> observed;  // observations that the moves use up
  std::vector<RenderedMessage> posted;             // by the patch
  std::vector<OutboxMessage> dropped;              // by the patch, because the outbox was full
  std::optional<RenderedMessage> due;              // to be sent before anything else happens to its profile
  std::string due_state;                           // of that profile
  bool needs_document = false;                     // a message prints the whole node: decide again with it
  bool pending = false;     // a check has no answer yet: what has begun neither continues nor ends
  bool unanswered = false;  // a check or a trigger looks at what has not been read yet
  std::vector<Failure> failures;
  // what could change the decision, besides the node itself
  std::optional<io::Wall> wake;
  std::vector<budget::Wait> waits;               // for a place to become free
  std::vector<budget::Scope> rises;              // for a place to be taken
  std::vector<budget::Topic> topics;             // facts about other objects
  std::vector<observe::PrometheusQuery> wanted;  // observations
  Why why;
  std::vector<ProfileOutcome> profiles;  // in the order of the label; only with reasons

  bool failing() const { return !failures.empty(); }
};

// Reasons are for people and cost more than the decision itself.
enum class Detail { verdicts, reasons };

// Without reasons `why` says nothing of use; all else is the same.
Decision decide(const World& world, std::string_view node, io::Wall now, Detail detail = Detail::reasons);

}  // namespace careen::profiles
