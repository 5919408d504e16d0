// The names by which users and other programs know what careen does with Machines, exactly as the program that it
// replaces has them, and those that careen has besides.
#pragma once

#include <string_view>

#include "kube/resource.h"

namespace careen::machines {

// Of a Machine, usually by the template of its MachineDeployment: "true" puts it into careen's care.
inline constexpr std::string_view kEnabled = "runtime-extension-maintenance-controller.cloud.sap/enabled";
// Of a Machine: `requested` by whoever wants to work on it, `approved` once they may.
inline constexpr std::string_view kMaintenance = "runtime-extension-maintenance-controller.cloud.sap/maintenance";
inline constexpr std::string_view kRequested = "requested";
inline constexpr std::string_view kApproved = "approved";
inline constexpr std::string_view kTrue = "true";

// Annotation of a Machine: Cluster API drains and deletes nothing while there is one that begins like it.
inline constexpr std::string_view kPreDrainHook =
    "pre-drain.delete.hook.machine.cluster.x-k8s.io/maintenance-controller";
inline constexpr std::string_view kPreDrainHooks = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
// The value of what careen writes on Machines.
inline constexpr std::string_view kOwnValue = "runtime-extension-maintenance-controller";
// Annotation of a Machine: a MachineHealthCheck leaves it alone.
inline constexpr std::string_view kSkipRemediation = "cluster.x-k8s.io/skip-remediation";

// Labels of a Node. The first is there while profiles look after it; whoever runs them approves, and careen tells
// them that the Machine is being deleted, or that somebody wants to work on it.
inline constexpr std::string_view kMaintenanceState = "cloud.sap/maintenance-state";
inline constexpr std::string_view kMachineDeleted =
    "runtime-extension-maintenance-controller.cloud.sap/machine-deleted";
inline constexpr std::string_view kApproveDeletion =
    "runtime-extension-maintenance-controller.cloud.sap/approve-deletion";
inline constexpr std::string_view kMachineMaintenance =
    "runtime-extension-maintenance-controller.cloud.sap/machine-maintenance";
inline constexpr std::string_view kApproveMaintenance =
    "runtime-extension-maintenance-controller.cloud.sap/approve-maintenance";
// A label of the objects of Cluster API that are about one cluster: its name.
inline constexpr std::string_view kClusterLabel = "cluster.x-k8s.io/cluster-name";
// Annotations of a Node, by Cluster API: whose it is.
inline constexpr std::string_view kMachineOfNode = "cluster.x-k8s.io/machine";
inline constexpr std::string_view kNamespaceOfNode = "cluster.x-k8s.io/cluster-namespace";
inline constexpr std::string_view kClusterOfNode = "cluster.x-k8s.io/cluster-name";

// Annotations of a BareMetalHost. With a key the host goes off and stays off while the annotation is there; without one
// it is rebooted once.
inline constexpr std::string_view kPowerOff = "reboot.metal3.io/runtime-extension-maintenance-controller";
inline constexpr std::string_view kReboot = "reboot.metal3.io";
inline constexpr std::string_view kHostPaused = "baremetalhost.metal3.io/paused";
inline constexpr std::string_view kHostDetached = "baremetalhost.metal3.io/detached";
// Annotation of a Machine whose host cannot be powered off: `requested` has it rebooted once, when the maintenance is
// approved; careen answers with `done`.
inline constexpr std::string_view kRebootHost = "careen.dev/reboot-host";
inline constexpr std::string_view kDone = "done";

// In the pauseRequests of a NodeHealthCheck. One for all Machines: it is there while any of them is out.
inline constexpr std::string_view kPauseRequest = "careen.dev/machine-maintenance";

// Annotations of a Cluster: when Cluster API may begin to upgrade it (windows/window_text.h), and what keeps it from
// beginning. Whatever begins like the hook does; this one is careen's own.
inline constexpr std::string_view kUpgradeWindow = "careen.dev/upgrade-window";
inline constexpr std::string_view kUpgradeHook = "before-upgrade.hook.cluster.cluster.x-k8s.io/careen-window";
inline constexpr std::string_view kUpgradeHookValue = "careen";

inline constexpr std::string_view kLock = "runtime-extension-maintenance-controller";
inline constexpr std::string_view kEventSource = "Machine";

inline constexpr std::string_view kGroup = "cluster.x-k8s.io";
// The versions of that group that careen reads, the newest first.
inline constexpr std::string_view kVersions[] = {"v1beta2", "v1beta1"};

extern const kube::Resource kMachines;      // in the newest version
extern const kube::Resource kClusters;      // in the newest version
extern const kube::Resource kHosts;         // baremetalhosts.metal3.io v1alpha1
extern const kube::Resource kHealthChecks;  // nodehealthchecks.remediation.medik8s.io v1alpha1
extern const kube::Resource kSecrets;

}  // namespace careen::machines
