// The names of MaintenanceRequests that users and other programs know.
#pragma once

#include <string_view>

#include "kube/resource.h"

namespace careen::requests {

extern const kube::Resource kResource;          // maintenancerequests.repairman.k8s.io v1
extern const kube::Resource kSelectorResource;  // maintenanceselectors.repairman.k8s.io v1

// Of a request: whose it is, as the actor knows itself.
inline constexpr std::string_view kClientLabel = "maintenancerequests.repairman.k8s.io/clientname";
// Of a request that a MaintenanceSelector has made: its name, and its namespace.
inline constexpr std::string_view kSelectorLabel = "repairman.k8s.io/selector";
inline constexpr std::string_view kSelectorNamespaceLabel = "repairman.k8s.io/selector-namespace";
// Of a node that was schedulable before it was cordoned for a request: the request.
inline constexpr std::string_view kCordonedBy = "repairman.k8s.io/cordoned-by";

// On a request, in the same write as the state that they belong to: when it was approved, and why careen ended it
// (`<reason>: <message>`). The status, which is a write of its own, follows them.
inline constexpr std::string_view kApprovedAnnotation = "careen.dev/approved";
inline constexpr std::string_view kEndedAnnotation = "careen.dev/ended";

// Of places, claims and holds: request/<name of the object>.
inline constexpr std::string_view kOwnerPrefix = "request/";
inline constexpr std::string_view kLock = "controller-leader-election-helper";
// Of its events, as in the program that it replaces.
inline constexpr std::string_view kEventSource = "MaintenanceRequest";

}  // namespace careen::requests
