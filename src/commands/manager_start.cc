#include "commands/manager_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "controllers/slot/kind.h"
#include "replica/controllers.h"

namespace careen::app {

namespace {

constexpr std::string_view kProfiles = "profiles", kMaintenances = "nodemaintenance", kRequests = "requests";
// Where the manifests of repairman put it.
constexpr std::string_view kHomeOfRequests = "repairman-system";

struct Told {
  std::string_view flag;  // the beginning of its name if it ends with a dash
  std::string_view controller;
};

// In this order: flags of the log are of two programs, of which the other is known by its own.
constexpr Told kTold[] = {
    {"--leader-elect", kMaintenances},
    {"--health-probe-bind-address", kMaintenances},
    {"--metrics-bind-address", kMaintenances},
    {"--enable-http2", kMaintenances},
    {"--health-addr", kProfiles},
    {"--pprof-addr", kProfiles},
    {"--kubecontext", kProfiles},
    {"--metrics-timeout", kProfiles},
    {"--enable-esx-maintenance", kProfiles},
    {"--enable-kubernikus-maintenance", kProfiles},
    {"--zap-", kProfiles},
};
// After those, and after a configuration that lies there: the third program has no other flag of its own.
constexpr std::string_view kToldLast = "--master";

constexpr std::string_view kElects = "--enable-leader-election";

bool has_flag(const std::vector<std::string>& arguments, std::string_view flag) {
  return std::ranges::any_of(arguments, [&](std::string_view argument) {
    if (!argument.starts_with(flag)) return false;
    return flag.ends_with('-') || argument.size() == flag.size() || argument[flag.size()] == '=';
  });
}

std::string_view negated(bool yes) { return yes ? "" : " not"; }

const controllers::Kind* kind_named(std::string_view name) {
  const auto& kinds = replica::controller_kinds();
  const auto found = std::ranges::find(kinds, name, &controllers::Kind::name);
  return found == kinds.end() ? nullptr : *found;
}

}  // namespace

bool says_controllers(const std::vector<std::string>& arguments) {
  return has_flag(arguments, "--controllers") || has_flag(arguments, "--config");
}

std::string_view controller_by_flags(const std::vector<std::string>& arguments, bool has_config) {
  for (const Told& one : kTold) {
    if (has_flag(arguments, one.flag)) return one.controller;
  }
  if (has_config) return kProfiles;
  return has_flag(arguments, kToldLast) ? kRequests : "";
}

tl::expected<std::string_view, std::string> controller_by_cluster(const ManagerSurroundings& found) {
  const bool limits = found.serves_limits && found.may_update_limits;
  const bool home = found.ns == kHomeOfRequests;
  // Of the two that are left, only the role of the other one may see Pods.
  if (limits && (home || !found.may_list_pods)) return kRequests;
  if (!limits && !home) return kProfiles;
  std::vector<std::string_view> names;
  for (const controllers::Kind* kind : replica::controller_kinds()) names.push_back(kind->name);
  return tl::make_unexpected(fmt::format(
      "started as /manager, and it is in doubt for which program: no flag tells, and there is no "
      "./config/maintenance.yaml; repairman.k8s.io/v1 is{} served, the status of its maintenancelimits may{} be "
      "updated, pods may{} be listed, and the namespace is \"{}\". Say it with --controllers: {}",
      negated(found.serves_limits), negated(found.may_update_limits), negated(found.may_list_pods), found.ns,
      fmt::join(names, ", ")));
}

bool starts_as_its_role_allows(std::string_view controller) {
  const controllers::Kind* kind = kind_named(controller);
  return kind && kind->lock_kind == kube::LockKind::config_map;
}

std::vector<std::string> as_manager(std::vector<std::string> arguments, std::string_view controller,
                                    const ManagerSurroundings& found) {
  const std::vector<std::string> given = arguments;
  arguments.push_back(fmt::format("--controllers={}", controller));
  const controllers::Kind* kind = kind_named(controller);
  if (!kind) return arguments;
  const auto add = [&](std::string_view flag) {
    const std::string_view name = flag.substr(0, flag.find('='));
    const bool elects =
        name == kElects && (has_flag(given, "--leader-elect") || has_flag(given, "--no-enable-leader-election"));
    if (!has_flag(given, name) && !elects) arguments.emplace_back(flag);
  };
  for (const std::string_view flag : kind->original.usual_flags) add(flag);
  if (!starts_as_its_role_allows(controller) || !found.may_lock) return arguments;
  // The original runs as a single replica unless the flag is given; several careens take turns.
  add(kElects);
  // What the same role allows shows that the API server knows it: this right is missing, and not only unknown yet.
  if (!found.may_pause) add("--await-pauses=false");
  return arguments;
}

}  // namespace careen::app
