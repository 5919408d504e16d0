#include "campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controllers/profiles/names.h"
#include "draw.h"
#include "machines_plan.h"

namespace careen::explore {

using io::minutes;
using io::seconds;
using profiles::State;

namespace {

Stagger draw_stagger(Draw& draw) {
  Stagger stagger;
  stagger.group = draw.of<const char*>({"pace", "pace", "step"});
  stagger.duration = draw.of<io::Duration>({seconds{5}, seconds{20}, seconds{40}});
  stagger.parallel = draw.between(1, 3);
  stagger.at_request = draw.one_in(3);
  stagger.or_urgent = draw.one_in(3);
  return stagger;
}

Hours draw_hours(Draw& draw) {
  Hours hours;
  hours.period = draw.between(4, 8);
  hours.open = draw.between(hours.period / 2, hours.period - 1);
  hours.shift = draw.between(0, hours.period - 1);
  switch (draw.between(0, 3)) {
    case 0:
      hours.zone = "Asia/Kolkata";
      hours.zone_offset = 330;
      break;
    case 1:
      hours.zone = "Etc/GMT+3";
      hours.zone_offset = -180;
      break;
    default:
      break;
  }
  return hours;
}

Telling draw_telling(Draw& draw, const std::string& plan, int number) {
  Telling telling;
  telling.way = draw.of({Telling::Way::mail, Telling::Way::slack, Telling::Way::thread});
  telling.when = draw.of({Telling::When::periodic, Telling::When::periodic, Telling::When::oneshot,
                          Telling::When::oneshot, Telling::When::scheduled});
  telling.name = fmt::format("{}_tell{}", plan, number);
  const std::vector<State> all{State::operational, State::maintenance_required, State::in_maintenance};
  switch (telling.when) {
    case Telling::When::periodic:
      telling.span = draw.of<io::Duration>({seconds{30}, io::hours{1}});
      telling.states = draw.one_in(2) ? all : std::vector<State>{State::in_maintenance};
      break;
    case Telling::When::oneshot:
      telling.span = draw.of<io::Duration>({seconds{0}, seconds{1}, seconds{10}, minutes{1}});
      telling.states = draw.one_in(2) ? all : std::vector<State>{State::maintenance_required, State::in_maintenance};
      break;
    case Telling::When::scheduled:
      telling.span = minutes{draw.between(2, 8)};
      telling.states = all;
      break;
  }
  return telling;
}

// What else a profile asks for before it lets a node in or out; most have a little of it.
void add_checks(Draw& draw, Plan& plan) {
  if (draw.one_in(2)) plan.stagger = draw_stagger(draw);
  if (draw.one_in(4)) plan.hours = draw_hours(draw);
  plan.calm = draw.one_in(4);
  plan.unless_frozen = draw.one_in(5);
  plan.healthy = draw.one_in(4);
  plan.guards = draw.one_in(3);
  plan.notice_days = draw.one_in(2);
  plan.affinity = draw.one_in(5);
  if (plan.affinity && draw.one_in(2)) plan.min_operational = draw.between(1, 6);
  if (draw.one_in(4)) plan.limit.percent = draw.of({10, 15, 25, 34});
  if (draw.one_in(2)) {
    for (int i = draw.between(1, 3); i > 0; --i) plan.tellings.push_back(draw_telling(draw, plan.name, i));
  }
}

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
  if (!draw.one_in(4)) add_checks(draw, plan);
  return plan;
}

// Something is taken away and given back later.
void take_and_return(Draw& draw, Campaign& campaign, const NodePlan& node) {
  const Plan& plan = draw.of(campaign.settings.plans);
  const io::Duration at = draw.between(seconds{5}, minutes{5});
  const io::Duration back = at + draw.between(seconds{1}, minutes{2});
  switch (draw.between(0, 7)) {
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
      campaign.edits.push_back({at, node.name, Edit::Kind::pod});
      break;
    case 5:
      campaign.edits.push_back({at, node.name, Edit::Kind::load, {}, int64_t{9}});
      campaign.edits.push_back({back, node.name, Edit::Kind::load, {}, int64_t{1}});
      break;
    case 6:
      campaign.edits.push_back({at, node.name, Edit::Kind::label, "foreign.example/owner", "somebody"});
      break;
    default:
      campaign.edits.push_back({at, node.name, Edit::Kind::annotate, "foreign.example/remark", "busy"});
      break;
  }
}

}  // namespace

std::vector<Edit> in_order(std::vector<Edit> edits) {
  std::multimap<io::Duration, Edit> sorted;
  for (Edit& edit : edits) sorted.emplace(edit.at, std::move(edit));
  edits.clear();
  for (auto& [at, edit] : sorted) edits.push_back(std::move(edit));
  return edits;
}

std::string Campaign::text() const { return machines ? machines->text() : settings.yaml(); }

io::Duration Campaign::last_event() const {
  io::Duration last = edits.empty() ? io::Duration{0} : edits.back().at;
  for (const Plan& plan : settings.plans) {
    for (const Telling& telling : plan.tellings) {
      if (telling.when == Telling::When::scheduled) last = std::max(last, telling.span + minutes{1});
    }
  }
  return last;
}

io::Duration Campaign::longest_pause() const {
  io::Duration pause = minutes{4};
  for (const Plan& plan : settings.plans) pause = std::max(pause, io::Duration(minutes{2 * plan.hours.period}));
  return pause;
}

Campaign draw_campaign(uint64_t seed) {
  Draw draw(seed * 2 + 1);
  Campaign campaign;
  campaign.seed = seed;
  campaign.settings.plans.push_back(draw_plan(draw, "p"));
  if (draw.one_in(3)) campaign.settings.plans.push_back(draw_plan(draw, "q"));
  // Both profiles see that a node has been updated, so only one of them may ask by version.
  if (draw.one_in(4)) campaign.settings.plans.front().versions = true;
  campaign.cache_pods = draw.one_in(3);
  const int zones = draw.between(1, 3);
  const int count = draw.between(8, draw.one_in(4) ? 18 : 11);
  for (Plan& plan : campaign.settings.plans) {
    if (draw.one_in(5)) plan.least_nodes = count;
  }
  for (int i = 0; i < count; ++i) {
    NodePlan node{fmt::format("n{:02}", i), {{kZone, fmt::format("z{}", draw.between(1, zones))}}, false};
    node.affinity_pod = draw.one_in(2);
    if (draw.one_in(5)) node.labels[kUrgent] = "yes";
    node.labels[kVersion] = i == 0 ? kNewVersion : kOldVersion;
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

Campaign crowd_campaign(int nodes, int limit, io::Duration notice) {
  Campaign campaign;
  campaign.seed = 1;
  Plan plan;
  plan.name = "p";
  plan.stay = seconds{10};
  plan.limit.max = limit;
  plan.notice = notice;
  campaign.settings.plans.push_back(plan);
  for (int i = 0; i < nodes; ++i) {
    campaign.nodes.push_back({.name = fmt::format("n{:04}", i),
                              .labels = {{plan.go(), "yes"}, {std::string(profiles::kProfileLabel), plan.name}}});
  }
  campaign.skews = {seconds{0}};
  return campaign;
}

Campaign small_campaign(int replicas, bool marks) {
  Campaign campaign;
  campaign.seed = 1;
  Plan plan;
  plan.name = "p";
  plan.stay = seconds{10};
  plan.marks = marks;
  plan.stagger = Stagger{"pace", seconds{5}, 1, false, false};
  plan.tellings = {{"p_tell1", Telling::Way::thread, Telling::When::periodic, io::hours{1}, {State::in_maintenance}},
                   {"p_tell2", Telling::Way::mail, Telling::When::oneshot, seconds{5}, {State::in_maintenance}}};
  campaign.settings.plans.push_back(plan);
  for (const char* name : {"n00", "n01", "n02"}) {
    campaign.nodes.push_back({name, {{plan.go(), "yes"}, {std::string(profiles::kProfileLabel), plan.name}}, false});
  }
  campaign.skews = {seconds{2}, -seconds{3}};
  campaign.skews.resize(static_cast<size_t>(replicas));
  return campaign;
}

}  // namespace careen::explore
