#include "config/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace careen::config {
namespace {

const std::vector<std::string_view> kKnownNames{"can_drain", "reboot_needed", "approved", "a", "max"};

TEST(SuggestTest, FindsWhatATypingErrorExplains) {
  EXPECT_EQ(closest("can_drian", kKnownNames), "can_drain");
  EXPECT_EQ(closest("rebootneeded", kKnownNames), "reboot_needed");
  EXPECT_EQ(closest("APPROVED", kKnownNames), "approved");
  EXPECT_EQ(closest("mx", kKnownNames), "max");
}

TEST(SuggestTest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(closest("window", kKnownNames), std::nullopt);
  EXPECT_EQ(closest("b", kKnownNames), std::nullopt);
  EXPECT_EQ(closest("", kKnownNames), std::nullopt);
  EXPECT_EQ(closest(std::string(500, 'a'), kKnownNames), std::nullopt);
  EXPECT_EQ(closest("approved", {}), std::nullopt);
}

TEST(SuggestTest, PrefersTheNearest) {
  const std::vector<std::string_view> names{"drain_slow", "drain_show", "drain_flow"};
  EXPECT_EQ(closest("drain_flwo", names), "drain_flow");
}

TEST(SuggestTest, PutsTheNameIntoASentence) {
  EXPECT_EQ(did_you_mean("can_drian", kKnownNames), "; did you mean \"can_drain\"?");
  EXPECT_EQ(did_you_mean("window", kKnownNames), "");
}

}  // namespace
}  // namespace careen::config
