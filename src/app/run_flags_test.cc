#include "app/run_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

namespace careen::app {
namespace {

// Empty when the arguments are taken.
std::string refusal_of(const std::string& arguments) {
  CLI::App app("careen");
  RunOptions options;
  ZapFlags zap;
  add_run_flags(app, options, zap);
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return {};
}

TEST(RunFlags, IntegrationsThatAreNotThereAreRefusedInEveryForm) {
  for (const std::string flag : {"--enable-esx-maintenance", "--enable-kubernikus-maintenance"}) {
    for (const char* const on : {"", "=true", "=1", "=t"}) {
      EXPECT_NE(refusal_of(flag + on).find("is not available in this version"), std::string::npos) << flag << on;
    }
    for (const char* const off : {"=false", "=0", "=f"}) EXPECT_EQ(refusal_of(flag + off), "") << flag << off;
  }
}

}  // namespace
}  // namespace careen::app
