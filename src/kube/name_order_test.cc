#include "kube/name_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace careen::kube {
namespace {

void expect_sorted(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t j = 0; j < names.size(); ++j) {
      const std::strong_ordering order = compare_names(names[i], names[j]);
      EXPECT_EQ(order < 0, i < j) << names[i] << " and " << names[j];
      EXPECT_EQ(order == 0, i == j) << names[i] << " and " << names[j];
    }
  }
}

TEST(NameOrderTest, NumbersCountAsNumbers) {
  expect_sorted({"node-1", "node-2", "node-9", "node-10", "node-11", "node-19", "node-20", "node-100"});
  expect_sorted({"rack-2-node-9", "rack-2-node-10", "rack-10-node-1"});
  expect_sorted({"9", "10", "node"});
  expect_sorted({"ip-10-0-2-9", "ip-10-0-2-31", "ip-10-0-12-1"});
}

TEST(NameOrderTest, EqualBeginnings) {
  expect_sorted({"", "node", "node-", "node-1", "node-1-a", "node-1a", "node-2", "nodes"});
  expect_sorted({"a1", "a1b", "a1b1", "a2"});
}

// By value; among equal values by their bytes, and only when nothing else tells them apart.
TEST(NameOrderTest, LeadingZeros) {
  expect_sorted({"n0", "n00a", "n0b", "n01", "n1", "n002", "n02", "n2", "n010", "n10"});
  expect_sorted({"n007-a", "n7-b", "n07-c"});
}

TEST(NameOrderTest, NumbersLongerThanAnyInteger) {
  expect_sorted({"n18446744073709551615", "n18446744073709551616", "n99999999999999999999999999999999",
                 "n100000000000000000000000000000000", "n100000000000000000000000000000001"});
}

TEST(NameOrderTest, OtherBytesAreNoDigits) { expect_sorted({"a-1", "a.1", "a1", "aB", "ab", "a\xc3\xa9"}); }

// Every way through them leads to the same order.
TEST(NameOrderTest, IsTotal) {
  std::vector<std::string> names;
  for (const char* a : {"", "n", "n-", "0", "7"}) {
    for (const char* b : {"", "0", "00", "1", "01", "10", "010", "x"}) {
      for (const char* c : {"", "-", "a", "2"}) names.push_back(std::string(a) + b + c);
    }
  }
  const std::set<std::string> once(names.begin(), names.end());
  names.assign(once.begin(), once.end());
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      EXPECT_EQ(compare_names(a, b) == 0, a == b);
      EXPECT_EQ(compare_names(a, b) < 0, compare_names(b, a) > 0) << a << " and " << b;
      for (const std::string& c : names) {
        if (compare_names(a, b) < 0 && compare_names(b, c) < 0) EXPECT_TRUE(compare_names(a, c) < 0) << a << b << c;
      }
    }
  }
  const std::set<std::string, NameOrder> sorted(names.begin(), names.end());
  EXPECT_EQ(sorted.size(), names.size());
  EXPECT_TRUE(sorted.contains(std::string_view("n-10a")));
}

}  // namespace
}  // namespace careen::kube
