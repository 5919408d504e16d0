// What careen as /manager asks the API server, and that it waits for the answers.
#include "commands/manager_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics.h"
#include "io/random.h"
#include "io/test_log.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/json.h"
#include "kube/scripted_transport.h"

namespace careen::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kServed = R"({"kind": "APIResourceList", "resources": [{"name": "maintenancelimits"}]})";

class ManagerQuestions : public testing::Test {
 protected:
  void allow(bool allowed) {
    transport.answer(201, allowed ? R"({"status": {"allowed": true}})" : R"({"status": {"allowed": false}})");
  }
  std::optional<ManagerSurroundings> ask(io::Duration within = io::minutes{1}) {
    std::optional<ManagerSurroundings> found;
    io::Scope scope(*loop);
    scope.spawn(io::keep(ask_surroundings(client, "ops", io::Log(log, "setup")), found));
    time.run_until([&] { return found.has_value(); }, within);
    return found;
  }
  kube::Json asked(size_t request) { return *kube::Json::parse(transport.requests.at(request).body); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  kube::ScriptedTransport transport{*loop};
  io::Metrics metrics;
  io::Random random{1};
  kube::Client client{*loop, transport, metrics, random};
  std::shared_ptr<io::LogLines> log = std::make_shared<io::LogLines>();
};

TEST_F(ManagerQuestions, WhatIsServedAndWhatMayBeDone) {
  transport.answer(200, kServed);
  for (const bool allowed : {true, false, true, true, true, false}) allow(allowed);
  const auto found = ask();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ns, "ops");
  EXPECT_TRUE(found->serves_limits);
  EXPECT_TRUE(found->may_update_limits);
  EXPECT_FALSE(found->may_list_pods);
  EXPECT_TRUE(found->may_lock);
  EXPECT_FALSE(found->may_pause);
  ASSERT_EQ(transport.requests.size(), 7u);
  EXPECT_EQ(transport.requests[0].path, "/apis/repairman.k8s.io/v1");
  EXPECT_EQ(transport.requests[1].path, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?fieldManager=careen");
  EXPECT_EQ(asked(1)["spec"]["resourceAttributes"].dump(),
            R"({"verb":"update","group":"repairman.k8s.io","resource":"maintenancelimits","subresource":"status"})");
  EXPECT_EQ(asked(2)["spec"]["resourceAttributes"].dump(), R"({"verb":"list","resource":"pods"})");
  EXPECT_EQ(asked(5)["spec"]["resourceAttributes"].dump(),
            R"({"verb":"update","resource":"configmaps","namespace":"ops"})");
  EXPECT_EQ(asked(6)["spec"]["resourceAttributes"].dump(),
            R"({"verb":"list","group":"coordination.k8s.io","resource":"leases","namespace":"ops",)"
            R"("name":"careen-pause"})");
}

TEST_F(ManagerQuestions, AGroupThatIsNotServedOrHasOtherKindsIsAnAnswer) {
  for (const int status : {404, 200}) {
    transport.answer(status, R"({"kind": "Status", "message": "not found", "resources": [{"name": "others"}]})");
    for (int i = 0; i < 2; ++i) allow(false);
    allow(false);  // no ConfigMap can be read, so nothing more is asked about them
    allow(false);
    const auto found = ask();
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->serves_limits);
    EXPECT_FALSE(found->may_lock);
  }
}

TEST_F(ManagerQuestions, AServerThatDoesNotAnswerIsAskedAgainAndTheLogSaysSoOnce) {
  for (int i = 0; i < 3; ++i) transport.answer(403, R"({"kind": "Status", "message": "starting"})");
  EXPECT_FALSE(ask(io::seconds{10})) << "nothing is guessed meanwhile";
  EXPECT_THAT(log->lines, ElementsAre(HasSubstr("without an answer: starting")));
  transport.requests.clear();

  transport.answer(200, kServed);
  transport.answer(201, R"({"status": {"allowed": false, "evaluationError": "webhook timed out"}})");
  for (int i = 0; i < 6; ++i) allow(true);
  const auto found = ask();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->may_update_limits) << "a refusal by half of the authorizers is none";
  EXPECT_THAT(log->lines.back(), HasSubstr("webhook timed out"));
}

}  // namespace
}  // namespace careen::app
