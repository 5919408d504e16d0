#include "profiles/schema.h"

#include <CLI/CLI.hpp>

#include "app/command_list.h"
#include "app/command_set.h"
#include "app/commands.h"
#include "app/screen.h"
#include "profiles/plugins.h"

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
