#include "controllers/profiles/state.h"

namespace careen::profiles {

namespace {
constexpr std::array<std::string_view, 3> kNames{"operational", "maintenance-required", "in-maintenance"};
}

std::string_view name_of(State state) { return kNames.at(index_of(state)); }

std::optional<State> parse_state(std::string_view text) {
  for (State state : kStates) {
    if (name_of(state) == text) return state;
  }
  return std::nullopt;
}

}  // namespace careen::profiles
