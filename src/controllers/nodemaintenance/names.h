// The names of NodeMaintenance that users and other programs know.
#pragma once

#include <string_view>

#include "budget/touch.h"
#include "kube/resource.h"

namespace careen::nodemaintenance {

extern const kube::Resource kResource;  // nodemaintenances.nodemaintenance.medik8s.io v1beta1

inline constexpr std::string_view kFinalizer = "foregroundDeleteNodeMaintenance";
// On a NodeMaintenance that careen has begun or taken over: when that was. Without it, and with finalizer and phase,
// the original operator began it, and what is on its node is the original's work.
inline constexpr std::string_view kBegunAnnotation = "careen.dev/begun";
using budget::kTouchAnnotation;
inline constexpr std::string_view kExcludeLabel = "remediation.medik8s.io/exclude-from-remediation";
inline constexpr std::string_view kDrainTaint = "medik8s.io/drain";
inline constexpr std::string_view kLeaseHolder = "node-maintenance";
inline constexpr std::string_view kLeaseNamespace = "medik8s-leases";
inline constexpr std::string_view kLock = "135b1886.medik8s.io";
inline constexpr std::string_view kWebhookPath = "/validate-nodemaintenance-medik8s-io-v1beta1-nodemaintenance";

}  // namespace careen::nodemaintenance
