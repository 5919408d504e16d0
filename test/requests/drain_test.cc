// Nodes that are cordoned, drained and freed of their volumes before a request is approved, and given back at its end.
#include "test_requests.h"

namespace careen::requests {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::Contains;
using testing::HasSubstr;

class RequestDrainTest : public RequestsTest {
 protected:
  void begin(std::string_view drain = R"("enabled":true)", std::string_view more = "") {
    add_nodes(2);
    add_pod("p1", "n1");
    add_pod("p2", "n1");
    run(seconds{5});
    limit(fmt::format(R"({{"maxUnavailable":1,"drain":{{{}}}{}}})", drain, more));
    launch({}, {.name = "careen-0"});
  }
  bool held(std::string_view node = "n1") const {
    const kube::Json now = cluster.api.object(node_path(node));
    const auto found = now["metadata"]["annotations"][drain::kHoldsAnnotation].text();
    return found && found->find("request/") != std::string_view::npos;
  }
  std::string cordoned_by(std::string_view node = "n1") const {
    const kube::Json now = cluster.api.object(node_path(node));
    return std::string(now["metadata"]["annotations"][kCordonedBy].text().value_or(""));
  }
};

TEST_F(RequestDrainTest, BeforeTheApprovalAndGivenBackAtTheEnd) {
  begin(R"("enabled":true,"afterSeconds":20)");
  std::vector<std::string> phases;
  on_change = [&](const std::string& name, const std::string&) {
    if (phases.empty() || phases.back() != phase(name)) phases.push_back(phase(name));
  };
  request("a", "n1");
  ASSERT_TRUE(until([&] { return cordoned("n1"); }, seconds{1}));
  EXPECT_TRUE(held());
  EXPECT_EQ(cordoned_by(), "a");
  EXPECT_THAT(ledger(), HasSubstr("request/a"));
  ASSERT_TRUE(until([&] { return pods() == 0; }, minutes{1}));
  EXPECT_EQ(state("a"), "Pending");
  run(seconds{10});
  EXPECT_EQ(phase("a"), "Grace");
  EXPECT_EQ(state("a"), "Pending");
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, seconds{15}));
  EXPECT_TRUE(cordoned("n1"));
  set_state("a", "InProgress");
  run(seconds{30});
  set_state("a", "Completed");
  ASSERT_TRUE(until([&] { return !cordoned("n1"); }, seconds{1}));
  run(seconds{5});
  EXPECT_FALSE(held());
  EXPECT_EQ(cordoned_by(), "");
  EXPECT_THAT(phases, Contains("Cordoned"));
  EXPECT_THAT(phases, Contains("Grace"));
  EXPECT_TRUE(careen->replica().problems().open().empty());
}

TEST_F(RequestDrainTest, ACordonFromBeforeStays) {
  begin();
  cordon("n1");
  limit(R"({"maxUnavailable":2})");
  run(seconds{1});
  request("a", "n1");
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, minutes{1}));
  EXPECT_EQ(cordoned_by(), "");
  set_state("a", "Completed");
  run(seconds{10});
  EXPECT_TRUE(cordoned("n1"));
  EXPECT_FALSE(held());
}

TEST_F(RequestDrainTest, WithdrawnWithItsRequest) {
  begin();
  add_budget("web");
  run(seconds{2});
  add_pod("db", "n1", "db");
  add_budget("db");
  run(seconds{2});
  request("a", "n1");
  run(seconds{20});
  EXPECT_EQ(phase("a"), "Draining");
  EXPECT_THAT(message("a"), HasSubstr("shop/db"));
  EXPECT_TRUE(cordoned("n1"));
  remove("a");
  ASSERT_TRUE(until([&] { return !cordoned("n1"); }, seconds{2}));
  EXPECT_FALSE(held());
  run(seconds{10});
  EXPECT_THAT(ledger(), testing::Not(HasSubstr("request/")));
}

TEST_F(RequestDrainTest, GoesOnWhereAnotherLeaderLeftIt) {
  begin(R"("enabled":true,"afterSeconds":60)");
  request("a", "n1");
  request("b", "n2");
  ASSERT_TRUE(until([&] { return pods() == 0; }, minutes{1}));
  run(seconds{5});
  ASSERT_EQ(phase("a"), "Grace");
  careen.reset();
  launch({}, {.name = "careen-1"});
  EXPECT_EQ(state("a"), "Pending");
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, seconds{60})) << "its grace period began before";
  EXPECT_EQ(most, 1u);
  EXPECT_FALSE(cordoned("n2"));
  set_state("a", "Completed");
  ASSERT_TRUE(until([&] { return !cordoned("n1") && cordoned("n2"); }, seconds{2}));
}

TEST_F(RequestDrainTest, ALeaderThatDiesInTheMiddle) {
  begin();
  request("a", "n1");
  ASSERT_TRUE(until([&] { return cordoned("n1"); }, seconds{1}));
  careen.reset();
  launch({}, {.name = "careen-1"});
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, minutes{2}));
  EXPECT_EQ(pods(), 0u);
}

TEST_F(RequestDrainTest, TooLongIsRejected) {
  begin(R"("enabled":true,"timeoutSeconds":120)");
  add_budget("web");
  merge("/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web",
        R"({"metadata":{"generation":2},"spec":{"minAvailable":2}})");
  run(seconds{2});
  request("a", "n1");
  request("b", "n2");
  run(minutes{3});
  EXPECT_EQ(reason("a"), "DrainTimedOut");
  EXPECT_FALSE(cordoned("n1"));
  EXPECT_EQ(state("b"), "Approved");
}

TEST_F(RequestDrainTest, OrGoesOnAllTheSame) {
  begin(R"("enabled":true,"timeoutSeconds":120,"onTimeout":"Continue")");
  add_budget("web");
  merge("/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web",
        R"({"metadata":{"generation":2},"spec":{"minAvailable":2}})");
  run(seconds{2});
  request("a", "n1");
  run(minutes{1});
  EXPECT_EQ(state("a"), "Pending");
  run(minutes{2});
  EXPECT_EQ(state("a"), "Approved");
  EXPECT_EQ(pods(), 2u);
}

TEST_F(RequestDrainTest, CordonOnly) {
  begin(R"("enabled":true,"cordonOnly":true)");
  request("a", "n1");
  run(seconds{2});
  EXPECT_EQ(state("a"), "Approved");
  EXPECT_TRUE(cordoned("n1"));
  EXPECT_EQ(pods(), 2u);
}

TEST_F(RequestDrainTest, WithoutUncordonTheCordonStays) {
  begin(R"("enabled":true,"uncordon":false)");
  request("a", "n1");
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, minutes{1}));
  set_state("a", "Completed");
  run(seconds{5});
  EXPECT_TRUE(cordoned("n1"));
  EXPECT_FALSE(held());
}

// Nobody knows in what state it is.
TEST_F(RequestDrainTest, ANodeWhoseWorkTookTooLongStaysAsItIs) {
  begin(R"("enabled":true)", R"(,"timeouts":{"inProgressSeconds":60})");
  request("a", "n1");
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, minutes{1}));
  set_state("a", "InProgress");
  run(minutes{2});
  EXPECT_EQ(reason("a"), "MaintenanceTimedOut");
  EXPECT_TRUE(cordoned("n1"));
  EXPECT_FALSE(held());
  run(minutes{10});
  EXPECT_FALSE(exists("a"));
  EXPECT_TRUE(cordoned("n1"));
}

TEST_F(RequestDrainTest, VolumesAreDetachedFirst) {
  begin(R"("enabled":true)", R"(,"infraDrain":{"enabled":true,"timeoutSeconds":600})");
  merge(node_path("n1"), R"({"status":{"volumesAttached":[{"name":"csi^vol-1","devicePath":""}]}})");
  put("/apis/storage.k8s.io/v1/volumeattachments/va-1",
      R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","spec":{"attacher":"csi","nodeName":"n1",
          "source":{"persistentVolumeName":"pv-1"}}})");
  put("/apis/storage.k8s.io/v1/volumeattachments/va-2",
      R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","spec":{"attacher":"csi","nodeName":"n2",
          "source":{"persistentVolumeName":"pv-2"}}})");
  run(seconds{5});
  request("a", "n1");
  ASSERT_TRUE(until([&] { return pods() == 0; }, minutes{1}));
  run(seconds{5});
  EXPECT_EQ(phase("a"), "InfraDraining");
  EXPECT_THAT(message("a"), HasSubstr("va-1"));
  ask("DELETE", "/apis/storage.k8s.io/v1/volumeattachments/va-1");
  run(seconds{5});
  EXPECT_EQ(state("a"), "Pending") << "the node says that one is attached";
  merge(node_path("n1"), R"({"status":{"volumesAttached":null}})");
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, seconds{2}));
}

TEST_F(RequestDrainTest, VolumesThatStayRejectIt) {
  begin(R"("enabled":true)", R"(,"infraDrain":{"enabled":true,"timeoutSeconds":60})");
  put("/apis/storage.k8s.io/v1/volumeattachments/va-1",
      R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","spec":{"attacher":"csi","nodeName":"n1",
          "source":{"persistentVolumeName":"pv-1"}}})");
  request("a", "n1");
  run(minutes{3});
  EXPECT_EQ(reason("a"), "InfraDrainTimedOut");
  EXPECT_FALSE(cordoned("n1"));
}

TEST_F(RequestDrainTest, APauseStopsItsDrain) {
  begin();
  request("a", "n1");
  ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, minutes{1}));
  put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause",
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"annotations":{"careen.dev/pause":
          "{\"all\":{\"by\":\"ana@host\",\"since\":\"2026-01-01T00:00:00Z\"}}"}}})");
  run(seconds{2});
  set_state("a", "Completed");
  run(seconds{5});
  EXPECT_FALSE(cordoned("n1")) << "what gives back goes on";
  add_pod("p3", "n1");
  run(seconds{2});
  request("b", "n1");
  run(minutes{1});
  EXPECT_EQ(reason("b"), "Paused");
  EXPECT_FALSE(cordoned("n1"));
}

}  // namespace
}  // namespace careen::requests
