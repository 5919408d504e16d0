// What one node, one answer or one record must not do to all the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_replica.h"
#include "kube/sink.h"

namespace careen::profiles {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using kube::Json;
using kube::Request;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kUnlimitedYaml = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
profiles:
- name: p
  operational: {transitions: [{check: go, next: in-maintenance}]}
  in-maintenance: {transitions: [{check: "!go", next: operational}]}
)";

constexpr const char* kTurnYaml = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: turn, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: kube-system}}
profiles:
- name: p
  operational: {transitions: [{check: go && turn, next: maintenance-required}]}
)";

class ControllerTroubleTest : public ClusterTest {
 protected:
  static constexpr const char* kLedger = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-ledger";

  static sim::Treatment quick() { return {.before = milliseconds{2}, .after = milliseconds{2}}; }
  static bool writes_node(const Request& request) {
    return request.method == "PATCH" && request.path.starts_with("/api/v1/nodes/");
  }
  // Of nodes whose names begin so.
  static bool writes_node(const Request& request, std::string_view name) {
    return writes_node(request) && request.path.starts_with(path(name));
  }
  static sim::Treatment refused(int code, std::string_view reason, std::string_view message) {
    sim::Treatment treatment = quick();
    treatment.refuse = sim::ApiServer::refusal(code, reason, message);
    return treatment;
  }
  int events(std::string_view reason) const {
    int count = 0;
    api.server.for_each("/apis/events.k8s.io/v1/events", [&](const std::string&, const sim::Text& text) {
      const auto event = Json::parse(*text);
      count += event && (*event)["reason"].text() == reason;
    });
    return count;
  }
};

// The record is one annotation, which the API server refuses above 256 KiB.
TEST_F(ControllerTroubleTest, AFleetWithoutALimitGoesThroughALedgerOfBoundedSize) {
  constexpr size_t kNodes = 3000;
  size_t largest = 0;
  const auto watch_nodes = api.changed;
  api.changed = [&](std::string_view changed, kube::JsonView object) {
    if (changed == kLedger && object) {
      const auto record = object["metadata"]["annotations"]["careen.dev/ledger"].text();
      largest = std::max(largest, record.value_or("").size());
    }
    watch_nodes(changed, object);
  };
  add_nodes(kNodes);
  api.treat = [](const Request&) { return quick(); };
  Replica replica(time, api, "a", kUnlimitedYaml);
  ASSERT_TRUE(time.run_until([&] { return !replica.controller.waiters().empty(); }, minutes{1}))
      << "the ledger has room for all of them";
  const Decision decision = replica.controller.explain(name(kNodes - 1));
  EXPECT_THAT(to_text(decision.why), HasSubstr("the ledger is full"));
  ASSERT_TRUE(time.run_until([&] { return in.size() == kNodes; }, minutes{30}));
  EXPECT_GT(largest, size_t{100} << 10);
  EXPECT_LE(largest, size_t{192} << 10);
  time.run_for(minutes{1});
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
  EXPECT_TRUE(replica.controller.waiters().empty());
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

// A webhook that cannot be called has stored nothing: its nodes neither keep their places nor hold up others.
TEST_F(ControllerTroubleTest, NodesBehindABrokenWebhookHoldUpNobody) {
  for (int i = 0; i < 20; ++i) add_node(fmt::format("broken-{:02}", i), {{"go", ""}});
  time.run_for(seconds{1});
  add_nodes(20);
  api.treat = [](const Request& request) {
    if (!writes_node(request, "broken")) return quick();
    return refused(500, "InternalError",
                   "Internal error occurred: failed calling webhook \"w.example.com\": connection refused");
  };
  Replica replica(time, api, "a", round(3));
  ASSERT_TRUE(time.run_until([&] { return done.size() == 20; }, minutes{3}));
  EXPECT_LE(most, 3u);
}

// Nothing proves that these have stored nothing. They keep their places until they are settled, but no slot.
TEST_F(ControllerTroubleTest, NodesWhoseWritesAreNeverSettledHoldNoSlot) {
  for (int i = 0; i < 20; ++i) add_node(fmt::format("broken-{:02}", i), {{"go", ""}});
  time.run_for(seconds{1});
  add_nodes(20);
  api.treat = [](const Request& request) {
    return writes_node(request, "broken") ? refused(502, "", "bad gateway") : quick();
  };
  Replica replica(time, api, "a", round(25));
  ASSERT_TRUE(time.run_until([&] { return done.size() == 20; }, minutes{3}));
}

TEST_F(ControllerTroubleTest, APlaceThatCannotBeSettledIsGivenToAnotherInTheEnd) {
  add_node("broken", {{"go", ""}});
  Replica replica(time, api, "a", round(1));
  api.treat = [](const Request& request) {
    const bool admits = request.body.find("\"in-maintenance\"") != std::string::npos;
    const bool touches = request.body.find(kTouchAnnotation) != std::string::npos;
    return writes_node(request, "broken") && (admits || touches) ? refused(502, "", "bad gateway") : quick();
  };
  time.run_for(minutes{1});
  add_nodes(2);
  time.run_for(minutes{5});
  EXPECT_EQ(done.size(), 0u) << "the write may still arrive";
  EXPECT_TRUE(replica.problems.open().contains("write node/broken"));
  ASSERT_TRUE(time.run_until([&] { return done.size() == 2; }, minutes{30}));
  EXPECT_EQ(most, 1u);
}

// A server that hangs for some nodes costs the others at most the time of one write.
TEST_F(ControllerTroubleTest, WritesThatHangDelayTheOthersOnce) {
  for (int i = 0; i < 40; ++i) add_node(fmt::format("a-hangs-{:02}", i), {{"go", ""}});
  add_nodes(100);
  api.treat = [](const Request& request) {
    sim::Treatment treatment = quick();
    treatment.lost = writes_node(request, "a-hangs");
    return treatment;
  };
  Replica replica(time, api, "a", kUnlimitedYaml);
  ASSERT_TRUE(time.run_until([&] { return in.size() == 100; }, seconds{40}));
  for (int i = 100; i < 200; ++i) add_node(name(i), {{"go", ""}});
  EXPECT_TRUE(time.run_until([&] { return in.size() == 200; }, seconds{5}));
}

class MaskedTest : public ControllerTroubleTest, public testing::WithParamInterface<int> {};

// The move has happened, whatever a proxy says: its lease is spent, and it is announced once.
TEST_P(MaskedTest, AMoveThatIsDeniedAfterwardsIsFoundOut) {
  add_nodes(3);
  api.treat = [](const Request& request) {
    sim::Treatment treatment = quick();
    if (writes_node(request) && request.body.find("maintenance-required") != std::string::npos) {
      treatment.mask = sim::ApiServer::refusal(GetParam(), GetParam() == 409 ? "Conflict" : "", "somebody on the way");
    }
    return treatment;
  };
  Replica replica(time, api, "a", kTurnYaml);
  replica.scope.spawn(replica.events.run());
  const auto moved = [&] {
    return std::count_if(known.begin(), known.end(),
                         [&](const std::string& node) { return state_of(node) == "maintenance-required"; });
  };
  time.run_for(minutes{9});
  EXPECT_EQ(moved(), 1);
  EXPECT_EQ(events("ChangedMaintenanceState"), 1);
  time.run_for(minutes{30});
  EXPECT_EQ(moved(), 3);
  EXPECT_EQ(events("ChangedMaintenanceState"), 3);
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

// Nor is a conflict a refusal as long as nobody can look what the node is now.
TEST_F(ControllerTroubleTest, AConflictThatCannotBeLookedAtIsNoRefusal) {
  add_nodes(3);
  bool readable = true;
  api.treat = [&](const Request& request) {
    sim::Treatment treatment = quick();
    if (writes_node(request) && request.body.find("maintenance-required") != std::string::npos) {
      treatment.mask = sim::ApiServer::refusal(409, "Conflict", "somebody on the way");
      readable = false;
      api.freeze_watches(true);
    }
    if (!readable && request.method == "GET" && request.path.starts_with("/api/v1/nodes/")) {
      treatment.refuse = sim::ApiServer::refusal(503, "", "not now");
    }
    return treatment;
  };
  Replica replica(time, api, "a", kTurnYaml);
  const auto moved = [&] {
    return std::count_if(known.begin(), known.end(),
                         [&](const std::string& node) { return state_of(node) == "maintenance-required"; });
  };
  ASSERT_TRUE(time.run_until([&] { return moved() == 1; }, minutes{1}));
  time.run_for(minutes{9});
  EXPECT_EQ(moved(), 1);
  EXPECT_EQ(replica.ledger.entries().size(), 1u);
  api.treat = nullptr;
  api.freeze_watches(false);
  time.run_for(minutes{25});
  EXPECT_EQ(moved(), 3);
}

INSTANTIATE_TEST_SUITE_P(ControllerTrouble, MaskedTest, testing::Values(409, 429, 500, 502, 503, 504, 524));

}  // namespace
}  // namespace careen::profiles
