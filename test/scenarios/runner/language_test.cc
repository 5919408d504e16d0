// The language itself: wrong files are reported with place and reason, expectations that do not hold fail, and the
// documentation knows every kind of step and expectation.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "actions.h"
#include "expectations.h"
#include "play.h"
#include "promise.h"
#include "scenario_file.h"
#include "source_dir.h"

namespace careen::scenarios {
namespace {

using ::testing::HasSubstr;

std::string read_text_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// What is wrong with a scenario that is right but for these lines.
std::string errors_of(const std::string& lines) {
  const auto scenario = read_scenario("about: x\nconfig: y\nnodes: {node-1..3: {profile: p}}\n" + lines, "file.yaml");
  return scenario ? "" : scenario.error();
}

TEST(Language, ARightFileIsRead) {
  EXPECT_EQ(
      errors_of("steps:\n- at: 1h\n  label: {node-1: {go: yes}}\n- within: 1m\n  expect: {node-1: operational}\n"), "");
}

TEST(Language, AMisspeltStepIsToldWithItsPlaceAndWhatWasMeant) {
  EXPECT_EQ(errors_of("steps:\n- at: 1h\n  lable: {node-1: {go: yes}}\n"),
            "file.yaml:5:3: the step neither does nor expects anything\n"
            "file.yaml:6:3: unknown step \"lable\"; did you mean \"label\"?\n");
}

TEST(Language, AMisspeltNodeIsFoundBeforeAnythingRuns) {
  EXPECT_EQ(errors_of("steps:\n- label: {nod-1: {go: yes}}\n"),
            "file.yaml:5:11: unknown node \"nod-1\"; did you mean \"node-1\"?\n");
  EXPECT_EQ(errors_of("steps:\n- cordon: node-2..4\n"),
            "file.yaml:5:11: unknown node \"node-4\"; did you mean \"node-1\"?\n");
}

TEST(Language, AMisspeltExpectationIsTold) {
  EXPECT_THAT(errors_of("steps:\n- expect: {writs: {nodes: 1}}\n"),
              HasSubstr("file.yaml:5:12: unknown expectation or node \"writs\"; did you mean \"writes\"?"));
  EXPECT_THAT(errors_of("finally: {event: {reson: x}}\n"),
              HasSubstr("file.yaml:4:19: unknown key of an event \"reson\"; did you mean \"reason\"?"));
  EXPECT_THAT(errors_of("finally: {node-1: in-maintainance}\n"), HasSubstr("did you mean \"in-maintenance\"?"));
  EXPECT_THAT(errors_of("never: more then 1 in-maintenance\n"),
              HasSubstr("file.yaml:4:8: \"more then 1 in-maintenance\" does not count nodes"));
}

TEST(Language, UnknownKeysAreErrorsEverywhere) {
  for (const char* lines : {"stesp: []\n",
                            "careen: {replica: 2}\n",
                            "pods: {a: {nodes: node-1, image: x}}\n",
                            "steps:\n- create: {node-4: {labls: {}}}\n",
                            "steps:\n- disturb: {refuse: 503, fro: 1m}\n",
                            "steps:\n- freeze-watches: {for: 1m, oof: nodes}\n",
                            "finally: {node-1: {lables: {}}}\n",
                            "finally: {log: {txt: x}}\n",
                            "finally: {writes: {node: 1}}\n",
                            "finally: {message: {txt: x}}\n",
                            "finally: {lease: {a/b: {holdr: x}}}\n",
                            "finally: {message: {way: pigeon}}\n",
                            "steps:\n- slack: refuse\n",
                            "steps:\n- create-pods: {a: {nodes: node-1, ownr: A/b}}\n",
                            "careen: {dryrun: true}\n",
                            "careen: {controllers: [drain]}\n",
                            "workloads: {shop/web: {replica: 2}}\n",
                            "workloads: {shop/web: {kind: Pod}}\n",
                            "budgets: {shop/web: {min-available: 1, label: {}}}\n",
                            "steps:\n- maintain: {a: {node: node-1, why: x}}\n",
                            "finally: {maintenance: {a: {fase: x}}}\n",
                            "finally: {maintenance: {a: Runing}}\n",
                            "finally: {pods: {a/b: {nod: x}}}\n",
                            "finally: {evictions: {ech: 1}}\n",
                            "finally: {budgets: broken}\n",
                            "steps:\n- at: 1h\n  repeat: {times: 2, evry: 1h}\n  steps: []\n"}) {
    EXPECT_THAT(errors_of(lines), HasSubstr("unknown ")) << lines;
  }
}

TEST(Language, AKeyThatIsThereTwiceIsAnError) { EXPECT_THAT(errors_of("about: z\n"), HasSubstr("file.yaml:4:1: ")); }

TEST(Language, TimesGoForward) {
  EXPECT_EQ(errors_of("steps:\n- at: 2h\n  cordon: node-1\n- within: 10m\n  expect: {node-1: operational}\n- at: "
                      "2h5m\n  uncordon: node-1\n"),
            "file.yaml:9:7: 2h5m lies before the end of the step above, which may last until 2h10m\n");
  EXPECT_THAT(errors_of("steps:\n- at: 2h\n  cordon: node-1\nend: 1h\n"), HasSubstr("the steps may last until 2h"));
  EXPECT_THAT(errors_of("steps:\n- at: 1h\n  repeat: {times: 2, every: 1m}\n  steps:\n  - cordon: node-1\n    for: "
                        "2m\n    expect: {node-1: operational}\n"),
              HasSubstr("these steps may last 2m, longer than the 1m between two rounds"));
}

TEST(Language, WhatCannotBeMeantIsRefused) {
  EXPECT_THAT(errors_of("steps:\n- cordon: node-1\n  expect: {node-1: operational}\n"),
              HasSubstr("needs `within` or `for`"));
  EXPECT_THAT(errors_of("steps:\n- within: 1m\n"), HasSubstr("need `expect`"));
  EXPECT_THAT(errors_of("steps:\n- at: soon\n  cordon: node-1\n"), HasSubstr("file.yaml:5:7: at must be a duration"));
  EXPECT_THAT(errors_of("steps:\n- at: 2026-03-29T00:00:00Z\n  cordon: node-1\n"),
              HasSubstr("needs the scenario's `start`"));
  EXPECT_THAT(errors_of("steps:\n- disturb: {refuse: 200, for: 1m}\n"), HasSubstr("from 400 to 599"));
  EXPECT_THAT(errors_of("steps:\n- disturb: {refuse: 503, lose: true, for: 1m}\n"), HasSubstr("exactly one of"));
  EXPECT_THAT(errors_of("steps:\n- disturb: {refuse: 503}\n"), HasSubstr("`for` is missing"));
  EXPECT_THAT(errors_of("steps:\n- crash: careen-1\n"),
              HasSubstr("unknown replica \"careen-1\"; did you mean \"careen-0\"?"));
  EXPECT_THAT(errors_of("steps:\n- edit-config: {nothing: x}\n"), HasSubstr("does not contain \"nothing\""));
  EXPECT_THAT(errors_of("steps:\n- taint: {node-1: away}\n"), HasSubstr("a taint is written key=value:Effect"));
}

TEST(Language, WhatIsSaidOfTheOutsideMustMakeSense) {
  EXPECT_THAT(errors_of("steps:\n- mail: hang\n"),
              HasSubstr("file.yaml:5:9: unknown mood \"hang\"; did you mean \"hangs\"?"));
  EXPECT_THAT(errors_of("measures: {up: much}\n"), HasSubstr("the query up yields a number or null, not \"much\""));
  EXPECT_THAT(errors_of("steps:\n- measure: {up: [1]}\n"), HasSubstr("file.yaml:5:"));
  EXPECT_THAT(errors_of("objects: {node-1: {spec: {}}}\n"), HasSubstr("an object is named by its path"));
  EXPECT_THAT(errors_of("objects: {/api/v1/nodes/a: gone}\n"), HasSubstr("an object is a map"));
  EXPECT_THAT(errors_of("pods: {a: {nodes: node-1, owner: web}}\n"), HasSubstr("an owner is written KIND/NAME"));
  EXPECT_THAT(errors_of("finally: {lease: {turn-0: node-1}}\n"), HasSubstr("a lease is named NAMESPACE/NAME"));
  EXPECT_THAT(errors_of("finally: {lease: {a/b: {age: young}}}\n"), HasSubstr("an age is written like 10m"));
  EXPECT_THAT(errors_of("finally: {message: {text: x, since: yesterday}}\n"), HasSubstr("since takes only \"start\""));
  EXPECT_THAT(errors_of("finally: {queries: {up: often}}\n"), HasSubstr("file.yaml:4:"));
  EXPECT_THAT(errors_of("finally: {info: {node-7: x}}\n"), HasSubstr("unknown node \"node-7\""));
  EXPECT_THAT(errors_of("careen: {dry-run: perhaps}\n"), HasSubstr("file.yaml:4:"));
}

TEST(Language, WhatIsSaidOfDrainsMustMakeSense) {
  EXPECT_THAT(errors_of("workloads: {web: {}}\n"), HasSubstr("a workload is named NAMESPACE/NAME"));
  EXPECT_THAT(errors_of("budgets: {shop/web: {}}\n"), HasSubstr("one of `min-available` and `max-unavailable`"));
  EXPECT_THAT(errors_of("steps:\n- maintain: {disk: node-7}\n"), HasSubstr("unknown node \"node-7\""));
  EXPECT_THAT(errors_of("steps:\n- maintain: {disk: {reason: x}}\n"), HasSubstr("a maintenance needs its `node`"));
  EXPECT_THAT(errors_of("pods: {a: {nodes: node-1, ends-in: soon}}\n"), HasSubstr("ends-in must be a duration"));
  EXPECT_THAT(errors_of("finally: {pods: {web-1: gone}}\n"), HasSubstr("pods are named NAMESPACE/NAME"));
}

TEST(Language, OnlyProfilesNeedAConfiguration) {
  const auto errors = [](const std::string& controllers) {
    const auto scenario = read_scenario("about: x\ncareen: {controllers: [" + controllers + "]}\n", "file.yaml");
    return scenario ? "" : scenario.error();
  };
  EXPECT_EQ(errors("nodemaintenance"), "");
  EXPECT_THAT(errors("profiles, nodemaintenance"), HasSubstr("`config` is missing"));
}

TEST(Language, AnObjectByItsPathIsNoNode) {
  EXPECT_EQ(errors_of("steps:\n- create: {/api/v1/namespaces/default/configmaps/a: {data: {}}}\n"), "");
  EXPECT_THAT(errors_of("steps:\n- create: {/api/v1/nodes/b: {}}\n- cordon: b\n"), HasSubstr("unknown node \"b\""));
}

TEST(Language, WhatMustFailFailsAndSaysWhy) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("test/scenarios/failing"))) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    EXPECT_EQ(broken_promise(entry.path()), "");
  }
  EXPECT_GE(files, 10);
}

TEST(Language, EqualSeedsGiveEqualRuns) {
  const std::string path = test::source_path("test/scenarios/lost_requests.yaml");
  const auto scenario = read_scenario(read_text_file(path), path);
  ASSERT_TRUE(scenario) << scenario.error();
  EXPECT_EQ(play(*scenario, 7).timeline, play(*scenario, 7).timeline);
  EXPECT_NE(play(*scenario, 7).timeline, play(*scenario, 8).timeline);
}

// A kind that no scenario uses is a kind that nobody has tried.
TEST(Language, EveryKindIsUsedByAScenario) {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("test/scenarios"))) {
    if (entry.path().extension() == ".yaml") all += read_text_file(entry.path());
  }
  const auto used = [&](std::string_view name) {
    for (const std::string before : {"  ", "- ", "{", ", "}) {
      if (all.find(before + std::string(name) + ":") != std::string::npos) return true;
    }
    return false;
  };
  for (const ActionKind& kind : action_kinds()) EXPECT_TRUE(used(kind.name)) << kind.name;
  for (const ExpectationKind& kind : expectation_kinds()) EXPECT_TRUE(used(kind.name)) << kind.name;
}

TEST(Language, TheDocumentationKnowsEveryKind) {
  const std::string text = read_text_file(test::source_path("docs/scenarios.md"));
  for (const ActionKind& kind : action_kinds()) EXPECT_THAT(text, HasSubstr("| `" + std::string(kind.name) + "` |"));
  for (const ExpectationKind& kind : expectation_kinds()) {
    EXPECT_THAT(text, HasSubstr("| `" + std::string(kind.name) + "` |"));
  }
}

// The example in the documentation and the output it promises.
TEST(Language, TheExampleOfTheDocumentationIsTrue) {
  const std::string text = read_text_file(test::source_path("docs/scenarios.md"));
  const auto block = [&](std::string_view opening) {
    const size_t begin = text.find(opening);
    EXPECT_NE(begin, std::string::npos) << opening;
    if (begin == std::string::npos) return std::string();
    const size_t first = begin + opening.size();
    return text.substr(first, text.find("```", first) - first);
  };
  const auto scenario = read_scenario(block("```yaml\n"), "first.yaml");
  ASSERT_TRUE(scenario) << scenario.error();
  const Outcome outcome = play(*scenario, 1);
  EXPECT_TRUE(outcome.passed) << outcome.failure;
  EXPECT_THAT(block("first.yaml --timeline\n"), HasSubstr(outcome.timeline));
}

}  // namespace
}  // namespace careen::scenarios
