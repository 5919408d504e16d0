#include "controllers/requests/commands/commands.h"

#include <CLI/CLI.hpp>

#include "controllers/requests/commands/own_requests.h"
#include "session/cluster_command.h"

namespace careen::requests {

namespace {

std::string request_mistake(const RequestOptions& options) {
  if (options.node.empty()) return "which node?";
  if (options.timeout > io::Duration{0} && !options.wait) return "--timeout goes with --wait";
  return client_mistake(options.client);
}

std::string step_mistake(const StepOptions& options) { return client_mistake(options.client); }

std::string list_mistake(const RequestListOptions& options) {
  return options.client.empty() ? "" : client_mistake(options.client);
}

std::string run_mistake(const RequestRunOptions& options) { return client_mistake(options.client); }

void add_client(CLI::App& command, std::string& client) {
  command.add_option("--client", client, "Who asks: together with the node it finds the request again")
      ->type_name("NAME");
}

void add_list(CLI::App& parent, app::Commands& commands) {
  auto [command, given] = app::add_on_cluster_below<RequestListOptions>(
      parent, commands, "list", "Requests that are open, in the order in which they are served", list_mistake,
      list_requests);
  RequestListOptions& list = given.options;
  command.footer(
      "Example:\n"
      "  careen request list --client rebooter");
  command.add_option("NODE", list.nodes, "Of these nodes only");
  command.add_option("--client", list.client, "Of this client only")->type_name("NAME");
  command.add_flag("--all", list.finished, "Those that are completed or rejected as well");
  app::add_json_flag(command, list.json);
  app::add_cluster_flags(command, given.cluster);
}

void add_step(CLI::App& parent, app::Commands& commands, const std::string& name, const std::string& summary,
              const std::string& example, app::ClusterMain<StepOptions> main) {
  auto [command, given] = app::add_on_cluster_below<StepOptions>(parent, commands, name, summary, step_mistake, main);
  command.footer(example);
  command.add_option("NODE", given.options.node, "The node")->required();
  add_client(command, given.options.client);
  app::add_cluster_flags(command, given.cluster);
}

void add_run(CLI::App& parent, app::Commands& commands) {
  auto [command, given] = app::add_on_cluster_below<RequestRunOptions>(
      parent, commands, "run", "Ask, wait, and run a command while the node may be maintained", run_mistake,
      run_approved);
  RequestRunOptions& run = given.options;
  command.footer(
      "The request is in progress while the command runs, and completed when it ends with 0. It stays in progress when "
      "the command fails: the node may be in any state then. Signals are passed on to the command, which finds the "
      "names in "
      "CAREEN_NODE and CAREEN_REQUEST. Exit code: the command's; 124: no approval in time; 125: careen could not ask, "
      "or "
      "not end the request; 126, 127: the command cannot be run, or is not found. Where the command was not run, the "
      "request is deleted.\n"
      "\n"
      "Example:\n"
      "  careen request run node-1 --client rebooter --timeout 2h -- ssh node-1 sudo update-and-reboot");
  command.add_option("NODE", run.node, "The node")->required();
  command.add_option("COMMAND", run.command, "What to run, with its arguments")->required();
  add_client(command, run.client);
  app::add_duration_flag(command, "--timeout", "How long to wait for the approval at most; 0: no limit [0s]",
                         [&run](io::Duration value) { run.timeout = value; });
  app::add_cluster_flags(command, given.cluster);
}

}  // namespace

void add_commands(app::Commands& commands) {
  auto [command, given] = app::add_on_cluster<RequestOptions>(
      commands, "request", "Ask whether a node may be maintained now: MaintenanceRequests", request_mistake,
      request_node);
  RequestOptions& request = given.options;
  command.footer(
      "Makes a MaintenanceRequest, or finds the one that this client has made for the node, and says how it stands. "
      "Exit "
      "code 0: approved; 3: still pending; 4: rejected, or deleted by somebody; 5: no answer within --timeout; 6: in "
      "progress already. A node that is called like one of the commands is written after --.\n"
      "\n"
      "Examples:\n"
      "  careen request node-1 --client rebooter --wait --timeout 2h\n"
      "  careen request run node-1 --client rebooter -- ssh node-1 sudo update-and-reboot\n"
      "  careen request done node-1 --client rebooter");
  command.add_option("NODE", request.node, "The node");
  add_client(command, request.client);
  command.add_flag("--wait", request.wait, "Until there is an answer");
  app::add_wait_timeout(command, request.timeout);
  app::add_json_flag(command, request.json);
  app::add_cluster_flags(command, given.cluster);

  add_run(command, commands);
  add_step(command, commands, "start", "Say that the work begins: Approved becomes InProgress",
           "Example:\n  careen request start node-1 --client rebooter", start_request);
  add_step(command, commands, "done", "Say that the work is done: the request is Completed, and its place is free",
           "Example:\n  careen request done node-1 --client rebooter", finish_request);
  add_step(command, commands, "cancel", "Delete the request, whatever has become of it",
           "Example:\n  careen request cancel node-1 --client rebooter", cancel_request);
  add_list(command, commands);
}

}  // namespace careen::requests
