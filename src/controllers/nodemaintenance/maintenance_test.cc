// The pure parts: reading objects, writing statuses, the rules of the lease, what a drain's progress means.
#include "controllers/nodemaintenance/maintenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/nodemaintenance/drain_report.h"
#include "controllers/nodemaintenance/drain_spec.h"
#include "controllers/nodemaintenance/lifecycle.h"
#include "controllers/nodemaintenance/names.h"
#include "controllers/nodemaintenance/node_lease.h"
#include "controllers/nodemaintenance/roster.h"
#include "kube/decode.h"

namespace careen::nodemaintenance {
namespace {

using io::seconds;
using kube::Json;
using testing::HasSubstr;

io::Wall at(std::string_view text) { return *io::parse_rfc3339(text); }
const io::Wall kNow = at("2026-05-20T08:31:07.123456Z");

Maintenance read(const std::string& rest) {
  const auto object = kube::decode_object(
      R"({"apiVersion":"nodemaintenance.medik8s.io/v1beta1","kind":"NodeMaintenance",)" + rest + "}");
  return parse_maintenance(*object);
}

TEST(Maintenance, ReadsWhatTheOriginalWrote) {
  const Maintenance m = read(R"("metadata":{"name":"m","uid":"u","resourceVersion":"7",
    "creationTimestamp":"2026-05-20T08:00:00Z","finalizers":["a/b","foregroundDeleteNodeMaintenance"]},
    "spec":{"nodeName":"worker-7","reason":"memory"},"status":{"phase":"Running","drainProgress":40,"evictionPods":5,
    "totalpods":19,"pendingPods":["db-0"],"pendingPodsRefs":[{"namespace":"shop","name":"db-0"}],"lastError":"e",
    "errorOnLeaseCount":2,"lastUpdate":"2026-05-20T08:31:07Z"})");
  EXPECT_EQ(m.node, "worker-7");
  EXPECT_EQ(m.version, 7u);
  EXPECT_TRUE(m.has_finalizer());
  EXPECT_TRUE(m.of_predecessor());
  EXPECT_FALSE(m.deleting);
  EXPECT_EQ(m.status.phase, Phase::running);
  EXPECT_EQ(m.status.progress, 40);
  EXPECT_EQ(m.status.eviction_pods, 5);
  EXPECT_EQ(m.status.total_pods, 19);
  EXPECT_EQ(m.status.lease_errors, 2);
  EXPECT_EQ(m.status.pending, (std::vector<PodRef>{{"shop", "db-0"}}));
  EXPECT_TRUE(m.options.force && m.options.ignore_daemon_sets && m.options.delete_emptydir_data);
  EXPECT_LT(m.options.grace_seconds, 0);
}

TEST(Maintenance, ReadsWhatMakesNoSense) {
  const Maintenance m = read(R"("metadata":{"name":"m","uid":"u","resourceVersion":"7","finalizers":3},"spec":[],
    "status":{"phase":{},"drainProgress":"x","pendingPods":"y","conditions":[3]})");
  EXPECT_EQ(m.node, "");
  EXPECT_EQ(m.status.phase, Phase::none);
  EXPECT_EQ(m.mistake, "");
}

TEST(Maintenance, TheStatusLeavesOutWhatIsZero) {
  Status status;
  status.phase = Phase::running;
  const Json patch = status_patch(status, kNow);
  EXPECT_EQ(patch["lastUpdate"].text(), "2026-05-20T08:31:07Z");
  for (const char* field : {"drainProgress", "lastError", "totalpods", "evictionPods", "errorOnLeaseCount",
                            "pendingPods", "pendingPodsRefs", "conditions"}) {
    EXPECT_TRUE(patch[field].is_null()) << field;
  }
  status.pending = {{"shop", "a"}};
  status.progress = 5;
  EXPECT_EQ(Json(status_patch(status, kNow)["pendingPodsRefs"]).dump(), R"([{"namespace":"shop","name":"a"}])");
  EXPECT_EQ(status_patch(status, kNow)["drainProgress"].integer(), 5);
}

TEST(Maintenance, AConditionWithoutATimeKeepsNone) {
  const Maintenance m = read(R"("metadata":{"name":"m","uid":"u","resourceVersion":"7"},
    "status":{"conditions":[{"type":"Drained","lastTransitionTime":"0001-01-01T00:00:00Z"}]})");
  const Json patch = status_patch(m.status, kNow);
  EXPECT_EQ(patch.at("/conditions/0/lastTransitionTime").text(), "0001-01-01T00:00:00Z");
}

TEST(Roster, TheOldestOwnsTheNodeAndEqualOnesGoByUid) {
  const auto one = [](std::string name, std::string uid, std::string created) {
    Maintenance m;
    m.node = "n";
    m.name = std::move(name);
    m.uid = std::move(uid);
    m.created = std::move(created);
    return m;
  };
  Roster roster;
  roster.put(one("a", "3", "2026-01-01T00:00:01Z"));
  roster.put(one("b", "2", "2026-01-01T00:00:01Z"));
  roster.put(one("c", "1", "2026-01-01T00:00:02Z"));
  EXPECT_EQ(roster.owner_of("n")->name, "b");
  Maintenance leaving = one("b", "2", "2026-01-01T00:00:01Z");
  leaving.deleting = true;
  roster.put(leaving);
  EXPECT_EQ(roster.owner_of("n")->name, "a");
  EXPECT_EQ(roster.owner_of("n", roster.find("a"))->name, "c");
  roster.remove("a");
  roster.remove("c");
  EXPECT_EQ(roster.owner_of("n"), nullptr);
}

class NodeLeaseTest : public testing::Test {
 protected:
  NodeLeaseTest() {
    node.name = "Worker-7";
    node.uid = "n-uid";
    lease.name = "node-worker-7";
    lease.uid = "l-uid";
    lease.version = 5;
    lease.holder = kLeaseHolder;
    lease.acquired = lease.renewed = kNow - seconds{60};
    lease.duration_seconds = 3600;
    lease.transitions = 2;
  }
  Json request() { return lease_request(&lease, node, "ns", kNow).value_or(Json()); }
  kube::Node node;
  kube::Lease lease;
};

TEST_F(NodeLeaseTest, IsCreatedForTheNode) {
  const auto body = lease_request(nullptr, node, "ns", kNow);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->at("/metadata/name").text(), "node-worker-7");
  EXPECT_EQ(body->at("/metadata/ownerReferences").size(), 1u);
  EXPECT_EQ(body->at("/metadata/ownerReferences/0/uid").text(), "n-uid");
  EXPECT_EQ(body->at("/spec/acquireTime").text(), "2026-05-20T08:31:07.123456Z");
  EXPECT_EQ(body->at("/spec/leaseTransitions").integer(), 0);
}

TEST_F(NodeLeaseTest, OursIsRenewed) {
  EXPECT_EQ(request().at("/spec/renewTime").text(), "2026-05-20T08:31:07.123456Z");
  EXPECT_FALSE(request().at("/spec/acquireTime").exists());
  EXPECT_FALSE(request().at("/spec/leaseTransitions").exists());
  EXPECT_EQ(request().at("/metadata/resourceVersion").text(), "5");
  lease.renewed = kNow - seconds{4000};
  EXPECT_FALSE(request().at("/spec/acquireTime").exists()) << "run out, but still ours";
  lease.acquired.reset();
  EXPECT_TRUE(request().at("/spec/acquireTime").exists());
  EXPECT_EQ(request().at("/spec/leaseTransitions").integer(), 3);
  lease.acquired = kNow;
  lease.renewed.reset();
  EXPECT_EQ(request().at("/spec/leaseTransitions").integer(), 3) << "incomplete";
  lease.renewed = kNow;
  EXPECT_FALSE(lease_request(&lease, node, "ns", kNow)) << "long enough";
}

TEST_F(NodeLeaseTest, AnothersIsTakenOnlyWhenItIsNotValid) {
  lease.holder = "other";
  EXPECT_TRUE(is_foreign(lease, kNow));
  EXPECT_EQ(held_by_other(lease), "can't update or invalidate the lease because it is held by different owner: other");
  lease.holder = "";
  EXPECT_TRUE(is_foreign(lease, kNow));
  EXPECT_THAT(held_by_other(lease), HasSubstr("owner: unknown"));
  lease.renewed = kNow - seconds{3600};
  EXPECT_TRUE(is_foreign(lease, kNow)) << "due now";
  lease.renewed = kNow - seconds{3601};
  EXPECT_FALSE(is_foreign(lease, kNow)) << "run out";
  lease.renewed = kNow + seconds{1};
  EXPECT_TRUE(is_foreign(lease, kNow)) << "its holder's clock is ahead of ours";
  lease.renewed = kNow + seconds{3601};
  EXPECT_FALSE(is_foreign(lease, kNow)) << "from the future";
  lease.renewed = kNow;
  lease.duration_seconds.reset();
  EXPECT_FALSE(is_foreign(lease, kNow)) << "incomplete";
  lease.transitions.reset();
  EXPECT_EQ(request().at("/spec/holderIdentity").text(), kLeaseHolder);
  EXPECT_EQ(request().at("/spec/leaseTransitions").integer(), 1);
  EXPECT_TRUE(request().at("/spec/acquireTime").exists());
}

TEST(DrainSpec, ReadsEveryField) {
  const Json spec = *Json::parse(R"-({"gracePeriodSeconds":5,"skipPods":["a=b"],
    "waitForPods":["job"],"tiers":["t=1","t in (2,3)"],"byPriority":true,"chaseNewcomers":true,"deleteAfterSeconds":60,
    "killAfterSeconds":0})-");
  const auto options = drain_options(spec.view());
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->grace_seconds, 5);
  EXPECT_EQ(options->skip.size(), 1u);
  EXPECT_EQ(options->wait_for.size(), 1u);
  EXPECT_EQ(options->tiers.size(), 2u);
  EXPECT_TRUE(options->by_priority);
  EXPECT_TRUE(options->chase_newcomers);
  EXPECT_EQ(options->delete_after, io::Duration(seconds{60}));
  EXPECT_EQ(options->kill_after, io::Duration(seconds{0}));
}

TEST(DrainSpec, NamesTheFieldThatIsWrong) {
  const auto mistake = [](std::string_view text) {
    const Json spec = *Json::parse(text);
    const auto options = drain_options(spec.view());
    return options ? std::string("(none)") : options.error().message;
  };
  EXPECT_THAT(mistake(R"({"tiers":["a","b in ("]})"), HasSubstr("spec.drain.tiers[1]: "));
  EXPECT_THAT(mistake(R"({"skipPods":[""]})"), HasSubstr("spec.drain.skipPods[0]: an empty selector"));
  EXPECT_THAT(mistake(R"({"waitForPods":"a"})"), HasSubstr("spec.drain.waitForPods: must be a list"));
  EXPECT_EQ(mistake(R"({"killAfterSeconds":-1})"),
            "spec.drain.killAfterSeconds: must be a number of seconds, 0 or more; it is -1");
  EXPECT_THAT(mistake(R"({"byPriority":"yes"})"), HasSubstr("spec.drain.byPriority"));
  EXPECT_THAT(mistake(R"({"chaseNewcomers":1})"), HasSubstr("spec.drain.chaseNewcomers"));
  EXPECT_EQ(mistake(R"({"skipPods":null,"gracePeriodSeconds":null})"), "(none)");
}

class DrainReportTest : public testing::Test {
 protected:
  void add(std::string name, drain::Stage stage, std::string cause, std::string budget = "") {
    progress.pods.push_back({"shop", std::move(name), "u", stage, kNow - seconds{40}, "a reason", budget, cause});
  }
  drain::Progress progress;
  Status status;
};

TEST_F(DrainReportTest, CountsAndNeverBelowZero) {
  progress.pods_to_evict = 5;
  progress.total_pods = 9;
  add("a", drain::Stage::evicting, "");
  add("b", drain::Stage::evicting, "");
  report_draining(status, progress, kNow);
  EXPECT_EQ(status.progress, 60);
  EXPECT_EQ(status.total_pods, 9);
  EXPECT_EQ(status.last_error, "");
  status.eviction_pods = 1;
  progress.pods_to_evict = 0;
  report_draining(status, progress, kNow);
  EXPECT_EQ(status.progress, 0);
}

TEST_F(DrainReportTest, SpeaksAsKubectlDoes) {
  add("a", drain::Stage::blocked, "Cannot evict pod", "shop/db");
  EXPECT_EQ(drain_error(progress, kNow), R"(error when evicting pods/"a" -n "shop": Cannot evict pod)");
  add("b", drain::Stage::terminating, "");
  EXPECT_EQ(drain_error(progress, kNow),
            R"([error when evicting pods/"a" -n "shop": Cannot evict pod, )"
            R"(error when waiting for pod "b" in namespace "shop" to terminate: still there after 30s])");
  EXPECT_EQ(drain_error(progress, kNow - seconds{11}), R"(error when evicting pods/"a" -n "shop": Cannot evict pod)");
  EXPECT_EQ(next_complaint(progress, kNow - seconds{11}), kNow - seconds{10});
}

TEST_F(DrainReportTest, AThousandBlockedPodsAreNotAllNamed) {
  for (int i = 0; i < 1000; ++i) add("p" + std::to_string(i), drain::Stage::blocked, "no", "shop/db");
  report_draining(status, progress, kNow);
  EXPECT_LT(status.last_error.size(), 2000u);
  EXPECT_THAT(status.last_error, HasSubstr("and 990 more"));
  EXPECT_THAT(status.condition(kBlocked)->message, HasSubstr("and 990 more"));
}

TEST_F(DrainReportTest, ConditionsKeepTheirTimeUntilTheyTurn) {
  report_draining(status, progress, kNow);
  const io::Wall first = status.condition(kDrained)->since;
  report_draining(status, progress, kNow + seconds{10});
  EXPECT_EQ(status.condition(kDrained)->since, first);
  report_drained(status, progress, kNow + seconds{20});
  EXPECT_GT(status.condition(kDrained)->since, first);
  EXPECT_EQ(status.condition(kBlocked)->since, first);
}

TEST(Lifecycle, WritesOnlyWhatChanges) {
  kube::AtomPool atoms;
  kube::Node node;
  EXPECT_FALSE(lifecycle_patch(node, Stage::none, kNow));
  const auto draining = lifecycle_patch(node, Stage::draining, kNow);
  ASSERT_TRUE(draining);
  EXPECT_EQ(draining->at("/status/conditions").size(), 2u);
  node.conditions = {{atoms.intern("DrainInProgress"), atoms.intern("True")},
                     {atoms.intern("MaintenanceInProgress"), atoms.intern("True")}};
  EXPECT_FALSE(lifecycle_patch(node, Stage::draining, kNow));
  EXPECT_EQ(lifecycle_patch(node, Stage::drained, kNow)->at("/status/conditions").size(), 2u);
  EXPECT_EQ(lifecycle_patch(node, Stage::none, kNow)->at("/status/conditions/0/status").text(), "False");
}

}  // namespace
}  // namespace careen::nodemaintenance
