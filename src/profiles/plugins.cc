#include "profiles/plugins.h"

namespace careen::profiles {

PluginRegistry all_plugins() {
  PluginRegistry registry;
  registry.checks = {
      {"hasAnnotation", make_has_annotation},
      {"hasLabel", make_has_label},
      {"maxMaintenance", make_max_maintenance},
      {"wait", make_wait},
  };
  registry.triggers = {
      {"alterAnnotation", make_alter_annotation},
      {"alterLabel", make_alter_label},
  };
  return registry;
}

}  // namespace careen::profiles
