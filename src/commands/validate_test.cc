#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "commands/commands.h"
#include "kube/json.h"

namespace careen::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kGood = "intervals:\n  requeue: 30s\n";
constexpr const char* kDoubtful = "intervals:\n  requeue: 30s\n  notify: 5h\n";
constexpr const char* kBroken =
    "intervals:\n  requeue: soon\ninstances:\n  check:\n  - {name: a, type: hasLable, config: {}}\n  unknown: []\n";

// The command as a user runs it.
class CommandTest : public testing::Test {
 protected:
  struct Result {
    int code;
    std::string out, err;
  };
  static Result careen(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "careen");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run_command_line(arguments);
    std::fflush(stdout);
    std::string out = testing::internal::GetCapturedStdout();
    return {code, std::move(out), testing::internal::GetCapturedStderr()};
  }
  std::string write(const std::string& name, const std::string& text) {
    const auto path = directory_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  CommandTest() : directory_(std::filesystem::temp_directory_path() / ("careen-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(directory_);
  }
  ~CommandTest() override { std::filesystem::remove_all(directory_); }

 private:
  std::filesystem::path directory_;
};

TEST_F(CommandTest, ValidateSaysWhatAFileContains) {
  const std::string file = write("good.yaml", kGood);
  const Result result = careen({"validate", file});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, file + ": valid: 1 profiles, 0 checks, 0 notifications, 0 triggers\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(CommandTest, ValidateShowsAllProblemsOfAllFiles) {
  const std::string good = write("good.yaml", kGood), doubtful = write("doubtful.yaml", kDoubtful),
                    broken = write("broken.yaml", kBroken);
  const Result result = careen({"validate", broken, doubtful, good, broken + ".none"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, StartsWith(doubtful + ": valid"));
  EXPECT_THAT(result.out, HasSubstr(good + ": valid"));
  EXPECT_THAT(result.err, HasSubstr(broken + ":2:12: error: intervals: \"requeue\" must be a duration"));
  EXPECT_THAT(result.err,
              HasSubstr(broken + ":5:21: error: check \"a\": type \"hasLable\" is not known; did you mean"));
  EXPECT_THAT(result.err, HasSubstr(broken + ":6:3: warning: the key \"unknown\" is not known"));
  EXPECT_THAT(result.err, HasSubstr(doubtful + ":3:3: warning: the key \"notify\" is not known"));
  EXPECT_THAT(result.err, HasSubstr(broken + ".none: error: "));
}

TEST_F(CommandTest, ValidateStrictlyMakesWarningsErrors) {
  const std::string file = write("doubtful.yaml", kDoubtful);
  EXPECT_EQ(careen({"validate", file}).code, 0);
  for (const char* flag : {"--strict", "--strict-config"}) {
    const Result result = careen({"validate", flag, file});
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(":3:3: error: the key \"notify\""));
  }
}

TEST_F(CommandTest, ValidateTellsOnceOfDrainsThatOverrideBudgets) {
  const std::string file = write("forced.yaml",
                                 "intervals: {requeue: 30s}\ninstances:\n  trigger:\n"
                                 "  - {name: a, type: eviction, config: {action: drain, forceEviction: true}}\n"
                                 "  - {name: b, type: eviction, config: {action: drain, forceEviction: true, "
                                 "evictionTimeout: 5m}}\n"
                                 "  - {name: c, type: eviction, config: {action: drain}}\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"validate", file}, {"validate", "--strict", file}}) {
    const Result result = careen(words);
    EXPECT_EQ(result.code, 0) << "it is meant as it is written";
    EXPECT_EQ(result.err, file +
                              ": warning: forceEviction deletes pods past their disruption budgets, which "
                              "maintenance-controller never did: triggers \"a\" (after 10m), \"b\" (after 5m)\n");
  }
}

TEST_F(CommandTest, ValidateForPrograms) {
  const std::string broken = write("broken.yaml", kBroken), good = write("good.yaml", kGood);
  const Result result = careen({"validate", "-o", "json", broken, good});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "");
  const auto list = kube::Json::parse(result.out);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->view().size(), 3U);
  const auto last = list->view()[size_t{2}];
  EXPECT_EQ(last["file"].text(), broken);
  EXPECT_EQ(last["line"].integer(), 6);
  EXPECT_EQ(last["column"].integer(), 3);
  EXPECT_EQ(last["severity"].text(), "warning");
  EXPECT_EQ(careen({"validate", "-o", "json", good}).out, "[]\n");
}

TEST_F(CommandTest, Plugins) {
  EXPECT_THAT(careen({"plugins"}).out, HasSubstr("maxMaintenance"));
  EXPECT_THAT(careen({"plugins", "maxMaintenance"}).out, HasSubstr("groupBy"));
  const auto list = kube::Json::parse(careen({"plugins", "wait", "-o", "json"}).out);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->view()[size_t{0}]["type"].text(), "wait");
  const Result unknown = careen({"plugins", "maxMaintenence"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.err, "there is no plugin \"maxMaintenence\"; did you mean \"maxMaintenance\"?\n");
}

TEST_F(CommandTest, Schema) {
  const auto schema = kube::Json::parse(careen({"schema"}).out);
  ASSERT_TRUE(schema);
  EXPECT_TRUE((*schema)["definitions"]["check.wait"].exists());
}

}  // namespace
}  // namespace careen::app
