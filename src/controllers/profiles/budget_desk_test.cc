#include "controllers/profiles/budget_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "controllers/profiles/test_support.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class BudgetDeskTest : public WorldTest {
 protected:
  BudgetDeskTest() {
    configure("{intervals: {requeue: 1m}, profiles: [{name: p}]}");
    desk.set_config(*config);
  }
  void change(std::string_view name, State state, io::Duration age = io::hours{1}) {
    put_in(name, "p", state, {}, now - age);
    desk.node_changed(name);
  }
  void wait(const std::string& node, budget::Key key, int since = 0) {
    desk.wait(node, {.places = {{std::move(key), now + io::seconds{since}, std::nullopt}}});
  }
  std::vector<std::string> heard() { return std::exchange(woken, {}); }

  const budget::NodePlaces one{{}, 1, {}};
  std::vector<std::string> woken;
  BudgetDesk desk{
      *loop, {nodes, ledger, lease_facts, observations}, [this](const std::string& node) { woken.push_back(node); }};
};

TEST_F(BudgetDeskTest, APlaceThatBecomesFreeIsOfferedToOneAfterTheOther) {
  change("in", kIn);
  EXPECT_TRUE(measure(desk.occupancy(), one, now).full());
  wait("late", one, 2);
  wait("early", one, 1);
  EXPECT_THAT(heard(), IsEmpty());
  change("in", kOp);
  EXPECT_THAT(heard(), ElementsAre("early"));
  // It does not want it any more.
  desk.wait("early", {});
  EXPECT_THAT(heard(), ElementsAre("late"));
}

TEST_F(BudgetDeskTest, AnAdmissionTakesAPlaceUntilItEnds) {
  put("a");
  desk.reserve({"uid-a", "a", "profile/p", now});
  EXPECT_EQ(measure(desk.occupancy(), one, now).used, 1);
  wait("b", one);
  desk.finish("uid-a");
  desk.node_changed("a");
  EXPECT_THAT(heard(), ElementsAre("b"));
}

TEST_F(BudgetDeskTest, ScopesThatFillWakeThoseWhoWaitForThat) {
  desk.occupancy().members({});
  desk.wait("b", {.rises = {budget::Scope{}}});
  change("a", kIn);
  EXPECT_THAT(heard(), ElementsAre("b"));
}

TEST_F(BudgetDeskTest, AMaintenanceThatGrowsTooOldToCountFreesItsPlaceByItself) {
  change("in", kIn, io::minutes{30});
  wait("a", budget::NodePlaces{{}, 1, io::hours{1}});
  time.run_for(io::minutes{29});
  EXPECT_THAT(heard(), IsEmpty());
  time.run_for(io::minutes{2});
  EXPECT_THAT(heard(), ElementsAre("a"));
}

TEST_F(BudgetDeskTest, ALeaseThatChangesIsThatOfItsGroupOnly) {
  wait("a", budget::LeasePlaces{"ops/turn", 1});
  wait("b", budget::LeasePlaces{"ops/turns", 1});
  desk.lease_changed("ops/turn-0");
  EXPECT_THAT(heard(), ElementsAre("a"));
}

TEST_F(BudgetDeskTest, WhoWaitsForTheLedgerIsOfferedItsRoom) {
  wait("a", budget::LedgerRoom{});
  desk.finish("uid-of-another");
  EXPECT_THAT(heard(), ElementsAre("a"));
}

}  // namespace
}  // namespace careen::profiles
