#include "cli/command_set.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/command_tree.h"
#include "cli/screen.h"

namespace careen::app {

namespace {

constexpr size_t kMostWidth = 120;
constexpr std::string_view kKubectlPrefix = "kubectl ";

// The examples as somebody types them who calls careen through kubectl.
std::string as_plugin(std::string text) {
  constexpr std::string_view kExample = "\n  careen ";
  for (size_t at = 0; (at = text.find(kExample, at)) != std::string::npos; at += kExample.size()) {
    text.insert(at + 3, kKubectlPrefix);
  }
  return text;
}

// Help as command_tree.h writes it, as wide as the terminal.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string path, CLI::AppFormatMode) const override {
    const size_t width = process_screen().size().width;
    const std::string text = help_text(describe(*app), path, std::min(width, kMostWidth));
    return path.starts_with(kKubectlPrefix) ? as_plugin(text) : text;
  }
};

std::string title_of(CommandGroup group) {
  switch (group) {
    case CommandGroup::see:
      return "See what happens, and why";
    case CommandGroup::act:
      return "Take nodes out and give them back";
    case CommandGroup::run:
      return "Run careen";
    case CommandGroup::configure:
      return "Write a configuration";
    case CommandGroup::more:
      return "More";
    case CommandGroup::hidden:
      break;
  }
  return "";
}

// A flag or an argument of that command which the line has; empty: none.
std::string given_to(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0) return option->get_positional() ? option->get_name(true) : option->get_name();
  }
  return "";
}

int refuse_usage(const std::exception& error) {
  Screen screen(process_screen());
  screen.note(error.what());
  screen.note("Run with --help for more information.");
  return kUsage;
}

}  // namespace

Commands::Commands(std::string called)
    : called_(std::move(called)),
      app_(std::make_unique<CLI::App>("careen: one node-maintenance system for Kubernetes", called_)) {
  app_->require_subcommand(1);
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->set_help_flag("-h,--help", "Print this help message and exit");
  app_->footer(
      "Examples:\n"
      "  careen status\n"
      "  careen explain node-17\n"
      "  careen run --kubeconfig ~/.kube/config --config maintenance.yaml\n\n" +
      called_ + " COMMAND --help tells more of a command.");
}

Commands::~Commands() = default;

CLI::App& Commands::add(const std::string& name, const std::string& summary, CommandGroup group, Run run) {
  CLI::App& command = *app_->add_subcommand(name, summary);
  command.group(title_of(group));
  entries_.push_back({&command, std::move(run)});
  return command;
}

CLI::App& Commands::add_below(CLI::App& parent, const std::string& name, const std::string& summary, Run run) {
  CLI::App& command = *parent.add_subcommand(name, summary);
  command.group("Commands");
  entries_.push_back({&command, [&parent, name, run = std::move(run)] {
                        if (const std::string given = given_to(parent); !given.empty()) {
                          throw UsageError(fmt::format("{} belongs behind \"{}\"", given, name));
                        }
                        return run();
                      }});
  return command;
}

int Commands::parse_and_run(std::vector<std::string> words) {
  try {
    std::reverse(words.begin(), words.end());
    app_->parse(words);
  } catch (const CLI::ParseError& e) {
    std::ostringstream help, told_below;
    if (app_->exit(e, help, told_below) != 0) return refuse_usage(e);
    Screen(process_screen()).document(help.str());
    return 0;
  }
  // A command below another is behind it in the list, and is what is meant when both were named.
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (!*entry->command) continue;
    try {
      return entry->run();
    } catch (const UsageError& e) {
      return refuse_usage(e);
    }
  }
  return kUsage;
}

}  // namespace careen::app
