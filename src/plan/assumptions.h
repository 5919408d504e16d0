// What a plan assumes about the world outside of careen: how long maintenance takes, who approves it and when, how long
// pods take to end and to start, and what checks answer that look at things nobody can foresee.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "io/time.h"

namespace careen::plan {

struct Approvals {
  enum class Kind { given, after, none };
  Kind kind = Kind::given;
  io::Duration after{};  // since maintenance was required
  bool operator==(const Approvals&) const = default;
  std::string text() const;  // given, after=30m, none
};

// given, after=30m or none.
io::Result<Approvals> parse_approvals(std::string_view text);

// For some profiles and nodes.
struct Override {
  std::string profile;     // glob
  std::string node = "*";  // glob
  std::optional<io::Duration> maintenance;
  std::optional<Approvals> approvals;
};

struct Assumptions {
  static constexpr io::Duration kMaintenance = io::minutes{20};

  std::optional<io::Duration> maintenance;      // for all; otherwise what was learned, or kMaintenance
  std::map<std::string, io::Duration> learned;  // by profile
  Approvals approvals;
  io::Duration pod_termination = io::seconds{30};  // at most; a shorter grace period of the pod counts
  io::Duration pod_start = io::seconds{20};
  std::vector<Override> overrides;                  // later ones win
  std::map<std::string, bool, std::less<>> checks;  // by instance: its answer

  io::Duration maintenance_of(std::string_view profile, std::string_view node) const;
  Approvals approvals_of(std::string_view profile, std::string_view node) const;
};

// Adds one assumption as the flag has it:
//   os-update/rack-1-*:maintenance=45m    for these nodes (or without /… for all) of these profiles
//   os-update:approvals=none
//   check quiet=true                      what the check answers, whatever it looks at
// The error says what is wrong with the text.
io::Result<bool> add_assumption(Assumptions& assumptions, std::string_view text);

// `*` is any text and `?` any character.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace careen::plan
