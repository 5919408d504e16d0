// careen request on the model cluster: what it writes, what it says, and its exit codes.
#include "controllers/requests/commands/commands.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_set.h"
#include "controllers/requests/commands/own_requests.h"
#include "controllers/slot/definition.h"
#include "io/virtual_time.h"
#include "session/kube_session.h"
#include "sim/cluster.h"

namespace careen::requests {
namespace {

using kube::Json;
using testing::HasSubstr;
using testing::SizeIs;

class RequestCommandTest : public testing::Test {
 protected:
  RequestCommandTest() {
    cluster.api.put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/maintenancerequests.repairman.k8s.io",
                    controllers::shipped_definition("maintenancerequest"));
    for (const char* node : {"n1", "n2"}) {
      cluster.api.put(std::string("/api/v1/nodes/") + node, Json::object({{"kind", "Node"}, {"apiVersion", "v1"}}));
    }
  }

  // Begins a command; its code is known once it has ended.
  template <class Main, class Options>
  void begin(Main main, Options options) {
    out.clear();
    err.clear();
    code.reset();
    session.emplace(app::KubeSessionParts{*loop, access(), connect, random, screen, "ana@host"});
    scope.emplace(*loop);
    scope->spawn(keep(main(*session, std::move(options)), &code));
  }
  template <class Main, class Options>
  int run(Main main, Options options) {
    begin(main, std::move(options));
    return end();
  }
  int end() {
    EXPECT_TRUE(time.run_until([&] { return code.has_value(); }, io::hours{2}));
    return code.value_or(-1);
  }
  void pass(io::Duration some) {
    const io::Steady until = loop->now() + some;
    time.run_until([&] { return loop->now() >= until; }, some);
  }
  static kube::Access access() {
    kube::Access out;
    out.ns = "default";
    return out;
  }
  static io::Task<void> keep(io::Task<int> task, std::optional<int>* code) { *code = co_await std::move(task); }

  std::vector<OwnRequest> all() {
    std::optional<kube::Result<std::vector<OwnRequest>>> listed;
    app::KubeSession reader({*loop, access(), connect, random, screen, "reader@host"});
    io::Scope reading(*loop);
    reading.spawn(io::keep(list_own(reader, ""), listed));
    EXPECT_TRUE(time.run_until([&] { return listed.has_value(); }, io::minutes{2}));
    return listed && *listed ? **listed : std::vector<OwnRequest>{};
  }
  OwnRequest only() {
    const auto requests = all();
    EXPECT_THAT(requests, SizeIs(1));
    return requests.empty() ? OwnRequest{} : requests.front();
  }
  // As the operator writes them.
  void set(const std::string& name, const std::string& state, const std::string& message = "") {
    const std::string path = "/apis/repairman.k8s.io/v1/maintenancerequests/" + name;
    Json object = cluster.api.object(path);
    object.set({"spec", "state"}, state);
    if (!message.empty()) object.set({"status", "message"}, message);
    cluster.api.put(path, std::move(object));
  }

  io::VirtualTime time{1, *io::parse_rfc3339("2026-03-01T10:00:00Z")};
  std::unique_ptr<io::Loop> server = time.make_loop(), loop = time.make_loop();
  sim::Cluster cluster{*server, 1, sim::ControlPlane::api_server_alone};
  kube::Connect connect = [this](const kube::Access&) {
    return kube::Transports{cluster.network.connect(*loop, "terminal")};
  };
  io::Random random{1};
  std::string out, err;
  app::Screen screen{app::ScreenOptions{.out = [this](std::string_view text) { out += text; },
                                        .err = [this](std::string_view text) { err += text; }}};
  std::optional<int> code;
  std::optional<app::KubeSession> session;
  std::optional<io::Scope> scope;
};

TEST_F(RequestCommandTest, MakesOneRequestHoweverOftenItAsks) {
  EXPECT_EQ(run(request_node, RequestOptions{.node = "n1", .client = "rebooter"}), kStillPending);
  const OwnRequest made = only();
  EXPECT_EQ(out, full_name(made.name) + " created\n");
  EXPECT_THAT(made.name, testing::StartsWith("mr-"));
  EXPECT_EQ(made.object.document["spec"].dump(), R"({"name":"n1","type":"node","state":"Pending"})");
  EXPECT_EQ(made.client, "rebooter");
  set(made.name, "Pending", "place 2 of 3");
  EXPECT_EQ(run(request_node, RequestOptions{.node = "n1", .client = "rebooter"}), kStillPending);
  EXPECT_EQ(out, full_name(made.name) + " is pending: place 2 of 3\n");
  EXPECT_THAT(all(), SizeIs(1));
  // Those of other clients are none of its business.
  EXPECT_EQ(run(request_node, RequestOptions{.node = "n1", .client = "other"}), kStillPending);
  EXPECT_THAT(all(), SizeIs(2));
}

TEST_F(RequestCommandTest, CodesTellHowItStands) {
  const RequestOptions options{.node = "n1", .client = "rebooter"};
  ASSERT_EQ(run(request_node, options), kStillPending);
  const std::string name = only().name;
  set(name, "Approved");
  EXPECT_EQ(run(request_node, options), 0);
  set(name, "InProgress");
  EXPECT_EQ(run(request_node, options), kInProgress);
  set(name, "Rejected", "too late");
  EXPECT_EQ(run(request_node, options), kRejected);
  EXPECT_THAT(err, HasSubstr("was rejected: too late"));
  // A finished one is followed by another.
  set(name, "Completed");
  EXPECT_EQ(run(request_node, options), kStillPending);
  EXPECT_THAT(all(), SizeIs(2));
}

TEST_F(RequestCommandTest, ANodeThatIsMistypedIsNotAskedFor) {
  EXPECT_EQ(run(request_node, RequestOptions{.node = "n", .client = "rebooter"}), app::kFailed);
  EXPECT_THAT(err, HasSubstr("node \"n\" not found"));
  EXPECT_THAT(all(), SizeIs(0));
}

TEST_F(RequestCommandTest, WaitsForTheApprovalAndSaysWhatHoldsItUp) {
  begin(request_node, RequestOptions{.node = "n1", .client = "rebooter", .wait = true});
  pass(io::seconds{20});
  const std::string name = only().name;
  EXPECT_THAT(err, HasSubstr("nobody has said anything about it yet"));
  set(name, "Pending", "place 3 in limit workers");
  pass(io::seconds{5});
  EXPECT_THAT(out, HasSubstr("node/n1: place 3 in limit workers\n"));
  EXPECT_FALSE(code);
  set(name, "Approved");
  EXPECT_EQ(end(), 0);
  EXPECT_THAT(out, testing::EndsWith(" approved: node/n1 may be maintained\n"));
}

TEST_F(RequestCommandTest, AWaitThatIsTooLongLeavesTheRequestItsTurn) {
  const RequestOptions options{.node = "n1", .client = "rebooter", .wait = true, .timeout = io::minutes{1}};
  EXPECT_EQ(run(request_node, options), kTimedOut);
  EXPECT_THAT(err, HasSubstr("timed out waiting for"));
  EXPECT_TRUE(only().is(State::pending));
}

TEST_F(RequestCommandTest, ARejectionEndsTheWaitAndTheNextWaitAsksAnew) {
  const RequestOptions options{.node = "n1", .client = "rebooter", .wait = true, .timeout = io::minutes{1}};
  begin(request_node, options);
  pass(io::seconds{5});
  const std::string name = only().name;
  set(name, "Rejected", "nobody was in time");
  EXPECT_EQ(end(), kRejected);
  EXPECT_THAT(err, HasSubstr("was rejected: nobody was in time"));
  EXPECT_EQ(run(request_node, options), kTimedOut);
  EXPECT_NE(only().name, name);
}

TEST_F(RequestCommandTest, ADeletedRequestEndsTheWait) {
  begin(request_node, RequestOptions{.node = "n1", .client = "rebooter", .wait = true});
  pass(io::seconds{5});
  cluster.api.erase("/apis/repairman.k8s.io/v1/maintenancerequests/" + only().name);
  EXPECT_EQ(end(), kRejected);
  EXPECT_THAT(err, HasSubstr("was deleted meanwhile"));
}

TEST_F(RequestCommandTest, StepsAreThoseOfTheClientLibrary) {
  const StepOptions step{.node = "N1", .client = "rebooter"};
  EXPECT_EQ(run(start_request, step), app::kFailed);
  EXPECT_THAT(err, HasSubstr("there is no request of client \"rebooter\" for node \"N1\""));
  ASSERT_EQ(run(request_node, RequestOptions{.node = "n1", .client = "rebooter"}), kStillPending);
  const std::string name = only().name;
  EXPECT_EQ(run(start_request, step), app::kFailed);
  EXPECT_THAT(err, HasSubstr("is not approved, but Pending"));
  EXPECT_EQ(run(finish_request, step), app::kFailed);
  EXPECT_THAT(err, HasSubstr("is not approved yet"));
  set(name, "Approved");
  EXPECT_EQ(run(start_request, step), 0);
  EXPECT_TRUE(only().is(State::in_progress));
  EXPECT_EQ(run(start_request, step), 0);
  EXPECT_EQ(run(finish_request, step), 0);
  EXPECT_TRUE(only().is(State::completed));
  EXPECT_EQ(run(finish_request, step), 0);
  EXPECT_THAT(out, HasSubstr("is completed already"));
  EXPECT_EQ(run(cancel_request, step), app::kFailed);
}

TEST_F(RequestCommandTest, CancelDeletesWhateverHasBecomeOfIt) {
  for (const char* state : {"Pending", "Approved", "InProgress", "Rejected"}) {
    ASSERT_EQ(run(request_node, RequestOptions{.node = "n1", .client = "rebooter"}), kStillPending);
    set(only().name, state);
    EXPECT_EQ(run(cancel_request, StepOptions{.node = "n1", .client = "rebooter"}), 0) << state;
    EXPECT_EQ(err.find("has no place any more") != std::string::npos, std::string_view(state) == "InProgress");
    EXPECT_THAT(all(), SizeIs(0));
  }
}

// Of two runs for one node, each told that it was approved, one alone goes on.
TEST_F(RequestCommandTest, OneRunBeginsAndTheOtherDoesNot) {
  ASSERT_EQ(run(request_node, RequestOptions{.node = "n1", .client = "rebooter"}), kStillPending);
  set(only().name, "Approved");
  const OwnRequest seen_by_both = only();
  std::optional<Step<OwnRequest>> first, second;
  scope->spawn(io::keep(start_own(*session, seen_by_both, "one"), first));
  scope->spawn(io::keep(start_own(*session, seen_by_both, "two"), second));
  ASSERT_TRUE(time.run_until([&] { return first && second; }, io::minutes{1}));
  EXPECT_NE(first->has_value(), second->has_value());
  const OwnRequest now = only();
  EXPECT_EQ(now.run, *first ? "one" : "two");
  EXPECT_THAT((*first ? *second : *first).error().text, HasSubstr("is in progress already, begun by " + now.run));
}

TEST_F(RequestCommandTest, TwoThatAskInTheSameMomentShareOneRequest) {
  std::optional<kube::Result<OwnRequest>> first, second;
  ASSERT_EQ(run(list_requests, RequestListOptions{}), 0);
  scope->spawn(io::keep(create_own(*session, {"rebooter", "n1"}), first));
  scope->spawn(io::keep(create_own(*session, {"rebooter", "n1"}), second));
  ASSERT_TRUE(time.run_until([&] { return first && second; }, io::minutes{1}));
  EXPECT_EQ((**first).uid, (**second).uid);
  EXPECT_EQ(only().uid, (**first).uid);
}

TEST_F(RequestCommandTest, ListsWhatIsOpenInTheOrderOfAge) {
  ASSERT_EQ(run(list_requests, RequestListOptions{}), 0);
  EXPECT_EQ(err, "No request is open; --all shows the finished ones.\n");
  ASSERT_EQ(run(request_node, RequestOptions{.node = "n1", .client = "a"}), kStillPending);
  set(only().name, "Completed");
  pass(io::minutes{2});
  ASSERT_EQ(run(request_node, RequestOptions{.node = "n2", .client = "b"}), kStillPending);
  ASSERT_EQ(run(list_requests, RequestListOptions{{}, "", false, true}), 0);
  auto document = Json::parse(out);
  ASSERT_TRUE(document);
  ASSERT_EQ((*document)["requests"].size(), 1u);
  EXPECT_EQ(document->at("/requests/0/node").text(), "n2");
  ASSERT_EQ(run(list_requests, RequestListOptions{{}, "", true, false}), 0);
  EXPECT_LT(out.find(" n1 "), out.find(" n2 "));
  ASSERT_EQ(run(list_requests, RequestListOptions{{"n1"}, "", true, false}), 0);
  EXPECT_THAT(out, testing::Not(HasSubstr(" n2 ")));
}

TEST_F(RequestCommandTest, AClusterWithoutTheKindIsNamed) {
  cluster.api.erase("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/maintenancerequests.repairman.k8s.io");
  EXPECT_EQ(run(request_node, RequestOptions{.node = "n1", .client = "a"}), app::kFailed);
  EXPECT_THAT(err, HasSubstr("the cluster does not know maintenancerequests.repairman.k8s.io"));
}

TEST(RequestClients, AreValuesOfALabel) {
  for (const char* good : {"a", "rebooter", "A.b_c-9", "0"}) EXPECT_EQ(client_mistake(good), "") << good;
  const std::string long_one(64, 'a');
  for (const std::string& bad : {std::string("-a"), std::string("a-"), std::string("a b"), std::string("a,b"),
                                 std::string("ä"), std::string("a=b"), std::string("a\n"), long_one}) {
    EXPECT_NE(client_mistake(bad), "") << bad;
  }
}

}  // namespace
}  // namespace careen::requests
