#include "observe/go_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

namespace careen::observe {
namespace {

TEST(GoNumber, ReadsDecimalAndHexadecimal) {
  EXPECT_EQ(parse_go_float("12"), 12);
  EXPECT_EQ(parse_go_float("+1.5e3"), 1500);
  EXPECT_EQ(parse_go_float("-.5"), -0.5);
  EXPECT_EQ(parse_go_float("1."), 1);
  EXPECT_EQ(parse_go_float("0x1.8p1"), 3);
  EXPECT_EQ(parse_go_float("1_000.5"), 1000.5);
  EXPECT_EQ(parse_go_float("0x_1p0"), 1);
}

TEST(GoNumber, ReadsWhatIsNotFinite) {
  EXPECT_TRUE(std::isnan(parse_go_float("NaN").value()));
  EXPECT_EQ(parse_go_float("+Inf"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_go_float("-infinity"), -std::numeric_limits<double>::infinity());
}

TEST(GoNumber, RefusesEverythingElse) {
  for (const char* text : {"",   ".",    "e5",   "1e",   "1e+",  " 1",      "1 ",  "0x10", "0x",  "0xp1",  "1_",
                           "_1", "1__0", "1_.0", "1e_5", "-nan", "infinit", "1,5", "0b1",  "--1", "1e400", "-1e400"}) {
    EXPECT_EQ(parse_go_float(text), std::nullopt) << text;
  }
}

TEST(GoNumber, WhatIsTooSmallIsZero) { EXPECT_EQ(parse_go_float("1e-400"), 0); }

TEST(GoNumber, PrintsTheShortestText) {
  EXPECT_EQ(format_go_float(0.5), "0.5");
  EXPECT_EQ(format_go_float(-0.0), "-0");
  EXPECT_EQ(format_go_float(123456), "123456");
  EXPECT_EQ(format_go_float(1e6), "1e+06");
  EXPECT_EQ(format_go_float(12345678.5), "1.23456785e+07");
  EXPECT_EQ(format_go_float(0.0001), "0.0001");
  EXPECT_EQ(format_go_float(0.00001), "1e-05");
  EXPECT_EQ(format_go_float(5e-324), "5e-324");
  EXPECT_EQ(format_go_float(-std::numeric_limits<double>::infinity()), "-Inf");
}

}  // namespace
}  // namespace careen::observe
