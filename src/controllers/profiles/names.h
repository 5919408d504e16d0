// The names on a node that users and other programs know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "budget/touch.h"

namespace careen::profiles {

// The lock of the original, so that the two never lead at once.
inline constexpr std::string_view kLock = "maintenance-controller-leader-election.cloud.sap";
// Of the events about nodes and pods, as the original has it.
inline constexpr const char* kEventSource = "maintenance";

inline constexpr std::string_view kProfileLabel = "cloud.sap/maintenance-profile";
inline constexpr std::string_view kStateLabel = "cloud.sap/maintenance-state";
inline constexpr std::string_view kLogDetailsLabel = "cloud.sap/maintenance-log-details";
inline constexpr std::string_view kDataAnnotation = "cloud.sap/maintenance-data";
using budget::kTouchAnnotation;

// Messages that are due and have not been sent yet.
inline constexpr std::string_view kOutboxAnnotation = "careen.dev/outbox";

inline constexpr std::string_view kDefaultProfile = "default";

// The names in a node's profile label, in order and once each; the default profile when there is none.
std::vector<std::string> profiles_of(std::optional<std::string_view> label);
// Does the profile label name the profile? By default a node has one that its label does not name.
bool names_profile(std::string_view label, std::string_view profile);

}  // namespace careen::profiles
