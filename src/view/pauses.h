// What is paused, as the documents show it.
#pragma once

#include <string>
#include <vector>

#include "budget/pause.h"

namespace careen::view {

void append_pauses(std::string& out, const std::vector<budget::Pause>& pauses);

}  // namespace careen::view
