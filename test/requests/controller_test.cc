// Approval: by age, never more than the limits allow, and at once when a place is free.
#include "controllers/requests/controller.h"

#include "io/metrics.h"
#include "test_requests.h"

namespace careen::requests {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RequestApprovalTest : public RequestsTest {};

// Section 9 of the original's behaviour: one node, 10 percent.
TEST_F(RequestApprovalTest, AsInTheOriginalsTests) {
  add_nodes(1);
  limit(R"({"limit":10})");
  launch();
  request("a", "n1");
  run(seconds{2});
  request("b", "n1");
  run(seconds{2});
  EXPECT_EQ(state("a"), "Approved");
  EXPECT_EQ(state("b"), "Pending");
  EXPECT_EQ(reason("b"), "TargetBusy");
  EXPECT_THAT(message("b"), HasSubstr("request a "));
  EXPECT_EQ(events("MaintenanceApproved", "a"), 1);
  set_state("a", "InProgress");
  run(seconds{2});
  EXPECT_EQ(state("a"), "InProgress") << "it is never taken back";
  EXPECT_EQ(state("b"), "Pending");
  set_state("a", "Completed");
  ASSERT_TRUE(until([&] { return state("b") == "Approved"; }, milliseconds{200}));
  run(seconds{2});
  EXPECT_EQ(phase("a"), "Completed");
  EXPECT_TRUE(seen("a").status.finished);
  EXPECT_EQ(phase("b"), "Approved");
  EXPECT_TRUE(seen("b").status.approved);
  EXPECT_EQ(shared, 0u);
  EXPECT_TRUE(careen->replica().problems().open().empty());
}

TEST_F(RequestApprovalTest, WithoutALimitThereIsNone) {
  add_nodes(3);
  launch();
  for (int i = 1; i <= 3; ++i) request(fmt::format("r{}", i), fmt::format("N{}", i));
  run(seconds{2});
  EXPECT_EQ(running.size(), 3u) << "names of nodes are compared without regard to case";
}

TEST_F(RequestApprovalTest, UnlessOneIsRequired) {
  add_nodes(2);
  launch({.require_limit = true});
  request("a", "n1");
  run(seconds{2});
  EXPECT_EQ(state("a"), "Pending");
  EXPECT_EQ(reason("a"), "LimitRequired");
  limit(R"({"type":"node","maxUnavailable":1})", "all");
  run(seconds{40});
  EXPECT_EQ(state("a"), "Approved") << reason("a") << message("a");
}

// The check of the original's own figures, by every change: 200 requests at once, 5 percent of 100 nodes.
TEST_F(RequestApprovalTest, TwoHundredAtOnceNeverExceedTheLimitAndAFreedPlaceIsGivenAtOnce) {
  add_nodes(100);
  limit(R"({"limit":5})");
  launch();
  // The actor works for ten seconds each.
  std::vector<std::unique_ptr<io::Alarm>> work;
  on_change = [&](const std::string& name, const std::string& state_now) {
    if (state_now != "Approved") return;
    work.push_back(std::make_unique<io::Alarm>(*server, [this, name] { set_state(name, "InProgress"); }));
    work.back()->set(server->now() + seconds{1});
    work.push_back(std::make_unique<io::Alarm>(*server, [this, name] { set_state(name, "Completed"); }));
    work.back()->set(server->now() + seconds{10} + milliseconds{137 * int(work.size() % 7)});
  };
  for (int i = 0; i < 200; ++i) request(fmt::format("r{:03}", i), fmt::format("n{}", i % 100 + 1));
  ASSERT_TRUE(until([&] { return ends.size() == 200; }, minutes{15})) << ends.size() << " have ended";
  EXPECT_EQ(most, 5u);
  EXPECT_EQ(shared, 0u);
  // All were made at once, so that their names are their order.
  ASSERT_EQ(approvals.size(), 200u);
  for (size_t i = 5; i < approvals.size(); ++i) {
    EXPECT_LE(approvals[i].second - ends[i - 5], milliseconds{100}) << "approval " << i;
  }
  EXPECT_EQ(approvals.front().first, "r000");
  for (size_t i = 1; i < 100; ++i) EXPECT_LT(approvals[i - 1].first, approvals[i].first);
  run(seconds{30});
  EXPECT_THAT(ledger(), Not(HasSubstr("request/")));
  EXPECT_TRUE(careen->replica().problems().open().empty());
}

TEST_F(RequestApprovalTest, WhatItWaitsForIsToldAndBounded) {
  add_nodes(10);
  limit(R"({"limit":10})");
  launch();
  for (int i = 1; i <= 10; ++i) request(fmt::format("r{:02}", i), fmt::format("n{}", i));
  run(seconds{10});
  EXPECT_EQ(running.size(), 1u);
  EXPECT_EQ(phase("r02"), "Waiting");
  EXPECT_EQ(reason("r02"), "WaitingForPlace");
  EXPECT_THAT(message("r02"), HasSubstr("place 1 in limit node (1 of 1"));
  EXPECT_THAT(message("r10"), HasSubstr("place 9 in limit node"));
  EXPECT_EQ(seen("r10").status.position, 9);
  const size_t before = sent.size();
  run(minutes{10});
  EXPECT_EQ(sent.size(), before) << "nothing happens, so nothing is written; but " << sent.back() << message("r10")
                                 << limit_status().dump();
  remove("r01");
  ASSERT_TRUE(until([&] { return state("r02") == "Approved"; }, milliseconds{100})) << "a deletion frees its place";
  run(seconds{30});
  EXPECT_THAT(message("r10"), HasSubstr("place 8 in limit node"));
  EXPECT_EQ(seen("r10").status.position, 8);
}

TEST_F(RequestApprovalTest, WhatCannotBeAskedFor) {
  add_nodes(1);
  launch();
  request("nowhere", "n9");
  ASSERT_EQ(ask("POST", kResource.path(),
                R"({"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceRequest","metadata":{"name":"bare"},
                    "spec":{"name":"n1"}})"),
            201);
  ASSERT_EQ(ask("POST", kResource.path(),
                R"({"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceRequest","metadata":{"name":"nameless"},
                    "spec":{"type":"node"}})"),
            201);
  run(seconds{3});
  EXPECT_EQ(state("nowhere"), "Rejected");
  EXPECT_EQ(reason("nowhere"), "TargetNotFound");
  EXPECT_EQ(events("MaintenanceRejected", "nowhere"), 1);
  EXPECT_EQ(state("nameless"), "Rejected");
  EXPECT_EQ(reason("nameless"), "TargetNotFound");
  EXPECT_EQ(state("bare"), "Pending");
  EXPECT_EQ(reason("bare"), "TypeMissing");
  run(minutes{4});
  EXPECT_EQ(events("TypeMissing", "bare"), 1);
  request("real", "n1");
  run(seconds{2});
  EXPECT_EQ(state("real"), "Approved") << "one that cannot be approved is in nobody's way";
  run(minutes{2});
  EXPECT_FALSE(exists("nowhere")) << "clients make a new one once it is gone";
  EXPECT_TRUE(exists("bare"));
}

// Its node joins just before, and the watch has not told it yet.
TEST_F(RequestApprovalTest, ANodeThatIsNotSeenYetIsNoMissingOne) {
  add_nodes(1);
  launch();
  cluster.network.set_weather("/api/v1/nodes", {.delay = seconds{20}});
  add_nodes(1, 2);
  request("a", "n2");
  run(seconds{3});
  EXPECT_EQ(state("a"), "Approved");
}

TEST_F(RequestApprovalTest, WhatWasNeverApprovedCountsAllTheSame) {
  add_nodes(3);
  limit(R"({"maxUnavailable":1})");
  launch();
  request("sly", "n1", "InProgress");
  request("a", "n2");
  run(seconds{3});
  EXPECT_EQ(state("sly"), "InProgress");
  EXPECT_EQ(reason("sly"), "UnapprovedTransition");
  EXPECT_EQ(events("UnapprovedTransition", "sly"), 1);
  EXPECT_EQ(state("a"), "Pending");
  set_state("a", "InProgress");
  run(seconds{3});
  EXPECT_EQ(events("UnapprovedTransition", "a"), 1);
  set_state("sly", "Completed");
  set_state("a", "Completed");
  request("b", "n3");
  run(seconds{40});
  EXPECT_EQ(state("b"), "Approved") << "once the limit has been kept for a while";
  EXPECT_EQ(events("UnapprovedTransition", "b"), 0);
}

TEST_F(RequestApprovalTest, APauseApprovesNothing) {
  add_nodes(2);
  limit(R"({"maxUnavailable":1})");
  put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause",
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"annotations":{"careen.dev/pause":
          "{\"all\":{\"by\":\"ana@host\",\"since\":\"2026-01-01T00:00:00Z\"}}"}}})");
  launch();
  request("a", "n1");
  run(minutes{3});
  EXPECT_EQ(state("a"), "Pending");
  EXPECT_EQ(reason("a"), "Paused");
  EXPECT_THAT(message("a"), HasSubstr("ana@host"));
  ask("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause");
  run(seconds{5});
  EXPECT_EQ(state("a"), "Approved");
}

TEST_F(RequestApprovalTest, BetweenTwoLiesTheInterval) {
  add_nodes(3);
  limit(R"({"maxUnavailable":3,"intervalSeconds":60})");
  launch();
  for (int i = 1; i <= 3; ++i) request(fmt::format("r{}", i), fmt::format("n{}", i));
  run(minutes{5});
  ASSERT_EQ(approvals.size(), 3u);
  for (size_t i = 1; i < 3; ++i) {
    const io::Duration gap = approvals[i].second - approvals[i - 1].second;
    EXPECT_GE(gap, seconds{60} - milliseconds{300});
    EXPECT_LE(gap, seconds{62});
  }
}

TEST_F(RequestApprovalTest, TenThousandThatAreOverCostNothing) {
  add_nodes(20);
  limit(R"({"maxUnavailable":1})");
  for (int i = 0; i < 10'000; ++i) {
    put(path(fmt::format("old-{}", i)),
        fmt::format(R"({{"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceRequest","metadata":{{"labels":)"
                    R"({{"{}":"rebooter"}}}},"spec":{{"name":"n{}","type":"node","state":"Completed"}}}})",
                    kClientLabel, i % 20 + 1));
  }
  launch();
  const auto decisions = [&] {
    double count = 0;
    for (const char* result : {"success", "requeue_after"}) {
      count += careen->replica()
                   .metrics()
                   .counter("controller_runtime_reconcile_total", "Decisions by result.",
                            {{"controller", "maintenancerequest"}, {"result", result}})
                   .value();
    }
    return count;
  };
  EXPECT_EQ(decisions(), 0);
  request("a", "n1");
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, milliseconds{100}));
  run(minutes{20});
  EXPECT_LE(decisions(), 20);
  EXPECT_EQ(writes("old-"), 0u);
}

TEST_F(RequestApprovalTest, ADryRunApprovesNothing) {
  add_nodes(1);
  launch({}, {.leader_election = false, .controller = {.dry_run = true}});
  request("a", "n1");
  run(seconds{10});
  EXPECT_EQ(state("a"), "Pending");
  EXPECT_THAT(sent, IsEmpty());
}

}  // namespace
}  // namespace careen::requests
