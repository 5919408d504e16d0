#include "profiles/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace careen::profiles {
namespace {

const std::vector<std::string_view> kNames{"can_drain", "reboot_needed", "approved", "a", "max"};

TEST(SuggestTest, FindsWhatATypingErrorExplains) {
  EXPECT_EQ(closest("can_drian", kNames), "can_drain");
  EXPECT_EQ(closest("rebootneeded", kNames), "reboot_needed");
  EXPECT_EQ(closest("APPROVED", kNames), "approved");
  EXPECT_EQ(closest("mx", kNames), "max");
}

TEST(SuggestTest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(closest("window", kNames), std::nullopt);
  EXPECT_EQ(closest("b", kNames), std::nullopt);
  EXPECT_EQ(closest("", kNames), std::nullopt);
  EXPECT_EQ(closest(std::string(500, 'a'), kNames), std::nullopt);
  EXPECT_EQ(closest("approved", {}), std::nullopt);
}

TEST(SuggestTest, PrefersTheNearest) {
  const std::vector<std::string_view> names{"drain_slow", "drain_show", "drain_flow"};
  EXPECT_EQ(closest("drain_flwo", names), "drain_flow");
}

TEST(SuggestTest, PutsTheNameIntoASentence) {
  EXPECT_EQ(did_you_mean("can_drian", kNames), "; did you mean \"can_drain\"?");
  EXPECT_EQ(did_you_mean("window", kNames), "");
}

}  // namespace
}  // namespace careen::profiles
