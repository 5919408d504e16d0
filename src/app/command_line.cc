#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>
#include <map>

#include "app/commands.h"

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

// A flag of the original that careen cannot serve: setting it is refused with the reason.
void refuse(CLI::App& command, const std::string& flag, const std::string& reason) {
  command
      .add_option(
          flag,
          [reason](const CLI::results_t& values) {
            if (values.empty() || values[0].empty() || values[0] == "false" || values[0] == "0") return true;
            throw CLI::ValidationError(reason);
          },
          "refused: " + reason)
      ->expected(0, 1)
      ->group("Not available");
}

struct ZapFlags {
  bool devel = true;
  std::string encoder, level, time = "iso8601";
};

std::string apply(const ZapFlags& zap, io::LogOptions& log) {
  static const std::map<std::string, io::LogTime> kTimes = {
      {"epoch", io::LogTime::epoch},     {"millis", io::LogTime::millis},   {"nanos", io::LogTime::nanos},
      {"iso8601", io::LogTime::iso8601}, {"rfc3339", io::LogTime::rfc3339}, {"rfc3339nano", io::LogTime::rfc3339nano}};
  log.encoder = zap.devel ? io::LogEncoder::console : io::LogEncoder::json;
  log.level = zap.devel ? io::LogLevel::debug : io::LogLevel::info;
  if (zap.encoder == "json") log.encoder = io::LogEncoder::json;
  if (zap.encoder == "console") log.encoder = io::LogEncoder::console;
  const auto time = kTimes.find(zap.time);
  if (time == kTimes.end()) return "--zap-time-encoding: unknown encoding \"" + zap.time + "\"";
  log.time = time->second;
  if (zap.level.empty()) return {};
  const bool number = zap.level.find_first_not_of("0123456789") == std::string::npos && zap.level != "0";
  if (zap.level == "debug" || number) {
    log.level = io::LogLevel::debug;
  } else if (zap.level == "info") {
    log.level = io::LogLevel::info;
  } else if (zap.level == "error" || zap.level == "panic") {
    log.level = io::LogLevel::error;
  } else {
    return "--zap-log-level: \"" + zap.level + "\" is none of debug, info, error, panic or a number above 0";
  }
  return {};
}

void add_duration(CLI::App& command, const std::string& flag, io::Duration& target, const std::string& help) {
  command.add_option_function<std::string>(
      flag,
      [&target](const std::string& text) {
        const auto value = io::parse_duration(text);
        if (!value) throw CLI::ValidationError("\"" + text + "\" is no duration such as 65s or 1m30s");
        target = *value;
      },
      help + " [" + io::format_duration(target) + "]");
}

}  // namespace

int run_command_line(const std::vector<std::string>& given) {
  std::vector<std::string> arguments = two_dashes(given);
  // Installed as /manager, careen starts like the program it replaces.
  const std::string called = arguments[0].substr(arguments[0].find_last_of('/') + 1);
  if (called == "manager") arguments.insert(arguments.begin() + 1, "run");

  CLI::App app{"careen: one node-maintenance system for Kubernetes"};
  app.require_subcommand(1);
  app.footer(
      "Example:\n  careen run --kubeconfig ~/.kube/config --config maintenance.yaml\n\n"
      "careen COMMAND --help tells more of a command.");

  RunOptions options;
  ZapFlags zap;
  CLI::App* run_command = app.add_subcommand("run", "Control the nodes of a cluster until stopped");
  run_command->footer(
      "Example:\n  careen run --kubeconfig ~/.kube/config --config maintenance.yaml "
      "--enable-leader-election");
  run_command
      ->add_option("--config", options.config, "Configuration of the maintenance profiles; reloaded when it changes")
      ->capture_default_str();
  run_command->add_flag("--strict-config", options.strict_config,
                        "Refuse a configuration that has warnings, such as keys that are not known");
  run_command->add_option("--kubeconfig", options.kubeconfig, "Kubeconfig file");
  run_command->add_option("--kubecontext", options.kubecontext, "Context of the kubeconfig to use");
  run_command
      ->add_option("--metrics-addr", options.metrics_address,
                   "Where to serve /metrics and /api/v1/info; empty or 0: nowhere")
      ->capture_default_str();
  run_command
      ->add_option("--health-addr", options.health_address, "Where to serve /healthz and /readyz; empty or 0: nowhere")
      ->capture_default_str();
  run_command->add_flag("--enable-leader-election,!--no-enable-leader-election", options.leader_election,
                        "Act only while holding the leader lock; needed for more than one replica");
  run_command->add_option("--leader-election-namespace", options.leader_election_namespace,
                          "Namespace of the lock and the ledger [the pod's, or the context's]");
  add_duration(*run_command, "--metrics-timeout", options.metrics_timeout,
               "After the stop signal: longest wait for one more scrape, if metrics are being scraped");
  run_command->add_flag("--cache-pods,!--no-cache-pods", options.cache_pods,
                        "Keep a cache of all pods, for the pod shuffle metrics, although no check needs it [true]");
  run_command->add_flag("--notify-blocking", options.notify_blocking,
                        "A state's notifications must be sent before its checks are looked at");
  run_command->add_flag("--dry-run", options.dry_run, "Decide and explain; write nothing, send nothing, lead nobody");
  run_command->add_option("--slack-api", options.slack_api, "Where slackThread posts to [https://slack.com/api]");
  run_command->add_flag("--zap-devel", zap.devel, "Development logging: console lines, debug level [true]");
  run_command->add_option("--zap-encoder", zap.encoder, "json or console")->check(CLI::IsMember({"json", "console"}));
  run_command->add_option("--zap-log-level", zap.level, "debug, info, error, panic or a number above 0");
  run_command->add_option("--zap-time-encoding", zap.time, "epoch, millis, nanos, iso8601, rfc3339 or rfc3339nano")
      ->capture_default_str();
  refuse(*run_command, "--zap-stacktrace-level", "careen prints no stack traces");
  refuse(*run_command, "--pprof-addr", "profiling of Go programs does not apply; use perf on the process");
  refuse(*run_command, "--enable-esx-maintenance", "the ESX integration is not available in this version");
  refuse(*run_command, "--enable-kubernikus-maintenance",
         "the Kubernikus integration is not available in this version");

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
      "Example:\n  careen model --nodes 60 --kubeconfig model.kubeconfig &\n"
      "  kubectl --kubeconfig model.kubeconfig get nodes");
  model_command->add_option("--nodes", model.nodes, "How many nodes it has, in three zones")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  model_command
      ->add_option("--listen", model.listen, "Where to serve; port 0 takes a free one. Nobody is asked who they are")
      ->capture_default_str();
  model_command->add_option("--kubeconfig", model.kubeconfig, "Kubeconfig file to write");
  model_command->add_option("--seed", model.seed, "Of the UIDs and names that the server makes up")
      ->capture_default_str();

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
