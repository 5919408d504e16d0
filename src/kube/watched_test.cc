#include "kube/watched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/json.h"
#include "sim/test_api.h"

namespace careen::kube {
namespace {

using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kWatchedMaps = "/api/v1/namespaces/t/configmaps/";

class WatchedTest : public testing::Test {
 protected:
  WatchedTest() {
    api.put("/api/v1/namespaces/t", Json::object());
    api.put("/api/v1/namespaces/other", Json::object());
    put("a");
    put("b");
    api.put("/api/v1/namespaces/other/configmaps/c", labelled("x"));
  }
  static Json labelled(const std::string& team) {
    return Json::object({{"metadata", Json::object({{"labels", Json::object({{"team", team}})}})}});
  }
  void put(const std::string& name) { api.put(kWatchedMaps + name, labelled(name)); }
  ReflectorOptions all() { return {.resource = resources::config_maps}; }
  Watched<Object>& make(ReflectorOptions what) {
    maps.emplace(WatchParts{*loop, client, metrics, problems, random}, std::move(what),
                 [](RawObject& raw) { return decode_object(raw); });
    maps->on_synced([this] { ++synced; });
    changes = maps->store().subscribe([this](const Object* before, const Object* after) {
      told.push_back((after ? "+" : "-") + (after ? after : before)->key());
    });
    return *maps;
  }
  std::vector<std::string> keys() {
    std::vector<std::string> out;
    maps->store().for_each([&](const Object& object) { out.push_back(object.key()); });
    return out;
  }
  void settle() { time.run_for(seconds{2}); }
  static io::Task<void> refresh(Watch& watch, uint64_t* out) { *out = co_await watch.refresh(); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server_loop = time.make_loop();
  sim::TestApi api{*server_loop};
  std::unique_ptr<io::Loop> loop = time.make_loop();
  std::unique_ptr<Transport> transport = api.connect(*loop);
  io::Metrics metrics;
  io::Random random{7};
  io::Problems problems{io::Log()};
  Client client{*loop, *transport, metrics, random};
  std::vector<std::string> told;
  int synced = 0;
  std::optional<Watched<Object>> maps;
  io::Subscription changes;
  io::Scope scope{*loop};
};

TEST_F(WatchedTest, SendsNothingBeforeItIsStarted) {
  make(all());
  settle();
  EXPECT_EQ(api.count("GET configmaps"), 0);
  EXPECT_FALSE(maps->started());
  EXPECT_FALSE(maps->synced());
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("configmaps")));
}

TEST_F(WatchedTest, KeepsWhatWasChosen) {
  make(all()).start();
  settle();
  EXPECT_THAT(keys(), ElementsAre("other/c", "t/a", "t/b"));
  ReflectorOptions one_namespace = all();
  one_namespace.ns = "t";
  make(one_namespace).start();
  settle();
  EXPECT_THAT(keys(), ElementsAre("t/a", "t/b"));
  make(ReflectorOptions::of_one(resources::config_maps, "t", "b")).start();
  settle();
  EXPECT_THAT(keys(), ElementsAre("t/b"));
  ReflectorOptions team = all();
  team.label_selector = "team in (x, a)";
  make(team).start();
  settle();
  EXPECT_THAT(keys(), ElementsAre("other/c", "t/a"));
}

TEST_F(WatchedTest, TellsWhenItIsKnownAndFollows) {
  make(all()).start();
  EXPECT_FALSE(maps->synced_gate().is_open());
  settle();
  EXPECT_TRUE(maps->synced());
  EXPECT_TRUE(maps->synced_gate().is_open());
  EXPECT_EQ(synced, 1);
  maps->start();
  put("d");
  settle();
  EXPECT_THAT(keys(), ElementsAre("other/c", "t/a", "t/b", "t/d"));
  EXPECT_EQ(synced, 1) << "a start while it runs has no effect";
  EXPECT_EQ(api.network.open_streams(), 1u);
}

TEST_F(WatchedTest, StoppingDropsTheConnectionAndTheObjects) {
  make(all()).start();
  settle();
  told.clear();
  maps->stop();
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(told, ElementsAre("-other/c", "-t/a", "-t/b"));
  EXPECT_FALSE(maps->synced());
  EXPECT_FALSE(maps->synced_gate().is_open());
  time.settle();
  EXPECT_EQ(api.network.open_streams(), 0u);
  put("d");
  settle();
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(WatchedTest, StartsAgainWithWhatIsThereThen) {
  make(all()).start();
  settle();
  maps->stop();
  api.erase(kWatchedMaps + "a");
  maps->start();
  settle();
  EXPECT_THAT(keys(), ElementsAre("other/c", "t/b"));
  EXPECT_EQ(synced, 2);
}

// Of objects that were deleted and made again meanwhile, too: no tombstone is left.
TEST_F(WatchedTest, AStopForgetsWhatWasGone) {
  make(all()).start();
  settle();
  api.erase(kWatchedMaps + "a");
  settle();
  maps->stop();
  put("a");
  maps->start();
  settle();
  EXPECT_THAT(keys(), ElementsAre("other/c", "t/a", "t/b"));
}

TEST_F(WatchedTest, StoppingLeavesNoProblemAndNoSeriesBehind) {
  api.treat = [](const Request&) {
    sim::Treatment treatment;
    treatment.refuse = sim::ApiServer::refusal(403, "Forbidden");
    return treatment;
  };
  make(all()).start();
  time.run_for(minutes{1});
  ASSERT_TRUE(problems.open().contains("watch configmaps"));
  ASSERT_THAT(metrics.expose(), HasSubstr("careen_cache_synced{resource=\"configmaps\"} 0"));
  maps->stop();
  EXPECT_THAT(problems.open(), IsEmpty());
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("careen_cache_")));
}

TEST_F(WatchedTest, ADroppedOneLeavesNothingBehind) {
  make(all()).start();
  settle();
  api.treat = [](const Request&) {
    sim::Treatment treatment;
    treatment.refuse = sim::ApiServer::refusal(403, "Forbidden");
    return treatment;
  };
  maps->request_relist();
  time.run_for(minutes{1});
  ASSERT_TRUE(problems.open().contains("watch configmaps"));
  told.clear();
  maps.reset();
  EXPECT_THAT(told, IsEmpty());
  EXPECT_THAT(problems.open(), IsEmpty());
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("careen_cache_")));
  time.settle();
  EXPECT_EQ(api.network.open_streams(), 0u);
}

TEST_F(WatchedTest, ARefreshIsAListThatIsTakenAfterIt) {
  make(all()).start();
  settle();
  api.freeze_watches(true);
  put("d");
  uint64_t position = 0;
  scope.spawn(refresh(*maps, &position));
  settle();
  EXPECT_THAT(keys(), ElementsAre("other/c", "t/a", "t/b", "t/d"));
  EXPECT_GE(position, api.server.version());
}

// Also when it is stopped in the middle of it, or does not run at all.
TEST_F(WatchedTest, ARefreshWaitsForTheNextStart) {
  uint64_t position = 0;
  make(all()).start();
  settle();
  api.treat = [](const Request&) {
    sim::Treatment treatment;
    treatment.lost = true;
    return treatment;
  };
  scope.spawn(refresh(*maps, &position));
  settle();
  maps->stop();
  settle();
  maps->start();
  maps->stop();
  api.treat = nullptr;
  time.run_for(minutes{1});
  EXPECT_EQ(position, 0u);
  maps->start();
  settle();
  EXPECT_GE(position, api.server.version());
}

}  // namespace
}  // namespace careen::kube
