#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/nodemaintenance/hosted.h"
#include "controllers/profiles/hosted.h"
#include "controllers/requests/hosted.h"
#include "replica/controllers.h"

namespace careen::replica {
namespace {

using testing::AllOf;
using testing::Field;

// Whoever may lead a controller beside others has to find what a predecessor without them has admitted.
TEST(LedgerOfTest, DependsOnWhatRunsAndNotOnItsOrder) {
  const auto* const profiles = &profiles::kind();
  const auto* const maintenances = &nodemaintenance::kind();
  const auto* const requests = &requests::kind();
  const auto is = [](kube::LockKind kind, const char* name) {
    return AllOf(Field(&HomeObject::kind, kind), Field(&HomeObject::name, name));
  };
  EXPECT_THAT(ledger_of({requests, maintenances, profiles}), is(kube::LockKind::lease, "careen-ledger"));
  EXPECT_THAT(ledger_of({maintenances, requests}), is(kube::LockKind::config_map, "careen-ledger-requests"));
  EXPECT_THAT(ledger_of({requests, maintenances}), is(kube::LockKind::config_map, "careen-ledger-requests"));
  EXPECT_THAT(ledger_of({maintenances}), is(kube::LockKind::lease, "careen-ledger-nodemaintenance"));
}

}  // namespace
}  // namespace careen::replica
