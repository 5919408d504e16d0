#include "io/redact.h"

#include <gtest/gtest.h>

namespace careen::io {
namespace {

TEST(RedactTest, HidesEverySecretWhereverItStands) {
  EXPECT_EQ(redact("pass: hunter2, again hunter2hunter2", {"hunter2"}), "pass: ***, again ******");
  EXPECT_EQ(redact("nothing here", {"hunter2"}), "nothing here");
  EXPECT_EQ(redact("", {"hunter2"}), "");
}

TEST(RedactTest, TheLongestComesFirst) {
  EXPECT_EQ(redact("https://h/services/T0/B1", {"T0/B1", "https://h/services/T0/B1"}), "***");
  EXPECT_EQ(redact("abcdef", {"abc", "abcdef"}), "***");
  EXPECT_EQ(redact("abcdef", {"abcdef", "abc"}), "***");
}

TEST(RedactTest, FindsEncodedForms) {
  EXPECT_EQ(redact("password=p%26ss%20w%2Frd", {"p&ss w/rd"}), "password=***");
  EXPECT_EQ(redact("password=p%26ss%20w%2frd", {"p&ss w/rd"}), "password=***");
  EXPECT_EQ(redact("password=p%26ss+w%2Frd&x=1", {"p&ss w/rd"}), "password=***&x=1");
  EXPECT_EQ(redact("/services/a%20b", {"/services/a b"}), "***");
  EXPECT_EQ(redact("t=a*b%7Ec", {"a*b~c"}), "t=***");
  EXPECT_EQ(redact("t=a%2Ab~c", {"a*b~c"}), "t=***");
}

TEST(RedactTest, ShortSecretsAreLeftAlone) {
  EXPECT_EQ(redact("a/b", {"/", "", "a/"}), "a/b");
  EXPECT_EQ(redact("abc", {"abc"}), "***");
}

TEST(RedactTest, WhatWasHiddenIsNotLookedAtAgain) { EXPECT_EQ(redact("abc***", {"abc", "***"}), "******"); }

}  // namespace
}  // namespace careen::io
