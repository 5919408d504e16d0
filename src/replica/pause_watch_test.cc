// Pauses as a whole careen finds them in the cluster: at its start, while it runs, written by anybody, or not readable.
#include "replica/pause_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/controller.h"
#include "controllers/profiles/hosted.h"
#include "io/test_log.h"
#include "kube/lock.h"
#include "replica/model_process.h"
#include "sim/api_server.h"
#include "sim/cluster.h"
#include "sim/network.h"
#include "sim/object_store.h"

namespace careen::replica {
namespace {

using budget::PauseRecord;
using io::minutes;
using io::seconds;
using testing::HasSubstr;

constexpr const char* kPausableConfig = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: max, type: maxMaintenance, config: {max: 5}}
profiles:
- name: p
  operational: {transitions: [{check: go && max, next: in-maintenance}]}
  in-maintenance: {transitions: [{check: "!go", next: operational}]}
- name: q
  operational: {transitions: [{check: go, next: in-maintenance}]}
  in-maintenance: {transitions: [{check: "!go", next: operational}]}
)";

constexpr const char* kLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause";
constexpr const char* kAll = R"({"all":{"by":"ana@host","since":"2026-03-01T10:00:00Z","reason":"broken images"}})";
constexpr const char* kOne = R"({"profiles":{"p":{"by":"ben@host","since":"2026-03-01T10:00:00Z"}}})";

class PauseWatchTest : public testing::Test {
 protected:
  void add_node(const std::string& name, std::string_view profile) {
    auto node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
    node.set({"metadata", "labels", "go"}, "").set({"metadata", "labels", "cloud.sap/maintenance-profile"}, profile);
    cluster.api.put("/api/v1/nodes/" + name, std::move(node));
  }
  void pause(std::string_view record) {
    auto lease = kube::Json::object({{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}});
    lease.set({"metadata", "annotations", PauseRecord::kAnnotation}, record);
    cluster.api.put(kLease, std::move(lease));
  }
  std::string state(const std::string& node) const {
    const kube::Json object = cluster.api.object("/api/v1/nodes/" + node);
    return std::string(object["metadata"]["labels"]["cloud.sap/maintenance-state"].text().value_or(""));
  }
  ModelProcess& start(ModelProcessOptions options = {}) {
    options.log = io::Log(log, "");
    careen = std::make_unique<ModelProcess>(time, cluster, kPausableConfig, std::move(options));
    return *careen;
  }
  Replica& replica() { return careen->replica(); }
  int events(std::string_view reason) const {
    int count = 0;
    cluster.api.for_each("/api/v1/events", [&](const std::string&, const sim::Text& event) {
      const auto json = kube::Json::parse(*event);
      count += json && (*json)["reason"].text() == reason && json->at("/involvedObject/name").text() == "careen-pause"
                   ? 1
                   : 0;
    });
    return count;
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::Cluster cluster{*server};
  std::shared_ptr<io::LogLines> log = std::make_shared<io::LogLines>(io::LogLevel::info);
  std::unique_ptr<ModelProcess> careen;
};

TEST_F(PauseWatchTest, NothingIsPausedWithoutTheLease) {
  add_node("a", "p");
  start();
  ASSERT_TRUE(time.run_until([&] { return state("a") == "in-maintenance"; }, minutes{1}));
  EXPECT_TRUE(replica().pauses().all().empty());
  EXPECT_TRUE(replica().problems().open().empty());
}

TEST_F(PauseWatchTest, APauseFromBeforeTheStartIsKept) {
  add_node("a", "p");
  pause(kAll);
  start();
  time.run_for(minutes{10});
  EXPECT_NE(state("a"), "in-maintenance");
  ASSERT_EQ(replica().pauses().all().size(), 1U);
  EXPECT_EQ(replica().pauses().all()[0].by, "ana@host");
  EXPECT_EQ(events("Paused"), 0) << "that is no news";
  EXPECT_EQ(log->count("nothing is begun, moved or evicted"), 1);
  EXPECT_THAT(replica().metrics().expose(), HasSubstr("careen_paused{profile=\"\"} 1"));
  cluster.api.erase(kLease);
  ASSERT_TRUE(time.run_until([&] { return state("a") == "in-maintenance"; }, seconds{5}));
  EXPECT_EQ(log->count("the pause is over"), 1);
  EXPECT_THAT(replica().metrics().expose(), testing::Not(HasSubstr("careen_paused{")));
}

TEST_F(PauseWatchTest, AProfilesPauseHoldsBackThatProfile) {
  start();
  time.run_for(minutes{1});
  pause(kOne);
  time.run_for(seconds{2});
  add_node("a", "p");
  add_node("b", "q");
  ASSERT_TRUE(time.run_until([&] { return state("b") == "in-maintenance"; }, seconds{5}));
  time.run_for(minutes{5});
  EXPECT_EQ(state("a"), "operational");
  EXPECT_EQ(events("Paused"), 1);
  EXPECT_EQ(events("Resumed"), 0);
  pause("{}");
  ASSERT_TRUE(time.run_until([&] { return state("a") == "in-maintenance"; }, seconds{5}));
  time.run_for(seconds{5});
  EXPECT_EQ(events("Resumed"), 1);
}

TEST_F(PauseWatchTest, ARecordThatCannotBeReadPausesEverythingAndIsAProblem) {
  start();
  time.run_for(minutes{1});
  pause(R"({"all":{"by":"ana@host","since":"today"}})");
  time.run_for(seconds{2});
  add_node("a", "q");
  time.run_for(minutes{5});
  EXPECT_EQ(state("a"), "operational");
  const auto& open = replica().problems().open();
  ASSERT_TRUE(open.contains("pause"));
  EXPECT_EQ(
      open.find("pause")->second,
      "annotation careen.dev/pause of Lease kube-system/careen-pause cannot be read: all.since: a time such as "
      "\"2026-03-01T10:00:00Z\" was expected, and there is \"today\"; everything is paused until it is mended, or "
      "\"careen resume\" removes it");
  EXPECT_THAT(to_text(profiles::controller_in(replica().hosted())->explain("a").why),
              HasSubstr("paused by careen since"));
  pause("{}");
  ASSERT_TRUE(time.run_until([&] { return state("a") == "in-maintenance"; }, seconds{5}));
  EXPECT_TRUE(replica().problems().open().empty());
}

// An API server that has just started forbids everything until it has loaded its roles.
TEST_F(PauseWatchTest, ARefusalThatPassesUnpausesNothing) {
  add_node("a", "p");
  pause(kAll);
  for (const int code : {403, 401}) {
    bool refusing = true;
    cluster.network.treat = [&](const sim::Sending& sending) {
      sim::Treatment treatment;
      if (refusing && sending.request.path.find("careen-pause") != std::string::npos) {
        treatment.refuse = sim::ApiServer::refusal(code, "", "not now");
      }
      return treatment;
    };
    start();
    time.run_for(minutes{2});
    EXPECT_NE(state("a"), "in-maintenance") << code;
    EXPECT_THAT(replica().problems().open().find("pause")->second, HasSubstr("nothing is begun, moved or evicted"));
    refusing = false;
    time.run_for(minutes{10});
    EXPECT_NE(state("a"), "in-maintenance") << code;
    EXPECT_TRUE(replica().problems().open().empty()) << code;
    careen.reset();
    time.run_for(minutes{1});
  }
}

TEST_F(PauseWatchTest, WithoutTheRightToReadItCareenGoesOnAndSaysSo) {
  add_node("a", "p");
  bool forbidden = true;
  cluster.network.treat = [&](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (forbidden && sending.request.path.find("careen-pause") != std::string::npos) {
      treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "leases is forbidden");
    }
    return treatment;
  };
  start();
  time.run_for(minutes{2});
  EXPECT_EQ(state("a"), "") << "the refusal may pass";
  ASSERT_TRUE(time.run_until([&] { return state("a") == "in-maintenance"; }, minutes{2}));
  EXPECT_TRUE(replica().pauses().all().empty());
  ASSERT_TRUE(replica().problems().open().contains("pause"));
  EXPECT_EQ(replica().problems().open().size(), 1U);
  EXPECT_THAT(replica().problems().open().find("pause")->second, HasSubstr("goes on as if nothing were paused"));
  // The right is granted, and the pause is found.
  forbidden = false;
  pause(kAll);
  ASSERT_TRUE(time.run_until([&] { return !replica().pauses().all().empty(); }, minutes{2}));
  time.run_for(seconds{1});
  EXPECT_TRUE(replica().problems().open().empty());
}

// Whoever started careen has asked for the right, and knows that it is missing.
TEST_F(PauseWatchTest, WhereItIsKnownToBeForbiddenAFirstRefusalSuffices) {
  add_node("a", "p");
  cluster.network.treat = [&](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (sending.request.path.find("careen-pause") != std::string::npos) {
      treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "leases is forbidden");
    }
    return treatment;
  };
  start({.awaits_pauses = false});
  ASSERT_TRUE(time.run_until([&] { return state("a") == "in-maintenance"; }, seconds{15}));
  EXPECT_THAT(replica().problems().open().find("pause")->second, HasSubstr("goes on as if nothing were paused"));
}

TEST_F(PauseWatchTest, WhoTakesTheRightAwayResumesNothing) {
  add_node("a", "p");
  pause(kAll);
  bool forbidden = false;
  cluster.network.treat = [&](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (forbidden && sending.request.path.find("careen-pause") != std::string::npos) {
      treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "leases is forbidden");
    }
    return treatment;
  };
  start();
  time.run_for(minutes{2});
  forbidden = true;
  cluster.network.end_streams("");
  time.run_for(minutes{20});
  EXPECT_NE(state("a"), "in-maintenance");
  ASSERT_TRUE(replica().problems().open().contains("pause"));
  EXPECT_THAT(replica().problems().open().find("pause")->second, HasSubstr("goes on with what it knew"));
  forbidden = false;
  pause("{}");
  EXPECT_TRUE(time.run_until([&] { return state("a") == "in-maintenance"; }, minutes{3}));
  EXPECT_TRUE(replica().problems().open().empty());
}

TEST_F(PauseWatchTest, WhatElseKeepsItFromBeingReadIsWaitedFor) {
  add_node("a", "p");
  bool failing = true;
  cluster.network.treat = [&](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (failing && sending.request.path.find("careen-pause") != std::string::npos) {
      treatment.refuse = sim::ApiServer::refusal(503, "ServiceUnavailable", "later");
    }
    return treatment;
  };
  start();
  time.run_for(minutes{5});
  EXPECT_EQ(state("a"), "");
  EXPECT_FALSE(replica().problems().open().empty());
  failing = false;
  ASSERT_TRUE(time.run_until([&] { return state("a") == "in-maintenance"; }, minutes{1}));
  EXPECT_TRUE(replica().problems().open().empty());
}

// It follows for hours; its watch shows nothing when the pause is set and it takes over.
TEST_F(PauseWatchTest, WhoTakesOverLooksAnew) {
  ModelProcessOptions first_options{.name = "careen-1", .seed = 2};
  auto first = std::make_unique<ModelProcess>(time, cluster, kPausableConfig, std::move(first_options));
  time.run_for(minutes{1});
  start();
  time.run_for(minutes{5});
  ASSERT_FALSE(replica().election().leading());
  cluster.network.set_weather("", {.frozen = true});
  pause(kAll);
  first.reset();
  add_node("a", "p");
  ASSERT_TRUE(time.run_until([&] { return replica().election().leading(); }, minutes{1}));
  time.run_for(minutes{2});
  EXPECT_NE(state("a"), "in-maintenance");
}

}  // namespace
}  // namespace careen::replica
