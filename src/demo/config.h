// What careen is told in the demonstration: the maintenance configuration with its two profiles, and the names on nodes
// that the configuration and the demonstration's world share.
#pragma once

#include <string>
#include <string_view>

#include "io/time.h"

namespace careen::app {

inline constexpr std::string_view kOsUpdate = "os-update";              // profiles
inline constexpr std::string_view kHardwareRepair = "hardware-repair";  //

inline constexpr std::string_view kOsVersionLabel = "demo.careen.dev/os";
inline constexpr std::string_view kOutdatedLabel = "demo.careen.dev/os-update";  // needed
inline constexpr std::string_view kPoolLabel = "demo.careen.dev/pool";           // worker or storage
inline constexpr std::string_view kHardwareLabel = "demo.careen.dev/hardware";   // broken or repaired
inline constexpr std::string_view kApprovedAnnotation = "demo.careen.dev/approved";

// With several clusters: the namespace of their Clusters, and their names.
inline constexpr const char* kFleetNamespace = "fleet";
inline constexpr const char* kClusterNames[] = {"eu-1", "us-1", "ap-1", "eu-2", "us-2", "ap-2", "eu-3", "us-3", "ap-3"};

// Its limits.
inline constexpr int kUpdatesPerZone = 2;
inline constexpr int kMostInMaintenance = 8;
// Of the one limit over everybody who takes nodes out.
inline constexpr int kMostOut = 7;

// The file. Its windows leave a break of twenty minutes every two hours, and one has just opened at `start`.
std::string demo_config(io::Wall start);

}  // namespace careen::app
