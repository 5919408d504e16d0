#include "demo/world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "demo/config.h"
#include "io/problems.h"

namespace careen::app {
namespace {

using profiles::State;

// Counts what happens in the world, and what must not.
struct Watched {
  std::map<std::string, int> rounds;                                   // by profile
  std::map<std::pair<std::string, std::string>, io::Steady> moved_at;  // by node and profile
  int most_in_maintenance = 0;
  int most_updates_in_a_zone = 0;

  void follow(DemoCluster& cluster, io::VirtualTime& time) {
    cluster.nodes().subscribe(
        [this, &cluster, &time](const std::string& name, const DemoNode& before, const DemoNode& now) {
          for (const auto& [profile, state] : now.profiles) {
            if (before.state(profile) == state && moved_at.contains({name, profile})) continue;
            moved_at[{name, profile}] = time.now();
            if (before.state(profile) == State::in_maintenance && state == State::operational) ++rounds[profile];
            if (state == State::in_maintenance) count(cluster.nodes());
          }
        });
  }
  void count(const DemoNodes& nodes) {
    int all = 0;
    std::map<std::string, int> updates;
    for (const auto& [name, node] : nodes.all()) {
      const bool updating = node.state(kOsUpdate) == State::in_maintenance;
      all += updating || node.state(kHardwareRepair) == State::in_maintenance;
      if (updating) most_updates_in_a_zone = std::max(most_updates_in_a_zone, ++updates[node.zone]);
    }
    most_in_maintenance = std::max(most_in_maintenance, all);
  }
};

std::vector<std::string> maintenances(DemoWorld& world) {
  std::vector<std::string> out;
  world.home().api.for_each("/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances",
                            [&](const std::string& path, const sim::Text&) { out.push_back(path); });
  return out;
}

void expect_no_problem(DemoWorld& world) {
  EXPECT_FALSE(world.careen().exit_code().has_value());
  for (const auto& [key, message] : world.careen().replica().problems().open()) {
    ADD_FAILURE() << key << ": " << message;
  }
}

// Anybody who looks at the demonstration sees something move before they look away.
TEST(DemoWorld, something_moves_within_ten_seconds) {
  io::VirtualTime time;
  DemoWorld world(time, {});
  Watched watched;
  watched.follow(world.cluster(), time);
  time.run_for(io::seconds{10});
  bool draining = false;
  int required = 0;
  for (const auto& [name, node] : world.cluster().nodes().all()) {
    draining = draining || node.cordoned;
    required += node.state(kOsUpdate) == State::maintenance_required;
  }
  EXPECT_TRUE(draining);
  EXPECT_GT(required, 40);
  EXPECT_EQ(maintenances(world).size(), 1u);
  expect_no_problem(world);
}

// Lets the world run and expects rounds of both profiles, no limit exceeded, nothing stuck.
void expect_lively(int nodes, uint64_t seed, int hours) {
  io::VirtualTime time;
  DemoWorld world(time, {.nodes = nodes, .seed = seed});
  Watched watched;
  watched.follow(world.cluster(), time);
  int& updates = watched.rounds[std::string(kOsUpdate)];
  for (int hour = 0, last = 0; hour < hours; ++hour, last = updates) {
    time.run_for(io::hours{1});
    // An hour without an update would be boring, and most likely a sign that something is stuck.
    EXPECT_GT(updates, last) << "in hour " << hour;
  }
  EXPECT_GT(updates, hours * nodes / 4);
  EXPECT_GT(watched.rounds[std::string(kHardwareRepair)], hours);
  EXPECT_LE(watched.most_updates_in_a_zone, kUpdatesPerZone);
  EXPECT_LE(watched.most_in_maintenance, kMostInMaintenance);
  EXPECT_GT(watched.most_in_maintenance, 2);
  for (const auto& [name, node] : world.cluster().nodes().all()) {
    for (const auto& [profile, state] : node.profiles) {
      if (state == State::operational) continue;
      const io::Duration since = time.now() - watched.moved_at[std::pair(name, profile)];
      EXPECT_LT(since, io::hours{2}) << name << " of " << profile;
    }
  }
  EXPECT_LE(maintenances(world).size(), 3u);
  expect_no_problem(world);
}

TEST(DemoWorld, an_hour_of_it) { expect_lively(60, 1, 1); }

// Fewer nodes, for longer, a day in all: it does not get stuck.
class DemoWorldSeeds : public testing::TestWithParam<uint64_t> {};
TEST_P(DemoWorldSeeds, six_hours_of_it) { expect_lively(12, GetParam(), 6); }
INSTANTIATE_TEST_SUITE_P(Seeds, DemoWorldSeeds, testing::Values(1, 2));

// Each cluster has the updates, the faults and the limits for itself, and an end of one is none of the others.
TEST(DemoWorld, a_hub_looks_after_several_clusters) {
  io::VirtualTime time;
  DemoWorld world(time, {.nodes = 12, .clusters = 3});
  std::vector<Watched> watched(world.size());
  for (size_t index = 0; index < world.size(); ++index) {
    watched[index].follow(world.cluster(index), time);
    // Nobody can look after the last one: it is not known how to reach it.
    if (index + 1 == world.size()) continue;
    const std::string address = fmt::format("https://{}", kClusterNames[index]);
    world.publish(index, address,
                  fmt::format("{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: "
                              "{{cluster: c, user: u}}}}], clusters: [{{name: c, cluster: {{server: \"{}\"}}}}], "
                              "users: [{{name: u, user: {{token: t}}}}]}}",
                              address));
  }
  time.run_for(io::hours{2});
  for (size_t index = 0; index + 1 < world.size(); ++index) {
    EXPECT_GT(watched[index].rounds[std::string(kOsUpdate)], 6) << index;
    EXPECT_GT(watched[index].rounds[std::string(kHardwareRepair)], 2) << index;
    EXPECT_LE(watched[index].most_updates_in_a_zone, kUpdatesPerZone) << index;
    EXPECT_LE(watched[index].most_in_maintenance, kMostInMaintenance) << index;
  }
  EXPECT_EQ(watched.back().most_in_maintenance, 0);
  EXPECT_FALSE(world.careen().exit_code().has_value());
  const auto problems = world.careen().replica().problems().open();
  ASSERT_FALSE(problems.empty());
  for (const auto& [key, message] : problems) EXPECT_TRUE(key.starts_with("cluster fleet/ap-1")) << key << message;
}

// Without actors nobody approves and nothing breaks, but machines do their part.
TEST(DemoWorld, without_actors_the_update_ends_and_then_it_is_quiet) {
  io::VirtualTime time;
  DemoWorld world(time, {.actors = false});
  time.run_for(io::hours{3});
  for (const auto& [name, node] : world.cluster().nodes().all()) {
    EXPECT_EQ(node.state(kOsUpdate), node.outdated ? State::maintenance_required : State::operational) << name;
    EXPECT_EQ(node.outdated, node.awaits_approval()) << name;
  }
}

}  // namespace
}  // namespace careen::app
