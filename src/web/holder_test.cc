#include "web/holder.h"

#include <gtest/gtest.h>

namespace careen::web {
namespace {

TEST(Holder, ThePodIsWhatStandsBeforeTheFirstUnderscore) {
  EXPECT_EQ(pod_of_holder("careen-7c9d_5f0a"), "careen-7c9d");
  EXPECT_EQ(pod_of_holder("careen-0"), "careen-0");
  EXPECT_EQ(pod_of_holder("node-1.example.org_1_2"), "node-1.example.org");
}

// Each of these would lead somewhere else as a part of a path.
TEST(Holder, WhatCannotBeTheNameOfAPodIsNone) {
  for (const char* identity : {"", "_x", "..", "._x", "a/../../secrets_x", "a:80/proxy?x=_1", "a%2fb", "a b", "A",
                               "a\n", "-a", "a-", "a.", "x#y"}) {
    EXPECT_EQ(pod_of_holder(identity), std::nullopt) << identity;
  }
  EXPECT_TRUE(pod_of_holder(std::string(253, 'a')));
  EXPECT_FALSE(pod_of_holder(std::string(254, 'a')));
}

}  // namespace
}  // namespace careen::web
