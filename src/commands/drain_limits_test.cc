// A drain from a terminal waits for its turn in MaintenanceLimits, on the model's API server.
#include "commands/drain_limits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/test_screen.h"
#include "controllers/slot/definition.h"
#include "drain/holds.h"
#include "io/virtual_time.h"
#include "kube/decode.h"
#include "limits/limit.h"
#include "sim/cluster.h"

namespace careen::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DrainLimitsTest : public testing::Test {
 protected:
  DrainLimitsTest() {
    for (const char* name : {"n1", "n2", "n3"}) put_node(name, "{}");
  }
  static std::string path(std::string_view name) { return fmt::format("/api/v1/nodes/{}", name); }
  void put_node(std::string_view name, std::string_view spec, std::string_view labels = "{}") {
    cluster.api.put(path(name),
                    parsed(fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"labels":{}}},"spec":{},)"
                                       R"("status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                                       labels, spec)));
  }
  void cordon(std::string_view name, bool on) {
    cluster.api.merge(path(name), parsed(fmt::format(R"({{"spec":{{"unschedulable":{}}}}})", on)));
  }
  void define() {
    kube::Request request;
    request.method = "POST";
    request.path = controllers::kDefinitionsPath;
    request.content_type = "application/json";
    request.body = controllers::shipped_definition("maintenancelimit").dump();
    ASSERT_EQ(cluster.api.handle(request).status, 201);
  }
  void limit(std::string_view spec) {
    define();
    cluster.api.put(
        limits::kLimitResource.path("", "workers"),
        parsed(fmt::format(R"({{"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceLimit","spec":{}}})", spec)));
  }
  kube::Node node(std::string_view name) {
    return *kube::decode_node(cluster.api.object(path(name)).dump(), session.atoms);
  }
  bool find(DrainLimits& limits) {
    std::optional<bool> found;
    const std::vector<kube::Node> nodes{node("n1"), node("n2")};
    io::Scope scope(*loop);
    scope.spawn(io::keep(limits.find(nodes), found));
    EXPECT_TRUE(time.run_until([&] { return found.has_value(); }, io::minutes{1}));
    return found.value_or(false);
  }
  // As a drain does it: waits for its turn, then cordons.
  io::Task<void> drain(DrainLimits& line, std::string name) {
    co_await line.turn(node(name), [this, name](const std::string& why) { said.push_back(name + " " + why); });
    went.push_back(name);
    cordon(name, true);
  }

  kube::Connect to_the_model() {
    return [this](const kube::Access&) { return kube::Transports{cluster.network.connect(*loop, "terminal")}; };
  }

  io::VirtualTime time{1, *io::parse_rfc3339("2026-03-01T10:00:00Z")};
  std::unique_ptr<io::Loop> server = time.make_loop(), loop = time.make_loop();
  sim::Cluster cluster{*server, 1, sim::ControlPlane::api_server_alone};
  io::Random random{1};
  std::string printed;
  Screen text{[this] {
    ScreenOptions options;
    options.out = options.err = [this](std::string_view part) { printed += part; };
    options.size = [] { return ScreenSize{200, 24}; };
    return options;
  }()};
  KubeSession session{{*loop, {}, to_the_model(), random, text, "ana@host"}};
  std::vector<std::string> said, went;
};

TEST_F(DrainLimitsTest, WhereThereAreNoLimitsNothingIsFollowed) {
  DrainLimits limits(session, 500);
  EXPECT_TRUE(find(limits));
  EXPECT_EQ(limits.foresee(node("n1")), "");
  EXPECT_EQ(printed, "");
}

TEST_F(DrainLimitsTest, ALimitAboutOtherNodesIsNoneOfItsBusiness) {
  limit(R"({"type":"node","maxUnavailable":0,"selector":{"matchLabels":{"role":"other"}}})");
  DrainLimits limits(session, 500);
  EXPECT_TRUE(find(limits));
  EXPECT_EQ(limits.foresee(node("n1")), "");
}

TEST_F(DrainLimitsTest, ItWaitsForWhoeverHasAPlaceAndForItsOwnNodes) {
  limit(R"({"type":"node","maxUnavailable":1})");
  cordon("n3", true);
  DrainLimits limits(session, 500);
  ASSERT_TRUE(find(limits));
  io::Scope scope(*loop);
  scope.spawn(drain(limits, "n1"));
  scope.spawn(drain(limits, "n2"));
  time.run_for(io::minutes{1});
  EXPECT_THAT(went, IsEmpty());
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_THAT(said[0], HasSubstr("n1 waits for place 1 in limit workers (1 of 1: 1 unknown on n3"));
  cordon("n3", false);
  time.run_for(io::minutes{2});
  EXPECT_THAT(went, ElementsAre("n1"));
  cordon("n1", false);
  limits.give_up("n1");
  time.run_for(io::minutes{2});
  EXPECT_THAT(went, ElementsAre("n1", "n2"));
}

TEST_F(DrainLimitsTest, WhatItHasCordonedBeforeIsDrainedOn) {
  limit(R"({"type":"node","maxUnavailable":1})");
  cordon("n3", true);
  cordon("n1", true);
  kube::Node repeated = node("n1");
  const drain::NodeChange change = drain::hold(
      repeated, session.owner, {.id = "u", .since = session.now(), .items = {.cordon = true}}, session.atoms);
  cluster.api.merge(path("n1"), parsed(change.merge_patch(repeated.version)));
  DrainLimits limits(session, 500);
  ASSERT_TRUE(find(limits));
  EXPECT_EQ(limits.foresee(node("n1")), "");
  EXPECT_THAT(limits.foresee(node("n2")), HasSubstr("waits for place 1 in limit workers (2 of 1: "));
}

TEST_F(DrainLimitsTest, ARehearsalCountsItsOwnNodes) {
  limit(R"({"type":"node","maxUnavailable":1})");
  DrainLimits limits(session, 500);
  ASSERT_TRUE(find(limits));
  EXPECT_EQ(limits.foresee(node("n1")), "");
  EXPECT_THAT(limits.foresee(node("n2")),
              HasSubstr("waits for place 1 in limit workers (1 of 1: 1 terminal ana@host on n1"));
}

TEST_F(DrainLimitsTest, WithoutTheRightToReadLimitsItSaysSoAndGoesOn) {
  cluster.network.treat = [](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (sending.request.path.find("maintenancelimits") != std::string::npos) {
      treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "no");
    }
    return treatment;
  };
  DrainLimits limits(session, 500);
  EXPECT_TRUE(find(limits));
  EXPECT_EQ(limits.foresee(node("n1")), "");
  EXPECT_THAT(printed, HasSubstr("MaintenanceLimits may not be read: "));
}

TEST_F(DrainLimitsTest, ALimitThatCannotBeReadIsNotTakenForNone) {
  cluster.network.treat = [](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (sending.request.path.find("maintenancelimits") != std::string::npos) {
      treatment.refuse = sim::ApiServer::refusal(400, "BadRequest", "what?");
    }
    return treatment;
  };
  DrainLimits limits(session, 500);
  EXPECT_FALSE(find(limits));
  EXPECT_THAT(printed, HasSubstr("--ignore-limits drains nevertheless"));
}

}  // namespace
}  // namespace careen::app
