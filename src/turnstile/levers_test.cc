#include "turnstile/levers.h"

#include <gtest/gtest.h>

namespace careen::turnstile {
namespace {

using kube::Json;

const std::map<std::string, std::string> kKarpenter = levers_of({Governor::karpenter}, Governed::node);
constexpr const char* kDisrupt = "karpenter.sh/do-not-disrupt";
constexpr const char* kRepair = "karpenter.sh/do-not-repair";

// After the change, as the API server merges it.
Annotations after(Annotations annotations, const std::optional<Json>& change) {
  if (!change) return annotations;
  change->view().for_each_member([&](std::string_view key, kube::JsonView value) {
    if (value.text()) {
      annotations[std::string(key)] = *value.text();
    } else {
      annotations.erase(std::string(key));
    }
  });
  return annotations;
}

Annotations pulled(const Annotations& before, const std::map<std::string, std::string>& wanted) {
  return after(before, pull(before, wanted, Governed::node));
}

TEST(LeversTest, WhatIsPulledIsLetGo) {
  const Annotations before = {{"example.com/a", "b"}};
  const Annotations on = pulled(before, kKarpenter);
  EXPECT_EQ(on.at(kDisrupt), "true");
  EXPECT_EQ(on.at(kRepair), "true");
  EXPECT_TRUE(on.contains(kGovernedKey));
  EXPECT_FALSE(pull(on, kKarpenter, Governed::node)) << "there is nothing more to do";
  EXPECT_EQ(pulled(on, {}), before);
  EXPECT_FALSE(pull(before, {}, Governed::node));
}

TEST(LeversTest, WhatTheUserSetStays) {
  const Annotations before = {{kDisrupt, "true"}};
  const Annotations on = pulled(before, kKarpenter);
  EXPECT_EQ(pulled(on, {}), before) << "though it has the same value";
  Annotations changed = pulled({}, kKarpenter);
  changed[kDisrupt] = "false";
  const Annotations off = pulled(changed, {});
  EXPECT_EQ(off, (Annotations{{kDisrupt, "false"}}));
  Annotations removed = pulled({}, kKarpenter);
  removed.erase(kDisrupt);
  removed.erase(kRepair);
  EXPECT_EQ(pulled(removed, {}), Annotations{});
}

TEST(LeversTest, SeveralGovernorsShareARecord) {
  const auto both = levers_of({Governor::karpenter, Governor::cluster_autoscaler}, Governed::node);
  EXPECT_EQ(both.size(), 3u);
  Annotations on = pulled({}, both);
  on = pulled(on, kKarpenter);
  EXPECT_EQ(on.size(), 3u) << "two keys and the record";
  EXPECT_EQ(pulled(on, {}), Annotations{});
}

// Whoever can write the object can write its record.
TEST(LeversTest, AForgedRecordTakesNothingElseAway) {
  const Annotations before = {
      {"example.com/precious", "1"},
      {std::string(kGovernedKey),
       R"({"example.com/precious":null,"karpenter.sh/do-not-disrupt":"x","weave.works/kured-node-lock":null})"},
      {kDisrupt, "until Monday"}};
  const Annotations off = pulled(before, {});
  EXPECT_EQ(off.at("example.com/precious"), "1");
  EXPECT_EQ(off.at(kDisrupt), "until Monday");
  for (const char* garbage : {"[]", "{", "", "null", "7"}) {
    const Annotations with = {{std::string(kGovernedKey), garbage}};
    EXPECT_EQ(pulled(with, {}), with);
    EXPECT_EQ(pulled(pulled(with, kKarpenter), {}), Annotations{});
  }
}

TEST(LeversTest, EachKindHasItsOwn) {
  EXPECT_TRUE(levers_of({Governor::kured}, Governed::node).empty());
  EXPECT_EQ(levers_of({Governor::kured}, Governed::daemon_set).size(), 1u);
  EXPECT_EQ(levers_of({Governor::cluster_api}, Governed::machine).size(), 2u);
  EXPECT_EQ(levers_of({Governor::cluster_api}, Governed::cluster).size(), 1u);
  for (const char* name : {"karpenter", "karpenterNodePool", "clusterAutoscaler", "kured", "clusterAPI"}) {
    ASSERT_TRUE(governor_of(name)) << name;
    EXPECT_EQ(name_of(*governor_of(name)), name);
  }
  EXPECT_FALSE(governor_of("descheduler"));
}

Json merged(const Json& pool, const std::optional<Json>& change) {
  Json out = pool;
  if (!change) return out;
  out.set({"spec", "disruption", "budgets"}, Json((*change)["spec"]["disruption"]["budgets"]));
  const auto record = (*change)["metadata"]["annotations"][kGovernedKey].text();
  if (record) {
    out.set({"metadata", "annotations", kGovernedKey}, *record);
  } else {
    out.remove({"metadata", "annotations", kGovernedKey});
  }
  return out;
}

TEST(LeversTest, APoolsBudgetsGetOneEntryMore) {
  const Json pool =
      *Json::parse(R"({"metadata":{"annotations":{}},"spec":{"disruption":{"budgets":[{"nodes":"10%"}]}}})");
  const Json held = merged(pool, pull_node_pool(pool.view(), true));
  EXPECT_EQ(held.at("/spec/disruption/budgets/1/nodes").text(), "0");
  EXPECT_FALSE(pull_node_pool(held.view(), true));
  EXPECT_EQ(merged(held, pull_node_pool(held.view(), false)), pool);
  EXPECT_FALSE(pull_node_pool(pool.view(), false));
  const Json own = *Json::parse(R"({"spec":{"disruption":{"budgets":[{"nodes":"0"}]}}})");
  EXPECT_FALSE(pull_node_pool(own.view(), true)) << "the user allows nothing";
  EXPECT_FALSE(pull_node_pool(own.view(), false));
}

}  // namespace
}  // namespace careen::turnstile
