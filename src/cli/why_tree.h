// A tree of reasons on a terminal: branches drawn with lines, a mark for each verdict, and those leaves highlighted
// that decide the answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/screen.h"
#include "kube/json.h"

namespace careen::app {

// ✓ ✗ ! ·, or + x ! - where these cannot be shown, in the verdict's colour.
Line verdict_mark(const Screen& screen, std::string_view verdict);
Colour verdict_colour(std::string_view verdict);

// The lines that draw a branch: to one that is not the last, to the last, and past one.
struct Branches {
  std::string_view middle, last, past;
};
Branches branches(const Screen& screen);

// The tree (a Why of docs/api.md), each line after `indent`. The root has no branch of its own, and no line if it has
// `told` already and something below it.
std::vector<Line> why_lines(kube::JsonView why, const Screen& screen, const std::string& indent, size_t width,
                            std::string_view told = {});

}  // namespace careen::app
