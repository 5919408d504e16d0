#include "kube/locks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/election.h"
#include "kube/json.h"
#include "kube/leader_for_life.h"
#include "sim/test_api.h"

namespace careen::kube {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::ElementsAre;

const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/";
const std::string kConfigMaps = "/api/v1/namespaces/kube-system/configmaps/";

// A process that needs all three kinds of lock.
struct Contender {
  Contender(io::VirtualTime& time, sim::TestApi& api, const std::string& pod)
      : loop(time.make_loop()), transport(api.connect(*loop)), locks(*loop), scope(*loop) {
    lease = &locks.add(std::make_unique<Election>(*loop, client, random, problems, io::Log(),
                                                  ElectionOptions{"kube-system", "first", pod + "_1"}));
    record = &locks.add(std::make_unique<Election>(
        *loop, client, random, problems, io::Log(),
        ElectionOptions{"kube-system", "second", pod + "_1", LockKind::config_map, {}, "second lock"}));
    life = &locks.add(std::make_unique<LeaderForLife>(*loop, client, random, problems, io::Log(),
                                                      LeaderForLifeOptions{"kube-system", "third", pod}));
    for (const auto& lock : locks) {
      lock->on_event([this, &lock = *lock](std::string message) { events.push_back(lock.name() + ": " + message); });
    }
  }
  void start() { scope.spawn(run()); }
  io::Task<void> run() {
    co_await locks.run();
    ended = true;
  }
  io::Task<void> release() { co_await locks.release(); }

  std::unique_ptr<io::Loop> loop;
  std::unique_ptr<kube::Transport> transport;
  io::Metrics metrics;
  io::Random random{7};
  io::Problems problems{io::Log()};
  Client client{*loop, *transport, metrics, random};
  Locks locks;
  Lock* lease;
  Lock* record;
  Lock* life;
  std::vector<std::string> events;
  bool ended = false;
  io::Scope scope;
};

class LocksTest : public testing::Test {
 protected:
  LocksTest() {
    api.put("/api/v1/namespaces/kube-system", Json::object());
    for (const char* name : {"a", "b"}) {
      const Json container = Json::object({{"name", "c"}, {"image", "i"}});
      api.put("/api/v1/namespaces/kube-system/pods/" + std::string(name),
              Json::object({{"spec", Json::object({{"containers", Json::array({container})}})}}));
    }
  }
  bool leads(Contender& contender, const Lock& lock, io::Duration within = seconds{2}) {
    return time.run_until([&] { return contender.locks.leading(lock); }, within);
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server_loop = time.make_loop();
  sim::TestApi api{*server_loop};
};

TEST_F(LocksTest, AreTakenInOrder) {
  Contender a(time, api, "a");
  a.start();
  ASSERT_TRUE(leads(a, *a.life));
  EXPECT_THAT(a.events, ElementsAre("first: a_1 became leader", "second: a_1 became leader", "third: a became leader"));
}

// Whoever does not hold the first leaves the others alone, free as they may be.
TEST_F(LocksTest, TheNextIsCampaignedForOnlyWhileThoseBeforeAreHeld) {
  Contender a(time, api, "a");
  a.start();
  ASSERT_TRUE(leads(a, *a.lease));
  a.scope.cancel();
  api.erase(kConfigMaps + "second");
  api.erase(kConfigMaps + "third");
  Contender b(time, api, "b");
  b.start();
  time.run_for(seconds{10});
  EXPECT_TRUE(api.object(kConfigMaps + "second").view().is_null());
  EXPECT_EQ(api.count("POST configmaps"), 0);
  EXPECT_TRUE(leads(b, *b.life, seconds{10}));
}

// The program that is replaced still holds the second lock: what needs only the first goes on meanwhile.
TEST_F(LocksTest, TheWindowIsTheLeastOfThoseThatAreNeeded) {
  api.put(kConfigMaps + "third",
          Json::object(
              {{"metadata",
                Json::object({{"ownerReferences",
                               Json::array({Json::object({{"apiVersion", "v1"},
                                                          {"kind", "Pod"},
                                                          {"name", "b"},
                                                          {"uid", api.object("/api/v1/namespaces/kube-system/pods/b")
                                                                      .at("/metadata/uid")
                                                                      .text()
                                                                      .value_or("")}})})}})}}));
  Contender a(time, api, "a");
  a.start();
  ASSERT_TRUE(leads(a, *a.record));
  EXPECT_EQ(a.locks.write_window(*a.lease), a.lease->write_window());
  EXPECT_TRUE(a.locks.write_window(*a.record));
  EXPECT_FALSE(a.locks.write_window(*a.life));
  api.erase("/api/v1/namespaces/kube-system/pods/b");
  ASSERT_TRUE(leads(a, *a.life));
  for (int i = 0; i < 20; ++i) {
    time.run_for(milliseconds{777});
    const auto least = std::min({*a.lease->write_window(), *a.record->write_window(), *a.life->write_window()});
    EXPECT_EQ(a.locks.write_window(*a.life), least);
  }
}

TEST_F(LocksTest, LosingAnyEndsAll) {
  for (const auto& path : {kLeases + "first", kConfigMaps + "second", kConfigMaps + "third"}) {
    SCOPED_TRACE(path);
    Contender a(time, api, "a");
    a.start();
    ASSERT_TRUE(leads(a, *a.life, minutes{1}));
    EXPECT_FALSE(a.ended);
    if (path == kConfigMaps + "third") {
      api.erase(path);
    } else if (path == kConfigMaps + "second") {
      const Json annotations = Json::object(
          {{"control-plane.alpha.kubernetes.io/leader", R"({"holderIdentity":"other","leaseDurationSeconds":1})"}});
      api.merge(path, Json::object({{"metadata", Json::object({{"annotations", annotations}})}}));
    } else {
      api.merge(path, Json::object({{"spec", Json::object({{"holderIdentity", "other"}})}}));
    }
    EXPECT_TRUE(time.run_until([&] { return a.ended; }, milliseconds{200}));
    EXPECT_FALSE(a.locks.write_window(*a.life));
  }
}

TEST_F(LocksTest, AreGivenBackInReverseOrder) {
  Contender a(time, api, "a");
  a.start();
  ASSERT_TRUE(leads(a, *a.life));
  a.events.clear();
  a.scope.spawn(a.release());
  time.run_for(seconds{1});
  EXPECT_THAT(a.events,
              ElementsAre("third: a stopped leading", "second: a_1 stopped leading", "first: a_1 stopped leading"));
  Contender b(time, api, "b");
  b.start();
  EXPECT_TRUE(leads(b, *b.life, seconds{1}));
}

TEST_F(LocksTest, WithoutAnyNothingIsEverLost) {
  Locks none(*server_loop);
  io::Scope scope(*server_loop);
  scope.spawn(none.run());
  time.run_for(minutes{10});
  EXPECT_EQ(scope.running(), 1);
}

}  // namespace
}  // namespace careen::kube
