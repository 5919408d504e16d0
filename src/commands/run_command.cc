#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command_set.h"
#include "commands/command_list.h"
#include "commands/commands.h"
#include "commands/run_flags.h"
#include "controllers/slot/kind.h"

namespace careen::app {

void add_run_command(Commands& commands) {
  struct Given {
    RunOptions options;
    ZapFlags zap;
  };
  auto given = std::make_shared<Given>();
  CLI::App& command = commands.add("run", "Control the nodes of a cluster until stopped", CommandGroup::run, [given] {
    if (const std::string error = apply(given->zap, given->options.log); !error.empty()) throw UsageError(error);
    const bool runs_machines =
        std::ranges::any_of(given->options.controllers, [](const auto& choice) { return !choice->kind().nodes; });
    if (given->options.hub && !runs_machines) throw UsageError("--hub goes with --controllers=machines");
    given->options.remarks = without_effect(given->zap, given->options);
    return run(given->options);
  });
  add_run_flags(command, given->options, given->zap);
}

}  // namespace careen::app
