#include "controllers/profiles/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/limits.h"
#include "controllers/profiles/test_support.h"

namespace careen::profiles {
namespace {

using budget::Claim;
using testing::ElementsAre;
using testing::IsEmpty;

class ClaimsTest : public WorldTest {
 protected:
  using Stage = Claim::Stage;
  ClaimsTest() {
    configure(R"(
intervals: {requeue: 1m}
instances:
  check:
  - {name: few, type: maxMaintenance, config: {max: 2}}
  - {name: zone, type: maxMaintenance, config: {max: 1, groupBy: zone}}
  - {name: lately, type: maxMaintenance, config: {max: 1, skipAfter: 2h}}
  - {name: slowly, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: ops}}
profiles: [{name: p}, {name: q}]
)");
    lease_facts.set_known("ops");
  }
  World world() { return {nodes, *config, facts, deliveries, false, nullptr, false, &pauses, &ledger}; }
  std::vector<Claim> claims() { return claims_of_profiles(world(), limits_in_use(world(), now), now); }
  void admit(budget::Admission admission) {
    const std::string node = admission.node;
    ledger.reserve(std::move(admission));
    occupancy.update(node);
  }
  static Claim claim(std::string who, std::string node, std::optional<io::Wall> since, Stage stage,
                     std::vector<std::string> budgets) {
    std::string uid = "uid-" + node;
    return {std::move(who), std::move(node), std::move(uid), since, stage, std::move(budgets)};
  }
};

TEST_F(ClaimsTest, ANodeInMaintenanceIsOut) {
  put_in("a", "p", kIn, {{"zone", "x"}});
  put_in("b", "p", kReq, {{"zone", "x"}});
  EXPECT_THAT(claims(),
              ElementsAre(claim("profile/p", "a", now - io::hours{1}, Stage::out, {"few", "lately", "zone"})));
}

TEST_F(ClaimsTest, ItCountsOnlyInLimitsThatHaveNotForgottenIt) {
  put_in("a", "p", kIn, {}, now - io::hours{3});
  EXPECT_THAT(claims(), ElementsAre(claim("profile/p", "a", now - io::hours{3}, Stage::out, {"few", "zone"})));
}

TEST_F(ClaimsTest, OneThatIsAdmittedIsInTheLedgerOnly) {
  put("a", {{kProfile, "p"}, {"zone", "x"}});
  admit({"uid-a", "a", "profile/p", now});
  EXPECT_THAT(claims(), ElementsAre(claim("profile/p", "a", now, Stage::admitted, {"few", "lately", "zone"})));
  // It gets there before the entry ends: still one claim.
  put_in("a", "p", kIn, {{"zone", "x"}}, now);
  EXPECT_THAT(claims(), ElementsAre(claim("profile/p", "a", now, Stage::out, {"few", "lately", "zone"})));
}

TEST_F(ClaimsTest, WhatTakesMoreThanOneWriteIsBegun) {
  put("a", {{kProfile, "p"}});
  admit({"uid-a", "a", "profile/p", now, true, {}, true});
  put("b", {{kProfile, "p"}});
  lease_facts.take("ops/turn-0", "b");
  admit({"uid-b", "b", "profile/p", now, false, {{"ops/turn-0", now}}});
  EXPECT_THAT(claims(), ElementsAre(claim("profile/p", "a", now, Stage::begun, {"few", "lately", "zone"}),
                                    claim("profile/p", "b", now, Stage::begun, {"slowly"})));
}

TEST_F(ClaimsTest, ForWhichOfItsProfilesANodeIsOutMayNotBeKnown) {
  put("edited", {{kProfile, "p--q"}, {kState, "in-maintenance"}});
  put("spoilt", {{kState, "in-maintenance"}}, {{kData, "{broken"}});
  EXPECT_THAT(claims(),
              ElementsAre(claim("profile/p--q", "edited", std::nullopt, Stage::out, {"few", "zone"}),
                          claim("profile/default", "spoilt", std::nullopt, Stage::out, {"few", "lately", "zone"})));
}

TEST_F(ClaimsTest, AdmissionsOfOthersAreTheirs) {
  put("a", {{kProfile, "p"}});
  ledger.reserve({"uid-a", "a", "request/x", now});
  EXPECT_THAT(claims(), IsEmpty());
}

TEST_F(ClaimsTest, AnAdmittedNodeThatIsGoneIsClaimedUntilItsAdmissionEnds) {
  admit({"uid-ghost", "ghost", "profile/p", now});
  ASSERT_EQ(claims().size(), 1u);
  EXPECT_EQ(claims().front().node, "ghost");
  ledger.finish("uid-ghost");
  occupancy.update("ghost");
  EXPECT_THAT(claims(), IsEmpty());
}

}  // namespace
}  // namespace careen::profiles
