// Help, man page and reference of a small tree of commands.
#include "cli/command_tree.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/docs_text.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::app {
namespace {

class CommandTreeTest : public testing::Test {
 protected:
  CommandTreeTest() {
    app.set_help_flag("-h,--help", "Print this help message and exit");
    CLI::App& look = *app.add_subcommand("look", "Look at nodes");
    look.group("See");
    look.footer("It's quick.\n\nExample:\n  tool look node-1 -o yaml\n  .hidden");
    look.add_option("NODE", nodes, "The nodes")->required();
    look.add_option("-o,--output", output, "The form")->check(CLI::IsMember({"yaml", "json"}));
    look.add_option("--file", file, "Where a text that is rather long tells what one has to know of it")
        ->type_name("FILE")
        ->group("Where")
        ->capture_default_str();
    look.add_flag("-w,--watch", watch, "Go on");
    app.add_subcommand("secret", "For machines")->group("");
  }

  CLI::App app{"A tool", "tool"};
  std::vector<std::string> nodes;
  std::string output, file = "a|b";
  bool watch = false;
};

TEST_F(CommandTreeTest, Description) {
  const CommandDoc tree = describe(app);
  ASSERT_EQ(tree.commands.size(), 2u);
  EXPECT_TRUE(tree.command("secret")->hidden());
  EXPECT_EQ(tree.command("nothing"), nullptr);
  const CommandDoc& look = *tree.command("look");
  ASSERT_EQ(look.arguments.size(), 1u);
  EXPECT_TRUE(look.arguments[0].required);
  EXPECT_TRUE(look.arguments[0].repeated);
  EXPECT_EQ(look.flag("-o")->choices, (std::vector<std::string>{"json", "yaml"}));
  EXPECT_EQ(flag_head(*look.flag("--output")), "-o, --output json|yaml");
  EXPECT_EQ(flag_head(*look.flag("--watch")), "-w, --watch");
  EXPECT_FALSE(look.flag("--watch")->takes_value());
  EXPECT_EQ(full_text(*look.flag("--file")), "Where a text that is rather long tells what one has to know of it [a|b]");
  EXPECT_EQ(usage_line(look, "tool look"), "tool look [flags] NODE...");
}

TEST_F(CommandTreeTest, Help) {
  EXPECT_EQ(help_text(*describe(app).command("look"), "tool look", 60), R"(Look at nodes

Usage: tool look [flags] NODE...

Arguments:
  NODE  The nodes

Flags:
  -o, --output json|yaml  The form
  -w, --watch             Go on
  -h, --help              Print this help message and exit

Where:
  --file FILE  Where a text that is rather long tells what
               one has to know of it [a|b]

It's quick.

Example:
  tool look node-1 -o yaml
  .hidden
)");
  const std::string whole = help_text(describe(app), "tool", 80);
  EXPECT_NE(whole.find("See:\n  look  Look at nodes\n"), std::string::npos) << whole;
  EXPECT_EQ(whole.find("secret"), std::string::npos);
}

// No part of a text is mistaken for a roff request or a special character.
TEST_F(CommandTreeTest, ManPage) {
  const std::string page = man_page(describe(app), "1.0", "Thing");
  EXPECT_EQ(page.find("\n.hidden"), std::string::npos);
  EXPECT_NE(page.find("\n\\&.hidden\n"), std::string::npos) << page;
  EXPECT_NE(page.find("It\\(aqs quick."), std::string::npos);
  EXPECT_NE(page.find("\\fB\\-o, \\-\\-output\\fR \\fIjson|yaml\\fR"), std::string::npos);
  EXPECT_EQ(page.find("secret"), std::string::npos);
}

TEST_F(CommandTreeTest, Markdown) {
  const std::string page = commands_markdown(describe(app));
  EXPECT_NE(page.find("| [look](#tool-look) | Look at nodes |"), std::string::npos) << page;
  EXPECT_NE(page.find("| `-o, --output json\\|yaml` | The form |"), std::string::npos);
  EXPECT_NE(page.find("\n```sh\ntool look node-1 -o yaml\n.hidden\n```\n"), std::string::npos);
  EXPECT_EQ(page.find("secret"), std::string::npos);
}

TEST(ConfigurationReference, HasEveryPlugin) {
  const profiles::PluginRegistry registry = profiles::all_plugins();
  const std::string page = configuration_markdown(registry);
  for (const auto& [type, plugin] : registry.checks) EXPECT_NE(page.find("\n### " + type + "\n"), std::string::npos);
  for (const auto& [type, plugin] : registry.triggers) EXPECT_NE(page.find("\n### " + type + "\n"), std::string::npos);
  EXPECT_NE(page.find("| `profiles[].in-maintenance.transitions[].next` | "), std::string::npos) << page;
}

}  // namespace
}  // namespace careen::app
