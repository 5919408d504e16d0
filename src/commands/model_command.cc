#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "commands/command_list.h"
#include "commands/commands.h"

namespace careen::app {

void add_model_command(Commands& commands) {
  auto model = std::make_shared<ModelOptions>();
  CLI::App& command = commands.add("model", "Serve a model cluster, for trying things out", CommandGroup::run,
                                   [model] { return serve_model_cluster(*model); });
  command.footer(
      "Example:\n  careen model --nodes 60 --workloads 20 --kubeconfig model.kubeconfig &\n"
      "  kubectl --kubeconfig model.kubeconfig get pods -o wide\n"
      "  kubectl --kubeconfig model.kubeconfig drain node-0 --ignore-daemonsets");
  command.add_option("--nodes", model->nodes, "How many nodes it has, in three zones")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--workloads", model->workloads,
                  "How many Deployments it starts with, every third with a PodDisruptionBudget; with any there are a "
                  "StatefulSet and a DaemonSet, too")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command
      .add_option("--listen", model->listen, "Where to serve; port 0 takes a free one. Nobody is asked who they are")
      ->capture_default_str();
  command.add_option("--kubeconfig", model->kubeconfig, "Kubeconfig file to write")->type_name("FILE");
  command.add_option("--seed", model->seed, "Of the UIDs and names that the server makes up")->capture_default_str();
  command.add_flag("!--no-controllers", model->controllers,
                   "Only the API server: nothing schedules, replaces or counts pods");
}

}  // namespace careen::app
