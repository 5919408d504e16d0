#include "controllers/nodemaintenance/webhook.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>

#include "io/metrics.h"
#include "io/random.h"
#include "io/sync.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "sim/test_api.h"

namespace careen::nodemaintenance {
namespace {

using kube::AdmissionRequest;
using kube::AdmissionVerdict;
using kube::Json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kMaintenances = "/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances/";

Json json(const std::string& text) {
  auto parsed = Json::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? std::move(*parsed) : Json();
}

Json maintenance(const std::string& name, const std::string& node) {
  return json(fmt::format(R"({{"apiVersion":"nodemaintenance.medik8s.io/v1beta1","kind":"NodeMaintenance",
                               "metadata":{{"name":"{}"}},"spec":{{"nodeName":"{}"}}}})",
                          name, node));
}

AdmissionRequest creation(const std::string& name, const std::string& node, const std::string& peer = "api") {
  AdmissionRequest request;
  request.peer = peer;
  request.uid = "u";
  request.operation = "CREATE";
  request.name = name;
  request.object = maintenance(name, node);
  return request;
}

class WebhookTest : public testing::Test {
 protected:
  WebhookTest() {
    put_node("worker");
    exists("unrelated", "elsewhere");
  }

  void put_node(const std::string& name, const std::string& labels = "{}", const std::string& ready = "True",
                bool unschedulable = false) {
    api.put("/api/v1/nodes/" + name, json(fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"labels":{}}},
                                 "spec":{{"unschedulable":{}}},
                                 "status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
                                                      labels, unschedulable, ready)));
  }
  void put_master(const std::string& name, const std::string& ready = "True", bool unschedulable = false) {
    put_node(name, R"({"node-role.kubernetes.io/control-plane":""})", ready, unschedulable);
  }
  void exists(const std::string& name, const std::string& node) {
    api.put(kMaintenances + name, maintenance(name, node));
  }

  static io::Task<void> keep(io::Task<AdmissionVerdict> task, std::optional<AdmissionVerdict>& out) {
    out = co_await std::move(task);
  }
  AdmissionVerdict judge(AdmissionRequest request, io::Duration within = io::seconds{14}) {
    return judge(webhook, request, within);
  }
  AdmissionVerdict judge(Webhook& by, const AdmissionRequest& request, io::Duration within = io::seconds{14}) {
    std::optional<AdmissionVerdict> out;
    io::Scope scope(*loop);
    scope.spawn(keep(by.judge(request), out));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, within)) << "no verdict in time";
    return out.value_or(AdmissionVerdict::error(0, "none"));
  }
  AdmissionVerdict create(const std::string& name, const std::string& node) { return judge(creation(name, node)); }
  // Requests whose path has this text are answered so.
  void refuse(const std::string& path, int code, const std::string& reason) {
    api.treat = [=](const kube::Request& request) {
      sim::Treatment treatment;
      if (request.path.find(path) != std::string::npos) {
        treatment.refuse = sim::ApiServer::refusal(code, reason, "it is broken");
      }
      return treatment;
    };
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  io::Random random{1};
  sim::TestApi api{*loop};
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  kube::Client client{*loop, *transport, metrics, random};
  Webhook webhook{client, {}};
};

auto unanswered(const std::vector<std::optional<AdmissionVerdict>>& verdicts) {
  return std::count_if(verdicts.begin(), verdicts.end(), [](const auto& one) { return !one; });
}

void expect_denied(const AdmissionVerdict& verdict, const std::string& message) {
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.code, 403);
  EXPECT_EQ(verdict.reason, "Forbidden");
  EXPECT_EQ(verdict.message, message);
}

TEST_F(WebhookTest, ANodeWithoutMaintenanceMayHaveOne) {
  const auto verdict = create("a", "worker");
  EXPECT_TRUE(verdict.allowed) << verdict.message;
  EXPECT_EQ(verdict.code, 200);
}

TEST_F(WebhookTest, TheNodeHasToExist) {
  expect_denied(create("a", "nowhere"), "invalid nodeName, no node with name nowhere found");
  expect_denied(create("a", ""), "invalid nodeName, no node with name  found");
  AdmissionRequest without_spec = creation("a", "x");
  without_spec.object = json(R"({"metadata":{"name":"a"}})");
  expect_denied(judge(std::move(without_spec)), "invalid nodeName, no node with name  found");
  put_node("nowhere");
  EXPECT_TRUE(create("a", "nowhere").allowed);
}

TEST_F(WebhookTest, FailedReadsAreToldWithTheirReason) {
  refuse("/api/v1/nodes/", 403, "Forbidden");
  expect_denied(create("a", "worker"),
                "could not get node for validating spec.NodeName, please try again: could not get node: it is broken");
  refuse("nodemaintenances", 403, "Forbidden");
  expect_denied(create("a", "worker"),
                "could not list NodeMaintenances for validating spec.NodeName, please try again: it is broken");
}

TEST_F(WebhookTest, AServerThatDoesNotAnswerEndsInTime) {
  api.treat = [](const kube::Request&) {
    sim::Treatment treatment;
    treatment.lost = true;
    return treatment;
  };
  EXPECT_THAT(create("a", "worker").message, HasSubstr("could not get node for validating"));
}

TEST_F(WebhookTest, OneMaintenanceANode) {
  exists("first", "worker");
  expect_denied(create("second", "worker"), "invalid nodeName, a NodeMaintenance for node worker already exists");
  api.erase(std::string(kMaintenances) + "first");
  EXPECT_TRUE(create("second", "worker").allowed);
}

TEST_F(WebhookTest, EveryPageOfTheListCounts) {
  for (int i = 0; i < 600; ++i) exists(fmt::format("m{:03}", i), fmt::format("n{}", i));
  put_node("n599");
  EXPECT_FALSE(create("a", "n599").allowed);
  EXPECT_TRUE(create("a", "worker").allowed);
}

// Two creations at once: both see nothing, one is admitted and its object appears a moment later.
TEST_F(WebhookTest, OfTwoAtOnceTheSecondIsRefused) {
  std::optional<AdmissionVerdict> first, second;
  io::Scope scope(*loop);
  scope.spawn(keep(webhook.judge(creation("one", "worker")), first));
  scope.spawn(keep(webhook.judge(creation("two", "worker")), second));
  ASSERT_TRUE(time.run_until([&] { return first.has_value() || second.has_value(); }, io::seconds{1}));
  time.run_for(io::milliseconds{50});
  ASSERT_NE(first.has_value(), second.has_value());
  EXPECT_TRUE((first ? *first : *second).allowed);
  exists(first ? "one" : "two", "worker");
  ASSERT_TRUE(time.run_until([&] { return first.has_value() && second.has_value(); }, io::seconds{1}));
  EXPECT_NE(first->allowed, second->allowed);
  EXPECT_EQ((first->allowed ? *second : *first).message,
            "invalid nodeName, a NodeMaintenance for node worker already exists");
}

// A slow list was taken before the first one's object was there, and is judged after others have seen that object.
TEST_F(WebhookTest, AnOldListDoesNotCount) {
  int lists = 0;
  api.treat = [&](const kube::Request& request) {
    sim::Treatment treatment;
    if (request.path.find("nodemaintenances") != std::string::npos && ++lists == 1) {
      treatment.after = io::milliseconds{500};
    }
    return treatment;
  };
  std::optional<AdmissionVerdict> slow;
  io::Scope scope(*loop);
  scope.spawn(keep(webhook.judge(creation("slow", "worker")), slow));
  time.run_for(io::milliseconds{10});
  ASSERT_TRUE(create("one", "worker").allowed);
  exists("one", "worker");
  EXPECT_FALSE(create("two", "worker").allowed);
  ASSERT_FALSE(slow.has_value());
  ASSERT_TRUE(time.run_until([&] { return slow.has_value(); }, io::seconds{2}));
  EXPECT_FALSE(slow->allowed);
}

TEST_F(WebhookTest, AnAdmissionThatCameToNothingOnlyDelaysTheNext) {
  ASSERT_TRUE(create("failed", "worker").allowed);
  // The same name can be tried again at once.
  const io::Steady begun = loop->now();
  EXPECT_TRUE(create("failed", "worker").allowed);
  EXPECT_LT(loop->now() - begun, io::milliseconds{50});
  // Another one waits until the first cannot come any more.
  EXPECT_TRUE(create("other", "worker").allowed);
  EXPECT_GE(loop->now() - begun, io::seconds{5});
  EXPECT_LE(loop->now() - begun, io::seconds{7});
}

TEST_F(WebhookTest, AnObjectThatWasSeenIsNoLongerAwaited) {
  ASSERT_TRUE(create("first", "worker").allowed);
  exists("first", "worker");
  EXPECT_FALSE(create("second", "worker").allowed);
  api.erase(std::string(kMaintenances) + "first");
  const io::Steady begun = loop->now();
  EXPECT_TRUE(create("second", "worker").allowed);
  EXPECT_LT(loop->now() - begun, io::milliseconds{50});
}

TEST_F(WebhookTest, WhatWasAdmittedIsBounded) {
  Webhook small{client, {.most_on_the_way = 3}};
  for (int i = 0; i < 10; ++i) {
    put_node(fmt::format("node-{}", i));
    EXPECT_TRUE(judge(small, creation("m", fmt::format("node-{}", i))).allowed);
    time.run_for(io::milliseconds{10});
  }
  EXPECT_EQ(small.on_the_way(), 3u);
  // The latest ones are remembered.
  const io::Steady begun = loop->now();
  EXPECT_TRUE(judge(small, creation("other", "node-9")).allowed);
  EXPECT_GE(loop->now() - begun, io::seconds{4});
}

TEST_F(WebhookTest, NamesThatNoObjectCanHaveAreNeitherAskedForNorRemembered) {
  const std::string endless(100'000, 'x');
  const auto by_name = create(endless, "worker");
  EXPECT_EQ(by_name.code, 400);
  EXPECT_LT(by_name.message.size(), 1000u);
  const auto by_node = create("a", endless);
  EXPECT_EQ(by_node.code, 403);
  EXPECT_LT(by_node.message.size(), 1000u);
  AdmissionRequest odd = creation("a", "worker");
  odd.operation = endless;
  EXPECT_LT(judge(std::move(odd)).message.size(), 1000u);
  EXPECT_EQ(api.count("GET nodes"), 0);
  EXPECT_EQ(webhook.on_the_way(), 0u);
}

// Anybody who can reach the port could have a name admitted again and again.
TEST_F(WebhookTest, NobodyIsKeptWaitingByAdmissionsThatNeverCome) {
  ASSERT_TRUE(create("never", "worker").allowed);
  std::optional<AdmissionVerdict> patient;
  std::vector<std::optional<AdmissionVerdict>> again(80);
  io::Scope scope(*loop);
  scope.spawn(keep(webhook.judge(creation("patient", "worker")), patient));
  for (size_t i = 0; i < again.size() && !patient; ++i) {
    scope.spawn(keep(webhook.judge(creation("never", "worker")), again[i]));
    time.run_for(io::milliseconds{100});
    EXPECT_TRUE(again[i] && again[i]->allowed);
  }
  ASSERT_TRUE(patient);
  EXPECT_TRUE(patient->allowed) << patient->message;
}

TEST_F(WebhookTest, AFewWaitAndTheRestIsAnsweredAtOnce) {
  ASSERT_TRUE(create("first", "worker").allowed);
  std::vector<std::optional<AdmissionVerdict>> out(200);
  io::Scope scope(*loop);
  for (size_t i = 0; i < out.size(); ++i) {
    const std::string peer = fmt::format("stranger-{}", i % 20);
    scope.spawn(keep(webhook.judge(creation(fmt::format("x-{}", i), "worker", peer)), out[i]));
  }
  // Who lost a place to others learns it with the next look.
  time.run_for(io::seconds{3});
  EXPECT_EQ(unanswered(out), 32);
  // Others find a place all the same.
  std::optional<AdmissionVerdict> real;
  scope.spawn(keep(webhook.judge(creation("second", "worker", "another")), real));
  time.run_for(io::milliseconds{50});
  EXPECT_FALSE(real);
  exists("first", "worker");
  ASSERT_TRUE(time.run_until([&] { return real.has_value(); }, io::seconds{1}));
  EXPECT_FALSE(real->allowed);
  time.run_for(io::seconds{5});
  EXPECT_EQ(unanswered(out), 0);
}

TEST_F(WebhookTest, OneAddressHasAFewWaiting) {
  ASSERT_TRUE(create("first", "worker").allowed);
  std::vector<std::optional<AdmissionVerdict>> out(50);
  io::Scope scope(*loop);
  for (size_t i = 0; i < out.size(); ++i) {
    scope.spawn(keep(webhook.judge(creation(fmt::format("x-{}", i), "worker", "stranger")), out[i]));
  }
  time.run_for(io::milliseconds{50});
  EXPECT_EQ(unanswered(out), 8);
}

TEST_F(WebhookTest, ManyReviewsReadAFewAtATime) {
  int begun = 0;
  api.treat = [&](const kube::Request&) {
    ++begun;
    return sim::Treatment{.after = io::milliseconds{100}};
  };
  std::vector<std::optional<AdmissionVerdict>> out(50);
  io::Scope scope(*loop);
  for (auto& one : out) scope.spawn(keep(webhook.judge(creation("a", "worker")), one));
  time.run_for(io::milliseconds{50});
  EXPECT_EQ(begun, 8) << "none of them is answered yet";
  time.run_for(io::seconds{5});
  for (const auto& one : out) EXPECT_TRUE(one && one->allowed);
}

TEST_F(WebhookTest, ADryRunReservesNothing) {
  AdmissionRequest dry = creation("dry", "worker");
  dry.dry_run = true;
  ASSERT_TRUE(judge(std::move(dry)).allowed);
  const io::Steady begun = loop->now();
  EXPECT_TRUE(create("real", "worker").allowed);
  EXPECT_LT(loop->now() - begun, io::milliseconds{50});
}

TEST_F(WebhookTest, TheNodeOfAMaintenanceStays) {
  AdmissionRequest update = creation("a", "worker");
  update.operation = "UPDATE";
  update.old_object = maintenance("a", "worker");
  EXPECT_TRUE(judge(update).allowed);
  update.object = maintenance("a", "other");
  expect_denied(judge(update), "updating spec.NodeName isn't allowed");
  update.object = json(R"({"metadata":{"name":"a"}})");
  expect_denied(judge(update), "updating spec.NodeName isn't allowed");
  update.old_object = {};
  EXPECT_EQ(judge(update).code, 400);
}

TEST_F(WebhookTest, OtherOperations) {
  AdmissionRequest request = creation("a", "nowhere");
  request.operation = "DELETE";
  request.object = {};
  EXPECT_TRUE(judge(request).allowed);
  request.operation = "PONDER";
  EXPECT_EQ(judge(request).code, 400);
  EXPECT_EQ(judge(request).message, "unknown operation \"PONDER\"");
  request.operation = "CREATE";
  EXPECT_EQ(judge(request).code, 400);
  request.object = json(R"({"spec":{"nodeName":7}})");
  EXPECT_EQ(judge(request).code, 400);
}

// Plain Kubernetes, unless it is asked for: no protection, as with the original.
TEST_F(WebhookTest, PlainControlPlanesAreNotProtected) {
  put_master("m1");
  EXPECT_TRUE(create("a", "m1").allowed);
  EXPECT_TRUE(create("b", "worker").allowed);
}

class OpenShiftTest : public WebhookTest {
 protected:
  OpenShiftTest() {
    api.put("/apis/config.openshift.io/v1/clusterversions/version", json(R"({"metadata":{"name":"version"}})"));
    api.put("/api/v1/namespaces/openshift-etcd", json(R"({"apiVersion":"v1","kind":"Namespace"})"));
    put_node("m1", R"({"node-role.kubernetes.io/master":"x"})");
  }
  void put_budget(int allowed, const std::string& selector = R"({"matchLabels":{"app":"guard"}})",
                  const std::string& name = "etcd-guard-pdb") {
    api.put("/apis/policy/v1/namespaces/openshift-etcd/poddisruptionbudgets/" + name,
            json(fmt::format(R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","spec":{{"selector":{}}},
                                 "status":{{"disruptionsAllowed":{}}}}})",
                             selector, allowed)));
  }
  void put_guard(const std::string& node, const std::string& conditions, const std::string& app = "guard") {
    api.put("/api/v1/namespaces/openshift-etcd/pods/guard-" + node,
            json(fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"labels":{{"app":"{}"}}}},
                                 "spec":{{"nodeName":"{}","containers":[]}},"status":{{"conditions":{}}}}})",
                             app, node, conditions)));
  }
  static std::string ready(const std::string& status) {
    return fmt::format(R"([{{"type":"Ready","status":"{}"}}])", status);
  }
  const std::string kQuorum =
      "can not put master/control-plane node into maintenance at this moment, disrupting node m1 will violate etcd "
      "quorum";
};

TEST_F(OpenShiftTest, WorkersAreNotTheControlPlane) { EXPECT_TRUE(create("a", "worker").allowed); }

TEST_F(OpenShiftTest, ExactlyOneBudgetDecides) {
  expect_denied(create("a", "m1"), kQuorum);
  put_budget(1);
  EXPECT_TRUE(create("a", "m1").allowed);
  put_budget(1, "{}", "another");
  expect_denied(create("a", "m1"), kQuorum);
}

TEST_F(OpenShiftTest, WithoutDisruptionsTheGuardOfTheNodeDecides) {
  put_budget(0);
  EXPECT_TRUE(create("a", "m1").allowed) << "no guard there";
  put_guard("m2", ready("True"));
  EXPECT_TRUE(create("a", "m1").allowed) << "another node's guard";
  put_guard("m1", ready("True"), "unrelated");
  EXPECT_TRUE(create("a", "m1").allowed) << "not what the budget selects";
  put_guard("m1", ready("True"));
  expect_denied(create("a", "m1"), kQuorum);
  put_guard("m1", ready("Unknown"));
  expect_denied(create("a", "m1"), kQuorum);
  put_guard("m1", ready("False"));
  EXPECT_TRUE(create("a", "m1").allowed);
  put_guard("m1", "[]");
  EXPECT_TRUE(create("a", "m1").allowed);
}

TEST_F(OpenShiftTest, AStatusOfTheServerIsPassedOn) {
  put_budget(0, R"({"matchExpressions":[{"key":"app","operator":"Exists"}]})");
  expect_denied(create("a", "m1"), "operator \"Exists\" cannot be converted into the old label selector format");
  refuse("poddisruptionbudgets", 403, "Forbidden");
  const auto verdict = create("a", "m1");
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.status["kind"].text(), "Status");
  EXPECT_EQ(verdict.status["message"].text(), "it is broken");
}

TEST_F(OpenShiftTest, TheKindOfClusterIsAskedForOnce) {
  refuse("/apis", 500, "InternalError");
  EXPECT_FALSE(create("a", "m1").allowed);
  int asked = 0;
  api.treat = [&](const kube::Request& request) {
    if (request.path == "/apis") ++asked;
    return sim::Treatment{};
  };
  put_budget(1);
  EXPECT_TRUE(create("a", "m1").allowed);
  EXPECT_TRUE(create("a", "m1").allowed);
  EXPECT_EQ(asked, 1);
}

TEST(PlainSelectorTest, OnlyWhatAMapCanSay) {
  const auto of = [](const std::string& text) { return plain_selector(json(text).view()); };
  EXPECT_EQ(*plain_selector({}), "");
  EXPECT_EQ(*of("null"), "");
  EXPECT_EQ(*of(R"({"matchLabels":{"b":"2","a":"1"}})"), "a=1,b=2");
  EXPECT_EQ(*of(R"({"matchLabels":{"a":"1"},"matchExpressions":[{"key":"a","operator":"In","values":["3"]}]})"), "a=3");
  EXPECT_THAT(of(R"({"matchExpressions":[{"key":"a","operator":"In","values":["1","2"]}]})").error().message,
              HasSubstr("without a single value"));
  EXPECT_THAT(of(R"({"matchExpressions":[{"key":"a","operator":"Near"}]})").error().message,
              HasSubstr("\"Near\" is not a valid selector operator"));
}

class ProtectedTest : public WebhookTest {
 protected:
  ProtectedTest() : guarded(client, {.protect_control_plane = true}) {
    for (const char* name : {"m1", "m2", "m3"}) put_master(name);
  }
  AdmissionVerdict ask(const std::string& name, const std::string& node) {
    std::optional<AdmissionVerdict> out;
    io::Scope scope(*loop);
    scope.spawn(keep(guarded.judge(creation(name, node)), out));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, io::seconds{14}));
    return *out;
  }
  Webhook guarded;
};

TEST_F(ProtectedTest, OneOfThreeMayGo) {
  EXPECT_TRUE(ask("a", "m1").allowed);
  exists("a", "m1");
  EXPECT_THAT(ask("b", "m2").message,
              AllOf(HasSubstr("disrupting node m2 would leave 1 of 3 control-plane nodes, and 2 are needed"),
                    HasSubstr("already away: m1 (in maintenance)")));
  EXPECT_TRUE(ask("c", "worker").allowed);
}

// The first one's object appears a moment later: the second is refused then.
TEST_F(ProtectedTest, OfTwoAtOnceTheSecondIsRefused) {
  std::optional<AdmissionVerdict> first, second;
  io::Scope scope(*loop);
  scope.spawn(keep(guarded.judge(creation("a", "m1")), first));
  scope.spawn(keep(guarded.judge(creation("b", "m2")), second));
  time.run_for(io::milliseconds{50});
  ASSERT_NE(first.has_value(), second.has_value());
  EXPECT_TRUE((first ? *first : *second).allowed);
  first ? exists("a", "m1") : exists("b", "m2");
  ASSERT_TRUE(time.run_until([&] { return first.has_value() && second.has_value(); }, io::seconds{1}));
  EXPECT_NE(first->allowed, second->allowed);
  EXPECT_THAT((first->allowed ? *second : *first).message, HasSubstr("(in maintenance)"));
}

TEST_F(ProtectedTest, AnAdmissionThatCameToNothingOnlyDelaysTheNext) {
  ASSERT_TRUE(ask("made-up", "m1").allowed);
  const io::Steady begun = loop->now();
  const auto verdict = ask("real", "m2");
  EXPECT_TRUE(verdict.allowed) << verdict.message;
  EXPECT_GE(loop->now() - begun, io::seconds{4}) << "it might have come";
  EXPECT_LE(loop->now() - begun, io::seconds{7});
}

// What is away already is not waited for.
TEST_F(ProtectedTest, WhatIsOnTheWayIsWaitedForOnlyIfItDecides) {
  put_master("m3", "True", true);
  ASSERT_FALSE(ask("a", "m1").allowed);
  ASSERT_TRUE(ask("on-its-way", "worker").allowed);
  const io::Steady begun = loop->now();
  EXPECT_FALSE(ask("b", "m2").allowed);
  EXPECT_LT(loop->now() - begun, io::milliseconds{50});
}

// Both have waited for one that does not come; then one of them goes, and the other sees its object.
TEST_F(ProtectedTest, OfTwoWhoHaveWaitedOneGoes) {
  for (const auto apart : {io::milliseconds{1}, io::milliseconds{60}, io::milliseconds{700}}) {
    Webhook anew{client, {.protect_control_plane = true}};
    ASSERT_TRUE(judge(anew, creation("made-up", "m1")).allowed);
    std::optional<AdmissionVerdict> first, second;
    io::Scope scope(*loop);
    scope.spawn(keep(anew.judge(creation("b", "m2")), first));
    time.run_for(apart);
    scope.spawn(keep(anew.judge(creation("c", "m3")), second));
    ASSERT_TRUE(time.run_until([&] { return first.has_value() || second.has_value(); }, io::seconds{8}));
    time.run_for(io::milliseconds{300});
    ASSERT_NE(first.has_value(), second.has_value()) << "one after the other";
    first ? exists("b", "m2") : exists("c", "m3");
    ASSERT_TRUE(time.run_until([&] { return first.has_value() && second.has_value(); }, io::seconds{8}));
    EXPECT_NE(first->allowed, second->allowed);
    api.erase(std::string(kMaintenances) + (first->allowed ? "b" : "c"));
  }
}

// Somebody who can reach the port has one after the other admitted that never appears, from a few addresses.
TEST_F(ProtectedTest, MadeUpAdmissionsWithoutEndOnlyDelay) {
  std::list<std::optional<AdmissionVerdict>> made_up;
  std::optional<AdmissionVerdict> real;
  io::Scope scope(*loop);
  const auto attack = [&](int i) {
    const AdmissionRequest request =
        creation(i % 3 == 0 ? "same" : fmt::format("x-{}", i), i % 2 ? "m1" : "m3", fmt::format("stranger-{}", i % 5));
    scope.spawn(keep(guarded.judge(request), made_up.emplace_back()));
    time.run_for(io::milliseconds{50});
  };
  for (int i = 0; i < 200; ++i) attack(i);
  const io::Steady begun = loop->now();
  scope.spawn(keep(guarded.judge(creation("real", "m2")), real));
  for (int i = 0; i < 280 && !real; ++i) attack(i);
  ASSERT_TRUE(real);
  EXPECT_TRUE(real->allowed) << real->message;
  EXPECT_LE(loop->now() - begun, io::seconds{12});
}

// Many at once for nodes of the control plane: who finds no place to wait is refused, not let through.
TEST_F(ProtectedTest, WithoutAPlaceWhatIsOnTheWayDecides) {
  ASSERT_TRUE(ask("a", "m1").allowed);
  std::vector<std::optional<AdmissionVerdict>> out(20);
  io::Scope scope(*loop);
  for (size_t i = 0; i < out.size(); ++i) {
    scope.spawn(keep(guarded.judge(creation(fmt::format("b-{}", i), "m2")), out[i]));
  }
  time.run_for(io::milliseconds{50});
  EXPECT_EQ(unanswered(out), 8);
  exists("a", "m1");
  time.run_for(io::seconds{1});
  for (const auto& one : out) EXPECT_TRUE(one && !one->allowed);
  EXPECT_THAT(out.back()->message, HasSubstr("m1 (its maintenance was admitted a moment ago)"));
}

TEST_F(ProtectedTest, SickNodesAreAwayToo) {
  put_master("m3", "Unknown");
  EXPECT_THAT(ask("a", "m1").message, HasSubstr("m3 (not ready)"));
  EXPECT_TRUE(ask("a", "m3").allowed) << "it does not work anyway";
  put_master("m3", "True", true);
  time.run_for(io::seconds{6});
  EXPECT_THAT(ask("a", "m1").message, HasSubstr("m3 (unschedulable)"));
}

TEST_F(ProtectedTest, AControlPlaneOfOneOrTwoCannotSpareAny) {
  api.erase("/api/v1/nodes/m3");
  EXPECT_THAT(ask("a", "m1").message, HasSubstr("would leave 1 of 2 control-plane nodes"));
  api.erase("/api/v1/nodes/m2");
  EXPECT_THAT(ask("a", "m1").message, HasSubstr("would leave 0 of 1 control-plane nodes"));
}

}  // namespace
}  // namespace careen::nodemaintenance
