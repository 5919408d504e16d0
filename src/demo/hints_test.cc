#include "demo/hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::app {
namespace {

using testing::Contains;
using testing::HasSubstr;

const DemoPlace kPlace{.nodes = 60,
                       .dashboard = "http://127.0.0.1:8080",
                       .kubeconfig = "/tmp/demo/kubeconfig",
                       .config = "/tmp/demo/maintenance.yaml",
                       .folder = "/opt/careen",
                       .blocked = "node-7"};

std::vector<std::string> all_commands(const DemoPlace& place = kPlace) {
  std::vector<std::string> commands;
  for (const Hint& hint : demo_hints(place)) {
    commands.insert(commands.end(), hint.commands.begin(), hint.commands.end());
  }
  return commands;
}

TEST(DemoHints, OneLineSaysWhereEverythingIs) {
  EXPECT_EQ(all_commands().front(),
            "export KUBECONFIG=/tmp/demo/kubeconfig CAREEN_SERVER=http://127.0.0.1:8080 PATH=/opt/careen:$PATH");
}

TEST(DemoHints, PathsAreWordsOfTheShell) {
  DemoPlace place = kPlace;
  place.kubeconfig = "/home/ana/my files/ana's";
  EXPECT_THAT(demo_hints(place).front().commands.front(),
              HasSubstr(R"(export KUBECONFIG='/home/ana/my files/ana'\''s' CAREEN_SERVER=)"));
}

TEST(DemoHints, NoCommandSaysItAgain) {
  const auto commands = all_commands();
  for (size_t index = 1; index < commands.size(); ++index) {
    EXPECT_THAT(commands[index], testing::Not(testing::AnyOf(HasSubstr("--server"), HasSubstr("--kubeconfig"))));
  }
  for (const char* command : {"careen status", "careen top", "careen explain node-9"}) {
    EXPECT_THAT(commands, Contains(command));
  }
}

TEST(DemoHints, OfSeveralClustersEachCommandNamesOne) {
  DemoPlace place = kPlace;
  place.clusters = 3;
  const auto commands = all_commands(place);
  EXPECT_EQ(commands.front(), all_commands().front());
  for (const char* command :
       {"careen clusters", "careen top --cluster fleet/eu-1", "careen explain cluster/fleet/eu-1/node/node-9"}) {
    EXPECT_THAT(commands, Contains(command));
  }
  for (const std::string& command : commands) {
    if (command.starts_with("kubectl")) {
      EXPECT_THAT(command, testing::AnyOf(HasSubstr("--context"), HasSubstr("-n fleet")));
    }
  }
}

}  // namespace
}  // namespace careen::app
