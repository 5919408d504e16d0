// Scenarios that must fail, each for the reason that it gives itself: the tests of what tests expect.
#pragma once

#include <string>

namespace careen::scenarios {

// Such a file begins with the lines, behind "#> ", that the report must contain in that order. What is wrong, or
// nothing: it passes, it promises nothing, or its report lacks a line.
std::string broken_promise(const std::string& file);

// How the file ends: what is wrong with it, why it failed, or nothing.
std::string failure_of(const std::string& file);

}  // namespace careen::scenarios
