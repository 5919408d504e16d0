// Documentation made of what the program knows about itself: the man page and the reference of the commands from the
// command tree, the reference of the configuration from the table of plugins.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace careen::profiles {
struct PluginRegistry;
}

namespace careen::app {

// careen.1 in the man macros; `version` is in its footer, and `objects` are those that people make to have a node taken
// out.
std::string man_page(const CommandDoc& tree, const std::string& version, const std::string& objects);
std::string commands_markdown(const CommandDoc& tree);
std::string configuration_markdown(const profiles::PluginRegistry& registry);

}  // namespace careen::app
