#include "controllers/profiles/begun_leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "budget/admission.h"
#include "controllers/profiles/test_support.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Outcome = LeaseTaker::Outcome;

class BegunLeasesTest : public WorldTest {
 protected:
  static LeaseGrab grab(const std::string& name) { return {"kube-system", name, io::minutes{10}, 0, {}, -1}; }
  void take(const std::string& name) {
    scope.spawn([](BegunLeases& leases, LeaseGrab g, io::Wall t) -> io::Task<void> {
      const auto outcome = co_await leases.take("a", std::move(g), t);
      EXPECT_TRUE(outcome && *outcome == Outcome::taken);
    }(begun, grab(name), in_microseconds(now)));
    time.run_for(io::seconds{1});
  }
  bool held(const std::string& name) const {
    const std::string path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/" + name;
    const auto renewed = io::parse_rfc3339(api.object(path)["spec"]["renewTime"].text().value_or(""));
    return renewed && io::add(*renewed, io::minutes{10}) >= loop->wall_now();
  }

  std::vector<std::string> freed;
  BegunLeases begun{*loop, LeaseTaker(client, leases, atoms, io::Log{}), lease_facts,
                    [this](const std::string& lease) { freed.push_back(lease); }};
  io::Scope scope{*loop};
};

TEST_F(BegunLeasesTest, WhatTheNextDecisionDoesNotTakeIsGivenBack) {
  begun.reserve("a", {grab("x"), grab("y")});
  take("x");
  take("y");
  EXPECT_EQ(lease_facts.unfinished(), 4U);
  begun.reserve("a", {grab("y")});
  time.run_for(io::seconds{1});
  EXPECT_THAT(freed, ElementsAre("kube-system/x"));
  EXPECT_FALSE(held("x"));
  EXPECT_TRUE(held("y"));
  ASSERT_TRUE(lease_facts.taken_by("kube-system/y"));
  EXPECT_FALSE(lease_facts.taken_by("kube-system/x"));
}

TEST_F(BegunLeasesTest, SpentLeasesRunOutByThemselves) {
  begun.reserve("a", {grab("x")});
  take("x");
  begun.spend("a");
  time.run_for(io::seconds{1});
  EXPECT_THAT(freed, ElementsAre("kube-system/x"));
  EXPECT_TRUE(held("x"));
  EXPECT_FALSE(begun.has("a"));
  EXPECT_EQ(lease_facts.unfinished(), 0U);
}

TEST_F(BegunLeasesTest, OneThatWasNeverSentIsOnlyForgotten) {
  begun.reserve("a", {grab("x")});
  begun.withdraw("a");
  time.run_for(io::seconds{1});
  EXPECT_THAT(freed, ElementsAre("kube-system/x"));
  EXPECT_EQ(api.count("POST leases") + api.count("PUT leases") + api.count("PATCH leases"), 0);
}

TEST_F(BegunLeasesTest, AnInheritedOneThatMayBeUsedIsNotGivenBack) {
  begun.reserve("a", {grab("x"), grab("y")});
  take("x");
  take("y");
  begun.spend("a");
  budget::Admission admission{"uid-a", "a", "profile/p", now};
  admission.leases = {{"kube-system/x", in_microseconds(now)}};
  begun.inherit(admission, BegunLeases::Use::possible, false);
  EXPECT_TRUE(begun.has("a"));
  EXPECT_FALSE(lease_facts.taken_by("kube-system/x")) << "it is free to others once it has run out";
  begun.withdraw("a");
  admission.leases = {{"kube-system/y", in_microseconds(now)}};
  begun.inherit(admission, BegunLeases::Use::none, true);
  EXPECT_TRUE(lease_facts.taken_by("kube-system/y")) << "however long the drain takes";
  begun.withdraw("a");
  time.run_for(io::seconds{1});
  EXPECT_TRUE(held("x"));
  EXPECT_FALSE(held("y"));
}

}  // namespace
}  // namespace careen::profiles
