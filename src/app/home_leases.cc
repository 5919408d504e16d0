#include "app/home_leases.h"

#include "budget/pause.h"
#include "nodemaintenance/names.h"
#include "replica/replica.h"

namespace careen::app {

const std::array<std::string_view, 4>& home_leases() {
  static constexpr std::array<std::string_view, 4> kNames = {replica::Replica::kLock, nodemaintenance::kLock,
                                                             "careen-ledger", budget::PauseRecord::kLease};
  return kNames;
}

}  // namespace careen::app
