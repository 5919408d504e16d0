// The leases by which careen, or a program that it replaces, is found: they lie in its own namespace.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>

namespace careen::app {

// Both locks, the ledger and the pause.
const std::array<std::string_view, 4>& home_leases();

// What to tell whoever asked when they lie in more than one namespace.
std::string several_homes(const std::set<std::string>& namespaces);

}  // namespace careen::app
