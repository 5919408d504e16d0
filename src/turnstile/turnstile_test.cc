// What the API server is told, by a replica that leads and by one that does not.
#include "turnstile/turnstile.h"

#include "kube/events.h"
#include "kube/node_decoder.h"
#include "kube/pod_store.h"
#include "limits/test_desk.h"

namespace careen::turnstile {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using kube::AdmissionRequest;
using kube::AdmissionVerdict;
using kube::Json;
using limits::NodeSpec;
using testing::HasSubstr;

constexpr const char* kSelf = "system:serviceaccount:careen:careen";

class TurnstileTest : public testing::Test, public limits::DeskWorld {
 protected:
  void SetUp() override {
    for (const char* name : {"n1", "n2", "n3"}) {
      node(name);
      pod(std::string("p-") + name, name);
    }
    limit("workers", R"({"type":"node","maxUnavailable":1,"mode":"Queue"})");
    open();
    places.emplace(limits::ForeignPlaces::Parts{*loop, nodes, *desk, *ledger});
    places->take_over();
    work.spawn(places->run());
    turnstile.emplace(parts());
    work.spawn(turnstile->run());
    time.settle();
  }
  void TearDown() override { work.cancel(); }
  TurnstileParts parts() {
    return {.loop = *loop,
            .reader = client,
            .decoder = decoder,
            .nodes = nodes,
            .pods = pods,
            .desk = *desk,
            .places = *places,
            .events = events,
            .metrics = metrics,
            .problems = problems,
            .break_glass_group = "site-reliability",
            .decides = [this] { return leads; },
            .knows_nodes = [this] { return nodes_known; },
            .knows_pods = [this] { return pods_known; },
            .ask_leader = [this](std::string path, std::string review) { return leader(path, std::move(review)); }};
  }
  io::Task<io::Result<std::string>> leader(std::string path, std::string review) {
    asked.push_back(path + " " + review);
    if (leader_takes > io::Duration{}) co_await io::sleep_for(*loop, leader_takes);
    if (leaders_answer.empty()) co_return io::fail(io::ErrorKind::connect, "no replica leads at the moment");
    co_return leaders_answer;
  }
  // The API server has it as well.
  void node(const std::string& name, const NodeSpec& spec = {}) {
    api.put("/api/v1/nodes/" + name, node_of(name, spec));
    DeskWorld::node(name, spec);
  }
  void pod(const std::string& name, const std::string& on) {
    kube::PodFacts facts;
    facts.ns = "shop";
    facts.name = name;
    const std::string uid = "u-" + name;
    facts.uid = uid;
    facts.version = ++version;
    facts.node = on;
    facts.phase = kube::PodPhase::running;
    pods.put(facts);
  }
  static AdmissionRequest eviction(const std::string& pod, const std::string& user = "ana") {
    AdmissionRequest request;
    request.operation = "CREATE";
    request.ns = "shop";
    request.name = pod;
    request.user = user;
    request.object = Json::object({{"kind", "Eviction"}});
    return request;
  }
  AdmissionRequest cordoning(const std::string& name, const std::string& user = "ana") {
    AdmissionRequest request;
    request.operation = "UPDATE";
    request.name = name;
    request.user = user;
    request.object = node_of(name, {.cordoned_by = "kubectl"});
    return request;
  }
  static io::Task<void> keep(io::Task<AdmissionVerdict> task, std::optional<AdmissionVerdict>& out) {
    out = co_await std::move(task);
  }
  AdmissionVerdict wait_for(io::Task<AdmissionVerdict> task) {
    std::optional<AdmissionVerdict> verdict;
    io::Scope scope(*loop);
    scope.spawn(keep(std::move(task), verdict));
    const io::Steady begun = loop->now();
    EXPECT_TRUE(time.run_until([&] { return verdict.has_value(); }, minutes{1}));
    EXPECT_LT(loop->now() - begun, seconds{1}) << "the API server waits no longer";
    return verdict.value_or(AdmissionVerdict{});
  }
  AdmissionVerdict evict(const std::string& pod, const std::string& user = "ana") {
    return wait_for(turnstile->judge_eviction(eviction(pod, user)));
  }
  AdmissionVerdict cordon(const AdmissionRequest& request) { return wait_for(turnstile->judge_cordon(request)); }
  double answers(const char* answer) {
    return metrics.counter("careen_limit_webhook_answers_total", "", {{"answer", answer}}).value();
  }
  double open_shown() { return metrics.gauge("careen_limit_webhook_open", "").value(); }
  void enforce() {
    limit("workers", R"({"type":"node","maxUnavailable":1,"mode":"Enforce"})");
    time.settle();
  }
  std::vector<std::string> told() {
    std::vector<std::string> out;
    std::swap(out, notes);
    return out;
  }

  kube::NodeDecoder decoder{atoms};
  kube::PodStore pods{atoms};
  kube::EventRecorder events{*loop, client, metrics, problems, "here"};
  std::vector<std::string> notes;
  std::vector<std::string> asked;
  std::string leaders_answer;
  io::Duration leader_takes{};
  bool leads = true;
  bool nodes_known = true, pods_known = true;
  io::Scope work{*loop};
  std::optional<limits::ForeignPlaces> places;
  std::optional<Turnstile> turnstile;
};

TEST_F(TurnstileTest, TheAnswerIsThatOfAFullBudgetWithTheReason) {
  node("n1", {.cordoned_by = "kubectl"});
  EXPECT_TRUE(evict("p-n1").allowed);
  node("n2", {.cordoned_by = "kubectl"});
  const AdmissionVerdict no = evict("p-n2");
  EXPECT_FALSE(no.allowed);
  EXPECT_EQ(no.code, 429);
  EXPECT_EQ(no.reason, "TooManyRequests");
  EXPECT_THAT(no.message, HasSubstr("limit workers"));
  EXPECT_THAT(no.message, HasSubstr("kubectl on n1"));
  EXPECT_EQ(answers("admitted"), 1);
  EXPECT_EQ(answers("waits"), 1);
}

TEST_F(TurnstileTest, WhatNobodyWaitsForPassesAtOnce) {
  node("n1", {.cordoned_by = "kubectl"});
  evict("p-n1");
  const int reads = api.count("GET nodes");
  EXPECT_TRUE(evict("unknown").allowed);
  node("n2", {.cordoned_by = "kubectl"});
  kube::PodFacts daemon;
  daemon.ns = "shop";
  daemon.name = "agent";
  daemon.uid = "u";
  daemon.version = ++version;
  daemon.node = "n2";
  daemon.flags.daemon_set = true;
  pods.put(daemon);
  EXPECT_TRUE(evict("agent").allowed);
  EXPECT_EQ(api.count("GET nodes"), reads);
  EXPECT_EQ(answers("unconcerned"), 2);
}

TEST_F(TurnstileTest, ANodeThatStaysIsReadOnceASecond) {
  const int reads = api.count("GET nodes");
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(evict("p-n1").allowed);
  EXPECT_EQ(api.count("GET nodes"), reads + 1);
  time.run_for(milliseconds{1500});
  EXPECT_TRUE(evict("p-n1").allowed);
  EXPECT_EQ(api.count("GET nodes"), reads + 2);
  EXPECT_EQ(answers("staying"), 21);
}

TEST_F(TurnstileTest, ACordonThatTheWatchHasNotToldYetIsSeen) {
  node("n1", {.cordoned_by = "kubectl"});
  evict("p-n1");
  api.put("/api/v1/nodes/n2", node_of("n2", {.cordoned_by = "kubectl"}));
  EXPECT_FALSE(evict("p-n2").allowed);
}

TEST_F(TurnstileTest, WhereTheNodeCannotBeReadNobodyGuesses) {
  api.treat = [](const kube::Request&) {
    return sim::Treatment{.refuse = sim::ApiServer::refusal(500, "InternalError", "etcd is away")};
  };
  const AdmissionVerdict no = evict("p-n1");
  EXPECT_EQ(no.code, 429);
  EXPECT_THAT(no.message, HasSubstr("cannot be read"));
}

TEST_F(TurnstileTest, ADryRunIsSeenInTheOptionsOfTheEviction) {
  node("n1", {.cordoned_by = "kubectl"});
  AdmissionRequest request = eviction("p-n1");
  request.object.set({"deleteOptions"}, Json::object({{"dryRun", Json::array({"All"})}}));
  EXPECT_TRUE(wait_for(turnstile->judge_eviction(request)).allowed);
  EXPECT_EQ(places->placed(), 0u);
}

TEST_F(TurnstileTest, AFollowerAsksTheLeaderAboutNodesThatLeave) {
  leads = false;
  leaders_answer =
      R"({"response":{"allowed":false,"status":{"code":429,"reason":"TooManyRequests","message":"third"}}})";
  EXPECT_TRUE(evict("p-n1").allowed) << "it stays, as every replica sees";
  EXPECT_TRUE(asked.empty());
  node("n1", {.cordoned_by = "kubectl"});
  const AdmissionVerdict no = evict("p-n1", "bob");
  EXPECT_EQ(no.code, 429);
  EXPECT_EQ(no.message, "third");
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_THAT(asked[0], HasSubstr("/validate-eviction "));
  for (const char* part : {"p-n1", "shop", "bob", "n1"}) EXPECT_THAT(asked[0], HasSubstr(part));
  leaders_answer = R"({"response":{"allowed":true}})";
  EXPECT_TRUE(evict("p-n1").allowed);
}

TEST_F(TurnstileTest, TheLeaderAnswersWhatAFollowerPassesOn) {
  node("n1", {.cordoned_by = "kubectl"});
  AdmissionRequest request = eviction("only-the-follower-knows-it");
  request.passed_on = true;
  request.object.set({"metadata", "annotations", "careen.dev/node"}, "n1");
  EXPECT_TRUE(wait_for(turnstile->judge_eviction(request)).allowed);
  EXPECT_EQ(places->placed(), 1u);
  leads = false;
  EXPECT_EQ(wait_for(turnstile->judge_eviction(request)).code, 503);
  EXPECT_TRUE(asked.empty()) << "it goes no further";
}

TEST_F(TurnstileTest, WithoutALeaderAllWaitForAMinuteAndThenPass) {
  leads = false;
  node("n1", {.cordoned_by = "kubectl"});
  const AdmissionVerdict no = evict("p-n1");
  EXPECT_EQ(no.code, 429);
  EXPECT_THAT(no.message, HasSubstr("no replica leads"));
  time.run_for(seconds{50});
  EXPECT_EQ(evict("p-n1").code, 429);
  EXPECT_EQ(open_shown(), 0);
  time.run_for(seconds{20});
  EXPECT_TRUE(evict("p-n1").allowed);
  EXPECT_EQ(open_shown(), 1);
  EXPECT_TRUE(problems.open().contains("limit webhook"));
  leaders_answer = R"({"response":{"allowed":true}})";
  time.run_for(seconds{10});
  EXPECT_EQ(open_shown(), 0);
  leaders_answer = R"({"response":{"allowed":false,"status":{"code":429,"message":"later"}}})";
  EXPECT_EQ(evict("p-n1").code, 429);
}

// Two failures an hour apart are no silence of an hour.
TEST_F(TurnstileTest, AShortSilenceIsForgotten) {
  leads = false;
  node("n1", {.cordoned_by = "kubectl"});
  evict("p-n1");
  leaders_answer = R"({"response":{"allowed":true}})";
  time.run_for(seconds{20});
  leaders_answer.clear();
  time.run_for(minutes{60});
  EXPECT_EQ(evict("p-n1").code, 429);
}

TEST_F(TurnstileTest, ALeaderThatHangsIsNotWaitedFor) {
  leads = false;
  leader_takes = seconds{30};
  node("n1", {.cordoned_by = "kubectl"});
  const AdmissionVerdict no = evict("p-n1");
  EXPECT_EQ(no.code, 429);
  EXPECT_THAT(no.message, HasSubstr("in time"));
}

TEST_F(TurnstileTest, WithoutItsCachesAReplicaAsksToo) {
  leads = false;
  pods_known = false;
  leaders_answer = R"({"response":{"allowed":true}})";
  EXPECT_TRUE(evict("p-n1").allowed);
  EXPECT_EQ(asked.size(), 1u);
}

// It takes no node for one that no limit is about only because it has not heard of any yet.
TEST_F(TurnstileTest, WithoutTheNodesAReplicaAsksToo) {
  leads = false;
  nodes_known = false;
  remove_node("n1");
  desk->known();
  leaders_answer = R"({"response":{"allowed":false,"status":{"code":429}}})";
  EXPECT_FALSE(evict("p-n1").allowed);
  EXPECT_EQ(asked.size(), 1u);
  enforce();
  node("n2");
  EXPECT_FALSE(cordon(cordoning("n1")).allowed);
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(TurnstileTest, CareenItselfIsNeverRefused) {
  std::string self = kSelf;
  api.treat = [&](const kube::Request& request) {
    if (request.path.find("selfsubjectreviews") == std::string::npos) return sim::Treatment{};
    return sim::Treatment{.refuse =
                              kube::Response{201, R"({"status":{"userInfo":{"username":")" + self + R"("}}})", {}}};
  };
  const auto answer_to = [&](const std::string& user) {
    Turnstile another(parts());
    io::Scope scope(*loop);
    scope.spawn(another.run());
    time.run_for(seconds{1});
    return wait_for(another.judge_eviction(eviction("p-n2", user))).allowed;
  };
  node("n1", {.cordoned_by = "kubectl"});
  evict("p-n1");
  node("n2", {.cordoned_by = "kubectl"});
  EXPECT_TRUE(answer_to(kSelf));
  EXPECT_FALSE(answer_to("system:serviceaccount:careen:another"));
  self = "ana";
  EXPECT_FALSE(answer_to("ana")) << "a person's account, which careen was started with";
}

TEST_F(TurnstileTest, OnlyEnforceHoldsACordon) {
  node("n1", {.cordoned_by = "kubectl"});
  evict("p-n1");
  EXPECT_TRUE(cordon(cordoning("n2")).allowed);
  enforce();
  const AdmissionVerdict no = cordon(cordoning("n2"));
  EXPECT_EQ(no.code, 429);
  EXPECT_THAT(no.message, HasSubstr("limit workers"));
  EXPECT_TRUE(desk->queue().empty()) << "it has not begun to leave";
  EXPECT_TRUE(cordon(cordoning("n1")).allowed) << "it has a place";
  DeskWorld::node("n3", {.ready = false});
  EXPECT_TRUE(cordon(cordoning("n3")).allowed) << "it is down";
}

TEST_F(TurnstileTest, ACordonThatIsAllowedTakesThePlace) {
  enforce();
  EXPECT_TRUE(cordon(cordoning("n1")).allowed);
  EXPECT_EQ(places->placed(), 1u);
  EXPECT_FALSE(cordon(cordoning("n2")).allowed);
}

TEST_F(TurnstileTest, BreakingTheGlassIsSeen) {
  events.on_record([this](const kube::EventRecord& event) { notes.push_back(event.reason + ": " + event.note); });
  node("n1", {.cordoned_by = "kubectl"});
  evict("p-n1");
  enforce();
  AdmissionRequest request = cordoning("n2");
  EXPECT_FALSE(cordon(request).allowed);
  request.object.set({"metadata", "annotations", "careen.dev/break-glass"}, "its disk burns");
  EXPECT_TRUE(cordon(request).allowed);
  const auto notes_of_it = told();
  ASSERT_EQ(notes_of_it.size(), 1u);
  EXPECT_THAT(notes_of_it[0], HasSubstr("BreakGlass: ana"));
  EXPECT_THAT(notes_of_it[0], HasSubstr("its disk burns"));
  AdmissionRequest by_group = cordoning("n3");
  by_group.groups = {"others", "site-reliability"};
  EXPECT_TRUE(cordon(by_group).allowed);
  EXPECT_EQ(answers("break-glass"), 2);
  AdmissionRequest eviction_by_group = eviction("p-n2");
  node("n2", {.cordoned_by = "kubectl"});
  EXPECT_FALSE(wait_for(turnstile->judge_eviction(eviction_by_group)).allowed);
  eviction_by_group.groups = {"site-reliability"};
  EXPECT_TRUE(wait_for(turnstile->judge_eviction(eviction_by_group)).allowed);
}

AdmissionRequest deletion(const char* machine) {
  AdmissionRequest request;
  request.operation = "DELETE";
  request.ns = "fleet";
  request.user = "ana";
  request.old_object = *Json::parse(machine);
  return request;
}

constexpr const char* kMachine = R"({"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Machine","metadata":{"name":"m2",
  "labels":{"cluster.x-k8s.io/cluster-name":"eu"},"ownerReferences":[{"kind":"MachineSet","name":"set"}]},
  "status":{"nodeRef":{"name":"n2"}}})";

TEST_F(TurnstileTest, AMachineWaitsUnlessFewerAreWanted) {
  const auto remove = [&](const char* machine) { return wait_for(turnstile->judge_deletion(deletion(machine))); };
  std::string set = R"({"spec":{"replicas":3},"status":{"replicas":3}})", cluster = R"({"metadata":{}})";
  api.treat = [&](const kube::Request& request) {
    const auto answer = [](std::string body) {
      return sim::Treatment{.refuse = kube::Response{200, std::move(body), {}}};
    };
    if (request.path.find("/machinesets/set") != std::string::npos) return answer(set);
    if (request.path.find("/clusters/eu") != std::string::npos) return answer(cluster);
    return sim::Treatment{};
  };
  node("n1", {.cordoned_by = "kubectl"});
  evict("p-n1");
  EXPECT_TRUE(remove(kMachine).allowed) << "the limit only makes evictions wait";
  enforce();
  EXPECT_EQ(remove(kMachine).code, 429);
  set = R"({"spec":{"replicas":2},"status":{"replicas":3}})";
  EXPECT_TRUE(remove(kMachine).allowed) << "one less is wanted";
  set = R"({"spec":{"replicas":3},"status":{"replicas":3}})";
  cluster = R"({"metadata":{"deletionTimestamp":"2026-03-01T10:00:00Z"}})";
  EXPECT_TRUE(remove(kMachine).allowed) << "the whole cluster goes";
  EXPECT_EQ(answers("scale-down"), 2);
  EXPECT_TRUE(remove(R"({"kind":"Machine","metadata":{"name":"m"}})").allowed) << "it has no node";
  EXPECT_EQ(remove(R"({"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"c"},
                       "status":{"nodeName":"n2"}})")
                .code,
            429);
}

}  // namespace
}  // namespace careen::turnstile
