// NodeMaintenances wait for a place in MaintenanceLimits, have it as long as anything of them is on the node or on its
// way there, and give it back.
#include "controllers/nodemaintenance/places.h"

#include "budget/ledger.h"
#include "controllers/nodemaintenance/test_cluster.h"

namespace careen::nodemaintenance {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kOne = R"({"type":"node","maxUnavailable":1})";

class PlacesTest : public MaintenanceTest {
 protected:
  static constexpr const char* kLedger = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-ledger";

  PlacesTest() {
    put("/api/v1/namespaces/kube-system", R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})");
    cluster.api.observe([this](const sim::Change& change) {
      if (change.collection != "/api/v1/nodes") return;
      size_t count = 0;
      for (const char* node : {"n1", "n2", "n3"}) count += cordoned(node);
      most = std::max(most, count);
    });
  }
  void cordon(std::string_view node, bool on) {
    merge(node_path(node), fmt::format(R"({{"spec":{{"unschedulable":{}}}}})", on));
  }
  std::string ledger() const { return text(object(kLedger)["metadata"]["annotations"][budget::Ledger::kAnnotation]); }
  bool gone(std::string_view name) const { return !exists(path(name)); }
  bool succeeded(std::string_view name) const { return phase(name) == "Succeeded"; }

  size_t most = 0;  // nodes cordoned at once
};

TEST_F(PlacesTest, OneWaitsUntilThereIsAPlaceAndSaysWhatFor) {
  add_node("n1");
  add_node("n2");
  add_pod("a");
  launch();
  limit(kOne);
  cordon("n2", true);
  time.run_for(seconds{1});
  maintain();
  time.run_for(minutes{10});
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(condition("Blocked"), "True WaitingForPlace");
  EXPECT_THAT(last_error(), HasSubstr("waits for place 1 in limit workers (1 of 1: 1 unknown on n2"));
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(exists(lease_path())) << "nobody else is kept from the node meanwhile";
  EXPECT_EQ(requests("/eviction"), 0);
  cordon("n2", false);
  ASSERT_TRUE(runs_until([&] { return succeeded("m"); }, minutes{2}));
  EXPECT_TRUE(in_maintenance());
  EXPECT_EQ(last_error(), "");
  EXPECT_EQ(condition("Blocked"), "False NothingBlocks");
}

TEST_F(PlacesTest, WithoutALimitAboutTheNodeNothingIsRecorded) {
  identity = "a";
  add_node("n1");
  launch();
  limit(R"({"type":"node","maxUnavailable":0,"selector":{"matchLabels":{"role":"other"}}})");
  maintain();
  ASSERT_TRUE(runs_until([&] { return succeeded("m"); }, seconds{10}));
  EXPECT_THAT(process->ledger.entries(), IsEmpty());
  EXPECT_TRUE(process->desk.has("n1", "nodemaintenance/m"));
  EXPECT_THAT(ledger(), Not(HasSubstr("nodemaintenance")));
}

TEST_F(PlacesTest, TheyTakeTurnsTheOldestFirst) {
  for (const char* node : {"n1", "n2", "n3"}) add_node(node);
  launch();
  limit(kOne);
  maintain("n2", "first");
  time.run_for(seconds{2});
  maintain("n1", "second");
  time.run_for(seconds{2});
  maintain("n3", "third");
  for (const char* name : {"first", "second", "third"}) {
    ASSERT_TRUE(runs_until([&] { return succeeded(name); }, minutes{2})) << name;
    EXPECT_EQ(process->desk.groups().front().used, 1);
    end(name);
  }
  ASSERT_TRUE(runs_until([&] { return gone("third"); }, minutes{1}));
  time.run_for(seconds{1});
  EXPECT_EQ(most, 1u);
  EXPECT_EQ(process->desk.groups().front().used, 0);
  EXPECT_THAT(process->desk.queue(), IsEmpty());
  EXPECT_THAT(process->ledger.entries(), IsEmpty());
}

TEST_F(PlacesTest, OneThatIsDeletedWhileItWaitsLeavesTheQueue) {
  add_node("n1");
  launch();
  limit(R"({"type":"node","maxUnavailable":0})");
  maintain();
  time.run_for(seconds{5});
  EXPECT_THAT(process->desk.queue(), SizeIs(1));
  EXPECT_EQ(process->desk.queue().front().rank, limits::Rank::person);
  end();
  ASSERT_TRUE(runs_until([&] { return gone("m"); }, seconds{5}));
  time.run_for(seconds{1});
  EXPECT_THAT(process->desk.queue(), IsEmpty());
  EXPECT_TRUE(untouched());
}

TEST_F(PlacesTest, ALimitThatComesLaterCountsWhatIsHeld) {
  add_node("n1");
  add_node("n2");
  launch();
  maintain("n1", "first");
  ASSERT_TRUE(runs_until([&] { return succeeded("first"); }, seconds{10}));
  crash();
  launch();
  limit(kOne);
  maintain("n2", "second");
  time.run_for(minutes{1});
  EXPECT_TRUE(in_maintenance("n1")) << "whoever has its node keeps it";
  EXPECT_EQ(condition("Blocked", "second"), "True WaitingForPlace");
  EXPECT_THAT(last_error("second"), HasSubstr("1 nodemaintenance first on n1"));
}

TEST_F(PlacesTest, ANodeThatIsDownNeedsNoPlaceForItsRepair) {
  add_node("n1");
  add_node("n2");
  add_node("n3");
  launch();
  limit(R"({"type":"node","maxUnavailable":1,"maxParallel":2})");
  cluster.kubelets.stop("n1");
  cordon("n2", true);
  time.run_for(minutes{2});
  maintain("n1", "repair");
  maintain("n3", "other");
  ASSERT_TRUE(runs_until([&] { return cordoned("n1"); }, minutes{2}));
  time.run_for(minutes{2});
  EXPECT_FALSE(cordoned("n3"));
}

// What somebody takes from a node is put back without asking: the place is still its own.
TEST_F(PlacesTest, WhatIsTakenAwayFromAHeldNodeIsPutBackInItsPlace) {
  add_node("n1");
  add_node("n2");
  launch();
  limit(kOne);
  maintain();
  ASSERT_TRUE(runs_until([&] { return succeeded("m"); }, seconds{10}));
  maintain("n2", "next");
  merge(node_path(),
        R"({"metadata":{"annotations":{"careen.dev/holds":null}},"spec":{"unschedulable":false,"taints":null}})");
  ASSERT_TRUE(runs_until([&] { return in_maintenance(); }, seconds{10}));
  EXPECT_FALSE(cordoned("n2"));
}

TEST_F(PlacesTest, ThePlaceIsRecordedBeforeTheNodeIsHeldAndForgottenOnceItShows) {
  identity = "a";
  add_node("n1");
  std::vector<std::string> at_hold;
  treat = [&](const kube::Request& request) {
    if (request.method == "PATCH" && request.path.starts_with(node_path()) &&
        request.body.find("holds") != request.body.npos)
      at_hold.push_back(ledger());
    return sim::Treatment{};
  };
  launch();
  limit(kOne);
  maintain();
  ASSERT_TRUE(runs_until([&] { return succeeded("m"); }, seconds{10}));
  ASSERT_FALSE(at_hold.empty());
  EXPECT_THAT(at_hold.front(), HasSubstr(R"("by":"nodemaintenance/m")"));
  time.run_for(seconds{10});
  EXPECT_THAT(ledger(), Not(HasSubstr("nodemaintenance"))) << "the node shows it";
  EXPECT_TRUE(process->desk.has("n1", "nodemaintenance/m"));
}

// It may still arrive: the place stays taken until that is certain.
TEST_F(PlacesTest, AHoldThatMayBeOnItsWayKeepsThePlaceOfADeletedMaintenance) {
  identity = "a";
  add_node("n1");
  add_node("n2");
  bool slow = true;
  treat = [&](const kube::Request& request) {
    sim::Treatment treatment;
    if (slow && request.method == "PATCH" && request.path.starts_with(node_path()) &&
        request.body.find("holds") != request.body.npos) {
      slow = false;
      treatment.before = minutes{2};
    }
    return treatment;
  };
  launch();
  limit(kOne);
  maintain("n1", "first");
  ASSERT_TRUE(runs_until([&] { return !slow; }, seconds{10}));
  end("first");
  maintain("n2", "second");
  ASSERT_TRUE(runs_until([&] { return succeeded("second"); }, minutes{10}));
  time.run_for(minutes{5});
  EXPECT_EQ(most, 1u);
  EXPECT_FALSE(cordoned("n1"));
}

// The first leader is gone after its k-th write; that and all that follow arrive when the second one is at its j-th.
TEST_F(PlacesTest, ADeadLeadersLastWritesMayArriveAtAnyTime) {
  const std::vector<std::string> names{"first", "second"};
  for (const char* node : {"n1", "n2", "n3"}) add_node(node);
  int ends = 0;
  for (int k = 1; ends == 0; ++k) {
    for (const int j : {0, 1, 3, 6}) {
      SCOPED_TRACE(testing::Message() << "write " << k << " arrives at write " << j);
      cluster.api.erase(kLedger);
      most = 0;
      int count = 0;
      treat = [&](const kube::Request& request) {
        sim::Treatment treatment{.before = milliseconds{3}, .after = milliseconds{3}};
        if (request.method != "GET" && ++count >= k) treatment.held = true;
        return treatment;
      };
      identity = "a";
      launch();
      limit(kOne);
      maintain("n1", names[0]);
      maintain("n2", names[1]);
      const bool reached = runs_until([&] { return count >= k; }, seconds{30});
      time.run_for(milliseconds{5});
      crash();
      count = 0;
      treat = [&](const kube::Request& request) {
        if (request.method != "GET" && count++ == j) cluster.network.release_held();
        return sim::Treatment{.before = milliseconds{3}, .after = milliseconds{3}};
      };
      identity = "b";
      launch();
      limit(kOne);
      for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(runs_until([&] { return succeeded(names[0]) || succeeded(names[1]); }, minutes{20}));
        end(succeeded(names[0]) ? names[0] : names[1]);
        ASSERT_TRUE(runs_until([&] { return gone(names[0]) || gone(names[1]); }, minutes{5}));
        if (i == 1) break;
        ASSERT_FALSE(gone(names[0]) && gone(names[1]));
      }
      ASSERT_TRUE(runs_until([&] { return gone(names[0]) && gone(names[1]); }, minutes{5}));
      cluster.network.release_held();
      time.run_for(minutes{1});
      ASSERT_LE(most, 1u);
      ASSERT_TRUE(untouched("n1") && untouched("n2"));
      crash();
      if (!reached) ends = k;
    }
  }
  EXPECT_GT(ends, 5);
}

}  // namespace
}  // namespace careen::nodemaintenance
