#include "cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "drain_campaign.h"
#include "draw.h"

namespace careen::explore {

Cases::Prepared Cases::make(uint64_t seed, const std::vector<std::string>& nodes) {
  Prepared prepared;
  prepared.one.seed = seed;
  Campaign& campaign = prepared.one.campaign;
  campaign = family_ == Family::drains ? draw_drain_campaign(seed / kSeedsPerCampaign)
                                       : draw_campaign(seed / kSeedsPerCampaign);
  if (known_ != campaign.seed) {
    undisturbed_ = run_undisturbed(campaign);
    known_ = campaign.seed;
  }
  prepared.undisturbed = undisturbed_;
  const io::Duration horizon = undisturbed_.end.takes;
  prepared.one.perturbations = draw_perturbations(seed, campaign, horizon);
  Draw draw(seed * 5 + 3);
  prepared.one.calm_after = horizon * draw.between(50, 120) / 100;
  if (nodes.empty()) return prepared;
  const auto unwanted = [&](const std::string& node) {
    return !node.empty() && std::find(nodes.begin(), nodes.end(), node) == nodes.end();
  };
  std::erase_if(campaign.nodes, [&](const NodePlan& node) { return unwanted(node.name); });
  std::erase_if(campaign.edits, [&](const Edit& edit) { return unwanted(edit.node); });
  prepared.undisturbed = run_undisturbed(campaign);
  return prepared;
}

namespace {

std::vector<std::pair<std::string, Campaign>> small_campaigns(Family family) {
  if (family == Family::profiles)
    return {{"1 replicas", small_campaign(1, false)}, {"2 replicas", small_campaign(2, true)}};
  return {{"a NodeMaintenance", small_drain_campaign(false)}, {"a draining profile", small_drain_campaign(true)}};
}

constexpr Target kCrashTargets[] = {Target::nodes,        Target::ledger, Target::leases,      Target::events,
                                    Target::maintenances, Target::pods,   Target::node_leases, Target::lock};

}  // namespace

SystematicCases systematic_cases(Family family) {
  SystematicCases all;
  for (const auto& [campaign_name, campaign] : small_campaigns(family)) {
    const Outcome undisturbed = run_undisturbed(campaign);
    if (undisturbed.failed()) {
      all.failed.push_back(undisturbed);
      continue;
    }
    for (const Target target : kCrashTargets) {
      if (!undisturbed.writes.contains(target)) continue;
      // The lock is renewed all the time; a few of its writes stand for all.
      const int most = target == Target::lock ? 4 : undisturbed.writes.at(target);
      for (int count = 1; count <= most; ++count) {
        for (const auto& [kind, fate] :
             {std::pair{Trigger::Kind::before_write, Fate::lost}, std::pair{Trigger::Kind::before_write, Fate::late},
              std::pair{Trigger::Kind::after_write, Fate::passes}}) {
          Systematic one;
          one.one.seed = 1;
          one.one.campaign = campaign;
          one.one.calm_after = undisturbed.end.takes;
          one.expected = undisturbed.end;
          Perturbation crash;
          crash.index = 1;
          crash.action = Action::crash;
          crash.trigger = {kind, {}, target, count};
          crash.fate = fate;
          crash.span = io::seconds{1};
          // When a successor has just taken over.
          crash.delay = io::seconds{17};
          one.one.perturbations = {crash};
          one.name = fmt::format("{}, {}", campaign_name, crash.text());
          all.cases.push_back(std::move(one));
        }
      }
    }
  }
  return all;
}

}  // namespace careen::explore
