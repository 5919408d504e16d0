#include "controllers/profiles/plugins/plugins.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "cli/screen.h"
#include "cli/terminal.h"
#include "commands/command_list.h"
#include "commands/commands.h"
#include "controllers/profiles/plugin_text.h"
#include "session/cluster_flags.h"

namespace careen::app {

int print_plugins(const std::string& type, bool json) {
  using profiles::Colour;
  const profiles::PluginRegistry registry = profiles::all_plugins();
  const Colour colour = shows_colours(stdout) ? Colour::yes : Colour::no;
  const auto page = type.empty() ? plugin_table(registry, colour) : plugin_page(registry, type, colour);
  if (!page) {
    Screen(process_screen()).note(fmt::format("there is no plugin \"{}\"{}", type, suggest_plugin(registry, type)));
    return 1;
  }
  if (json) {
    Screen(process_screen()).document(plugins_json(registry, type).dump());
  } else {
    // Our own words, with colours in them.
    fmt::print("{}", *page);
  }
  return 0;
}

void add_plugins_command(Commands& commands) {
  struct Given {
    std::string type;
    bool json = false;
  };
  auto given = std::make_shared<Given>();
  CLI::App& command =
      commands.add("plugins", "What a configuration can use: checks, triggers and more", CommandGroup::configure,
                   [given] { return print_plugins(given->type, given->json); });
  command.footer("Examples:\n  careen plugins\n  careen plugins maxMaintenance");
  command.add_option("PLUGIN", given->type, "All about this one: its keys and an example");
  add_json_flag(command, given->json);
}

}  // namespace careen::app
