// Scenarios with Lanterns, played by the runner that knows nothing of them.
#include <gtest/gtest.h>

#include <filesystem>

#include "promise.h"
#include "source_dir.h"

namespace careen::lantern {
namespace {

using scenarios::broken_promise;
using scenarios::failure_of;

TEST(LanternScenarios, OneAtATime) {
  EXPECT_EQ(failure_of(test::source_path("test/lantern/scenarios/one_at_a_time.yaml")), "");
}

TEST(LanternScenarios, WhatMustFailFailsAndSaysWhy) {
  EXPECT_EQ(broken_promise(test::source_path("test/lantern/scenarios/failing/two_wanted.yaml")), "");
}

}  // namespace
}  // namespace careen::lantern
