#include "controllers/profiles/fleet.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/test_support.h"
#include "io/random.h"
#include "windows/semver.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Nodes and pods that change, and what the fleet reported.
class FleetTest : public testing::Test {
 protected:
  FleetTest() {
    changes.push_back(nodes.subscribe([this](const kube::Node* before, const kube::Node* after) {
      for (const budget::Topic topic : fleet.node_changed(before, after)) tell(topic);
    }));
    changes.push_back(pods.subscribe_nodes([this](std::string_view node) {
      std::vector<budget::Topic> changed;
      if (fleet.pods_changed(node, changed)) themselves.emplace(node);
      for (const budget::Topic topic : changed) tell(topic);
    }));
    pods.begin_list();
    pods.end_list(++version);
  }

  void tell(budget::Topic topic) { told.insert(topic); }
  // The topics told since the last call.
  std::set<budget::Topic> heard() { return std::exchange(told, {}); }

  kube::Node node(const std::string& name, const Texts& labels, std::optional<std::string> data) {
    kube::Node made;
    made.name = name;
    made.uid = "uid-" + name;
    made.version = ++version;
    for (const auto& [key, value] : labels) made.labels.emplace_back(atoms.intern(key), atoms.intern(value));
    if (data) made.annotations.emplace_back(atoms.intern(kDataAnnotation), std::move(*data));
    return made;
  }
  void put(const std::string& name, const Texts& labels = {}, std::optional<std::string> data = std::nullopt) {
    nodes.put(node(name, labels, std::move(data)));
  }
  void put_in(const std::string& name, const std::string& profile, State state) { put(name, {}, in(profile, state)); }
  void remove(const std::string& name) { nodes.remove(name, ++version); }
  static std::string in(const std::string& profile, State state) {
    NodeData data;
    data.profiles[profile] = {kZeroTime, state, state};
    return format_node_data(data);
  }

  void put_pod(const std::string& name, const std::string& on, bool marked) {
    kube::PodFacts pod;
    pod.ns = "ns";
    pod.name = name;
    pod.uid = name;
    pod.version = ++version;
    pod.node = on;
    pod.flags.marked = marked;
    pods.put(pod);
  }
  void remove_pod(const std::string& name) { pods.remove("ns", name, ++version); }

  kube::AtomPool atoms;
  kube::Store<kube::Node> nodes;
  kube::PodStore pods{atoms, prefers_operational()};
  budget::Topics topics;
  Fleet fleet{nodes, pods, topics};
  std::set<budget::Topic> told;
  std::vector<io::Subscription> changes;
  std::set<std::string> themselves;  // nodes whose own answer about pods changed
  uint64_t version = 0;
};

TEST_F(FleetTest, CountsNodesAndTellsOfThresholdsOnly) {
  put("a");
  EXPECT_EQ(fleet.nodes(2).value, 1);
  const budget::Topic two = fleet.nodes(2).topic;
  const budget::Topic three = fleet.nodes(3).topic;
  EXPECT_NE(two, three);
  put("b");
  EXPECT_THAT(heard(), ElementsAre(two));
  put("b", {{"any", "change"}});
  EXPECT_THAT(heard(), IsEmpty());
  put("c");
  EXPECT_THAT(heard(), ElementsAre(three));
  put("d");
  EXPECT_THAT(heard(), IsEmpty());
  EXPECT_EQ(fleet.nodes(2).value, 4);
  remove("d");
  EXPECT_THAT(heard(), IsEmpty());
  remove("c");
  EXPECT_THAT(heard(), ElementsAre(three));
}

TEST_F(FleetTest, AnyLabelTellsOfTheFirstAndTheLast) {
  const auto any = fleet.any_label("k", "");
  const auto v = fleet.any_label("k", "v");
  EXPECT_FALSE(any.value);
  EXPECT_EQ(fleet.any_label("k", "").topic, any.topic);
  put("a", {{"k", ""}});
  EXPECT_THAT(heard(), ElementsAre(any.topic));
  EXPECT_TRUE(fleet.any_label("k", "").value);
  EXPECT_FALSE(fleet.any_label("k", "v").value);
  put("b", {{"k", "v"}});
  EXPECT_THAT(heard(), ElementsAre(v.topic));
  put("a", {{"other", "x"}});
  EXPECT_THAT(heard(), IsEmpty());
  remove("b");
  EXPECT_THAT(heard(), UnorderedElementsAre(any.topic, v.topic));
  EXPECT_FALSE(fleet.any_label("k", "").value);
}

TEST_F(FleetTest, AShareIsRoundedDownAndAtLeastOne) {
  EXPECT_EQ(fleet.share({}, 50).places, 1);
  const budget::Topic half = fleet.share({}, 50).topic;
  const budget::Topic all = fleet.share({}, 100).topic;
  put("a");
  put("b");
  put("c");
  EXPECT_THAT(heard(), ElementsAre(all));
  EXPECT_EQ(fleet.share({}, 50).places, 1);
  EXPECT_EQ(fleet.share({}, 50).nodes, 3);
  EXPECT_EQ(fleet.share({}, 100).places, 3);
  put("d");
  EXPECT_THAT(heard(), UnorderedElementsAre(half, all));
  EXPECT_EQ(fleet.share({}, 50).places, 2);
  EXPECT_EQ(fleet.share({}, 49).places, 1);
  EXPECT_EQ(fleet.share({}, 1).places, 1);
}

TEST_F(FleetTest, AShareIsOfItsScope) {
  const std::string profile(kProfileLabel);
  for (int i = 0; i < 10; ++i) put(fmt::format("x{}", i), {{"zone", "x"}, {profile, i < 4 ? "p--q" : "q"}});
  for (int i = 0; i < 6; ++i) put(fmt::format("y{}", i), {{"zone", "y"}});
  EXPECT_EQ(fleet.share({}, 50).places, 8);
  EXPECT_EQ(fleet.share({"", {{"zone", "x"}}}, 50).places, 5);
  EXPECT_EQ(fleet.share({"p", {}}, 50).places, 2);
  EXPECT_EQ(fleet.share({"q", {{"zone", "x"}}}, 30).places, 3);
  EXPECT_EQ(fleet.share({"q", {{"zone", "y"}}}, 100).places, 1);
  // Without the label a node is in no profile's scope.
  EXPECT_EQ(fleet.share({"default", {}}, 100).nodes, 0);
  put("y0", {{"zone", "y"}, {profile, ""}});
  EXPECT_EQ(fleet.share({"default", {}}, 100).nodes, 0) << "an empty label names no profile";
  put("y0", {{"zone", "y"}, {profile, "default"}});
  EXPECT_EQ(fleet.share({"default", {}}, 100).nodes, 1);
}

TEST_F(FleetTest, TheNewestVersionIsNeverBelowTheFloor) {
  EXPECT_EQ(fleet.newer_version("v", "", "0.0.9")->newest, "0.1.0");
  EXPECT_TRUE(fleet.newer_version("v", "", "0.0.9")->value);
  EXPECT_FALSE(fleet.newer_version("v", "", "0.1.0")->value);
  put("a", {{"v", "0.0.1"}});
  EXPECT_EQ(fleet.newer_version("v", "", "0.0.1")->newest, "0.1.0");
  put("a", {{"v", "0.2.0"}});
  EXPECT_EQ(fleet.newer_version("v", "", "0.0.1")->newest, "0.2.0");
}

TEST_F(FleetTest, ANewerVersionIsToldToThoseWhoAreBehindItNow) {
  put("a", {{"v", "1.0.0"}});
  put("b", {{"v", "2.0.0"}});
  const budget::Topic one = fleet.newer_version("v", "", "1.0.0")->topic;
  const budget::Topic two = fleet.newer_version("v", "", "2.0.0")->topic;
  EXPECT_TRUE(fleet.newer_version("v", "", "1.0.0")->value);
  EXPECT_FALSE(fleet.newer_version("v", "", "2.0.0")->value);
  put("c", {{"v", "3.0.0"}});
  EXPECT_THAT(heard(), ElementsAre(two));
  put("d", {{"v", "3.0.0+build"}});
  EXPECT_THAT(heard(), IsEmpty());
  EXPECT_EQ(fleet.newer_version("v", "", "1.0.0")->newest, "3.0.0+build");
  remove("c");
  EXPECT_THAT(heard(), IsEmpty());
  put("d", {{"v", "three"}});
  EXPECT_THAT(heard(), ElementsAre(two));
  put("b", {});
  EXPECT_THAT(heard(), ElementsAre(one));
  EXPECT_EQ(fleet.newer_version("v", "", "1.0.0")->newest, "1.0.0");
  EXPECT_EQ(fleet.newer_version("v", "", "1.0"), std::nullopt);
}

TEST_F(FleetTest, VersionsOfAProfile) {
  const std::string profile(kProfileLabel);
  put("a", {{"v", "1.0.0"}, {profile, "p"}});
  put("b", {{"v", "2.0.0"}, {profile, "q"}});
  put("c", {{"v", "3.0.0"}});
  put("d", {{"v", "3.0.0"}, {profile, ""}});
  EXPECT_EQ(fleet.newer_version("v", "p", "1.0.0")->newest, "1.0.0");
  EXPECT_EQ(fleet.newer_version("v", "q", "1.0.0")->newest, "2.0.0");
  EXPECT_EQ(fleet.newer_version("v", "default", "1.0.0")->newest, "0.1.0");
  const budget::Topic topic = fleet.newer_version("v", "p", "1.0.0")->topic;
  put("b", {{"v", "2.0.0"}, {profile, "q--p"}});
  EXPECT_THAT(heard(), ElementsAre(topic));
  EXPECT_EQ(fleet.newer_version("v", "p", "1.0.0")->newest, "2.0.0");
}

TEST_F(FleetTest, OperationalNodesByTheirData) {
  put_in("a", "p", kOp);
  put_in("b", "q", kOp);
  put("unreadable", {}, "{broken");
  put("unknown", {}, R"({"Profiles":{"p":{"Current":"napping","Previous":"operational"}}})");
  put("null", {}, R"({"Profiles":{"p":null}})");
  put("old layout", {}, R"({"LastTransition":"2022-01-01T00:00:00Z","ProfileStates":{"p":"operational"}})");
  EXPECT_EQ(fleet.operational("p", 1).value, 2);
  EXPECT_EQ(fleet.operational("none", 1).value, 0);
  const budget::Topic three = fleet.operational("p", 3).topic;
  put_in("b", "p", State::in_maintenance);
  EXPECT_THAT(heard(), IsEmpty());
  put_in("b", "p", kOp);
  EXPECT_THAT(heard(), ElementsAre(three));
  remove("b");
  EXPECT_THAT(heard(), ElementsAre(three));
}

TEST_F(FleetTest, BlockersAreToldToWhoWaitsForThem) {
  put_pod("m", "asker", true);
  put_in("asker", "p", kReq);
  const budget::Topic some = fleet.required_without_affinity("p", "asker").topic;
  EXPECT_EQ(fleet.required_without_affinity("p", "asker").node, "");
  put_in("b", "p", kReq);
  EXPECT_THAT(heard(), ElementsAre(some));
  EXPECT_EQ(fleet.required_without_affinity("p", "asker").node, "b");
  EXPECT_EQ(fleet.required_without_affinity("q", "asker").node, "");
  // More of them alter nothing for the asker, nor does one that is not the last.
  const budget::Topic second = fleet.required_without_affinity("p", "b").topic;
  EXPECT_EQ(fleet.required_without_affinity("p", "b").node, "");
  EXPECT_NE(some, second);
  put_in("c", "p", kReq);
  EXPECT_THAT(heard(), ElementsAre(second));
  EXPECT_EQ(fleet.required_without_affinity("p", "b").node, "c");
  EXPECT_EQ(fleet.required_without_affinity("p", "c").node, "b");
  put_in("d", "p", kReq);
  EXPECT_THAT(heard(), IsEmpty());
  remove("b");
  EXPECT_THAT(heard(), IsEmpty());
  put_pod("n", "c", true);
  EXPECT_THAT(heard(), ElementsAre(second));
  EXPECT_THAT(themselves, ElementsAre("c"));
  put_in("d", "p", kOp);
  EXPECT_THAT(heard(), ElementsAre(some));
  EXPECT_EQ(fleet.required_without_affinity("p", "asker").node, "");
}

TEST_F(FleetTest, AffinityPodsOfANode) {
  put("a");
  EXPECT_FALSE(fleet.has_affinity_pod("a"));
  put_pod("plain", "a", false);
  EXPECT_FALSE(fleet.has_affinity_pod("a"));
  EXPECT_THAT(themselves, IsEmpty());
  put_pod("one", "a", true);
  EXPECT_TRUE(fleet.has_affinity_pod("a"));
  EXPECT_THAT(std::exchange(themselves, {}), ElementsAre("a"));
  put_pod("two", "a", true);
  remove_pod("one");
  EXPECT_THAT(themselves, IsEmpty());
  remove_pod("two");
  EXPECT_FALSE(fleet.has_affinity_pod("a"));
  EXPECT_THAT(themselves, ElementsAre("a"));
  // Pods may be known before their node is.
  put_pod("early", "b", true);
  EXPECT_TRUE(fleet.has_affinity_pod("b"));
  put_in("b", "p", kReq);
  EXPECT_EQ(fleet.required_without_affinity("p", "a").node, "");
}

TEST_F(FleetTest, PodsAreKnownWithTheirFirstList) {
  kube::PodStore unlisted(atoms);
  Fleet other(nodes, unlisted, topics);
  const auto known = other.pods_known();
  EXPECT_FALSE(known.value);
  std::vector<budget::Topic> heard_now;
  other.pods_changed("", heard_now);
  EXPECT_THAT(heard_now, IsEmpty());
  unlisted.begin_list();
  unlisted.end_list(7);
  EXPECT_TRUE(other.pods_known().value);
  other.pods_changed("", heard_now);
  EXPECT_THAT(heard_now, ElementsAre(known.topic));
  other.pods_changed("", heard_now);
  EXPECT_EQ(heard_now.size(), 1u);
}

// A relist tells of many changes after the store has them all: a fact that is first asked for in between is right.
TEST_F(FleetTest, AFactThatIsAskedForWhileChangesAreTold) {
  put("gone", {{"k", "v"}});
  put("stays", {{"k", "v"}}, in("p", kOp));
  fleet.nodes(1);
  bool asked = false;
  const auto asks = nodes.subscribe([&](const kube::Node*, const kube::Node*) {
    if (std::exchange(asked, true)) return;
    fleet.any_label("k", "v");
    fleet.share({"", {{"k", "v"}}}, 100);
    fleet.newer_version("semver", "", "1.0.0");
    fleet.operational("p", 1);
    fleet.required_without_affinity("p", "");
  });
  nodes.begin_list();
  nodes.stage(node("stays", {{"k", "v"}, {"semver", "2.0.0"}}, in("p", kReq)));
  nodes.stage(node("new1", {{"k", "v"}, {"semver", "3.0.0"}}, in("p", kOp)));
  nodes.stage(node("new2", {{"k", "v"}}, in("p", kOp)));
  nodes.end_list(++version);
  ASSERT_TRUE(asked);
  EXPECT_EQ(fleet.nodes(1).value, 3);
  EXPECT_EQ(fleet.share({"", {{"k", "v"}}}, 100).nodes, 3);
  EXPECT_EQ(fleet.newer_version("semver", "", "1.0.0")->newest, "3.0.0");
  EXPECT_EQ(fleet.operational("p", 1).value, 2);
  EXPECT_EQ(fleet.required_without_affinity("p", "").node, "stays");
  for (const char* name : {"stays", "new1", "new2"}) remove(name);
  EXPECT_EQ(fleet.nodes(1).value, 0);
  EXPECT_FALSE(fleet.any_label("k", "v").value);
  EXPECT_EQ(fleet.share({"", {{"k", "v"}}}, 100).nodes, 0);
  EXPECT_EQ(fleet.newer_version("semver", "", "1.0.0")->newest, "0.1.0");
  EXPECT_EQ(fleet.operational("p", 1).value, 0);
  EXPECT_EQ(fleet.required_without_affinity("p", "").node, "");
}

// Random changes: every fact is what a recount says, and its topic is notified exactly when its answer has changed.
class FleetModelTest : public FleetTest, public testing::WithParamInterface<uint64_t> {
 protected:
  // One asker of one fact. `answer` is all that it can notice.
  struct Asker {
    std::string what;
    std::function<std::pair<std::string, budget::Topic>()> ask;
    std::function<std::string()> recount;
    std::string node = {};  // if it is one node's own question: it asks again when the node itself changes
    std::string answer = {};
    budget::Topic topic{};
  };

  uint64_t below(uint64_t n) { return random.next() % n; }
  template <class T>
  const T& one_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  std::string some_node() { return fmt::format("n{}", below(kNodes)); }

  template <class F>
  int64_t count(F&& wanted) {
    int64_t found = 0;
    nodes.for_each([&](const kube::Node& node) { found += wanted(node); });
    return found;
  }
  static std::string_view label(const kube::Node& node, std::string_view key) {
    const kube::Atom* value = node.label(key);
    return value ? value->view() : "(absent)";
  }
  static bool names(const kube::Node& node, const std::string& profile) {
    const kube::Atom* value = node.label(kProfileLabel);
    if (!value || value->view().empty()) return false;
    const auto all = profiles_of(value->view());
    return std::find(all.begin(), all.end(), profile) != all.end();
  }
  static std::optional<State> state(const kube::Node& node, const std::string& profile) {
    const std::string* text = node.annotation(kDataAnnotation);
    const auto data = parse_node_data(text ? *text : "");
    if (!data || !data->profiles.contains(profile)) return std::nullopt;
    return data->profiles.at(profile).current.known();
  }
  bool marked(const std::string& name) {
    bool found = false;
    pods.for_each([&](const kube::Pod& pod) { found |= pod.node == name && pod.flags.marked; });
    return found;
  }

  static std::string text(bool value) { return value ? "yes" : "no"; }

  Asker node_count(int64_t least) {
    return {fmt::format("nodes >= {}", least),
            [=, this] {
              const auto fact = fleet.nodes(least);
              EXPECT_EQ(fact.value, static_cast<int64_t>(nodes.size()));
              return std::pair(text(fact.value >= least), fact.topic);
            },
            [=, this] { return text(static_cast<int64_t>(nodes.size()) >= least); }};
  }
  Asker any_label(const std::string& key, const std::string& value) {
    return {fmt::format("any {}={}", key, value),
            [=, this] {
              const auto fact = fleet.any_label(key, value);
              return std::pair(text(fact.value), fact.topic);
            },
            [=, this] {
              return text(count([&](const kube::Node& node) {
                            return node.label(key) && (value.empty() || label(node, key) == value);
                          }) > 0);
            }};
  }
  Asker share(const budget::Scope& scope, int64_t percent) {
    return {fmt::format("{}% of {} {}", percent, scope.subset, scope.text()),
            [=, this] {
              const auto fact = fleet.share(scope, percent);
              return std::pair(std::to_string(fact.places), fact.topic);
            },
            [=, this] {
              const int64_t in_scope = count([&](const kube::Node& node) {
                return (scope.subset.empty() || names(node, scope.subset)) &&
                       std::all_of(scope.labels.begin(), scope.labels.end(),
                                   [&](const auto& want) { return label(node, want.first) == want.second; });
              });
              EXPECT_EQ(fleet.share(scope, percent).nodes, in_scope);
              return std::to_string(std::max<int64_t>(1, in_scope * percent / 100));
            }};
  }
  Asker newer(const std::string& profile, const std::string& own) {
    return {fmt::format("newer than {} in \"{}\"", own, profile),
            [=, this] {
              const auto fact = fleet.newer_version("v", profile, own);
              return std::pair(text(fact->value), fact->topic);
            },
            [=, this] {
              windows::Semver newest = *windows::parse_semver("0.1.0");
              nodes.for_each([&](const kube::Node& node) {
                const auto shown = windows::parse_semver(label(node, "v"));
                if (!shown || (!profile.empty() && !names(node, profile))) return;
                if (precedence(newest, *shown) < 0) newest = *shown;
              });
              const auto told_newest = windows::parse_semver(fleet.newer_version("v", profile, own)->newest);
              EXPECT_TRUE(precedence(*told_newest, newest) == 0);
              return text(precedence(*windows::parse_semver(own), newest) < 0);
            }};
  }
  Asker operational(const std::string& profile, int64_t least) {
    return {fmt::format("operational {} >= {}", profile, least),
            [=, this] {
              const auto fact = fleet.operational(profile, least);
              return std::pair(text(fact.value >= least), fact.topic);
            },
            [=, this] {
              const int64_t found = count([&](const kube::Node& node) { return state(node, profile) == kOp; });
              EXPECT_EQ(fleet.operational(profile, least).value, found);
              return text(found >= least);
            }};
  }
  Asker blocked(const std::string& profile, const std::string& asking) {
    return {fmt::format("{} blocked in {}", asking, profile),
            [=, this] {
              const auto fact = fleet.required_without_affinity(profile, asking);
              return std::pair(text(!fact.node.empty()), fact.topic);
            },
            [=, this] {
              std::set<std::string> blockers;
              nodes.for_each([&](const kube::Node& node) {
                if (node.name == asking || state(node, profile) != kReq || marked(node.name)) return;
                blockers.insert(node.name);
              });
              const auto shown = fleet.required_without_affinity(profile, asking).node;
              EXPECT_EQ(shown, blockers.empty() ? "" : *blockers.begin());
              return text(!blockers.empty());
            },
            asking};
  }

  void add_askers() {
    for (const int64_t least : {0, 1, 4, 6, 9}) askers.push_back(node_count(least));
    for (const char* value : {"", "x", "y"}) askers.push_back(any_label("zone", value));
    askers.push_back(any_label("absent", ""));
    for (const int64_t percent : {10, 34, 50, 100}) {
      askers.push_back(share({}, percent));
      askers.push_back(share({"", {{"zone", "x"}}}, percent));
      askers.push_back(share({"p", {}}, percent));
      askers.push_back(share({"p", {{"zone", "x"}, {"v", "1.0.0"}}}, percent));
    }
    for (const char* profile : {"", "p", "default"}) {
      for (const char* own : {"0.0.1", "0.1.0", "1.0.0", "1.0.0+b", "2.0.0-rc.1", "2.0.0"}) {
        askers.push_back(newer(profile, own));
      }
    }
    for (const char* profile : {"p", "q"}) {
      for (const int64_t least : {1, 2, 4}) askers.push_back(operational(profile, least));
      for (int i = 0; i < kNodes; ++i) askers.push_back(blocked(profile, fmt::format("n{}", i)));
    }
  }

  // True if it was a change of one node, in one step.
  bool change() {
    switch (below(10)) {
      case 0:
        remove(some_node());
        return true;
      case 1:
      case 2:
        return put_random_pod(fmt::format("pod{}", below(8)), below(4) == 0 ? "" : some_node());
      case 3:
        remove_pod(fmt::format("pod{}", below(8)));
        return true;
      case 4:
        relist();
        return false;
      default:
        return put_random_node(some_node());
    }
  }
  bool put_random_pod(const std::string& name, const std::string& on) {
    const auto known = pods.find("ns", name);
    const bool moves = known && !known->node.empty() && known->node != on;
    put_pod(name, on, below(2) == 0);
    return !moves;
  }
  // A node that was made again is gone for a moment.
  bool put_random_node(const std::string& name) {
    kube::Node fresh = random_node(name);
    const kube::Node* known = nodes.find(name);
    const bool made_again = known && known->uid != fresh.uid;
    nodes.put(std::move(fresh));
    return !made_again;
  }
  void relist() {
    nodes.begin_list();
    for (int i = 0; i < kNodes; ++i) {
      if (below(3) > 0) nodes.stage(random_node(fmt::format("n{}", i)));
    }
    nodes.end_list(++version);
  }

  kube::Node random_node(const std::string& name) {
    Texts labels;
    if (below(2) == 0) labels["zone"] = one_of<std::string>({"", "x", "y"});
    if (below(2) == 0) {
      labels["v"] = one_of<std::string>({"", "bad", "0.0.1", "1.0.0", "1.0.0+a", "2.0.0-rc.1", "2.0.0"});
    }
    if (below(2) == 0) {
      labels[std::string(kProfileLabel)] = one_of<std::string>({"", "p", "q", "q--p", "pp--q", "default"});
    }
    kube::Node made = node(name, labels, random_data());
    if (below(10) == 0) made.uid += "-again";
    return made;
  }
  std::optional<std::string> random_data() {
    if (below(8) == 0) return std::nullopt;
    if (below(8) == 0) return "{broken";
    NodeData data;
    for (const char* profile : {"p", "q"}) {
      if (below(4) == 0) continue;
      const State now = kStates[below(3)];
      data.profiles[profile] = {kZeroTime, now, now};
    }
    return format_node_data(data);
  }

  // Which nodes are not what they were, themselves or their pods.
  std::map<std::string, std::string> conditions() {
    std::map<std::string, std::string> all;
    for (int i = 0; i < kNodes; ++i) {
      const std::string name = fmt::format("n{}", i);
      const kube::Node* found = nodes.find(name);
      all[name] = fmt::format("{} {} {}", found ? found->uid : "", marked(name),
                              found && found->annotation(kDataAnnotation) ? *found->annotation(kDataAnnotation) : "");
    }
    return all;
  }

  static constexpr int kNodes = 9;
  io::Random random{GetParam()};
  std::vector<Asker> askers;
};

TEST_P(FleetModelTest, FactsAreRightAndToldWhenTheyChange) {
  for (int i = 0; i < 5; ++i) change();
  add_askers();
  size_t known = 0;  // facts come into use one by one
  auto before = conditions();
  for (int step = 0; step < 400 && !HasFailure(); ++step) {
    if (known < askers.size()) {
      Asker& next = askers[known++];
      std::tie(next.answer, next.topic) = next.ask();
      ASSERT_EQ(next.answer, next.recount()) << next.what << " when it was first asked";
    }
    told.clear();
    themselves.clear();
    bool in_one_step = change();
    while (below(5) == 0) in_one_step = change() && false;
    const auto after = conditions();
    std::map<budget::Topic, bool> noticed;  // per topic with listeners: has anybody's answer changed?
    std::set<budget::Topic> doubtful;       // the asker itself has changed
    for (size_t i = 0; i < known; ++i) {
      Asker& asker = askers[i];
      const std::string fresh = asker.recount();
      const bool itself_changed = !asker.node.empty() && before.at(asker.node) != after.at(asker.node);
      if (fresh != asker.answer && !itself_changed) {
        ASSERT_TRUE(told.contains(asker.topic)) << asker.what << " is " << fresh << " now, at step " << step;
      }
      noticed[asker.topic] |= fresh != asker.answer;
      const budget::Topic listened = asker.topic;
      std::tie(asker.answer, asker.topic) = asker.ask();
      ASSERT_EQ(asker.answer, fresh) << asker.what << " at step " << step;
      if (itself_changed) doubtful.insert({listened, asker.topic});
    }
    // Several changes may undo each other; a single one may not be told for nothing.
    for (const auto& [topic, changed] : noticed) {
      if (!told.contains(topic) || changed || doubtful.contains(topic) || !in_one_step) continue;
      ADD_FAILURE() << "topic " << topic << " was told at step " << step << " but nobody's answer changed";
    }
    before = after;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FleetModelTest, testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace careen::profiles
