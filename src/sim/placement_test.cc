// Which nodes a pod may run on: quantities, taints, selectors, affinity.
#include "sim/placement.h"

#include <gtest/gtest.h>

namespace careen::sim {
namespace {

json::value node(std::string_view more = "{}") {
  json::value out = json::parse(R"({"metadata":{"name":"a","labels":{"zone":"z1","cores":"8"}},"spec":{},
    "status":{"conditions":[{"type":"Ready","status":"True"}],
              "allocatable":{"cpu":"4","memory":"8Gi","pods":"110"}}})");
  const json::value extra = json::parse(more);
  for (const auto& one : extra.get_object()) out.get_object()[one.key()] = one.value();
  return out;
}

json::value spec(std::string_view text) { return json::parse(text); }

json::value requiring(std::string_view term) {
  return spec(R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
                 {"nodeSelectorTerms":[)" +
              std::string(term) + "]}}}}");
}

TEST(Placement, QuantitiesAreReadInThousandths) {
  EXPECT_EQ(milli_quantity("1"), 1000);
  EXPECT_EQ(milli_quantity("500m"), 500);
  EXPECT_EQ(milli_quantity("1.5"), 1500);
  EXPECT_EQ(milli_quantity("0.1"), 100);
  EXPECT_EQ(milli_quantity("1Ki"), 1024000);
  EXPECT_EQ(milli_quantity("2k"), 2000000);
  EXPECT_EQ(milli_quantity("1e3"), 1000000);
  EXPECT_EQ(milli_quantity("100u"), 1) << "rounded up";
  EXPECT_EQ(milli_quantity("many"), 0);
  EXPECT_EQ(milli_quantity("1X"), 0);
}

TEST(Placement, APodAsksForItsContainersOrItsLargestInitContainer) {
  const json::value both = spec(R"({"containers":[{"resources":{"requests":{"cpu":"100m","memory":"1Ki"}}},
                                                  {"resources":{"limits":{"cpu":"1"},"requests":{"memory":"2Ki"}}}],
                                    "initContainers":[{"resources":{"requests":{"cpu":"2"}}}]})");
  EXPECT_EQ(requests_of(both), (Room{2000, 3072, 1}));
  EXPECT_EQ(requests_of(spec("{}")), (Room{0, 0, 1}));
}

TEST(Placement, ANodeThatIsNotReadyOrCordonedIsTainted) {
  EXPECT_TRUE(NodeFacts(node()).taints.empty());
  const NodeFacts cordoned(node(R"({"spec":{"unschedulable":true}})"));
  ASSERT_EQ(cordoned.taints.size(), 1u);
  EXPECT_EQ(cordoned.taints[0].key, "node.kubernetes.io/unschedulable");
  const NodeFacts silent(node(R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})"));
  ASSERT_EQ(silent.taints.size(), 1u);
  EXPECT_EQ(silent.taints[0].key, "node.kubernetes.io/not-ready");
  const NodeFacts told(node(R"({"spec":{"unschedulable":true,
      "taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}})"));
  EXPECT_EQ(told.taints.size(), 1u) << "no taint twice";
}

TEST(Placement, TolerationsMatchByKeyValueAndEffect) {
  const Taint taint{"k", "v", "NoSchedule"};
  const auto tolerated = [&](std::string_view text) { return tolerates(spec(text), taint); };
  EXPECT_TRUE(tolerated(R"({"key":"k","value":"v","effect":"NoSchedule"})"));
  EXPECT_TRUE(tolerated(R"({"key":"k","operator":"Equal","value":"v"})"));
  EXPECT_TRUE(tolerated(R"({"key":"k","operator":"Exists"})"));
  EXPECT_TRUE(tolerated(R"({"operator":"Exists"})"));
  EXPECT_FALSE(tolerated(R"({"key":"k","value":"w"})"));
  EXPECT_FALSE(tolerated(R"({"key":"j","operator":"Exists"})"));
  EXPECT_FALSE(tolerated(R"({"key":"k","operator":"Exists","effect":"NoExecute"})"));
  EXPECT_FALSE(tolerated("{}"));
}

TEST(Placement, OnlyTheEffectsAskedForCount) {
  const NodeFacts facts(node(R"({"spec":{"taints":[{"key":"a","effect":"PreferNoSchedule"},
                                                   {"key":"b","effect":"NoExecute"}]}})"));
  EXPECT_EQ(untolerated(spec("{}"), facts, {"NoSchedule"}), nullptr);
  ASSERT_NE(untolerated(spec("{}"), facts, {"NoSchedule", "NoExecute"}), nullptr);
  EXPECT_EQ(untolerated(spec("{}"), facts, {"NoSchedule", "NoExecute"})->key, "b");
}

TEST(Placement, NodeSelectorsMustMatchInFull) {
  const NodeFacts facts{node()};
  EXPECT_TRUE(selects(spec(R"({"nodeSelector":{"zone":"z1"}})"), facts));
  EXPECT_FALSE(selects(spec(R"({"nodeSelector":{"zone":"z1","cores":"9"}})"), facts));
  EXPECT_FALSE(selects(spec(R"({"nodeSelector":{"disk":"ssd"}})"), facts));
}

TEST(Placement, EveryOperatorOfNodeAffinity) {
  const NodeFacts facts{node()};
  const auto matches = [&](std::string_view expression) {
    return selects(requiring(R"({"matchExpressions":[)" + std::string(expression) + "]}"), facts);
  };
  EXPECT_TRUE(matches(R"({"key":"zone","operator":"In","values":["z0","z1"]})"));
  EXPECT_FALSE(matches(R"({"key":"zone","operator":"In","values":["z0"]})"));
  EXPECT_FALSE(matches(R"({"key":"disk","operator":"In","values":["ssd"]})"));
  EXPECT_TRUE(matches(R"({"key":"zone","operator":"NotIn","values":["z0"]})"));
  EXPECT_TRUE(matches(R"({"key":"disk","operator":"NotIn","values":["ssd"]})"));
  EXPECT_FALSE(matches(R"({"key":"zone","operator":"NotIn","values":["z1"]})"));
  EXPECT_TRUE(matches(R"({"key":"zone","operator":"Exists"})"));
  EXPECT_FALSE(matches(R"({"key":"disk","operator":"Exists"})"));
  EXPECT_TRUE(matches(R"({"key":"disk","operator":"DoesNotExist"})"));
  EXPECT_FALSE(matches(R"({"key":"zone","operator":"DoesNotExist"})"));
  EXPECT_TRUE(matches(R"({"key":"cores","operator":"Gt","values":["7"]})"));
  EXPECT_FALSE(matches(R"({"key":"cores","operator":"Gt","values":["8"]})"));
  EXPECT_TRUE(matches(R"({"key":"cores","operator":"Lt","values":["9"]})"));
  EXPECT_FALSE(matches(R"({"key":"zone","operator":"Lt","values":["9"]})")) << "no number";
}

TEST(Placement, TermsAreAlternativesAndAnEmptyOneMatchesNothing) {
  const NodeFacts facts{node()};
  const std::string other = R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["b"]}]})";
  const std::string own = R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["a"]}]})";
  EXPECT_TRUE(selects(requiring(own), facts));
  EXPECT_EQ(only_node(requiring(own)), "a");
  EXPECT_EQ(only_node(requiring(own + "," + other)), "");
  EXPECT_FALSE(selects(requiring(other), facts));
  EXPECT_TRUE(selects(requiring(other + "," + own), facts));
  EXPECT_FALSE(selects(requiring("{}"), facts));
  EXPECT_FALSE(selects(requiring(""), facts));
}

TEST(Placement, PreferencesAddUp) {
  const json::value pod = spec(R"({"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
    {"weight":10,"preference":{"matchExpressions":[{"key":"zone","operator":"In","values":["z1"]}]}},
    {"weight":5,"preference":{"matchExpressions":[{"key":"cores","operator":"Exists"}]}},
    {"weight":70,"preference":{"matchExpressions":[{"key":"disk","operator":"Exists"}]}}]}}})");
  EXPECT_TRUE(has_preferences(pod));
  EXPECT_EQ(preference(pod, NodeFacts(node())), 15);
  EXPECT_FALSE(has_preferences(spec("{}")));
}

}  // namespace
}  // namespace careen::sim
