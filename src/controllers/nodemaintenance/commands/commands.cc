#include "controllers/nodemaintenance/commands/commands.h"

#include <CLI/CLI.hpp>

#include "session/cluster_command.h"

namespace careen::nodemaintenance {

namespace {

std::string maintain_mistake(const MaintainOptions& options) {
  return !options.name.empty() && options.nodes.size() > 1 ? "--name goes with one node only" : "";
}

std::string release_mistake(const ReleaseOptions& options) {
  return options.nodes.empty() && options.names.empty() ? "which nodes? Give their names, or a --name" : "";
}

void add_maintain_command(app::Commands& commands) {
  auto [command, given] = app::add_on_cluster<MaintainOptions>(
      commands, "maintain", "Have nodes taken out by the cluster's controller: create NodeMaintenances",
      maintain_mistake, maintain_nodes);
  MaintainOptions& maintain = given.options;
  command.footer(
      "Examples:\n"
      "  careen maintain node-1 --reason \"replace memory module\" --wait --timeout 30m\n"
      "  careen maintain node-1 --reason firmware --name firmware-node-1");
  command.add_option("NODE", maintain.nodes, "The nodes")->required();
  command.add_option("--reason", maintain.reason, "Why, for everybody who looks")->required();
  command.add_option("--name", maintain.name, "Of the NodeMaintenance, for one node [the node's]");
  command.add_flag("--wait", maintain.wait, "Until the nodes are drained");
  app::add_wait_timeout(command, maintain.timeout);
  app::add_cluster_flags(command, given.cluster);
}

void add_release_command(app::Commands& commands) {
  auto [command, given] = app::add_on_cluster<ReleaseOptions>(
      commands, "release", "Give nodes back: delete their NodeMaintenances", release_mistake, release_nodes);
  ReleaseOptions& release = given.options;
  command.footer(
      "Examples:\n"
      "  careen release node-1 --wait\n"
      "  careen release --name firmware-node-1");
  command.add_option("NODE", release.nodes, "The nodes");
  command.add_option("--name", release.names, "The NodeMaintenance, instead of its node; may be repeated")
      ->type_name("NODEMAINTENANCE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--wait", release.wait, "Until they are gone and the nodes are given back");
  app::add_wait_timeout(command, release.timeout);
  app::add_cluster_flags(command, given.cluster);
}

}  // namespace

void add_commands(app::Commands& commands) {
  add_maintain_command(commands);
  add_release_command(commands);
}

}  // namespace careen::nodemaintenance
