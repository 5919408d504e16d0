// One command's time with a source of view documents, in this process, with its terminal and its signals.
#pragma once

#include <functional>

#include "cli/screen.h"
#include "commands/view_source.h"
#include "io/sync.h"

namespace careen::app {

struct ViewSession {
  io::RealLoop& loop;
  Screen& screen;
  ViewSource& source;
  io::Gate& interrupted;  // opened by Ctrl-C
};

using ViewCommand = std::function<io::Task<int>(ViewSession&)>;

// Opens the source that the options name, says on stderr which it is, and runs the command. The exit code: 1 when no
// source could be opened, 130 when interrupted before that.
int run_on_view(const ViewOptions& options, const ViewCommand& command);

}  // namespace careen::app
