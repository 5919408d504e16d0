// How often a command's live display on a terminal is redrawn.
#pragma once

#include "io/time.h"

namespace careen::app {

// Although nothing has changed: ages go on.
inline constexpr io::Duration kRedrawEvery = io::seconds{1};
// More often nobody can read it.
inline constexpr io::Duration kBetweenFrames = io::milliseconds{100};

}  // namespace careen::app
