#include "settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace careen::explore {

using profiles::State;

namespace {

// Long enough for every campaign.
constexpr int kHoursEnd = 8 * 60;
constexpr int kDay = 24 * 60;

std::string text_of(io::Duration d) { return io::format_duration(d); }

std::string limit_keys(const Plan& plan) {
  std::string keys =
      plan.limit.percent > 0 ? fmt::format("max: {}%", plan.limit.percent) : fmt::format("max: {}", plan.limit.max);
  if (plan.limit.by_zone) keys += fmt::format(", groupLabel: {}", kZone);
  if (plan.limit.own_profile) keys += fmt::format(", profile: {}", plan.name);
  if (plan.limit.skip_after > io::Duration{0}) keys += fmt::format(", skipAfter: {}", text_of(plan.limit.skip_after));
  return keys;
}

std::string check(std::string_view plan, std::string_view name, std::string_view type, std::string_view config) {
  return fmt::format("  - {{name: {}_{}, type: {}, config: {{{}}}}}\n", plan, name, type, config);
}

std::string checks_of(const Plan& plan) {
  const auto& p = plan.name;
  std::string out = check(p, "go", "hasLabel", "key: " + plan.go()) +
                    check(p, "done", "hasLabel", "key: " + plan.done()) +
                    check(p, "place", "maxMaintenance", limit_keys(plan)) +
                    check(p, "stay", "wait", "duration: " + text_of(plan.stay));
  if (plan.notice > io::Duration{0}) {
    out += plan.notice_days ? check(p, "notice", "waitExclude",
                                    fmt::format("duration: {}, exclude: [sat, sun]", text_of(plan.notice)))
                            : check(p, "notice", "wait", "duration: " + text_of(plan.notice));
  }
  if (const auto& stagger = plan.stagger) {
    out += check(p, "turn", "stagger",
                 fmt::format("duration: {}, leaseName: {}, leaseNamespace: kube-system, parallel: {}",
                             text_of(stagger->duration), stagger->group, stagger->parallel));
    out += check(p, "urgent", "hasLabel", fmt::format("key: {}", kUrgent));
  }
  if (plan.hours.period > 0) out += check(p, "hours", "timeWindow", plan.hours.yaml());
  if (plan.calm) {
    out += check(p, "calm", "prometheusInstant",
                 fmt::format("url: \"http://prometheus:9090\", query: {}, expr: value < {}", kQuery, kTooHigh));
  }
  if (plan.least_nodes > 0) out += check(p, "enough", "nodeCount", fmt::format("count: {}", plan.least_nodes));
  if (plan.unless_frozen) out += check(p, "frozen", "anyLabel", fmt::format("key: {}", kFreeze));
  if (plan.affinity) out += check(p, "order", "affinity", fmt::format("minOperational: {}", plan.min_operational));
  if (plan.healthy) out += check(p, "healthy", "condition", "type: Healthy, status: \"True\"");
  if (plan.versions) out += check(p, "outdated", "clusterSemver", fmt::format("key: {}", kVersion));
  return out;
}

std::string triggers_of(const Plan& plan) {
  const auto& p = plan.name;
  std::string out = check(p, "busy", "alterLabel", fmt::format("key: {}, value: \"yes\"", plan.busy())) +
                    check(p, "free", "alterLabel", fmt::format("key: {}, remove: true", plan.busy())) +
                    check(p, "finish", "alterLabel", fmt::format("key: {}, value: \"yes\"", plan.done())) +
                    check(p, "mark", "alterAnnotation", fmt::format("key: {}, value: \"yes\"", plan.mark())) +
                    check(p, "note", "alterAnnotation", fmt::format("key: {}, value: \"yes\"", plan.note()));
  if (plan.guards) {
    out += check(p, "guard", "alterFinalizer", "key: " + plan.guard());
    out += check(p, "unguard", "alterFinalizer", fmt::format("key: {}, remove: true", plan.guard()));
  }
  if (plan.drain != Plan::Drain::none) {
    const std::string keys =
        plan.forced ? fmt::format(", forceEviction: true, evictionTimeout: {}", text_of(kEvictionTimeout)) : "";
    out += check(p, "drain", "eviction", "action: drain" + keys);
    out += check(p, "uncordon", "eviction", "action: uncordon");
  }
  if (plan.versions) {
    out += check(p, "update", "alterLabel", fmt::format("key: {}, value: {}", kVersion, kNewVersion));
  }
  return out;
}

std::string schedule_of(const Telling& telling) {
  switch (telling.when) {
    case Telling::When::periodic:
      return fmt::format("type: periodic, config: {{interval: {}}}", text_of(telling.span));
    case Telling::When::oneshot:
      return fmt::format("type: oneshot, config: {{delay: {}}}", text_of(telling.span));
    case Telling::When::scheduled:
      break;
  }
  const int minutes = static_cast<int>(std::chrono::duration_cast<io::minutes>(telling.span).count());
  return fmt::format("type: scheduled, config: {{instant: \"{:02}:{:02}\", weekdays: [thu]}}", minutes / 60,
                     minutes % 60);
}

std::string way_of(const Telling& telling) {
  switch (telling.way) {
    case Telling::Way::mail:
      return "address: \"mail:25\", from: careen@example.com, to: [people@example.com], subject: Maintenance";
    case Telling::Way::slack:
      return "hook: \"http://slack/hook\", channel: nodes";
    case Telling::Way::thread:
      break;
  }
  return fmt::format(
      "token: secret, channel: nodes, title: title, leaseName: {}, leaseNamespace: kube-system, period: {}",
      kThreadLease, text_of(kThreadPeriod));
}

// The text says all that tells messages apart.
std::string notify_of(const Telling& telling) {
  constexpr const char* kTypes[] = {"mail", "slack", "slackThread"};
  return fmt::format(
      "  - {{name: {0}, type: {1}, schedule: {{{2}}}, config: {{{3}, message: \"{0} {{{{ .Node.Name }}}} "
      "{{{{ .Node.UID }}}} {{{{ .Profile }}}} {{{{ .State }}}} {{{{ .LastTransition.UnixNano }}}}\"}}}}\n",
      telling.name, kTypes[static_cast<int>(telling.way)], schedule_of(telling), way_of(telling));
}

std::string turn_of(const Plan& plan) {
  return plan.stagger->or_urgent ? fmt::format(" && ({0}_turn || {0}_urgent)", plan.name)
                                 : fmt::format(" && {}_turn", plan.name);
}

std::string request_check(const Plan& plan) {
  std::string out =
      plan.versions ? fmt::format("{0}_go && {0}_outdated", plan.name) : fmt::format("{0}_go && !{0}_done", plan.name);
  if (plan.stagger && plan.stagger->at_request) out += turn_of(plan);
  return out;
}

std::string admission_check(const Plan& plan) {
  std::string out = plan.name + "_place";
  const auto add = [&](bool used, std::string_view name) {
    if (used) out += fmt::format(" && {}_{}", plan.name, name);
  };
  add(plan.notice > io::Duration{0}, "notice");
  add(plan.hours.period > 0, "hours");
  add(plan.calm, "calm");
  add(plan.least_nodes > 0, "enough");
  add(plan.affinity, "order");
  if (plan.unless_frozen) out += fmt::format(" && !{}_frozen", plan.name);
  if (plan.stagger && !plan.stagger->at_request) out += turn_of(plan);
  return out;
}

std::string notify_chain(const Plan& plan, State state, bool muted) {
  std::vector<std::string> names;
  for (const Telling& telling : plan.tellings) {
    if (!muted && telling.tells(state)) names.push_back(telling.name);
  }
  return names.empty() ? "" : fmt::format("    notify: {}\n", fmt::join(names, " && "));
}

std::string enter_chain(const Plan& plan) {
  std::vector<std::string> names;
  if (plan.drain == Plan::Drain::in_enter) names.push_back(plan.name + "_drain");
  if (plan.marks) names.push_back(plan.name + "_mark");
  return names.empty() ? "" : fmt::format("    enter: {}\n", fmt::join(names, " && "));
}

std::string admission_trigger(const Plan& plan) {
  std::string out = plan.name + "_busy";
  if (plan.guards) out += fmt::format(" && {}_guard", plan.name);
  if (plan.drain == Plan::Drain::in_trigger) out += fmt::format(" && {}_drain", plan.name);
  return out;
}

std::string leaving_trigger(const Plan& plan) {
  std::string out = fmt::format("{0}_{1} && {0}_free", plan.name, plan.versions ? "update" : "finish");
  if (plan.guards) out += fmt::format(" && {}_unguard", plan.name);
  if (plan.drain != Plan::Drain::none) out += fmt::format(" && {}_uncordon", plan.name);
  return out + fmt::format(" && {}_note", plan.name);
}

std::string profile_of(const Plan& plan, bool muted) {
  const auto& p = plan.name;
  return fmt::format(
      "- name: {0}\n"
      "  operational:\n{1}"
      "    transitions: [{{check: \"{2}\", next: maintenance-required}}]\n"
      "  maintenance-required:\n{3}"
      "    transitions:\n"
      "    - {{check: \"!{0}_go\", next: operational}}\n"
      "    - {{check: \"{4}\", next: in-maintenance, trigger: {5}}}\n"
      "  in-maintenance:\n{6}{7}"
      "    transitions: [{{check: {0}_stay{8}, next: operational, trigger: {9}}}]\n",
      p, notify_chain(plan, State::operational, muted), request_check(plan),
      notify_chain(plan, State::maintenance_required, muted), admission_check(plan), admission_trigger(plan),
      enter_chain(plan), notify_chain(plan, State::in_maintenance, muted), plan.healthy ? " && " + p + "_healthy" : "",
      leaving_trigger(plan));
}

}  // namespace

bool Hours::is_open(io::Wall now) const {
  if (period == 0) return true;
  const io::Duration today = now.time_since_epoch() % io::Duration(io::hours{24});
  for (int start = shift; start + open <= kHoursEnd; start += period) {
    if (today > io::minutes{start} && today < io::minutes{start + open}) return true;
  }
  return false;
}

std::string Hours::yaml() const {
  std::vector<std::string> entries;
  const auto clock = [&](int minute) {
    const int local = ((minute + zone_offset) % kDay + kDay) % kDay;
    return fmt::format("{:02}:{:02}", local / 60, local % 60);
  };
  for (int start = shift; start + open <= kHoursEnd; start += period) {
    const std::string end = clock(start + open);
    entries.push_back(fmt::format("{{start: \"{}\", end: \"{}\", weekdays: [mon, tue, wed, thu, fri, sat, sun]}}",
                                  clock(start), end == "00:00" ? "24:00" : end));
  }
  return fmt::format("timezone: {}, windows: [{}]", zone, fmt::join(entries, ", "));
}

bool Telling::tells(State state) const { return std::find(states.begin(), states.end(), state) != states.end(); }

const Plan* Settings::find(std::string_view profile) const {
  for (const Plan& plan : plans) {
    if (plan.name == profile) return &plan;
  }
  return nullptr;
}

std::string Settings::yaml() const {
  std::string checks, triggers, notifies, profiles;
  for (const Plan& plan : plans) {
    checks += checks_of(plan);
    triggers += triggers_of(plan);
    if (!muted) {
      for (const Telling& telling : plan.tellings) notifies += notify_of(telling);
    }
    profiles += profile_of(plan, muted);
  }
  return fmt::format("intervals: {{requeue: {}}}\ninstances:\n  check:\n{}  trigger:\n{}{}{}profiles:\n{}",
                     text_of(kRequeue), checks, triggers, notifies.empty() ? "" : "  notify:\n", notifies, profiles);
}

}  // namespace careen::explore
