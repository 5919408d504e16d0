// Where the project's files lie, for tests that read them. A function and not a definition for every file, so that only
// one object depends on the place where the tree happens to be, and the compiler cache serves all others.
#pragma once

#include <string>
#include <string_view>

namespace careen::test {

// The path of a file of the project: source_path("docs/scenarios.md").
std::string source_path(std::string_view relative);

}  // namespace careen::test
