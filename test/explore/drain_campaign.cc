#include "drain_campaign.h"

#include <fmt/format.h>

#include "controllers/nodemaintenance/names.h"
#include "controllers/profiles/names.h"
#include "draw.h"

namespace careen::explore {

using io::minutes;
using io::seconds;

namespace {

Plan draw_drain_plan(Draw& draw) {
  Plan plan;
  plan.name = "p";
  plan.stay = draw.of<io::Duration>({seconds{10}, seconds{30}});
  plan.limit.max = draw.between(1, 2);
  plan.limit.by_zone = draw.one_in(4);
  if (draw.one_in(4)) plan.notice = seconds{5};
  plan.marks = draw.one_in(2);
  plan.guards = draw.one_in(4);
  plan.drain = draw.of({Plan::Drain::none, Plan::Drain::in_trigger, Plan::Drain::in_trigger, Plan::Drain::in_enter});
  plan.forced = draw.one_in(3);
  return plan;
}

Workload draw_workload(Draw& draw, int number) {
  Workload workload;
  workload.kind = draw.of({Workload::Kind::deployment, Workload::Kind::deployment, Workload::Kind::stateful_set});
  workload.name = fmt::format("app{}", number);
  workload.replicas = draw.between(2, 5);
  if (!draw.one_in(3)) workload.max_unavailable = draw.between(1, 2);
  workload.ends_in = draw.of({0, 1, 1, 5, 20});
  return workload;
}

// A budget that lets nobody go for a while.
void close_for_a_while(Draw& draw, Campaign& campaign) {
  for (Workload& workload : campaign.workloads) {
    if (!workload.max_unavailable || !draw.one_in(4)) continue;
    const int64_t later = *workload.max_unavailable;
    workload.max_unavailable = 0;
    campaign.edits.push_back(
        {draw.between(seconds{20}, minutes{3}), {}, Edit::Kind::budget, workload.name, kube::Json(later)});
  }
}

void add_workloads(Draw& draw, Campaign& campaign) {
  for (int i = draw.between(2, 4); i > 0; --i) campaign.workloads.push_back(draw_workload(draw, i));
  for (int i = draw.between(0, 3); i > 0; --i) {
    campaign.workloads.push_back({Workload::Kind::bare_pod, fmt::format("bare{}", i), 1, std::nullopt, draw.of({1, 10}),
                                  draw.of(campaign.nodes).name});
  }
  if (draw.one_in(2)) campaign.workloads.push_back({Workload::Kind::daemon_set, "agent"});
  close_for_a_while(draw, campaign);
}

// Drawn apart: with or without them, the rest of a campaign is the same. Of the pods that come back after each eviction
// a drain takes those that were there at its beginning; and what a webhook has to move moves only if it is asked for.
void add_stubborn_workloads(uint64_t seed, Campaign& campaign) {
  Draw draw(seed ^ 0x73747562626f726eULL);
  for (int i = draw.one_in(3) ? draw.between(1, 2) : 0; i > 0; --i) {
    campaign.workloads.push_back({Workload::Kind::pinned, fmt::format("pinned{}", i), draw.between(1, 2), std::nullopt,
                                  draw.of({1, 2, 5}), draw.of(campaign.nodes).name});
  }
  for (int i = draw.one_in(3) ? draw.between(1, 2) : 0; i > 0; --i) {
    Workload moved{Workload::Kind::deployment, fmt::format("vm{}", i), draw.between(1, 3), 0, draw.of({0, 1, 5})};
    moved.moved_after = draw.between(seconds{1}, seconds{20});
    moved.mover_denies = draw.one_in(2);
    campaign.workloads.push_back(std::move(moved));
  }
}

// Some nodes have one, some have two; some are deleted again.
void add_maintenances(Draw& draw, Campaign& campaign, size_t most) {
  for (size_t i = 0; i < most; ++i) {
    const std::string& node = campaign.nodes[i].name;
    if (draw.one_in(4)) continue;
    const io::Duration at = draw.between(seconds{2}, minutes{2});
    const std::string name = "m-" + node;
    campaign.edits.push_back({at, node, Edit::Kind::maintain, name});
    if (!draw.one_in(3)) {
      campaign.edits.push_back({at + draw.between(io::Duration{0}, minutes{2}), node, Edit::Kind::release, name});
    }
    if (!draw.one_in(4)) continue;
    campaign.edits.push_back({at + draw.between(seconds{2}, minutes{1}), node, Edit::Kind::maintain, name + "-too"});
  }
}

// Before or during a maintenance. Where a profile uncordons, what people want is not asked for. The last node stays
// free: pods that are evicted have to go somewhere, or their budgets block for ever.
void let_people_interfere(Draw& draw, Campaign& campaign) {
  const bool profiles_uncordon = campaign.settings.plans.front().drain != Plan::Drain::none;
  for (NodePlan& node : campaign.nodes) {
    const bool stays_free = &node == &campaign.nodes.back();
    if (draw.one_in(5)) node.drain_taint = !stays_free;
    if (draw.one_in(5)) node.labels[std::string(nodemaintenance::kExcludeLabel)] = draw.of<const char*>({"true", "no"});
    if (profiles_uncordon || !draw.one_in(3) || stays_free) continue;
    node.cordoned = draw.one_in(2);
    const Edit::Kind kind = node.cordoned ? Edit::Kind::uncordon : Edit::Kind::cordon;
    if (draw.one_in(2)) campaign.edits.push_back({draw.between(seconds{1}, minutes{3}), node.name, kind});
  }
}

}  // namespace

Campaign draw_drain_campaign(uint64_t seed) {
  Draw draw(seed * 7 + 3);
  Campaign campaign;
  campaign.seed = seed;
  campaign.drains = true;
  const Plan plan = draw_drain_plan(draw);
  campaign.settings.plans.push_back(plan);
  const int count = draw.between(5, 8);
  for (int i = 0; i < count; ++i) {
    NodePlan node{.name = fmt::format("n{:02}", i), .labels = {{kZone, fmt::format("z{}", 1 + i % 2)}}};
    node.labels[std::string(profiles::kProfileLabel)] = plan.name;
    // The first ones have NodeMaintenance objects, later ones go through the profile; some have both, and the last one
    // neither.
    if (i >= 2 && draw.one_in(2) && i + 1 < count) {
      campaign.edits.push_back(
          {draw.between(io::Duration{0}, minutes{1}), node.name, Edit::Kind::label, plan.go(), "yes"});
      if (draw.one_in(4)) {
        const io::Duration off = draw.between(seconds{5}, minutes{2});
        campaign.edits.push_back({off, node.name, Edit::Kind::label, plan.go(), nullptr});
        campaign.edits.push_back(
            {off + draw.between(seconds{5}, minutes{1}), node.name, Edit::Kind::label, plan.go(), "yes"});
      }
    }
    campaign.nodes.push_back(std::move(node));
  }
  add_workloads(draw, campaign);
  add_maintenances(draw, campaign, 3);
  let_people_interfere(draw, campaign);
  add_stubborn_workloads(seed, campaign);
  campaign.edits = in_order(std::move(campaign.edits));
  for (int i = draw.between(1, 2); i > 0; --i) campaign.skews.push_back(draw.between(-seconds{5}, seconds{5}));
  return campaign;
}

Campaign small_drain_campaign(bool by_profile) {
  Campaign campaign;
  campaign.seed = 1;
  campaign.drains = true;
  Plan plan;
  plan.name = "p";
  plan.stay = seconds{5};
  plan.drain = by_profile ? Plan::Drain::in_trigger : Plan::Drain::none;
  campaign.settings.plans.push_back(plan);
  for (const char* name : {"n00", "n01", "n02"}) {
    campaign.nodes.push_back({.name = name, .labels = {{std::string(profiles::kProfileLabel), plan.name}}});
  }
  campaign.workloads = {{Workload::Kind::deployment, "app1", 4, 1},
                        {Workload::Kind::stateful_set, "app2", 3, 1, 3},
                        {Workload::Kind::bare_pod, "bare", 1, std::nullopt, 1, "n00"}};
  if (by_profile) {
    campaign.edits = {{seconds{5}, "n00", Edit::Kind::label, plan.go(), "yes"}};
  } else {
    campaign.nodes.front().labels[std::string(nodemaintenance::kExcludeLabel)] = "no";
    campaign.edits = {{seconds{5}, "n00", Edit::Kind::maintain, "m-n00"},
                      {seconds{30}, "n00", Edit::Kind::release, "m-n00"}};
  }
  campaign.skews = {seconds{2}, -seconds{3}};
  return campaign;
}

}  // namespace careen::explore
