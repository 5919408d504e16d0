#include "kube/leader_for_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/json.h"
#include "sim/test_api.h"

namespace careen::kube {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

const std::string kMap = "/api/v1/namespaces/kube-system/configmaps/the-lock";

std::string pod_path(const std::string& name) { return "/api/v1/namespaces/kube-system/pods/" + name; }

// One process in its Pod. Destroying it is a crash.
struct PodProcess {
  PodProcess(io::VirtualTime& time, sim::TestApi& api, const std::string& pod)
      : loop(time.make_loop()), transport(api.connect(*loop)), scope(*loop) {
    lock.emplace(*loop, client, random, problems, io::Log(),
                 LeaderForLifeOptions{.ns = "kube-system", .name = "the-lock", .pod = pod});
    lock->report_to(metrics);
    lock->on_event([this](std::string message) { events.push_back(std::move(message)); });
    scope.spawn(lock->run());
  }
  static io::Task<void> release(Lock& lock) { co_await lock.release(); }

  std::unique_ptr<io::Loop> loop;
  std::unique_ptr<kube::Transport> transport;
  io::Metrics metrics;
  io::Random random{7};
  io::Problems problems{io::Log()};
  Client client{*loop, *transport, metrics, random};
  std::optional<LeaderForLife> lock;
  std::vector<std::string> events;
  io::Scope scope;
};

class LeaderForLifeTest : public testing::Test {
 protected:
  LeaderForLifeTest() {
    api.put("/api/v1/namespaces/kube-system", Json::object());
    for (const char* name : {"a", "b"}) put_pod(name);
  }
  void put_pod(const std::string& name) {
    const Json container = Json::object({{"name", "c"}, {"image", "i"}});
    api.put(pod_path(name), Json::object({{"spec", Json::object({{"containers", Json::array({container})}})},
                                          {"status", Json::object({{"phase", "Running"}})}}));
  }
  std::string uid(const std::string& pod) {
    return std::string(api.object(pod_path(pod)).at("/metadata/uid").text().value_or(""));
  }
  std::string owner() {
    return std::string(api.object(kMap).at("/metadata/ownerReferences/0/uid").text().value_or(""));
  }
  bool leads(PodProcess& process, io::Duration within) {
    return time.run_until([&] { return process.lock->leading(); }, within);
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server_loop = time.make_loop();
  sim::TestApi api{*server_loop};
};

TEST_F(LeaderForLifeTest, TheFirstMakesAConfigMapThatItsPodOwns) {
  PodProcess a(time, api, "a");
  ASSERT_TRUE(leads(a, seconds{1}));
  EXPECT_EQ(api.object(kMap).at("/metadata/ownerReferences").dump(),
            R"([{"apiVersion":"v1","kind":"Pod","name":"a","uid":")" + uid("a") + R"("}])");
  EXPECT_EQ(a.lock->holder(), "a");
  EXPECT_EQ(a.lock->reference().kind, "ConfigMap");
  EXPECT_EQ(a.lock->reference().uid, api.object(kMap).at("/metadata/uid").text());
  EXPECT_THAT(a.events, ElementsAre("a became leader"));
  EXPECT_THAT(a.metrics.expose(), HasSubstr("leader_election_master_status{name=\"configmaps/the-lock\"} 1"));
}

// Nothing is written to keep it; what is read proves that it still may be relied on.
TEST_F(LeaderForLifeTest, IsHeldWithoutAWrite) {
  PodProcess a(time, api, "a");
  ASSERT_TRUE(leads(a, seconds{1}));
  PodProcess b(time, api, "b");
  const auto version = api.server.version();
  EXPECT_FALSE(time.run_until([&] { return !a.lock->write_window(); }, minutes{10}));
  EXPECT_EQ(api.server.version(), version);
  EXPECT_FALSE(b.lock->leading());
  EXPECT_EQ(b.lock->holder(), "a");
}

TEST_F(LeaderForLifeTest, IsFreeWhenThePodIsGoneAndNotBefore) {
  auto a = std::make_unique<PodProcess>(time, api, "a");
  ASSERT_TRUE(leads(*a, seconds{1}));
  PodProcess b(time, api, "b");
  a.reset();
  EXPECT_FALSE(leads(b, minutes{5})) << "the Pod is still there";
  api.erase(pod_path("a"));
  EXPECT_TRUE(leads(b, milliseconds{200})) << "the garbage collector has freed it, and the watch tells";
  EXPECT_EQ(owner(), uid("b"));
}

// A Pod that was evicted stays as an object until somebody deletes it.
TEST_F(LeaderForLifeTest, AFailedPodIsDeletedSoThatItsLockBecomesFree) {
  auto a = std::make_unique<PodProcess>(time, api, "a");
  ASSERT_TRUE(leads(*a, seconds{1}));
  a.reset();
  PodProcess b(time, api, "b");
  time.run_for(seconds{20});
  api.merge(pod_path("a"), Json::object({{"status", Json::object({{"phase", "Failed"}, {"reason", "Evicted"}})}}));
  EXPECT_TRUE(leads(b, seconds{7}));
  EXPECT_TRUE(api.object(pod_path("a")).view().is_null());
  EXPECT_EQ(owner(), uid("b"));
}

TEST_F(LeaderForLifeTest, ARunningPodIsLeftAlone) {
  auto a = std::make_unique<PodProcess>(time, api, "a");
  ASSERT_TRUE(leads(*a, seconds{1}));
  a.reset();
  PodProcess b(time, api, "b");
  time.run_for(minutes{5});
  EXPECT_EQ(api.count("DELETE pods"), 0);
}

// The last write of the process before us may be on its way until the time is over that it would have had.
TEST_F(LeaderForLifeTest, ARestartedProcessGoesOnWithTheLockOfItsPod) {
  auto a = std::make_unique<PodProcess>(time, api, "a");
  ASSERT_TRUE(leads(*a, seconds{1}));
  time.run_for(seconds{30});
  a.reset();
  PodProcess again(time, api, "a");
  const auto begin = time.now();
  ASSERT_TRUE(leads(again, minutes{1}));
  EXPECT_THAT(time.now() - begin, AllOf(Ge(seconds{15}), Le(seconds{16})));
  EXPECT_TRUE(again.lock->write_window());
}

// As with a StatefulSet: the new Pod has the name of the old one, but not its lock.
TEST_F(LeaderForLifeTest, APodMadeAnewUnderTheSameNameTakesTheLockAnew) {
  api.server.run_controllers(false);
  auto a = std::make_unique<PodProcess>(time, api, "a");
  ASSERT_TRUE(leads(*a, seconds{1}));
  const std::string old = owner();
  a.reset();
  api.erase(pod_path("a"));
  put_pod("a");
  PodProcess anew(time, api, "a");
  EXPECT_FALSE(leads(anew, minutes{1})) << "the garbage collector has not come by yet";
  EXPECT_EQ(anew.lock->holder(), "a (" + old + ")");
  api.erase(kMap);
  EXPECT_TRUE(leads(anew, seconds{1}));
  EXPECT_EQ(owner(), uid("a"));
}

TEST_F(LeaderForLifeTest, GivenBackItIsFreeAtOnce) {
  PodProcess a(time, api, "a");
  ASSERT_TRUE(leads(a, seconds{1}));
  PodProcess b(time, api, "b");
  time.run_for(seconds{3});
  a.scope.spawn(PodProcess::release(*a.lock));
  time.settle();
  EXPECT_FALSE(a.lock->write_window());
  EXPECT_TRUE(leads(b, milliseconds{300}));
  EXPECT_EQ(a.lock->state(), Lock::State::released);
  EXPECT_EQ(owner(), uid("b"));
}

// Without the right to delete the lock it goes with the Pod, and nobody waits for it.
TEST_F(LeaderForLifeTest, WithoutTheRightToDeleteItReleasingEndsAllTheSame) {
  PodProcess a(time, api, "a");
  ASSERT_TRUE(leads(a, seconds{1}));
  api.treat = [](const Request& request) {
    sim::Treatment treatment;
    if (request.method == "DELETE") treatment.refuse = sim::ApiServer::refusal(403, "Forbidden");
    return treatment;
  };
  a.scope.spawn(PodProcess::release(*a.lock));
  EXPECT_TRUE(time.run_until([&] { return a.scope.running() == 0; }, milliseconds{100}));
  EXPECT_EQ(owner(), uid("a"));
}

// Whoever waits for it waits for nobody's time to be over: what is seen to be gone is not written under any more.
TEST_F(LeaderForLifeTest, ALockThatSomebodyRemovedIsLostAtOnce) {
  PodProcess a(time, api, "a");
  ASSERT_TRUE(leads(a, seconds{1}));
  time.run_for(seconds{2});
  api.erase(kMap);
  EXPECT_TRUE(time.run_until([&] { return !a.lock->write_window(); }, milliseconds{1}));
  EXPECT_TRUE(time.run_until([&] { return a.lock->state() == Lock::State::lost; }, milliseconds{100}));
  time.settle();
  EXPECT_EQ(a.scope.running(), 0) << "run() has returned";
}

TEST_F(LeaderForLifeTest, NothingIsWrittenTenSecondsAfterTheLastProof) {
  PodProcess a(time, api, "a");
  ASSERT_TRUE(leads(a, seconds{1}));
  time.run_for(seconds{7});
  api.treat = [](const Request&) {
    sim::Treatment treatment;
    treatment.lost = true;
    return treatment;
  };
  api.freeze_watches(true);
  EXPECT_TRUE(time.run_until([&] { return !a.lock->write_window(); }, seconds{10}));
  EXPECT_TRUE(time.run_until([&] { return a.lock->state() == Lock::State::lost; }, seconds{6}));
  EXPECT_EQ(a.problems.open().count("leader for life"), 1u);
}

// The ConfigMap was made, but nobody told us so.
TEST_F(LeaderForLifeTest, ACreationWhoseAnswerGotLostIsFoundAndUsed) {
  api.treat = [](const Request& request) {
    sim::Treatment treatment;
    treatment.unanswered = request.method == "POST";
    return treatment;
  };
  PodProcess a(time, api, "a");
  ASSERT_TRUE(leads(a, seconds{12}));
  EXPECT_EQ(api.count("POST configmaps"), 1);
}

// Two owners, or one that is no Pod: people have to look at it.
TEST_F(LeaderForLifeTest, ALockThatNoPodOwnsIsNobodysToTake) {
  api.put(kMap, Json::object());
  PodProcess a(time, api, "a");
  EXPECT_FALSE(leads(a, minutes{2}));
  EXPECT_EQ(a.lock->holder(), "(not one Pod)");
}

}  // namespace
}  // namespace careen::kube
