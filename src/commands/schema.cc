#include "controllers/profiles/schema.h"

#include <CLI/CLI.hpp>

#include "cli/command_set.h"
#include "cli/screen.h"
#include "commands/command_list.h"
#include "commands/commands.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::app {

int print_schema() {
  Screen(process_screen()).document(profiles::config_schema_text(profiles::all_plugins()));
  return 0;
}

void add_schema_command(Commands& commands) {
  commands
      .add("schema", "Print the JSON Schema of the configuration file, for editors", CommandGroup::configure,
           print_schema)
      .footer("Example:\n  careen schema > maintenance.schema.json");
}

}  // namespace careen::app
