#include "machines_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "draw.h"
#include "machines_plan.h"

namespace careen::explore {

using io::minutes;
using io::seconds;

namespace {

using StepKind = MachineStep::Kind;

// All that people do begins within this time.
constexpr io::Duration kBusyTime = minutes{9};

std::vector<ClusterPlan> draw_clusters(Draw& draw) {
  // Two of one name, in two namespaces.
  std::vector<ClusterPlan> clusters{{.ns = "blue", .name = "w1"}, {.ns = "green", .name = "w1"}};
  if (draw.one_in(3)) clusters.push_back({.ns = "blue", .name = "w2"});
  for (ClusterPlan& cluster : clusters) {
    cluster.slowest_approval = draw.of<io::Duration>({seconds{5}, seconds{40}, minutes{2}});
    cluster.forgetful = draw.one_in(3);
    cluster.registers_maintained = draw.one_in(2);
  }
  if (draw.one_in(8)) {
    ClusterPlan& last = clusters.back();
    last.dies = draw.between(minutes{2}, kBusyTime);
    last.given_up_by_disabling = draw.one_in(2);
  }
  return clusters;
}

MachineStep draw_step(Draw& draw) {
  MachineStep step;
  step.kind = draw.of({StepKind::request, StepKind::request, StepKind::request, StepKind::remove, StepKind::remove,
                       StepKind::disable, StepKind::disable, StepKind::enable, StepKind::skip, StepKind::fail,
                       StepKind::unmaintain, StepKind::renew_node});
  step.at = draw.between(seconds{20}, kBusyTime);
  step.span = draw.one_in(3) ? draw.between(seconds{1}, seconds{10}) : draw.between(seconds{10}, minutes{4});
  step.patience = draw.one_in(3) ? draw.between(seconds{1}, minutes{1}) : minutes{12};
  if (draw.one_in(3)) step.repeats = draw.between(1, 2);
  if (step.kind == StepKind::disable && draw.one_in(2)) step.span = io::Duration::max();
  if (step.kind == StepKind::renew_node) step.span /= 8;
  // So long that whoever waits for its return gives up.
  if (step.kind == StepKind::fail && draw.one_in(6)) step.span = minutes{80};
  return step;
}

SlotPlan draw_slot(Draw& draw, const MachinesPlan& plan, int cluster, int number) {
  SlotPlan slot;
  const ClusterPlan& its = plan.clusters[static_cast<size_t>(cluster)];
  slot.cluster = cluster;
  // Names are shared by clusters as far as a namespace allows it.
  slot.name = fmt::format("{}{}", its.name == "w2" ? "v" : "m", number);
  slot.id = fmt::format("{}/{}", its.key(), slot.name);
  if (draw.one_in(2)) slot.node = fmt::format("n{}", number);
  slot.enabled = !draw.one_in(6);
  slot.maintained = !draw.one_in(6);
  slot.has_host = draw.one_in(2);
  slot.host_by_uid = draw.one_in(4);
  slot.keeps_power = draw.one_in(8);
  slot.services_firmware = draw.one_in(5);
  slot.overlaps = draw.one_in(3);
  slot.has_stranger = slot.has_host && draw.one_in(8);
  if (draw.one_in(2)) slot.remediated_after = draw.of<io::Duration>({seconds{50}, minutes{3}});
  for (int i = draw.between(1, 3); i > 0; --i) slot.steps.push_back(draw_step(draw));
  return slot;
}

Campaign campaign_of(MachinesPlan plan) {
  Campaign campaign;
  for (const SlotPlan& slot : plan.slots) campaign.nodes.push_back({slot.id, {}});
  campaign.machines = std::make_shared<const MachinesPlan>(std::move(plan));
  return campaign;
}

std::string_view name_of(StepKind kind) {
  constexpr std::string_view kNames[] = {"request", "remove", "disable",    "enable",
                                         "skip",    "fail",   "unmaintain", "renew the node"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

Campaign draw_machines_campaign(uint64_t seed) {
  Draw draw(seed * 13 + 5);
  MachinesPlan plan;
  plan.relay.hook_without_state = draw.one_in(5);
  plan.relay.clear_approvals = draw.one_in(3);
  plan.relay.skip_remediation = !draw.one_in(5);
  plan.relay.metal3 = draw.one_in(2);
  plan.clusters = draw_clusters(draw);
  for (size_t cluster = 0; cluster < plan.clusters.size(); ++cluster) {
    const int count = draw.between(1, 3);
    for (int i = 1; i <= count; ++i) plan.slots.push_back(draw_slot(draw, plan, static_cast<int>(cluster), i));
  }
  Campaign campaign = campaign_of(std::move(plan));
  campaign.seed = seed;
  for (int i = draw.between(1, 2); i > 0; --i) {
    campaign.skews.push_back(draw.one_in(2) ? io::Duration{0} : draw.between(-seconds{5}, seconds{5}));
  }
  return campaign;
}

Campaign small_machines_campaign() {
  MachinesPlan plan;
  plan.relay.metal3 = true;
  plan.clusters = {{.ns = "blue", .name = "w1", .slowest_approval = seconds{3}, .registers_maintained = true}};
  SlotPlan slot{.id = "blue/w1/m1", .name = "m1", .node = "n1", .has_host = true};
  slot.steps = {{.kind = StepKind::request, .at = minutes{2}, .span = seconds{10}, .patience = minutes{12}},
                {.kind = StepKind::disable, .at = minutes{5}, .span = io::Duration::max()}};
  plan.slots.push_back(slot);
  slot = {.id = "blue/w1/m2", .name = "m2"};
  slot.steps = {{.kind = StepKind::remove, .at = minutes{2}},
                {.kind = StepKind::disable, .at = minutes{5}, .span = io::Duration::max()}};
  plan.slots.push_back(slot);
  Campaign campaign = campaign_of(std::move(plan));
  campaign.skews = {io::Duration{0}, seconds{1}};
  return campaign;
}

const SlotPlan& MachinesPlan::slot(const std::string& id) const { return *std::ranges::find(slots, id, &SlotPlan::id); }

std::string MachinesPlan::text() const {
  std::string out = fmt::format("hook without state: {}, approvals cleared: {}, remediation skipped: {}, Metal3: {}\n",
                                relay.hook_without_state, relay.clear_approvals, relay.skip_remediation, relay.metal3);
  for (const ClusterPlan& cluster : clusters) {
    out += fmt::format("cluster {}: approves within {}{}{}{}\n", cluster.key(),
                       io::format_duration(cluster.slowest_approval), cluster.forgetful ? ", forgets approvals" : "",
                       cluster.registers_maintained ? ", registers maintained" : "",
                       cluster.dies ? fmt::format(", dies after {}, is {}", io::format_duration(*cluster.dies),
                                                  cluster.given_up_by_disabling ? "disabled" : "deleted")
                                    : "");
  }
  for (const SlotPlan& slot : slots) {
    out += fmt::format(
        "slot {}:{}{}{}{}{}{}{}{}{}{}\n", slot.id, slot.enabled ? "" : " disabled",
        slot.maintained ? "" : " unmaintained", slot.node.empty() ? "" : " node " + slot.node,
        slot.has_host ? " host" : "", slot.host_by_uid ? " by uid" : "", slot.keeps_power ? " keeps power" : "",
        slot.services_firmware ? " serviced" : "", slot.overlaps ? " overlaps" : "",
        slot.has_stranger ? " stranger" : "",
        slot.remediated_after ? fmt::format(" remediated after {}", io::format_duration(*slot.remediated_after)) : "");
    for (const MachineStep& step : slot.steps) {
      const std::string span = step.span == io::Duration::max() ? "ever" : io::format_duration(step.span);
      out += fmt::format("  at {}: {}, for {}, patience {}, {} more\n", io::format_duration(step.at),
                         name_of(step.kind), span, io::format_duration(step.patience), step.repeats);
    }
  }
  return out;
}

}  // namespace careen::explore
