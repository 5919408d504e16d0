// The flags of `careen run`: careen's own names, and those of the programs it replaces.
#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"

namespace CLI {
class App;
}

namespace careen::app {

struct ZapFlags {
  bool devel = true;
  std::string encoder, level, time = "iso8601";
  std::string stacktrace = {};  // the level from which the original prints stack traces; empty: not said
};

// Both must live until the command line has been parsed.
void add_run_flags(CLI::App& command, RunOptions& options, ZapFlags& zap);
// What the flags mean for the log; what is wrong with them, or nothing.
std::string apply(const ZapFlags& zap, io::LogOptions& log);
// Flags of the originals that are taken so that their manifests work, but change nothing: a sentence for each.
std::vector<std::string> without_effect(const ZapFlags& zap, const RunOptions& options);

// Go's flag syntax, which manifests of the originals may have: one dash serves as two, and nothing after an equals sign
// is an empty value.
std::vector<std::string> go_syntax(std::vector<std::string> arguments);

}  // namespace careen::app
