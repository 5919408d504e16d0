// The leases by which careen, or a program that it replaces, is found: they lie in its own namespace.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace careen::app {

// Both locks, the ledger and the pause.
const std::vector<std::string_view>& home_leases();

// What to tell whoever asked when they lie in more than one namespace.
std::string several_homes(const std::set<std::string>& namespaces);

}  // namespace careen::app
