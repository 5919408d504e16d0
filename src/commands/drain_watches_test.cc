// Which watches a drain opens, and what of the pods it learns by them, on the model's API server.
#include "commands/drain_watches.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/test_screen.h"
#include "io/virtual_time.h"
#include "kube/scripted_transport.h"
#include "sim/cluster.h"

namespace careen::app {
namespace {

using testing::ElementsAre;

TEST(LighterWatches, FewNodesHaveOneEach) {
  EXPECT_EQ(lighter_watches(20, 1), PodWatches::each_node);
  EXPECT_EQ(lighter_watches(20, std::nullopt), PodWatches::each_node);
}

TEST(LighterWatches, ManyNodesHaveOneEachInALargeClusterOnly) {
  EXPECT_EQ(lighter_watches(21, 21 * 250), PodWatches::all_nodes);
  EXPECT_EQ(lighter_watches(21, 21 * 250 + 1), PodWatches::each_node);
  EXPECT_EQ(lighter_watches(100, 150'000), PodWatches::each_node);
}

TEST(LighterWatches, ThereAreNeverMoreThanAHundred) { EXPECT_EQ(lighter_watches(101, 150'000), PodWatches::all_nodes); }

TEST(LighterWatches, AServerThatDoesNotTellIsTakenToBeSmall) {
  EXPECT_EQ(lighter_watches(50, std::nullopt), PodWatches::all_nodes);
}

class DrainWatchesTest : public testing::Test {
 protected:
  static std::string path(std::string_view name) { return fmt::format("/api/v1/namespaces/default/pods/{}", name); }
  void put_pod(std::string_view name, std::string_view node = "") {
    kube::Json pod = parsed(R"({"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"c","image":"i"}]}})");
    if (!node.empty()) pod.set({"spec", "nodeName"}, node);
    cluster.api.put(path(name), std::move(pod));
  }
  void run_until(const std::function<bool()>& done) { EXPECT_TRUE(time.run_until(done, io::minutes{1})); }
  PodWatches choose(KubeSession& asking, size_t nodes) {
    std::optional<PodWatches> chosen;
    io::Scope scope(*loop);
    scope.spawn(io::keep(choose_pod_watches(asking, nodes), chosen));
    run_until([&] { return chosen.has_value(); });
    return chosen.value_or(PodWatches::each_node);
  }
  std::vector<std::string> known(DrainWatches& watches) {
    std::vector<std::string> names;
    watches.pods().for_each([&](const kube::Pod& pod) { names.push_back(pod.name); });
    std::sort(names.begin(), names.end());
    return names;
  }

  kube::Connect to_the_model() {
    return [this](const kube::Access&) { return kube::Transports{cluster.network.connect(*loop, "terminal")}; };
  }

  io::VirtualTime time{1, *io::parse_rfc3339("2026-03-01T10:00:00Z")};
  std::unique_ptr<io::Loop> server = time.make_loop(), loop = time.make_loop();
  sim::Cluster cluster{*server, 1, sim::ControlPlane::api_server_alone};
  std::shared_ptr<kube::ScriptedTransport> scripted = std::make_shared<kube::ScriptedTransport>(*loop);
  io::Random random{1};
  Screen nowhere = screen(80);
  KubeSession session{{*loop, {}, to_the_model(), random, nowhere, "ana@host"}};
  KubeSession scripted_session{
      {*loop, {}, [this](const kube::Access&) { return kube::Transports{scripted}; }, random, nowhere, "ana@host"}};
};

TEST_F(DrainWatchesTest, TheServerIsAskedHowManyPodsThereAre) {
  EXPECT_EQ(choose(session, 21), PodWatches::all_nodes);
  for (int i = 0; i < 21 * 250; ++i) put_pod(fmt::format("p-{}", i));
  EXPECT_EQ(choose(session, 21), PodWatches::all_nodes);
  put_pod("one-more");
  EXPECT_EQ(choose(session, 21), PodWatches::each_node);
}

TEST_F(DrainWatchesTest, TheServerIsNotAskedWhenItDoesNotMatter) {
  EXPECT_EQ(choose(scripted_session, 20), PodWatches::each_node);
  EXPECT_EQ(choose(scripted_session, 101), PodWatches::all_nodes);
  EXPECT_TRUE(scripted->requests.empty());
}

TEST_F(DrainWatchesTest, AServerThatRefusesOrDoesNotCountIsAskedOnce) {
  scripted->answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden"})");
  EXPECT_EQ(choose(scripted_session, 21), PodWatches::all_nodes);
  scripted->answer(200, R"({"kind":"PodList","metadata":{"resourceVersion":"7","continue":"x"},"items":[{}]})");
  EXPECT_EQ(choose(scripted_session, 21), PodWatches::all_nodes);
  EXPECT_EQ(scripted->requests.size(), 2);
}

TEST_F(DrainWatchesTest, AWatchOfAllNodesKnowsAPodOnceItIsOnOne) {
  put_pod("a", "n1");
  put_pod("pending");
  DrainWatches watches(session, {"n1"}, PodWatches::all_nodes, 500);
  watches.start();
  run_until([&] { return watches.pods().size() > 0; });
  EXPECT_THAT(known(watches), ElementsAre("a"));
  put_pod("pending", "n2");
  run_until([&] { return watches.pods().size() > 1; });
  EXPECT_THAT(known(watches), ElementsAre("a", "pending"));
}

TEST_F(DrainWatchesTest, AWatchOfEachNodeKnowsNoPodOfAnother) {
  put_pod("a", "n1");
  put_pod("b", "n2");
  put_pod("c", "n3");
  DrainWatches watches(session, {"n1", "n3"}, PodWatches::each_node, 500);
  watches.start();
  run_until([&] { return watches.pods().size() > 1; });
  put_pod("d", "n2");
  put_pod("e", "n1");
  run_until([&] { return watches.pods().size() > 2; });
  EXPECT_THAT(known(watches), ElementsAre("a", "c", "e"));
}

}  // namespace
}  // namespace careen::app
