#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>

#include "cli/command_set.h"
#include "cli/environment.h"
#include "cli/screen.h"
#include "commands/command_list.h"
#include "commands/commands.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/plugins/plugins.h"
#include "io/files.h"
#include "io/real_loop.h"
#include "io/time.h"
#include "kube/json.h"
#include "session/cluster_flags.h"

namespace careen::app {

namespace {

using config::ConfigError;
using profiles::ConfigReport;

enum class Severity { error, warning };

struct Finding {
  Severity severity;
  ConfigError what;
};

std::string_view name_of(Severity severity) { return severity == Severity::error ? "error" : "warning"; }

// Errors and warnings of one file, in its order.
std::vector<Finding> findings_of(const ConfigReport& report, bool strict) {
  std::vector<Finding> findings;
  for (const ConfigError& error : report.errors) findings.push_back({Severity::error, error});
  for (const ConfigError& warning : report.warnings) {
    findings.push_back({strict ? Severity::error : Severity::warning, warning});
  }
  // What concerns the file as a whole has no line and comes last.
  const auto place = [](const Finding& finding) {
    return std::tuple(finding.what.line == 0, finding.what.line, finding.what.column);
  };
  std::sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    return std::tuple_cat(place(a), std::tie(a.severity, a.what.message)) <
           std::tuple_cat(place(b), std::tie(b.severity, b.what.message));
  });
  return findings;
}

// What careen does and maintenance-controller only promised. It is meant as it is written, so being strict changes
// nothing about it; told once, however many triggers do it.
std::optional<Finding> forced_evictions(const std::string& file, const profiles::Config& config) {
  std::vector<std::string> names;
  for (const profiles::TriggerInstance& instance : config.triggers) {
    if (const auto after = instance.trigger->overrides_budgets_after()) {
      names.push_back(fmt::format("\"{}\" (after {})", instance.name, io::format_duration(*after)));
    }
  }
  if (names.empty()) return std::nullopt;
  return Finding{Severity::warning,
                 {file, 0, 0,
                  fmt::format("forceEviction deletes pods past their disruption budgets, which maintenance-controller "
                              "never did: {} {}",
                              names.size() == 1 ? "trigger" : "triggers", fmt::join(names, ", "))}};
}

ConfigReport examine(io::Files& files, const std::string& file, const profiles::PluginRegistry& registry) {
  const auto text = files.read(file);
  if (!text) return {std::nullopt, {{file, 0, 0, text.error().message}}, {}};
  return profiles::examine_config(*text, file, registry, read_environment);
}

std::string place_of(const ConfigError& error) {
  return error.line == 0 ? error.file : fmt::format("{}:{}:{}", error.file, error.line, error.column);
}

// maintenance.yaml:14:12: error: check "can_drian" is not defined; did you mean "can_drain"?
void print_findings(Screen& screen, const std::vector<Finding>& findings) {
  for (const auto& [severity, what] : findings) {
    const Colour colour = severity == Severity::error ? Colour::bold_red : Colour::bold_yellow;
    screen.note(screen.paint_err(Colour::bold, place_of(what) + ":") + " " +
                screen.paint_err(colour, fmt::format("{}:", name_of(severity))) + " " + what.message);
  }
}

void print_contents(Screen& screen, const std::string& file, const profiles::Config& config) {
  screen.line(file + ": " + screen.paint(Colour::bold_green, "valid") +
              fmt::format(": {} profiles, {} checks, {} notifications, {} triggers", config.profiles.size(),
                          config.checks.size(), config.notifies.size(), config.triggers.size()));
}

kube::Json as_json(const Finding& finding) {
  return kube::Json::object({{"file", finding.what.file},
                             {"line", finding.what.line},
                             {"column", finding.what.column},
                             {"severity", name_of(finding.severity)},
                             {"message", finding.what.message}});
}

}  // namespace

int validate(const ValidateOptions& options) {
  io::RealLoop loop;
  io::RealFiles files(loop);
  const profiles::PluginRegistry registry = profiles::all_plugins();
  Screen screen(process_screen());
  kube::Json list = kube::Json::array();
  bool valid = true;
  for (const std::string& file : options.files) {
    const ConfigReport report = examine(files, file, registry);
    std::vector<Finding> findings = findings_of(report, options.strict);
    const auto forced = report.config ? forced_evictions(file, *report.config) : std::nullopt;
    if (forced) findings.push_back(*forced);
    const bool is_valid = std::none_of(findings.begin(), findings.end(),
                                       [](const Finding& finding) { return finding.severity == Severity::error; });
    valid = valid && is_valid;
    if (options.json) {
      for (const Finding& finding : findings) list.push_back(as_json(finding));
      continue;
    }
    print_findings(screen, findings);
    if (is_valid) print_contents(screen, file, *report.config);
  }
  if (options.json) screen.document(list.dump());
  return valid ? 0 : 1;
}

void add_validate_command(Commands& commands) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App& command = commands.add("validate", "Check configuration files without a cluster", CommandGroup::configure,
                                   [options] { return validate(*options); });
  command.footer(
      "Exit code 1 if a file has errors.\n\n"
      "Example:\n  careen validate --strict config/maintenance.yaml");
  command.add_option("FILE", options->files, "The configuration files")->required();
  command.add_flag("--strict,--strict-config", options->strict, "Warnings are errors");
  add_json_flag(command, options->json);
}

}  // namespace careen::app
