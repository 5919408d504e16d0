#include "settings.h"

#include <fmt/format.h>

namespace careen::explore {

namespace {

std::string limit_keys(const Plan& plan) {
  std::string keys = fmt::format("max: {}", plan.limit.max);
  if (plan.limit.by_zone) keys += fmt::format(", groupLabel: {}", kZone);
  if (plan.limit.own_profile) keys += fmt::format(", profile: {}", plan.name);
  if (plan.limit.skip_after > io::Duration{0}) {
    keys += fmt::format(", skipAfter: {}", io::format_duration(plan.limit.skip_after));
  }
  return keys;
}

}  // namespace

const Plan* Settings::find(std::string_view profile) const {
  for (const Plan& plan : plans) {
    if (plan.name == profile) return &plan;
  }
  return nullptr;
}

std::string Settings::yaml() const {
  std::string checks, triggers, profiles;
  for (const Plan& plan : plans) {
    checks += fmt::format(
        "  - {{name: {0}_go, type: hasLabel, config: {{key: {1}}}}}\n"
        "  - {{name: {0}_done, type: hasLabel, config: {{key: {2}}}}}\n"
        "  - {{name: {0}_place, type: maxMaintenance, config: {{{3}}}}}\n"
        "  - {{name: {0}_notice, type: wait, config: {{duration: {4}}}}}\n"
        "  - {{name: {0}_stay, type: wait, config: {{duration: {5}}}}}\n",
        plan.name, plan.go(), plan.done(), limit_keys(plan), io::format_duration(plan.notice),
        io::format_duration(plan.stay));
    triggers += fmt::format(
        "  - {{name: {0}_busy, type: alterLabel, config: {{key: {1}, value: \"yes\"}}}}\n"
        "  - {{name: {0}_free, type: alterLabel, config: {{key: {1}, remove: true}}}}\n"
        "  - {{name: {0}_finish, type: alterLabel, config: {{key: {2}, value: \"yes\"}}}}\n"
        "  - {{name: {0}_mark, type: alterAnnotation, config: {{key: {3}, value: \"yes\"}}}}\n"
        "  - {{name: {0}_note, type: alterAnnotation, config: {{key: {4}, value: \"yes\"}}}}\n",
        plan.name, plan.busy(), plan.done(), plan.mark(), plan.note());
    profiles += fmt::format(
        "- name: {0}\n"
        "  operational: {{transitions: [{{check: {0}_go && !{0}_done, next: maintenance-required}}]}}\n"
        "  maintenance-required:\n"
        "    transitions:\n"
        "    - {{check: \"!{0}_go\", next: operational}}\n"
        "    - {{check: {0}_place{1}, next: in-maintenance, trigger: {0}_busy}}\n"
        "  in-maintenance:\n{2}"
        "    transitions: [{{check: {0}_stay, next: operational, trigger: {0}_finish && {0}_free && {0}_note}}]\n",
        plan.name, plan.notice > io::Duration{0} ? " && " + plan.name + "_notice" : "",
        plan.marks ? "    enter: " + plan.name + "_mark\n" : "");
  }
  return fmt::format("intervals: {{requeue: 30s}}\ninstances:\n  check:\n{}  trigger:\n{}profiles:\n{}", checks,
                     triggers, profiles);
}

}  // namespace careen::explore
