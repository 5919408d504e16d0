#include "controllers/profiles/plugin_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::profiles {
namespace {

using testing::HasSubstr;
using testing::Not;

PluginRegistry roomy_registry() {
  PluginRegistry result;
  result.checks["roomy"] = {
      nullptr,
      {"roomy",
       "Passes while there is room",
       {
           {.name = "max", .type = config::KeyType::integer, .text = "How many", .required = true},
           {.name = "mode",
            .type = config::KeyType::choice,
            .text = "How to count",
            .otherwise = "all",
            .extension = true,
            .choices = {"all", "some"}},
           {.name = "login",
            .type = config::KeyType::object,
            .text = "Who asks, in a description that is so long that it does not fit on one line of a terminal",
            .keys = {{.name = "password", .text = "Of the user", .secret = true}}},
       },
       "- name: r\n  type: roomy\n  config:\n    max: 1\n"}};
  return result;
}

TEST(PluginTextTest, Table) {
  EXPECT_EQ(plugin_table(roomy_registry(), Colour::no),
            "KIND      TYPE       SUMMARY\n"
            "check     roomy      Passes while there is room\n"
            "schedule  periodic   Due when the state changed, and again after each interval while the node is not\n"
            "                     operational\n"
            "schedule  scheduled  Due once a day at a time of day, on some days of the week\n"
            "schedule  oneshot    Due once for each change of state, after a delay\n");
}

TEST(PluginTextTest, Page) {
  EXPECT_EQ(plugin_page(roomy_registry(), "roomy", Colour::no).value_or(""),
            "roomy (check)\n"
            "  Passes while there is room\n"
            "\n"
            "Keys\n"
            "  max         integer  required     How many\n"
            "  mode+       choice   default all  How to count: one of all, some\n"
            "  login       map                   Who asks, in a description that is so long that it does not fit\n"
            "                                    on one line of a terminal\n"
            "    password  text                  Of the user (secret)\n"
            "\n"
            "  + careen's own: maintenance-controller ignores it\n"
            "\n"
            "Example (below instances.check)\n"
            "  - name: r\n"
            "    type: roomy\n"
            "    config:\n"
            "      max: 1\n");
  EXPECT_THAT(*plugin_page(roomy_registry(), "oneshot", Colour::no), HasSubstr("default 1m"));
  EXPECT_EQ(plugin_page(roomy_registry(), "romy", Colour::no), std::nullopt);
  EXPECT_EQ(suggest_plugin(roomy_registry(), "romy"), "; did you mean \"roomy\"?");
}

TEST(PluginTextTest, ColoursOnlyWhereTheyAreWanted) {
  EXPECT_THAT(*plugin_page(roomy_registry(), "roomy", Colour::yes), HasSubstr("\x1b["));
  EXPECT_THAT(*plugin_page(roomy_registry(), "roomy", Colour::no), Not(HasSubstr("\x1b[")));
}

TEST(PluginTextTest, Json) {
  const kube::Json all = plugins_json(roomy_registry());
  EXPECT_EQ(all.view().size(), 4U);
  const kube::Json one = plugins_json(roomy_registry(), "roomy");
  ASSERT_EQ(one.view().size(), 1U);
  const auto plugin = one.view()[size_t{0}];
  EXPECT_EQ(plugin["kind"].text(), "check");
  EXPECT_EQ(plugin["keys"][size_t{0}]["required"].boolean(), true);
  EXPECT_EQ(plugin["keys"][size_t{1}]["choices"].dump(), R"(["all","some"])");
  EXPECT_EQ(plugin["keys"][size_t{1}]["extension"].boolean(), true);
  EXPECT_EQ(plugin["keys"][size_t{2}]["keys"][size_t{0}]["secret"].boolean(), true);
}

}  // namespace
}  // namespace careen::profiles
