#include "templates/quantity.h"

#include <gtest/gtest.h>

#include <limits>

namespace careen::templates {
namespace {

int64_t value(std::string_view text) { return scaled_value(read_quantity(text), 0); }
int64_t milli(std::string_view text) { return scaled_value(read_quantity(text), -3); }

// Compared with k8s.io/apimachinery in test/templates; here what an API server never says, but a kubelet might.
TEST(Quantity, ReadsWhatKubernetesWrites) {
  EXPECT_EQ(value("4"), 4);
  EXPECT_EQ(milli("3920m"), 3920);
  EXPECT_EQ(value("3920m"), 4);
  EXPECT_EQ(value("-1500m"), -2);
  EXPECT_EQ(value("8Gi"), int64_t{8} << 30);
  EXPECT_EQ(value("1.5Ki"), 1536);
  EXPECT_EQ(value("1e3"), 1000);
  EXPECT_EQ(value("1E"), 1000000000000000000);
  EXPECT_EQ(value("12E2"), 1200);
  EXPECT_EQ(scaled_value(read_quantity("1n"), -9), 1);
}

TEST(Quantity, StaysWithinItsBounds) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(value("9999999999999999999999999999999999999999999999"), kMost);
  EXPECT_EQ(value("1e999999999"), kMost);
  EXPECT_EQ(value("1e-999999999"), 1);
  EXPECT_EQ(value("0e999999999"), 0);
  EXPECT_EQ(milli("8Ei"), kMost);
  EXPECT_EQ(value("-1e30"), -kMost);
  EXPECT_EQ(scaled_value(read_quantity("5"), std::numeric_limits<int64_t>::min()), kMost);
  EXPECT_EQ(scaled_value(read_quantity("5"), kMost), 1);
}

TEST(Quantity, WhatCannotBeReadIsNothing) {
  for (const char* text : {"", "-", "x", "4x", "4Gb", "e", "1e", "1ex", ".", "Ki"}) EXPECT_EQ(value(text), 0) << text;
}

}  // namespace
}  // namespace careen::templates
