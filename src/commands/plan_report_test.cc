#include "commands/plan_report.h"

#include <gmock/gmock.h>

#include "cli/terminal_table.h"
#include "commands/plan_files.h"

namespace careen::app {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const io::Wall kStart = *io::parse_rfc3339("2026-03-02T10:00:00Z");

plan::Plan sample(int nodes, int stuck = 0) {
  plan::Plan plan;
  plan.from = kStart;
  plan.until = kStart + io::hours{24 * 14};
  plan.complete = true;
  plan.at_once = 3;
  plan.assumptions = {"pods end after 30s, or their grace period if that is shorter; new ones are ready after 20s"};
  plan.limits = {{"timeWindow a_window_with_a_rather_long_name", 0.9}, {"maxMaintenance another_long_name", 0.1}};
  for (int i = 0; i < nodes; ++i) {
    const io::Wall begin = kStart + i * io::minutes{30};
    plan.rows.push_back(
        {"node-" + std::to_string(i), "nodemaintenance/x", kStart, begin, begin + io::minutes{20}, io::seconds{90}});
  }
  for (int i = 0; i < stuck; ++i) {
    plan.stuck.push_back({"stuck-" + std::to_string(i), "update",
                          "hasAnnotation approved: annotation example.net/approved-by-the-owner not present\x1b[31m"});
  }
  plan.campaigns = {
      {"nodemaintenance", static_cast<size_t>(nodes), 0, static_cast<size_t>(stuck), 3, kStart, kStart + io::hours{2}}};
  return plan;
}

TEST(PlanReport, FitsEightyColumnsAndShowsTheEndFirst) {
  const auto lines = plan_lines(sample(60, 30), {});
  for (const std::string& line : lines) {
    EXPECT_LE(text_width(line), 80u) << line;
    EXPECT_THAT(line, Not(HasSubstr("\x1b"))) << "a reason commands the terminal";
  }
  EXPECT_EQ(lines[0], "Maintenance plan, 2026-03-02 10:00 to 2026-03-16 10:00 UTC");
  EXPECT_EQ(lines[2], "30 never get through.");
  EXPECT_THAT(lines, Contains("… and 10 more; --all shows them"));
  EXPECT_THAT(lines, Contains("  … and 10 more; --all shows them"));
  EXPECT_THAT(plan_lines(sample(60), {80, true}), Not(Contains(HasSubstr("--all"))));
}

TEST(PlanReport, ComparesTwoConfigurations) {
  const auto lines = comparison_lines({"a.yaml", sample(10)}, {"b.yaml", sample(4)}, {});
  EXPECT_THAT(lines, Contains(HasSubstr("3h earlier")));
  EXPECT_THAT(lines, Contains(HasSubstr("6 fewer")));
  const auto stuck = comparison_lines({"a.yaml", sample(10)}, {"b.yaml", sample(10, 1)}, {});
  EXPECT_THAT(stuck, Contains("Get through with the first only (1):"));
  EXPECT_THAT(stuck, Contains(HasSubstr("never")));
}

TEST(ParseSpan, KnowsDays) {
  EXPECT_EQ(*parse_span("14d"), io::hours{24 * 14});
  EXPECT_EQ(*parse_span("1h30m"), io::minutes{90});
  for (const char* wrong : {"", "d", "-1d", "0d", "1.5d", "0s", "5x", "99999d"})
    EXPECT_FALSE(parse_span(wrong)) << wrong;
}

}  // namespace
}  // namespace careen::app
