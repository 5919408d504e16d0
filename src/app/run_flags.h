// The flags of `careen run`: careen's own names, and those of the programs it replaces.
#pragma once

#include <string>
#include <vector>

#include "app/commands.h"

namespace CLI {
class App;
}

namespace careen::app {

struct ZapFlags {
  bool devel = true;
  std::string encoder, level, time = "iso8601";
};

// Both must live until the command line has been parsed.
void add_run_flags(CLI::App& command, RunOptions& options, ZapFlags& zap);
// What the flags mean for the log; what is wrong with them, or nothing.
std::string apply(const ZapFlags& zap, io::LogOptions& log);

// Installed as /manager, careen starts like the program whose manifest starts it: the arguments as they are for
// careen. Two programs have an image with that name; their flags tell which one is meant.
std::vector<std::string> as_manager(std::vector<std::string> arguments);

}  // namespace careen::app
