#include "app/node_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/kube_session.h"
#include "kube/label_selector.h"

namespace careen::app {

namespace {

constexpr std::array<std::string_view, 5> kCommands = {"drain", "uncordon", "maintain", "release", "status"};
constexpr int kUsage = 2;

void add_duration(CLI::App& command, const std::string& flag, const std::string& help,
                  std::function<void(io::Duration)> take) {
  command.add_option_function<std::string>(
      flag,
      [take](const std::string& text) {
        const auto value = io::parse_duration(text);
        if (!value || *value < io::Duration{0}) {
          throw CLI::ValidationError("\"" + text + "\" is no duration such as 30s or 1m30s");
        }
        take(*value);
      },
      help);
}

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

void add_timeout(CLI::App& command, io::Duration& timeout) {
  add_duration(command, "--timeout", "How long --wait waits at most; 0: no limit [0s]",
               [&timeout](io::Duration value) { timeout = value; });
}

void add_cluster(CLI::App& command, ClusterOptions& cluster) {
  command.add_option("--kubeconfig", cluster.kubeconfig, "Kubeconfig file [KUBECONFIG, ~/.kube/config]");
  command.add_option("--context", cluster.context, "Context of the kubeconfig to use");
}

}  // namespace

struct NodeCommands::Parts {
  ClusterOptions cluster;
  DrainOptions drain;
  UncordonOptions uncordon;
  MaintainOptions maintain;
  ReleaseOptions release;
  StatusOptions status;
  CLI::App* drain_command = nullptr;
  CLI::App* uncordon_command = nullptr;
  CLI::App* maintain_command = nullptr;
  CLI::App* release_command = nullptr;
  CLI::App* status_command = nullptr;

  void add_drain(CLI::App& app);
  void add_drain_beyond_kubectl(CLI::App& command);
  void add_uncordon(CLI::App& app);
  void add_maintain(CLI::App& app);
  void add_release(CLI::App& app);
  void add_status(CLI::App& app);
  // What the flags do not fit together in; empty: nothing.
  std::string mistake() const;
  int run(const Command& command) { return run_on_cluster(cluster, command); }
};

void NodeCommands::Parts::add_drain(CLI::App& app) {
  CLI::App& command = *(drain_command = app.add_subcommand("drain", "Cordon nodes and evict their pods, all at once"));
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
  add_duration(command, "--timeout", "The drain of a node fails after this time; 0: never [0s]",
               [&options](io::Duration value) { options.timeout = value; });
  command.add_option_function<int64_t>(
      "--skip-wait-for-delete-timeout",
      [&options](const int64_t& value) { options.skip_wait_for_delete = io::seconds{value}; },
      "Do not wait for pods that have been terminating for more seconds than this; 0: wait for all [0]");
  command.add_option_function<std::string>(
      "--pod-selector", [&options](const std::string& text) { options.only = parse_selector(text); },
      "Label selector: only these pods are evicted and waited for");
  command.add_option("--chunk-size", drain.page_size, "Objects a list request returns at most")->capture_default_str();
  add_dry_run(command, drain.dry_run);
  add_drain_beyond_kubectl(command);
  command
      .add_option_function<std::string>(
          "-o,--output", [this](const std::string&) { drain.json = true; }, "json: one document at the end")
      ->check(CLI::IsMember({"json"}));
  add_cluster(command, cluster);
}

void NodeCommands::Parts::add_drain_beyond_kubectl(CLI::App& command) {
  drain::Options& options = drain.drain;
  add_selectors(command, "--skip-pods", "Label selector of pods that stay; may be repeated", options.skip);
  add_selectors(command, "--wait-for-pods", "Label selector of pods to await instead of evicting; may be repeated",
                options.wait_for);
  add_selectors(command, "--tier", "Label selector of pods that leave before all later tiers; may be repeated",
                options.tiers);
  command.add_flag("--by-priority", options.by_priority, "Pods of lower priority leave first, within a tier");
  add_duration(command, "--delete-after", "Delete a pod that could not be evicted for so long, past its budget",
               [&options](io::Duration value) { options.delete_after = value; });
  add_duration(command, "--kill-after",
               "Delete a pod with grace period 0 that is still there so long after its grace period",
               [&options](io::Duration value) { options.kill_after = value; });
}

void NodeCommands::Parts::add_uncordon(CLI::App& app) {
  CLI::App& command = *(
      uncordon_command = app.add_subcommand("uncordon", "Let nodes take pods again, unless somebody else holds them"));
  command.footer(
      "A node that a NodeMaintenance or a profile holds stays cordoned (exit code 1) and the holder is named.\n\n"
      "Examples:\n"
      "  careen uncordon node-1\n"
      "  careen uncordon --all-mine");
  command.add_option("NODE", uncordon.nodes, "The nodes");
  add_node_selector(command, uncordon.selector);
  command.add_flag("--all-mine", uncordon.all_mine,
                   "All nodes that you hold; each is then as it was before, unless others hold it");
  command.add_flag("--force", uncordon.force, "Also nodes that others hold");
  add_dry_run(command, uncordon.dry_run);
  add_cluster(command, cluster);
}

void NodeCommands::Parts::add_maintain(CLI::App& app) {
  CLI::App& command = *(maintain_command = app.add_subcommand(
                            "maintain", "Have nodes taken out by the cluster's controller: create NodeMaintenances"));
  command.footer(
      "Examples:\n"
      "  careen maintain node-1 --reason \"replace memory module\" --wait --timeout 30m\n"
      "  careen maintain node-1 --reason firmware --name firmware-node-1");
  command.add_option("NODE", maintain.nodes, "The nodes")->required();
  command.add_option("--reason", maintain.reason, "Why, for everybody who looks")->required();
  command.add_option("--name", maintain.name, "Of the NodeMaintenance, for one node [the node's]");
  command.add_flag("--wait", maintain.wait, "Until the nodes are drained");
  add_timeout(command, maintain.timeout);
  add_cluster(command, cluster);
}

void NodeCommands::Parts::add_release(CLI::App& app) {
  CLI::App& command =
      *(release_command = app.add_subcommand("release", "Give nodes back: delete their NodeMaintenances"));
  command.footer(
      "Examples:\n"
      "  careen release node-1 --wait\n"
      "  careen release --name firmware-node-1");
  command.add_option("NODE", release.nodes, "The nodes");
  command.add_option("--name", release.names, "The NodeMaintenance, instead of its node; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--wait", release.wait, "Until they are gone and the nodes are given back");
  add_timeout(command, release.timeout);
  add_cluster(command, cluster);
}

void NodeCommands::Parts::add_status(CLI::App& app) {
  CLI::App& command = *(status_command = app.add_subcommand("status", "All maintenances of the cluster as a table"));
  command.footer(
      "NodeMaintenances, nodes that people hold, nodes in maintenance by profiles, and cordons nobody explains.\n\n"
      "Examples:\n"
      "  careen status\n"
      "  careen status node-1 -o wide\n"
      "  careen status --watch");
  command.add_option("NODE", status.nodes, "Only these nodes");
  command
      .add_option_function<std::string>(
          "-o,--output",
          [this](const std::string& text) { status.format = text == "json" ? StatusFormat::json : StatusFormat::wide; },
          "json or wide")
      ->check(CLI::IsMember({"json", "wide"}));
  command.add_flag("-w,--watch", status.watch, "Go on showing changes until interrupted");
  add_cluster(command, cluster);
}

std::string NodeCommands::Parts::mistake() const {
  const auto chosen = [](const auto& options) { return !options.nodes.empty() || !options.selector.empty(); };
  const auto both = [](const auto& options) { return !options.nodes.empty() && !options.selector.empty(); };
  if (*drain_command) {
    if (both(drain)) return "cannot specify both a node name and a --selector option";
    if (!chosen(drain)) return "which nodes? Give their names, or a --selector";
    if (drain.page_size <= 0) return "--chunk-size must be above 0";
  }
  if (*uncordon_command) {
    if (both(uncordon)) return "cannot specify both a node name and a --selector option";
    if (uncordon.all_mine && chosen(uncordon)) return "--all-mine names the nodes itself";
    if (uncordon.all_mine && uncordon.force) return "--all-mine leaves what others hold; it does not go with --force";
    if (!uncordon.all_mine && !chosen(uncordon)) return "which nodes? Give their names, a --selector, or --all-mine";
  }
  if (*maintain_command && !maintain.name.empty() && maintain.nodes.size() > 1) return "--name goes with one node only";
  if (*release_command && release.nodes.empty() && release.names.empty()) {
    return "which nodes? Give their names, or a --name";
  }
  return {};
}

NodeCommands::NodeCommands(CLI::App& app) : parts_(std::make_unique<Parts>()) {
  parts_->add_drain(app);
  parts_->add_uncordon(app);
  parts_->add_maintain(app);
  parts_->add_release(app);
  parts_->add_status(app);
}

NodeCommands::~NodeCommands() = default;

bool NodeCommands::has(const std::string& command) {
  return std::find(kCommands.begin(), kCommands.end(), command) != kCommands.end();
}

// A --dry-run without a value means the client's; it never takes the next word for one.
std::vector<std::string> NodeCommands::kubectl_syntax(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--dry-run") argument = "--dry-run=client";
  }
  return arguments;
}

std::optional<int> NodeCommands::run() {
  Parts& parts = *parts_;
  if (const std::string mistake = parts.mistake(); !mistake.empty()) {
    fmt::print(stderr, "{}\n", mistake);
    return kUsage;
  }
  using Session = KubeSession&;
  if (*parts.drain_command) return parts.run([&](Session session) { return drain_nodes(session, parts.drain); });
  if (*parts.uncordon_command) {
    return parts.run([&](Session session) { return uncordon_nodes(session, parts.uncordon); });
  }
  if (*parts.maintain_command) {
    return parts.run([&](Session session) { return maintain_nodes(session, parts.maintain); });
  }
  if (*parts.release_command) return parts.run([&](Session session) { return release_nodes(session, parts.release); });
  if (*parts.status_command) return parts.run([&](Session session) { return show_status(session, parts.status); });
  return std::nullopt;
}

}  // namespace careen::app
