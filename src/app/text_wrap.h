// Sentences for a terminal: broken into lines that fit, and without characters that would command the terminal. What
// comes from the cluster (names, reasons, errors) passes through here before it is shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/screen.h"

namespace careen::app {

// Control characters, line breaks among them, as spaces.
std::string printable(std::string_view text);

// Lines of at most `width` characters, broken at spaces where possible. At least one.
std::vector<std::string> wrap(std::string_view text, size_t width);

// 12 characters, 5 of them full: ████▌; in ASCII [#####-------].
std::string bar_text(const Screen& screen, size_t width, double share, Colour colour);

}  // namespace careen::app
