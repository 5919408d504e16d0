// The names of the MaintenanceRequest protocol as an actor writes them.
#pragma once

#include <string_view>

#include "kube/resource.h"

namespace careen::requests {

inline const kube::Resource kRequests{"repairman.k8s.io", "v1", "maintenancerequests", "MaintenanceRequest", false};
inline constexpr std::string_view kClientLabel = "maintenancerequests.repairman.k8s.io/clientname";
inline constexpr std::string_view kNamePrefix = "mr-";
inline constexpr std::string_view kTypeNode = "node";
inline constexpr std::string_view kPendingState = "Pending", kApprovedState = "Approved",
                                  kInProgressState = "InProgress", kCompletedState = "Completed",
                                  kRejectedState = "Rejected";
// On a request that `careen request run` has set InProgress: whose run that was, for people and for the run itself.
inline constexpr std::string_view kRunAnnotation = "careen.dev/run";

}  // namespace careen::requests
