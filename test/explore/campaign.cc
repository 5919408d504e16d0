#include "campaign.h"

#include <fmt/format.h>

#include <utility>

#include "draw.h"
#include "profiles/names.h"

namespace careen::explore {

using io::minutes;
using io::seconds;

namespace {

Plan draw_plan(Draw& draw, std::string name) {
  Plan plan;
  plan.name = std::move(name);
  plan.stay = draw.of<io::Duration>({seconds{20}, seconds{45}, minutes{1}, minutes{2}});
  plan.limit.max = draw.between(1, 4);
  plan.limit.by_zone = draw.one_in(3);
  plan.limit.own_profile = draw.one_in(3);
  if (draw.one_in(4)) plan.limit.skip_after = plan.stay / 2;
  if (draw.one_in(4)) plan.notice = draw.of<io::Duration>({seconds{5}, seconds{30}});
  plan.marks = draw.one_in(3);
  return plan;
}

// Something is taken away and given back later.
void take_and_return(Draw& draw, Campaign& campaign, const NodePlan& node) {
  const Plan& plan = draw.of(campaign.settings.plans);
  const io::Duration at = draw.between(seconds{5}, minutes{5});
  const io::Duration back = at + draw.between(seconds{1}, minutes{2});
  switch (draw.between(0, 5)) {
    case 0:  // called off, and wanted after all
      campaign.edits.push_back({at, node.name, Edit::Kind::label, plan.go(), nullptr});
      campaign.edits.push_back({back, node.name, Edit::Kind::label, plan.go(), "yes"});
      break;
    case 1:  // once more
      campaign.edits.push_back({at, node.name, Edit::Kind::label, plan.done(), nullptr});
      break;
    case 2:  // another profile for a while
      campaign.edits.push_back({at, node.name, Edit::Kind::label, std::string(profiles::kProfileLabel), "other"});
      campaign.edits.push_back({back, node.name, Edit::Kind::label, std::string(profiles::kProfileLabel),
                                node.labels.at(std::string(profiles::kProfileLabel))});
      break;
    case 3:  // replaced
      campaign.edits.push_back({at, node.name, Edit::Kind::remove});
      campaign.edits.push_back({draw.one_in(2) ? at : back, node.name, Edit::Kind::make});
      break;
    case 4:
      campaign.edits.push_back({at, node.name, Edit::Kind::label, "foreign.example/owner", "somebody"});
      break;
    default:
      campaign.edits.push_back({at, node.name, Edit::Kind::annotate, "foreign.example/remark", "busy"});
      break;
  }
}

// By time; what comes at the same time stays in its order.
std::vector<Edit> in_order(std::vector<Edit> edits) {
  std::multimap<io::Duration, Edit> sorted;
  for (Edit& edit : edits) sorted.emplace(edit.at, std::move(edit));
  edits.clear();
  for (auto& [at, edit] : sorted) edits.push_back(std::move(edit));
  return edits;
}

}  // namespace

Campaign draw_campaign(uint64_t seed) {
  Draw draw(seed * 2 + 1);
  Campaign campaign;
  campaign.seed = seed;
  campaign.settings.plans.push_back(draw_plan(draw, "p"));
  if (draw.one_in(3)) campaign.settings.plans.push_back(draw_plan(draw, "q"));
  const int zones = draw.between(1, 3);
  const int count = draw.between(8, draw.one_in(3) ? 20 : 12);
  for (int i = 0; i < count; ++i) {
    NodePlan node{fmt::format("n{:02}", i), {{kZone, fmt::format("z{}", draw.between(1, zones))}}};
    std::string profiles;
    for (const Plan& plan : campaign.settings.plans) {
      if (!profiles.empty() && !draw.one_in(2)) continue;
      profiles += (profiles.empty() ? "" : "--") + plan.name;
      if (draw.one_in(10)) continue;
      if (draw.one_in(2)) {
        node.labels[plan.go()] = "yes";
      } else {
        campaign.edits.push_back(
            {draw.between(io::Duration{0}, minutes{3}), node.name, Edit::Kind::label, plan.go(), "yes"});
      }
    }
    node.labels[std::string(profiles::kProfileLabel)] = profiles;
    campaign.nodes.push_back(std::move(node));
  }
  for (int i = draw.between(0, 5); i > 0; --i) take_and_return(draw, campaign, draw.of(campaign.nodes));
  campaign.edits = in_order(std::move(campaign.edits));
  for (int i = draw.between(1, 2); i > 0; --i) campaign.skews.push_back(draw.between(-seconds{5}, seconds{5}));
  return campaign;
}

Campaign small_campaign(int replicas, bool marks) {
  Campaign campaign;
  campaign.seed = 1;
  Plan plan;
  plan.name = "p";
  plan.stay = seconds{10};
  plan.marks = marks;
  campaign.settings.plans.push_back(plan);
  for (const char* name : {"n00", "n01", "n02"}) {
    campaign.nodes.push_back({name, {{plan.go(), "yes"}, {std::string(profiles::kProfileLabel), plan.name}}});
  }
  campaign.skews = {seconds{2}, -seconds{3}};
  campaign.skews.resize(static_cast<size_t>(replicas));
  return campaign;
}

}  // namespace careen::explore
