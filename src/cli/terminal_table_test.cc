#include "cli/terminal_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::app {
namespace {

using testing::ElementsAre;

TEST(TerminalTable, ColumnsAreAlignedAndEmptyCellsShown) {
  EXPECT_THAT(table_lines({"NODE", "STATE", "REASON"}, {{"node-1", "Running", "firmware"}, {"a", "", ""}}),
              ElementsAre("NODE     STATE     REASON", "node-1   Running   firmware", "a        -         -"));
}

TEST(TerminalTable, CharactersCountNotBytes) {
  EXPECT_THAT(table_lines({"A", "B"}, {{"über", "x"}, {"uber", "y"}}), ElementsAre("A      B", "über   x", "uber   y"));
}

TEST(TerminalTable, ARowMayBeShort) { EXPECT_THAT(table_lines({"A", "B"}, {{"x"}}), ElementsAre("A   B", "x   -")); }

TEST(TerminalTable, AgesReadAsKubectlPrintsThem) {
  using namespace std::chrono_literals;
  EXPECT_EQ(age_text(-5s), "0s");
  EXPECT_EQ(age_text(119s), "119s");
  EXPECT_EQ(age_text(2min), "2m");
  EXPECT_EQ(age_text(125s), "2m5s");
  EXPECT_EQ(age_text(10min + 30s), "10m");
  EXPECT_EQ(age_text(179min), "179m");
  EXPECT_EQ(age_text(3h), "3h");
  EXPECT_EQ(age_text(7h + 59min), "7h59m");
  EXPECT_EQ(age_text(8h + 59min), "8h");
  EXPECT_EQ(age_text(48h), "2d");
  EXPECT_EQ(age_text(102h), "4d6h");
  EXPECT_EQ(age_text(24h * 8 + 5h), "8d");
  EXPECT_EQ(age_text(24h * 365 * 2), "2y");
  EXPECT_EQ(age_text(24h * (365 * 2 + 3)), "2y3d");
  EXPECT_EQ(age_text(24h * 365 * 9), "9y");
}

TEST(TerminalTable, TextIsCutToTheWidth) {
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdef", 5), "abcd…");
  EXPECT_EQ(fit("äöüßéè", 3), "äö…");
  EXPECT_EQ(fit("ab", 1), "…");
  EXPECT_EQ(fit("ab", 0), "");
}

TEST(TerminalTable, CountsHaveTheirPlural) {
  EXPECT_EQ(count_text(1, "pod"), "1 pod");
  EXPECT_EQ(count_text(0, "pod"), "0 pods");
}

}  // namespace
}  // namespace careen::app
