#include "commands/node_commands.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "commands/command_list.h"
#include "kube/label_selector.h"
#include "replica/controllers.h"
#include "session/cluster_command.h"

namespace careen::app {

namespace {

kube::LabelSelector parse_selector(const std::string& text) {
  auto selector = kube::LabelSelector::parse(text);
  if (!selector) throw CLI::ValidationError("\"" + text + "\": " + selector.error().message);
  return std::move(*selector);
}

// Given any number of times; commas belong to the selector.
void add_selectors(CLI::App& command, const std::string& flag, const std::string& help,
                   std::vector<kube::LabelSelector>& into) {
  command
      .add_option(
          flag,
          [&into](const CLI::results_t& values) {
            for (const std::string& text : values) into.push_back(parse_selector(text));
            return true;
          },
          help)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_node_selector(CLI::App& command, std::string& selector) {
  command.add_option_function<std::string>(
      "-l,--selector",
      [&selector](const std::string& text) {
        parse_selector(text);
        selector = text;
      },
      "Label selector of nodes, instead of names");
}

void add_dry_run(CLI::App& command, DryRun& dry_run) {
  command.add_option_function<std::string>(
      "--dry-run",
      [&dry_run](const std::string& text) {
        if (text != "none" && text != "client" && text != "server") {
          throw CLI::ValidationError("must be \"none\", \"server\", or \"client\"");
        }
        dry_run = text == "client" ? DryRun::client : text == "server" ? DryRun::server : DryRun::none;
      },
      "client: only print what would be done; server: have the server check it too [none]");
}

bool chosen(const std::vector<std::string>& nodes, const std::string& selector) {
  return !nodes.empty() || !selector.empty();
}

constexpr const char* kBoth = "cannot specify both a node name and a --selector option";

std::string drain_mistake(const DrainOptions& options) {
  if (!options.nodes.empty() && !options.selector.empty()) return kBoth;
  if (!chosen(options.nodes, options.selector)) return "which nodes? Give their names, or a --selector";
  if (options.page_size < 0) return "--chunk-size must be 0 or more";
  return {};
}

std::string uncordon_mistake(const UncordonOptions& options) {
  const bool some = chosen(options.nodes, options.selector);
  if (!options.nodes.empty() && !options.selector.empty()) return kBoth;
  if (options.all_mine && some) return "--all-mine names the nodes itself";
  if (options.all_mine && options.force) return "--all-mine leaves what others hold; it does not go with --force";
  if (!options.all_mine && !some) return "which nodes? Give their names, a --selector, or --all-mine";
  return {};
}

void add_drain_beyond_kubectl(CLI::App& command, drain::Options& options) {
  add_selectors(command, "--skip-pods", "Label selector of pods that stay; may be repeated", options.skip);
  add_selectors(command, "--wait-for-pods", "Label selector of pods to await instead of evicting; may be repeated",
                options.wait_for);
  add_selectors(command, "--tier", "Label selector of pods that leave before all later tiers; may be repeated",
                options.tiers);
  command.add_flag("--by-priority", options.by_priority, "Pods of lower priority leave first, within a tier");
  command.add_flag("--chase-newcomers", options.chase_newcomers,
                   "Evict pods that come during the drain, too; it is complete without them");
  add_duration_flag(command, "--delete-after", "Delete a pod that could not be evicted for so long, past its budget",
                    [&options](io::Duration value) { options.delete_after = value; });
  add_duration_flag(command, "--kill-after",
                    "Delete a pod with grace period 0 that is still there so long after its grace period",
                    [&options](io::Duration value) { options.kill_after = value; });
}

}  // namespace

void add_drain_command(Commands& commands) {
  auto [command, given] = add_on_cluster<DrainOptions>(
      commands, "drain", "Cordon nodes and evict their pods, all at once", drain_mistake, drain_nodes);
  DrainOptions& drain = given.options;
  command.footer(
      "The flags are those of kubectl drain. The cordon is held in your name until \"careen uncordon\".\n"
      "Exit code 0: all nodes are drained; 1: one is not, for the reason printed; 130: interrupted.\n\n"
      "Examples:\n"
      "  careen drain node-1 node-2 --ignore-daemonsets\n"
      "  careen drain -l rack=r7 --ignore-daemonsets --delete-emptydir-data --timeout 10m\n"
      "  careen drain node-1 --ignore-daemonsets --tier app=web --tier app=db --wait-for-pods job-name\n"
      "  careen drain node-1 --ignore-daemonsets --dry-run");
  drain::Options& options = drain.drain;
  command.add_option("NODE", drain.nodes, "The nodes");
  add_node_selector(command, drain.selector);
  command.add_flag("--force", options.force, "Also pods that no controller makes anew");
  command.add_flag("--ignore-daemonsets", options.ignore_daemon_sets, "Leave pods of DaemonSets where they are");
  command.add_flag("--delete-emptydir-data", options.delete_emptydir_data,
                   "Also pods with an emptyDir, whose data is lost");
  command.add_flag("--disable-eviction", options.disable_eviction, "Delete pods, past all disruption budgets");
  command.add_option("--grace-period", options.grace_seconds, "Seconds a pod has to end; negative: the pod's own")
      ->capture_default_str();
  add_duration_flag(command, "--timeout", "The drain of a node fails after this time; 0: never [0s]",
                    [&options](io::Duration value) { options.timeout = value; });
  command.add_option_function<int64_t>(
      "--skip-wait-for-delete-timeout",
      [&options](const int64_t& value) { options.skip_wait_for_delete = io::seconds{value}; },
      "Do not wait for pods that have been terminating for more seconds than this; 0: wait for all [0]");
  command.add_option_function<std::string>(
      "--pod-selector", [&options](const std::string& text) { options.only = parse_selector(text); },
      "Label selector: only these pods are evicted and waited for");
  command.add_option("--chunk-size", drain.page_size, "Objects a list request returns at most; 0: all")
      ->capture_default_str();
  add_dry_run(command, drain.dry_run);
  command.add_flag("--ignore-pause", drain.ignore_pause, "Also while careen is paused");
  command.add_flag("--ignore-limits", drain.ignore_limits, "At once, also beyond MaintenanceLimits");
  add_drain_beyond_kubectl(command, options);
  command
      .add_option_function<std::string>(
          "-o,--output", [&drain](const std::string&) { drain.json = true; }, "json: one document at the end")
      ->check(CLI::IsMember({"json"}));
  add_cluster_flags(command, given.cluster);
}

void add_uncordon_command(Commands& commands) {
  auto [command, given] = add_on_cluster<UncordonOptions>(commands, "uncordon",
                                                          "Let nodes take pods again, unless somebody else holds them",
                                                          uncordon_mistake, uncordon_nodes);
  UncordonOptions& uncordon = given.options;
  command.footer("A node that a " + replica::say_of_controllers("{object}", ", a ") +
                 " or a profile holds stays cordoned (exit code 1) and the holder is named.\n\n"
                 "Examples:\n"
                 "  careen uncordon node-1\n"
                 "  careen uncordon --all-mine");
  command.add_option("NODE", uncordon.nodes, "The nodes");
  add_node_selector(command, uncordon.selector);
  command.add_flag("--all-mine", uncordon.all_mine,
                   "All nodes that you hold; each is then as it was before, unless others hold it");
  command.add_flag("--force", uncordon.force, "Also nodes that others hold");
  add_dry_run(command, uncordon.dry_run);
  add_cluster_flags(command, given.cluster);
}

}  // namespace careen::app
