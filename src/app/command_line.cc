#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>

#include "app/commands.h"
#include "app/node_commands.h"
#include "app/run_flags.h"

namespace careen::app {

namespace {

constexpr int kUsage = 2;

// Go's flag syntax, which users of the programs we replace may have in their manifests: one dash serves as two.
std::vector<std::string> two_dashes(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument.size() > 2 && argument[0] == '-' && std::isalpha(static_cast<unsigned char>(argument[1]))) {
      argument.insert(argument.begin(), '-');
    }
  }
  return arguments;
}

}  // namespace

int run_command_line(const std::vector<std::string>& given) {
  const bool like_kubectl = given.size() > 1 && NodeCommands::has(given[1]);
  std::vector<std::string> arguments = like_kubectl ? NodeCommands::kubectl_syntax(given) : two_dashes(given);
  // Installed as /manager, careen starts like the program it replaces.
  const std::string called = arguments[0].substr(arguments[0].find_last_of('/') + 1);
  if (called == "manager") arguments = as_manager(std::move(arguments));

  CLI::App app{"careen: one node-maintenance system for Kubernetes"};
  app.require_subcommand(1);
  app.footer(
      "Example:\n  careen run --kubeconfig ~/.kube/config --config maintenance.yaml\n\n"
      "careen COMMAND --help tells more of a command.");

  RunOptions options;
  ZapFlags zap;
  CLI::App* run_command = app.add_subcommand("run", "Control the nodes of a cluster until stopped");
  add_run_flags(*run_command, options, zap);

  std::string output;
  const auto add_output = [&output](CLI::App& command) {
    command.add_option("-o,--output", output, "json")->check(CLI::IsMember({"json"}));
  };

  ValidateOptions validation;
  CLI::App* validate_command = app.add_subcommand("validate", "Check configuration files without a cluster");
  validate_command->footer(
      "Exit code 1 if a file has errors.\n\n"
      "Example:\n  careen validate --strict config/maintenance.yaml");
  validate_command->add_option("FILE", validation.files, "The configuration files")->required();
  validate_command->add_flag("--strict,--strict-config", validation.strict, "Warnings are errors");
  add_output(*validate_command);

  std::string plugin;
  CLI::App* plugins_command = app.add_subcommand("plugins", "What a configuration can use: checks, triggers and more");
  plugins_command->footer("Example:\n  careen plugins\n  careen plugins maxMaintenance");
  plugins_command->add_option("TYPE", plugin, "All about this one: its keys and an example");
  add_output(*plugins_command);

  CLI::App* schema_command =
      app.add_subcommand("schema", "Print the JSON Schema of the configuration file, for editors");
  schema_command->footer("Example:\n  careen schema > maintenance.schema.json");

  ModelOptions model;
  CLI::App* model_command = app.add_subcommand("model", "Serve a model cluster, for trying things out");
  model_command->footer(
      "Example:\n  careen model --nodes 60 --workloads 20 --kubeconfig model.kubeconfig &\n"
      "  kubectl --kubeconfig model.kubeconfig get pods -o wide\n"
      "  kubectl --kubeconfig model.kubeconfig drain node-0 --ignore-daemonsets");
  model_command->add_option("--nodes", model.nodes, "How many nodes it has, in three zones")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  model_command
      ->add_option("--workloads", model.workloads,
                   "How many Deployments it starts with, every third with a PodDisruptionBudget; with any there are a "
                   "StatefulSet and a DaemonSet, too")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  model_command
      ->add_option("--listen", model.listen, "Where to serve; port 0 takes a free one. Nobody is asked who they are")
      ->capture_default_str();
  model_command->add_option("--kubeconfig", model.kubeconfig, "Kubeconfig file to write");
  model_command->add_option("--seed", model.seed, "Of the UIDs and names that the server makes up")
      ->capture_default_str();
  model_command->add_flag("!--no-controllers", model.controllers,
                          "Only the API server: nothing schedules, replaces or counts pods");

  NodeCommands node_commands(app);

  CLI::App* version_command = app.add_subcommand("version", "Print version, commit, compiler and libraries");
  version_command->footer("Example:\n  careen version -o json");
  add_output(*version_command);

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend() - 1);
    app.parse(reversed);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : kUsage;
  }
  if (const auto code = node_commands.run()) return *code;
  if (*version_command) return print_version(output == "json");
  validation.json = output == "json";
  if (*validate_command) return validate(validation);
  if (*plugins_command) return print_plugins(plugin, output == "json");
  if (*schema_command) return print_schema();
  if (*model_command) return serve_model_cluster(model);
  if (const std::string error = apply(zap, options.log); !error.empty()) {
    fmt::print(stderr, "{}\n", error);
    return kUsage;
  }
  return run(options);
}

}  // namespace careen::app
