#include "plan/plan_forms.h"

#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "kube/json.h"
#include "plan/assumptions.h"
#include "plan/test_snapshot.h"

namespace careen::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Plan sample_plan() {
  Plan plan;
  plan.from = kMonday;
  plan.until = kMonday + io::hours{24};
  plan.complete = true;
  plan.assumptions = {"maintenance of a node takes 20m"};
  plan.rows = {{"node-a", "update", kMonday - io::hours{1}, kMonday, kMonday + io::minutes{20}, io::seconds{75}},
               {"<script>alert(1)</script>", "x;y,z\\w", std::nullopt, kMonday + io::minutes{5}, std::nullopt, {}}};
  plan.stuck = {{"node-b", "update", "hasLabel ok: label <ok> not present"}};
  plan.limits = {{"timeWindow night", 0.75}, {"maxMaintenance few", 0.25}};
  plan.campaigns = {{"update", 1, 0, 1, 1, kMonday, std::nullopt}, {"x;y,z\\w", 0, 1, 0, 1, kMonday, std::nullopt}};
  plan.at_once = 2;
  return plan;
}

TEST(PlanDocument, IsTheOneOfTheViewApi) {
  const auto json = kube::Json::parse(plan_document(sample_plan()));
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["from"].text(), "2026-03-02T10:00:00Z");
  EXPECT_EQ((*json)["until"].text(), "2026-03-03T10:00:00Z");
  EXPECT_EQ((*json)["complete"].boolean(), true);
  EXPECT_EQ(json->at("/rows/0/node").text(), "node-a");
  EXPECT_EQ(json->at("/rows/0/requested").text(), "2026-03-02T09:00:00Z");
  EXPECT_EQ(json->at("/rows/0/end").text(), "2026-03-02T10:20:00Z");
  EXPECT_EQ(json->at("/rows/0/drain").integer(), 75);
  EXPECT_FALSE(json->at("/rows/1/end"));
  EXPECT_EQ(json->at("/stuck/0/why").text(), "hasLabel ok: label <ok> not present");
  EXPECT_EQ(json->at("/limits/0/share").number(), 0.75);
  EXPECT_EQ(json->at("/assumptions/0").text(), "maintenance of a node takes 20m");
}

// What RFC 5545 demands of any file: line ends, lines of 75 bytes, events that are whole and have UIDs of their own.
TEST(PlanCalendar, IsStrictlyValid) {
  Plan plan = sample_plan();
  plan.rows[0].node = "node-with-a-very-long-name-so-that-its-line-has-to-be-folded-äöüäöüäöüäöü.example.net";
  const std::string text = plan_calendar(plan);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\r\n", at);
    ASSERT_NE(end, std::string::npos);
    const std::string line = text.substr(at, end - at);
    EXPECT_LE(line.size(), 75u) << line;
    EXPECT_EQ(line.find_first_of("\r\n"), std::string::npos);
    EXPECT_TRUE(kube::Json::parse(kube::Json(line).dump())) << "a character is cut in two";
    if (line.starts_with(' ')) {
      ASSERT_FALSE(lines.empty());
      lines.back() += line.substr(1);
    } else {
      lines.push_back(line);
    }
    at = end + 2;
  }
  EXPECT_EQ(lines.front(), "BEGIN:VCALENDAR");
  EXPECT_EQ(lines.back(), "END:VCALENDAR");
  EXPECT_THAT(lines, ::testing::Contains("VERSION:2.0"));
  std::set<std::string> uids;
  for (const std::string& line : lines) {
    if (line.starts_with("UID:")) EXPECT_TRUE(uids.insert(line).second) << line;
  }
  EXPECT_EQ(uids.size(), 2u);
  EXPECT_THAT(lines, ::testing::Contains("DTSTART:20260302T100000Z"));
  EXPECT_THAT(lines, ::testing::Contains("DTEND:20260302T102000Z"));
  EXPECT_THAT(lines, ::testing::Contains("DTEND:20260303T100000Z"));
  EXPECT_THAT(lines, ::testing::Contains("SUMMARY:x\\;y\\,z\\\\w: <script>alert(1)</script>"));
  EXPECT_THAT(text, HasSubstr("Requested 2026-03-02 09:00 UTC.\\nDrained in 1m15s."));
}

TEST(PlanCalendar, KeepsTheUidOfAMaintenanceThatMoves) {
  Plan plan = sample_plan();
  const auto uid = [](const std::string& text) { return text.substr(text.find("UID:"), 60); };
  const std::string before = uid(plan_calendar(plan));
  plan.rows[0].begin += io::hours{3};
  EXPECT_EQ(uid(plan_calendar(plan)), before);
}

TEST(PlanPage, EscapesAndNeedsNobodyElse) {
  const std::string page = plan_page(sample_plan());
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), HasSubstr("&lt;script&gt;alert(1)"), HasSubstr("<svg"),
                          HasSubstr("prefers-color-scheme:dark"), HasSubstr("label &lt;ok&gt; not present")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr("url("))));
}

TEST(Headline, SaysWhenAllIsDone) {
  Plan plan = sample_plan();
  EXPECT_EQ(headline(plan), "1 never get through.");
  plan.stuck.clear();
  EXPECT_EQ(headline(plan), "All is done on 2026-03-02 10:20 UTC, 20m from now.");
  plan.left = {{"a", "b", "c"}};
  EXPECT_EQ(headline(plan), "1 are not done by 2026-03-03 10:00 UTC.");
  EXPECT_EQ(headline(Plan{}), "Nothing is maintained until 1970-01-01 00:00 UTC.");
}

TEST(ShortSpan, ShowsTheTwoGreatestUnits) {
  EXPECT_EQ(short_span(io::seconds{45}), "45s");
  EXPECT_EQ(short_span(io::seconds{90}), "1m30s");
  EXPECT_EQ(short_span(io::minutes{120}), "2h");
  EXPECT_EQ(short_span(io::hours{76}), "3d4h");
}

TEST(Assumptions, AreReadFromFlags) {
  Assumptions all;
  ASSERT_TRUE(add_assumption(all, "os-*/rack-?-*:maintenance=45m"));
  ASSERT_TRUE(add_assumption(all, "*:approvals=after=1h"));
  ASSERT_TRUE(add_assumption(all, "check quiet=false"));
  EXPECT_EQ(all.maintenance_of("os-update", "rack-1-x"), io::minutes{45});
  EXPECT_EQ(all.maintenance_of("os-update", "rack-11-x"), io::minutes{20});
  EXPECT_EQ(all.maintenance_of("repair", "rack-1-x"), io::minutes{20});
  EXPECT_EQ(all.approvals_of("repair", "x").after, io::hours{1});
  EXPECT_FALSE(all.checks.at("quiet"));
  const auto error = [](std::string_view text) {
    Assumptions none;
    const auto added = add_assumption(none, text);
    return added ? std::string("(none)") : added.error().message;
  };
  EXPECT_THAT(error("nonsense"), HasSubstr("must be PROFILE[/NODE]:KEY=VALUE"));
  EXPECT_THAT(error("p:colour=red"), HasSubstr("\"colour\" can not be assumed"));
  EXPECT_THAT(error("p:maintenance=soon"), HasSubstr("\"soon\" is no duration"));
  EXPECT_THAT(error("p:approvals=maybe"), HasSubstr("must be given, none, or after="));
  EXPECT_THAT(error("/n:maintenance=1m"), HasSubstr("must not be empty"));
  EXPECT_THAT(error("check x=maybe"), HasSubstr("check NAME=true"));
}

TEST(Glob, MatchesStarsAndQuestionMarks) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a*c", "abbc"));
  EXPECT_TRUE(matches_glob("*-1-*", "rack-1-a"));
  EXPECT_TRUE(matches_glob("a?c", "abc"));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
  EXPECT_FALSE(matches_glob("a", "ab"));
  EXPECT_FALSE(matches_glob("", "a"));
  EXPECT_TRUE(matches_glob("a**b", "a*b"));
}

}  // namespace
}  // namespace careen::plan
