#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "cli/docs_text.h"
#include "cli/screen.h"
#include "commands/command_list.h"
#include "controllers/profiles/plugins/plugins.h"
#include "replica/controllers.h"
#include "version_info.h"

namespace careen::app {

namespace {

int print_docs(const std::string& what) {
  // The documents speak of careen, whatever it was called as.
  Commands documented("careen");
  add_all_commands(documented);
  const CommandDoc tree = describe(documented.tree());
  Screen(process_screen())
      .document(what == "man"        ? man_page(tree, CAREEN_VERSION, replica::say_of_controllers("{object}", " or "))
                : what == "markdown" ? commands_markdown(tree)
                                     : configuration_markdown(profiles::all_plugins()));
  return 0;
}

}  // namespace

void add_docs_command(Commands& commands) {
  auto what = std::make_shared<std::string>();
  CLI::App& command = commands.add("docs", "Print documentation: man page, commands, configuration", CommandGroup::more,
                                   [what] { return print_docs(*what); });
  command.footer(
      "man: the page careen(1); markdown: the reference of the commands; config: that of the configuration file.\n\n"
      "Examples:\n"
      "  careen docs man | man -l -\n"
      "  careen docs config > configuration.md");
  command.add_option("WHAT", *what, "Which")->required()->check(CLI::IsMember({"man", "markdown", "config"}));
}

}  // namespace careen::app
