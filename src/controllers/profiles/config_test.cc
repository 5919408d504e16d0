#include "controllers/profiles/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_config.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A rolling operating-system update with a manual approval, as clusters really run it.
constexpr std::string_view kUpdates = R"(intervals:
  requeue: 60s
  notify: 5h
instances:
  notify:
  - type: log
    name: ask_for_approval
    config:
      message: |
        {{ .Node.Name }} wants a new kernel, approve by annotating it.
    schedule:
      type: periodic
      config:
        interval: 24h
  - type: log
    name: started
    config:
      message: "{{ .Node.Name }} is being updated"
    schedule: {type: OneShot, config: {}}
  check:
  - type: hasAnnotation
    name: update_waits
    config:
      key: updates.example.net/waits
      value: "${TRUE}"
  - type: hasAnnotation
    name: approved
    config:
      key: updates.example.net/approved
      value: "true"
  - type: maxMaintenance
    name: room
    config:
      max: 3
  trigger:
  - type: alterAnnotation
    name: go-ahead
    config:
      key: updates.example.net/go
      value: "true"
  - type: alterAnnotation
    name: forget_approval
    config:
      key: updates.example.net/approved
      remove: true
  - type: alterAnnotation
    name: stop
    config:
      key: updates.example.net/go
      remove: yes
profiles:
- name: os-update
  operational:
    transitions:
    - check: update_waits
      next: maintenance-required
  maintenance-required:
    notify: ask_for_approval
    transitions:
    - check: approved && room
      trigger: forget_approval && go-ahead
      next: in-maintenance
    - check: "!update_waits"
      next: operational
  in-maintenance:
    enter: go-ahead
    notify: started
    transitions:
    - check: "!update_waits"
      trigger: stop
      next: operational
dashboard:
  labelFilter:
  - topology.kubernetes.io/zone
  - kubernetes.io/os
)";

TEST(ConfigTest, LoadsAWholeFile) {
  const Config config = loaded(kUpdates);
  EXPECT_EQ(config.requeue, io::seconds{60});
  ASSERT_EQ(config.checks.size(), 3U);
  EXPECT_EQ(config.checks[0].name, "update_waits");
  EXPECT_EQ(seen(config.checks[0]), "updates.example.net/waits=true");
  EXPECT_EQ(seen(config.checks[2]), "3");
  ASSERT_EQ(config.notifies.size(), 2U);
  EXPECT_EQ(config.notifies[0].schedule.interval, io::hours{24});
  EXPECT_EQ(config.notifies[1].schedule.type, ScheduleType::oneshot);
  EXPECT_EQ(config.notifies[1].schedule.delay, io::minutes{1});
  ASSERT_EQ(config.triggers.size(), 3U);
  EXPECT_EQ(dynamic_cast<const FakeTrigger&>(*config.triggers[2].trigger).seen, "-updates.example.net/go");
  EXPECT_THAT(config.dashboard_label_filter, ElementsAre("topology.kubernetes.io/zone", "kubernetes.io/os"));
  EXPECT_THAT(texts(config.warnings),
              ElementsAre("maintenance.yaml:3:3: the key \"notify\" is not known and has no effect: each notification "
                          "has a \"schedule\" of its own"));

  ASSERT_EQ(config.profiles.size(), 2U);
  const Profile* profile = config.find_profile("os-update");
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(profile->name, "os-update");
  const StateChains& required = profile->at(State::maintenance_required);
  EXPECT_THAT(required.notify, ElementsAre(0));
  EXPECT_THAT(required.enter, IsEmpty());
  ASSERT_EQ(required.transitions.size(), 2U);
  EXPECT_THAT(required.transitions[0].check.leaves, ElementsAre(1, 2));
  EXPECT_THAT(required.transitions[0].trigger, ElementsAre(1, 0));
  EXPECT_EQ(required.transitions[0].next, State::in_maintenance);
  EXPECT_EQ(required.transitions[1].next, State::operational);
  EXPECT_EQ(required.transitions[1].check.text, "!update_waits");
  const StateChains& in_maintenance = profile->at(State::in_maintenance);
  EXPECT_THAT(in_maintenance.enter, ElementsAre(0));
  EXPECT_THAT(in_maintenance.notify, ElementsAre(1));
}

// The shortest legal file; the default profile exists without being named.
TEST(ConfigTest, NeedsOnlyAnInterval) {
  const Config config = loaded("intervals: {requeue: 200ms}\n");
  EXPECT_EQ(config.requeue, io::milliseconds{200});
  ASSERT_NE(config.find_profile("default"), nullptr);
  for (const StateChains& chains : config.find_profile("default")->states) EXPECT_THAT(chains.transitions, IsEmpty());
  EXPECT_EQ(config.find_profile("other"), nullptr);
}

TEST(ConfigTest, TheIntervalIsRequired) {
  EXPECT_THAT(errors_of(""), ElementsAre(HasSubstr("maintenance.yaml:1:1: the file is empty")));
  EXPECT_THAT(errors_of("instances: {}\n"), ElementsAre("maintenance.yaml:1:1: intervals: \"requeue\" is required"));
  EXPECT_THAT(
      errors_of("x: 1\nintervals:\n  requeu: 5s\n"),
      ElementsAre("maintenance.yaml:3:3: intervals: \"requeue\" is required; the key \"requeu\" is not known, did "
                  "you mean \"requeue\"?"));
  EXPECT_THAT(errors_of("intervals: {requeue: 0}\n"),
              ElementsAre(HasSubstr("1:22: intervals: \"requeue\" must not be 0")));
  EXPECT_THAT(errors_of("intervals: {requeue: 1d}\n"), ElementsAre(HasSubstr("must be a duration")));
  EXPECT_THAT(errors_of("intervals: 5s\n"), ElementsAre(HasSubstr("1:12: intervals must be a map")));
  EXPECT_EQ(loaded("intervals: {requeue: 30}\n").requeue, io::seconds{30});
}

TEST(ConfigTest, ANegativeIntervalMeansNone) {
  const Config config = loaded("intervals: {requeue: -1s}\n");
  EXPECT_EQ(config.requeue, -io::seconds{1});
  EXPECT_THAT(texts(config.warnings), ElementsAre(HasSubstr("1:22: intervals: \"requeue\" is negative")));
}

TEST(ConfigTest, TheTopLevelMustBeAMap) {
  EXPECT_THAT(errors_of("just text\n"), ElementsAre(HasSubstr("maintenance.yaml:1:1: the file must be a map")));
  EXPECT_THAT(errors_of("- a\n"), ElementsAre(HasSubstr("the file must be a map")));
  EXPECT_THAT(errors_of("intervals:\n\trequeue: 1s\n"), ElementsAre(HasSubstr("maintenance.yaml:2:1: a tab is used")));
  EXPECT_THAT(errors_of(std::string(2 << 20, ' ')), ElementsAre(HasSubstr("maintenance.yaml: the file is larger")));
}

TEST(ConfigTest, NamesThatAreNotDefinedAreReportedWithTheirPlace) {
  EXPECT_THAT(errors_of(with(R"(profiles:
- name: p
  operational:
    notify: tel
    enter: mark && un_mark
    transitions:
    - check: one && can_drian
      next: maintenance-required
      trigger: unmark&&nonsense
)")),
              ElementsAre("maintenance.yaml:14:13: notification \"tel\" is not defined; did you mean \"tell\"?",
                          "maintenance.yaml:15:20: trigger \"un_mark\" is not defined; did you mean \"un-mark\"?",
                          "maintenance.yaml:17:21: check \"can_drian\" is not defined; did you mean \"can_drain\"?",
                          "maintenance.yaml:19:16: trigger \"unmark\" is not defined; did you mean \"un-mark\"?",
                          "maintenance.yaml:19:24: trigger \"nonsense\" is not defined"));
}

TEST(ConfigTest, SyntaxErrorsOfExpressionsPointIntoTheText) {
  EXPECT_THAT(errors_of(with(R"(profiles:
- name: p
  operational:
    transitions:
    - check: |
        one
        && (can_drain
      next: in-maintenance
    - {check: 'one can_drain', next: in-maintenance}
)")),
              ElementsAre("maintenance.yaml:17:12: this parenthesis is not closed",
                          "maintenance.yaml:19:20: an operator, && or ||, is missing before \"can_drain\""));
}

TEST(ConfigTest, ExpressionsMaySpanLinesAndOmitBlanks) {
  const Config config = loaded(with(R"(profiles:
- name: p
  operational:
    transitions:
    - check: |
        one
        &&!(can_drain||one)
      next: in-maintenance
      trigger: |
        mark &&
        un-mark
)"));
  const Transition& transition = config.find_profile("p")->at(State::operational).transitions.at(0);
  EXPECT_THAT(transition.check.leaves, ElementsAre(0, 1, 0));
  EXPECT_THAT(transition.trigger, ElementsAre(0, 1));
}

TEST(ConfigTest, TransitionsNeedCheckAndNext) {
  EXPECT_THAT(
      errors_of(with(R"(profiles:
- name: p
  operational:
    transitions:
    - next: in-maintenance
    - check: ""
      next: in-maintenance
    - check: one
    - check: one
      next: in-maintanance
    - null
    - [one]
    - check: [one]
      next: in-maintenance
)")),
      ElementsAre("maintenance.yaml:15:7: a transition needs \"check\": an expression of check instances",
                  "maintenance.yaml:16:14: a transition needs \"check\": an expression of check instances",
                  HasSubstr("maintenance.yaml:18:7: a transition needs \"next\""),
                  "maintenance.yaml:20:13: \"next\" must be operational, maintenance-required or in-maintenance, "
                  "not \"in-maintanance\"; did you mean \"in-maintenance\"?",
                  HasSubstr("maintenance.yaml:21:7: a transition needs \"check\""),
                  HasSubstr("maintenance.yaml:21:7: a transition needs \"next\""),
                  HasSubstr("maintenance.yaml:22:7: a transition must be a map"),
                  "maintenance.yaml:23:14: \"check\" must be a text, not a list"));
}

TEST(ConfigTest, ChainsMayBeEmpty) {
  const Config config = loaded(with(R"(profiles:
- name: p
  operational:
    notify: null
    enter: ""
    transitions: null
  maintenance-required: null
  in-maintenance: {}
- name: q
)"));
  for (const StateChains& chains : config.find_profile("p")->states) {
    EXPECT_THAT(chains.enter, IsEmpty());
    EXPECT_THAT(chains.notify, IsEmpty());
    EXPECT_THAT(chains.transitions, IsEmpty());
  }
  EXPECT_NE(config.find_profile("q"), nullptr);
}

TEST(ConfigTest, Profiles) {
  EXPECT_THAT(errors_of("intervals: {requeue: 1s}\nprofiles:\n- operational: {}\n- name: ''\n- 5\n- {name: p, "
                        "operational: x, in-maintenance: {transitions: z}}\n"),
              ElementsAre("maintenance.yaml:3:3: a profile needs a \"name\"",
                          "maintenance.yaml:4:9: a profile needs a \"name\"",
                          "maintenance.yaml:5:3: a profile must be a map, not 5",
                          "maintenance.yaml:6:26: \"operational\" must be a map, not \"x\"",
                          "maintenance.yaml:6:59: \"transitions\" must be a list, not \"z\""));
  EXPECT_THAT(warnings_of("intervals: {requeue: 1s}\nprofiles:\n- name: a--b\n- name: -a\n- name: a_b.c-D\n"),
              ElementsAre(HasSubstr("3:9: profile \"a--b\" has \"--\" in its name"),
                          HasSubstr("4:9: the name of profile \"-a\" is no label value")));
}

TEST(ConfigTest, TheDefaultProfileCanBeDefined) {
  const Config config = loaded(with(R"(profiles:
- name: default
  operational:
    transitions:
    - {check: one, next: maintenance-required}
)"));
  EXPECT_EQ(config.profiles.size(), 1U);
  EXPECT_EQ(config.find_profile("default")->at(State::operational).transitions.size(), 1U);
}

// Read as nothing, as ever, but not silently.
TEST(ConfigTest, LayoutsOfBefore2022) {
  EXPECT_THAT(warnings_of(R"(intervals: {requeue: 1s}
instances:
  check:
    hasLabel: {name: a, config: {}}
profiles:
  p:
    operational: {}
)"),
              ElementsAre("maintenance.yaml:4:5: \"instances.check\" must be a list; a map is read as an empty one",
                          "maintenance.yaml:6:3: \"profiles\" must be a list; a map is read as an empty one"));
  EXPECT_THAT(warnings_of(with(R"(profiles:
- name: p
  operational:
    check: one
    trigger: mark
)")),
              ElementsAre(HasSubstr("14:5: \"check\" directly below a state is the layout used before 2022"),
                          HasSubstr("15:5: \"trigger\" directly below a state")));
}

TEST(ConfigTest, Schedules) {
  const auto schedule = [](std::string_view text) {
    return fmt::format(
        "intervals: {{requeue: 1s}}\ninstances:\n  notify:\n  - name: a\n    type: log\n    config: {{message: m}}\n{}",
        text);
  };
  const Config config =
      loaded(schedule("    schedule: {type: scheduled, config: {instant: 9:30, weekdays: [mon, Sunday]}}\n"));
  EXPECT_EQ(config.notifies.at(0).schedule.type, ScheduleType::scheduled);
  EXPECT_EQ(config.notifies.at(0).schedule.instant, io::hours{9} + io::minutes{30});
  EXPECT_EQ(config.notifies.at(0).schedule.weekdays.to_ulong(), 0b11UL);
  EXPECT_EQ(loaded(schedule("    schedule: {type: oneshot, config: {delay: 5m}}\n")).notifies.at(0).schedule.delay,
            io::minutes{5});

  EXPECT_THAT(errors_of(schedule("")),
              ElementsAre("maintenance.yaml:4:5: notification \"a\": \"schedule\" is required"));
  EXPECT_THAT(errors_of(schedule("    schedule: daily\n")),
              ElementsAre("maintenance.yaml:7:15: notification \"a\": \"schedule\" must be a map of keys and values"));
  EXPECT_THAT(errors_of(schedule("    schedule: {type: periodic}\n")),
              ElementsAre(HasSubstr("\"schedule.config\" is required; write \"config: {}\"")));
  EXPECT_THAT(
      errors_of(schedule("    schedule: {type: periodc, config: {}}\n")),
      ElementsAre("maintenance.yaml:7:22: notification \"a\": schedule type \"periodc\" is not known; did you mean "
                  "\"periodic\"?"));
  EXPECT_THAT(errors_of(schedule("    schedule: {config: {}}\n")),
              ElementsAre(HasSubstr("\"schedule.type\" must be periodic, scheduled or oneshot")));
  EXPECT_THAT(
      errors_of(schedule("    schedule: {type: scheduled, config: {instant: 25:00, weekdays: [mo]}}\n")),
      ElementsAre(HasSubstr("\"instant\" must be a time of day"), HasSubstr("\"weekdays\" must be names of days")));
  EXPECT_THAT(errors_of(schedule("    schedule: {type: scheduled, config: {}}\n")),
              ElementsAre(HasSubstr("\"instant\" is required"), HasSubstr("\"weekdays\" is required")));
}

TEST(ConfigTest, AnchorsAndMergesWork) {
  const Config config = loaded(R"(intervals: {requeue: 1s}
common: &common {type: hasLabel, config: {key: shared}}
instances:
  check:
  - {<<: *common, name: a}
  - <<: *common
    name: b
    config: {key: own}
)");
  EXPECT_EQ(seen(config.checks.at(0)), "shared=");
  EXPECT_EQ(seen(config.checks.at(1)), "own=");
}

TEST(ConfigTest, ManyErrorsAreCut) {
  std::string text = "intervals: {requeue: 1s}\nprofiles:\n- name: p\n  operational:\n    transitions:\n";
  for (int i = 0; i < 5000; ++i) text += fmt::format("    - {{check: x{}, next: in-maintenance}}\n", i);
  const auto errors = errors_of(text);
  EXPECT_LE(errors.size(), 101U);
  EXPECT_GE(errors.size(), 100U);
}

}  // namespace
}  // namespace careen::profiles
