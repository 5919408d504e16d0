#include "limits/evictions.h"

#include <gtest/gtest.h>

#include "kube/pod_store.h"

namespace careen::limits {
namespace {

using Kind = Fact::Kind;
using Row = EvictionRow;

const EvictedPod kPod{.known = true, .node = "n1"};
const EvictedNode kLeaving{.makes_wait = true, .leaving = true};

Fact cordoned_by(std::string actor) {
  return {.kind = Kind::out, .actor = std::move(actor), .what = "cordoned", .since = {}, .cordon = true};
}
Fact fact(Kind kind, std::string actor) { return {.kind = kind, .actor = std::move(actor), .what = "", .since = {}}; }

io::Wall at(int seconds) { return io::Wall{} + io::seconds{seconds}; }

TEST(EvictionsTest, PodsThatNobodyHasToWaitFor) {
  EXPECT_EQ(row_of({}, kLeaving), Row::unconcerned) << "an unknown one";
  const auto with = [](auto change) {
    EvictedPod pod = kPod;
    change(pod);
    return row_of(pod, kLeaving);
  };
  EXPECT_EQ(with([](EvictedPod&) {}), Row::ask);
  EXPECT_EQ(with([](EvictedPod& pod) { pod.node.clear(); }), Row::unconcerned);
  EXPECT_EQ(with([](EvictedPod& pod) { pod.finished = true; }), Row::unconcerned);
  EXPECT_EQ(with([](EvictedPod& pod) { pod.mirror = true; }), Row::unconcerned);
  EXPECT_EQ(with([](EvictedPod& pod) { pod.daemon_set = true; }), Row::unconcerned);
}

TEST(EvictionsTest, OnlyALeavingNodeUnderALimitThatMakesWaitWaits) {
  for (const bool leaving : {false, true}) {
    for (const bool placed : {false, true}) {
      EXPECT_EQ(row_of(kPod, {.makes_wait = false, .leaving = leaving, .placed = placed}), Row::unconcerned);
    }
  }
  EXPECT_EQ(row_of(kPod, {.makes_wait = true}), Row::look);
  EXPECT_EQ(row_of(kPod, {.makes_wait = true, .placed = true}), Row::look);
  EXPECT_EQ(row_of(kPod, {.makes_wait = true, .fresh = true}), Row::staying);
  EXPECT_EQ(row_of(kPod, kLeaving), Row::ask);
  EXPECT_EQ(row_of(kPod, {.makes_wait = true, .leaving = true, .fresh = true}), Row::ask);
  EXPECT_EQ(row_of(kPod, {.makes_wait = true, .leaving = true, .placed = true}), Row::placed);
}

TEST(EvictionsTest, APodAsTheCacheHasIt) {
  EXPECT_EQ(evicted_pod(nullptr), EvictedPod{});
  kube::Pod pod;
  pod.node = "n1";
  EXPECT_EQ(evicted_pod(&pod), kPod);
  pod.phase = kube::PodPhase::succeeded;
  EXPECT_TRUE(evicted_pod(&pod).finished);
  pod.phase = kube::PodPhase::failed;
  EXPECT_TRUE(evicted_pod(&pod).finished);
  pod.flags.mirror = pod.flags.daemon_set = true;
  EXPECT_TRUE(evicted_pod(&pod).mirror);
  EXPECT_TRUE(evicted_pod(&pod).daemon_set);
}

TEST(EvictionsTest, ANodeLeavesByACordonOrByWhoWorksOnIt) {
  EXPECT_EQ(leaving_by({}), nullptr);
  EXPECT_EQ(leaving_by({fact(Kind::down, "failure")}), nullptr);
  EXPECT_EQ(leaving_by({fact(Kind::plan, "karpenter")}), nullptr);
  Fact own = fact(Kind::out, "profile/os");
  own.own = true;
  EXPECT_NE(leaving_by({own}), nullptr) << "whoever wrote that, it goes by its place";
  const std::vector<Fact> several = {fact(Kind::down, "failure"), fact(Kind::working, "karpenter"),
                                     cordoned_by("kubectl")};
  ASSERT_NE(leaving_by(several), nullptr);
  EXPECT_EQ(leaving_by(several)->actor, "karpenter");
  EXPECT_EQ(foreign_actor(several), "karpenter");
  EXPECT_TRUE(is_down(several, at(0)));
  EXPECT_FALSE(is_down({cordoned_by("kubectl")}, at(0)));
}

TEST(EvictionsTest, AFactThatHasHadItsTimeCountsNoMore) {
  Fact orphan = fact(Kind::down, "failure");
  orphan.until = at(100);
  EXPECT_TRUE(is_down({orphan}, at(99)));
  EXPECT_FALSE(is_down({orphan}, at(100)));
  EXPECT_EQ(out_until({orphan}, at(99)), at(100));
  EXPECT_EQ(out_until({orphan}, at(100)), std::nullopt);
  EXPECT_EQ(out_until({orphan, cordoned_by("kubectl")}, at(99)), io::Wall::max());
  EXPECT_EQ(out_until({fact(Kind::plan, "karpenter")}, at(0)), std::nullopt);
}

TEST(EvictionsTest, AnActorIsShortAndPrintable) {
  EXPECT_EQ(foreign_actor({}), "unknown");
  EXPECT_EQ(foreign_actor({cordoned_by("")}), "unknown");
  EXPECT_EQ(foreign_actor({cordoned_by("a\nb")}), "a b");
  EXPECT_EQ(foreign_actor({cordoned_by(std::string(5000, 'x'))}), std::string(63, 'x'));
  EXPECT_EQ(foreign_actor({cordoned_by(std::string(62, 'x') + "\xE2\x82\xAC")}), std::string(62, 'x'))
      << "not half a character";
  EXPECT_TRUE(is_foreign_who(foreign_who("kubectl")));
  EXPECT_FALSE(is_foreign_who("profile/foreign"));
}

TEST(EvictionsTest, WhoseTurnComesWhen) {
  EXPECT_EQ(rank_of_eviction("ana", false), Rank::person);
  EXPECT_EQ(rank_of_eviction("system:admin", false), Rank::person);
  EXPECT_EQ(rank_of_eviction("system:serviceaccount:kube-system:kured", false), Rank::campaign);
  EXPECT_EQ(rank_of_eviction("", false), Rank::campaign);
  EXPECT_EQ(rank_of_eviction("system:serviceaccount:kube-system:kured", true), Rank::repair);
  EXPECT_EQ(rank_of_eviction("ana", true), Rank::repair);
}

TEST(EvictionsTest, APlaceEndsByEvidence) {
  SeenOfPlace seen{.since = at(100), .last_eviction = at(150), .was_out = true};
  EXPECT_EQ(place_ends_at(seen), std::nullopt) << "it is out";
  seen.back_since = at(200);
  EXPECT_EQ(place_ends_at(seen), at(200));
  seen.settle = io::seconds{30};
  EXPECT_EQ(place_ends_at(seen), at(230));
}

TEST(EvictionsTest, APlaceOfWhichNothingIsSeenEnds) {
  SeenOfPlace seen{.since = at(100), .last_eviction = at(100), .back_since = at(0), .settle = io::seconds{30}};
  EXPECT_EQ(place_ends_at(seen), at(700)) << "the cordon may not have been heard of yet";
  seen.last_eviction = at(150);
  EXPECT_EQ(place_ends_at(seen), at(750));
}

}  // namespace
}  // namespace careen::limits
