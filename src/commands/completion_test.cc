#include "cli/completion.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/command_set.h"
#include "replica/controllers.h"

namespace careen::app {
namespace {

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() { add_all_commands(commands); }
  Completion of(const std::vector<std::string>& words) {
    return complete(describe(commands.tree()), words, replica::controller_names());
  }
  std::vector<std::string> values(const std::vector<std::string>& words) {
    std::vector<std::string> out;
    for (const Candidate& candidate : of(words).candidates) out.push_back(candidate.value);
    return out;
  }
  bool offers(const std::vector<std::string>& words, const std::string& value) {
    const auto all = values(words);
    return std::find(all.begin(), all.end(), value) != all.end();
  }
  Commands commands{"careen"};
};

using Strings = std::vector<std::string>;

TEST_F(CompletionTest, Commands) {
  EXPECT_EQ(values({"exp"}), Strings{"explain"});
  EXPECT_TRUE(offers({""}, "drain"));
  EXPECT_FALSE(offers({""}, "__complete"));
  EXPECT_TRUE(values({"nonsense", ""}).empty());
}

TEST_F(CompletionTest, CommandsBelowACommandThatHasArguments) {
  EXPECT_EQ(values({"request", "r"}), Strings{"run"});
  EXPECT_EQ(of({"request", ""}).names, Names::nodes);
  EXPECT_EQ(of({"request", "node-1", ""}).names, Names::none);
  EXPECT_TRUE(values({"request", "node-1", ""}).empty());
  EXPECT_EQ(of({"request", "done", ""}).names, Names::nodes);
  EXPECT_TRUE(offers({"request", "run", "--"}, "--timeout"));
  EXPECT_FALSE(offers({"request", "done", "--"}, "--wait"));
  // A node may be called like a command.
  EXPECT_TRUE(values({"request", "--", "do"}).empty());
}

TEST_F(CompletionTest, Flags) {
  EXPECT_EQ(values({"explain", "--outp"}), Strings{"--output"});
  EXPECT_TRUE(offers({"explain", "node-1", "-"}, "--kubeconfig"));
  EXPECT_TRUE(offers({"drain", "--"}, "--ignore-daemonsets"));
  // Refused ones are no help.
  EXPECT_FALSE(offers({"run", "--"}, "--enable-esx-maintenance"));
}

TEST_F(CompletionTest, ValuesOfFlags) {
  EXPECT_EQ(values({"explain", "-o", ""}), (Strings{"json", "yaml"}));
  EXPECT_EQ(values({"explain", "--output", "y"}), Strings{"yaml"});
  EXPECT_EQ(values({"explain", "--output=y"}), Strings{"--output=yaml"});
  EXPECT_EQ(values({"completion", "z"}), Strings{"zsh"});
  EXPECT_EQ(values({"top", "--server", ""}), Strings{"auto"});
  EXPECT_EQ(values({"top", "--server=a"}), Strings{"--server=auto"});
  EXPECT_TRUE(values({"top", "--server", "http"}).empty());
  const Completion file = of({"explain", "--config=conf"});
  EXPECT_EQ(file.names, Names::files);
  EXPECT_EQ(file.prefix, "--config=");
  EXPECT_EQ(of({"run", "--webhook-cert-dir", ""}).names, Names::folders);
  EXPECT_EQ(of({"status", "--context", ""}).names, Names::contexts);
}

TEST_F(CompletionTest, Names) {
  EXPECT_EQ(of({"explain", "no"}).names, Names::nodes);
  EXPECT_EQ(of({"drain", "node-1", "--force", ""}).names, Names::nodes);
  EXPECT_EQ(of({"validate", ""}).names, Names::files);
  EXPECT_EQ(of({"plugins", ""}).names, Names::plugins);
  EXPECT_EQ(of({"plugins", "wait", ""}).names, Names::none);
  EXPECT_EQ(of({"release", "--name", ""}).names, Names::objects);
  EXPECT_EQ(of({"release", "--name", ""}).kind, "nodemaintenance");
  EXPECT_EQ(of({"pause", "--profile", ""}).names, Names::profiles);
  // The value of a flag is no argument.
  EXPECT_EQ(of({"explain", "-o", "json", ""}).names, Names::nodes);
}

TEST_F(CompletionTest, KindsBeforeTheName) {
  const Completion node = of({"explain", "node/no"});
  EXPECT_EQ(node.names, Names::nodes);
  EXPECT_EQ(node.prefix, "node/");
  EXPECT_EQ(node.begun, "no");
  EXPECT_EQ(of({"explain", "nodemaintenance/"}).names, Names::objects);
  EXPECT_EQ(of({"explain", "nodemaintenance/"}).kind, "nodemaintenance");
}

TEST_F(CompletionTest, ClusterOfTheWordsBefore) {
  const Completion found = of({"drain", "--kubeconfig=a.yaml", "--context", "b", ""});
  EXPECT_EQ(found.kubeconfig, "a.yaml");
  EXPECT_EQ(found.context, "b");
}

TEST_F(CompletionTest, AfterTwoDashesEverythingIsAnArgument) {
  EXPECT_EQ(of({"explain", "--", "-"}).names, Names::nodes);
}

TEST_F(CompletionTest, Answer) {
  EXPECT_EQ(completion_answer(of({"explain", "-o", ""}), {}), "json\nyaml\n:4\n");
  EXPECT_EQ(completion_answer(of({"explain", "node/b"}), {"a1", "b1", "b2"}), "node/b1\nnode/b2\n:4\n");
  EXPECT_EQ(completion_answer(of({"validate", ""}), {}), ":0\n");
  EXPECT_EQ(completion_answer(of({"exp"}), {}),
            "explain\tWhy a node is where it is, what it waits for, and until when\n:4\n");
}

// Everything that can be typed is there with a help text, and every command shows an example.
TEST_F(CompletionTest, EveryCommandIsDocumented) {
  for (const CommandDoc& command : describe(commands.tree()).commands) {
    if (command.hidden()) continue;
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_NE(command.details.find("Example"), std::string::npos) << command.name;
    for (const ParameterDoc& flag : command.flags) EXPECT_FALSE(flag.text.empty()) << command.name << flag_head(flag);
  }
}

TEST(CompletionScripts, EachAsksTheProgram) {
  for (const char* shell : {"bash", "zsh", "fish", "kubectl"}) {
    EXPECT_NE(completion_script(shell).find("__complete"), std::string::npos) << shell;
  }
}

}  // namespace
}  // namespace careen::app
