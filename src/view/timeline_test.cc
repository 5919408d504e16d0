#include "view/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json.h"

namespace careen::view {
namespace {

using Kind = Entry::Kind;
using testing::ElementsAre;

io::Wall at(int seconds) { return io::Wall{io::hours{24 * 365 * 50}} + io::seconds{seconds}; }

Entry said(int seconds, std::string text, Kind kind = Kind::error) { return {at(seconds), kind, std::move(text), "n"}; }

std::vector<std::string> texts(const std::vector<const Entry*>& entries) {
  std::vector<std::string> all;
  for (const Entry* entry : entries) all.push_back(entry->text);
  return all;
}

TEST(TimelineTest, WhatRepeatsIsSaidOnce) {
  Timeline timeline;
  for (const int seconds : {0, 30, 60, 400}) timeline.add(said(seconds, "no route"));
  timeline.add(said(401, "other"));
  EXPECT_THAT(texts(timeline.latest(10)), ElementsAre("no route", "other"));
  timeline.add(said(400 + 360, "no route"));
  EXPECT_THAT(texts(timeline.latest(10)), ElementsAre("no route", "other", "no route"));
}

TEST(TimelineTest, TwoTransitionsAreTwo) {
  Timeline timeline;
  for (const int seconds : {0, 30}) timeline.add(said(seconds, "moved", Kind::transition));
  EXPECT_EQ(timeline.latest(10).size(), 2u);
}

TEST(TimelineTest, RemembersTheLatest) {
  Timeline timeline;
  const int count = static_cast<int>(Timeline::kMost) + 7;
  for (int i = 0; i < count; ++i) timeline.add(said(i, std::to_string(i)));
  EXPECT_EQ(timeline.next(), count);
  const auto all = timeline.latest(count);
  ASSERT_EQ(all.size(), Timeline::kMost);
  EXPECT_EQ(all.front()->text, "7");
  EXPECT_THAT(texts(timeline.since(count - 2, 10)), ElementsAre(std::to_string(count - 2), std::to_string(count - 1)));
  EXPECT_THAT(texts(timeline.since(0, 1)), ElementsAre(std::to_string(count - 1)));
  EXPECT_TRUE(timeline.since(count, 10).empty());
}

TEST(TimelineTest, ThePastGoesBeforeWhatIsKnown) {
  Timeline timeline;
  timeline.add(said(100, "now"));
  const int64_t next = timeline.next();
  timeline.add_past({said(50, "second"), said(10, "first"), said(100, "now"), said(200, "later than known")});
  EXPECT_EQ(timeline.next(), next);
  EXPECT_THAT(texts(timeline.latest(10)), ElementsAre("first", "second", "now"));
  timeline.add(said(101, "after"));
  EXPECT_THAT(texts(timeline.since(next, 10)), ElementsAre("after"));
}

TEST(TimelineTest, AnEntryIsValidJsonWhateverItSays) {
  std::string out;
  append_json(out, Entry{at(0), Kind::transition, "</script>\"\x01\xff", "<b>", "p", "operational", "in-maintenance"});
  const auto json = kube::Json::parse(out);
  ASSERT_TRUE(json) << out;
  EXPECT_EQ((*json)["kind"].text(), "transition");
  EXPECT_EQ((*json)["node"].text(), "<b>");
  EXPECT_EQ((*json)["from"].text(), "operational");
  EXPECT_EQ((*json)["to"].text(), "in-maintenance");
}

}  // namespace
}  // namespace careen::view
