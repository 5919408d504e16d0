#include "commands/fleet_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal_table.h"
#include "cli/text_wrap.h"
#include "cli/why_tree.h"
#include "commands/view_words.h"

namespace careen::app {

using kube::JsonView;

PaintedLine& PaintedLine::add(std::string_view text, Colour colour) {
  const Line cut = screen_.paint(colour, fit(text, room_));
  room_ -= cut.width();
  out_ += cut;
  return *this;
}

PaintedLine& PaintedLine::column(std::string_view text, size_t width, Colour colour) {
  return add(pad(fit(text, width), width), colour).add("  ");
}

PaintedLine& PaintedLine::bar(size_t width, double share, Colour colour) {
  if (room_ < width) return *this;
  room_ -= width;
  out_ += bar_text(screen_, width, share, colour);
  return add("  ");
}

StateCounts state_counts(JsonView profile) {
  const JsonView states = profile["states"];
  return {count_of(states["operational"]), count_of(states["maintenance-required"]),
          count_of(states["in-maintenance"])};
}

std::string blocked_text(JsonView drain) {
  std::string first;
  size_t more = 0;
  drain["pods"].for_each_element([&](JsonView pod) {
    const auto stage = pod["stage"].text().value_or("");
    if (stage != "blocked" && stage != "failed") return;
    if (!first.empty()) {
      ++more;
      return;
    }
    first = fmt::format("{}/{}: {}", shown(pod["namespace"]), shown(pod["name"]), shown(pod["reason"]));
  });
  if (first.empty() && drain["errors"].size() > 0) first = shown(drain["errors"][size_t{0}]);
  return more == 0 ? first : fmt::format("{} (and {} more)", first, count_text(more, "pod"));
}

std::string budget_name(JsonView budget) {
  return fmt::format("{} ({})", shown(budget["name"]), shown(budget["kind"]));
}

std::vector<Line> alarm_lines(JsonView pauses, JsonView problems, const Screen& screen, size_t width, io::Wall now) {
  std::vector<Line> lines;
  const auto add = [&](const std::string& text) {
    bool first = true;
    for (const std::string& part : wrap(text, width > 22 ? width - 2 : 20)) {
      lines.push_back((first ? verdict_mark(screen, "error") + " " : Line("  ")) + screen.paint(Colour::yellow, part));
      first = false;
    }
  };
  pauses.for_each_element([&](JsonView pause) { add(pause_text(pause, now)); });
  problems.for_each_element([&](JsonView problem) {
    add(fmt::format("{}: {}{}", shown(problem["name"]), shown(problem["message"]),
                    problem["since"].exists() ? ", since " + when_text(problem["since"], now) : ""));
  });
  return lines;
}

}  // namespace careen::app
