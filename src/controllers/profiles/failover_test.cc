// Leaders that die in the middle of their work, and whose last requests arrive when another one leads: the limit
// holds at every step, and every node gets through.
#include <gtest/gtest.h>

#include "controllers/profiles/test_replica.h"

namespace careen::profiles {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using kube::Request;

class FailoverTest : public ClusterTest {
 protected:
  static sim::Treatment quick() { return {.before = milliseconds{3}, .after = milliseconds{3}}; }
  static bool writes(const Request& request) { return request.method != "GET"; }
  // A cluster of its own for each run.
  void begin(int nodes) {
    api.treat = nullptr;
    api.release_held();
    for (const std::string& node : std::set<std::string>(known)) api.erase(path(node));
    api.erase("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-ledger");
    entered.clear();
    order.clear();
    most = 0;
    add_nodes(nodes);
  }
};

// The first leader is gone after its k-th write; that write, and all it sent since the one before, arrive when the
// second one is at its j-th.
TEST_F(FailoverTest, ADeadLeadersLastWritesMayArriveAtAnyTime) {
  constexpr int kNodes = 8, kMax = 2;
  int ends = 0;
  for (int k = 1; ends == 0; ++k) {
    for (const int j : {0, 1, 2, 3, 5, 8}) {
      SCOPED_TRACE(testing::Message() << "write " << k << " arrives at write " << j);
      begin(kNodes);
      int sent = 0;
      api.treat = [&](const Request& request) {
        sim::Treatment treatment = quick();
        if (writes(request) && ++sent >= k) treatment.held = true;
        return treatment;
      };
      auto a = std::make_unique<Replica>(time, api, "a", round(kMax, "2s"));
      if (!time.run_until([&] { return sent >= k; }, minutes{5})) {
        ends = k;
        break;
      }
      time.run_for(milliseconds{5});
      a.reset();
      sent = 0;
      api.treat = [&](const Request& request) {
        if (writes(request) && sent++ == j) api.release_held();
        return quick();
      };
      Replica b(time, api, "b", round(kMax, "2s"));
      ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
      api.release_held();
      ASSERT_LE(most, size_t{kMax});
      ASSERT_EQ(b.late(), 0);
    }
  }
  EXPECT_GT(ends, 3 * kNodes);
}

// The first leader is not dead but cut off: it carries on with what it believes while the second one leads.
TEST_F(FailoverTest, TwoThatBothBelieveToLeadKeepTheLimit) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    begin(12);
    io::Random random(seed);
    api.treat = [&](const Request&) {
      return sim::Treatment{.before = milliseconds{random.next() % 40}, .after = milliseconds{random.next() % 40}};
    };
    Replica a(time, api, "a", round(2, "1s"));
    time.run_for(milliseconds{random.next() % 6000});
    Replica b(time, api, "b", round(2, "1s"));
    ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{20}));
    EXPECT_LE(most, 2u);
    EXPECT_FALSE(b.ledger.fenced());
  }
}

TEST_F(FailoverTest, WhatAPredecessorHasAdmittedForAnotherControllerIsLeftToThat) {
  begin(1);
  api.treat = [](const Request&) { return quick(); };
  const std::string node = *known.begin();
  const std::string uid(api.object(path(node))["metadata"]["uid"].text().value_or(""));
  auto a = std::make_unique<Replica>(time, api, "a", round(1, "1h"));
  a->ledger.reserve({uid, node, "other", {}});
  ASSERT_TRUE(time.run_until([&] { return most == 1; }, minutes{1})) << "it is no place of profiles";
  a.reset();
  Replica b(time, api, "b", round(1, "1h"));
  time.run_for(minutes{20});
  ASSERT_TRUE(b.ledger.has(budget::claim_key("other", uid)));
  EXPECT_TRUE(b.ledger.entries().begin()->second.inherited) << "nobody has settled it";
  EXPECT_EQ(b.ledger.entries().size(), 1u);
}

// A predecessor's admission is not dropped because our own write of that node was refused: its write may come yet.
TEST_F(FailoverTest, ARefusedWriteDoesNotForgetThePredecessors) {
  begin(4);
  std::string first;
  api.treat = [&](const Request& request) {
    sim::Treatment treatment = quick();
    if (request.body.find("\"in-maintenance\"") != std::string::npos) {
      treatment.held = true;
      first = request.path.substr(14, 4);
    }
    return treatment;
  };
  auto a = std::make_unique<Replica>(time, api, "a", round(1, "1h"));
  ASSERT_TRUE(time.run_until([&] { return api.held() == 1; }, minutes{1}));
  a.reset();
  api.treat = [&](const Request& request) {
    sim::Treatment treatment = quick();
    if (request.method == "PATCH" && request.path.starts_with(path(first))) {
      treatment.refuse = sim::ApiServer::refusal(429, "TooManyRequests");
    }
    return treatment;
  };
  Replica b(time, api, "b", round(1, "1h"));
  time.run_for(minutes{2});
  EXPECT_TRUE(in.empty());
  api.release_held();
  EXPECT_EQ(in, std::set<std::string>{first});
  time.run_for(minutes{2});
  EXPECT_EQ(most, 1u);
}

TEST_F(FailoverTest, AnAdmissionThatWillNeverBeCarriedOutIsFreed) {
  begin(3);
  api.treat = [&](const Request& request) {
    sim::Treatment treatment = quick();
    treatment.lost = request.body.find("\"in-maintenance\"") != std::string::npos;
    return treatment;
  };
  auto a = std::make_unique<Replica>(time, api, "a", round(1, "1s"));
  time.run_for(seconds{3});
  ASSERT_EQ(a->ledger.entries().size(), 1u);
  a.reset();
  api.treat = nullptr;
  Replica b(time, api, "b", round(1, "1s"));
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{1}));
  EXPECT_EQ(most, 1u);
  time.run_for(seconds{30});
  EXPECT_TRUE(b.ledger.entries().empty());
}

// The node of an inherited admission has been deleted; its place is free.
TEST_F(FailoverTest, AnAdmissionOfANodeThatIsGoneIsFreed) {
  begin(3);
  std::string first;
  api.treat = [&](const Request& request) {
    sim::Treatment treatment = quick();
    if (request.body.find("\"in-maintenance\"") != std::string::npos) {
      treatment.lost = true;
      first = request.path.substr(14, 4);
    }
    return treatment;
  };
  auto a = std::make_unique<Replica>(time, api, "a", round(1, "1s"));
  time.run_for(seconds{3});
  a.reset();
  api.erase(path(first));
  api.treat = nullptr;
  Replica b(time, api, "b", round(1, "1s"));
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{1}));
  EXPECT_EQ(done.size(), 2u);
}

// Everything at once, from a seed: leaders that die at any moment, requests that are late, lost, doubled in time or
// answered wrongly, watches that lag, people who edit, delete and make nodes.
TEST_F(FailoverTest, TheLimitHoldsWhateverHappens) {
  constexpr size_t kMax = 3;
  size_t highest = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    begin(15);
    io::Random random(seed);
    bool calm = false;
    api.treat = [&](const Request& request) {
      sim::Treatment treatment{.before = milliseconds{random.next() % 30}, .after = milliseconds{random.next() % 30}};
      if (calm) return treatment;
      switch (random.next() % (writes(request) ? 24 : 60)) {
        case 0:
          treatment.lost = true;
          break;
        case 1:
          treatment.unanswered = true;
          break;
        case 2:
          treatment.held = true;
          break;
        case 3:
          treatment.before = seconds{5 + static_cast<int>(random.next() % 20)};
          break;
        case 4:
          treatment.mask = sim::ApiServer::refusal(random.next() % 2 ? 500 : 503, "Trouble");
          break;
        case 5:
          treatment.refuse = sim::ApiServer::refusal(random.next() % 2 ? 429 : 503, "Trouble");
          break;
        default:
          break;
      }
      return treatment;
    };
    std::unique_ptr<Replica> leader;
    for (int step = 0; step < 12; ++step) {
      api.delay_watches(milliseconds{random.next() % 3 == 0 ? random.next() % 4000 : 0});
      leader.reset();
      leader = std::make_unique<Replica>(time, api, "leader-" + std::to_string(step), round(kMax, "2s"));
      time.run_for(milliseconds{random.next() % 9000});
      const std::string victim = name(static_cast<int>(random.next() % 15));
      switch (random.next() % 5) {
        case 0:
          label(victim, "edit", std::to_string(step));
          break;
        case 1:
          api.erase(path(victim));
          break;
        case 2:
          if (!known.contains(victim)) add_node(victim, {{"go", ""}});
          break;
        case 3:
          api.break_watches();
          break;
        default:
          api.release_held();
          break;
      }
      ASSERT_LE(most, kMax);
    }
    calm = true;
    api.delay_watches({});
    ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{30}));
    api.release_held();
    time.run_for(minutes{1});
    ASSERT_LE(most, kMax);
    ASSERT_TRUE(all_done());
    EXPECT_TRUE(leader->ledger.entries().empty());
    EXPECT_TRUE(leader->problems.open().empty());
    highest = std::max(highest, most);
  }
  EXPECT_EQ(highest, kMax);
}

}  // namespace
}  // namespace careen::profiles
