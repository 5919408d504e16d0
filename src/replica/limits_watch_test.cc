// MaintenanceLimits as a whole careen finds them: not served, served later, read, and not readable.
#include "replica/limits_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/requests/hosted.h"
#include "controllers/slot/kind.h"
#include "kube/cache.h"
#include "limits/desk.h"
#include "limits/limit.h"
#include "replica/test_model.h"
#include "sim/network.h"

namespace careen::replica {
namespace {

using io::minutes;
using io::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kIdleConfig = "intervals: {requeue: 30s}\nprofiles:\n- name: p\n";

class LimitsWatchTest : public ModelTest {
 protected:
  LimitsWatchTest() {
    cluster.network.treat = [this](const sim::Sending& sending) {
      sim::Treatment treatment;
      const bool about_limits = sending.request.path.find(refused_path) != std::string::npos;
      if (refuse != 0 && about_limits)
        treatment.refuse = sim::ApiServer::refusal(refuse, "No", "limits are not for you");
      return treatment;
    };
    cluster.api.put("/api/v1/nodes/n1", kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}}));
  }
  void serve() { ask("POST", controllers::kDefinitionsPath, controllers::shipped_definition("maintenancelimit")); }
  void limit(const char* name, int nodes) {
    auto object = kube::Json::object({{"kind", "MaintenanceLimit"}, {"apiVersion", "repairman.k8s.io/v1"}});
    object.set({"metadata", "name"}, name).set({"spec", "type"}, "node").set({"spec", "maxUnavailable"}, nodes);
    ask("POST", limits::kLimitResource.path(), object);
  }
  Replica& start() {
    careen.emplace(time, cluster, kIdleConfig);
    return careen->replica();
  }
  limits::Desk& desk() { return *careen->replica().limits(); }
  bool allows(limits::Rank rank = limits::Rank::campaign) {
    return desk().ask({"n1", "profile/p", "profile/p", rank, careen->replica().now()}).allowed;
  }
  bool soon_allows(bool wanted, io::Duration within) {
    return time.run_until([&] { return allows() == wanted; }, within);
  }
  std::string problem() {
    const auto& open = careen->replica().problems().open();
    const auto it = open.find("limits");
    return it == open.end() ? "" : it->second;
  }

  int refuse = 0;  // with this code, what is about limits
  std::string refused_path = "repairman.k8s.io";
};

TEST_F(LimitsWatchTest, WhereTheKindIsNotServedThereAreNoLimits) {
  start();
  EXPECT_FALSE(allows()) << "not before it is known";
  ASSERT_TRUE(soon_allows(true, seconds{10}));
  EXPECT_TRUE(careen->replica().problems().open().empty());
  EXPECT_FALSE(desk().limited("n1"));
}

TEST_F(LimitsWatchTest, LimitsCountFromTheStart) {
  serve();
  limit("workers", 0);
  start();
  ASSERT_TRUE(time.run_until([&] { return desk().is_known(); }, seconds{30}));
  EXPECT_FALSE(allows());
  EXPECT_NE(desk().find("workers"), nullptr);
  EXPECT_EQ(careen->replica().limit_objects()->size(), 1u);
  EXPECT_THAT(careen->replica().metrics().expose(), HasSubstr("careen_limit_cap{group=\"\",limit=\"workers\"} 0"));
}

// Requests that run have places, and nobody else tells of them.
TEST_F(LimitsWatchTest, NothingIsAdmittedBeforeItIsKnownWhichRequestsRun) {
  serve();
  for (const char* const name : {"maintenancerequest", "maintenanceselector"})
    ask("POST", controllers::kDefinitionsPath, controllers::shipped_definition(name));
  limit("workers", 1);
  refuse = 503;
  refused_path = "maintenancerequests";
  ModelProcessOptions options;
  options.controllers.push_back(requests::kind().usual());
  careen.emplace(time, cluster, kIdleConfig, options);
  time.run_for(minutes{1});
  EXPECT_FALSE(allows());
  EXPECT_THAT(desk()
                  .ask({"n1", "profile/p", "profile/p", limits::Rank::campaign, careen->replica().now()},
                       limits::Desk::Detail::text)
                  .text,
              HasSubstr("who has places"));
  refuse = 0;
  EXPECT_TRUE(soon_allows(true, minutes{2}));
}

TEST_F(LimitsWatchTest, TheyAreFoundWhenTheyAreServedLaterAndGoneWhenTheKindIs) {
  start();
  ASSERT_TRUE(soon_allows(true, seconds{10}));
  serve();
  limit("workers", 0);
  ASSERT_TRUE(soon_allows(false, seconds{40}));
  time.run_for(minutes{1});
  EXPECT_FALSE(allows());
  ask("DELETE", std::string(controllers::kDefinitionsPath) + "/maintenancelimits.repairman.k8s.io",
      kube::Json::object());
  ASSERT_TRUE(soon_allows(true, minutes{2}));
  time.run_for(minutes{2});
  EXPECT_TRUE(allows());
  EXPECT_TRUE(careen->replica().problems().open().empty());
}

TEST_F(LimitsWatchTest, WhatCannotBeReadAdmitsNothing) {
  serve();
  refuse = 500;
  refused_path = "maintenancelimits";
  start();
  time.run_for(minutes{10});
  EXPECT_FALSE(allows());
  EXPECT_THAT(problem(), HasSubstr("no node is admitted to any maintenance until it can be"));
  refuse = 0;
  ASSERT_TRUE(soon_allows(true, minutes{2}));
  EXPECT_EQ(problem(), "");
}

TEST_F(LimitsWatchTest, AMissingRightIsGivenUpAfterMinutes) {
  serve();
  refuse = 403;
  refused_path = "maintenancelimits";
  start();
  time.run_for(minutes{2});
  EXPECT_FALSE(allows());
  EXPECT_THAT(problem(), HasSubstr("or has been refused for 3m"));
  ASSERT_TRUE(soon_allows(true, minutes{2}));
  EXPECT_THAT(problem(), HasSubstr("careen goes on as if there were none until it may list and watch"));
  limit("workers", 0);
  refuse = 0;
  ASSERT_TRUE(soon_allows(false, minutes{3}));
  time.run_for(seconds{5});
  EXPECT_EQ(problem(), "");
}

TEST_F(LimitsWatchTest, WhoTakesTheRightAwayRaisesNoLimit) {
  serve();
  limit("workers", 0);
  start();
  ASSERT_TRUE(time.run_until([&] { return desk().is_known(); }, seconds{30}));
  refuse = 403;
  cluster.network.end_streams();
  time.run_for(minutes{10});
  EXPECT_TRUE(desk().is_known());
  EXPECT_FALSE(allows());
  EXPECT_THAT(problem(), HasSubstr("with the limits that it knew"));
}

TEST_F(LimitsWatchTest, AServerThatDoesNotAnswerMakesNoLimitsWhereThereWereNone) {
  start();
  ASSERT_TRUE(soon_allows(true, seconds{10}));
  refuse = 503;
  time.run_for(minutes{2});
  EXPECT_TRUE(allows());
}

}  // namespace
}  // namespace careen::replica
