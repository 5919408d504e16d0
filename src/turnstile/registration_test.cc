// The API server is asked to ask, and only while some limit makes others wait.
#include "turnstile/registration.h"

#include "limits/test_desk.h"
#include "limits/webhook_state.h"

namespace careen::turnstile {
namespace {

using io::minutes;
using io::seconds;
using kube::Json;
using limits::WebhookState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kPath = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/careen-limits";

class RegistrationTest : public testing::Test, public limits::DeskWorld {
 protected:
  void SetUp() override {
    // The model does not know the kind by itself.
    api.put(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        *Json::parse(R"({"metadata":{"name":"validatingwebhookconfigurations.admissionregistration.k8s.io",
              "annotations":{"api-approved.kubernetes.io":"unapproved, a test"}},
              "spec":{"group":"admissionregistration.k8s.io","scope":"Cluster",
              "names":{"plural":"validatingwebhookconfigurations","singular":"validatingwebhookconfiguration",
              "kind":"ValidatingWebhookConfiguration","listKind":"ValidatingWebhookConfigurationList"},
              "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
              "x-kubernetes-preserve-unknown-fields":true}}}]}})"));
    open();
    open_registration();
    work.spawn(registration->run());
    time.run_for(seconds{3});
  }
  void TearDown() override { work.cancel(); }
  void open_unreachable() {
    registration.emplace(RegistrationParts{*loop, client, client, *desk, state, metrics, problems, random, io::Log{}},
                         "careen-limits");
  }
  void open_registration() {
    open_unreachable();
    registration->reach([this](const std::string& path) -> io::Result<Json> {
      if (authority.empty()) return io::fail(io::ErrorKind::file, "ca.crt cannot be read");
      return Json::object({{"caBundle", authority}, {"service", Json::object({{"name", "careen"}, {"path", path}})}});
    });
  }
  void mode(const std::string& mode) {
    limit("workers", R"({"type":"node","maxUnavailable":1,"mode":")" + mode + R"("})");
    time.run_for(seconds{3});
  }
  std::vector<std::string> registered() {
    std::vector<std::string> names;
    const Json there = api.object(kPath);
    there["webhooks"].for_each_element([&](kube::JsonView webhook) {
      EXPECT_EQ(webhook["failurePolicy"].text(), "Ignore");
      EXPECT_EQ(webhook["timeoutSeconds"].integer(), 1);
      EXPECT_EQ(webhook["sideEffects"].text(), "NoneOnDryRun");
      EXPECT_EQ(webhook["clientConfig"]["caBundle"].text(), authority);
      names.emplace_back(webhook["rules"].at("/0/resources/0").text().value_or("?"));
    });
    return names;
  }

  std::string authority = "Q0E=";
  WebhookState state;
  std::optional<Registration> registration;
  io::Scope work{*loop};
};

TEST_F(RegistrationTest, NobodyIsAskedWhereAllLimitsObserve) {
  EXPECT_THAT(registered(), IsEmpty());
  mode("Observe");
  EXPECT_THAT(registered(), IsEmpty());
  EXPECT_EQ(state.is(), WebhookState::Is::unwanted);
  mode("Queue");
  EXPECT_THAT(registered(), ElementsAre("pods/eviction"));
  EXPECT_EQ(state.is(), WebhookState::Is::serving) << state.why();
  mode("Enforce");
  EXPECT_THAT(registered(), ElementsAre("pods/eviction", "nodes", "machines", "nodeclaims"));
  mode("Queue");
  EXPECT_THAT(registered(), ElementsAre("pods/eviction"));
  remove_limit("workers");
  time.run_for(seconds{3});
  EXPECT_THAT(registered(), IsEmpty());
  EXPECT_EQ(state.is(), WebhookState::Is::unwanted);
}

TEST_F(RegistrationTest, WhatAPredecessorLeftGoes) {
  work.cancel();
  api.put(kPath, Json::object({{"webhooks", Json::array()}}));
  open_registration();
  work.spawn(registration->run());
  time.run_for(seconds{3});
  EXPECT_FALSE(api.object(kPath).view().is_object());
}

// Somebody has taken --webhook-bind-address away while a limit makes others wait, or together with that limit.
TEST_F(RegistrationTest, WhoServesNoWebhookLeavesNoneRegistered) {
  mode("Queue");
  ASSERT_THAT(registered(), ElementsAre("pods/eviction"));
  const Json before = api.object(kPath);
  for (const char* now : {"Queue", "Observe"}) {
    work.cancel();
    api.put(kPath, before);
    open_unreachable();
    work.spawn(registration->run());
    mode(now);
    EXPECT_FALSE(api.object(kPath).view().is_object()) << now;
  }
  EXPECT_EQ(state.is(), WebhookState::Is::unwanted);
  mode("Queue");
  EXPECT_EQ(state.is(), WebhookState::Is::failed);
  EXPECT_THAT(state.why(), HasSubstr("--webhook-bind-address"));
}

// Nothing that it may not even see is its own.
TEST_F(RegistrationTest, WhoMayNotSeeItLeavesItAlone) {
  work.cancel();
  std::vector<std::string> asked;
  api.treat = [&](const kube::Request& request) {
    if (request.path.find("validatingwebhookconfigurations") == std::string::npos) return sim::Treatment{};
    asked.push_back(request.method);
    return sim::Treatment{.refuse = sim::ApiServer::refusal(403, "Forbidden", "no")};
  };
  open_unreachable();
  work.spawn(registration->run());
  mode("Queue");
  time.run_for(minutes{5});
  EXPECT_THAT(asked, ElementsAre("GET"));
}

TEST_F(RegistrationTest, WhatOthersChangeIsPutBack) {
  mode("Queue");
  api.merge(kPath, *Json::parse(R"({"webhooks":[]})"));
  time.run_for(seconds{3});
  EXPECT_THAT(registered(), ElementsAre("pods/eviction"));
  authority = "TmV3";
  time.run_for(minutes{1});
  EXPECT_THAT(registered(), ElementsAre("pods/eviction")) << "with the new authority";
}

TEST_F(RegistrationTest, AMissingRightIsToldAndNothingElseChanges) {
  api.treat = [](const kube::Request& request) {
    if (request.path.find("validatingwebhookconfigurations") == std::string::npos) return sim::Treatment{};
    return sim::Treatment{.refuse = sim::ApiServer::refusal(403, "Forbidden", "no")};
  };
  mode("Queue");
  EXPECT_EQ(state.is(), WebhookState::Is::failed);
  EXPECT_THAT(state.why(), HasSubstr("careen-limits cannot be written"));
  EXPECT_TRUE(problems.open().contains(std::string(Registration::kProblem)));
  api.treat = nullptr;
  time.run_for(minutes{1});
  EXPECT_EQ(state.is(), WebhookState::Is::serving) << state.why();
  EXPECT_FALSE(problems.open().contains(std::string(Registration::kProblem)));
}

TEST_F(RegistrationTest, WithoutAnAuthorityNobodyIsAsked) {
  authority.clear();
  mode("Queue");
  EXPECT_THAT(registered(), IsEmpty());
  EXPECT_EQ(state.is(), WebhookState::Is::failed);
  EXPECT_THAT(state.why(), HasSubstr("ca.crt"));
}

TEST(CoversTest, TheServerMayHaveAddedItsDefaults) {
  const auto covers_it = [](const char* there, const char* wanted) {
    return covers(Json::parse(there)->view(), Json::parse(wanted)->view());
  };
  EXPECT_TRUE(covers_it(R"({"a":1,"b":[{"c":"x","d":2}]})", R"({"b":[{"c":"x"}]})"));
  EXPECT_FALSE(covers_it(R"({"b":[{"c":"x"},{"c":"y"}]})", R"({"b":[{"c":"x"}]})"));
  EXPECT_FALSE(covers_it(R"({"b":[{"c":"z"}]})", R"({"b":[{"c":"x"}]})"));
  EXPECT_FALSE(covers_it(R"({})", R"({"b":[]})"));
  EXPECT_FALSE(covers_it(R"({"b":3})", R"({"b":{"c":1}})"));
}

}  // namespace
}  // namespace careen::turnstile
