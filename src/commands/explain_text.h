// The story of a node as `careen explain` prints it: where it stands, why, what it waits for, and what happens then.
// A pure function of the Story document (docs/api.md).
#pragma once

#include <string>
#include <vector>

#include "cli/screen.h"
#include "kube/json.h"

namespace careen::app {

// Lines that fit the screen's width, in its colours and characters.
std::vector<Line> explain_lines(kube::JsonView story, const Screen& screen);

}  // namespace careen::app
