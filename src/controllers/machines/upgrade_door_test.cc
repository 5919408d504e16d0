// Whether Cluster API may begin to upgrade a cluster.
#include "controllers/machines/upgrade_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "budget/pause.h"
#include "windows/window_text.h"

namespace careen::machines {

namespace {

using testing::HasSubstr;

// A Saturday.
const io::Wall kInside = *io::parse_rfc3339("2026-03-07T23:00:00Z");
const io::Wall kOutside = *io::parse_rfc3339("2026-03-07T12:00:00Z");
constexpr const char* kWindow = "Sat 22:00-4:00";

class DoorTest : public testing::Test {
 protected:
  DoorTest() {
    cluster.name = "eu-1";
    cluster.ns = atoms.intern("fleet");
    cluster.window = kWindow;
    cluster.has_topology = true;
  }
  Door decide(io::Wall now) {
    std::optional<io::Result<windows::TimeWindow>> window;
    if (!cluster.window.empty()) {
      auto settings = windows::parse_window_text(cluster.window);
      if (settings) window.emplace(windows::TimeWindow(std::move(*settings)));
      if (!settings) window.emplace(tl::make_unexpected(settings.error()));
    }
    return decide_door({.cluster = &cluster, .window = window ? &*window : nullptr, .pause = pause}, now);
  }

  kube::AtomPool atoms;
  ManagedCluster cluster;
  const budget::Pause everything;
  const budget::Pause* pause = nullptr;
};

// All that a door can stand in: what is written is what is not so yet, and nothing else.
TEST_F(DoorTest, EveryDoorComesToRest) {
  for (const char* window : {"", kWindow, "Sat"}) {
    for (const bool inside : {false, true}) {
      for (const bool paused : {false, true}) {
        for (const bool shut : {false, true}) {
          cluster.window = window;
          cluster.shut = shut;
          pause = paused ? &everything : nullptr;
          const Door door = decide(inside ? kInside : kOutside);
          const bool readable = cluster.window == kWindow;
          const bool wanted = cluster.window.empty() ? shut && paused : paused || !readable || !inside;
          EXPECT_EQ(door.shut, wanted);
          EXPECT_EQ(door.hook, wanted == shut ? std::nullopt : std::optional(wanted));
          cluster.shut = door.shut;
          EXPECT_FALSE(decide(inside ? kInside : kOutside).hook);
          EXPECT_EQ(door.changes_at.has_value(), readable);
          EXPECT_EQ(door.trouble.has_value(), !readable && !cluster.window.empty());
        }
      }
    }
  }
}

TEST_F(DoorTest, ItNamesWhenItOpensAndShuts) {
  EXPECT_EQ(decide(kOutside).changes_at, *io::parse_rfc3339("2026-03-07T22:00:00Z") + io::Duration{1});
  EXPECT_THAT(decide(kOutside).why, HasSubstr("opens at Sat 2026-03-07 22:00 UTC"));
  EXPECT_EQ(decide(kInside).changes_at, io::parse_rfc3339("2026-03-08T04:00:00Z"));
  EXPECT_THAT(decide(kInside).why, HasSubstr("until Sun 2026-03-08 4:00 UTC"));
  pause = &everything;
  EXPECT_THAT(decide(kInside).why, HasSubstr("paused"));
}

TEST_F(DoorTest, AMistakeNamesObjectAndAnnotation) {
  cluster.window = "Sat 22:00-4:00 Berlin";
  const Door door = decide(kInside);
  EXPECT_TRUE(door.shut);
  ASSERT_TRUE(door.trouble);
  EXPECT_EQ(door.trouble->reason, "UpgradeWindowInvalid");
  EXPECT_THAT(door.trouble->message,
              testing::AllOf(HasSubstr("annotation careen.dev/upgrade-window of Cluster fleet/eu-1"),
                             HasSubstr("did you mean Europe/Berlin?")));
}

// Cluster API looks at the hook only where it knows what the next version is.
TEST_F(DoorTest, AWindowThatNobodyAsksForIsTold) {
  cluster.has_topology = false;
  const Door door = decide(kOutside);
  ASSERT_TRUE(door.trouble);
  EXPECT_EQ(door.trouble->reason, "UpgradeWindowUnused");
  EXPECT_TRUE(door.shut) << "another program may look at it";
  cluster.window.clear();
  EXPECT_FALSE(decide(kOutside).trouble);
}

TEST_F(DoorTest, AClusterThatGoesIsLeftAlone) {
  cluster.deleting = true;
  for (const bool shut : {false, true}) {
    cluster.shut = shut;
    EXPECT_FALSE(decide(kOutside).hook);
    EXPECT_FALSE(decide(kInside).hook);
  }
}

TEST(ReadClusterTest, WhatItSays) {
  kube::AtomPool atoms;
  const auto cluster = read_cluster(R"({"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Cluster",
      "metadata":{"name":"eu-1","namespace":"fleet","uid":"u1","resourceVersion":"9",
        "annotations":{"careen.dev/upgrade-window":"  Sat 22:00-4:00\n",
                       "before-upgrade.hook.cluster.cluster.x-k8s.io/careen-window":""}},
      "spec":{"paused":false,"topology":{"class":"c","version":"v1.34.0"}}})",
                                    atoms);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->key(), "fleet/eu-1");
  EXPECT_EQ(cluster->window, "Sat 22:00-4:00");
  EXPECT_TRUE(cluster->shut && cluster->has_topology);
  EXPECT_FALSE(cluster->deleting);
  // As v1beta2 may write that there is none.
  for (const char* spec : {R"({"topology":{}})", R"({"topology":null})", "{}"}) {
    const auto other = read_cluster(std::string(R"({"metadata":{"name":"eu-1","resourceVersion":"9",
        "deletionTimestamp":"2026-03-01T10:00:00Z","annotations":{"careen.dev/upgrade-window":" ",
        "before-upgrade.hook.cluster.cluster.x-k8s.io/careen":"careen",
        "before-upgrade.hook.cluster.cluster.x-k8s.io/careen-window-too":""}},"spec":)") +
                                        spec + "}",
                                    atoms);
    ASSERT_TRUE(other);
    EXPECT_TRUE(other->window.empty() && other->deleting);
    EXPECT_FALSE(other->shut || other->has_topology);
    EXPECT_FALSE(other->same_facts(*cluster));
  }
  EXPECT_FALSE(read_cluster("{}", atoms));
}

}  // namespace

}  // namespace careen::machines
