#include "controllers/profiles/message_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/outbox.h"
#include "controllers/profiles/test_support.h"
#include "kube/node_document.h"

namespace careen::profiles {
namespace {

constexpr std::string_view kSpoken = R"(
intervals: {requeue: 1m}
instances:
  notify:
  - name: hook
    type: slack
    config: {hook: "https://chat.example/hook", channel: "#ops", message: "<!here> <https://x|link> {{ index .Node.Annotations `note` }}"}
    schedule: {type: periodic, config: {interval: 30s}}
  - name: thread
    type: slackThread
    config: {token: t, channel: c, title: "{{ .Profile.Last }}", message: "{{ index .Node.Annotations `note` }}", leaseName: l, leaseNamespace: n, period: 1h}
    schedule: {type: oneshot, config: {delay: 1s}}
  - name: unused
    type: slack
    config: {hook: "https://chat.example/hook", channel: "#ops", message: "{{ .State }}"}
    schedule: {type: periodic, config: {interval: 60s}}
profiles:
- name: p
  in-maintenance: {notify: hook && thread}
- name: q
)";

class MessageTextTest : public testing::Test {
 protected:
  kube::Node node(Texts annotations) {
    kube::Json object = kube::Json::object();
    object.set({"metadata", "name"}, "n1").set({"metadata", "uid"}, "u").set({"metadata", "resourceVersion"}, "1");
    for (const auto& [key, value] : annotations) object.set({"metadata", "annotations", key}, value);
    return *kube::decode_node(object.dump(), atoms);
  }
  notify::Message render(const OutboxMessage& about, const std::string& note) {
    const kube::Json document = kube::node_document(node({{"note", note}}));
    return render_message(*notification_of(config, about), about, "n1", document.view(), config);
  }
  const io::Wall now = *io::parse_rfc3339("2026-03-01T10:00:00Z");
  kube::AtomPool atoms;
  Config config = config_of(kSpoken);
};

// A kubelet writes its node's annotations; only who writes the template may ring for a channel.
TEST_F(MessageTextTest, AValueOnASlackHookRingsForNobody) {
  EXPECT_EQ(render({"hook", "p", now}, "<!channel> <@U1> a<b <https://y|z> <").text,
            "<!here> <https://x|link> &lt;!channel> &lt;@U1> a<b <https://y|z> <");
  // The sender of threads escapes the whole text, as the original does.
  EXPECT_EQ(render({"thread", "p", now}, "<!channel>").text, "<!channel>");
}

TEST_F(MessageTextTest, OnlyWhatTheProfileIsConfiguredToTellIsTold) {
  EXPECT_NE(notification_of(config, {"hook", "p", now}), nullptr);
  EXPECT_EQ(notification_of(config, {"hook", "q", now}), nullptr);
  EXPECT_EQ(notification_of(config, {"hook", "nobody", now}), nullptr);
  EXPECT_EQ(notification_of(config, {"unused", "p", now}), nullptr);
  EXPECT_EQ(notification_of(config, {"nothing", "p", now}), nullptr);
}

TEST_F(MessageTextTest, ARecordThatLacksItsMomentTellsOfTheNodeAsItIs) {
  NodeData data;
  data.profiles["p"] = {now - io::hours{1}, State::in_maintenance, State::in_maintenance};
  const kube::Node held = node({{kData, format_node_data(data)}});
  EXPECT_EQ(completed({"hook", "p", now}, held, config),
            (OutboxMessage{"hook", "p", now, State::in_maintenance, now - io::hours{1}, "p", true}));
  // One that has it keeps it, but for a name that is nobody's.
  EXPECT_EQ(completed({"hook", "p", now, State::operational, now, "click here", false}, held, config),
            (OutboxMessage{"hook", "p", now, State::operational, now, "p", false}));
  EXPECT_EQ(completed({"hook", "p", now}, node({{kData, "{broken"}}), config).state, std::nullopt);
  EXPECT_EQ(render(completed({"thread", "p", now}, node({}), config), "x").title, "p");
}

TEST_F(MessageTextTest, ANodeMaySendWhatItsPeriodicNotificationsNeedAndOneAMinute) {
  EXPECT_EQ(message_pace(config), io::seconds{15});  // 2 + 1 + 1 a minute
  EXPECT_EQ(message_pace(config_of("intervals: {requeue: 1m}")), io::minutes{1});
}

std::string with_message(std::string_view message) {
  return fmt::format(
      "{{intervals: {{requeue: 1m}}, instances: {{notify: [{{name: n, type: slack, config: {{hook: "
      "'https://chat.example/hook', channel: c, message: '{}'}}, schedule: {{type: periodic, config: "
      "{{interval: 1h}}}}}}]}}}}",
      message);
}

TEST(MessageTemplate, WhatFailsInABranchOnlyIsAWarning) {
  const auto config = config_of(with_message("{{ if .LogDetails }}{{ .Node.Nmae }}{{ end }}"));
  std::string warnings;
  for (const config::ConfigError& warning : config.warnings) warnings += warning.message + "\n";
  EXPECT_THAT(warnings,
              testing::HasSubstr("can't evaluate field Nmae in type *v1.Node; did you mean \"Name\"?; a message that "
                                 "comes to this cannot be rendered"));
}

TEST(MessageTemplate, WhatFailsAlwaysIsAnError) {
  EXPECT_THROW(config_of(with_message("{{ .Node.Nmae }}")), std::invalid_argument);
}

}  // namespace
}  // namespace careen::profiles
