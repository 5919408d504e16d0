// Messages: from the decision through the outbox to people.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_replica.h"
#include "kube/sink.h"

namespace careen::profiles {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using kube::Json;
using kube::Request;
using sim::Outside;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string yaml(std::string_view hook = "https://chat.example/hook", std::string_view channel = "#ops") {
  return fmt::format(R"(
intervals: {{requeue: 30s}}
instances:
  check:
  - {{name: go, type: hasLabel, config: {{key: go}}}}
  notify:
  - name: tell
    type: slack
    config: {{hook: "{}", channel: "{}", message: "{{{{ .Node.Name }}}} {{{{ .State }}}}"}}
    schedule: {{type: periodic, config: {{interval: 24h}}}}
profiles:
- name: p
  operational: {{transitions: [{{check: go, next: maintenance-required}}]}}
  maintenance-required: {{notify: tell}}
)",
                     hook, channel);
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  text.replace(text.find(what), what.size(), by);
  return text;
}

// Keeps every line.
class Lines final : public io::LogSink {
 public:
  bool enabled(io::LogLevel) const override { return true; }
  void write(io::LogLevel, std::string_view name, std::string_view message, const io::LogFields& fields) override {
    all += fmt::format("{} {}", name, message);
    for (const auto& [key, value] : fields) all += fmt::format(" {}={}", key, value);
    all += '\n';
  }
  std::string all;
};

// Answers every request with an error that quotes all of it.
class Echo final : public io::HttpClient {
 public:
  io::Task<io::Result<io::HttpResponse>> send(io::HttpRequest request) override {
    ++asked;
    std::string quoted = request.method + " " + request.url + " " + request.body;
    for (const auto& [key, value] : request.headers) quoted += " " + key + ": " + value;
    const std::string body =
        Json::object({{"status", "error"}, {"errorType", "bad_data"}, {"error", quoted}, {"ok", false}}).dump();
    co_return io::HttpResponse{400, {}, body};
  }
  io::Task<io::Result<std::unique_ptr<io::HttpStream>>> open(io::HttpRequest) override {
    co_return io::fail(io::ErrorKind::invalid, "no");
  }
  int asked = 0;
};

class MessagesTest : public ClusterTest {
 protected:
  std::string outbox(std::string_view node) const {
    return std::string(api.object(path(node))["metadata"]["annotations"][kOutboxAnnotation].text().value_or(""));
  }
  // All events there are, as one text.
  std::string events() const {
    std::string all;
    for (const char* collection : {"/apis/events.k8s.io/v1/events", "/api/v1/events"}) {
      api.server.for_each(collection, [&](const std::string&, const sim::Text& text) { all += *text; });
    }
    return all;
  }
};

TEST_F(MessagesTest, IsSentOnceAndLeavesTheOutbox) {
  add_node("n0", {});
  Replica replica(time, api, "a", yaml());
  time.run_for(seconds{1});
  label("n0", "go", "");
  time.run_for(seconds{1});
  ASSERT_THAT(replica.people.messages(), SizeIs(1));
  EXPECT_EQ(replica.people.messages()[0].text, "n0 maintenance-required");
  time.run_for(seconds{3});
  EXPECT_EQ(outbox("n0"), "");
  const int writes = api.count("PATCH nodes");
  time.run_for(io::hours{12});
  EXPECT_THAT(replica.people.messages(), SizeIs(1));
  EXPECT_EQ(api.count("PATCH nodes"), writes);
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(MessagesTest, WaitsInTheOutboxWhileNobodyTakesIt) {
  add_node("n0", {{"go", ""}});
  Replica replica(time, api, "a", yaml());
  replica.scope.spawn(replica.events.run());
  replica.people.slack = Outside::Mood::refuses;
  time.run_for(minutes{10});
  EXPECT_EQ(state_of("n0"), "maintenance-required");
  EXPECT_THAT(outbox("n0"), HasSubstr("maintenance-required"));
  EXPECT_THAT(events(), HasSubstr("NotificationFailed"));
  replica.people.slack = Outside::Mood::fine;
  time.run_for(minutes{10});
  EXPECT_THAT(replica.people.messages(), SizeIs(1));
  EXPECT_EQ(outbox("n0"), "");
}

TEST_F(MessagesTest, ASuccessorSendsWhatWasLeft) {
  add_node("n0", {{"go", ""}});
  {
    Replica a(time, api, "a", yaml());
    a.people.slack = Outside::Mood::refuses;
    time.run_for(minutes{1});
  }
  Replica b(time, api, "b", yaml());
  time.run_for(seconds{5});
  EXPECT_THAT(b.people.messages(), SizeIs(1));
  EXPECT_EQ(outbox("n0"), "");
}

TEST_F(MessagesTest, ASuccessorSaysWhatWasToBeSaidThen) {
  add_node("n0", {{"go", ""}});
  const std::string since = R"({{ .Node.Name }} {{ .State }} {{ .Profile }} {{ .LastTransition.UnixNano }})";
  const std::string spoken = replaced(yaml(), "{{ .Node.Name }} {{ .State }}", since);
  std::string said;
  {
    Replica a(time, api, "a", spoken);
    time.run_for(seconds{1});
    ASSERT_THAT(a.people.messages(), SizeIs(1));
    said = a.people.messages()[0].text;
  }
  // It was sent, but nobody knows; the node has moved on since.
  ASSERT_NE(outbox("n0"), "");
  api.merge(path("n0"), Json::object().set({"metadata", "annotations", kDataAnnotation}, nullptr));
  Replica b(time, api, "b", spoken);
  time.run_for(seconds{5});
  ASSERT_THAT(b.people.messages(), Not(IsEmpty()));
  EXPECT_EQ(b.people.messages()[0].text, said);
}

// The node as a whole is not cached; the successor fetches it, and again if it has to.
TEST_F(MessagesTest, ASuccessorPrintsTheWholeNodeToo) {
  add_node("n0", {{"go", ""}});
  api.merge(path("n0"), Json::object().set({"spec", "podCIDR"}, "10.1.2.0/24"));
  const std::string whole = replaced(yaml(), "{{ .State }}", "{{ .Node }}");
  {
    Replica a(time, api, "a", whole);
    a.people.slack = Outside::Mood::refuses;
    time.run_for(minutes{1});
  }
  ASSERT_NE(outbox("n0"), "");
  Replica b(time, api, "b", whole);
  int refused = 0;
  api.treat = [&](const Request& request) {
    if (request.method != "GET" || !request.path.starts_with(path("n0")) || ++refused > 2) return sim::Treatment{};
    return sim::Treatment{.refuse = kube::Response{404, "{}", {}}};
  };
  time.run_for(seconds{30});
  api.treat = nullptr;
  ASSERT_THAT(b.people.messages(), SizeIs(1));
  EXPECT_THAT(b.people.messages()[0].text, HasSubstr("10.1.2.0/24"));
  EXPECT_EQ(outbox("n0"), "");
}

TEST_F(MessagesTest, AForgedOutboxSaysNothingOfItsOwn) {
  add_node("n0", {});
  Replica replica(time, api, "a", yaml());
  time.run_for(seconds{5});
  const auto forge = [&](std::string_view text) {
    api.merge(path("n0"), Json::object().set({"metadata", "annotations", kOutboxAnnotation}, text));
    time.run_for(seconds{5});
    EXPECT_EQ(outbox("n0"), "") << text;
  };
  forge(R"([{"instance":"tell","profile":"p","at":"2026-03-01T10:00:00Z","title":"win","text":"win a prize"}])");
  ASSERT_THAT(replica.people.messages(), SizeIs(1));
  EXPECT_EQ(replica.people.messages()[0].text, "n0 operational");
  forge(R"([{"instance":"tell","profile":"nobody","at":"2026-03-01T10:00:01Z"},
            {"instance":"nothing","profile":"p","at":"2026-03-01T10:00:01Z"},
            {"instance":"tell","profile":"default","at":"2026-03-01T10:00:01Z"}])");
  EXPECT_THAT(replica.people.messages(), SizeIs(1));
}

// However often a node's annotations are written, people are not buried under messages, and none is lost that is due.
TEST_F(MessagesTest, ANodeSendsSomeMessagesAtOnceAndThenOneAfterTheOther) {
  add_node("n0", {});
  add_node("n1", {});
  Replica replica(time, api, "a", yaml());
  time.run_for(seconds{5});
  const io::Wall begun = replica.loop->wall_now();
  for (int round = 0; round < 100; ++round) {
    std::vector<OutboxMessage> messages;
    for (int i = 0; i < 10; ++i) messages.push_back({"tell", "p", begun + seconds{round} + milliseconds{i}});
    api.merge(path("n0"), Json::object().set({"metadata", "annotations", kOutboxAnnotation}, format_outbox(messages)));
    time.run_for(seconds{1});
  }
  EXPECT_LE(replica.people.messages().size(), 22u);
  EXPECT_GE(replica.people.messages().size(), 20u);
  EXPECT_TRUE(replica.problems.open().contains("messages node/n0"));
  // Another node's are not concerned.
  label("n1", "go", "");
  time.run_for(seconds{1});
  const auto& all = replica.people.messages();
  EXPECT_TRUE(
      std::any_of(all.begin(), all.end(), [](const auto& one) { return one.text == "n1 maintenance-required"; }));
  time.run_for(minutes{30});
  EXPECT_EQ(outbox("n0"), "") << "what waits goes in the end";
  EXPECT_FALSE(replica.problems.open().contains("messages node/n0"));
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(MessagesTest, WhatIsTakenOutOfTheOutboxIsNotSent) {
  add_node("n0", {{"go", ""}});
  add_node("n1", {{"go", ""}});
  Replica replica(time, api, "a", yaml());
  replica.people.slack = Outside::Mood::refuses;
  time.run_for(minutes{1});
  api.merge(path("n0"), Json::object().set({"metadata", "annotations", kOutboxAnnotation}, nullptr));
  api.erase(path("n1"));
  time.run_for(seconds{1});
  EXPECT_EQ(replica.metrics.gauge("careen_notifications_pending", "").value(), 0);
  replica.people.slack = Outside::Mood::fine;
  time.run_for(minutes{20});
  EXPECT_THAT(replica.people.messages(), IsEmpty());
}

TEST_F(MessagesTest, AnotherConfigurationDoesNotRepeatWhatIsOnItsWay) {
  add_node("n0", {{"go", ""}});
  Replica replica(time, api, "a", yaml());
  replica.people.latency = seconds{4};
  time.run_for(seconds{6});  // it has arrived, and the answer is on its way back
  ASSERT_THAT(replica.people.messages(), SizeIs(1));
  replica.set_config(yaml());
  time.run_for(minutes{2});
  EXPECT_THAT(replica.people.messages(), SizeIs(1));
  EXPECT_EQ(outbox("n0"), "");
}

TEST_F(MessagesTest, AnotherConfigurationSendsTheOtherWay) {
  add_node("n0", {{"go", ""}});
  Replica replica(time, api, "a", yaml());
  replica.people.slack = Outside::Mood::refuses;
  time.run_for(minutes{30});
  replica.people.slack = Outside::Mood::fine;
  replica.set_config(yaml("https://other.example/hook", "#new"));
  time.run_for(seconds{1});
  ASSERT_THAT(replica.people.messages(), SizeIs(1));
  EXPECT_EQ(replica.people.messages()[0].to, "#new");
}

// It was on its way by the old configuration and comes back: the next try is by the new one.
TEST_F(MessagesTest, WhatFailsAfterAChangeOfTheConfigurationGoesTheOtherWay) {
  add_node("n0", {{"go", ""}});
  Replica replica(time, api, "a", yaml());
  replica.people.slack = Outside::Mood::refuses;
  replica.people.latency = seconds{4};
  time.run_for(seconds{6});
  replica.people.slack = Outside::Mood::fine;
  replica.set_config(yaml("https://other.example/hook", "#new"));
  time.run_for(minutes{1});
  ASSERT_THAT(replica.people.messages(), SizeIs(1));
  EXPECT_EQ(replica.people.messages()[0].to, "#new");
}

TEST_F(MessagesTest, ANotificationThatIsNoLongerConfiguredLeavesTheOutbox) {
  add_node("n0", {{"go", ""}});
  Replica replica(time, api, "a", yaml());
  replica.people.slack = Outside::Mood::refuses;
  time.run_for(minutes{1});
  std::string renamed = yaml();
  for (size_t at = 0; (at = renamed.find("tell", at)) != std::string::npos; ++at) renamed.replace(at, 4, "say");
  replica.set_config(renamed);
  time.run_for(seconds{5});
  EXPECT_THAT(outbox("n0"), Not(HasSubstr("tell")));
}

TEST_F(MessagesTest, StoppingTakesOutWhatWasSentEvenIfAnotherHangs) {
  add_node("n0", {});
  add_node("n1", {});
  Replica replica(time, api, "a", yaml());
  time.run_for(seconds{1});
  label("n0", "go", "");
  time.run_for(milliseconds{500});
  ASSERT_THAT(replica.people.messages(), SizeIs(1));
  ASSERT_NE(outbox("n0"), "");
  replica.people.slack = Outside::Mood::hangs;
  label("n1", "go", "");
  time.run_for(milliseconds{200});
  replica.scope.spawn(replica.controller.stop());
  time.run_for(seconds{8});
  EXPECT_EQ(outbox("n0"), "");
  EXPECT_NE(outbox("n1"), "");
}

TEST_F(MessagesTest, StoppingTakesItOutOfANodeThatWasEditedMeanwhile) {
  add_node("n0", {});
  Replica replica(time, api, "a", yaml());
  time.run_for(seconds{1});
  label("n0", "go", "");
  time.run_for(milliseconds{500});
  ASSERT_NE(outbox("n0"), "");
  api.freeze_watches(true);
  label("n0", "edit", "unheard-of");
  replica.scope.spawn(replica.controller.stop());
  time.run_for(seconds{8});
  EXPECT_EQ(outbox("n0"), "");
}

TEST_F(MessagesTest, BlockingItStaysUntilPeopleWereTold) {
  std::string blocking = yaml();
  blocking += "  in-maintenance: {}\n";
  blocking.replace(blocking.find("{notify: tell}"), 14,
                   "{notify: tell, transitions: [{check: go, next: in-maintenance}]}");
  add_node("n0", {{"go", ""}});
  Replica replica(time, api, "a", blocking, ControllerOptions{.notify_blocking = true});
  replica.people.slack = Outside::Mood::refuses;
  time.run_for(minutes{5});
  EXPECT_EQ(state_of("n0"), "maintenance-required");
  EXPECT_THAT(to_text(replica.controller.explain("n0").why), HasSubstr("has to be sent first: "));
  replica.people.slack = Outside::Mood::fine;
  time.run_for(minutes{1});
  EXPECT_EQ(state_of("n0"), "in-maintenance");
  EXPECT_THAT(replica.people.messages(), SizeIs(1));
  EXPECT_EQ(outbox("n0"), "");
  EXPECT_EQ(replica.late(), 0);
}

// Servers that quote what they were sent, and so the secrets in it.
TEST_F(MessagesTest, NothingThatPeopleReadHoldsASecret) {
  const std::string with_secrets = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: healthy, type: prometheusInstant, config: {url: "https://u:${PASSWORD}@prom", query: "up{key=\"${KEY}\"}", expr: "value > ${LIMIT}"}}
  notify:
  - name: tell
    type: slack
    config: {hook: "https://chat.example/${PASSWORD}", channel: "#${KEY}", message: "{{ .Node.Name }}"}
    schedule: {type: periodic, config: {interval: 24h}}
  - name: thread
    type: slackThread
    config: {token: "${TOKEN}", channel: c, title: t, message: m, leaseName: l, leaseNamespace: kube-system, period: 1h}
    schedule: {type: periodic, config: {interval: 24h}}
profiles:
- name: p
  operational: {transitions: [{check: go, next: maintenance-required}]}
  maintenance-required: {notify: tell && thread, transitions: [{check: healthy, next: in-maintenance}]}
)";
  const Texts environment{
      {"PASSWORD", "hunter2-hunter2"}, {"KEY", "k&y wi%h s/gns"}, {"LIMIT", "4711.25"}, {"TOKEN", "xoxb-1-secret"}};
  for (const bool blocking : {false, true}) {
    SCOPED_TRACE(blocking);
    const auto lines = std::make_shared<Lines>();
    Echo* echo = nullptr;
    add_node("n0", {{"go", ""}, {std::string(kLogDetailsLabel), "true"}});
    Replica replica(
        time, api, blocking ? "b" : "a", with_secrets,
        ReplicaExtras{
            .options = {.notify_blocking = blocking}, .environment = environment, .log = lines, .connect = [&] {
              auto made = std::make_unique<Echo>();
              echo = made.get();
              return made;
            }});
    replica.scope.spawn(replica.events.run());
    time.run_for(minutes{2});
    ASSERT_GT(echo->asked, 2);
    const Decision explained = replica.controller.explain("n0");
    std::string read = lines->all + events() + to_text(explained.why);
    for (const ProfileOutcome& profile : explained.profiles) {
      read += profile.error;
      for (const TransitionOutcome& transition : profile.transitions) {
        for (const CheckOutcome& check : transition.checks) {
          read += check.error + check.reason;
          for (const auto& [key, value] : check.info) {
            if (const auto* text = std::get_if<std::string>(&value)) read += *text;
          }
        }
      }
    }
    const auto waiting = parse_outbox(outbox("n0"));
    for (const OutboxMessage& message : *waiting) {
      if (const auto* attempt = replica.controller.deliveries().attempt(replica.nodes.find("n0")->uid, message.id())) {
        read += attempt->error;
      }
    }
    EXPECT_THAT(read, HasSubstr("***"));
    EXPECT_THAT(read, HasSubstr("tell"));
    if (!blocking) EXPECT_THAT(read, HasSubstr("healthy"));
    for (const char* secret : {"hunter2", "k&y", "k%26y", "4711", "xoxb"}) EXPECT_THAT(read, Not(HasSubstr(secret)));
    api.erase(path("n0"));
  }
}

}  // namespace
}  // namespace careen::profiles
