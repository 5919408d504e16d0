// The plugins this version offers. Each lives in a file of its own; this table is the only other place that knows it.
#pragma once

#include "controllers/profiles/plugin.h"

namespace careen::profiles {

Plugin<Check> affinity_check();
Plugin<Check> any_label_check();
Plugin<Check> check_hypervisor_check();
Plugin<Check> cluster_semver_check();
Plugin<Check> condition_check();
Plugin<Check> has_annotation_check();
Plugin<Check> has_label_check();
Plugin<Check> hypervisor_condition_check();
Plugin<Check> max_maintenance_check();
Plugin<Check> node_count_check();
Plugin<Check> prometheus_instant_check();
Plugin<Check> stagger_check();
Plugin<Check> time_window_check();
Plugin<Check> wait_check();
Plugin<Check> wait_exclude_check();

Plugin<Notify> mail_notify();
Plugin<Notify> slack_notify();
Plugin<Notify> slack_thread_notify();

Plugin<Trigger> alter_annotation_trigger();
Plugin<Trigger> alter_finalizer_trigger();
Plugin<Trigger> alter_hypervisor_trigger();
Plugin<Trigger> alter_label_trigger();
Plugin<Trigger> eviction_trigger();

PluginRegistry all_plugins();

}  // namespace careen::profiles
