// The checks that look at the node's status or at all nodes together, row by row.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/check_context.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/test_support.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FleetChecksTest : public WorldTest {
 protected:
  FleetChecksTest() {
    pods.begin_list();
    pods.end_list(1);
  }

  static std::string yaml(std::string_view type, std::string_view settings) {
    return fmt::format("{{intervals: {{requeue: 1m}}, instances: {{check: [{{name: c, type: {}, config: {}}}]}}}}",
                       type, settings);
  }
  // The check configured so, asked about node `name` and profile p.
  CheckResult check(std::string_view type, std::string_view settings, std::string_view name = "a") {
    configure(yaml(type, settings));
    return run(name, true);
  }
  CheckResult run(std::string_view name, bool explain) {
    const NodeDraft draft(*nodes.find(name));
    const ProfileData data{now, state, state};
    const Check& configured = *config->checks.at(0).check;
    CheckResult result = configured.run({draft, profile, data, facts, now, explain});
    if (explain) expect_the_same_verdict(result, run(name, false));
    return result;
  }
  // Without explanations the texts are missing, and nothing else.
  static void expect_the_same_verdict(const CheckResult& explained, const CheckResult& bare) {
    EXPECT_EQ(bare.passed, explained.passed);
    EXPECT_EQ(bare.error, explained.error);
    EXPECT_EQ(bare.pending, explained.pending);
    EXPECT_EQ(bare.topics, explained.topics);
    EXPECT_EQ(bare.reason, "");
    EXPECT_THAT(bare.info, IsEmpty());
  }

  static std::string refused(const std::string& text) {
    try {
      config_of(text);
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  }
  // All of the info object.
  static Texts info(const CheckResult& result) {
    Texts texts;
    for (const auto& [key, value] : result.info) {
      const auto* number = std::get_if<double>(&value);
      texts[key] = number ? fmt::format("number {}", *number) : std::get<std::string>(value);
    }
    return texts;
  }

  void put_with_conditions(std::string_view name, std::string_view conditions) {
    auto node = kube::decode_node(fmt::format(R"({{"metadata":{{"name":"{}","uid":"u","resourceVersion":"{}"}},)"
                                              R"("status":{{"conditions":{}}}}})",
                                              name, ++version, conditions),
                                  atoms);
    ASSERT_TRUE(node);
    nodes.put(std::move(*node));
  }
  void put_pod(std::string_view name, std::string_view on, bool prefers) {
    kube::PodFacts pod;
    pod.ns = "ns";
    pod.name = name;
    pod.version = ++version;
    pod.node = on;
    pod.flags.marked = prefers;
    pods.put(pod);
    std::vector<budget::Topic> told;
    fleet.pods_changed(on, told);
  }
  void put_data(std::string_view name, std::string data) {
    put(name, {}, {{std::string(kDataAnnotation), std::move(data)}});
  }

  State state = kReq;
  std::string profile = "p";
};

TEST_F(FleetChecksTest, ConditionComparesTheStatus) {
  put_with_conditions("a", R"([{"type":"Ready","status":"True"},{"type":"Full","status":"Unknown"}])");
  EXPECT_TRUE(check("condition", "{type: Ready, status: 'True'}").passed);
  EXPECT_TRUE(check("condition", "{type: Full, status: Unknown}").passed);
  const CheckResult other = check("condition", "{type: Ready, status: 'False'}");
  EXPECT_FALSE(other.passed);
  EXPECT_EQ(info(other), (Texts{{"current", "True"}, {"expected", "False"}}));
  EXPECT_EQ(other.reason, "condition Ready is True, not False");
  EXPECT_THAT(other.topics, IsEmpty());
  EXPECT_EQ(info(check("condition", "{type: Full, status: Unknown}")),
            (Texts{{"current", "Unknown"}, {"expected", "Unknown"}}));
}

TEST_F(FleetChecksTest, ConditionIsCaseSensitive) {
  put_with_conditions("a", R"([{"type":"Ready","status":"True"}])");
  EXPECT_FALSE(check("condition", "{type: ready, status: 'True'}").passed);
  EXPECT_FALSE(check("condition", "{type: Ready, status: 'TRUE'}").passed);
  // YAML's true is rendered in lower case, so the quotes matter.
  EXPECT_FALSE(check("condition", "{type: Ready, status: True}").passed);
}

TEST_F(FleetChecksTest, TheFirstConditionOfATypeCounts) {
  put_with_conditions("a", R"([{"type":"Twice","status":"False"},{"type":"Twice","status":"True"}])");
  EXPECT_FALSE(check("condition", "{type: Twice, status: 'True'}").passed);
  EXPECT_TRUE(check("condition", "{type: Twice, status: 'False'}").passed);
}

TEST_F(FleetChecksTest, AConditionThatIsNotThere) {
  put("a");
  const CheckResult absent = check("condition", "{type: Ready, status: 'True'}");
  EXPECT_FALSE(absent.passed);
  EXPECT_EQ(absent.error, "");
  EXPECT_EQ(info(absent), (Texts{{"reason", "condition Ready not present"}}));
}

TEST_F(FleetChecksTest, ConditionNeedsBothKeys) {
  EXPECT_THAT(refused(yaml("condition", "{type: Ready}")), HasSubstr("status"));
  EXPECT_THAT(refused(yaml("condition", "{status: 'True'}")), HasSubstr("type"));
  EXPECT_THAT(refused(yaml("condition", "{type: '', status: 'True'}")), HasSubstr("type"));
}

TEST_F(FleetChecksTest, AnyLabel) {
  put("a");
  const CheckResult none = check("anyLabel", "{key: k}");
  EXPECT_FALSE(none.passed);
  EXPECT_THAT(none.info, IsEmpty());
  EXPECT_THAT(none.topics, SizeIs(1));
  put("b", {{"k", ""}});
  EXPECT_TRUE(check("anyLabel", "{key: k}").passed);
  EXPECT_TRUE(check("anyLabel", "{key: k, value: ''}").passed);
  EXPECT_FALSE(check("anyLabel", "{key: k, value: v}").passed);
  put("b", {{"k", "V"}});
  EXPECT_FALSE(check("anyLabel", "{key: k, value: v}").passed);
  put("a", {{"k", "v"}});
  const CheckResult own = check("anyLabel", "{key: k, value: v}");
  EXPECT_TRUE(own.passed);
  EXPECT_EQ(own.reason, "some node has label k=v");
  EXPECT_THAT(refused(yaml("anyLabel", "{value: v}")), HasSubstr("key"));
}

TEST_F(FleetChecksTest, NodeCountIncludesItsBoundary) {
  put("a");
  put("b");
  EXPECT_TRUE(check("nodeCount", "{count: 1}").passed);
  const CheckResult equal = check("nodeCount", "{count: 2}");
  EXPECT_TRUE(equal.passed);
  EXPECT_EQ(info(equal), (Texts{{"current", "number 2"}, {"expected", "number 2"}}));
  const CheckResult less = check("nodeCount", "{count: 3}");
  EXPECT_FALSE(less.passed);
  EXPECT_THAT(less.topics, ElementsAre(fleet.nodes(3).topic));
  EXPECT_THAT(refused(yaml("nodeCount", "{count: 0}")), HasSubstr("count"));
  EXPECT_THAT(refused(yaml("nodeCount", "{}")), HasSubstr("count"));
}

TEST_F(FleetChecksTest, ANegativeNodeCountPassesWithAWarning) {
  put("a");
  EXPECT_TRUE(check("nodeCount", "{count: -1}").passed);
  EXPECT_THAT(config->warnings, SizeIs(1));
}

TEST_F(FleetChecksTest, TheNewestVersionDoesNotPass) {
  put("a", {{"v", "1.2.3"}});
  put("b", {{"v", "1.2.10"}});
  const CheckResult older = check("clusterSemver", "{key: v}");
  EXPECT_TRUE(older.passed);
  EXPECT_EQ(info(older), (Texts{{"own", "1.2.3"}, {"max", "1.2.10"}}));
  const CheckResult newest = check("clusterSemver", "{key: v}", "b");
  EXPECT_FALSE(newest.passed);
  EXPECT_EQ(info(newest), (Texts{{"own", "1.2.10"}, {"max", "1.2.10"}}));
  EXPECT_THAT(newest.topics, SizeIs(1));
}

TEST_F(FleetChecksTest, EqualVersionsAndThoseThatDifferInBuildAloneAreTies) {
  put("a", {{"v", "1.2.3+one"}});
  put("b", {{"v", "1.2.3+two"}});
  put("c", {{"v", "1.2.3"}});
  for (const char* name : {"a", "b", "c"}) EXPECT_FALSE(check("clusterSemver", "{key: v}", name).passed);
  put("b", {{"v", "1.2.3-rc.1"}});
  EXPECT_TRUE(check("clusterSemver", "{key: v}", "b").passed);
}

TEST_F(FleetChecksTest, VersionsStartAtAFloor) {
  put("a", {{"v", "0.0.9"}});
  EXPECT_TRUE(check("clusterSemver", "{key: v}").passed);
  EXPECT_EQ(info(check("clusterSemver", "{key: v}")).at("max"), "0.1.0");
  put("a", {{"v", "0.1.0"}});
  EXPECT_FALSE(check("clusterSemver", "{key: v}").passed);
}

TEST_F(FleetChecksTest, InvalidVersionsOfOthersDoNotCount) {
  put("a", {{"v", "1.0.0"}});
  put("b", {{"v", "v2.0.0"}});
  put("c", {{"v", "2.0"}});
  put("d", {{"v", ""}});
  put("e", {{"v", "02.0.0"}});
  const CheckResult result = check("clusterSemver", "{key: v}");
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(info(result).at("max"), "1.0.0");
}

TEST_F(FleetChecksTest, AnInvalidOrMissingOwnVersionIsAnError) {
  put("a");
  put("b", {{"v", "2.0.0"}});
  EXPECT_THAT(check("clusterSemver", "{key: v}").error, HasSubstr("label v not present"));
  for (const char* wrong : {"", "1.0", "v1.0.0", "01.0.0"}) {
    put("a", {{"v", wrong}});
    const CheckResult result = check("clusterSemver", "{key: v}");
    EXPECT_FALSE(result.passed);
    EXPECT_THAT(result.error, HasSubstr(fmt::format("label v is no version: \"{}\" must", wrong)));
  }
}

TEST_F(FleetChecksTest, VersionsScopedToTheProfile) {
  const std::string label(kProfileLabel);
  put("a", {{"v", "1.0.0"}, {label, "p"}});
  put("b", {{"v", "3.0.0"}, {label, "other"}});
  put("c", {{"v", "4.0.0"}});
  EXPECT_TRUE(check("clusterSemver", "{key: v}").passed);
  EXPECT_TRUE(check("clusterSemver", "{key: v, profileScoped: false}").passed);
  EXPECT_FALSE(check("clusterSemver", "{key: v, profileScoped: true}").passed);
  EXPECT_FALSE(check("clusterSemver", "{key: v, profileScoped: yes}").passed);
  put("d", {{"v", "2.0.0"}, {label, "other--p"}});
  const CheckResult result = check("clusterSemver", "{key: v, profileScoped: true}");
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(info(result).at("max"), "2.0.0");
  profile = "unused";
  EXPECT_FALSE(check("clusterSemver", "{key: v, profileScoped: true}").passed);
  // Nodes without the label are out, also for the profile that they have without it.
  profile = "default";
  EXPECT_FALSE(check("clusterSemver", "{key: v, profileScoped: true}").passed);
  EXPECT_THAT(refused(yaml("clusterSemver", "{profileScoped: true}")), HasSubstr("key"));
}

TEST_F(FleetChecksTest, AffinityIsForRequiredMaintenanceOnly) {
  put("a");
  for (const State wrong : {kOp, kIn}) {
    state = wrong;
    const CheckResult result = check("affinity", "null");
    EXPECT_FALSE(result.passed);
    EXPECT_THAT(result.error, HasSubstr("maintenance-required"));
    EXPECT_THAT(result.error, HasSubstr(name_of(wrong)));
  }
}

TEST_F(FleetChecksTest, ANodeWithoutAffinityPodsGoesFirst) {
  put_in("a", "p", kReq);
  put_in("b", "p", kReq);
  put_pod("plain", "a", false);
  const CheckResult result = check("affinity", "null");
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(info(result), (Texts{{"reason", "no pods with affinity"}}));
  EXPECT_THAT(result.topics, IsEmpty());
}

TEST_F(FleetChecksTest, ANodeWithAffinityPodsWaitsForThoseWithout) {
  put_in("a", "p", kReq);
  put_in("b", "p", kReq);
  put_pod("moves", "a", true);
  const CheckResult waits = check("affinity", "null");
  EXPECT_FALSE(waits.passed);
  EXPECT_EQ(waits.error, "");
  EXPECT_EQ(info(waits), (Texts{{"reason", "pods without affinity on: b"}}));
  EXPECT_THAT(waits.topics, ElementsAre(fleet.required_without_affinity("p", "a").topic));

  put_pod("moves-too", "b", true);
  const CheckResult free = check("affinity", "null");
  EXPECT_TRUE(free.passed);
  EXPECT_THAT(free.info, IsEmpty());
  EXPECT_THAT(free.topics, ElementsAre(fleet.required_without_affinity("p", "a").topic));
}

TEST_F(FleetChecksTest, OnlyTheSameProfileInTheSameStateBlocks) {
  put_in("a", "p", kReq);
  put_pod("moves", "a", true);
  put_in("operational", "p", kOp);
  put_in("in", "p", kIn);
  put_in("other", "q", kReq);
  put_data("unreadable", "{broken");
  put("plain");
  EXPECT_TRUE(check("affinity", "null").passed);
  put_in("other", "p", kReq);
  EXPECT_FALSE(check("affinity", "null").passed);
}

TEST_F(FleetChecksTest, EnoughOperationalNodesPassInAnyCase) {
  put_in("a", "p", kReq);
  put_in("b", "p", kReq);
  put_in("c", "p", kOp);
  put_in("d", "q", kOp);
  put_pod("moves", "a", true);
  EXPECT_FALSE(check("affinity", "{minOperational: 0}").passed);
  const CheckResult enough = check("affinity", "{minOperational: 1}");
  EXPECT_TRUE(enough.passed);
  EXPECT_EQ(info(enough), (Texts{{"reason", "minOperational exceeded"}}));
  EXPECT_THAT(enough.topics, ElementsAre(fleet.operational("p", 1).topic));
  const CheckResult few = check("affinity", "{minOperational: 2}");
  EXPECT_FALSE(few.passed);
  EXPECT_THAT(few.topics,
              ElementsAre(fleet.operational("p", 2).topic, fleet.required_without_affinity("p", "a").topic));
  EXPECT_FALSE(check("affinity", "{minOperational: -1}").passed);
}

TEST_F(FleetChecksTest, AffinityHasNoAnswerBeforeThePodsAreKnown) {
  kube::PodStore unlisted(atoms);
  Fleet early(nodes, unlisted, topics);
  const Facts early_facts{occupancy, early, facts.leases, facts.hypervisors, facts.observations, facts.topics};
  put_in("a", "p", kReq);
  put_in("b", "p", kOp);
  const NodeDraft draft(*nodes.find("a"));
  const ProfileData data{now, state, state};
  const auto ask = [&](std::string_view settings) {
    configure(yaml("affinity", settings));
    return config->checks.at(0).check->run({draft, profile, data, early_facts, now});
  };
  const CheckResult unknown = ask("null");
  EXPECT_TRUE(unknown.pending);
  EXPECT_FALSE(unknown.passed);
  EXPECT_THAT(unknown.topics, ElementsAre(early.pods_known().topic));
  // Which does not matter where nobody asks for pods.
  EXPECT_TRUE(ask("{minOperational: 1}").passed);
}

TEST_F(FleetChecksTest, AffinityNeedsPods) {
  configure(yaml("affinity", "{}"));
  Needs needs;
  config->checks.at(0).check->add_needs(needs);
  EXPECT_TRUE(needs.pods);
}

TEST_F(FleetChecksTest, MaxMaintenanceAsAPercentage) {
  for (int i = 0; i < 19; ++i) put(fmt::format("n{}", i));
  put("a");
  put_in("m1", "p", kIn);
  const CheckResult one = check("maxMaintenance", "{max: 10%}");
  EXPECT_TRUE(one.passed);
  EXPECT_EQ(info(one).at("max"), "number 2");
  EXPECT_EQ(one.budget->second.max, 2);
  EXPECT_THAT(one.topics, ElementsAre(fleet.share({}, 10).topic));
  EXPECT_THAT(one.reason, HasSubstr("1 of 2 (10% of 21 nodes)"));
  put_in("m2", "p", kIn);
  EXPECT_FALSE(check("maxMaintenance", "{max: 10%}").passed);
  EXPECT_FALSE(check("maxMaintenance", "{max: 1%}").passed);
  EXPECT_EQ(check("maxMaintenance", "{max: 1%}").budget->second.max, 1);
  EXPECT_EQ(check("maxMaintenance", "{max: 100%}").budget->second.max, 22);
  EXPECT_THAT(check("maxMaintenance", "{max: 3}").topics, IsEmpty());
}

TEST_F(FleetChecksTest, AMaximumAsAPercentageIsOfTheScope) {
  const std::string label(kProfileLabel);
  put("a", {{"zone", "x"}});
  for (int i = 0; i < 7; ++i) put(fmt::format("x{}", i), {{"zone", "x"}, {label, "w"}});
  for (int i = 0; i < 4; ++i) put(fmt::format("y{}", i), {{"zone", "y"}, {label, "w"}});
  EXPECT_EQ(check("maxMaintenance", "{max: 50%}").budget->second.max, 6);
  EXPECT_EQ(check("maxMaintenance", "{max: 50%, groupBy: zone}").budget->second.max, 4);
  EXPECT_EQ(check("maxMaintenance", "{max: 50%, profile: w}").budget->second.max, 5);
  EXPECT_EQ(check("maxMaintenance", "{max: 50%, profile: w, groupBy: zone}").budget->second.max, 3);
  EXPECT_EQ(check("maxMaintenance", "{max: 50%, profile: nobody}").budget->second.max, 1);
}

TEST_F(FleetChecksTest, AWrongMaximumIsRefused) {
  for (const char* wrong : {"0", "0%", "101%", "x", "10 %x"}) {
    EXPECT_THAT(refused(yaml("maxMaintenance", fmt::format("{{max: {}}}", wrong))), HasSubstr("max")) << wrong;
  }
}

TEST_F(FleetChecksTest, ANegativeMaximumLetsNobodyPass) {
  put("a", {});
  const CheckResult result = check("maxMaintenance", "{max: -1}");
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.error, "");
}

}  // namespace
}  // namespace careen::profiles
