// Where kubectl drain gives up, shortens, or deletes.
#include <fmt/format.h>

#include "drain/options.h"
#include "drain/test_cluster.h"

namespace careen::drain {

using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Phase = Progress::Phase;

class EngineKubectlTest : public EngineTest {
 protected:
  static Options of_terminal() {
    Options options = usual();
    options.give_up_on_errors = true;
    return options;
  }
  void answer_evictions_of(std::string_view name, kube::Response response) {
    treat = [part = fmt::format("/pods/{}/eviction", name), response](const kube::Request& request) {
      if (request.path.find(part) == std::string::npos) return sim::Treatment{};
      return sim::Treatment{.refuse = response};
    };
  }
};

TEST_F(EngineKubectlTest, AFinalRefusalFailsTheDrainOnceTheOthersAreGone) {
  for (const int code : {403, 500}) {
    add_node("n1");
    add_pod("bad");
    add_pod("good", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"3"})"});
    launch();
    answer_evictions_of("bad", sim::ApiServer::refusal(code, code == 403 ? "Forbidden" : "InternalError", "not this"));
    begin(of_terminal());
    time.run_for(seconds{2});
    EXPECT_EQ(progress().phase, Phase::draining) << "one goes on";
    EXPECT_EQ(pod("bad")->stage, Stage::failed);
    EXPECT_EQ(reason("bad"), "failed: not this");
    ASSERT_TRUE(time.run_until([&] { return progress().phase == Phase::failed; }, seconds{5})) << code;
    EXPECT_THAT(progress().errors, ElementsAre("error when evicting pods/\"bad\" -n \"shop\": not this"));
    EXPECT_THAT(requests("POST", "/pods/bad/eviction"), SizeIs(1));
    EXPECT_FALSE(cluster.api.text(pod_path("good")));
    treat = nullptr;
    process.reset();
    cluster.api.erase(pod_path("bad"));
  }
}

TEST_F(EngineKubectlTest, TwoBudgetsAreFinalThere) {
  add_node("n1");
  add_pod("web");
  add_budget("a", "web", 0);
  add_budget("b", "web", 0);
  launch();
  begin(of_terminal());
  ASSERT_TRUE(time.run_until([&] { return progress().phase == Phase::failed; }, seconds{5}));
  EXPECT_THAT(progress().errors.at(0), HasSubstr("more than one PodDisruptionBudget"));
}

TEST_F(EngineKubectlTest, WhatMayPassIsTriedAgain) {
  add_node("n1");
  add_pod("web");
  launch();
  for (const int code : {429, 503}) {
    answer_evictions_of("web", sim::ApiServer::refusal(code, "", "later"));
    begin(of_terminal());
    time.run_for(seconds{20});
    EXPECT_EQ(progress().phase, Phase::draining) << code;
    EXPECT_GE(evictions().size(), 2U) << code;
  }
  treat = nullptr;
  ASSERT_TRUE(drains_within(minutes{2}));
}

TEST_F(EngineKubectlTest, ControllersDoNotGiveUp) {
  add_node("n1");
  add_pod("web");
  launch();
  answer_evictions_of("web", sim::ApiServer::refusal(403, "Forbidden", "not this"));
  begin();
  time.run_for(minutes{1});
  EXPECT_EQ(progress().phase, Phase::draining);
  treat = nullptr;
  ASSERT_TRUE(drains_within(minutes{2}));
}

TEST_F(EngineKubectlTest, WhatTerminatesAlreadyGetsTheShorterGracePeriod) {
  add_node("n1");
  add_pod("slow", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"3600"})"});
  launch();
  kube::Request request;
  request.method = "DELETE";
  request.path = pod_path("slow") + "?gracePeriodSeconds=3600";
  ASSERT_LT(cluster.api.handle(request, {"people"}).status, 300);
  time.run_for(seconds{1});
  Options options = of_terminal();
  options.grace_seconds = 2;
  begin(options);
  ASSERT_TRUE(drains_within(seconds{30}));
  ASSERT_THAT(evictions(), SizeIs(1));
  const auto body = *kube::Json::parse(evictions().at(0).body);
  EXPECT_EQ(body.at("/deleteOptions/gracePeriodSeconds").integer(), 2);
  EXPECT_FALSE(body.at("/deleteOptions/preconditions/uid").text().value_or("").empty());
}

TEST_F(EngineKubectlTest, ALongerOneChangesNothing) {
  add_node("n1");
  add_pod("slow", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"20"})"});
  launch();
  kube::Request request;
  request.method = "DELETE";
  request.path = pod_path("slow");
  ASSERT_LT(cluster.api.handle(request, {"people"}).status, 300);
  time.run_for(seconds{1});
  Options options = of_terminal();
  options.grace_seconds = 60;
  begin(options);
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_THAT(evictions(), IsEmpty());
}

TEST_F(EngineKubectlTest, WithoutTheSubresourcePodsAreDeleted) {
  add_node("n1");
  for (int i = 0; i < 3; ++i) add_pod(fmt::format("web-{}", i));
  launch();
  treat = [](const kube::Request& request) {
    if (request.path.find("/eviction") != std::string::npos) {
      return sim::Treatment{
          .refuse = sim::ApiServer::refusal(404, "NotFound", "the server could not find the requested resource")};
    }
    if (request.path != "/api/v1") return sim::Treatment{};
    kube::Response plain;
    plain.status = 200;
    plain.body = R"({"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod"}]})";
    return sim::Treatment{.refuse = plain};
  };
  begin();
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_THAT(deletions(), SizeIs(3));
  EXPECT_THAT(requests("GET", "/api/v1"), SizeIs(testing::Ge(1U)));
  EXPECT_LE(evictions().size(), 3U);
}

TEST_F(EngineKubectlTest, AnAnswerThatNamesNoPodIsNotTakenForASubresourceThatIsMissing) {
  add_node("n1");
  add_pod("web");
  launch();
  bool once = false;
  treat = [&once](const kube::Request& request) {
    if (request.path.find("/eviction") == std::string::npos || std::exchange(once, true)) return sim::Treatment{};
    return sim::Treatment{.refuse = sim::ApiServer::refusal(405, "MethodNotAllowed", "of a proxy")};
  };
  begin();
  ASSERT_TRUE(drains_within(seconds{20}));
  EXPECT_THAT(deletions(), IsEmpty());
  EXPECT_THAT(evictions(), SizeIs(2));
}

TEST_F(EngineKubectlTest, DaemonSetsAreToldByGroupAndKindOrByKindAlone) {
  add_node("n1");
  add_pod("agent", "n1", PodWish{.owner = "DaemonSet"});
  put(pod_path("kruise"),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"ownerReferences":[{"apiVersion":"apps.kruise.io/v1alpha1",)"
      R"("kind":"DaemonSet","name":"own","uid":"u","controller":true}]},"spec":{"nodeName":"n1",)"
      R"("containers":[{"name":"c","image":"i"}]},"status":{"phase":"Pending"}})");
  launch();
  Options by_kind = usual();
  by_kind.daemon_sets_by_kind = true;
  begin(key("n1", "by kind"), by_kind);
  time.run_for(seconds{5});
  EXPECT_THAT(evicted(), IsEmpty());
  EXPECT_EQ(engine().progress(key("n1", "by kind"))->phase, Phase::drained);
  begin();
  ASSERT_TRUE(drains_within(seconds{5}));
  EXPECT_THAT(evicted(), ElementsAre("kruise"));
}

}  // namespace careen::drain
