// The leases by which careen, or a program that it replaces, is found: they lie in its own namespace.
#pragma once

#include <array>
#include <string_view>

namespace careen::app {

// Both locks, the ledger and the pause.
const std::array<std::string_view, 4>& home_leases();

}  // namespace careen::app
