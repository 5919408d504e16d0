#include "controllers/profiles/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::profiles {
namespace {

using testing::IsEmpty;

io::Wall outbox_time(int seconds) { return io::Wall{io::seconds{1'800'000'000 + seconds}}; }

OutboxMessage message(std::string instance, int seconds = 0) {
  return {std::move(instance), "p", outbox_time(seconds)};
}

TEST(OutboxTest, IsReadAsItWasWritten) {
  const std::vector<OutboxMessage> messages{
      {"tell", "p", outbox_time(1) + io::Duration{1}, State::in_maintenance, outbox_time(0), "\"q\"\n – ü", true},
      {"ask", "q", outbox_time(2)}};
  const auto read = parse_outbox(format_outbox(messages));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, messages);
  EXPECT_THAT(*parse_outbox(""), IsEmpty());
  EXPECT_THAT(*parse_outbox("[]"), IsEmpty());
}

TEST(OutboxTest, NoMoreIsReadThanCareenWrites) {
  std::vector<OutboxMessage> messages;
  for (size_t i = 0; i < kMostMessages + 5; ++i) messages.push_back(message("tell", static_cast<int>(i)));
  EXPECT_EQ(parse_outbox(format_outbox(messages))->size(), kMostMessages);
  EXPECT_FALSE(parse_outbox(std::string(kMostOutboxBytes + 1, '[')));
}

// A record of an earlier careen, or of somebody who wants people to read something.
TEST(OutboxTest, ATextInARecordIsNotRead) {
  const auto read = parse_outbox(R"([{"instance":"tell","profile":"p","at":"2026-03-01T10:00:00Z",
      "title":"click here","text":"click here","state":"click here","since":"click here"}])");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_FALSE(read->front().state);
  EXPECT_EQ(format_outbox(*read).find("click"), std::string::npos);
}

TEST(OutboxTest, WhatIsNoOutboxIsToldApart) {
  for (const char* text : {"{}", "[", "null", "\"x\"", "tell"}) EXPECT_FALSE(parse_outbox(text)) << text;
}

TEST(OutboxTest, WhatCareenDidNotWriteIsNotSent) {
  const auto read = parse_outbox(R"([1,{"at":"2026-03-01T10:00:00Z"},{"instance":"x","at":"soon"},null,
      {"instance":"tell","at":"2026-03-01T10:00:00Z"}])");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().instance, "tell");
  EXPECT_EQ(read->front().profile, "");
}

TEST(OutboxTest, AMomentIsPartOfTheIdentity) {
  OutboxMessage later = message("tell");
  later.at += io::Duration{1};
  EXPECT_NE(later.id(), message("tell").id());
  EXPECT_NE(message("ask").id(), message("tell").id());
}

TEST(DeliveriesTest, WhatWasSentIsKnownAsLongAsTheNodeShowsIt) {
  Deliveries deliveries;
  const OutboxMessage first = message("tell", 1), second = message("tell", 2);
  EXPECT_FALSE(deliveries.any_sent("uid"));
  deliveries.set_sent("uid", first.id(), outbox_time(5));
  EXPECT_EQ(deliveries.sent("uid", first.id()), outbox_time(5));
  EXPECT_FALSE(deliveries.sent("uid", second.id()));
  EXPECT_FALSE(deliveries.sent("other", first.id()));
  deliveries.keep_only("uid", {first, second});
  EXPECT_TRUE(deliveries.any_sent("uid"));
  deliveries.keep_only("uid", {second});
  EXPECT_FALSE(deliveries.any_sent("uid"));
}

TEST(DeliveriesTest, TextsAndTurnsAreKnownAsLongAsTheNodeShowsTheMessage) {
  Deliveries deliveries;
  const OutboxMessage first = message("tell", 1), second = message("tell", 2);
  EXPECT_EQ(deliveries.text("uid", first.id()), nullptr);
  EXPECT_EQ(deliveries.turn("uid", first.id()), Deliveries::Turn::unknown);
  deliveries.set_text("uid", first.id(), {"", "hello"});
  deliveries.set_turn("uid", second.id(), Deliveries::Turn::waits);
  EXPECT_EQ(deliveries.text("uid", first.id())->text, "hello");
  EXPECT_EQ(deliveries.turn("uid", second.id()), Deliveries::Turn::waits);
  deliveries.keep_only("uid", {second});
  EXPECT_EQ(deliveries.text("uid", first.id()), nullptr);
  EXPECT_EQ(deliveries.turn("uid", second.id()), Deliveries::Turn::waits);
}

TEST(DeliveriesTest, TriesAreCountedUntilItIsSent) {
  Deliveries deliveries;
  EXPECT_EQ(deliveries.attempt("uid", "m"), nullptr);
  deliveries.set_failed("uid", "m", 2, "no");
  ASSERT_NE(deliveries.attempt("uid", "m"), nullptr);
  EXPECT_EQ(deliveries.attempt("uid", "m")->tries, 2);
  EXPECT_EQ(deliveries.attempt("uid", "m")->error, "no");
  EXPECT_FALSE(deliveries.any_sent("uid"));
  deliveries.forget("uid");
  EXPECT_EQ(deliveries.attempt("uid", "m"), nullptr);
}

TEST(DeliveriesTest, WhatWasToldFirstIsKnownByProfileAndInstance) {
  Deliveries deliveries;
  deliveries.set_refused("uid", message("tell", 1), "no route");
  EXPECT_EQ(deliveries.refused("uid", "p", "tell"), "no route");
  EXPECT_FALSE(deliveries.told("uid", "p", "tell"));
  deliveries.set_told("uid", message("tell", 2));
  EXPECT_EQ(deliveries.told("uid", "p", "tell"), outbox_time(2));
  EXPECT_EQ(deliveries.refused("uid", "p", "tell"), "");
  EXPECT_FALSE(deliveries.told("uid", "q", "tell"));
  EXPECT_FALSE(deliveries.told("other", "p", "tell"));
  // The node's data shows what was told; the annotation of messages has nothing to say about it.
  deliveries.keep_only("uid", {});
  EXPECT_EQ(deliveries.told("uid", "p", "tell"), outbox_time(2));
  deliveries.forget("uid");
  EXPECT_FALSE(deliveries.told("uid", "p", "tell"));
}

}  // namespace
}  // namespace careen::profiles
