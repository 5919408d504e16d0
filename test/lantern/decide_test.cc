#include "decide.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "budget/pause.h"
#include "kube/node.h"

namespace careen::lantern {
namespace {

using testing::HasSubstr;

class LanternDecideTest : public testing::Test {
 protected:
  LanternDecideTest() { node.name = "n1"; }

  void show(std::string_view color) { node.labels = {{atoms.intern(kLit), atoms.intern(color)}}; }
  static Lantern lantern(std::string name, Phase phase = Phase::none, std::string message = "") {
    return {.name = std::move(name), .node = "n1", .color = "red", .phase = phase, .message = std::move(message)};
  }
  // What it does, as a word or two.
  std::string decided() {
    decision = decide({.node = gone ? nullptr : &node,
                       .lanterns = lanterns,
                       .claimed = claimed,
                       .counted = claimed || !node.labels.empty(),
                       .use = {.used = static_cast<int64_t>(taken.size()),
                               .max = limit,
                               .by = fmt::format("{}", fmt::join(taken, ", "))},
                       .pause = pause ? &*pause : nullptr});
    std::string out = decision.claims ? "claim " : decision.waits ? "wait " : "";
    if (!decision.effect) return out + "nothing";
    if (const auto* light = std::get_if<Light>(&*decision.effect)) return out + "light " + light->color;
    if (const auto* tell = std::get_if<Tell>(&*decision.effect)) {
      return out + "tell " + tell->lantern + " " + std::string(name_of(tell->phase)) + ": " + tell->message;
    }
    return out + "dim";
  }

  kube::AtomPool atoms;
  kube::Node node;
  std::vector<Lantern> lanterns;
  bool gone = false, claimed = false;
  std::vector<std::string> taken;
  int limit = 1;
  std::optional<budget::Pause> pause;
  Decision decision;
};

TEST_F(LanternDecideTest, TakesAPlaceThenLightsThenTells) {
  EXPECT_EQ(decided(), "nothing");
  lanterns = {lantern("a")};
  EXPECT_EQ(decided(), "claim light red");
  claimed = true;
  taken = {"n1"};
  EXPECT_EQ(decided(), "light red") << "an answer that never came is no light";
  show("red");
  EXPECT_EQ(decided(), "tell a Lit: ");
  EXPECT_EQ(to_text(decision.why), "+ Lantern a: lit\n");
  lanterns = {lantern("a", Phase::lit)};
  EXPECT_EQ(decided(), "nothing");
}

TEST_F(LanternDecideTest, WaitsForAPlaceAndSaysWhoHasIt) {
  lanterns = {lantern("a")};
  taken = {"n2"};
  EXPECT_EQ(decided(), "wait tell a Waiting: 1 of 1 nodes are lit: n2");
  EXPECT_EQ(to_text(decision.why), "- Lantern a: dark\n  - 1 of 1 nodes are lit: n2\n");
  lanterns.front().phase = Phase::waiting;
  lanterns.front().message = "1 of 1 nodes are lit: n2";
  EXPECT_EQ(decided(), "wait nothing");
  limit = 2;
  EXPECT_EQ(decided(), "claim light red");
}

TEST_F(LanternDecideTest, GoesOutAlsoWhenOnlyAClaimIsLeft) {
  show("red");
  claimed = true;
  EXPECT_EQ(decided(), "dim");
  node.labels.clear();
  EXPECT_EQ(decided(), "dim") << "a write may be on its way";
  claimed = false;
  EXPECT_EQ(decided(), "nothing");
}

TEST_F(LanternDecideTest, ALightWithoutARecordedPlaceIsRecorded) {
  lanterns = {lantern("a", Phase::lit)};
  show("red");
  taken = {"n1", "n2"};
  EXPECT_EQ(decided(), "claim nothing");
}

TEST_F(LanternDecideTest, TheFirstOfANodeIsLit) {
  lanterns = {lantern("a", Phase::lit), lantern("b")};
  show("red");
  claimed = true;
  EXPECT_EQ(decided(), "tell b Waiting: a comes before it");
}

TEST_F(LanternDecideTest, APauseLightsNothingAndLetsGo) {
  pause.emplace().by = "ana@host";
  lanterns = {lantern("a")};
  EXPECT_THAT(decided(), HasSubstr("tell a Waiting: paused by ana@host"));
  lanterns.clear();
  show("red");
  EXPECT_EQ(decided(), "dim");
}

TEST_F(LanternDecideTest, ANodeThatIsGoneIsSaidToBe) {
  gone = true;
  EXPECT_EQ(decided(), "nothing");
  lanterns = {lantern("a", Phase::lit)};
  EXPECT_EQ(decided(), "tell a Waiting: there is no such node");
}

}  // namespace
}  // namespace careen::lantern
