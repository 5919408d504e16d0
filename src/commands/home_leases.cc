#include "commands/home_leases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "budget/pause.h"
#include "controllers/nodemaintenance/names.h"
#include "replica/replica.h"

namespace careen::app {

const std::array<std::string_view, 4>& home_leases() {
  static constexpr std::array<std::string_view, 4> kNames = {replica::Replica::kLock, nodemaintenance::kLock,
                                                             "careen-ledger", budget::PauseRecord::kLease};
  return kNames;
}

std::string several_homes(const std::set<std::string>& namespaces) {
  return fmt::format(
      "careen, or what it replaces, has leases in several namespaces: {}; name the one that is meant with --namespace",
      fmt::join(namespaces, ", "));
}

}  // namespace careen::app
