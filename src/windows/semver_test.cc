#include "windows/semver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace careen::windows {
namespace {

std::weak_ordering compare(const char* a, const char* b) { return precedence(*parse_semver(a), *parse_semver(b)); }

TEST(SemverTest, ReadsAllParts) {
  const Semver version = *parse_semver("1.20.300-rc.1.x-y+build.007");
  EXPECT_EQ(version.major_number, 1U);
  EXPECT_EQ(version.minor_number, 20U);
  EXPECT_EQ(version.patch_number, 300U);
  EXPECT_EQ(version.pre_release, "rc.1.x-y");
  EXPECT_EQ(version.build, "build.007");
  EXPECT_EQ(parse_semver("18446744073709551615.0.0")->major_number, UINT64_MAX);
  for (const char* text :
       {"0.0.0", "1.2.3--", "1.2.3-0", "1.2.3-0a", "1.2.3-a.0.b", "1.2.3+-", "1.2.3+0-1-2", "1.2.3-a+b", "1.2.3+a-b"}) {
    EXPECT_TRUE(parse_semver(text)) << text;
  }
}

TEST(SemverTest, IsStrict) {
  for (const char* text : {"",
                           "1",
                           "1.2",
                           "1.2.3.4",
                           "1.2.",
                           ".1.2",
                           "1..3",
                           "01.2.3",
                           "1.02.3",
                           "1.2.03",
                           "1.2.3-",
                           "1.2.3+",
                           "1.2.3-+",
                           "1.2.3-01",
                           "1.2.3-a..b",
                           "1.2.3-a.",
                           "1.2.3-a_b",
                           "1.2.3+a..b",
                           "1.2.3+a+b",
                           "1.2.3 ",
                           " 1.2.3",
                           "+1.2.3",
                           "-1.2.3",
                           "1.-2.3",
                           "a.b.c",
                           "1.2.x",
                           "1,2,3",
                           "1.2.3-\xc3",
                           "1.2.3\n",
                           "1.2.3-rc 1",
                           "0x1.2.3",
                           "1e1.2.3",
                           "18446744073709551616.0.0",
                           "1.0.0-18446744073709551616"}) {
    const auto version = parse_semver(text);
    ASSERT_FALSE(version) << text;
    EXPECT_THAT(version.error().message, testing::StartsWith("must ")) << text;
  }
  EXPECT_EQ(parse_semver("v1.2.3").error().message, "must not begin with a v");
}

// The order that the standard itself gives as an example, with more around it.
TEST(SemverTest, Precedence) {
  const std::array ascending{
      "0.0.0",      "0.1.0-0",      "0.1.0",         "1.0.0--",    "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
      "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",       "1.0.1",         "1.2.0",
      "1.10.0",     "2.0.0"};
  for (std::size_t a = 0; a < ascending.size(); ++a) {
    for (std::size_t b = 0; b < ascending.size(); ++b) {
      EXPECT_EQ(compare(ascending[a], ascending[b]), a <=> b) << ascending[a] << " " << ascending[b];
    }
  }
}

TEST(SemverTest, NumbersComeBeforeWords) {
  EXPECT_EQ(compare("1.0.0-999", "1.0.0-a"), std::weak_ordering::less);
  EXPECT_EQ(compare("1.0.0-9", "1.0.0-10"), std::weak_ordering::less);
  EXPECT_EQ(compare("1.0.0-a9", "1.0.0-a10"), std::weak_ordering::greater);
  EXPECT_EQ(compare("1.0.0-A", "1.0.0-a"), std::weak_ordering::less);
}

TEST(SemverTest, BuildMetadataDoesNotCount) {
  EXPECT_EQ(compare("1.0.0+a", "1.0.0+b"), std::weak_ordering::equivalent);
  EXPECT_EQ(compare("1.0.0-rc+a", "1.0.0-rc"), std::weak_ordering::equivalent);
}

}  // namespace
}  // namespace careen::windows
