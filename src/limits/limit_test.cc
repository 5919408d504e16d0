// What is read of a MaintenanceLimit, how many it allows, and what is said of one that makes no sense.
#include "limits/limit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/decode.h"

namespace careen::limits {
namespace {

using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Limit read(const std::string& spec, const std::string& name = "node", const ParseOptions& options = {}) {
  const auto object = kube::decode_object(
      fmt::format(R"({{"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceLimit","metadata":{{"name":"{}","uid":"u",
      "resourceVersion":"7","generation":3}},"spec":{}}})",
                  name, spec));
  EXPECT_TRUE(object) << spec;
  return parse_limit(*object, options);
}

// reason: mistake
std::string wrong_with(const std::string& spec, const std::string& name = "node") {
  const Limit limit = read(spec, name);
  return limit.mistake_reason + ": " + limit.mistake;
}

int64_t nominal(const std::string& spec, int64_t total, const ParseOptions& options = {}) {
  const Limit limit = read(spec, "node", options);
  EXPECT_EQ(limit.mistake, "") << spec;
  return limit.nominal(total);
}

TEST(Limit, ReadsWhatTheOriginalKnew) {
  const Limit limit = read(R"({"limit":5,"policies":["NotReady","Unschedulable"]})");
  EXPECT_EQ(limit.name, "node");
  EXPECT_EQ(limit.uid, "u");
  EXPECT_EQ(limit.version, 7u);
  EXPECT_EQ(limit.generation, 3);
  EXPECT_EQ(limit.subject, Subject::node);
  EXPECT_EQ(limit.percent, 5);
  EXPECT_THAT(limit.policies, ElementsAre(Policy::not_ready, Policy::unschedulable));
  EXPECT_EQ(limit.mode, Mode::observe);
  EXPECT_EQ(limit.count, Count::policies);
  EXPECT_EQ(limit.timeouts, Timeouts{});
  EXPECT_EQ(limit.timeouts.evidence, seconds{600});
  EXPECT_FALSE(limit.drain.enabled || limit.infra_drain.enabled || limit.ttl || limit.deleting);
  EXPECT_EQ(limit.mistake_reason + limit.mistake, "");
}

TEST(Limit, ReadsEverythingElse) {
  const Limit limit = read(R"({"type":"Node","selector":{"matchLabels":{"role":"worker"}},
    "groupBy":["topology.kubernetes.io/zone","pool"],"unit":"host","maxUnavailable":"10%","maxParallel":5,"minimum":2,
    "mode":"Queue","settleSeconds":120,"foreignCordonAfter":"1h30m","reserve":[{"actor":"karpenter","nodes":1}],
    "governors":["kured","clusterAPI"],
    "drain":{"enabled":true,"gracePeriodSeconds":30,"timeoutSeconds":600,"deleteEmptyDirData":false,"force":true,
      "ignoreDaemonSets":false,"podSelector":"app=web","afterSeconds":60,"onTimeout":"Continue","uncordon":false},
    "infraDrain":{"enabled":true,"timeoutSeconds":10,"afterSeconds":5,"onTimeout":"Continue"},
    "timeouts":{"pendingSeconds":1,"approvedSeconds":2,"inProgressSeconds":3,"evidenceSeconds":0},
    "intervalSeconds":90,"ttlSecondsAfterFinished":0})",
                           "workers");
  EXPECT_EQ(limit.mistake, "");
  EXPECT_EQ(limit.subject, Subject::node);
  EXPECT_EQ(limit.selector.text(), "role=worker");
  EXPECT_THAT(limit.group_by, ElementsAre("topology.kubernetes.io/zone", "pool"));
  EXPECT_EQ(limit.unit, "kubernetes.cloud.sap/host");
  EXPECT_EQ(limit.max_unavailable, (Amount{10, true}));
  EXPECT_EQ(limit.max_parallel, (Amount{5, false}));
  EXPECT_EQ(limit.minimum, 2);
  EXPECT_EQ(limit.mode, Mode::queue);
  EXPECT_EQ(limit.count, Count::all);
  EXPECT_EQ(limit.settle, seconds{120});
  EXPECT_EQ(limit.foreign_cordon_after, seconds{5400});
  EXPECT_THAT(limit.reserve, ElementsAre(Reserve{"karpenter", 1}));
  EXPECT_THAT(limit.governors, ElementsAre("kured", "clusterAPI"));
  DrainStep drain;
  drain.enabled = true;
  drain.options.grace_seconds = 30;
  drain.options.force = true;
  drain.options.only = *kube::LabelSelector::parse("app=web");
  drain.timeout = seconds{600};
  drain.after = seconds{60};
  drain.on_timeout = OnTimeout::go_on;
  drain.uncordon = false;
  EXPECT_EQ(limit.drain, drain);
  EXPECT_EQ(limit.infra_drain, (InfraDrainStep{true, seconds{10}, seconds{5}, OnTimeout::go_on}));
  EXPECT_EQ(limit.timeouts, (Timeouts{seconds{1}, seconds{2}, seconds{3}, seconds{0}}));
  EXPECT_EQ(limit.interval, seconds{90});
  EXPECT_EQ(limit.ttl, seconds{0});
}

TEST(Limit, ADrainLeavesDaemonSetsAloneAndEmptyDirsBehindUnlessToldOtherwise) {
  const Limit limit = read(R"({"drain":{"enabled":true}})");
  EXPECT_TRUE(limit.drain.options.ignore_daemon_sets && limit.drain.options.delete_emptydir_data);
  EXPECT_FALSE(limit.drain.options.force || limit.drain.cordon_only || limit.drain.options.only);
  EXPECT_EQ(limit.drain.options.grace_seconds, -1);
  EXPECT_TRUE(limit.drain.uncordon);
}

TEST(Limit, TheTypeIsWhatTheSpecSaysOrElseTheName) {
  EXPECT_EQ(read("{}", "node").subject, Subject::node);
  EXPECT_EQ(read(R"({"type":"node"})", "workers").subject, Subject::node);
  EXPECT_EQ(read(R"({"type":"NODE"})", "workers").subject, Subject::node);
  EXPECT_EQ(read("{}", "deployment").subject, Subject::deployment);
  EXPECT_EQ(read(R"({"type":"StatefulSet"})").subject, Subject::stateful_set);
  EXPECT_EQ(read(R"({"type":"daemonset"})").subject, Subject::daemon_set);
  EXPECT_EQ(read("{}", "workers").subject, Subject::unsupported);
  EXPECT_EQ(wrong_with("{}", "workers"),
            "UnsupportedType: spec.type: absent, and the name workers is none of node, deployment, statefulset, "
            "daemonset");
  EXPECT_THAT(wrong_with(R"({"type":"pod"})"), StartsWith("UnsupportedType: spec.type: \"pod\" is none of node"));
  // It holds back what its name says rather than letting it pass.
  EXPECT_EQ(read(R"({"type":5})").subject, Subject::node);
  EXPECT_EQ(wrong_with(R"({"type":5})"), "InvalidField: spec.type: 5 is no text");
}

// The figures of the tests of the program that careen replaces.
TEST(Limit, PercentOfNodesIsRoundedDownButNotToNothing) {
  EXPECT_EQ(nominal(R"({"limit":50})", 1), 1);
  EXPECT_EQ(nominal(R"({"limit":50})", 2), 1);
  EXPECT_EQ(nominal(R"({"limit":50})", 4), 2);
  EXPECT_EQ(nominal(R"({"limit":50})", 10), 5);
  EXPECT_EQ(nominal(R"({"limit":50})", 0), 0);
  EXPECT_EQ(nominal(R"({"limit":5})", 100), 5);
  EXPECT_EQ(nominal(R"({"maxUnavailable":"10%"})", 39), 3);
}

TEST(Limit, TheSmallerOfTwoNumbersHolds) {
  EXPECT_EQ(nominal(R"({"limit":50,"maxUnavailable":3})", 100), 3);
  EXPECT_EQ(nominal(R"({"limit":2,"maxUnavailable":3})", 100), 2);
  EXPECT_EQ(nominal(R"({"maxUnavailable":3})", 2), 3);
}

TEST(Limit, ZeroMeansNoneUnlessAMinimumSaysOtherwise) {
  EXPECT_EQ(nominal(R"({"limit":0})", 100), 0);
  EXPECT_EQ(nominal(R"({"maxUnavailable":0})", 100), 0);
  EXPECT_EQ(nominal(R"({"maxUnavailable":"0%"})", 100), 0);
  EXPECT_EQ(nominal(R"({"limit":0,"maxUnavailable":3})", 100), 0);
  EXPECT_EQ(nominal(R"({"limit":0,"minimum":2})", 100), 2);
  EXPECT_EQ(nominal(R"({"limit":1,"minimum":0})", 50), 0);
  EXPECT_EQ(nominal(R"({"limit":1,"minimum":3})", 50), 3);
  const ParseOptions compatible{.floor_of_one = true};
  EXPECT_EQ(nominal(R"({"limit":0})", 100, compatible), 1);
  EXPECT_EQ(nominal(R"({"limit":0})", 0, compatible), 0);
  EXPECT_EQ(nominal(R"({"limit":0,"minimum":0})", 100, compatible), 0);
}

TEST(Limit, WithoutANumberNoneIsAllowed) {
  EXPECT_EQ(nominal("{}", 100), 0);
  EXPECT_EQ(nominal("null", 100), 0);
  EXPECT_EQ(nominal(R"({"maxParallel":5})", 100), 0);
  EXPECT_EQ(nominal(R"({"minimum":2})", 100), 2);
  EXPECT_EQ(nominal("{}", 100, {.floor_of_one = true}), 1);
}

TEST(Limit, AsManyInParallelAsMayBeOutUnlessItIsSaid) {
  EXPECT_EQ(read(R"({"maxUnavailable":4})").parallel(100), 4);
  EXPECT_EQ(read(R"({"maxUnavailable":4,"maxParallel":2})").parallel(100), 2);
  EXPECT_EQ(read(R"({"maxUnavailable":0,"maxParallel":2})").parallel(100), 2);
  EXPECT_EQ(read(R"({"maxUnavailable":4,"maxParallel":"10%"})").parallel(5), 1);
  EXPECT_EQ(read(R"({"maxUnavailable":4,"maxParallel":0})").parallel(100), 0);
}

TEST(Limit, WhatCountsFollowsFromWhatIsAskedFor) {
  EXPECT_EQ(read(R"({"limit":5})").count, Count::policies);
  EXPECT_EQ(read(R"({"maxUnavailable":5})").count, Count::all);
  EXPECT_EQ(read(R"({"limit":5,"mode":"Enforce"})").count, Count::all);
  EXPECT_EQ(read(R"({"limit":5,"mode":"Observe"})").count, Count::policies);
  EXPECT_EQ(read(R"({"limit":5,"count":"All"})").count, Count::all);
  EXPECT_EQ(read(R"({"maxUnavailable":5,"count":"Policies"})").count, Count::policies);
  EXPECT_EQ(wrong_with(R"({"mode":"Queue","count":"Policies"})"),
            "InvalidField: spec.count: Policies goes with mode Observe only, not with Queue");
}

TEST(Limit, PoliciesThatNobodyKnowsHaveNoEffect) {
  const Limit limit = read(R"({"policies":["None","Unschedulable","Sleepy",7,"NotReady","Unschedulable"]})");
  EXPECT_THAT(limit.policies, ElementsAre(Policy::unschedulable, Policy::not_ready));
  EXPECT_EQ(limit.mistake, "");
}

TEST(Limit, AMistakeNamesItsField) {
  const auto field = [](const std::string& spec) { return wrong_with(spec); };
  EXPECT_EQ(field(R"({"maxUnavailable":"abc"})"),
            R"(InvalidField: spec.maxUnavailable: "abc" is neither a number nor a percentage)");
  EXPECT_EQ(field(R"({"maxUnavailable":"-1%"})"),
            R"(InvalidField: spec.maxUnavailable: "-1%" is neither a number nor a percentage)");
  EXPECT_EQ(field(R"({"maxUnavailable":1.5})"),
            "InvalidField: spec.maxUnavailable: 1.5E0 is neither a number nor a percentage");
  EXPECT_EQ(field(R"({"maxUnavailable":"101%"})"),
            R"(InvalidField: spec.maxUnavailable: "101%" is not between 0 and 100%)");
  EXPECT_EQ(field(R"({"maxParallel":-1})"), "InvalidField: spec.maxParallel: -1 is not between 0 and 2147483647");
  EXPECT_EQ(field(R"({"limit":101})"), "InvalidField: spec.limit: 101 is not between 0 and 100");
  EXPECT_EQ(field(R"({"limit":"5"})"), R"(InvalidField: spec.limit: "5" is no whole number)");
  EXPECT_EQ(field(R"({"mode":"Strict"})"), R"(InvalidField: spec.mode: "Strict" is none of Observe, Queue, Enforce)");
  EXPECT_EQ(field(R"({"selector":[]})"), "InvalidField: spec.selector: [] is no label selector");
  EXPECT_EQ(field(R"({"selector":{"matchLabels":{"a":1}}})"),
            "InvalidField: spec.selector: matchLabels: the value of a is no text");
  EXPECT_EQ(field(R"({"selector":{"matchExpressions":[{"key":"a","operator":"Is"}]}})"),
            R"(InvalidField: spec.selector: "Is" is not a valid label selector operator)");
  EXPECT_EQ(field(R"({"groupBy":["a b"]})"), R"(InvalidField: spec.groupBy[0]: "a b" is no label key)");
  EXPECT_EQ(field(R"({"groupBy":["a","a"]})"), "InvalidField: spec.groupBy[1]: a is named twice");
  EXPECT_EQ(field(R"({"unit":""})"), R"(InvalidField: spec.unit: "" is no label key)");
  EXPECT_EQ(field(R"({"settleSeconds":-1})"), "InvalidField: spec.settleSeconds: -1 is not between 0 and 2147483647");
  EXPECT_EQ(field(R"({"foreignCordonAfter":"soon"})"),
            R"(InvalidField: spec.foreignCordonAfter: "soon" is no duration such as 10m)");
  EXPECT_EQ(field(R"({"foreignCordonAfter":"-1m"})"),
            R"(InvalidField: spec.foreignCordonAfter: "-1m" is negative or too long)");
  EXPECT_EQ(field(R"({"reserve":[{"actor":"a","nodes":1},{"actor":"a","nodes":2}]})"),
            "InvalidField: spec.reserve[1].actor: a is named twice");
  EXPECT_EQ(field(R"({"reserve":[{"nodes":1}]})"),
            "InvalidField: spec.reserve[0].actor: who it is for is missing or no name");
  EXPECT_EQ(field(R"({"reserve":[{"actor":"a","nodes":"1"}]})"),
            "InvalidField: spec.reserve[0].nodes: is not between 0 and 2147483647");
  EXPECT_EQ(
      field(R"({"governors":["kured","me"]})"),
      R"(InvalidField: spec.governors[1]: "me" is none of karpenter, karpenterNodePool, clusterAutoscaler, kured, )"
      "clusterAPI");
  EXPECT_EQ(field(R"({"drain":7})"), "InvalidField: spec.drain: 7 is no object");
  EXPECT_EQ(field(R"({"drain":{"enabled":"yes"}})"),
            R"(InvalidField: spec.drain.enabled: "yes" is neither true nor false)");
  EXPECT_THAT(field(R"({"drain":{"podSelector":"a b"}})"),
              StartsWith("InvalidField: spec.drain.podSelector: unable to parse requirement"));
  EXPECT_EQ(field(R"({"drain":{"gracePeriodSeconds":-2}})"),
            "InvalidField: spec.drain.gracePeriodSeconds: -2 is not between -1 and 2147483647");
  EXPECT_EQ(field(R"({"timeouts":{"evidenceSeconds":1e300}})"),
            "InvalidField: spec.timeouts.evidenceSeconds: 1E300 is no whole number");
  EXPECT_EQ(field("7"), "InvalidField: spec: 7 is no object");
  EXPECT_EQ(field(R"({"namespaceSelector":{}})"),
            "InvalidField: spec.namespaceSelector: is for limits about workloads; this one is about nodes");
}

TEST(Limit, VolumesAreDetachedOnlyFromANodeThatIsDrained) {
  const std::string mistake =
      "InfraDrainNeedsDrain: spec.infraDrain.enabled: needs spec.drain.enabled, without cordonOnly";
  EXPECT_EQ(wrong_with(R"({"infraDrain":{"enabled":true}})"), mistake);
  EXPECT_EQ(wrong_with(R"({"infraDrain":{"enabled":true},"drain":{"enabled":true,"cordonOnly":true}})"), mistake);
  EXPECT_EQ(wrong_with(R"({"infraDrain":{"enabled":true},"drain":{"enabled":true}})"), ": ");
  EXPECT_EQ(wrong_with(R"({"infraDrain":{"enabled":false}})"), ": ");
}

TEST(Limit, WhatMeansNothingForWorkloadsIsRefused) {
  for (const char* field :
       {R"("drain":{})", R"("infraDrain":{})", R"("groupBy":["a"])", R"("mode":"Queue")", R"("mode":"Enforce")",
        R"("mode":7)", R"("unit":"host")", R"("maxParallel":1)", R"("count":"All")", R"("settleSeconds":1)",
        R"("foreignCordonAfter":"1m")", R"("reserve":[])", R"("governors":[])", R"("timeouts":{})",
        R"("intervalSeconds":1)", R"("ttlSecondsAfterFinished":1)"}) {
    EXPECT_THAT(wrong_with(fmt::format("{{{}}}", field), "deployment"), StartsWith("InvalidField: spec.")) << field;
  }
  const Limit limit = read(R"({"maxUnavailable":1,"mode":"Observe","selector":{"matchLabels":{"app":"db"}},
    "namespaceSelector":{"matchLabels":{"tier":"prod"}},"policies":["NotReady"]})",
                           "statefulset");
  EXPECT_EQ(limit.mistake, "");
  EXPECT_EQ(limit.count, Count::policies);
  EXPECT_EQ(limit.namespace_selector.text(), "tier=prod");
}

TEST(Limit, ListsAndTextsHaveBounds) {
  std::string keys, reserves, labels;
  for (int i = 0; i < 100; ++i) {
    keys += fmt::format(R"({}"k{}")", i ? "," : "", i);
    reserves += fmt::format(R"({}{{"actor":"a{}","nodes":1}})", i ? "," : "", i);
    labels += fmt::format(R"({}"k{}":"v")", i ? "," : "", i);
  }
  EXPECT_EQ(wrong_with("{\"groupBy\":[" + keys + "]}"),
            "InvalidField: spec.groupBy: a list of 100 is too long; there may be 8");
  EXPECT_EQ(wrong_with("{\"reserve\":[" + reserves + "]}"),
            "InvalidField: spec.reserve: a list of 100 is too long; there may be 64");
  EXPECT_EQ(wrong_with("{\"selector\":{\"matchLabels\":{" + labels + "}}}"),
            "InvalidField: spec.selector: more than 64 requirements");
  EXPECT_EQ(wrong_with("{\"selector\":{\"matchLabels\":{\"a\":\"" + std::string(5000, 'x') + "\"}}}"),
            "InvalidField: spec.selector: longer than 4096 bytes");
  const Limit limit = read("{\"maxUnavailable\":\"" + std::string(100'000, 'x') + "\"}");
  EXPECT_LT(limit.mistake.size(), 200u);
  EXPECT_THAT(wrong_with("{\"maxUnavailable\":\"\\u001b[31m\"}"), testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(wrong_with("{\"maxUnavailable\":\"99999999999999999999%\"}"), HasSubstr("is not between 0 and 100%"));
  EXPECT_THAT(wrong_with("{\"maxUnavailable\":99999999999999999999}"), HasSubstr("neither a number"));
}

TEST(Limit, SelectsNodesByTheirLabels) {
  kube::AtomPool atoms;
  const auto node = kube::decode_node(
      R"({"metadata":{"name":"n1","uid":"u","resourceVersion":"1","labels":{"role":"worker"}}})", atoms);
  ASSERT_TRUE(node);
  EXPECT_TRUE(read("{}").selects(*node));
  EXPECT_TRUE(read(R"({"selector":{}})").selects(*node));
  EXPECT_TRUE(read(R"({"selector":null})").selects(*node));
  EXPECT_TRUE(read(R"({"selector":{"matchLabels":{"role":"worker"}}})").selects(*node));
  EXPECT_FALSE(read(R"({"selector":{"matchLabels":{"role":"db"}}})").selects(*node));
  EXPECT_FALSE(read("{}", "deployment").selects(*node));
  // It cannot be said which nodes are meant: all of them.
  EXPECT_TRUE(read(R"({"selector":7})").selects(*node));
}

TEST(Limit, ReadsWhatItsOwnStatusRemembers) {
  const auto object = kube::decode_object(R"({"metadata":{"name":"node","resourceVersion":"7",
    "deletionTimestamp":"2026-03-01T10:00:00Z"},"status":{"lastApprovalTime":"2026-03-01T10:00:00Z",
    "lastFinishTime":7}})");
  const Limit limit = parse_limit(*object);
  EXPECT_EQ(limit.last_approval, io::parse_rfc3339("2026-03-01T10:00:00Z"));
  EXPECT_EQ(limit.last_finish, std::nullopt);
  EXPECT_TRUE(limit.deleting);
  EXPECT_THAT(limit.mistake, IsEmpty());
}

}  // namespace
}  // namespace careen::limits
