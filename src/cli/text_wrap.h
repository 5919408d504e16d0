// Sentences and bars for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/screen.h"

namespace careen::app {

// Lines of at most `width` characters, broken at spaces where possible. At least one.
std::vector<std::string> wrap(std::string_view sentence, size_t width);

// 12 characters, 5 of them full: ████▌; in ASCII [#####-------].
Line bar_text(const Screen& screen, size_t width, double share, Colour colour);

}  // namespace careen::app
