#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "commands/command_list.h"
#include "commands/node_commands.h"
#include "commands/view_source.h"
#include "replica/controllers.h"
#include "session/kube_session.h"

namespace careen::app {

void add_status_command(Commands& commands) {
  struct Given {
    ClusterOptions cluster;
    StatusOptions status;
  };
  auto given = std::make_shared<Given>();
  CLI::App& command =
      commands.add("status", "The cluster at a glance, and all its maintenances", CommandGroup::see, [given] {
        StatusOptions& options = given->status;
        options.view.cluster = given->cluster;
        complete_view_options(options.view);
        given->cluster.workload = options.view.workload;
        return run_on_cluster(given->cluster, [&](KubeSession& session) { return show_status(session, options); });
      });
  command.footer(
      "First what is paused, nodes by profile and state, budgets with their holders, drains and problems, as the "
      "leader\n"
      "tells them. Then a table: " +
      replica::say_of_controllers("{object}s", ", ") +
      ", nodes that people hold, nodes in maintenance by profiles, and "
      "cordons\n"
      "nobody explains. With names, or with --watch, the table alone.\n\n"
      "Examples:\n"
      "  careen status\n"
      "  careen status node-1 -o wide\n"
      "  careen status --watch\n"
      "  careen status --server auto");
  command.add_option("NODE", given->status.nodes, "Only these nodes");
  command
      .add_option_function<std::string>(
          "-o,--output",
          [given](const std::string& text) {
            given->status.format = text == "json" ? StatusFormat::json : StatusFormat::wide;
          },
          "json or wide")
      ->check(CLI::IsMember({"json", "wide"}));
  command.add_flag("-w,--watch", given->status.watch, "Go on showing changes until interrupted");
  add_view_flags(command, given->status.view);
  add_cluster_flags(command, given->cluster);
}

}  // namespace careen::app
