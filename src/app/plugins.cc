#include "profiles/plugins.h"

#include <fmt/format.h>

#include "app/commands.h"
#include "app/terminal.h"
#include "profiles/plugin_text.h"

namespace careen::app {

int print_plugins(const std::string& type, bool json) {
  using profiles::Colour;
  const profiles::PluginRegistry registry = profiles::all_plugins();
  const Colour colour = shows_colours(stdout) ? Colour::yes : Colour::no;
  const auto page = type.empty() ? plugin_table(registry, colour) : plugin_page(registry, type, colour);
  if (!page) {
    fmt::print(stderr, "there is no plugin \"{}\"{}\n", type, suggest_plugin(registry, type));
    return 1;
  }
  fmt::print("{}", json ? plugins_json(registry, type).dump() + "\n" : *page);
  return 0;
}

}  // namespace careen::app
