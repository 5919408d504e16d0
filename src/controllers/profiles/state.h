// The three states a maintenance profile moves a node through, their names on the API, and which of them weighs
// more when a node has several profiles.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace careen::profiles {

// In order of severity: the state label of a node shows the greatest of its profiles.
enum class State { operational, maintenance_required, in_maintenance };

inline constexpr std::array kStates{State::operational, State::maintenance_required, State::in_maintenance};

constexpr std::size_t index_of(State state) { return static_cast<std::size_t>(state); }
constexpr int severity(State state) { return static_cast<int>(state); }
constexpr State more_severe(State a, State b) { return severity(a) < severity(b) ? b : a; }

// operational, maintenance-required, in-maintenance.
std::string_view name_of(State state);
// Exactly one of the three names, nullopt otherwise.
std::optional<State> parse_state(std::string_view text);

}  // namespace careen::profiles
