#include "controllers/nodemaintenance/flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace careen::nodemaintenance {
namespace {

ControllerOptions parsed(std::vector<std::string> words) {
  ControllerOptions options;
  CLI::App app;
  add_flags(app, options);
  std::reverse(words.begin(), words.end());
  app.parse(words);
  return options;
}

TEST(Flags, SwitchesBackToTheOriginal) {
  EXPECT_TRUE(parsed({}).restore_cordon);
  EXPECT_TRUE(parsed({}).correct_drift);
  const ControllerOptions options = parsed({"--restore-cordon=false", "--correct-drift=false"});
  EXPECT_FALSE(options.restore_cordon);
  EXPECT_FALSE(options.correct_drift);
}

TEST(Flags, NameTheNamespaceOfLeases) {
  EXPECT_EQ(parsed({}).lease_namespace, "medik8s-leases");
  EXPECT_EQ(parsed({"--lease-namespace=b"}).lease_namespace, "b");
}

}  // namespace
}  // namespace careen::nodemaintenance
