#include "cli/command_set.h"
#include "commands/command_list.h"
#include "commands/commands.h"
#include "commands/completion_names.h"
#include "commands/manager_questions.h"
#include "commands/manager_start.h"
#include "commands/run_flags.h"
#include "controllers/nodemaintenance/commands/commands.h"
#include "controllers/requests/commands/commands.h"

namespace careen::app {

namespace {

using AddCommand = void (*)(Commands&);

// In the order of the help. A controller with commands of its own has a line.
constexpr AddCommand kCommands[] = {
    add_explain_command,            //
    add_status_command,             //
    add_top_command,                //
    add_budget_command,             //
    add_clusters_command,           //
    add_plan_command,               //
    add_snapshot_command,           //
    add_gather_command,             //
    add_drain_command,              //
    add_uncordon_command,           //
    nodemaintenance::add_commands,  //
    requests::add_commands,         //
    add_pause_command,              //
    add_resume_command,             //
    add_run_command,                //
    add_demo_command,               //
    add_model_command,              //
    add_validate_command,           //
    add_plugins_command,            //
    add_schema_command,             //
    add_completion_command,         //
    add_docs_command,               //
    add_version_command,            //
};

// kubectl's: a --dry-run without a value means the client's; it never takes the next word for one.
std::vector<std::string> kubectl_syntax(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--dry-run") argument = "--dry-run=client";
  }
  return arguments;
}

constexpr std::string_view kMachinesProgram = "runtime-extension-maintenance-controller";

std::vector<std::string> normalized(std::vector<std::string> arguments, const std::string& called) {
  // As /usr/bin/gather, where oc adm must-gather looks for it, and for what it wrote in /must-gather.
  if (called == "gather") {
    arguments.insert(arguments.begin() + 1, {"gather", "--dest=/must-gather"});
    return arguments;
  }
  if (arguments.size() < 2) return arguments;
  if (arguments[1] == "run") return go_syntax(std::move(arguments));
  if (arguments[1] == "drain" || arguments[1] == "uncordon") return kubectl_syntax(std::move(arguments));
  return arguments;
}

}  // namespace

void add_all_commands(Commands& commands) {
  for (const AddCommand add : kCommands) add(commands);
}

int run_command_line(const std::vector<std::string>& given) {
  const std::string called = given[0].substr(given[0].find_last_of('/') + 1);
  std::vector<std::string> arguments = normalized(given, called);
  // Installed as /manager, careen starts like the program it replaces.
  if (called == "manager") {
    auto started = start_as_manager(go_syntax(given));
    if (!started) return started.error();
    arguments = std::move(*started);
  }
  // The image of that program has no other name for it.
  if (called == kMachinesProgram) {
    arguments = go_syntax(given);
    arguments.insert(arguments.begin() + 1, "run");
    arguments = as_manager(std::move(arguments), "machines");
  }
  // kubectl runs its plugins by this name.
  Commands commands(called == "kubectl-careen" ? "kubectl careen" : "careen");
  add_all_commands(commands);
  // Any words may follow, flags of other commands too: nothing that a parser of flags should see.
  if (arguments.size() > 1 && arguments[1] == "__complete") {
    return print_completion(commands, {arguments.begin() + 2, arguments.end()});
  }
  return commands.parse_and_run({arguments.begin() + 1, arguments.end()});
}

}  // namespace careen::app
