// What careen remembers about a node's profiles, kept in the annotation cloud.sap/maintenance-data. Reading is
// lenient (older layouts, foreign fields); writing is exactly the v2 layout, byte for byte as other writers of the
// annotation produce it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "controllers/profiles/state.h"
#include "io/result.h"
#include "io/time.h"

namespace careen::profiles {

// "Never" in the annotation: 0001-01-01T00:00:00Z.
inline constexpr io::Wall kZeroTime = io::Wall::min();

// A state as the annotation tells it: one of the three, or a word careen does not know. The word is kept as it was
// written, so that a profile that cannot be processed loses nothing when the annotation is written again.
class RecordedState {
 public:
  RecordedState(State state = State::operational) : value_(state) {}  // NOLINT: a State is a RecordedState
  static RecordedState from_text(std::string_view text);

  // nullopt: an error for this profile.
  std::optional<State> known() const;
  std::string_view text() const;
  bool operator==(const RecordedState& other) const = default;

 private:
  std::variant<State, std::string> value_;
};

struct ProfileData {
  io::Wall transition = kZeroTime;  // last change of state, or attaching of the profile
  RecordedState current;
  RecordedState previous;  // differs from current until `enter` and `notify` of the new state are done

  bool operator==(const ProfileData&) const = default;
};

struct NodeData {
  std::map<std::string, ProfileData, std::less<>> profiles;
  // Last time an instance fired for this node; kZeroTime: looked at but never fired.
  std::map<std::string, io::Wall, std::less<>> notifications;

  bool operator==(const NodeData&) const = default;
};

// More than this is no record of careen's or of the original's: a few dozen profiles and some hundred notifications
// fit in many times over. Somebody who writes more does not keep careen busy reading it.
inline constexpr size_t kMostDataBytes = 64 << 10;

// Reads the annotation. Missing is the empty text and gives empty data. Field names match in any case, fields that
// are not known are skipped, the v1 layout is migrated, text after the first JSON value does not count.
io::Result<NodeData> parse_node_data(std::string_view annotation);

// Reads what format_node_data() wrote: it would write the very same text again. Nothing for any other text, however
// valid. An order of magnitude faster than the lenient way, which tries this first.
std::optional<NodeData> read_as_written(std::string_view annotation);

// The annotation in the v2 layout: compact, keys sorted, times in UTC.
std::string format_node_data(const NodeData& data);

}  // namespace careen::profiles
