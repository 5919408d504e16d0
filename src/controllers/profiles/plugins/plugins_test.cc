#include "controllers/profiles/plugins/plugins.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/check_context.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/test_support.h"
#include "controllers/profiles/trigger_context.h"

namespace careen::profiles {
namespace {

using testing::HasSubstr;

class PluginsTest : public WorldTest {
 protected:
  static std::string check_yaml(std::string_view type, std::string_view settings) {
    return fmt::format("{{intervals: {{requeue: 1m}}, instances: {{check: [{{name: c, type: {}, config: {}}}]}}}}",
                       type, settings);
  }
  static std::string trigger_yaml(std::string_view type, std::string_view settings) {
    return fmt::format("{{intervals: {{requeue: 1m}}, instances: {{trigger: [{{name: t, type: {}, config: {}}}]}}}}",
                       type, settings);
  }
  // The check configured so, asked about node `name` whose profile p made its last transition at `since`.
  CheckResult check(std::string_view type, std::string_view settings, std::string_view name = "a") {
    configure(check_yaml(type, settings));
    const NodeDraft draft(*nodes.find(name));
    const ProfileData profile{since, State::operational, State::operational};
    EXPECT_EQ(config->checks.at(0).check->type(), type);
    return config->checks.at(0).check->run({draft, "p", profile, facts, now});
  }
  // The node's patch after the trigger ran on it.
  kube::Json trigger(std::string_view type, std::string_view settings, std::string_view name = "a") {
    configure(trigger_yaml(type, settings));
    NodeDraft draft(*nodes.find(name));
    HypervisorDraft hypervisor;
    TriggerContext context{draft, hypervisors, hypervisor};
    EXPECT_EQ(config->triggers.at(0).trigger->type(), type);
    EXPECT_EQ(config->triggers.at(0).trigger->apply(context).error, "");
    return kube::Json(kube::Json::parse(draft.merge_patch())->at("/metadata"));
  }
  static std::string refused(const std::string& yaml) {
    try {
      config_of(yaml);
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  }
  static std::string text(const CheckResult& result, std::string_view key) {
    for (const auto& [name, value] : result.info) {
      if (name != key) continue;
      const auto* number = std::get_if<double>(&value);
      return number ? fmt::format("{}", *number) : std::get<std::string>(value);
    }
    return "(absent)";
  }

  io::Wall since = now;
};

TEST_F(PluginsTest, HasLabel) {
  put("a", {{"here", ""}, {"zone", "x"}});
  EXPECT_TRUE(check("hasLabel", "{key: here}").passed);
  EXPECT_TRUE(check("hasLabel", "{key: zone}").passed);
  EXPECT_TRUE(check("hasLabel", "{key: zone, value: x}").passed);
  EXPECT_TRUE(check("hasLabel", "{key: zone, value: ''}").passed);
  EXPECT_FALSE(check("hasLabel", "{key: zone, value: X}").passed);
  EXPECT_EQ(check("hasLabel", "{key: zone, value: z}").reason, "label zone is \"x\", not \"z\"");
  const CheckResult absent = check("hasLabel", "{key: none}");
  EXPECT_FALSE(absent.passed);
  EXPECT_EQ(text(absent, "reason"), "label none not present");
  EXPECT_THAT(refused(check_yaml("hasLabel", "{value: x}")), HasSubstr("key"));
}

TEST_F(PluginsTest, HasAnnotation) {
  put("a", {}, {{"note", "hello"}});
  EXPECT_TRUE(check("hasAnnotation", "{key: note}").passed);
  EXPECT_TRUE(check("hasAnnotation", "{key: note, value: hello}").passed);
  EXPECT_FALSE(check("hasAnnotation", "{key: note, value: bye}").passed);
  EXPECT_EQ(text(check("hasAnnotation", "{key: none}"), "reason"), "annotation none not present");
  EXPECT_THAT(refused(check_yaml("hasAnnotation", "{}")), HasSubstr("key"));
}

TEST_F(PluginsTest, WaitPassesStrictlyAfterItsDuration) {
  put("a");
  since = now - io::minutes{10};
  EXPECT_FALSE(check("wait", "{duration: 10m}").passed);
  EXPECT_EQ(check("wait", "{duration: 10m}").changes_at, now + io::Duration{1});
  EXPECT_TRUE(check("wait", "{duration: 9m59s}").passed);
  EXPECT_FALSE(check("wait", "{duration: 9m59s}").changes_at);
  const CheckResult blocked = check("wait", "{duration: 11m30s}");
  EXPECT_EQ(text(blocked, "remaining_seconds"), "90");
  EXPECT_EQ(blocked.reason, "1m30s of 11m30s remain");
  EXPECT_EQ(blocked.changes_at, since + io::seconds{690} + io::Duration{1});
}

TEST_F(PluginsTest, WaitCopesWithExtremeTimes) {
  put("a");
  since = kZeroTime;
  EXPECT_TRUE(check("wait", "{duration: 10m}").passed);
  EXPECT_TRUE(check("wait", "{duration: 2562047h}").passed);
  since = io::Wall::max();
  EXPECT_FALSE(check("wait", "{duration: 2562047h}").passed);
  EXPECT_THAT(refused(check_yaml("wait", "{}")), HasSubstr("duration"));
  EXPECT_THAT(refused(check_yaml("wait", "{duration: 5}")), HasSubstr("duration"));
}

TEST_F(PluginsTest, MaxMaintenanceComparesStrictly) {
  put("a");
  EXPECT_TRUE(check("maxMaintenance", "{max: 1}").passed);
  put_in("b", "default", kIn);
  const CheckResult full = check("maxMaintenance", "{max: 1}");
  EXPECT_FALSE(full.passed);
  EXPECT_EQ(text(full, "scope"), "all nodes in the cluster");
  EXPECT_EQ(text(full, "maintained"), "1");
  EXPECT_EQ(text(full, "max"), "1");
  ASSERT_TRUE(full.budget);
  EXPECT_EQ(full.budget->first, budget::Key(budget::NodePlaces{{}, 1, {}}));
  EXPECT_TRUE(check("maxMaintenance", "{max: 2}").passed);
}

TEST_F(PluginsTest, MaxMaintenanceCountsTheAskingNodeIfItIsInMaintenance) {
  put_in("a", "default", kIn);
  EXPECT_FALSE(check("maxMaintenance", "{max: 1}").passed);
}

TEST_F(PluginsTest, MaxMaintenanceByProfile) {
  put("a");
  put("b", {{std::string(kProfileLabel), "x--w"}, {std::string(kStateLabel), "in-maintenance"}});
  EXPECT_FALSE(check("maxMaintenance", "{max: 1, profile: w}").passed);
  EXPECT_TRUE(check("maxMaintenance", "{max: 1, profile: z}").passed);
}

TEST_F(PluginsTest, MaxMaintenanceByGroup) {
  put("a", {{"zone", "x"}, {"rack", "1"}});
  put("b", {{"zone", "x"}, {"rack", "2"}, {std::string(kStateLabel), "in-maintenance"}});
  EXPECT_FALSE(check("maxMaintenance", "{max: 1, groupBy: [zone]}").passed);
  EXPECT_FALSE(check("maxMaintenance", "{max: 1, groupBy: zone}").passed);
  EXPECT_TRUE(check("maxMaintenance", "{max: 1, groupBy: [zone, rack]}").passed);
  EXPECT_FALSE(check("maxMaintenance", "{max: 1, groupLabel: zone}").passed);
  EXPECT_TRUE(check("maxMaintenance", "{max: 1, groupLabel: rack}").passed);
  const CheckResult both = check("maxMaintenance", "{max: 1, groupBy: [zone], groupLabel: rack}");
  EXPECT_TRUE(both.passed);
  EXPECT_EQ(text(both, "scope"), "nodes matching the zone=x,rack=1 label selector");
  EXPECT_EQ(text(check("maxMaintenance", "{max: 1, groupBy: [zone], groupLabel: zone}"), "scope"),
            "nodes matching the zone=x label selector");
  // A label that the node lacks does not narrow.
  EXPECT_FALSE(check("maxMaintenance", "{max: 1, groupBy: [unknown]}").passed);
}

TEST_F(PluginsTest, MaxMaintenanceForgetsOldOnes) {
  put("a");
  put_in("b", "p", kIn, {}, now - io::hours{2});
  EXPECT_FALSE(check("maxMaintenance", "{max: 1}").passed);
  EXPECT_TRUE(check("maxMaintenance", "{max: 1, skipAfter: 1h}").passed);
  EXPECT_FALSE(check("maxMaintenance", "{max: 1, skipAfter: 3h}").passed);
  put("c", {{std::string(kStateLabel), "in-maintenance"}}, {{std::string(kDataAnnotation), "}"}});
  // Its age is unknown: it counts, and fails nothing.
  EXPECT_TRUE(check("maxMaintenance", "{max: 2, skipAfter: 1h}").passed);
  EXPECT_FALSE(check("maxMaintenance", "{max: 1, skipAfter: 1h}").passed);
  EXPECT_EQ(check("maxMaintenance", "{max: 1, skipAfter: 1h}").error, "");
}

TEST_F(PluginsTest, MaxMaintenanceNeedsAMaximum) {
  EXPECT_THAT(refused(check_yaml("maxMaintenance", "{}")), HasSubstr("max"));
  EXPECT_THAT(refused(check_yaml("maxMaintenance", "{max: 0}")), HasSubstr("max"));
}

TEST_F(PluginsTest, AlterLabel) {
  put("a", {{"zone", "x"}});
  EXPECT_EQ(trigger("alterLabel", "{key: new, value: v}")["labels"].dump(), R"({"new":"v"})");
  EXPECT_EQ(trigger("alterLabel", "{key: new}")["labels"].dump(), R"({"new":""})");
  EXPECT_EQ(trigger("alterLabel", "{key: zone, value: z}")["labels"].dump(), R"({"zone":"z"})");
  EXPECT_EQ(trigger("alterLabel", "{key: zone, remove: true}")["labels"].dump(), R"({"zone":null})");
  EXPECT_FALSE(trigger("alterLabel", "{key: none, remove: true}")["labels"].exists());
  EXPECT_FALSE(trigger("alterLabel", "{key: zone, value: x}")["labels"].exists());
  EXPECT_THAT(refused(trigger_yaml("alterLabel", "{value: x}")), HasSubstr("key"));
}

TEST_F(PluginsTest, AlterAnnotation) {
  put("a");
  EXPECT_EQ(trigger("alterAnnotation", "{key: new, value: v}")["annotations"].dump(), R"({"new":"v"})");
  EXPECT_FALSE(trigger("alterAnnotation", "{key: new, remove: true}")["annotations"].exists());
  put("b", {}, {{"old", "1"}});
  EXPECT_EQ(trigger("alterAnnotation", "{key: old, remove: true}", "b")["annotations"].dump(), R"({"old":null})");
  EXPECT_THAT(refused(trigger_yaml("alterAnnotation", "{}")), HasSubstr("key"));
}

}  // namespace
}  // namespace careen::profiles
