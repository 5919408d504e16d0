#include "kube/pod_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/random.h"
#include "kube/pod_record.h"
#include "kube/sink.h"

namespace careen::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kUid = "8f14e45f-ceea-467f-a0e6-0123456789ab";

constexpr const char* kPod = R"({
  "kind": "Pod", "metadata": {
    "name": "web-7d9f8c6b5-x2x4z", "generateName": "web-7d9f8c6b5-", "namespace": "shop",
    "uid": "8f14e45f-ceea-467f-a0e6-0123456789ab", "resourceVersion": "4711",
    "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T04:00:30Z",
    "deletionGracePeriodSeconds": 30,
    "labels": {"tier": "front", "app": "web", "empty": ""},
    "annotations": {"x": "y"}, "finalizers": ["a", "example.com/b"],
    "ownerReferences": [{"kind": "Other", "name": "x", "uid": "1"},
                        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d9f8c6b5", "uid": "2",
                         "controller": true, "blockOwnerDeletion": true}]},
  "spec": {"nodeName": "worker-1", "priority": 1000, "containers": [{"name": "c", "image": "i"}],
           "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}]},
  "status": {"phase": "Running", "conditions": [{"type": "Initialized", "status": "False"},
                                                {"type": "Ready", "status": "True"}]}
})";

class PodStoreTest : public testing::Test {
 protected:
  PodFacts facts(std::string_view name, uint64_t version, std::string_view node = "n1") {
    PodFacts f;
    f.ns = "ns";
    f.name = name;
    f.uid = kUid;
    f.version = version;
    f.node = node;
    f.phase = PodPhase::running;
    return f;
  }
  std::vector<std::string> on(std::string_view node) {
    std::vector<std::string> out;
    pods.for_each_on(node, [&](const Pod& p) { out.push_back(p.name); });
    return out;
  }
  AtomPool atoms;
  PodStore pods{atoms};
};

TEST_F(PodStoreTest, ReadsThePodAsItWasSent) {
  ASSERT_TRUE(pods.put_json(kPod));
  const auto pod = pods.find("shop", "web-7d9f8c6b5-x2x4z");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->ns, "shop");
  EXPECT_EQ(pod->name, "web-7d9f8c6b5-x2x4z");
  EXPECT_EQ(pod->uid, kUid);
  EXPECT_EQ(pod->version, 4711u);
  EXPECT_EQ(pod->node, "worker-1");
  EXPECT_EQ(pod->owner_kind, "ReplicaSet");
  EXPECT_EQ(pod->owner_name, "web-7d9f8c6b5");
  std::vector<std::pair<std::string, std::string>> owners;
  pod->for_each_owner([&](std::string_view kind, std::string_view name) { owners.emplace_back(kind, name); });
  EXPECT_THAT(owners, ElementsAre(Pair("ReplicaSet", "web-7d9f8c6b5"), Pair("Other", "x")));
  EXPECT_EQ(pod->priority, 1000);
  EXPECT_EQ(pod->phase, PodPhase::running);
  EXPECT_FALSE(pod->finished());
  ASSERT_TRUE(pod->terminating());
  EXPECT_EQ(io::format_rfc3339(*pod->deletion), "2026-01-02T04:00:30Z");
  EXPECT_TRUE(pod->flags.ready);
  EXPECT_TRUE(pod->flags.local_storage);
  EXPECT_EQ(pod->finalizers, "a,example.com/b");
  EXPECT_EQ(pod->deletion_grace, io::Duration(io::seconds{30}));
  EXPECT_FALSE(pod->flags.mirror);
  EXPECT_EQ(pod->label("app"), "web");
  EXPECT_EQ(pod->label("empty"), "");
  EXPECT_EQ(pod->label("absent"), std::nullopt);
  std::vector<std::pair<std::string, std::string>> labels;
  pod->for_each_label([&](std::string_view k, std::string_view v) { labels.emplace_back(k, v); });
  EXPECT_THAT(labels, ElementsAre(Pair("app", "web"), Pair("empty", ""), Pair("tier", "front")));
}

TEST_F(PodStoreTest, KnowsWhichOwnersAreDaemonSets) {
  const auto flags_of = [&](std::string_view owners) {
    static int version = 0;
    EXPECT_TRUE(pods.put_json(
        fmt::format(R"({{"metadata":{{"name":"p","namespace":"ns","resourceVersion":"{}","ownerReferences":{}}}}})",
                    ++version, owners)));
    return pods.find("ns", "p")->flags;
  };
  const PodFlags of_apps = flags_of(R"([{"apiVersion":"apps/v1","kind":"DaemonSet","name":"a","controller":true}])");
  EXPECT_TRUE(of_apps.daemon_set && of_apps.daemon_kind);
  const PodFlags of_others =
      flags_of(R"([{"apiVersion":"apps.kruise.io/v1alpha1","kind":"DaemonSet","name":"a","controller":true}])");
  EXPECT_TRUE(!of_others.daemon_set && of_others.daemon_kind);
  const PodFlags uncontrolled = flags_of(R"([{"apiVersion":"apps/v1","kind":"DaemonSet","name":"a"}])");
  EXPECT_TRUE(!uncontrolled.daemon_set && uncontrolled.daemon_kind);
  const PodFlags none = flags_of(R"([{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","controller":true}])");
  EXPECT_FALSE(none.daemon_set || none.daemon_kind);
}

TEST_F(PodStoreTest, ABarePodHasNeitherOwnerNorNodeNorLabels) {
  ASSERT_TRUE(pods.put_json(R"({"metadata":{"name":"p","namespace":"ns","resourceVersion":"1",
      "annotations":{"kubernetes.io/config.mirror":"hash"}},"status":{"phase":"Pending"}})"));
  const auto pod = pods.find("ns", "p");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->uid, "");
  EXPECT_EQ(pod->node, "");
  EXPECT_EQ(pod->owner_kind, "");
  EXPECT_TRUE(pod->flags.mirror);
  EXPECT_FALSE(pod->flags.local_storage);
  EXPECT_FALSE(pod->terminating());
  EXPECT_EQ(pod->phase, PodPhase::pending);
  EXPECT_EQ(pods.count_on(""), 0u);
}

TEST_F(PodStoreTest, OwnersThatDoNotControlItAreKnownToo) {
  ASSERT_TRUE(pods.put_json(R"({"metadata":{"name":"set-0","namespace":"ns","resourceVersion":"1",
      "ownerReferences":[{"kind":"StatefulSet","name":"set"},{"kind":"Job","name":"set-0","controller":false}]}})"));
  const auto pod = pods.find("ns", "set-0");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->name, "set-0");
  EXPECT_EQ(pod->owner_kind, "");
  EXPECT_EQ(pod->owner_name, "");
  std::vector<std::pair<std::string, std::string>> owners;
  pod->for_each_owner([&](std::string_view kind, std::string_view name) { owners.emplace_back(kind, name); });
  EXPECT_THAT(owners, ElementsAre(Pair("StatefulSet", "set"), Pair("Job", "set-0")));
}

TEST_F(PodStoreTest, RefusesWhatIsNoPod) {
  EXPECT_FALSE(pods.put_json("{}"));
  EXPECT_FALSE(pods.put_json(R"({"metadata":{"name":"p"}})"));
  EXPECT_FALSE(pods.put_json("{"));
  EXPECT_FALSE(pods.put_json(R"({"metadata":{"name":"p\u0000x","namespace":"ns","resourceVersion":"1"}})"));
  EXPECT_EQ(pods.size(), 0u);
  EXPECT_EQ(atoms.size(), 0u);
}

// Only the part of a name that differs from its owner's is kept; every shape must come back whole.
TEST_F(PodStoreTest, KeepsNamesOfEveryShape) {
  struct Case {
    std::string name, owner, uid;
  };
  const std::string long_name(253, 'x');
  const std::vector<Case> cases = {
      {"web-7d9f8c6b5-x2x4z", "web-7d9f8c6b5", kUid},
      {"db-0", "db", kUid},
      {"db", "db", kUid},
      {"d", "db", kUid},
      {"other", "db", kUid},
      {"alone", "", kUid},
      {"fifteen-letters", "", kUid},
      {"sixteen--letters", "", kUid},
      {long_name, "", kUid},
      {long_name + "y", long_name, kUid},
      {"odd-uid", "odd", "not-a-uuid"},
      {"odd-uid-2", "", "8F14E45F-CEEA-467F-A0E6-0123456789AB"},
      {"no-uid", "", ""},
  };
  uint64_t version = 0;
  for (const Case& c : cases) {
    PodFacts f = facts(c.name, ++version);
    f.uid = c.uid;
    if (!c.owner.empty()) {
      f.owner_kind = "Owner";
      f.owner_name = c.owner;
    }
    EXPECT_TRUE(pods.put(f));
  }
  EXPECT_EQ(pods.size(), cases.size());
  for (const Case& c : cases) {
    const auto pod = pods.find("ns", c.name);
    ASSERT_TRUE(pod) << c.name;
    EXPECT_EQ(pod->name, c.name);
    EXPECT_EQ(pod->uid, c.uid);
    EXPECT_EQ(pod->owner_name, c.owner);
    EXPECT_FALSE(pods.find("other", c.name));
  }
  EXPECT_FALSE(pods.find("ns", "web-7d9f8c6b5"));
  EXPECT_FALSE(pods.find("ns", "web-7d9f8c6b5-x2x4"));
}

// An orphan that is adopted keeps its name although it is stored in another way.
TEST_F(PodStoreTest, APodThatIsAdoptedIsTheSamePod) {
  pods.put(facts("web-x2x4z", 1));
  PodFacts f = facts("web-x2x4z", 2);
  f.owner_kind = "ReplicaSet";
  f.owner_name = "web";
  EXPECT_TRUE(pods.put(f));
  EXPECT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods.find("ns", "web-x2x4z")->owner_name, "web");
}

TEST_F(PodStoreTest, FindsPodsByNode) {
  pods.put(facts("a", 1, "n1"));
  pods.put(facts("b", 2, "n1"));
  pods.put(facts("c", 3, "n2"));
  pods.put(facts("pending", 4, ""));
  EXPECT_THAT(on("n1"), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(on("n2"), ElementsAre("c"));
  EXPECT_THAT(on("n3"), IsEmpty());
  pods.put(facts("pending", 5, "n2"));
  pods.remove("ns", "a", 6);
  EXPECT_THAT(on("n1"), ElementsAre("b"));
  EXPECT_THAT(on("n2"), UnorderedElementsAre("c", "pending"));
  EXPECT_EQ(pods.count_on("n2"), 2u);
  pods.remove("ns", "b", 7);
  EXPECT_EQ(pods.count_on("n1"), 0u);
}

TEST_F(PodStoreTest, EveryFactOfAPodCounts) {
  int told = 0;
  const auto subscription = pods.subscribe([&](const Pod* before, const Pod* after) { told += before && after; });
  PodFacts f = facts("p", 1);
  pods.put(f);
  const auto changes = [&](auto change) {
    change(f);
    ++f.version;
    const int before = told;
    EXPECT_TRUE(pods.put(f));
    return told > before;
  };
  EXPECT_FALSE(changes([](PodFacts&) {}));
  EXPECT_EQ(pods.find("ns", "p")->version, 2u);
  EXPECT_TRUE(changes([](PodFacts& p) { p.node = "other"; }));
  EXPECT_TRUE(changes([](PodFacts& p) { p.phase = PodPhase::failed; }));
  EXPECT_TRUE(changes([](PodFacts& p) { p.labels = {{"a", "b"}}; }));
  EXPECT_FALSE(changes([](PodFacts& p) { p.labels = {{"a", "b"}}; }));
  EXPECT_TRUE(changes([](PodFacts& p) { p.priority = 7; }));
  EXPECT_TRUE(changes([](PodFacts& p) { p.deletion = io::Wall{io::seconds{100}}; }));
  EXPECT_TRUE(changes([](PodFacts& p) { p.flags.ready = true; }));
  EXPECT_TRUE(changes([](PodFacts& p) { p.flags.marked = true; }));
  EXPECT_TRUE(changes([](PodFacts& p) { p.owner_kind = p.owner_name = "o"; }));
}

TEST_F(PodStoreTest, TheOrderOfLabelsIsNoFact) {
  PodFacts f = facts("p", 1);
  f.labels = {{"b", "2"}, {"a", "1"}};
  pods.put(f);
  int told = 0;
  const auto subscription = pods.subscribe([&](const Pod*, const Pod*) { ++told; });
  f.labels = {{"a", "1"}, {"b", "2"}};
  f.version = 2;
  pods.put(f);
  EXPECT_EQ(told, 0);
}

// The preferences a pod may have, and whether a store that looks for "tier In [good]" marks it.
class MarkTest : public testing::Test {
 protected:
  bool marks(std::string_view spec) {
    const auto put = pods.put_json(fmt::format(
        R"({{"metadata":{{"name":"p","namespace":"ns","resourceVersion":"{}"}},"spec":{}}})", ++version, spec));
    EXPECT_TRUE(put.has_value()) << spec;
    return pods.find("ns", "p")->flags.marked;
  }
  static std::string preferring(std::string_view terms) {
    return fmt::format(
        R"({{"affinity":{{"nodeAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":{}}}}},"nodeName":"n1"}})",
        terms);
  }
  static std::string term(std::string_view expressions) {
    return fmt::format(R"({{"weight":1,"preference":{{"matchExpressions":{}}}}})", expressions);
  }
  static std::string only(std::string_view expression) {
    return preferring(fmt::format("[{}]", term(fmt::format("[{}]", expression))));
  }
  AtomPool atoms;
  PodStore pods{atoms, NodePreference{"tier", "In", "good"}};
  uint64_t version = 0;
};

constexpr const char* kGood = R"({"key":"tier","operator":"In","values":["good"]})";
constexpr const char* kOther = R"({"key":"zone","operator":"Exists"})";

TEST_F(MarkTest, ThePreferenceIsFoundWhereverItStands) {
  EXPECT_TRUE(marks(only(kGood)));
  EXPECT_TRUE(marks(only(R"({"values":["good"],"operator":"In","key":"tier"})")));
  EXPECT_TRUE(marks(preferring(
      fmt::format("[{},{}]", term(fmt::format("[{}]", kOther)), term(fmt::format("[{},{}]", kOther, kGood))))));
  EXPECT_TRUE(marks(preferring(fmt::format("[{},{}]", term(fmt::format("[{}]", kGood)), term("[]")))));
}

TEST_F(MarkTest, EveryPartOfThePreferenceCounts) {
  EXPECT_FALSE(marks("{}"));
  EXPECT_FALSE(marks(only(kOther)));
  EXPECT_FALSE(marks(only(R"({"key":"tiers","operator":"In","values":["good"]})")));
  EXPECT_FALSE(marks(only(R"({"key":"tier","operator":"NotIn","values":["good"]})")));
  EXPECT_FALSE(marks(only(R"({"key":"tier","operator":"In","values":["bad"]})")));
  EXPECT_FALSE(marks(only(R"({"key":"tier","operator":"In","values":["bad","good"]})")));
  EXPECT_FALSE(marks(only(R"({"key":"tier","operator":"In","values":["good","good"]})")));
  EXPECT_FALSE(marks(only(R"({"key":"tier","operator":"In","values":[]})")));
  EXPECT_FALSE(marks(only(R"({"key":"tier","operator":"In"})")));
}

TEST_F(MarkTest, OtherKindsOfAffinityAreNoPreference) {
  const std::string terms = fmt::format("[{}]", term(fmt::format("[{}]", kGood)));
  EXPECT_FALSE(marks(fmt::format(
      R"({{"affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchExpressions":[{}]}}]}}}}}}}})",
      kGood)));
  EXPECT_FALSE(marks(fmt::format(
      R"({{"affinity":{{"podAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":{}}}}}}})", terms)));
  EXPECT_FALSE(marks(preferring(fmt::format(R"([{{"weight":1,"preference":{{"matchFields":[{}]}}}}])", kGood))));
  EXPECT_FALSE(marks(R"({"affinity":null})"));
  EXPECT_FALSE(marks(R"({"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":null}}})"));
}

TEST_F(MarkTest, AStoreThatLooksForNothingMarksNothing) {
  PodStore plain(atoms);
  ASSERT_TRUE(plain.put_json(
      fmt::format(R"({{"metadata":{{"name":"p","namespace":"ns","resourceVersion":"1"}},"spec":{}}})", only(kGood))));
  EXPECT_FALSE(plain.find("ns", "p")->flags.marked);
  EXPECT_EQ(plain.marking(), nullptr);
}

TEST_F(MarkTest, TheMarkIsCountedOnTheNode) {
  EXPECT_TRUE(marks(only(kGood)));
  EXPECT_EQ(pods.marked_on("n1"), 1u);
  EXPECT_FALSE(marks(R"({"nodeName":"n1"})"));
  EXPECT_EQ(pods.marked_on("n1"), 0u);
  EXPECT_EQ(pods.count_on("n1"), 1u);
}

TEST_F(MarkTest, ListsAndWatchesMarkToo) {
  const auto sink = make_sink(pods);
  const auto pod = [&](std::string_view name, int at) {
    return fmt::format(R"({{"metadata":{{"name":"{}","namespace":"ns","resourceVersion":"{}"}},"spec":{}}})", name, at,
                       only(kGood));
  };
  std::string page = fmt::format(R"({{"metadata":{{"resourceVersion":"5"}},"items":[{}]}})", pod("listed", 4));
  sink->begin_list();
  ASSERT_TRUE(read_page(page, [&](RawObject& raw) { return sink->listed(raw); }));
  sink->end_list(5);
  EXPECT_TRUE(pods.find("ns", "listed")->flags.marked);
  WatchDecoder watch;
  watch.buffer() = fmt::format(R"({{"type":"ADDED","object":{}}})", pod("watched", 6)) + "\n";
  ASSERT_TRUE(watch.drain([&](EventType type, RawObject& raw) -> io::Result<bool> {
    EXPECT_TRUE(sink->event(type, raw));
    return true;
  }));
  EXPECT_TRUE(pods.find("ns", "watched")->flags.marked);
  EXPECT_EQ(pods.marked_on("n1"), 2u);
}

TEST_F(PodStoreTest, CountsTheMarkedPodsOfANode) {
  PodFacts marked = facts("m", 1);
  marked.flags.marked = true;
  pods.put(facts("a", 2));
  EXPECT_EQ(pods.marked_on("n1"), 0u);
  pods.put(marked);
  EXPECT_EQ(pods.marked_on("n1"), 1u);
  EXPECT_EQ(pods.marked_on("n2"), 0u);
  marked.name = "second";
  marked.version = 3;
  pods.put(marked);
  EXPECT_EQ(pods.marked_on("n1"), 2u);
  marked.node = "n2";
  marked.version = 4;
  pods.put(marked);
  EXPECT_EQ(pods.marked_on("n1"), 1u);
  EXPECT_EQ(pods.marked_on("n2"), 1u);
  pods.remove("ns", "m", 5);
  EXPECT_EQ(pods.marked_on("n1"), 0u);
  EXPECT_EQ(pods.count_on("n1"), 1u);
  pods.begin_list();
  pods.end_list(10);
  EXPECT_EQ(pods.marked_on("n2"), 0u);
}

TEST_F(PodStoreTest, TellsOfNodesWhosePodsAreOthers) {
  std::vector<std::string> told;
  const auto subscription = pods.subscribe_nodes([&](std::string_view node) { told.emplace_back(node); });
  const auto after = [&](auto act) {
    told.clear();
    act();
    return told;
  };
  PodFacts f = facts("p", 1, "");
  EXPECT_THAT(after([&] { pods.put(f); }), IsEmpty()) << "bound to no node";
  const auto change = [&](auto alter) {
    alter(f);
    ++f.version;
    return after([&] { EXPECT_TRUE(pods.put(f)); });
  };
  EXPECT_THAT(change([](PodFacts& p) { p.node = "n1"; }), ElementsAre("n1"));
  EXPECT_THAT(change([](PodFacts&) {}), IsEmpty());
  EXPECT_THAT(change([](PodFacts& p) { p.flags.ready = true; }), IsEmpty());
  EXPECT_THAT(change([](PodFacts& p) { p.phase = PodPhase::failed; }), IsEmpty());
  EXPECT_THAT(change([](PodFacts& p) { p.labels = {{"a", "b"}}; }), IsEmpty());
  EXPECT_THAT(change([](PodFacts& p) { p.deletion = io::Wall{io::seconds{100}}; }), IsEmpty());
  EXPECT_THAT(change([](PodFacts& p) { p.flags.marked = true; }), ElementsAre("n1"));
  EXPECT_THAT(change([](PodFacts& p) { p.flags.marked = false; }), ElementsAre("n1"));
  EXPECT_THAT(change([](PodFacts& p) { p.uid = "8f14e45f-ceea-467f-a0e6-0123456789ac"; }), ElementsAre("n1"));
  EXPECT_THAT(change([](PodFacts& p) { p.node = "n0"; }), ElementsAre("n0", "n1"));
  EXPECT_THAT(after([&] { pods.remove("ns", "p", f.version + 1); }), ElementsAre("n0"));
}

TEST_F(PodStoreTest, ARelistTellsOfEachNodeOnce) {
  pods.put(facts("gone", 1, "n3"));
  pods.put(facts("stays", 2, "n4"));
  std::vector<std::string> told;
  const auto subscription = pods.subscribe_nodes([&](std::string_view node) { told.emplace_back(node); });
  pods.begin_list();
  pods.stage(facts("stays", 5, "n4"));
  for (const char* name : {"a", "b", "c"}) pods.stage(facts(name, 6, "n2"));
  pods.stage(facts("d", 7, "n1"));
  pods.end_list(10);
  EXPECT_THAT(told, ElementsAre("n1", "n2", "n3"));
}

// A page that fails in the middle and a list that starts over leave nothing behind.
TEST_F(PodStoreTest, AnUnfinishedListIsForgotten) {
  pods.begin_list();
  pods.stage(facts("a", 1));
  pods.drop_list();
  EXPECT_EQ(pods.size(), 0u);
  EXPECT_EQ(atoms.size(), 0u);
  pods.begin_list();
  pods.stage(facts("a", 1));
  pods.begin_list();
  pods.stage(facts("b", 2));
  pods.end_list(10);
  EXPECT_EQ(pods.size(), 1u);
  EXPECT_TRUE(pods.find("ns", "b"));
}

TEST_F(PodStoreTest, AListedTwiceIsOnePod) {
  pods.begin_list();
  pods.stage(facts("a", 1));
  pods.stage(facts("a", 1));
  pods.end_list(10);
  EXPECT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods.count_on("n1"), 1u);
}

TEST_F(PodStoreTest, AServerWhoseHistoryWentBackIsBelieved) {
  pods.begin_list();
  pods.stage(facts("a", 90, "n1"));
  pods.stage(facts("b", 91, "n1"));
  pods.end_list(100);
  pods.begin_list();
  pods.stage(facts("a", 40, "n2"));
  pods.end_list(50);
  EXPECT_EQ(pods.size(), 1u);
  EXPECT_THAT(on("n2"), ElementsAre("a"));
  EXPECT_EQ(pods.newest_version(), 50u);
}

TEST_F(PodStoreTest, AListenerMustNotChangeTheStore) {
  const auto changing = pods.subscribe([this](const Pod*, const Pod*) { pods.remove("ns", "a", 9); });
  EXPECT_DEATH(pods.put(facts("a", 1)), "a listener of the pod store changes it");
}

// A cluster whose pods are replaced many times over: the memory is what the living need.
TEST_F(PodStoreTest, MemoryComesBackAfterManyPodsCameAndWent) {
  io::Random random(3);
  uint64_t version = 0;
  const auto put = [&](int slot, int generation) {
    const std::string hash = fmt::format("{:x}", generation * 31 + slot / 5);
    const std::string owner = fmt::format("app-{}-{}", slot / 5, hash);
    const std::string name = fmt::format("{}-{:05x}", owner, slot);
    const std::string uid = fmt::format("{:08x}-0000-4000-8000-{:012x}", slot, generation);
    const std::string node = fmt::format("node-{}", slot % 300);
    PodFacts f = facts(name, ++version, node);
    f.uid = uid;
    f.owner_kind = "ReplicaSet";
    f.owner_name = owner;
    f.labels = {{"app", std::string_view(owner).substr(0, 8)}, {"pod-template-hash", hash}};
    EXPECT_TRUE(pods.put(f));
    pods.progress(version);
    return name;
  };
  constexpr int kPods = 10'000;
  std::vector<std::string> names;
  for (int i = 0; i < kPods; ++i) names.push_back(put(i, 0));
  const size_t before = pods.bytes() + atoms.bytes();
  EXPECT_LT(before / kPods, 250u);
  for (int generation = 1; generation <= 100'000 / kPods; ++generation) {
    for (int i = 0; i < kPods; ++i) {
      const size_t slot = random.next() % kPods;
      const std::string fresh = put(static_cast<int>(slot), generation * 100'000 + i);
      if (fresh == names[slot]) continue;
      pods.remove("ns", names[slot], ++version);
      pods.progress(version);
      names[slot] = fresh;
    }
  }
  EXPECT_EQ(pods.size(), size_t{kPods});
  // Owners are shared by fewer pods now, so the texts are more; the rest is as it was.
  EXPECT_LT(pods.bytes(), 1.1 * static_cast<double>(kPods) * 130);
  for (const std::string& name : names) {
    pods.remove("ns", name, ++version);
    pods.progress(version);
  }
  EXPECT_EQ(pods.size(), 0u);
  EXPECT_EQ(atoms.size(), 0u);
  EXPECT_LT(pods.bytes() + atoms.bytes(), 20'000u);
}

// The same through a relist of everything: twice the records for a moment, then no more than before.
TEST_F(PodStoreTest, ARelistDoesNotGrowTheStore) {
  const auto list = [&](uint64_t version) {
    pods.begin_list();
    for (int i = 0; i < 5'000; ++i) {
      const std::string name = "pod-" + std::to_string(i);
      pods.stage(facts(name, version - 1, i % 2 ? "n1" : "n2"));
    }
    pods.end_list(version);
  };
  list(10);
  const size_t before = pods.bytes() + atoms.bytes();
  list(20);
  EXPECT_EQ(pods.size(), 5'000u);
  EXPECT_LE(pods.bytes() + atoms.bytes(), before + 1'000);
}

}  // namespace
}  // namespace careen::kube
