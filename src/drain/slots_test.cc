#include "drain/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::drain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SlotsTest : public testing::Test {
 protected:
  void add(const std::string& ns, int from, int to) {
    for (int i = from; i < to; ++i) slots.add(ns + std::to_string(i), ns);
  }
  std::vector<std::string> send() {
    std::vector<std::string> out;
    while (const auto pod = slots.next()) out.push_back(*pod);
    return out;
  }
  Slots slots{4};
};

TEST_F(SlotsTest, FirstComeFirstServedAsManyAsThereAreSlots) {
  add("a", 0, 6);
  EXPECT_THAT(send(), ElementsAre("a0", "a1", "a2", "a3"));
  EXPECT_THAT(slots.waiting(), ElementsAre("a4", "a5"));
  slots.remove("a2", Slots::End::answered);
  EXPECT_THAT(send(), ElementsAre("a4"));
}

TEST_F(SlotsTest, NamespacesHaveTheSameShare) {
  add("a", 0, 6);
  add("b", 0, 2);
  EXPECT_THAT(send(), ElementsAre("a0", "b0", "a1", "b1"));
}

TEST_F(SlotsTest, WhatHangsGivesItsSlotToOthersButNotWithoutEnd) {
  add("a", 0, 6);
  send();
  for (const char* pod : {"a0", "a1", "a2", "a3"}) slots.hangs(pod);
  add("b", 0, 1);
  EXPECT_THAT(send(), ElementsAre("b0", "a4", "a5")) << "who has least on its way comes first";
  slots.hangs("a4");
  slots.hangs("a5");
  slots.hangs("b0");
  add("c", 0, 9);
  EXPECT_THAT(send(), ElementsAre("c0")) << "eight in all";
}

TEST_F(SlotsTest, ANamespaceOfWhichSeveralHangGetsNoMore) {
  Slots many(100);
  for (int i = 0; i < 20; ++i) many.add(std::to_string(i), "a");
  for (int i = 0; i < 10; ++i) many.next();
  for (int i = 0; i < Slots::kInDoubt - 1; ++i) many.hangs(std::to_string(i));
  EXPECT_EQ(many.next(), "10");
  many.hangs("7");
  EXPECT_EQ(many.next(), std::nullopt);
  many.add("other", "b");
  EXPECT_EQ(many.next(), "other");
  many.remove("7", Slots::End::answered);
  EXPECT_EQ(many.next(), "11");
}

TEST_F(SlotsTest, ANamespaceInDoubtHasFewUntilItIsAnswered) {
  Slots many(100);
  for (int i = 0; i < 40; ++i) many.add(std::to_string(i), "a");
  int sent = 0;
  many.remove(*many.next(), Slots::End::unanswered);
  while (many.next()) ++sent;
  EXPECT_EQ(sent, Slots::kInDoubt);
  many.remove("1", Slots::End::answered);
  while (many.next()) ++sent;
  EXPECT_EQ(sent, 39);
}

TEST_F(SlotsTest, NothingIsKept) {
  add("a", 0, 2);
  slots.remove("a1", Slots::End::withdrawn);
  EXPECT_THAT(send(), ElementsAre("a0"));
  slots.add("a0", "a");
  EXPECT_THAT(slots.waiting(), IsEmpty()) << "it is on its way";
  slots.hangs("a0");
  slots.remove("a0", Slots::End::unanswered);
  EXPECT_FALSE(slots.empty()) << "that it went unanswered is remembered";
  slots.forget();
  EXPECT_TRUE(slots.empty());
  slots.hangs("a0");
  slots.remove("a0", Slots::End::answered);
  EXPECT_TRUE(slots.empty());
}

}  // namespace
}  // namespace careen::drain
