#include "cli/text_wrap.h"

#include <algorithm>
#include <cmath>

#include "cli/terminal_table.h"
#include "io/printable.h"

namespace careen::app {

std::vector<std::string> wrap(std::string_view sentence, size_t width) {
  // Line breaks are spaces like others.
  const std::string clean = io::printable(sentence);
  std::string_view text = clean;
  width = std::max<size_t>(width, 1);
  std::vector<std::string> lines;
  while (text_width(text) > width) {
    const size_t most = bytes_of(text, width);
    // A space right behind the last character that fits is a place to break, too.
    size_t cut = text.substr(0, most + 1).rfind(' ');
    if (cut == std::string_view::npos || cut == 0) cut = most;
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

Line bar_text(const Screen& screen, size_t width, double share, Colour colour) {
  const double part = std::clamp(share, 0.0, 1.0);
  size_t full = static_cast<size_t>(std::lround(part * static_cast<double>(width)));
  if (part > 0 && full == 0) full = 1;
  if (part < 1 && full == width && width > 0) full = width - 1;
  std::string done, open;
  for (size_t at = 0; at < width; ++at) {
    if (at < full) {
      done += screen.unicode() ? "█" : "#";
    } else {
      open += screen.unicode() ? "░" : "-";
    }
  }
  return screen.paint(colour, done) + screen.paint(Colour::dim, open);
}

}  // namespace careen::app
