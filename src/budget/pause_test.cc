#include "budget/pause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::budget {
namespace {

using testing::HasSubstr;

const io::Wall kTen = *io::parse_rfc3339("2026-03-01T10:00:00Z");

PauseRecord record_of(std::initializer_list<Pause> pauses) {
  PauseRecord record;
  for (const Pause& pause : pauses) record.pauses.emplace(pause.profile, pause);
  return record;
}

std::string mistake_in(std::string_view text) {
  const auto record = PauseRecord::parse(text);
  return record ? "none" : record.error();
}

TEST(PauseText, SaysByWhomSinceWhenAndWhy) {
  EXPECT_EQ((Pause{"", "ana@host", kTen, "broken images"}).text(),
            "paused by ana@host since 2026-03-01T10:00:00Z: broken images");
  EXPECT_EQ((Pause{"p", "ana@host", kTen, ""}).text(), "paused by ana@host since 2026-03-01T10:00:00Z");
  EXPECT_EQ((Pause{"", "careen", {}, "not known"}).text(), "paused by careen: not known");
}

TEST(PauseRecord, IsReadAsItWasWritten) {
  const PauseRecord record =
      record_of({{"", "ana@host", kTen, "a \"reason\"\n"}, {"os/update", "ben@x", kTen + io::seconds{1}, ""}});
  const auto again = PauseRecord::parse(record.text());
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(again->pauses, record.pauses);
  EXPECT_EQ(record.text(), R"({"all":{"by":"ana@host","since":"2026-03-01T10:00:00Z","reason":"a \"reason\"\n"},)"
                           R"("profiles":{"os/update":{"by":"ben@x","since":"2026-03-01T10:00:01Z"}}})");
}

TEST(PauseRecord, NothingPausedIsAnEmptyObject) {
  EXPECT_EQ(PauseRecord{}.text(), "{}");
  for (const char* text : {"{}", R"({"profiles":{}})"}) {
    const auto record = PauseRecord::parse(text);
    ASSERT_TRUE(record) << record.error();
    EXPECT_TRUE(record->pauses.empty());
  }
}

TEST(PauseRecord, TimesAreInWholeSeconds) {
  const auto record = PauseRecord::parse(R"({"all":{"by":"a","since":"2026-03-01T11:00:00.9+01:00"}})");
  ASSERT_TRUE(record) << record.error();
  EXPECT_EQ(record->pauses.at("").since, kTen);
}

TEST(PauseRecord, AMistakeIsToldWithItsPlaceAndWhatWasExpected) {
  EXPECT_THAT(mistake_in(""), HasSubstr("JSON was expected"));
  EXPECT_EQ(mistake_in("[]"), R"(the record: an object with "all" and "profiles" was expected, and there is [])");
  EXPECT_EQ(mistake_in(R"({"every":{}})"), R"("every" is unknown; "all" or "profiles" was expected)");
  EXPECT_EQ(mistake_in(R"({"all":true})"),
            R"(all: an object with "by", "since" and "reason" was expected, and there is true)");
  EXPECT_EQ(mistake_in(R"({"all":{"since":"2026-03-01T10:00:00Z"}})"),
            R"(all.by: who set it, such as "ana@host" was expected, and there is nothing)");
  EXPECT_EQ(mistake_in(R"({"all":{"by":"","since":"2026-03-01T10:00:00Z"}})"),
            R"(all.by: who set it, such as "ana@host" was expected, and there is "")");
  EXPECT_EQ(mistake_in(R"({"profiles":{"p":{"by":"a","since":"today"}}})"),
            R"(profiles.p.since: a time such as "2026-03-01T10:00:00Z" was expected, and there is "today")");
  EXPECT_EQ(mistake_in(R"({"profiles":{"p":{"by":"a","since":"2026-03-01T10:00:00Z","reason":7}}})"),
            "profiles.p.reason: a text was expected, and there is 7");
  EXPECT_EQ(mistake_in(R"({"all":{"by":"a","since":"2026-03-01T10:00:00Z","until":"x"}})"),
            R"(all: "until" is unknown; "by", "since" or "reason" was expected)");
  EXPECT_EQ(mistake_in(R"({"profiles":[]})"),
            "profiles: an object with a member for each profile was expected, and there is []");
  EXPECT_THAT(mistake_in(R"({"profiles":{"":{}}})"), HasSubstr("the name of a profile was expected"));
}

TEST(PauseRecord, ALongMistakeIsCutOnACharactersBoundary) {
  const std::string mistake = mistake_in("\"" + std::string(58, 'x') + "öööö\"");
  EXPECT_THAT(mistake, testing::EndsWith("x…"));
}

TEST(Pauses, NothingIsPausedAtFirst) {
  Pauses pauses;
  EXPECT_EQ(pauses.of(""), nullptr);
  EXPECT_EQ(pauses.of("p"), nullptr);
  EXPECT_TRUE(pauses.all().empty());
}

TEST(Pauses, EverythingComesBeforeAProfile) {
  Pauses pauses;
  pauses.set(record_of({{"p", "ana", kTen, ""}}));
  EXPECT_EQ(pauses.of("p")->by, "ana");
  EXPECT_EQ(pauses.of("q"), nullptr);
  EXPECT_EQ(pauses.of(""), nullptr) << "what is no profile's goes on";
  pauses.set(record_of({{"p", "ana", kTen, ""}, {"", "ben", kTen, ""}}));
  EXPECT_EQ(pauses.of("p")->by, "ben");
  EXPECT_EQ(pauses.of("q")->by, "ben");
  EXPECT_EQ(pauses.of("")->by, "ben");
  EXPECT_EQ(pauses.all().size(), 2U);
}

TEST(Pauses, WhatIsNotKnownPausesEverythingUntilItIs) {
  Pauses pauses;
  pauses.set(record_of({{"p", "ana", kTen, ""}}));
  pauses.unknown("it cannot be read", kTen + io::milliseconds{500});
  ASSERT_NE(pauses.of("q"), nullptr);
  EXPECT_EQ(pauses.of("q")->text(), "paused by careen since 2026-03-01T10:00:00Z: it cannot be read");
  EXPECT_EQ(pauses.all().size(), 1U);
  pauses.set({});
  EXPECT_EQ(pauses.of("p"), nullptr);
}

TEST(Pauses, TellOfChangesOnly) {
  Pauses pauses;
  int told = 0;
  const auto changes = pauses.subscribe([&] { ++told; });
  pauses.set({});
  EXPECT_EQ(told, 0);
  pauses.unknown("a", kTen);
  pauses.unknown("a", kTen + io::hours{1});
  EXPECT_EQ(told, 1);
  EXPECT_EQ(pauses.of("")->since, kTen);
  pauses.unknown("b", kTen);
  EXPECT_EQ(told, 2);
  pauses.set({});
  EXPECT_EQ(told, 3) << "that is known now";
  pauses.set(record_of({{"", "ana", kTen, ""}}));
  pauses.set(record_of({{"", "ana", kTen, ""}}));
  EXPECT_EQ(told, 4);
}

// A time at the edge of what can be counted cannot be rounded down to whole seconds.
TEST(PauseRecordTest, ATimeLongAgoIsRefused) {
  const auto record = PauseRecord::parse(R"({"all":{"by":"ana@host","since":"1013-03-01T10:00:15Z"}})");
  ASSERT_FALSE(record);
  EXPECT_NE(record.error().find("all.since"), std::string::npos) << record.error();
}

}  // namespace
}  // namespace careen::budget
