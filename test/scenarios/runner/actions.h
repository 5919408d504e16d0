// The kinds of steps there are: what a person, or misfortune, does. A new kind is a function that reads its value, and
// a line in the table of actions.cc.
#pragma once

#include <span>
#include <string_view>

#include "reading.h"
#include "stage.h"

namespace careen::scenarios {

// Does it; returns what is wrong, or nothing.
using Perform = std::function<std::string(Stage&)>;

struct ActionKind {
  std::string_view name;
  std::string_view who;
  Perform (*read)(const Value& value, Reading& reading);
};
std::span<const ActionKind> action_kinds();

// On nodes and other objects (actions_objects.cc).
Perform read_label(const Value& value, Reading& reading);
Perform read_unlabel(const Value& value, Reading& reading);
Perform read_annotate(const Value& value, Reading& reading);
Perform read_unannotate(const Value& value, Reading& reading);
Perform read_taint(const Value& value, Reading& reading);
Perform read_untaint(const Value& value, Reading& reading);
Perform read_cordon(const Value& value, Reading& reading);
Perform read_uncordon(const Value& value, Reading& reading);
Perform read_create(const Value& value, Reading& reading);
Perform read_create_pods(const Value& value, Reading& reading);
Perform read_delete(const Value& value, Reading& reading);
Perform read_patch(const Value& value, Reading& reading);
Perform read_stop_kubelet(const Value& value, Reading& reading);
Perform read_start_kubelet(const Value& value, Reading& reading);
// On what is drained, and the objects that ask for it (actions_drains.cc).
Perform read_maintain(const Value& value, Reading& reading);
Perform read_release(const Value& value, Reading& reading);
// The emergency stop (actions_pause.cc).
Perform read_pause(const Value& value, Reading& reading);
Perform read_lift_pause(const Value& value, Reading& reading);
// On careen (actions_careen.cc).
Perform read_configure(const Value& value, Reading& reading);
Perform read_edit_config(const Value& value, Reading& reading);
Perform read_start(const Value& value, Reading& reading);
Perform read_stop(const Value& value, Reading& reading);
Perform read_crash(const Value& value, Reading& reading);
Perform read_suspend(const Value& value, Reading& reading);
Perform read_resume(const Value& value, Reading& reading);
// On the way to the API server (actions_network.cc).
Perform read_disturb(const Value& value, Reading& reading);
Perform read_freeze_watches(const Value& value, Reading& reading);
Perform read_delay_watches(const Value& value, Reading& reading);
Perform read_break_watches(const Value& value, Reading& reading);
Perform read_compact(const Value& value, Reading& reading);
// On the world outside of the cluster (actions_outside.cc).
Perform read_slack(const Value& value, Reading& reading);
Perform read_mail(const Value& value, Reading& reading);
Perform read_prometheus(const Value& value, Reading& reading);
Perform read_measure(const Value& value, Reading& reading);

// What queries yield; nothing for those that should yield nothing.
std::vector<std::pair<std::string, std::optional<double>>> read_measures(const Value& value, Reading& reading);

// Nodes and pods as the file describes them: `node-1..3: {profile: reboot}`.
std::vector<PlannedObject> read_nodes(const Value& value, Reading& reading);
std::vector<PlannedObject> read_pods(const Value& value, Reading& reading);
std::vector<PlannedObject> read_workloads(const Value& value, Reading& reading);
std::vector<PlannedObject> read_budgets(const Value& value, Reading& reading);
// How long a pod takes to start, works and takes to end, into its annotations and its spec.
void read_behaviour(Fields& fields, kube::Json& metadata_holder, kube::Json& spec);
// Any objects, by their paths: `/apis/kvm.cloud.sap/v1/hypervisors/node-1..3: {spec: {…}}`.
std::vector<PlannedObject> read_paths(const Value& value, Reading& reading);
// Asks the API server to create it; returns what it has against that, or nothing.
std::string post_object(Stage& stage, const PlannedObject& planned);
// Nodes come with a kubelet, which is ready after that time. Returns what is wrong, or nothing.
std::string make_object(Stage& stage, const PlannedObject& planned, io::Duration ready_after);

}  // namespace careen::scenarios
