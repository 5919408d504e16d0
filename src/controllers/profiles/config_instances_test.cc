#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_config.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ConfigInstancesTest, PluginTypes) {
  EXPECT_THAT(
      errors_of(R"(intervals: {requeue: 1s}
instances:
  check:
  - {name: a, type: hasLable, config: {key: k}}
  - {name: b, type: stagger, config: {}}
  - {name: c, type: alterLabel, config: {key: k}}
  - {name: d, config: {}}
  - {name: e, type: nonsense}
  - {name: f, type: clusterSemvar}
  - hasLabel: {name: g, config: {}}
  - text
  notify:
  - {name: a, type: slack, config: {}, schedule: {type: periodic, config: {}}}
  trigger:
  - {name: a, type: eviction, config: {action: drain}}
)"),
      ElementsAre("maintenance.yaml:4:21: check \"a\": type \"hasLable\" is not known; did you mean \"hasLabel\"?",
                  "maintenance.yaml:5:21: check \"b\": type \"stagger\" is not available in this version of careen",
                  "maintenance.yaml:6:21: check \"c\": type \"alterLabel\" belongs below \"instances.trigger\", not "
                  "\"instances.check\"",
                  "maintenance.yaml:7:5: check \"d\" has no type",
                  "maintenance.yaml:8:21: check \"e\": type \"nonsense\" is not known",
                  "maintenance.yaml:9:21: check \"f\": type \"clusterSemvar\" is not known; did you mean "
                  "\"clusterSemver\"?",
                  "maintenance.yaml:10:5: check \"\" has no type; this is the layout used before 2022: write "
                  "\"type: hasLabel\" beside \"name\" and \"config\"",
                  HasSubstr("maintenance.yaml:11:5: a check instance must be a map"),
                  "maintenance.yaml:13:21: notification \"a\": type \"slack\" is not available in this version of "
                  "careen",
                  "maintenance.yaml:15:21: trigger \"a\": type \"eviction\" is not available in this version of "
                  "careen"));
}

// An instance with an error of its own is still defined: its users get no second error.
TEST(ConfigInstancesTest, ErrorsOfPluginsAreReportedTogether) {
  EXPECT_THAT(errors_of(R"(intervals: {requeue: 1s}
instances:
  check:
  - name: a
    type: hasLabel
    config: null
  - name: b
    type: hasLabel
  - name: c
    type: maxMaintenance
    config: {max: lots}
  - name: d
    type: hasLabel
    config: text
profiles:
- name: p
  operational:
    transitions:
    - {check: a && b && c && d, next: in-maintenance}
)"),
              ElementsAre("maintenance.yaml:4:5: check \"a\": \"key\" is required",
                          "maintenance.yaml:7:5: check \"b\": \"key\" is required",
                          "maintenance.yaml:11:19: check \"c\": \"max\" must be an integer, not \"lots\"",
                          "maintenance.yaml:14:13: check \"d\" must be a map of keys and values"));
}

TEST(ConfigInstancesTest, OfTwoInstancesWithOneNameTheLaterWins) {
  const Config config = loaded(R"(intervals: {requeue: 1s}
instances:
  check:
  - {name: a, type: hasLabel, config: {key: first}}
  - {name: b, type: hasLabel, config: {key: other}}
  - {name: a, type: hasLabel, config: {key: second}}
  trigger:
  - {name: a, type: alterLabel, config: {key: k}}
profiles:
- {name: p, operational: {transitions: [{check: a && b, next: in-maintenance, trigger: a}]}}
- {name: p, operational: {transitions: [{check: b && a, next: in-maintenance}]}}
)");
  ASSERT_EQ(config.checks.size(), 2U);
  EXPECT_EQ(seen(config.checks[0]), "second=");
  EXPECT_THAT(config.find_profile("p")->at(State::operational).transitions.at(0).check.leaves, ElementsAre(1, 0));
  EXPECT_THAT(texts(config.warnings),
              ElementsAre("maintenance.yaml:6:5: check \"a\" is defined twice; this one replaces the one above",
                          "maintenance.yaml:11:3: profile \"p\" is defined twice; this one replaces the one above"));
}

TEST(ConfigInstancesTest, AnInstanceMayLackAName) {
  const Config config = loaded(R"(intervals: {requeue: 1s}
instances:
  trigger:
  - {type: alterLabel, config: {key: k}}
profiles:
- {name: p, operational: {enter: " "}}
)");
  EXPECT_THAT(config.find_profile("p")->at(State::operational).enter, ElementsAre(0));
  EXPECT_THAT(texts(config.warnings), ElementsAre("maintenance.yaml:4:5: this trigger instance has no name"));
}

TEST(ConfigInstancesTest, ANameThatYamlReadsAsABooleanIsCalledThat) {
  const Config config = loaded(R"(intervals: {requeue: 1s}
instances:
  check:
  - {name: n, type: hasLabel, config: {key: k}}
profiles:
- {name: p, operational: {transitions: [{check: n, next: in-maintenance}]}}
)");
  EXPECT_EQ(config.checks.at(0).name, "false");
  EXPECT_THAT(texts(config.warnings), ElementsAre(HasSubstr("4:12: YAML reads this name as a boolean")));
}

}  // namespace
}  // namespace careen::profiles
