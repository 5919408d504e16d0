#include "cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "drain_campaign.h"
#include "draw.h"
#include "machines_campaign.h"
#include "requests_campaign.h"

namespace careen::explore {

Campaign draw_campaign_of(Family family, uint64_t seed) {
  if (family == Family::requests) return draw_requests_campaign(seed);
  if (family == Family::machines) return draw_machines_campaign(seed);
  return family == Family::drains ? draw_drain_campaign(seed) : draw_campaign(seed);
}

Cases::Prepared Cases::make(uint64_t seed, const std::vector<std::string>& nodes) {
  Prepared prepared;
  prepared.one.seed = seed;
  Campaign& campaign = prepared.one.campaign;
  campaign = draw_(seed / kSeedsPerCampaign);
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
  if (family == Family::requests)
    return {{"requests", small_requests_campaign(SmallRequests::usual)},
            {"an actor that dies", small_requests_campaign(SmallRequests::die)},
            {"requests that drain", small_requests_campaign(SmallRequests::drain)}};
  if (family == Family::machines) return {{"Machines", small_machines_campaign()}};
  return {{"a NodeMaintenance", small_drain_campaign(false)}, {"a draining profile", small_drain_campaign(true)}};
}

constexpr Target kWriteTargets[] = {Target::nodes,        Target::ledger, Target::leases,      Target::events,
                                    Target::maintenances, Target::pods,   Target::node_leases, Target::machines,
                                    Target::hosts,        Target::lock};
// Enough for a ledger that holds all of them to be too large for one object.
constexpr int kCrowd = 10'000;
// What a proxy or a server in trouble may say of a write that has taken effect.
constexpr int kMasks[] = {429, 500, 502, 503, 504};

Perturbation crash_at(Trigger trigger, Fate fate) {
  Perturbation crash;
  crash.action = Action::crash;
  crash.trigger = trigger;
  crash.fate = fate;
  crash.span = io::seconds{1};
  // When a successor has just taken over.
  crash.delay = io::seconds{17};
  return crash;
}

// The write that triggers it is lost, passes, or arrives late; or it passes, and its answer says something else.
std::vector<Perturbation> faults_of(Target target, int count) {
  std::vector<Perturbation> faults;
  for (const auto& [kind, fate] :
       {std::pair{Trigger::Kind::before_write, Fate::lost}, std::pair{Trigger::Kind::before_write, Fate::late},
        std::pair{Trigger::Kind::after_write, Fate::passes}}) {
    faults.push_back(crash_at({kind, {}, target, count}, fate));
  }
  for (const int code : kMasks) {
    Perturbation mask;
    mask.action = Action::mask;
    mask.trigger = {Trigger::Kind::before_write, {}, target, count};
    mask.code = code;
    faults.push_back(mask);
  }
  return faults;
}

void add_case(const std::string& name, const Campaign& campaign, const Outcome& undisturbed,
              std::vector<Perturbation> faults, SystematicCases& all) {
  Systematic one;
  one.one.seed = 1;
  one.one.campaign = campaign;
  // The events of the last write follow it.
  one.one.calm_after = undisturbed.end.takes + seconds{5};
  one.expected = undisturbed.end;
  one.name = name;
  for (Perturbation& fault : faults) {
    fault.index = static_cast<int>(one.one.perturbations.size()) + 1;
    one.name += ", " + fault.text();
    one.one.perturbations.push_back(std::move(fault));
  }
  all.cases.push_back(std::move(one));
}

// A pause comes while nobody can hear of it, and then the leader goes.
std::vector<Perturbation> unheard_pause(io::Duration at) {
  Perturbation frozen;
  frozen.action = Action::freeze_streams;
  frozen.trigger.at = at;
  frozen.span = io::seconds{50};
  frozen.choice = kLeaseStreams;
  Perturbation pause;
  pause.action = Action::pause;
  pause.trigger.at = at + io::seconds{1};
  pause.span = io::minutes{1};
  pause.choice = kEverything;
  Perturbation crash;
  crash.action = Action::crash;
  crash.trigger.at = at + io::seconds{2};
  crash.fate = Fate::lost;
  crash.span = io::seconds{40};
  return {frozen, pause, crash};
}

void add_writes(const std::string& name, const Campaign& campaign, SystematicCases& all) {
  const Outcome undisturbed = run_undisturbed(campaign);
  if (undisturbed.failed()) {
    all.failed.push_back(undisturbed);
    return;
  }
  const bool pauses = campaign.skews.size() > 1 && !campaign.drains && !campaign.machines;
  for (int at = 1; pauses && at < 30; at += 3) {
    add_case(name, campaign, undisturbed, unheard_pause(io::seconds{at}), all);
  }
  for (const Target target : kWriteTargets) {
    if (!undisturbed.writes.contains(target)) continue;
    // The lock is renewed all the time; a few of its writes stand for all.
    const int most = target == Target::lock ? 4 : undisturbed.writes.at(target);
    for (int count = 1; count <= most; ++count) {
      for (Perturbation& fault : faults_of(target, count)) {
        add_case(name, campaign, undisturbed, {fault}, all);
      }
    }
  }
}

}  // namespace

namespace {

// Two thirds of the nodes cannot be written for twenty minutes; the others do not mind. Where answers leave the fate of
// a write open, its node keeps its place for ten minutes, and so there are places for all.
void add_isolation(SystematicCases& all) {
  for (const auto& [limit, code] : {std::pair(3, 500), std::pair(1000, 500), std::pair(1000, 502)}) {
    const Campaign campaign = crowd_campaign(34, limit, io::seconds{40});
    const Outcome undisturbed = run_undisturbed(campaign);
    if (undisturbed.failed()) {
      all.failed.push_back(undisturbed);
      return;
    }
    Systematic one;
    one.one.seed = 1;
    one.one.campaign = campaign;
    one.one.calm_after = undisturbed.end.takes;
    one.expected = undisturbed.end;
    Perturbation broken;
    broken.index = 1;
    broken.action = Action::break_node_webhook;
    // When all have been told that they are required, and before the first may go in.
    broken.trigger.at = io::seconds{20};
    broken.span = io::minutes{20};
    broken.choice = 59;
    broken.code = code;
    one.one.perturbations = {broken};
    one.one.isolation = Case::Isolation{stuck_nodes(broken, campaign), undisturbed.end.takes + io::minutes{5}};
    one.name = fmt::format("34 nodes, {} at a time, {}", limit, broken.text());
    all.cases.push_back(std::move(one));
  }
}

// A clock is set forward or back while nodes wait for their time to be over, and nothing else happens: by the new clock
// they are neither late nor early.
void add_clocks(SystematicCases& all) {
  Campaign campaign = small_campaign(1, false);
  campaign.settings.plans.front().stay = io::minutes{3};
  const Outcome undisturbed = run_undisturbed(campaign);
  if (undisturbed.failed()) {
    all.failed.push_back(undisturbed);
    return;
  }
  for (const io::Duration off : {kFurthestOff, -kFurthestOff}) {
    Perturbation step;
    step.action = Action::step_clock;
    step.trigger.at = io::seconds{20};
    step.choice = step_to(off);
    add_case(off > io::Duration{0} ? "a clock ahead" : "a clock behind", campaign, undisturbed, {step}, all);
    all.cases.back().one.calm_after = step.trigger.at;
  }
}

// Whoever led dies while a node's admission is on its way, and then the node has to let others go first: its place is
// not free for them as long as the write may still arrive.
void add_overtaken(SystematicCases& all) {
  Campaign campaign = small_campaign(2, false);
  Plan& plan = campaign.settings.plans.front();
  plan.stagger.reset();
  plan.affinity = true;
  campaign.edits.push_back({io::seconds{8}, campaign.nodes.front().name, Edit::Kind::pod});
  const Outcome undisturbed = run_undisturbed(campaign);
  if (undisturbed.failed()) {
    all.failed.push_back(undisturbed);
    return;
  }
  for (int count = 1; count <= undisturbed.writes.at(Target::nodes); ++count) {
    Perturbation crash = crash_at({Trigger::Kind::before_write, {}, Target::nodes, count}, Fate::late);
    add_case("overtaken", campaign, undisturbed, {crash}, all);
  }
}

// Records that grow with the number of nodes stay within what the API server takes.
void add_crowd(SystematicCases& all) {
  Systematic one;
  one.one.seed = 1;
  one.one.campaign = crowd_campaign(kCrowd, 10 * kCrowd, io::seconds{0});
  one.name = fmt::format("{} nodes at once", kCrowd);
  all.cases.push_back(std::move(one));
}

}  // namespace

Outcome run(const Systematic& one, const RunOptions& options) {
  if (one.one.perturbations.empty()) return run_undisturbed(one.one.campaign, options);
  return run_case(one.one, one.expected, options);
}

SystematicCases systematic_cases(Family family) {
  SystematicCases all;
  if (family == Family::profiles) {
    add_overtaken(all);
    add_isolation(all);
    add_clocks(all);
  }
  for (const auto& [name, campaign] : small_campaigns(family)) add_writes(name, campaign, all);
  if (family == Family::profiles) add_crowd(all);
  return all;
}

}  // namespace careen::explore
