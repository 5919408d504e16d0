// Others are held back while a group is full, and let go again.
#include "turnstile/governors.h"

#include "limits/test_desk.h"

namespace careen::turnstile {
namespace {

using io::minutes;
using io::seconds;
using kube::Json;
using limits::NodeSpec;

constexpr const char* kScaleDown = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
constexpr const char* kLock = "weave.works/kured-node-lock";
const std::string kKured = "/apis/apps/v1/namespaces/kube-system/daemonsets/kured";

class GovernorsTest : public testing::Test, public limits::DeskWorld {
 protected:
  void SetUp() override {
    api.changed = [this](std::string_view path, kube::JsonView object) {
      if (!path.starts_with("/api/v1/nodes/") || !object.is_object()) return;
      auto decoded = kube::decode_node(object.dump(), atoms);
      ASSERT_TRUE(decoded);
      changed.push_back(std::move(*decoded));
    };
    api.put("/api/v1/namespaces/kube-system", Json::object());
    for (const char* name : {"n1", "n2", "n3"}) node(name);
    limit("workers", R"({"type":"node","maxUnavailable":1,"governors":["clusterAutoscaler","kured"]})");
    open();
    lead();
  }
  void TearDown() override { work.reset(); }
  void lead() {
    work.emplace(*loop);
    governors.emplace(GovernorsParts{*loop, client, nodes, *desk, *ledger, problems, io::Log{}});
    work->spawn(governors->run());
    go_on(seconds{1});
  }
  // The watch, too.
  void go_on(io::Duration span) {
    for (const io::Steady end = loop->now() + span; loop->now() < end;) {
      time.run_for(std::min<io::Duration>(seconds{1}, end - loop->now()));
      for (auto& one : std::exchange(changed, {})) nodes.put(std::move(one));
    }
  }
  void node(const std::string& name, const NodeSpec& spec = {}) {
    const std::string path = "/api/v1/nodes/" + name;
    Json object = node_of(name, spec);
    object.remove({"metadata", "resourceVersion"});
    const Json before = api.object(path);
    if (before.view().is_object()) object.set({"metadata", "annotations"}, Json(before["metadata"]["annotations"]));
    api.put(path, std::move(object));
    for (auto& one : std::exchange(changed, {})) nodes.put(std::move(one));
  }
  std::string annotation(const std::string& path, const char* key) {
    return std::string(api.object(path)["metadata"]["annotations"][key].text().value_or("-"));
  }
  std::string on_node(const std::string& name, const char* key) { return annotation("/api/v1/nodes/" + name, key); }
  void daemon_set(const std::string& lock = {}) {
    Json set = *Json::parse(R"({"metadata":{"name":"kured","namespace":"kube-system"},
        "spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    if (!lock.empty()) set.set({"metadata", "annotations", kLock}, lock);
    api.put(kKured, std::move(set));
  }

  std::vector<kube::Node> changed;
  std::optional<io::Scope> work;
  std::optional<Governors> governors;
};

TEST_F(GovernorsTest, NodesAreHeldWhileTheGroupIsFull) {
  EXPECT_EQ(on_node("n2", kScaleDown), "-");
  node("n1", {.cordoned_by = "kubectl"});
  go_on(seconds{90});
  EXPECT_EQ(on_node("n1", kScaleDown), "-") << "it is on its way already";
  for (const char* name : {"n2", "n3"}) EXPECT_EQ(on_node(name, kScaleDown), "true") << name;
  node("n1");
  go_on(minutes{3});
  for (const char* name : {"n1", "n2", "n3"}) {
    EXPECT_EQ(on_node(name, kScaleDown), "-") << name;
    EXPECT_EQ(on_node(name, "careen.dev/governed"), "-") << name;
  }
  EXPECT_TRUE(ledger->entries().empty());
}

TEST_F(GovernorsTest, AtMostOneSwitchAMinute) {
  node("n1", {.cordoned_by = "kubectl"});
  go_on(seconds{90});
  const int patches = api.count("PATCH nodes");
  for (int i = 0; i < 10; ++i) {
    node("n1");
    go_on(seconds{5});
    node("n1", {.cordoned_by = "kubectl"});
    go_on(seconds{5});
  }
  EXPECT_LE(api.count("PATCH nodes"), patches + 4) << "two nodes, twice";
}

TEST_F(GovernorsTest, KuredFindsItsLockTaken) {
  daemon_set();
  node("n1", {.cordoned_by = "kubectl"});
  go_on(seconds{90});
  EXPECT_NE(annotation(kKured, kLock), "-");
  node("n1");
  go_on(minutes{3});
  EXPECT_EQ(annotation(kKured, kLock), "-");
}

TEST_F(GovernorsTest, ALockThatKuredHoldsStaysItsOwn) {
  daemon_set(R"({"nodeID":"n3"})");
  node("n1", {.cordoned_by = "kubectl"});
  go_on(seconds{90});
  EXPECT_EQ(annotation(kKured, kLock), R"({"nodeID":"n3"})");
  node("n1");
  go_on(minutes{3});
  EXPECT_EQ(annotation(kKured, kLock), R"({"nodeID":"n3"})");
}

TEST_F(GovernorsTest, ASuccessorTakesAwayWhatWasLeft) {
  daemon_set();
  node("n1", {.cordoned_by = "kubectl"});
  go_on(seconds{90});
  work.reset();
  node("n1");
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  time.run_for(seconds{1});
  lead();
  go_on(minutes{2});
  EXPECT_EQ(on_node("n2", kScaleDown), "-");
  EXPECT_EQ(annotation(kKured, kLock), "-");
  EXPECT_TRUE(ledger->entries().empty());
}

// Somebody has deleted the ledger meanwhile.
TEST_F(GovernorsTest, ASuccessorWithoutARecordLooksWhatIsHeld) {
  daemon_set();
  node("n1", {.cordoned_by = "kubectl"});
  go_on(seconds{90});
  ASSERT_NE(annotation(kKured, kLock), "-");
  work.reset();
  node("n1");
  for (const auto& [key, entry] : std::map(ledger->entries())) ledger->finish(key);
  time.run_for(seconds{1});
  lead();
  go_on(minutes{2});
  EXPECT_EQ(on_node("n2", kScaleDown), "-");
  EXPECT_EQ(annotation(kKured, kLock), "-");
}

TEST_F(GovernorsTest, WhereNoLimitNamesOneNothingIsAsked) {
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  time.run_for(seconds{1});
  const int lists = api.count("LIST daemonsets");
  node("n1", {.cordoned_by = "kubectl"});
  go_on(minutes{3});
  EXPECT_EQ(api.count("LIST daemonsets"), lists);
  EXPECT_EQ(on_node("n2", kScaleDown), "-");
}

}  // namespace
}  // namespace careen::turnstile
