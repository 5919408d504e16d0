#include <CLI/CLI.hpp>
#include <iterator>
#include <memory>

#include "cli/command_set.h"
#include "commands/command_list.h"
#include "commands/demo.h"
#include "demo/config.h"
#include "session/cluster_flags.h"

namespace careen::app {

void add_demo_command(Commands& commands) {
  auto demo = std::make_shared<DemoOptions>();
  CLI::App& command = commands.add("demo", "See careen at work on a model cluster, with nothing else installed",
                                   CommandGroup::run, [demo] { return run_demo(*demo); });
  command.footer(
      "It prints where its dashboard is and what to try. Everything lives in this process and ends with it.\n\n"
      "Examples:\n"
      "  careen demo\n"
      "  careen demo --speed 60\n"
      "  careen demo --clusters 3\n"
      "  careen demo --print-config > maintenance.yaml");
  command.add_option("--speed", demo->speed, "How much faster than real time the cluster's clock runs")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command.add_option("--nodes", demo->nodes, "How many nodes a cluster has, in three zones")
      ->check(CLI::Range(12, 5000))
      ->capture_default_str();
  command
      .add_option("--clusters", demo->clusters,
                  "How many clusters there are; several are looked after by a hub in their management cluster")
      ->check(CLI::Range(1, static_cast<int>(std::size(kClusterNames))))
      ->capture_default_str();
  command.add_option("--seed", demo->seed, "Equal seeds draw equal accidents")->capture_default_str();
  command
      .add_option("--listen", demo->listen,
                  "Address of the dashboard [127.0.0.1:8080, or a free port if that is taken]")
      ->type_name("HOST:PORT");
  command
      .add_option("--kubeconfig", demo->kubeconfig,
                  "Kubeconfig file to write; it is removed at the end [a temporary one]")
      ->type_name("FILE");
  add_duration_flag(command, "--for", "End by itself after this long [when stopped]",
                    [demo](io::Duration value) { demo->lasts = value; });
  command.add_flag(
      "!--no-actors", demo->actors,
      "Nothing happens by itself: nobody publishes, approves, breaks or takes out; machines do their part");
  command.add_flag("--print-config", demo->print_config, "Print careen's configuration for it, and end");
}

}  // namespace careen::app
