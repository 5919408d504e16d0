#include "controllers/profiles/profile_states.h"

#include <algorithm>
#include <string>
#include <vector>

#include "controllers/profiles/config.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/names.h"
#include "kube/atoms.h"
#include "kube/node.h"

namespace careen::profiles {

bool is_of_profile(const budget::Admission& admission) { return admission.by.starts_with(kHoldPrefix); }

std::optional<budget::NodeReader::InState> ProfileStates::state_of(const kube::Node& node) const {
  const kube::Atom* const state = node.label(kStateLabel);
  const bool labelled = state && state->view() == name_of(State::in_maintenance);
  const std::string* const text = node.annotation(kDataAnnotation);
  const auto data = parse_node_data(text ? std::string_view(*text) : std::string_view{});
  // The annotation is what counts; the label may have been edited by somebody and is about to be put right.
  bool recorded = false;
  if (data && config_) {
    const kube::Atom* const label = node.label(kProfileLabel);
    const std::vector<std::string> names = profiles_of(label ? std::optional(label->view()) : std::nullopt);
    recorded = std::any_of(names.begin(), names.end(), [&](const std::string& profile) {
      const auto known = data->profiles.find(profile);
      return config_->find_profile(profile) && known != data->profiles.end() &&
             known->second.current.known() == State::in_maintenance;
    });
  }
  if (!labelled && !recorded) return std::nullopt;
  InState in_state;
  if (data) {
    in_state.changed.emplace();
    for (const auto& [profile, known] : data->profiles) in_state.changed->emplace(profile, known.transition);
  }
  return in_state;
}

bool ProfileStates::belongs(const kube::Node& node, std::string_view subset) const {
  const kube::Atom* const label = node.label(kProfileLabel);
  return label && names_profile(label->view(), subset);
}

}  // namespace careen::profiles
