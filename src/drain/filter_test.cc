#include "drain/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::drain {

using io::seconds;
using testing::ElementsAre;

class FilterTest : public testing::Test {
 protected:
  FilterTest() {
    pod.ns = "shop";
    pod.name = "web";
    pod.owner_kind = "ReplicaSet";
    pod.owner_name = "own";
    pod.phase = kube::PodPhase::running;
  }
  Verdict verdict(DaemonSetState state = DaemonSetState::exists) { return judge(pod, options, state, beyond_grace); }
  Fate fate(DaemonSetState state = DaemonSetState::exists) { return verdict(state).fate; }
  // As the store has them: keys and values, each with its end.
  static std::string labelled(const std::string& value) {
    return std::string(kDrainLabel) + std::string(1, '\0') + value + std::string(1, '\0');
  }
  static kube::LabelSelector selector(std::string_view text) { return *kube::LabelSelector::parse(text); }

  kube::Pod pod;
  Options options;
  io::Duration beyond_grace{};
};

TEST_F(FilterTest, AControlledPodIsTaken) {
  EXPECT_EQ(fate(), Fate::take);
  EXPECT_EQ(verdict().message, "");
}

TEST_F(FilterTest, PodsOfADaemonSetAreRefusedOrIgnored) {
  pod.owner_kind = "DaemonSet";
  pod.flags.daemon_set = pod.flags.daemon_kind = true;
  EXPECT_EQ(fate(), Fate::refuse);
  EXPECT_EQ(verdict().message, "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)");
  options.ignore_daemon_sets = true;
  EXPECT_EQ(fate(), Fate::leave);
  EXPECT_EQ(verdict().message, "ignoring DaemonSet-managed Pods");
  pod.phase = kube::PodPhase::failed;
  EXPECT_EQ(fate(), Fate::take);
}

TEST_F(FilterTest, ADaemonSetThatIsGoneNeedsForce) {
  pod.owner_kind = "DaemonSet";
  pod.flags.daemon_set = pod.flags.daemon_kind = true;
  options.ignore_daemon_sets = true;
  EXPECT_EQ(fate(DaemonSetState::missing), Fate::refuse);
  EXPECT_EQ(verdict(DaemonSetState::missing).message, "daemonsets.apps \"own\" not found");
  options.force = true;
  EXPECT_EQ(fate(DaemonSetState::missing), Fate::take);
}

TEST_F(FilterTest, ADaemonSetNobodyKnowsKeepsOnlyItsOwnPods) {
  pod.owner_kind = "DaemonSet";
  pod.flags.daemon_set = pod.flags.daemon_kind = true;
  EXPECT_EQ(fate(DaemonSetState::unknown), Fate::leave);
  EXPECT_EQ(verdict(DaemonSetState::unknown).message, "");
}

TEST_F(FilterTest, MirrorPodsAreLeftSilently) {
  pod.owner_kind = "Node";
  pod.flags.mirror = true;
  EXPECT_EQ(fate(), Fate::leave);
  EXPECT_EQ(verdict().message, "");
}

TEST_F(FilterTest, LocalStorageNeedsAWord) {
  pod.flags.local_storage = true;
  EXPECT_EQ(fate(), Fate::refuse);
  EXPECT_EQ(verdict().message, "Pods with local storage (use --delete-emptydir-data to override)");
  options.delete_emptydir_data = true;
  EXPECT_EQ(fate(), Fate::take);
  EXPECT_EQ(verdict().message, "") << "the last filter has nothing to say";
}

TEST_F(FilterTest, PodsWithoutControllerNeedForce) {
  pod.owner_kind = "";
  EXPECT_EQ(fate(), Fate::refuse);
  EXPECT_EQ(verdict().message, "cannot delete Pods that declare no controller (use --force to override)");
  options.force = true;
  EXPECT_EQ(fate(), Fate::take);
  EXPECT_EQ(verdict().message, "deleting Pods that declare no controller");
}

TEST_F(FilterTest, FinishedPodsAreTakenWhateverTheyWere) {
  pod.owner_kind = "";
  pod.flags.local_storage = true;
  for (const auto phase : {kube::PodPhase::succeeded, kube::PodPhase::failed}) {
    pod.phase = phase;
    EXPECT_EQ(fate(), Fate::take);
    EXPECT_EQ(verdict().message, "");
  }
}

TEST_F(FilterTest, WhatTerminatesForTooLongIsLeft) {
  pod.deletion = io::Wall{std::chrono::hours{24 * 365 * 50}};
  beyond_grace = seconds{60};
  EXPECT_EQ(fate(), Fate::take) << "off by default";
  options.skip_wait_for_delete = seconds{60};
  EXPECT_EQ(fate(), Fate::take);
  beyond_grace = seconds{61};
  EXPECT_EQ(fate(), Fate::leave);
}

TEST_F(FilterTest, SelectorsChooseSkipAndAwait) {
  const std::string labels("app\0web\0", 8);
  pod.label_set = labels;
  options.only = selector("app=db");
  EXPECT_EQ(fate(), Fate::leave);
  options.only = selector("app=web");
  EXPECT_EQ(fate(), Fate::take);
  options.wait_for = {selector("app=db"), selector("app")};
  EXPECT_EQ(fate(), Fate::await);
  pod.flags.local_storage = true;
  EXPECT_EQ(fate(), Fate::await) << "it is not deleted";
  pod.phase = kube::PodPhase::succeeded;
  EXPECT_EQ(fate(), Fate::take);
  options.skip = {selector("app in (web)")};
  EXPECT_EQ(fate(), Fate::leave);
}

TEST_F(FilterTest, APodMaySayThatItIsLeftAlone) {
  pod.flags.local_storage = true;
  for (const std::string value : {"skip", "Skip", "SKIP"}) {
    const std::string labels = labelled(value);
    pod.label_set = labels;
    EXPECT_EQ(fate(), Fate::leave) << value << ": nothing is lost, so the drain is not refused";
    EXPECT_EQ(verdict().message, "left alone: label cluster.x-k8s.io/drain says skip");
    EXPECT_TRUE(verdict().told);
  }
  pod.phase = kube::PodPhase::succeeded;
  const std::string labels = labelled("skip");
  pod.label_set = labels;
  EXPECT_EQ(fate(), Fate::leave);
  options.wait_for = {selector("cluster.x-k8s.io/drain")};
  EXPECT_EQ(fate(), Fate::take) << "the drain was told to await its end, which has come";
  pod.phase = kube::PodPhase::running;
  EXPECT_EQ(fate(), Fate::await);
  EXPECT_FALSE(verdict().told) << "by the drain's own word, which comes first";
}

TEST_F(FilterTest, APodMaySayThatItsEndIsAwaited) {
  pod.flags.local_storage = true;
  pod.owner_kind = "";
  for (const std::string value : {"wait-completed", "WaitCompleted", "Wait-Completed"}) {
    const std::string labels = labelled(value);
    pod.label_set = labels;
    EXPECT_EQ(fate(), Fate::await) << value;
    EXPECT_EQ(verdict().message, "left to end by itself: label cluster.x-k8s.io/drain says wait-completed");
    EXPECT_TRUE(verdict().told);
  }
  const std::string labels = labelled("wait-completed");
  pod.label_set = labels;
  options.skip = {selector("cluster.x-k8s.io/drain")};
  EXPECT_EQ(fate(), Fate::leave);
  EXPECT_EQ(verdict().message, "");
  options.skip.clear();
  pod.phase = kube::PodPhase::failed;
  EXPECT_EQ(fate(), Fate::take) << "it has ended";
  pod.phase = kube::PodPhase::running;
  pod.flags.mirror = true;
  EXPECT_EQ(fate(), Fate::leave) << "it would be awaited for ever";
}

TEST_F(FilterTest, OtherWordsOfPodsMeanNothing) {
  for (const std::string value : {"", "true", "skipped", "wait", "wait--completed", "drain"}) {
    const std::string labels = labelled(value);
    pod.label_set = labels;
    EXPECT_EQ(fate(), Fate::take) << value;
  }
}

TEST_F(FilterTest, RemarksAreGatheredByMessage) {
  Remarks refusals, warnings;
  remark(refusals, "", pod);
  remark(refusals, "x", pod);
  pod.name = "other";
  remark(refusals, "x", pod);
  remark(warnings, "one", pod);
  remark(warnings, "two", pod);
  EXPECT_THAT(refusals_text(refusals),
              ElementsAre("cannot delete unexpected error: shop/web", "cannot delete x: shop/web, shop/other"));
  EXPECT_EQ(warnings_text(warnings), "WARNING: one: shop/other; two: shop/other");
  EXPECT_EQ(warnings_text({}), "");
  for (int i = 0; i < 20; ++i) remark(warnings, "two", pod);
  EXPECT_EQ(short_lines(warnings)[0], "one: shop/other");
  EXPECT_THAT(short_lines(warnings)[1], testing::EndsWith("shop/other and 11 more"));
}

TEST_F(FilterTest, DaemonSetsByKindAreLeftWhateverTheyAre) {
  options.force = true;
  pod.owner_kind = "ReplicaSet";
  pod.flags.daemon_kind = true;  // of another group, or not its controller
  EXPECT_EQ(fate(), Fate::take);
  options.daemon_sets_by_kind = true;
  EXPECT_EQ(fate(), Fate::leave);
  pod.phase = kube::PodPhase::succeeded;
  EXPECT_EQ(fate(), Fate::leave) << "finished ones, too";
  pod.flags.daemon_set = true;
  EXPECT_EQ(fate(DaemonSetState::missing), Fate::leave);
}

}  // namespace careen::drain
