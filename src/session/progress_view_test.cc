#include "session/progress_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/terminal_table.h"
#include "session/drain_report.h"

namespace careen::app {
namespace {

using drain::PodProgress;
using drain::Progress;
using drain::Stage;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr io::Wall kDrainNow{io::hours{24}};

PodProgress pod(const std::string& name, Stage stage, const std::string& reason = "", const std::string& budget = "",
                io::Duration age = {}) {
  return {"shop", name, "uid-" + name, stage, kDrainNow - age, reason, budget, ""};
}

Progress progress(int to_evict, std::vector<PodProgress> pods) {
  Progress out;
  out.begun = kDrainNow - io::seconds{41};
  out.pods_to_evict = to_evict;
  out.total_pods = to_evict;
  out.pods = std::move(pods);
  return out;
}

std::vector<std::string> texts(const std::vector<Line>& lines) {
  std::vector<std::string> out;
  for (const Line& line : lines) out.push_back(line.text());
  return out;
}

// A screen whose output is kept.
struct Shown {
  explicit Shown(size_t width = 80, size_t height = 24, bool colours = false, bool unicode = false)
      : screen({.out = [this](std::string_view text) { out += text; },
                .err = [this](std::string_view text) { err += text; },
                .size = [=] { return ScreenSize{width, height}; },
                .live = true,
                .colours = colours,
                .unicode = unicode}) {}
  std::string out, err;
  Screen screen;
};

TEST(ProgressView, ANodeIsABarAndItsBlockedPods) {
  const Progress drain = progress(4, {pod("db-0", Stage::blocked, "waiting for budget shop/db", "shop/db"),
                                      pod("web-1", Stage::terminating, "terminating", "", io::seconds{1})});
  Shown shown;
  EXPECT_THAT(texts(frame({view_of("node-1", drain, kDrainNow)}, shown.screen)),
              ElementsAre("node-1  ##########----------  2/4 pods gone  41s  1 blocked, 1 terminating",
                          "  shop/db-0  waiting for budget shop/db"));
}

TEST(ProgressView, PodsThatTakeLongAreShownAfterTheBlockedOnes) {
  const Progress drain =
      progress(4, {pod("a", Stage::terminating, "slow", "", io::seconds{60}), pod("b", Stage::completing, "a job"),
                   pod("c", Stage::failed, "refused"), pod("d", Stage::waiting, "its turn")});
  const NodeView view = view_of("node-1", drain, kDrainNow);
  ASSERT_THAT(view.held, SizeIs(3));
  EXPECT_EQ(view.held[0].pod, "shop/c");
  EXPECT_EQ(view.held[1].pod, "shop/b");
  EXPECT_EQ(view.held[2].pod, "shop/a");
}

TEST(ProgressView, OfManyBlockedPodsAFewAreShown) {
  std::vector<PodProgress> pods;
  for (int index = 0; index < 10; ++index) pods.push_back(pod(fmt::format("p{}", index), Stage::blocked, "why"));
  Shown shown;
  const auto lines = texts(frame({view_of("node-1", progress(10, pods), kDrainNow)}, shown.screen));
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_EQ(lines.back(), "  … and 7 more");
}

TEST(ProgressView, ItFitsAnyScreen) {
  std::vector<NodeView> views;
  for (int index = 0; index < 40; ++index) {
    std::vector<PodProgress> pods;
    if (index == 35) pods.push_back(pod("held-by-a-budget-with-a-long-name", Stage::blocked, std::string(200, 'x')));
    views.push_back(view_of(fmt::format("node-{}", index), progress(3, pods), kDrainNow));
  }
  const std::vector<std::pair<size_t, size_t>> sizes = {{80, 24}, {40, 10}, {20, 5}, {5, 3}, {1, 1}, {200, 100}};
  for (const auto& [width, height] : sizes) {
    Shown shown(width, height);
    const auto lines = frame(views, shown.screen);
    EXPECT_LE(lines.size(), std::max<size_t>(height, 3) - 1) << width << "x" << height;
    for (const Line& line : lines) EXPECT_LE(line.width(), std::max<size_t>(width, 2) - 1) << line.text();
    // What is held up is seen first when there is no room for all.
    if (height < 40) EXPECT_THAT(lines.front().text(), StartsWith(fit("node-35", std::max<size_t>(width, 2) - 1)));
  }
}

TEST(ProgressView, ColoursOnlyWhereTheyAreShown) {
  const auto view = view_of("node-1", progress(2, {pod("db-0", Stage::blocked, "why")}), kDrainNow);
  Shown plain, coloured(80, 24, true, true);
  EXPECT_THAT(texts(frame({view}, plain.screen)), Each(Not(HasSubstr("\x1b"))));
  EXPECT_THAT(texts(frame({view}, coloured.screen)), Contains(AllOf(HasSubstr("\x1b[32m"), HasSubstr("█"))));
}

TEST(ProgressView, TheLiveLinesStayBelowTheOthers) {
  Shown shown;
  shown.screen.redraw({"one", "two"});
  shown.screen.line("node/a drained");
  EXPECT_EQ(shown.out, "one\ntwo\n\x1b[2A\r\x1b[Jnode/a drained\none\ntwo\n");
  shown.out.clear();
  shown.screen.redraw({"one", "two"});
  EXPECT_EQ(shown.out, "") << "what has not changed is not drawn again";
  shown.screen.redraw({});
  EXPECT_EQ(shown.out, "\x1b[2A\r\x1b[J");
}

TEST(ProgressLog, TellsEachEventOnceInKubectlsWords) {
  ProgressLog log(false);
  EXPECT_THAT(log.news("n", progress(2, {pod("a", Stage::waiting), pod("b", Stage::evicting)})),
              ElementsAre("evicting pod shop/b"));
  EXPECT_THAT(log.news("n", progress(2, {pod("a", Stage::evicting), pod("b", Stage::terminating)})),
              ElementsAre("evicting pod shop/a"));
  EXPECT_THAT(log.news("n", progress(2, {pod("a", Stage::terminating)})), ElementsAre("pod/b evicted"));
  EXPECT_THAT(log.news("n", progress(2, {pod("a", Stage::terminating)})), IsEmpty());
  EXPECT_THAT(log.news("n", progress(2, {})), ElementsAre("pod/a evicted"));
}

TEST(ProgressLog, AnEvictionTooShortToBeSeenIsToldAll) {
  ProgressLog log(true);
  log.news("n", progress(1, {pod("a", Stage::waiting)}));
  EXPECT_THAT(log.news("n", progress(1, {})), ElementsAre("deleting pod shop/a", "pod/a deleted"));
}

TEST(ProgressLog, ABudgetThatStillBlocksIsNoNews) {
  ProgressLog log(false);
  EXPECT_THAT(log.news("n", progress(1, {pod("a", Stage::blocked, "shop/db allows 0 of 3", "shop/db")})),
              ElementsAre("pod shop/a: shop/db allows 0 of 3"));
  EXPECT_THAT(log.news("n", progress(1, {pod("a", Stage::blocked, "shop/db allows 0 of 2", "shop/db")})), IsEmpty());
  EXPECT_THAT(log.news("n", progress(1, {pod("a", Stage::blocked, "shop/x allows 0 of 2", "shop/x")})), SizeIs(1));
}

TEST(ProgressLog, APodThatEndsByItselfCompletes) {
  ProgressLog log(false);
  EXPECT_THAT(log.news("n", progress(1, {pod("job", Stage::completing, "is left to end")})),
              ElementsAre("pod shop/job: is left to end"));
  EXPECT_THAT(log.news("n", progress(1, {})), ElementsAre("pod/job completed"));
}

TEST(ProgressLog, APodMadeAnewUnderItsNameIsAnother) {
  ProgressLog log(false);
  log.news("n", progress(1, {pod("a", Stage::terminating)}));
  PodProgress again = pod("a", Stage::waiting);
  again.uid = "other";
  EXPECT_THAT(log.news("n", progress(2, {again})), ElementsAre("pod/a evicted"));
}

DrainedNode ended(const std::string& node, DrainEnd end, std::vector<PodProgress> pods, bool cordoned = true) {
  DrainedNode out;
  out.node = node;
  out.end = end;
  out.cordoned = cordoned;
  out.progress = progress(30, std::move(pods));
  return out;
}

TEST(DrainReport, SaysInWhichStateANodeIsLeft) {
  EXPECT_EQ(state_text(ended("n", DrainEnd::interrupted, {pod("a", Stage::terminating), pod("b", Stage::blocked)})),
            "node/n is cordoned; 2 of 30 pods are left, 1 of them terminating");
  EXPECT_EQ(state_text(ended("n", DrainEnd::interrupted, {pod("b", Stage::blocked)})),
            "node/n is cordoned; 1 of 30 pods is left");
  EXPECT_EQ(state_text(ended("n", DrainEnd::drained, {})), "node/n is cordoned and drained");
  EXPECT_EQ(state_text(ended("n", DrainEnd::not_cordoned, {}, false)), "node/n is as it was");
}

TEST(DrainReport, WhatHeldAPodUpIsKnownAfterTheTimeIsOver) {
  const Progress before = progress(2, {pod("a", Stage::blocked, "why", "shop/db"), pod("b", Stage::terminating)});
  Progress over = progress(2, {pod("a", Stage::waiting, "not sent"), pod("c", Stage::waiting, "new")});
  over.phase = Progress::Phase::failed;
  DrainedNode node = ended("n", DrainEnd::failed, {});
  node.progress = with_reasons(over, before);
  EXPECT_THAT(pods_left(node), ElementsAre("  shop/a: why", "  shop/c: new"));
  EXPECT_EQ(node.progress.phase, Progress::Phase::failed);
}

TEST(DrainReport, AdvisesOnlyAboutWhatIsNotDone) {
  EXPECT_THAT(advice({ended("a", DrainEnd::drained, {})}), IsEmpty());
  EXPECT_THAT(advice({ended("a", DrainEnd::drained, {}), ended("b", DrainEnd::interrupted, {}),
                      ended("c", DrainEnd::not_cordoned, {}, false)}),
              ElementsAre("To go on, run the same command again.", "To undo: careen uncordon a b"));
  EXPECT_THAT(
      advice({ended("a", DrainEnd::refused, {})}),
      ElementsAre("To drain what was refused, add the flags that are named above.", "To undo: careen uncordon a"));
}

TEST(DrainReport, TheDocumentHasEverything) {
  DrainedNode node = ended("n", DrainEnd::failed, {pod("a", Stage::blocked, "why", "shop/db")});
  node.errors = {"timed out"};
  const kube::Json document = drain_document({node});
  const auto first = document["nodes"][size_t{0}];
  EXPECT_EQ(first["result"].text(), "failed");
  EXPECT_EQ(first["podsGone"].integer(), 29);
  EXPECT_EQ(first["errors"][size_t{0}].text(), "timed out");
  EXPECT_EQ(first["pending"][size_t{0}]["budget"].text(), "shop/db");
  EXPECT_EQ(first["pending"][size_t{0}]["stage"].text(), "blocked");
}

}  // namespace
}  // namespace careen::app
