#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/needs.h"
#include "controllers/profiles/plugins/plugin_fixture.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kSettings = "{duration: 10m, leaseName: turn, leaseNamespace: ops}";

class StaggerCheckTest : public PluginFixture {
 protected:
  StaggerCheckTest() { lease_facts.set_known("ops"); }

  struct Held {
    std::string holder = "b";
    std::optional<io::Wall> since = std::nullopt;
    std::optional<int32_t> seconds = 600;
    std::optional<int32_t> transitions = std::nullopt;
  };
  void put(const std::string& name, const Held& held) {
    kube::Lease lease;
    lease.ns = "ops";
    lease.name = name;
    lease.uid = "uid-" + name;
    lease.version = ++version;
    lease.holder = held.holder;
    lease.acquired = lease.renewed = held.since;
    lease.duration_seconds = held.seconds;
    lease.transitions = held.transitions;
    leases.put(std::move(lease));
  }
  static std::vector<double> available_in(const CheckResult& result) {
    for (const auto& [name, value] : result.info) {
      if (name == "availableInSec") return std::get<std::vector<double>>(value);
    }
    return {};
  }
};

TEST_F(StaggerCheckTest, NothingIsSaidBeforeTheLeasesAreKnown) {
  const auto check = make_check("stagger", "{duration: 10m, leaseName: turn, leaseNamespace: elsewhere}");
  const CheckResult result = ask(*check);
  EXPECT_TRUE(result.pending);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.reason, HasSubstr("elsewhere"));
  Needs needs;
  check->add_needs(needs);
  EXPECT_THAT(needs.lease_namespaces, ElementsAre("elsewhere"));
}

TEST_F(StaggerCheckTest, ALeaseThatIsMissingIsFree) {
  const CheckResult result = ask("stagger", kSettings);
  EXPECT_TRUE(result.passed);
  ASSERT_TRUE(result.lease);
  EXPECT_EQ(*result.lease, (LeaseGrab{"ops", "turn-0", io::minutes{10}, 0, "", -1}));
  EXPECT_EQ(result.reason, "lease ops/turn-0 is free");
  EXPECT_FALSE(result.changes_at);
}

TEST_F(StaggerCheckTest, ALeaseIsFreeStrictlyAfterTheDurationItWasStoredWith) {
  put("turn-0", {.since = now - io::seconds{30}, .seconds = 30, .transitions = 4});
  EXPECT_FALSE(ask("stagger", kSettings).passed);
  now += io::Duration{1};
  const CheckResult result = ask("stagger", kSettings);
  EXPECT_TRUE(result.passed);
  ASSERT_TRUE(result.lease);
  EXPECT_EQ(*result.lease, (LeaseGrab{"ops", "turn-0", io::minutes{10}, 101, "uid-turn-0", 4}));
}

TEST_F(StaggerCheckTest, WhoHoldsTheLeaseIsBlockedToo) {
  put("turn-0", {.holder = "a", .since = now});
  EXPECT_FALSE(ask("stagger", kSettings).passed);
}

TEST_F(StaggerCheckTest, ABlockedNodeWaitsForAPlace) {
  put("turn-0", {.since = now - io::minutes{4}});
  put("turn-1", {.holder = "c", .since = now - io::minutes{7}});
  const CheckResult result = ask("stagger", "{duration: 10m, leaseName: turn, leaseNamespace: ops, parallel: 2}");
  EXPECT_FALSE(result.passed);
  EXPECT_FALSE(result.lease);
  EXPECT_THAT(available_in(result), ElementsAre(360.0, 180.0));
  EXPECT_EQ(result.reason,
            "lease ops/turn-0 is held by b for another 6m, lease ops/turn-1 is held by c for another 3m");
  ASSERT_TRUE(result.budget);
  EXPECT_EQ(result.budget->first, budget::Key(budget::LeasePlaces{"ops/turn", 2}));
  EXPECT_EQ(result.budget->second.used, 2);
  EXPECT_EQ(result.budget->second.free_at, now + io::minutes{3} + io::Duration{1});
  // Not all that wait are woken by the clock or by every change.
  EXPECT_FALSE(result.changes_at);
  EXPECT_THAT(result.topics, IsEmpty());
}

TEST_F(StaggerCheckTest, TheFirstFreeLeaseIsTaken) {
  constexpr const char* kTwo = "{duration: 10m, leaseName: turn, leaseNamespace: ops, parallel: 2}";
  EXPECT_EQ(ask("stagger", kTwo).lease->name, "turn-0");
  put("turn-0", {.since = now});
  EXPECT_EQ(ask("stagger", kTwo).lease->name, "turn-1");
  put("turn-1", {.since = now});
  EXPECT_FALSE(ask("stagger", kTwo).passed);
  EXPECT_TRUE(ask("stagger", "{duration: 10m, leaseName: turn, leaseNamespace: ops, parallel: 3}").passed);
  EXPECT_TRUE(ask("stagger", "{duration: 10m, leaseName: other, leaseNamespace: ops}").passed);
}

TEST_F(StaggerCheckTest, ALeaseWithoutTimesIsFree) {
  put("turn-0", {.since = std::nullopt});
  EXPECT_TRUE(ask("stagger", kSettings).passed);
  put("turn-0", {.since = now, .seconds = std::nullopt});
  EXPECT_TRUE(ask("stagger", kSettings).passed);
}

TEST_F(StaggerCheckTest, ExtremeTimesDoNotOverflow) {
  put("turn-0", {.since = io::Wall::max()});
  EXPECT_FALSE(ask("stagger", kSettings).passed);
  put("turn-0", {.since = io::Wall::min(), .seconds = std::numeric_limits<int32_t>::max()});
  EXPECT_TRUE(ask("stagger", kSettings).passed);
}

TEST_F(StaggerCheckTest, WhatADecisionHasTakenIsFreeForItsNodeOnly) {
  lease_facts.take("ops/turn-0", "b");
  const CheckResult other = ask("stagger", kSettings, "a");
  EXPECT_FALSE(other.passed);
  EXPECT_EQ(other.reason, "lease ops/turn-0 is taken by b");
  EXPECT_THAT(available_in(other), ElementsAre(600.0));
  EXPECT_FALSE(other.budget->second.free_at);
  EXPECT_TRUE(ask("stagger", kSettings, "b").passed);
  lease_facts.give_back("ops/turn-0");
  EXPECT_TRUE(ask("stagger", kSettings, "a").passed);
}

TEST_F(StaggerCheckTest, WhatANodeHasBegunWithIsFreeForIt) {
  const io::Wall acquired = now - io::minutes{1};
  put("turn-0", {.holder = "a", .since = std::chrono::floor<io::microseconds>(acquired)});
  lease_facts.begin("ops/turn-0", "a", acquired + io::Duration{1});
  EXPECT_TRUE(ask("stagger", kSettings, "a").passed);
  EXPECT_FALSE(ask("stagger", kSettings, "b").passed);
  lease_facts.ended("ops/turn-0");
  EXPECT_FALSE(ask("stagger", kSettings, "a").passed);
}

TEST_F(StaggerCheckTest, ALeaseThatWasTakenAnewHasNotBegun) {
  put("turn-0", {.holder = "a", .since = now});
  lease_facts.begin("ops/turn-0", "a", now - io::microseconds{1});
  EXPECT_FALSE(ask("stagger", kSettings, "a").passed);
  put("turn-0", {.holder = "b", .since = now - io::microseconds{1}});
  EXPECT_FALSE(ask("stagger", kSettings, "a").passed);
}

TEST_F(StaggerCheckTest, ANodeStaysWithTheLeaseItHasBegunWith) {
  put("turn-1", {.holder = "a", .since = now});
  lease_facts.begin("ops/turn-1", "a", now);
  constexpr const char* kThree = "{duration: 10m, leaseName: turn, leaseNamespace: ops, parallel: 3}";
  EXPECT_EQ(ask("stagger", kThree, "a").lease->name, "turn-1");
  EXPECT_EQ(ask("stagger", kThree, "b").lease->name, "turn-0");
  lease_facts.take("ops/turn-2", "b");
  EXPECT_EQ(ask("stagger", kThree, "b").lease->name, "turn-2");
}

TEST_F(StaggerCheckTest, ChangesOfALeaseConcernItsGroup) {
  const CheckResult result = ask("stagger", kSettings);
  ASSERT_EQ(result.topics.size(), 1u);
  EXPECT_EQ(lease_facts.topics_of("ops/turn-0"), result.topics);
  EXPECT_EQ(lease_facts.topics_of("ops/turn-17"), result.topics);
  EXPECT_THAT(lease_facts.topics_of("ops/turn"), IsEmpty());
  EXPECT_THAT(lease_facts.topics_of("ops/turn-"), IsEmpty());
  EXPECT_THAT(lease_facts.topics_of("ops/turn-x"), IsEmpty());
  EXPECT_THAT(lease_facts.topics_of("ops/turn-1-0"), IsEmpty());
  EXPECT_THAT(lease_facts.topics_of("other/turn-0"), IsEmpty());
}

TEST_F(StaggerCheckTest, TheBudgetOfAGroup) {
  const budget::LeasePlaces key{"ops/turn", 3};
  EXPECT_EQ(measure(lease_facts, key, now).used, 0);
  put("turn-1", {.since = now});
  EXPECT_EQ(measure(lease_facts, key, now).used, 1);
  EXPECT_EQ(measure(lease_facts, key, now).free_at, now + io::minutes{10} + io::Duration{1});
  lease_facts.take("ops/turn-0", "a");
  EXPECT_EQ(measure(lease_facts, key, now).used, 2);
  EXPECT_EQ(measure(lease_facts, key, now, "a").used, 1);
}

TEST_F(StaggerCheckTest, SettingsThatCannotWorkAreWarnedOfAndHoldBackNothingElse) {
  const auto settings = [](std::string_view more) {
    return fmt::format("{{leaseName: turn, leaseNamespace: ops, {}}}", more);
  };
  const auto warned_of = [&](std::string_view more) {
    EXPECT_EQ(refused("check", "stagger", settings(more)), "") << more;
    return warnings("check", "stagger", settings(more));
  };
  EXPECT_EQ(warned_of("duration: 1s"), "");
  EXPECT_EQ(warned_of("duration: 90"), "");
  for (const char* const wrong : {"duration: 999ms", "duration: -5s"}) {
    EXPECT_THAT(warned_of(wrong), HasSubstr("\"duration\" is shorter than 1s"));
    EXPECT_THAT(ask("stagger", settings(wrong)).error, HasSubstr("\"duration\" is shorter than 1s"));
  }
  EXPECT_THAT(warned_of("duration: 600000h"), HasSubstr("\"duration\" is longer than"));
  EXPECT_THAT(ask("stagger", settings("duration: 600000h")).error, HasSubstr("\"duration\" is longer than"));
  for (const char* const none : {"duration: 1s, parallel: 0", "duration: 1s, parallel: -1"}) {
    EXPECT_THAT(warned_of(none), HasSubstr("\"parallel\" is less than 1, so there is no lease to take"));
    const CheckResult result = ask("stagger", settings(none));
    EXPECT_FALSE(result.passed || result.pending || result.lease);
    EXPECT_EQ(result.error, "");
  }
  EXPECT_THAT(warned_of("duration: 1s, parallel: 1001"), HasSubstr("\"parallel\" is large"));
  EXPECT_TRUE(ask("stagger", settings("duration: 1s, parallel: 1001")).passed);
  EXPECT_THAT(warned_of("duration: 1s, parallel: 9999999"), HasSubstr("means the same as 100000"));
  EXPECT_THAT(refused("check", "stagger", settings("parallel: 1")), HasSubstr("\"duration\" is required"));
  EXPECT_THAT(refused("check", "stagger", "{duration: 1s}"), HasSubstr("\"leaseName\" is required"));
  EXPECT_THAT(refused("check", "stagger", "{duration: 1s}"), HasSubstr("\"leaseNamespace\" is required"));
}

TEST_F(StaggerCheckTest, WholeSecondsCount) {
  const CheckResult result = ask("stagger", "{duration: 1999ms, leaseName: turn, leaseNamespace: ops}");
  EXPECT_EQ(result.lease->duration, io::seconds{1});
}

}  // namespace
}  // namespace careen::profiles
