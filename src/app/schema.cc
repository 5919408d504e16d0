#include "profiles/schema.h"

#include <fmt/format.h>

#include "app/commands.h"
#include "profiles/plugins.h"

namespace careen::app {

int print_schema() {
  fmt::print("{}", profiles::config_schema_text(profiles::all_plugins()));
  return 0;
}

}  // namespace careen::app
