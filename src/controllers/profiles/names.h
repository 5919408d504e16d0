// The names on a node that users and other programs know.
#pragma once

#include <string_view>

namespace careen::profiles {

inline constexpr std::string_view kProfileLabel = "cloud.sap/maintenance-profile";
inline constexpr std::string_view kStateLabel = "cloud.sap/maintenance-state";
inline constexpr std::string_view kLogDetailsLabel = "cloud.sap/maintenance-log-details";
inline constexpr std::string_view kDataAnnotation = "cloud.sap/maintenance-data";
// Changed when a write that may still be on its way must find the node changed.
inline constexpr std::string_view kTouchAnnotation = "careen.dev/touched";

// Messages that are due and have not been sent yet.
inline constexpr std::string_view kOutboxAnnotation = "careen.dev/outbox";

inline constexpr std::string_view kDefaultProfile = "default";

}  // namespace careen::profiles
