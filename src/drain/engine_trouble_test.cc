#include "drain/test_cluster.h"

namespace careen::drain {

using io::seconds;
using testing::HasSubstr;

TEST_F(EngineTest, AnEvictionWithoutAnswerIsNotAFailureIfThePodGoes) {
  add_node("n1");
  add_pod("web");
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    out.unanswered = request.method == "POST";
    return out;
  };
  begin();
  ASSERT_TRUE(drains_within(seconds{5}));
  time.run_for(io::minutes{2});
  EXPECT_EQ(evictions().size(), 1U);
}

TEST_F(EngineTest, AnEvictionThatWasLostIsSentAgain) {
  add_node("n1");
  add_pod("web");
  launch();
  bool lost = false;
  treat = [&](const kube::Request& request) {
    sim::Treatment out;
    out.lost = request.method == "POST" && !std::exchange(lost, true);
    return out;
  };
  begin();
  time.run_for(seconds{31});
  EXPECT_EQ(pod("web")->stage, Stage::failed);
  EXPECT_THAT(reason("web"), HasSubstr("not known whether"));
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_EQ(evictions().size(), 2U);
}

TEST_F(EngineTest, AFailureBacksOffAndIsTold) {
  add_node("n1");
  add_pod("web");
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    if (request.method == "POST") out.refuse = sim::ApiServer::refusal(403, "Forbidden", "evictions are forbidden");
    return out;
  };
  begin();
  time.run_for(seconds{4});
  EXPECT_EQ(pod("web")->stage, Stage::failed);
  EXPECT_THAT(reason("web"), HasSubstr("failed: evictions are forbidden"));
  EXPECT_EQ(pod("web")->cause, "evictions are forbidden");
  time.run_for(seconds{32});
  EXPECT_EQ(evictions().size(), 4U);  // after 0, 5, 15 and 35 seconds
  treat = nullptr;
  ASSERT_TRUE(drains_within(io::minutes{1}));
}

TEST_F(EngineTest, AWebhookThatNeedsTimeIsAskedAgain) {
  add_node("n1");
  add_pod("vm");
  launch();
  int refusals = 2;
  treat = [&](const kube::Request& request) {
    sim::Treatment out;
    if (request.method == "POST" && refusals-- > 0) {
      out.refuse = sim::ApiServer::refusal(429, "TooManyRequests", "the virtual machine moves");
    }
    return out;
  };
  begin();
  time.run_for(seconds{1});
  EXPECT_EQ(pod("vm")->stage, Stage::blocked);
  EXPECT_THAT(reason("vm"), HasSubstr("the virtual machine moves"));
  EXPECT_EQ(pod("vm")->budget, "");
  ASSERT_TRUE(drains_within(seconds{15}));
  const auto tries = evictions();
  ASSERT_EQ(tries.size(), 3U);
  EXPECT_EQ(tries[1].at - tries[0].at, seconds{5});
}

TEST_F(EngineTest, APodThatNeverEndsIsExplainedAndHoldsUpNoOther) {
  add_node("n1");
  add_pod("web");
  add_pod("stuck", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"never"})"});
  Process& running = launch();
  begin();
  time.run_for(seconds{40});
  ASSERT_EQ(progress().pods.size(), 1U);
  EXPECT_EQ(pod("stuck")->stage, Stage::terminating);
  EXPECT_EQ(reason("stuck"), "terminating since 40 s, 10 s beyond its grace of 30 s");
  EXPECT_EQ(progress().percent(), 50);
  running.told.clear();
  time.run_for(io::minutes{10});
  EXPECT_TRUE(running.told.empty()) << "time alone is no change";
  EXPECT_EQ(evictions().size(), 2U);
}

TEST_F(EngineTest, AFinalizerIsNamed) {
  add_node("n1");
  add_pod("web");
  cluster.api.merge(pod_path("web"), *kube::Json::parse(R"({"metadata":{"finalizers":["example.com/x"]}})"));
  launch();
  begin();
  time.run_for(seconds{60});
  EXPECT_THAT(reason("web"), HasSubstr("finalizer example.com/x holds it"));
  cluster.api.merge(pod_path("web"), *kube::Json::parse(R"({"metadata":{"finalizers":null}})"));
  time.run_for(seconds{1});
}

TEST_F(EngineTest, WhatDoesNotEndInTimeIsKilled) {
  add_node("n1");
  add_pod("stuck", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"never"})"});
  launch();
  Options options = usual();
  options.kill_after = seconds{20};
  begin(options);
  time.run_for(seconds{49});
  EXPECT_TRUE(deletions().empty());
  ASSERT_TRUE(drains_within(seconds{5}));
  ASSERT_EQ(deletions().size(), 1U);
  const auto body = *kube::Json::parse(deletions()[0].body);
  EXPECT_EQ(body["gracePeriodSeconds"].integer(), 0);
  EXPECT_TRUE(body.at("/preconditions/uid").exists());
  time.run_for(seconds{5});
  EXPECT_EQ(requests("POST", "/events").size(), 1U);
}

// The server says when the grace period ends, by its own clock.
TEST_F(EngineTest, AClockThatIsAheadKillsNobodyEarlier) {
  skew = io::minutes{10};
  add_node("n1");
  add_pod("slow", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"never"})"});
  launch();
  Options options = usual();
  options.kill_after = seconds{20};
  begin(options);
  time.run_for(seconds{49});
  EXPECT_TRUE(deletions().empty());
  ASSERT_TRUE(drains_within(seconds{5}));
}

TEST_F(EngineTest, AClockThatIsBehindKillsNobodyLater) {
  skew = -io::minutes{10};
  add_node("n1");
  add_pod("slow", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"never"})"});
  launch();
  Options options = usual();
  options.kill_after = seconds{20};
  begin(options);
  ASSERT_TRUE(drains_within(seconds{54}));
}

// Since when it terminates is known by the server's clock only: its time starts again.
TEST_F(EngineTest, WhatTerminatedBeforeWeCameGetsItsWholeTime) {
  add_node("n1");
  add_pod("slow", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"never"})"});
  time.run_for(seconds{5});
  kube::Request removal;
  removal.method = "DELETE";
  removal.path = pod_path("slow");
  cluster.api.handle(removal);
  time.run_for(io::minutes{5});
  launch();
  Options options = usual();
  options.kill_after = seconds{20};
  begin(options);
  time.run_for(seconds{49});
  EXPECT_TRUE(deletions().empty());
  ASSERT_TRUE(drains_within(seconds{5}));
}

TEST_F(EngineTest, AClockThatIsAheadLeavesNobodyBehind) {
  skew = io::minutes{10};
  add_node("n1");
  add_pod("slow", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"never"})"});
  launch();
  Options options = usual();
  options.skip_wait_for_delete = seconds{15};
  begin(options);
  time.run_for(seconds{44});
  EXPECT_FALSE(drained()) << "it terminates, and its grace period is not over";
  ASSERT_TRUE(drains_within(seconds{4}));
}

// A webhook that never answers, for the pods of one namespace.
TEST_F(EngineTest, EvictionsThatHangHoldUpNobodyElse) {
  put("/api/v1/namespaces/hung", R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})");
  add_node("n1");
  add_node("n2");
  for (int i = 0; i < 200; ++i) {
    put(fmt::format("/api/v1/namespaces/hung/pods/vm-{}", i),
        R"({"apiVersion":"v1","kind":"Pod","spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}})");
  }
  for (int i = 0; i < 40; ++i) add_pod(fmt::format("web-{}", i), "n2");
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    out.lost = request.method == "POST" && request.path.find("/hung/") != std::string::npos;
    return out;
  };
  begin(usual(), "n1");
  time.run_for(seconds{1});
  begin(usual(), "n2");
  EXPECT_TRUE(drains_within(seconds{10}, "n2"));
  add_node("n3");
  add_pod("later", "n3");
  time.run_for(io::minutes{10});
  begin(usual(), "n3");
  EXPECT_TRUE(drains_within(seconds{10}, "n3")) << "also when it has hung for long";
}

// Whatever hangs: the node's pods are listed all the same.
TEST_F(EngineTest, EvictionsThatHangHoldUpNoList) {
  add_node("n1");
  add_node("n2");
  for (int i = 0; i < 200; ++i) add_pod(fmt::format("web-{}", i));
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    out.lost = request.method == "POST";
    return out;
  };
  begin(usual(), "n1");
  time.run_for(seconds{1});
  begin(usual(), "n2");
  EXPECT_TRUE(drains_within(seconds{1}, "n2"));
}

TEST_F(EngineTest, APodHasOneRequestOnItsWayAtATime) {
  add_node("n1");
  for (int i = 0; i < 40; ++i) add_pod(fmt::format("web-{}", i));
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment out;
    out.lost = request.method == "POST";
    return out;
  };
  begin();
  time.run_for(io::minutes{5});
  std::map<std::string, io::Steady> last;
  for (const Sent& one : evictions()) {
    const auto known = last.find(one.path);
    if (known != last.end()) EXPECT_GE(one.at - known->second, seconds{30}) << one.path;
    last[one.path] = one.at;
  }
  EXPECT_EQ(last.size(), 40U);
  treat = nullptr;
  ASSERT_TRUE(drains_within(io::minutes{3}));
}

}  // namespace careen::drain
