#include "commands/home_leases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "budget/pause.h"
#include "replica/controllers.h"

namespace careen::app {

const std::vector<std::string_view>& home_leases() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all = replica::leader_locks();
    all.insert(all.end(), {"careen-ledger", budget::PauseRecord::kLease});
    return all;
  }();
  return names;
}

std::string several_homes(const std::set<std::string>& namespaces) {
  return fmt::format(
      "careen, or what it replaces, has leases in several namespaces: {}; name the one that is meant with --namespace",
      fmt::join(namespaces, ", "));
}

}  // namespace careen::app
