// What lasts beyond a crash, a lost answer, a watch that lags behind: never more are approved than the limit allows,
// and no place is lost.
#include "controllers/requests/controller.h"
#include "test_requests.h"

namespace careen::requests {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RequestRecoveryTest : public RequestsTest {
 protected:
  static bool approves(const sim::Sending& sending) {
    return sending.request.method == "PATCH" &&
           sending.request.path.find("maintenancerequests/") != std::string::npos &&
           sending.request.body.find(R"("state":"Approved")") != std::string::npos;
  }
  void begin() {
    add_nodes(3);
    limit(R"({"maxUnavailable":1})");
    launch({}, {.name = "careen-0"});
  }
};

TEST_F(RequestRecoveryTest, AClaimIsRecordedBeforeTheApprovalIsSent) {
  begin();
  std::string at_approval;
  treat = [&](const sim::Sending& sending) {
    if (!sending.stream && approves(sending)) at_approval += ledger();
    return sim::Treatment{};
  };
  request("a", "n1");
  run(seconds{2});
  EXPECT_THAT(at_approval, HasSubstr("request/a"));
  run(seconds{10});
  EXPECT_EQ(state("a"), "Approved");
  EXPECT_THAT(ledger(), Not(HasSubstr("request/a"))) << "the state says it now";
}

// The leader dies after the claim is on record and before anything is sent.
TEST_F(RequestRecoveryTest, KilledBetweenLedgerAndApproval) {
  begin();
  treat = [&](const sim::Sending& sending) { return sim::Treatment{.lost = !sending.stream && approves(sending)}; };
  request("a", "n1");
  ASSERT_TRUE(until([&] { return ledger().find("request/a") != std::string::npos; }, seconds{1}));
  request("b", "n2");
  careen.reset();
  treat = {};
  launch({}, {.name = "careen-1"});
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, seconds{5}));
  run(seconds{30});
  EXPECT_EQ(state("b"), "Pending");
  EXPECT_EQ(most, 1u);
  set_state("a", "Completed");
  run(seconds{1});
  EXPECT_EQ(state("b"), "Approved");
}

// Its write arrives when another leads; meanwhile the request is gone, and made again under the same name.
TEST_F(RequestRecoveryTest, WhatALeaderHadOnTheWayApprovesNothingAnyMore) {
  begin();
  treat = [&](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (!sending.stream && sending.client.starts_with("careen-0") && approves(sending)) treatment.before = minutes{1};
    return treatment;
  };
  request("a", "n1");
  run(milliseconds{300});
  careen.reset();
  remove("a");
  request("b", "n2");
  launch({}, {.name = "careen-1"});
  request("a", "n1");
  run(minutes{3});
  EXPECT_EQ(state("b"), "Approved");
  EXPECT_EQ(state("a"), "Pending");
  EXPECT_EQ(most, 1u);
}

TEST_F(RequestRecoveryTest, AnApprovalWithoutAnAnswerIsNotGivenTwice) {
  begin();
  int sent_ones = 0;
  treat = [&](const sim::Sending& sending) {
    return sim::Treatment{.unanswered = !sending.stream && approves(sending) && ++sent_ones == 1};
  };
  request("a", "n1");
  request("b", "n2");
  run(minutes{2});
  EXPECT_EQ(running.size(), 1u);
  EXPECT_EQ(most, 1u);
  EXPECT_EQ(sent_ones, 1);
  EXPECT_EQ(events("MaintenanceApproved"), 1);
}

TEST_F(RequestRecoveryTest, LostApprovalsAreSentAgain) {
  begin();
  int sent_ones = 0;
  treat = [&](const sim::Sending& sending) {
    return sim::Treatment{.lost = !sending.stream && approves(sending) && ++sent_ones <= 2};
  };
  request("a", "n1");
  request("b", "n2");
  run(minutes{3});
  EXPECT_EQ(running.size(), 1u);
  EXPECT_EQ(most, 1u);
}

// What careen writes it knows at once; what others write comes late.
TEST_F(RequestRecoveryTest, WatchesThatLagBehindApproveNoMore) {
  add_nodes(20);
  limit(R"({"maxUnavailable":3})");
  cluster.network.set_weather("", {.delay = seconds{7}});
  launch({}, {.name = "careen-0"});
  std::vector<std::unique_ptr<io::Alarm>> work;
  on_change = [&](const std::string& name, const std::string& state_now) {
    if (state_now != "Approved") return;
    work.push_back(std::make_unique<io::Alarm>(*server, [this, name] { set_state(name, "Completed"); }));
    work.back()->set(server->now() + seconds{3});
  };
  for (int i = 1; i <= 20; ++i) request(fmt::format("r{:02}", i), fmt::format("n{}", i));
  ASSERT_TRUE(until([&] { return ends.size() == 20; }, minutes{10}));
  EXPECT_EQ(most, 3u);
}

TEST_F(RequestRecoveryTest, LeadersDieAgainAndAgain) {
  add_nodes(12);
  limit(R"({"maxUnavailable":2})");
  std::vector<std::unique_ptr<io::Alarm>> work;
  on_change = [&](const std::string& name, const std::string& state_now) {
    if (state_now != "Approved") return;
    work.push_back(std::make_unique<io::Alarm>(*server, [this, name] { set_state(name, "Completed"); }));
    work.back()->set(server->now() + seconds{5});
  };
  for (int i = 1; i <= 12; ++i) request(fmt::format("r{:02}", i), fmt::format("n{}", i));
  for (int life = 0; ends.size() < 12 && life < 60; ++life) {
    start({}, {.name = fmt::format("careen-{}", life), .seed = uint64_t(life + 1)});
    until([&] { return careen->replica().running(); }, minutes{1});
    run(milliseconds{37 * (life % 19)});
    careen.reset();
    run(seconds{1});
  }
  EXPECT_EQ(ends.size(), 12u);
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(shared, 0u);
  launch({}, {.name = "last"});
  run(seconds{30});
  EXPECT_THAT(ledger(), Not(HasSubstr("request/")));
}

TEST_F(RequestRecoveryTest, ANodeThatIsMadeAnewTakesAPlaceOfItsOwn) {
  begin();
  treat = [&](const sim::Sending& sending) { return sim::Treatment{.lost = !sending.stream && approves(sending)}; };
  request("a", "n1");
  ASSERT_TRUE(until([&] { return ledger().find("request/a") != std::string::npos; }, seconds{1}));
  ask("DELETE", node_path("n1"));
  add_nodes(1);
  treat = {};
  run(minutes{2});
  EXPECT_EQ(state("a"), "Approved");
  EXPECT_EQ(most, 1u);
  run(seconds{10});
  EXPECT_THAT(ledger(), Not(HasSubstr("request/a")));
}

// The work goes on, on the node that has the name now.
TEST_F(RequestRecoveryTest, ANodeThatIsMadeAnewDuringTheWorkCountsOn) {
  begin();
  request("a", "n1");
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, seconds{5}));
  set_state("a", "InProgress");
  run(seconds{1});
  ask("DELETE", node_path("n1"));
  run(seconds{1});
  add_nodes(1);
  request("b", "n2");
  run(seconds{30});
  EXPECT_EQ(state("b"), "Pending");
  EXPECT_EQ(most, 1u);
  set_state("a", "Completed");
  ASSERT_TRUE(until([&] { return state("b") == "Approved"; }, seconds{5}));
}

// The approval arrives all the same.
TEST_F(RequestRecoveryTest, ANodeThatIsMadeAnewDuringItsApprovalCountsOn) {
  begin();
  treat = [&](const sim::Sending& sending) { return sim::Treatment{.held = !sending.stream && approves(sending)}; };
  request("a", "n1");
  run(seconds{1});
  ask("DELETE", node_path("n1"));
  add_nodes(1);
  run(seconds{1});
  treat = {};
  cluster.network.release_held();
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, seconds{5}));
  set_state("a", "InProgress");
  request("b", "n2");
  run(seconds{30});
  EXPECT_EQ(state("b"), "Pending");
  EXPECT_EQ(most, 1u);
}

// Whoever asked wants another node now.
TEST_F(RequestRecoveryTest, AnotherNodeIsAnotherPlace) {
  begin();
  treat = [&](const sim::Sending& sending) { return sim::Treatment{.held = !sending.stream && approves(sending)}; };
  request("a", "n1");
  run(seconds{1});
  ASSERT_EQ(ask("PATCH", path("a"), R"({"spec":{"name":"n2"}})"), 200);
  treat = {};
  cluster.network.release_held();
  run(seconds{30});
  EXPECT_EQ(state("a"), "Approved");
  EXPECT_EQ(running["a"], "n2");
  EXPECT_EQ(most, 1u);
  set_state("a", "Completed");
  request("b", "n3");
  run(seconds{2});
  EXPECT_EQ(state("b"), "Approved");
}

TEST_F(RequestRecoveryTest, WhatIsRefusedIsSaidAndTriedAgain) {
  begin();
  treat = [&](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (!sending.stream && approves(sending)) {
      treatment.refuse = kube::Response{403, R"({"kind":"Status","status":"Failure","reason":"Forbidden",)"
                                             R"("message":"no right to update","code":403})"};
    }
    return treatment;
  };
  request("a", "n1");
  run(seconds{20});
  EXPECT_EQ(state("a"), "Pending");
  ASSERT_EQ(careen->replica().problems().open().size(), 1u);
  EXPECT_THAT(careen->replica().problems().open().begin()->second, HasSubstr("no right to update"));
  treat = {};
  run(minutes{2});
  EXPECT_EQ(state("a"), "Approved");
  EXPECT_TRUE(careen->replica().problems().open().empty());
}

}  // namespace
}  // namespace careen::requests
