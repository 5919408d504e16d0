#include "profiles/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "profiles/check_context.h"
#include "profiles/trigger_context.h"

namespace careen::profiles {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Plugins that only remember what their configuration said.
class FakeCheck final : public Check {
 public:
  FakeCheck(std::string_view type, std::string seen) : seen(std::move(seen)), type_(type) {}
  std::string_view type() const override { return type_; }
  CheckResult run(const CheckContext&) const override { return {}; }
  const std::string seen;

 private:
  std::string_view type_;
};

class FakeTrigger final : public Trigger {
 public:
  explicit FakeTrigger(std::string seen) : seen(std::move(seen)) {}
  std::string_view type() const override { return "alterLabel"; }
  TriggerResult apply(TriggerContext&) const override { return {}; }
  const std::string seen;
};

class FakeNotify final : public Notify {
 public:
  std::string_view type() const override { return "log"; }
  io::Result<notify::Message> render(const templates::TemplateData&) const override { return notify::Message{}; }
  const templates::NodeFields& fields() const override { return fields_; }
  std::shared_ptr<const notify::Sender> sender() const override { return nullptr; }

 private:
  templates::NodeFields fields_;
};

PluginRegistry registry() {
  PluginRegistry result;
  result.checks["hasLabel"] = {[](ConfigReader& reader) -> std::unique_ptr<Check> {
                                 std::string key = reader.string("key", Required::yes);
                                 return std::make_unique<FakeCheck>("hasLabel",
                                                                    key + "=" + reader.string("value", Required::no));
                               },
                               {"hasLabel", "", {{.name = "key", .required = true}, {.name = "value"}}, ""}};
  result.checks["hasAnnotation"] = result.checks["hasLabel"];
  result.checks["maxMaintenance"] = {
      [](ConfigReader& reader) -> std::unique_ptr<Check> {
        return std::make_unique<FakeCheck>("maxMaintenance", fmt::format("{}", reader.integer("max", Required::yes)));
      },
      {"maxMaintenance", "", {{.name = "max", .type = KeyType::integer, .required = true}}, ""}};
  result.triggers["alterLabel"] = {
      [](ConfigReader& reader) -> std::unique_ptr<Trigger> {
        std::string key = reader.string("key", Required::yes);
        return std::make_unique<FakeTrigger>(reader.boolean("remove") ? "-" + key : key);
      },
      {"alterLabel",
       "",
       {{.name = "key", .required = true}, {.name = "value"}, {.name = "remove", .type = KeyType::boolean}},
       ""}};
  result.triggers["alterAnnotation"] = result.triggers["alterLabel"];
  result.notifies["log"] = {[](ConfigReader& reader) -> std::unique_ptr<Notify> {
                              reader.string("message", Required::yes);
                              reader.string("token", Required::no);
                              reader.object("to").string("host", Required::no);
                              for (ConfigReader& copy : reader.objects("copies")) copy.string("host", Required::no);
                              return std::make_unique<FakeNotify>();
                            },
                            {"log",
                             "",
                             {{.name = "message", .required = true},
                              {.name = "token", .secret = true},
                              {.name = "to", .type = KeyType::object, .keys = {{.name = "host"}}},
                              {.name = "copies", .type = KeyType::objects, .keys = {{.name = "host"}}}},
                             ""}};
  result.known_but_unavailable = {"stagger", "clusterSemver", "slack", "eviction"};
  return result;
}

std::optional<std::string> environment(std::string_view name) {
  if (name == "SECRET") return "hunter2";
  if (name == "TRUE") return "true";
  if (name == "TOKEN") return "t0ken";
  if (name == "CHAIN") return "one && two";
  return std::nullopt;
}

auto load(std::string_view text) { return load_config(text, "maintenance.yaml", registry(), environment); }

std::vector<std::string> texts(const std::vector<ConfigError>& errors) {
  std::vector<std::string> out;
  for (const ConfigError& error : errors) out.push_back(error.to_text());
  return out;
}

std::vector<std::string> errors_of(std::string_view text) {
  const auto config = load(text);
  return config ? std::vector<std::string>{} : texts(config.error());
}

Config loaded(std::string_view text) {
  auto config = load(text);
  if (!config) {
    ADD_FAILURE() << fmt::format("{}", fmt::join(texts(config.error()), "\n"));
    return {};
  }
  return std::move(*config);
}

std::vector<std::string> warnings_of(std::string_view text) { return texts(loaded(text).warnings); }

const std::string& seen(const CheckInstance& instance) { return dynamic_cast<const FakeCheck&>(*instance.check).seen; }

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

// Two checks, two triggers and a notification to refer to, then what the test is about.
std::string with(std::string_view rest) {
  return fmt::format(R"(intervals: {{requeue: 1s}}
instances:
  check:
  - {{name: one, type: hasLabel, config: {{key: 1st}}}}
  - {{name: can_drain, type: hasLabel, config: {{key: drain}}}}
  trigger:
  - {{name: mark, type: alterLabel, config: {{key: marked}}}}
  - {{name: un-mark, type: alterLabel, config: {{key: marked, remove: true}}}}
  notify:
  - {{name: tell, type: log, config: {{message: m}}, schedule: {{type: periodic, config: {{}}}}}}
{})",
                     rest);
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

TEST(ConfigTest, PluginTypes) {
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
TEST(ConfigTest, ErrorsOfPluginsAreReportedTogether) {
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

TEST(ConfigTest, OfTwoInstancesWithOneNameTheLaterWins) {
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

TEST(ConfigTest, AnInstanceMayLackAName) {
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

TEST(ConfigTest, ANameThatYamlReadsAsABooleanIsCalledThat) {
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

TEST(ConfigTest, KeysThatAreNotKnownAreWarnedAboutOnEveryLevel) {
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
TEST(ConfigTest, VariablesAndAnchorsAtTheTopLevelAreNoUnknownKeys) {
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
TEST(ConfigTest, AKeyThatAnErrorNamesIsNotWarnedAboutAsWell) {
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

TEST(ConfigTest, SecretsAreCollected) {
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

TEST(ConfigTest, VariablesWorkEverywhereAndStaySecret) {
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
