#include "controllers/profiles/plugins/check_has_key.h"

#include <gtest/gtest.h>

#include "config/file.h"

namespace careen::profiles {
namespace {

WantedKey wanted(const std::string& yaml) {
  const auto document = config::Document::parse(yaml);
  const config::Environment environment = [](std::string_view) { return std::optional<std::string>("hunter2"); };
  config::ConfigFile file("f.yaml", *document, environment);
  config::ConfigReader reader(file, &document->root(), {1, 1}, "check \"x\"");
  return WantedKey(reader);
}

std::string reason(const std::string& yaml, std::optional<std::string_view> value) {
  return check_key("label", wanted(yaml), value, true).reason;
}

TEST(CheckHasKeyTest, ReasonsShowWhatTheFileSays) {
  EXPECT_EQ(reason("{key: k, value: v}", "v"), "label k is \"v\"");
  EXPECT_EQ(reason("{key: k, value: v}", "w"), "label k is \"w\", not \"v\"");
  EXPECT_EQ(reason("{key: k}", ""), "label k is \"\"");
  EXPECT_EQ(reason("{key: k}", std::nullopt), "label k not present");
}

TEST(CheckHasKeyTest, ReasonsHideWhatAVariableSays) {
  EXPECT_EQ(reason("{key: k, value: '${V}'}", "w"), "label k is \"w\", not \"***\"");
  EXPECT_EQ(reason("{key: k, value: '${V}'}", "hunter2"), "label k is \"***\"");
  EXPECT_EQ(reason("{key: 'a-${V}'}", std::nullopt), "label *** not present");
  EXPECT_TRUE(check_key("label", wanted("{key: k, value: '${V}'}"), "hunter2", false).passed);
}

}  // namespace
}  // namespace careen::profiles
