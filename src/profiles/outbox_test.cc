#include "profiles/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::profiles {
namespace {

using testing::IsEmpty;

io::Wall outbox_time(int seconds) { return io::Wall{io::seconds{1'800'000'000 + seconds}}; }

OutboxMessage message(std::string instance, int seconds = 0) {
  return {std::move(instance), "p", outbox_time(seconds), "", "text"};
}

TEST(OutboxTest, IsReadAsItWasWritten) {
  const std::vector<OutboxMessage> messages{
      {"tell", "p", outbox_time(1) + io::Duration{1}, "a title", "\"quoted\"\n – ü"},
      {"ask", "q", outbox_time(2), "", ""}};
  const auto read = parse_outbox(format_outbox(messages));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, messages);
  EXPECT_THAT(*parse_outbox(""), IsEmpty());
  EXPECT_THAT(*parse_outbox("[]"), IsEmpty());
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
  EXPECT_EQ(read->front().text, "");
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
