#include "controllers/profiles/lease_taker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics.h"
#include "io/virtual_time.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "sim/test_api.h"

namespace careen::profiles {
namespace {

using kube::Json;
using kube::Request;
using testing::HasSubstr;
using Outcome = LeaseTaker::Outcome;

class LeaseTakerTest : public testing::Test {
 protected:
  static constexpr const char* kPath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/turn-0";

  void put(std::string_view holder, io::Wall since) {
    Json lease = Json::object({{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}});
    lease.set({"spec", "holderIdentity"}, holder).set({"spec", "leaseDurationSeconds"}, 60);
    lease.set({"spec", "acquireTime"}, io::format_micro_time(since));
    lease.set({"spec", "renewTime"}, io::format_micro_time(since));
    lease.set({"spec", "leaseTransitions"}, 4);
    api.put(kPath, std::move(lease));
  }
  // The world hears of it only now.
  void hear() { store.put(*kube::decode_lease(api.object(kPath).dump(), atoms)); }
  LeaseGrab grab() const {
    LeaseGrab grab{"kube-system", "turn-0", io::seconds{60}, 0, {}, -1};
    if (const kube::Lease* lease = store.find(grab.key())) {
      grab.version = lease->version;
      grab.uid = lease->uid;
      grab.transitions = lease->transitions.value_or(-1);
    }
    return grab;
  }
  using Taken = kube::Result<Outcome>;
  Taken take(LeaseGrab wanted, std::string node = "a") {
    std::optional<Taken> taken;
    scope.spawn(
        [](LeaseTaker& taker, LeaseGrab g, std::string n, io::Wall t, std::optional<Taken>& out) -> io::Task<void> {
          out.emplace(co_await taker.take(std::move(g), std::move(n), t));
        }(taker, std::move(wanted), std::move(node), now, taken));
    time.run_until([&] { return taken.has_value(); }, io::minutes{5});
    return *taken;
  }
  void give_back(std::vector<io::Wall> acquired, std::string node = "a") {
    scope.spawn(taker.give_back("kube-system/turn-0", std::move(node), std::move(acquired)));
    time.run_for(io::seconds{1});
  }
  kube::Lease stored() const {
    return *kube::decode_lease(api.object(kPath).dump(), const_cast<kube::AtomPool&>(atoms));
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  sim::TestApi api{*loop};
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  io::Metrics metrics;
  io::Random random{1};
  kube::Client client{*loop, *transport, metrics, random};
  kube::AtomPool atoms;
  kube::Store<kube::Lease> store;
  LeaseTaker taker{client, store, atoms, io::Log{}};
  io::Wall now = std::chrono::floor<io::microseconds>(loop->wall_now());
  io::Scope scope{*loop};
};

TEST_F(LeaseTakerTest, ALeaseThatIsMissingIsMade) {
  const Taken taken = take(grab());
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(*taken, Outcome::taken);
  const kube::Lease lease = stored();
  EXPECT_EQ(lease.holder, "a");
  EXPECT_EQ(lease.acquired, now);
  EXPECT_EQ(lease.renewed, now);
  EXPECT_EQ(lease.duration_seconds, 60);
  EXPECT_EQ(lease.transitions, 0);
  ASSERT_NE(store.find("kube-system/turn-0"), nullptr);  // at once, without a watch
}

TEST_F(LeaseTakerTest, OneThatRanOutIsTakenOver) {
  put("b", now - io::hours{1});
  hear();
  EXPECT_EQ(*take(grab()), Outcome::taken);
  EXPECT_EQ(stored().holder, "a");
  EXPECT_EQ(stored().transitions, 5);
}

// A predecessor with a faster clock took it for the same node: nodes that wait have been told that time.
TEST_F(LeaseTakerTest, TheTimeOfALeaseThatIsTakenAgainDoesNotRunBackwards) {
  put("a", now + io::seconds{4});
  hear();
  EXPECT_EQ(*take(grab()), Outcome::taken);
  EXPECT_EQ(stored().acquired, now);
  EXPECT_EQ(stored().renewed, now + io::seconds{4});
}

TEST_F(LeaseTakerTest, WhoComesSecondHasLostItAndKnowsWhy) {
  put("b", now - io::hours{1});
  hear();
  const LeaseGrab outdated = grab();
  put("c", now);
  EXPECT_EQ(*take(outdated), Outcome::lost);
  EXPECT_EQ(stored().holder, "c");
  EXPECT_EQ(store.find("kube-system/turn-0")->holder, "c");
}

TEST_F(LeaseTakerTest, WhoComesSecondInMakingItHasLostItToo) {
  put("c", now);
  EXPECT_EQ(*take(grab()), Outcome::lost);
  EXPECT_EQ(store.find("kube-system/turn-0")->holder, "c");
}

TEST_F(LeaseTakerTest, OneThatWasDeletedIsLost) {
  put("b", now - io::hours{1});
  hear();
  api.erase(kPath);
  EXPECT_EQ(*take(grab()), Outcome::lost);
  EXPECT_EQ(store.find("kube-system/turn-0"), nullptr);
}

TEST_F(LeaseTakerTest, OneThatWasMadeAnewIsAnother) {
  put("b", now - io::hours{1});
  hear();
  const LeaseGrab outdated = grab();
  api.erase(kPath);
  put("b", now - io::hours{1});
  EXPECT_EQ(*take(outdated), Outcome::lost);
  EXPECT_EQ(stored().holder, "b");
}

TEST_F(LeaseTakerTest, AnAnswerThatNeverComesIsReadBack) {
  put("b", now - io::hours{1});
  hear();
  api.treat = [](const Request& request) {
    return request.method == "PATCH" ? sim::Treatment{.unanswered = true} : sim::Treatment{};
  };
  EXPECT_EQ(*take(grab()), Outcome::taken);
  EXPECT_EQ(stored().holder, "a");
}

TEST_F(LeaseTakerTest, WithoutItsNamespaceThereIsNothingToReadBack) {
  int reads = 0;
  api.treat = [&](const Request& request) {
    reads += request.method == "GET";
    return request.method == "POST" ? sim::Treatment{.refuse = sim::ApiServer::refusal(404, "NotFound")}
                                    : sim::Treatment{};
  };
  const Taken taken = take(grab());
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("lease kube-system/turn-0 cannot be taken"));
  EXPECT_EQ(reads, 0);
}

TEST_F(LeaseTakerTest, WhatWasTakenIsGivenBackAsIfItHadRunOut) {
  take(grab());
  const io::Wall taken = *stored().renewed;
  give_back({now});
  EXPECT_EQ(io::add(*stored().renewed, io::seconds{60}), taken) << "a slower clock may not have come so far yet";
  EXPECT_EQ(store.find("kube-system/turn-0")->renewed, stored().renewed);
}

TEST_F(LeaseTakerTest, AnyOfTheTimesItMayHaveBeenTakenAtWillDo) {
  take(grab());
  give_back({now - io::seconds{5}, now, now + io::seconds{5}});
  EXPECT_LT(*stored().renewed, now);
}

TEST_F(LeaseTakerTest, WhatIsAnothersOrWasTakenAgainIsNotGivenBack) {
  take(grab());
  give_back({now}, "b");
  give_back({now - io::seconds{1}});
  give_back({});
  EXPECT_EQ(stored().renewed, now);
  put("c", now + io::seconds{1});  // unheard of
  give_back({now});
  EXPECT_EQ(stored().holder, "c");
  EXPECT_EQ(stored().renewed, now + io::seconds{1});
}

TEST_F(LeaseTakerTest, ReadingFindsWhatTheWatchHasNotTold) {
  put("b", now);
  scope.spawn(taker.read("kube-system/turn-0"));
  time.run_for(io::seconds{1});
  ASSERT_NE(store.find("kube-system/turn-0"), nullptr);
  api.erase(kPath);
  scope.spawn(taker.read("kube-system/turn-0"));
  time.run_for(io::seconds{1});
  EXPECT_EQ(store.find("kube-system/turn-0"), nullptr);
}

}  // namespace
}  // namespace careen::profiles
