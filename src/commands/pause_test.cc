// careen pause and resume on the model cluster: what they write, what they say, and how they find careen.
#include "commands/pause.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/virtual_time.h"
#include "sim/cluster.h"

namespace careen::app {
namespace {

using budget::PauseRecord;
using testing::HasSubstr;

class PauseCommandTest : public testing::Test {
 protected:
  PauseCommandTest() {
    for (const char* ns : {"ops", "other", "mine"}) {
      cluster.api.put(std::string("/api/v1/namespaces/") + ns,
                      *kube::Json::parse(R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})"));
    }
  }
  static std::string lease_path(std::string_view ns, std::string_view name) {
    return fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", ns, name);
  }
  void add_lease(std::string_view ns, std::string_view name, std::string_view record = "") {
    auto lease = kube::Json::object({{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}});
    if (!record.empty()) lease.set({"metadata", "annotations", PauseRecord::kAnnotation}, record);
    cluster.api.put(lease_path(ns, name), std::move(lease));
  }
  void add_ledger() { add_lease("ops", "careen-ledger"); }
  std::string stored(std::string_view ns = "ops") const {
    const kube::Json lease = cluster.api.object(lease_path(ns, PauseRecord::kLease));
    return std::string(lease["metadata"]["annotations"][PauseRecord::kAnnotation].text().value_or("(none)"));
  }

  template <class Main>
  int run(Main main, PauseOptions options = {}, std::string user = "ana@host") {
    out.clear();
    err.clear();
    Screen screen(
        {.out = [this](std::string_view text) { out += text; }, .err = [this](std::string_view text) { err += text; }});
    KubeSession session({*loop, {.ns = "mine"}, connect, random, screen, std::move(user)});
    std::optional<int> code;
    io::Scope scope(*loop);
    scope.spawn(keep(main(session, std::move(options)), &code));
    EXPECT_TRUE(time.run_until([&] { return code.has_value(); }, io::minutes{2}));
    return code.value_or(-1);
  }
  static io::Task<void> keep(io::Task<int> task, std::optional<int>* code) { *code = co_await std::move(task); }
  int pause(PauseOptions options = {}, std::string user = "ana@host") {
    return run(pause_careen, std::move(options), std::move(user));
  }
  int resume(PauseOptions options = {}) { return run(resume_careen, std::move(options)); }

  io::VirtualTime time{1, *io::parse_rfc3339("2026-03-01T10:00:00Z")};
  std::unique_ptr<io::Loop> server = time.make_loop(), loop = time.make_loop();
  sim::Cluster cluster{*server};
  kube::Connect connect = [this](const kube::Access&) {
    return kube::Transports{cluster.network.connect(*loop, "terminal")};
  };
  io::Random random{1};
  std::string out, err;
};

TEST_F(PauseCommandTest, PausesEverythingInCareensNamespace) {
  add_ledger();
  EXPECT_EQ(pause({.reason = "broken images"}), 0);
  EXPECT_EQ(out, "paused: everything\n");
  EXPECT_EQ(err, "");
  EXPECT_EQ(stored(), R"({"all":{"by":"ana@host","since":"2026-03-01T10:00:00Z","reason":"broken images"}})");
  EXPECT_EQ(resume(), 0);
  EXPECT_EQ(out, "resumed: everything (was paused by ana@host since 2026-03-01T10:00:00Z: broken images)\n");
  EXPECT_EQ(stored(), "{}");
  EXPECT_EQ(resume(), 0);
  EXPECT_EQ(out, "nothing is paused\n");
}

TEST_F(PauseCommandTest, WhoeverCameFirstIsKeptUnlessThereIsAnotherReason) {
  add_ledger();
  ASSERT_EQ(pause({.reason = "broken images"}), 0);
  const std::string first = stored();
  EXPECT_EQ(pause({}, "ben@host"), 0);
  EXPECT_EQ(out, "already paused: everything (paused by ana@host since 2026-03-01T10:00:00Z: broken images)\n");
  EXPECT_EQ(stored(), first);
  EXPECT_EQ(pause({.reason = "fire"}, "ben@host"), 0);
  EXPECT_EQ(out, "paused: everything\n");
  EXPECT_THAT(err, HasSubstr("it was paused by ana@host"));
  EXPECT_THAT(stored(), HasSubstr("ben@host"));
}

TEST_F(PauseCommandTest, AProfileIsResumedAlone) {
  add_ledger();
  ASSERT_EQ(pause({.profile = "p"}), 0);
  EXPECT_EQ(out, "paused: profile p\n");
  EXPECT_THAT(err, HasSubstr("no node has profile \"p\""));
  ASSERT_EQ(pause({}), 0);
  EXPECT_EQ(resume({.profile = "p"}), 0);
  EXPECT_THAT(out, HasSubstr("resumed: profile p (was paused by ana@host"));
  EXPECT_THAT(err, HasSubstr("everything is still paused by ana@host"));
  EXPECT_EQ(resume({.profile = "p"}), 1) << "there is nothing to lift, and it is paused all the same";
  EXPECT_EQ(out, "");
  ASSERT_EQ(resume({}), 0);
  EXPECT_EQ(resume({.profile = "p"}), 0);
  EXPECT_EQ(out, "profile p is not paused\n");
}

TEST_F(PauseCommandTest, ResumeSaysWhatItLifts) {
  add_ledger();
  ASSERT_EQ(pause({.profile = "p"}), 0);
  ASSERT_EQ(pause({.profile = "q"}), 0);
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(out, HasSubstr("resumed: profile p"));
  EXPECT_THAT(out, HasSubstr("resumed: profile q"));
}

TEST_F(PauseCommandTest, AProfileThatNodesHaveIsNoSlip) {
  add_ledger();
  auto node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
  node.set({"metadata", "labels", "cloud.sap/maintenance-profile"}, "other--os-update");
  cluster.api.put("/api/v1/nodes/n", std::move(node));
  ASSERT_EQ(pause({.profile = "os-update"}), 0);
  EXPECT_EQ(err, "");
  ASSERT_EQ(pause({.profile = "os-updat"}), 0);
  EXPECT_THAT(err, HasSubstr("did you mean \"os-update\""));
}

TEST_F(PauseCommandTest, SeveralNamespacesHaveToBeToldApart) {
  add_ledger();
  add_lease("other", "maintenance-controller-leader-election.cloud.sap");
  EXPECT_EQ(pause(), 1);
  EXPECT_THAT(err, HasSubstr("ops, other"));
  EXPECT_EQ(stored(), "(none)");
  EXPECT_EQ(pause({.ns = "other"}), 0);
  EXPECT_THAT(stored("other"), HasSubstr("\"all\""));
}

TEST_F(PauseCommandTest, WithoutCareenTheOwnNamespaceIsTaken) {
  EXPECT_EQ(pause(), 0);
  EXPECT_THAT(err, HasSubstr("does it run here? Namespace mine is taken"));
  EXPECT_THAT(stored("mine"), HasSubstr("\"all\""));
}

TEST_F(PauseCommandTest, JsonSaysWhatIsPausedThen) {
  add_ledger();
  ASSERT_EQ(pause({.profile = "p", .reason = "r", .json = true}), 0);
  const auto document = kube::Json::parse(out);
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["namespace"].text(), "ops");
  EXPECT_EQ((*document)["changed"].boolean(), true);
  EXPECT_EQ((*document).at("/pauses/0/profile").text(), "p");
  EXPECT_EQ((*document).at("/pauses/0/by").text(), "ana@host");
  EXPECT_EQ((*document).at("/pauses/0/reason").text(), "r");
}

TEST_F(PauseCommandTest, SomebodyElseWasFaster) {
  add_ledger();
  add_lease("ops", PauseRecord::kLease, "{}");
  bool raced = false;
  cluster.network.treat = [&](const sim::Sending& sending) {
    if (sending.request.method == "PATCH" && !std::exchange(raced, true)) {
      add_lease("ops", PauseRecord::kLease, R"({"profiles":{"q":{"by":"ben@host","since":"2026-03-01T09:00:00Z"}}})");
    }
    return sim::Treatment{};
  };
  EXPECT_EQ(pause(), 0);
  EXPECT_THAT(stored(), HasSubstr("\"q\""));
  EXPECT_THAT(stored(), HasSubstr("\"all\""));
}

TEST_F(PauseCommandTest, AnAnswerThatNeverComesIsLookedUp) {
  add_ledger();
  add_lease("ops", PauseRecord::kLease, "{}");
  bool cut = false;
  cluster.network.treat = [&](const sim::Sending& sending) {
    sim::Treatment treatment;
    treatment.cut = sending.request.method == "PATCH" && !std::exchange(cut, true);
    return treatment;
  };
  EXPECT_EQ(pause(), 0);
  EXPECT_EQ(out, "paused: everything\n");
  cut = false;
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(out, HasSubstr("resumed: everything (was paused by ana@host"));
}

TEST_F(PauseCommandTest, ARecordThatCannotBeReadIsReplacedAsAWholeOnly) {
  add_ledger();
  add_lease("ops", PauseRecord::kLease, "nonsense");
  EXPECT_EQ(pause({.profile = "p"}), 1);
  EXPECT_THAT(err, HasSubstr("cannot be read"));
  EXPECT_EQ(resume({.profile = "p"}), 1);
  EXPECT_EQ(stored(), "nonsense");
  EXPECT_EQ(pause(), 0);
  EXPECT_THAT(err, HasSubstr("is replaced"));
  EXPECT_THAT(stored(), HasSubstr("\"all\""));
  add_lease("ops", PauseRecord::kLease, "nonsense");
  EXPECT_EQ(resume(), 0);
  EXPECT_THAT(err, HasSubstr("is removed"));
  EXPECT_EQ(stored(), "{}");
}

TEST_F(PauseCommandTest, OthersAskWhetherEverythingIsPaused) {
  const auto ask = [](KubeSession& session, PauseOptions) -> io::Task<int> {
    const std::string found = co_await find_pause(session);
    session.screen.line(found);
    co_return found.empty() ? 0 : 1;
  };
  add_ledger();
  EXPECT_EQ(run(ask), 0);
  ASSERT_EQ(pause({.profile = "p"}), 0);
  EXPECT_EQ(run(ask), 0) << "a profile's pause is no concern of others";
  ASSERT_EQ(pause({.reason = "fire"}), 0);
  EXPECT_EQ(run(ask), 1);
  EXPECT_EQ(out, "paused by ana@host since 2026-03-01T10:00:00Z: fire (lease ops/careen-pause)\n");
  add_lease("ops", PauseRecord::kLease, "nonsense");
  EXPECT_EQ(run(ask), 1);
  EXPECT_THAT(out, HasSubstr("paused: lease ops/careen-pause cannot be read"));
}

}  // namespace
}  // namespace careen::app
