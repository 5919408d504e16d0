#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_config.h"

namespace careen::profiles {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ConfigKeysTest, KeysThatAreNotKnownAreWarnedAboutOnEveryLevel) {
  EXPECT_THAT(
      warnings_of(R"(intervals: {requeue: 1s, notify: 5h, requeues: 2s}
keys: {approval: x}
profile: []
instances:
  checks: []
  check:
  - {name: a, type: hasLabel, config: {key: k, vlaue: v}, schedule: {}}
  notify:
  - name: b
    type: log
    config: {message: m, extra: 1, to: {hots: x}, copies: [{host: x}, {hoste: y, to: z}]}
    schedule: {type: periodic, config: {intervall: 1h, delay: 1m}, when: now}
profiles:
- name: p
  in_maintenance: {}
  operational: {transition: [], transitions: [{check: a, next: in-maintenance, triggers: t}]}
dashboard: {labelFilter: [a], labelfilter: [b]}
)"),
      ElementsAre(
          HasSubstr("1:26: the key \"notify\" is not known and has no effect: each notification has a \"schedule\""),
          "maintenance.yaml:1:38: the key \"requeues\" is not known and has no effect",
          "maintenance.yaml:2:1: the key \"keys\" is not known and has no effect: it is left over from older versions",
          "maintenance.yaml:3:1: the key \"profile\" is not known and has no effect",
          "maintenance.yaml:5:3: the key \"checks\" is not known and has no effect",
          "maintenance.yaml:7:48: check \"a\": the key \"vlaue\" is not known and has no effect; did you mean "
          "\"value\"?",
          "maintenance.yaml:7:59: the key \"schedule\" is not known and has no effect",
          "maintenance.yaml:11:26: notification \"b\": the key \"extra\" is not known and has no effect",
          "maintenance.yaml:11:41: notification \"b\": \"to\": the key \"hots\" is not known and has no effect; did "
          "you mean \"host\"?",
          "maintenance.yaml:11:72: notification \"b\": \"copies\": the key \"hoste\" is not known and has no effect; "
          "did you mean \"host\"?",
          "maintenance.yaml:11:82: notification \"b\": \"copies\": the key \"to\" is not known and has no effect",
          "maintenance.yaml:12:41: notification \"b\": \"schedule.config\": the key \"intervall\" is not known and has "
          "no effect; did you mean \"interval\"?",
          "maintenance.yaml:12:56: notification \"b\": \"schedule.config\": the key \"delay\" is not known and has no "
          "effect",
          "maintenance.yaml:12:68: the key \"when\" is not known and has no effect",
          "maintenance.yaml:15:3: the key \"in_maintenance\" is not known and has no effect; did you mean "
          "\"in-maintenance\"?",
          "maintenance.yaml:16:17: the key \"transition\" is not known and has no effect",
          "maintenance.yaml:16:80: the key \"triggers\" is not known and has no effect; did you mean \"trigger\"?",
          "maintenance.yaml:17:31: the key \"labelfilter\" is not known and has no effect"));
}

// Keys of the top level that texts refer to, or that hold what an anchor shares, have an effect.
TEST(ConfigKeysTest, VariablesAndAnchorsAtTheTopLevelAreNoUnknownKeys) {
  EXPECT_THAT(warnings_of(R"(intervals: {requeue: "${every:5s}"}
every: 90s
unused: 5s
common: &common {type: hasLabel, config: {key: shared}}
texts: {inner: [&text hasLabel]}
idle: &idle {type: hasLabel}
instances:
  check:
  - {<<: *common, name: a}
  - {type: *text, name: b, config: {key: k}}
)"),
              ElementsAre(HasSubstr("3:1: the key \"unused\" is not known"), HasSubstr("6:1: the key \"idle\"")));
}

// The error says it already.
TEST(ConfigKeysTest, AKeyThatAnErrorNamesIsNotWarnedAboutAsWell) {
  const ConfigReport report = examine_config(R"(intervals: {requeu: 1s}
instances:
  check:
  - {name: a, type: hasLabel, config: {kye: k, nothing: x}}
  - hasLabel: {name: g, config: {}}
)",
                                             "maintenance.yaml", registry(), environment);
  EXPECT_FALSE(report.config);
  EXPECT_THAT(texts(report.errors),
              ElementsAre(HasSubstr("did you mean \"requeue\""), HasSubstr("did you mean \"key\""),
                          HasSubstr("the layout used before 2022")));
  EXPECT_THAT(texts(report.warnings), ElementsAre(HasSubstr("4:48: check \"a\": the key \"nothing\" is not known"),
                                                  HasSubstr("5:5: this check instance has no name")));
}

TEST(ConfigKeysTest, SecretsAreCollected) {
  const Config config = loaded(R"(intervals: {requeue: 1s}
here: inner text
instances:
  check:
  - {name: a, type: hasLabel, config: {key: "${SECRET}", value: "${TRUE}"}}
  - {name: b, type: hasLabel, config: {key: "x-${SECRET}-${here}", value: plain}}
  notify:
  - name: c
    type: log
    config: {message: "${NONE:abc}", token: literal}
    schedule: {type: periodic, config: {}}
  - {name: d, type: log, config: {message: m, token: 123456}, schedule: {type: periodic, config: {}}}
)");
  EXPECT_THAT(config.secrets, ElementsAre("hunter2", "literal", "x-hunter2-inner text"));
  EXPECT_EQ(config.redact("GET /x-hunter2-inner text?a=literal,hunter2hunter2 plain"), "GET /***?a=***,****** plain");
  EXPECT_EQ(Config{}.redact("as it is"), "as it is");
}

TEST(ConfigKeysTest, VariablesWorkEverywhereAndStaySecret) {
  const Config config = loaded(R"(intervals: {requeue: "${every:5s}"}
every: 90s
instances:
  check:
  - {name: one, type: hasLabel, config: {key: k}}
  - {name: "${second:two}", type: "${kind}", config: {key: k}}
kind: hasLabel
profiles:
- {name: "${second:two}", operational: {transitions: [{check: "${CHAIN}", next: in-maintenance}]}}
)");
  EXPECT_EQ(config.requeue, io::seconds{90});
  EXPECT_EQ(config.checks.at(1).name, "two");
  EXPECT_THAT(config.find_profile("two")->at(State::operational).transitions.at(0).check.leaves, ElementsAre(0, 1));

  const auto errors = errors_of(R"(intervals: {requeue: "${SECRET}"}
instances:
  check:
  - {name: "${SECRET}", type: hasLabel, config: {}}
  - {name: "${SECRET}", type: "${SECRET}"}
  - {name: "${SECRET}", type: "${NOT_SET}"}
  trigger:
  - {name: a, type: alterLabel, config: {key: k, remove: "${SECRET}"}}
  notify:
  - {name: a, type: log, config: {message: m}, schedule: {type: "${SECRET}", config: {}}}
profiles:
- name: p--${SECRET}
  operational:
    notify: ${SECRET}
    enter: a && ${SECRET}
    transitions:
    - {check: "${SECRET} ${SECRET}", next: "${SECRET}", trigger: "${SECRET}"}
    - {check: hunter, next: in-maintenance}
)");
  EXPECT_EQ(errors.size(), 12U) << fmt::format("{}", fmt::join(errors, "\n"));
  EXPECT_THAT(errors, Contains(HasSubstr("the variable \"NOT_SET\" is not set")));
  for (const std::string& error : errors) EXPECT_THAT(error, Not(HasSubstr("hunter2")));
  EXPECT_THAT(errors, Contains("maintenance.yaml:18:15: check \"hunter\" is not defined"));
}

}  // namespace
}  // namespace careen::profiles
