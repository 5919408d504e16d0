// careen's configuration in a campaign: as data that the invariants understand, and as the YAML file careen reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/profiles/state.h"
#include "io/time.h"

namespace careen::explore {

inline constexpr const char* kZone = "topology.kubernetes.io/zone";
inline constexpr const char* kUrgent = "example.com/urgent";
inline constexpr const char* kFreeze = "example.com/freeze";
inline constexpr const char* kVersion = "example.com/version";
inline constexpr const char* kOldVersion = "1.1.0";
inline constexpr const char* kNewVersion = "1.2.0";
inline constexpr const char* kQuery = "load";
inline constexpr double kTooHigh = 5;
inline constexpr const char* kThreadLease = "thread";
inline constexpr io::Duration kThreadPeriod = io::minutes{10};
inline constexpr io::Duration kRequeue = io::seconds{30};
inline constexpr io::Duration kEvictionTimeout = io::seconds{40};

struct Limit {
  int max = 1;
  int percent = 0;  // of the nodes that are counted, instead of `max`
  bool by_zone = false;
  bool own_profile = false;  // counts only nodes that have the profile
  io::Duration skip_after{};
};

// Nodes follow one another at a distance in time.
struct Stagger {
  std::string group;  // its leases are <group>-0 and so on
  io::Duration duration{};
  int parallel = 1;
  bool at_request = false;  // on the way to being required instead of into maintenance
  bool or_urgent = false;   // who has the label need not wait
};

// Open for some minutes of every few, in the first hours of the day: often enough for a campaign to meet both ends.
struct Hours {
  int period = 0;  // minutes; 0: always open
  int open = 0;
  int shift = 0;
  std::string zone = "UTC";
  int zone_offset = 0;  // of its clocks, in minutes

  bool is_open(io::Wall now) const;
  std::string yaml() const;
};

// A notification of a profile.
struct Telling {
  enum class Way { mail, slack, thread };
  enum class When { periodic, oneshot, scheduled };
  std::string name;  // of its instance
  Way way = Way::mail;
  When when = When::periodic;
  io::Duration span{};                  // interval, delay, or time of the day
  std::vector<profiles::State> states;  // that have it in their chain

  bool tells(profiles::State state) const;
};

// One profile: asked for by a label, a place within the limit, a stay, and a label that says it is done.
struct Plan {
  std::string name;
  Limit limit;
  io::Duration stay = io::seconds{20};
  io::Duration notice{};       // between being required and being in maintenance
  bool notice_days = false;    // counted on some days of the week only, today among them
  bool marks = false;          // an `enter` chain, so that a transition takes two writes
  bool guards = false;         // a finalizer while in maintenance
  bool versions = false;       // asked for by an old version instead of the lack of the label that says it is done
  bool healthy = false;        // leaves maintenance only with a condition
  bool unless_frozen = false;  // not while any node has the label
  bool calm = false;           // only while Prometheus says so
  bool affinity = false;       // nodes without certain pods first
  int min_operational = 0;     // for that
  int least_nodes = 0;         // only while the cluster has this many; 0: any
  std::optional<Stagger> stagger;
  Hours hours;
  std::vector<Telling> tellings;
  enum class Drain { none, in_trigger, in_enter };
  Drain drain = Drain::none;
  bool forced = false;  // pods that are not evicted within kEvictionTimeout are deleted

  std::string go() const { return "example.com/go-" + name; }
  std::string done() const { return "example.com/done-" + name; }
  std::string busy() const { return "example.com/busy-" + name; }
  std::string mark() const { return "example.com/mark-" + name; }
  std::string note() const { return "example.com/note-" + name; }
  std::string guard() const { return "example.com/guard-" + name; }
};

struct Settings {
  std::vector<Plan> plans;
  bool muted = false;  // without notifications

  const Plan* find(std::string_view profile) const;
  std::string yaml() const;
};

}  // namespace careen::explore
