#include "controllers/profiles/config_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/config.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/virtual_time.h"

namespace careen::profiles {
namespace {

using testing::HasSubstr;

constexpr const char* kGood = "intervals:\n  requeue: 30s\nprofiles:\n- name: a\n";
constexpr const char* kBetter = "intervals:\n  requeue: 30s\nprofiles:\n- name: a\n- name: b\n";
constexpr const char* kBroken = "intervals:\n  requeue: soon\n";

class ConfigSourceTest : public testing::Test {
 protected:
  std::string problem() const {
    const auto it = problems.open().find("config");
    return it == problems.open().end() ? "" : it->second;
  }
  double metric(const std::string& name) { return metrics.gauge(name, "").value(); }
  void write(std::string text) {
    files.write("maintenance.yaml", std::move(text));
    time.run_for(io::seconds{1});
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::MemoryFiles files{*loop};
  io::Metrics metrics;
  io::Problems problems{io::Log()};
  std::vector<std::shared_ptr<const Config>> taken;
  ConfigSource source{*loop,
                      files,
                      "maintenance.yaml",
                      [](std::string_view) { return std::nullopt; },
                      metrics,
                      problems,
                      io::Log(),
                      [this](std::shared_ptr<const Config> config) { taken.push_back(std::move(config)); }};
};

TEST_F(ConfigSourceTest, LoadsAtTheStartAndWhenTheFileChanges) {
  write(kGood);
  source.start();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(metric("careen_config_valid"), 1);
  write(kBetter);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_TRUE(taken[1]->profiles.contains("b"));
}

TEST_F(ConfigSourceTest, AnEmptyFileIsReportedAtTheStart) {
  write("");
  source.start();
  EXPECT_THAT(problem(), HasSubstr("maintenance.yaml:1:1: the file is empty"));
}

TEST_F(ConfigSourceTest, TakesNothingTwice) {
  write(kGood);
  source.start();
  write(kGood);
  EXPECT_EQ(taken.size(), 1u);
}

// The first file may come after the start, as a Secret that is mounted late.
TEST_F(ConfigSourceTest, WaitsForAFileThatIsMissing) {
  source.start();
  EXPECT_THAT(problem(), HasSubstr("maintenance.yaml"));
  EXPECT_THAT(problem(), HasSubstr("nothing is decided without it"));
  EXPECT_FALSE(source.valid_once());
  write(kGood);
  EXPECT_EQ(taken.size(), 1u);
  EXPECT_EQ(problem(), "");
}

TEST_F(ConfigSourceTest, ABrokenFileKeepsTheOldConfigurationAndSaysWhere) {
  write(kGood);
  source.start();
  write(kBroken);
  EXPECT_EQ(taken.size(), 1u);
  EXPECT_THAT(problem(), HasSubstr("maintenance.yaml:2:"));
  EXPECT_THAT(problem(), HasSubstr("the configuration loaded before stays"));
  EXPECT_EQ(metric("careen_config_valid"), 0);
  write(kGood);
  EXPECT_EQ(taken.size(), 2u);
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(metric("careen_config_valid"), 1);
}

TEST_F(ConfigSourceTest, AFileThatVanishesAndComesBackUnchangedIsTakenAgain) {
  write(kGood);
  source.start();
  files.remove("maintenance.yaml");
  time.run_for(io::seconds{1});
  EXPECT_NE(problem(), "");
  write(kGood);
  EXPECT_EQ(problem(), "");
}

constexpr const char* kDoubtful = "intervals:\n  requeue: 30s\n  notify: 5h\n";

TEST_F(ConfigSourceTest, AFileWithWarningsIsTaken) {
  write(kDoubtful);
  source.start();
  EXPECT_EQ(taken.size(), 1u);
  EXPECT_EQ(problem(), "");
}

TEST_F(ConfigSourceTest, StrictlyAFileWithWarningsIsRefused) {
  ConfigSource strict{*loop,
                      files,
                      "maintenance.yaml",
                      [](std::string_view) { return std::nullopt; },
                      metrics,
                      problems,
                      io::Log(),
                      [this](std::shared_ptr<const Config> config) { taken.push_back(std::move(config)); },
                      true};
  write(kDoubtful);
  strict.start();
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(metric("careen_config_valid"), 0);
  EXPECT_THAT(problem(), HasSubstr("maintenance.yaml:3:3: the key \"notify\" is not known"));
  EXPECT_THAT(problem(), HasSubstr("--strict-config; nothing is decided without it"));
  write(kGood);
  EXPECT_EQ(taken.size(), 1u);
  EXPECT_EQ(problem(), "");
}

}  // namespace
}  // namespace careen::profiles
