#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "commands/command_list.h"
#include "commands/gather.h"
#include "controllers/slot/kind.h"
#include "replica/controllers.h"
#include "session/kube_session.h"

namespace careen::app {

void add_gather_command(Commands& commands) {
  auto options = std::make_shared<GatherOptions>();
  for (const controllers::Kind* kind : replica::controller_kinds()) {
    options->lease_namespaces.insert(options->lease_namespaces.end(), kind->namespaces.begin(), kind->namespaces.end());
  }
  CLI::App& command =
      commands.add("gather", "Write down what somebody needs who looks for a fault", CommandGroup::see, [options] {
        return run_on_cluster(options->cluster, [options](KubeSession& session) { return gather(session, *options); });
      });
  command.footer(
      "Nodes, " + replica::say_of_controllers("{object}s", ", ") +
      " with their definition and webhooks, the leases of nodes, and of each namespace with a "
      "lock of "
      "careen's: leases, Deployments, budgets, events, careen's pods and their logs, also those from before a restart; "
      "and a "
      "snapshot for plans. No Secrets, no ConfigMaps, no values of environment variables. What cannot be read is left "
      "out and "
      "named in missing.txt.\n\n" +
      fmt::format("Examples:\n"
                  "  {0} gather --dest careen-gather\n"
                  "  oc adm must-gather --image=REGISTRY/careen-must-gather:VERSION",
                  commands.called()));
  command.add_option("--dest", options->dest, "The folder to write to; made if it is missing")
      ->required()
      ->take_last()
      ->type_name("FOLDER");
  command
      .add_option("-n,--namespace", options->namespaces,
                  "A namespace to take besides those that have a lock of careen's; may be repeated")
      ->type_name("NAMESPACE");
  command
      .add_option_function<std::string>(
          "--lease-namespace", [options](const std::string& ns) { options->lease_namespaces = {ns}; },
          "Namespace of the leases of nodes in maintenance")
      ->default_str(fmt::format("{}", fmt::join(options->lease_namespaces, ",")));
  add_cluster_flags(command, options->cluster);
}

}  // namespace careen::app
