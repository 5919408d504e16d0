#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {
template <class Kind>
PluginTable<Kind> table(std::vector<Plugin<Kind>> plugins) {
  PluginTable<Kind> by_type;
  for (Plugin<Kind>& plugin : plugins) {
    std::string type(plugin.doc.type);
    by_type.emplace(std::move(type), std::move(plugin));
  }
  return by_type;
}
}  // namespace

PluginRegistry all_plugins() {
  PluginRegistry registry;
  registry.checks = table<Check>({
      affinity_check(),
      any_label_check(),
      check_hypervisor_check(),
      cluster_semver_check(),
      condition_check(),
      has_annotation_check(),
      has_label_check(),
      hypervisor_condition_check(),
      max_maintenance_check(),
      node_count_check(),
      prometheus_instant_check(),
      stagger_check(),
      time_window_check(),
      wait_check(),
      wait_exclude_check(),
  });
  registry.notifies = table<Notify>({
      mail_notify(),
      slack_notify(),
      slack_thread_notify(),
  });
  registry.triggers = table<Trigger>({
      alter_annotation_trigger(),
      alter_finalizer_trigger(),
      alter_hypervisor_trigger(),
      alter_label_trigger(),
      eviction_trigger(),
  });
  registry.known_but_unavailable = {"kubernikusCount"};
  return registry;
}

}  // namespace careen::profiles
