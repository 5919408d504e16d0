// What decide() says about messages, leases and observations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/message_text.h"
#include "controllers/profiles/test_support.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kOutbox(kOutboxAnnotation);

constexpr std::string_view kMessageInstances = R"(
intervals: {requeue: 1m}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: further, type: hasLabel, config: {key: further}}
  - {name: day, type: timeWindow, config: {start: "00:00", end: "23:59", weekdays: [mon, tue, wed, thu, fri, sat, sun]}}
  - {name: turn, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: ops}}
  - {name: long, type: stagger, config: {duration: 20m, leaseName: turn, leaseNamespace: ops}}
  - {name: unlisted, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: elsewhere}}
  - {name: healthy, type: prometheusInstant, config: {url: "http://prom", query: q, expr: value < 1}}
  notify:
  - name: tell
    type: slack
    config: {hook: "https://chat.example/hook", channel: "#ops", message: "{{ .State }} {{ index .Node.Labels `cloud.sap/maintenance-state` }}"}
    schedule: {type: periodic, config: {interval: 24h}}
  - name: whole
    type: slack
    config: {hook: "https://chat.example/hook", channel: "#ops", message: "{{ .Node }}"}
    schedule: {type: periodic, config: {interval: 24h}}
  - name: huge
    type: slack
    config: {hook: "https://chat.example/hook", channel: "#ops", message: "{{ index .Node.Annotations `long` }}"}
    schedule: {type: periodic, config: {interval: 24h}}
  trigger:
  - {name: mark, type: alterLabel, config: {key: marked, value: here}}
profiles:
)";

class DecideMessagesTest : public WorldTest {
 protected:
  DecideMessagesTest() { lease_facts.set_known("ops"); }
  void profiles(std::string_view yaml) { configure(std::string(kMessageInstances) + std::string(yaml)); }
  static std::vector<OutboxMessage> outbox(const Decision& decision) {
    const auto text = annotation(decision, kOutboxAnnotation);
    return text && *text != "(removed)" ? *parse_outbox(*text) : std::vector<OutboxMessage>{};
  }
  static ProfileData at(const Decision& decision, const std::string& profile) {
    return data(decision).profiles.at(profile);
  }
  // As the last decision's patch leaves the node.
  void put_with(const std::vector<OutboxMessage>& messages) {
    put("a", {{kProfile, "p"}, {kState, "operational"}},
        {{kData, data_of("p", kOp, now - io::hours{1})}, {kOutbox, format_outbox(messages)}});
  }
};

constexpr std::string_view kTold = R"(
- name: p
  operational: {transitions: [{check: go, next: maintenance-required}]}
  maintenance-required: {notify: tell}
)";

TEST_F(DecideMessagesTest, WhatIsToldOfAMoveIsWrittenWithIt) {
  profiles(kTold);
  put_in("a", "p", kOp, {{"go", ""}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "maintenance-required");
  ASSERT_THAT(outbox(decision), SizeIs(1));
  // It shows the node as it will be.
  EXPECT_EQ(decision.effects.posted[0].message.text, "maintenance-required maintenance-required");
  EXPECT_EQ(decision.effects.posted[0].what, outbox(decision)[0]);
  // The record names the moment, and has no text that somebody else could have written.
  EXPECT_EQ(outbox(decision)[0], (OutboxMessage{"tell", "p", now, kReq, now, "p", false}));
  EXPECT_THAT(*annotation(decision, kOutboxAnnotation), Not(HasSubstr("text")));
  EXPECT_EQ(data(decision).notifications.at("tell"), now);
  EXPECT_EQ(at(decision, "p").previous, kReq);  // nothing is left to do there
}

TEST_F(DecideMessagesTest, WhereSomethingHasToBeDoneFirstItIsToldAfterThat) {
  profiles(R"(
- name: p
  operational: {transitions: [{check: go, next: maintenance-required}]}
  maintenance-required: {enter: mark, notify: tell}
)");
  put_in("a", "p", kOp, {{"go", ""}});
  Decision decision = decide_on("a");
  EXPECT_THAT(decision.effects.posted, IsEmpty());
  EXPECT_EQ(at(decision, "p").previous, kOp);
  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}}, {{kData, decision.effects.data}});
  decision = decide_on("a");
  EXPECT_EQ(label(decision, "marked"), "here");
  EXPECT_THAT(outbox(decision), SizeIs(1));
  EXPECT_EQ(at(decision, "p").previous, kReq);
}

// The state before had an enter chain; its message and that of the next state are due at once.
TEST_F(DecideMessagesTest, OneNotificationToldOfTwoStatesIsTwoMessages) {
  profiles(R"(
- name: p
  maintenance-required: {enter: mark, notify: tell, transitions: [{check: go, next: in-maintenance}]}
  in-maintenance: {notify: tell}
)");
  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}, {"go", ""}},
      {{kData, data_of("p", kReq, now - io::seconds{1}, kOp)}});
  const Decision decision = decide_on("a");
  ASSERT_THAT(outbox(decision), SizeIs(2));
  EXPECT_EQ(decision.effects.posted[0].message.text, "maintenance-required maintenance-required");
  EXPECT_EQ(decision.effects.posted[1].message.text, "in-maintenance in-maintenance");
  EXPECT_NE(outbox(decision)[0].id(), outbox(decision)[1].id());
}

TEST_F(DecideMessagesTest, BlockingItIsSentBeforeAnythingElse) {
  profiles(R"(
- name: p
  maintenance-required: {notify: tell, transitions: [{check: go, next: in-maintenance}]}
)");
  notify_blocking = true;
  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}, {"go", ""}},
      {{kData, data_of("p", kReq, now - io::hours{1}, kOp)}});
  Decision decision = decide_on("a");
  ASSERT_TRUE(decision.effects.announced);
  EXPECT_EQ(decision.effects.announced->state, "maintenance-required");
  EXPECT_FALSE(decision.effects.patch);
  // What was announced for an earlier state does not count.
  OutboxMessage earlier = decision.effects.announced->message.what;
  earlier.at = now - io::hours{2};
  deliveries.set_told("uid-a", earlier);
  EXPECT_TRUE(decide_on("a").effects.announced);
  deliveries.set_refused("uid-a", decision.effects.announced->message.what, "no route");
  EXPECT_THAT(to_text(decide_on("a").why), HasSubstr("has to be sent first: no route"));
  deliveries.set_told("uid-a", decision.effects.announced->message.what);
  decision = decide_on("a");
  EXPECT_FALSE(decision.effects.announced);
  EXPECT_EQ(state(decision), "in-maintenance");
  EXPECT_EQ(data(decision).notifications.at("tell"), now);
  EXPECT_THAT(decision.effects.posted, IsEmpty());
}

TEST_F(DecideMessagesTest, BlockingAMoveTellsNothingYet) {
  profiles(kTold);
  notify_blocking = true;
  put_in("a", "p", kOp, {{"go", ""}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "maintenance-required");
  EXPECT_FALSE(decision.effects.announced);
  EXPECT_EQ(at(decision, "p").previous, kOp);
}

TEST_F(DecideMessagesTest, AMessageOfTheWholeNodeWaitsForIt) {
  profiles(R"(
- name: p
  operational: {transitions: [{check: go && turn, next: maintenance-required}]}
  maintenance-required: {notify: whole}
)");
  put_in("a", "p", kOp, {{"go", ""}});
  const Decision without = decide_on("a");
  EXPECT_TRUE(without.needs_document());
  EXPECT_FALSE(without.effects.patch);
  EXPECT_THAT(without.effects.moved, IsEmpty());
  EXPECT_THAT(without.effects.leases, IsEmpty());
  const auto document = kube::Json::parse(R"({"metadata":{"name":"a"},"spec":{"podCIDR":"10.1.2.0/24"}})");
  const Decision with = decide({nodes, *config, facts, deliveries, false, &*document}, "a", now);
  EXPECT_FALSE(with.needs_document());
  ASSERT_THAT(with.effects.posted, SizeIs(1));
  EXPECT_THAT(with.effects.posted[0].message.text, HasSubstr("10.1.2.0/24"));
  // Who only wants to know needs no more than is cached.
  const Decision explained = decide({nodes, *config, facts, deliveries, false, nullptr, true}, "a", now);
  EXPECT_THAT(explained.effects.moved, SizeIs(1));
  EXPECT_THAT(explained.profiles, SizeIs(1));
}

TEST_F(DecideMessagesTest, WhatWasSentLeavesWithTheNextWriteOrALittleLater) {
  profiles(kTold);
  const OutboxMessage sent{"tell", "p", now - io::minutes{1}};
  const OutboxMessage waiting{"tell", "p", now};
  put_with({sent, waiting});
  EXPECT_FALSE(decide_on("a").effects.patch);
  deliveries.set_sent("uid-a", sent.id(), now);
  Decision decision = decide_on("a");
  EXPECT_FALSE(decision.effects.patch);
  EXPECT_EQ(decision.waits.wake, now + io::seconds{2});
  now += io::seconds{2};
  decision = decide_on("a");
  EXPECT_THAT(outbox(decision), ElementsAre(waiting));
  deliveries.set_sent("uid-a", waiting.id(), now);
  EXPECT_EQ(annotation(decide_on("a"), kOutboxAnnotation), "(removed)");
}

TEST_F(DecideMessagesTest, AnUnreadableOutboxIsRemoved) {
  profiles(kTold);
  put("a", {{kProfile, "p"}, {kState, "operational"}},
      {{kData, data_of("p", kOp, now - io::hours{1})}, {kOutbox, "nonsense"}});
  EXPECT_EQ(annotation(decide_on("a"), kOutboxAnnotation), "(removed)");
}

TEST_F(DecideMessagesTest, AFullOutboxDropsTheOldest) {
  profiles(kTold);
  std::vector<OutboxMessage> messages;
  for (size_t i = 0; i < kMostMessages; ++i) {
    messages.push_back({"tell", "p", now - io::hours{48} + io::seconds{i}});
  }
  NodeData old;
  old.profiles.emplace("p", ProfileData{now - io::hours{72}, kReq, kReq});
  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}},
      {{kData, format_node_data(old)}, {kOutbox, format_outbox(messages)}});
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.effects.posted, SizeIs(1));
  EXPECT_THAT(outbox(decision), SizeIs(kMostMessages));
  EXPECT_THAT(decision.effects.dropped, ElementsAre(messages[0]));
  EXPECT_EQ(outbox(decision).back(), decision.effects.posted[0].what);
}

// An object's annotations have 256 KiB in all: what would not fit would stop the node for good.
TEST_F(DecideMessagesTest, TheOutboxStaysSmallWhateverIsInIt) {
  profiles(R"(
- name: p
  maintenance-required: {notify: huge}
)");
  std::string text = "x";
  while (text.size() < 40'000) text += "\x01ü€";
  std::vector<OutboxMessage> messages;
  const std::string name(5'000, 'x');
  for (size_t i = 0; i < kMostMessages; ++i) messages.push_back({name, "p", now - io::hours{48} + io::seconds{i}});
  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}},
      {{kData, data_of("p", kReq, now - io::hours{72})}, {kOutbox, format_outbox(messages)}, {"long", text}});
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.effects.posted, SizeIs(1));
  EXPECT_LE(annotation(decision, kOutboxAnnotation)->size(), kMostOutboxBytes);
  EXPECT_FALSE(decision.effects.dropped.empty());
  const std::string& kept = decision.effects.posted[0].message.text;
  EXPECT_LE(kept.size(), kMostMessageBytes + 3);
  EXPECT_GE(kept.size(), kMostMessageBytes - 3);
  EXPECT_TRUE(kept.ends_with("…"));
  // Cut between two characters.
  const std::string_view before = std::string_view(kept).substr(0, kept.size() - 3);
  EXPECT_TRUE(before.ends_with("\x01") || before.ends_with("ü") || before.ends_with("€"));
}

TEST_F(DecideMessagesTest, AMoveIsValidAsLongAsItsChecksSayTheSame) {
  profiles(R"(
- name: p
  operational: {transitions: [{check: go && day, next: maintenance-required}]}
)");
  now += io::hours{1};
  put_in("a", "p", kOp, {{"go", ""}});
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.effects.moved, SizeIs(1));
  ASSERT_TRUE(decision.effects.valid_until);
  EXPECT_GT(*decision.effects.valid_until, now);
  EXPECT_LE(*decision.effects.valid_until, now + io::hours{24});
  EXPECT_FALSE(decision.admission());
}

TEST_F(DecideMessagesTest, AMoveWithALeaseIsBegun) {
  profiles(R"(
- name: p
  operational: {transitions: [{check: turn && long, next: maintenance-required}]}
)");
  put_in("a", "p", kOp);
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.effects.leases, SizeIs(1));  // two checks of the same leases
  EXPECT_EQ(decision.effects.leases[0].key(), "ops/turn-0");
  EXPECT_FALSE(decision.effects.valid_until);  // its end is known when it is taken
  ASSERT_TRUE(decision.admission());
  EXPECT_FALSE(decision.admission()->counts);
  ASSERT_THAT(decision.admission()->leases, SizeIs(1));
  EXPECT_EQ(decision.admission()->leases[0].key, "ops/turn-0");
}

TEST_F(DecideMessagesTest, OneLeaseIsForOneMove) {
  profiles(R"(
- name: p
  operational: {transitions: [{check: turn, next: maintenance-required}]}
- name: q
  operational: {transitions: [{check: turn, next: maintenance-required}, {check: go, next: in-maintenance}]}
)");
  NodeData both;
  both.profiles.emplace("p", ProfileData{now - io::hours{1}, kOp, kOp});
  both.profiles.emplace("q", ProfileData{now - io::hours{1}, kOp, kOp});
  put("a", {{kProfile, "p--q"}, {kState, "operational"}, {"go", ""}}, {{kData, format_node_data(both)}});
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.effects.moved, SizeIs(2));
  EXPECT_EQ(decision.effects.moved[1].to, kIn);
  EXPECT_THAT(decision.effects.leases, SizeIs(1));
  EXPECT_TRUE(decision.admission()->counts);
}

TEST_F(DecideMessagesTest, ACheckWithoutAnAnswerHoldsAllTransitionsOfTheState) {
  profiles(R"(
- name: p
  operational: {transitions: [{check: go, next: maintenance-required}, {check: unlisted, next: in-maintenance}]}
)");
  put_in("a", "p", kOp, {{"go", ""}});
  const Decision decision = decide_on("a");
  EXPECT_THAT(decision.effects.moved, IsEmpty());
  EXPECT_TRUE(std::holds_alternative<place::Open>(decision.place));
  EXPECT_TRUE(decision.unanswered) << "whatever the words";
  EXPECT_FALSE(decision.failing());
  lease_facts.set_known("elsewhere");
  EXPECT_THAT(decide_on("a").effects.moved, SizeIs(1));
  EXPECT_FALSE(std::holds_alternative<place::Open>(decide_on("a").place));
  EXPECT_FALSE(decide_on("a").unanswered);
}

TEST_F(DecideMessagesTest, ATriggerThatCannotLookYetIsNoAnswerEither) {
  configure(R"(
intervals: {requeue: 1m}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  trigger:
  - {name: reboot, type: alterHypervisor, config: {reboot: true}}
profiles:
- name: p
  operational: {transitions: [{check: go, next: maintenance-required, trigger: reboot}]}
)");
  put_in("a", "p", kOp, {{"go", ""}});
  const Decision decision = decide_on("a");
  EXPECT_THAT(decision.effects.moved, IsEmpty());
  EXPECT_TRUE(decision.unanswered);
  EXPECT_THAT(to_text(decision.why), HasSubstr("the hypervisors have not been listed yet"));
  hypervisors.set_known();
  EXPECT_FALSE(decide_on("a").unanswered) << "that there is none is an answer";
}

TEST_F(DecideMessagesTest, AValueIsWaitedForUntilItIsThereAndThenRestedOn) {
  profiles(R"(
- name: p
  operational: {transitions: [{check: go && healthy, next: maintenance-required}]}
)");
  put_in("a", "p", kOp, {{"go", ""}});
  put_in("b", "p", kOp);
  Decision decision = decide_on("a");
  EXPECT_TRUE(std::holds_alternative<place::Open>(decision.place));
  EXPECT_TRUE(decision.unanswered);
  ASSERT_THAT(decision.waits.places, SizeIs(1));
  ASSERT_THAT(decision.waits.observations, SizeIs(1));
  outside.values["q"] = 5;
  observations.want(decision.waits.observations[0]);
  time.run_for(io::seconds{1});
  now = loop->wall_now();
  decision = decide_on("a");
  // The value is there and says no: nobody's turn would change that, another value would.
  EXPECT_THAT(decision.waits.places, IsEmpty());
  EXPECT_THAT(decision.waits.topics, SizeIs(1));
  EXPECT_THAT(decision.effects.observed, IsEmpty());
  outside.values["q"] = 0;
  time.run_for(io::minutes{2});
  observations.want(decision.waits.observations[0]);
  time.run_for(io::seconds{1});
  now = loop->wall_now();
  decision = decide_on("a");
  EXPECT_THAT(decision.effects.moved, SizeIs(1));
  EXPECT_THAT(decision.effects.observed, SizeIs(1));
  // Where it passes and something else says no, it does not matter.
  decision = decide_on("b");
  EXPECT_THAT(decision.waits.topics, IsEmpty());
  EXPECT_THAT(decision.waits.places, IsEmpty());
}

}  // namespace
}  // namespace careen::profiles
