#include "machines_run.h"

#include <fmt/format.h>

#include "cases.h"
#include "machines_stage.h"

namespace careen::explore {

using io::minutes;
using io::seconds;

namespace {

// After people have done what they had in mind: the slowest approvals, pauses after failures, and what they have begun.
constexpr io::Duration kUntilAtRest = minutes{45};
// Until events have been sent, and whoever has nothing to do has noticed.
constexpr io::Duration kUntilQuiet = minutes{3};

// Runs until there is nothing to do any more; it is a failure if that takes too long.
void come_to_rest(MachinesStage& stage) {
  io::Duration begun = stage.now();
  while (!stage.violated()) {
    if (stage.people_have_plans()) begun = stage.now();
    const auto unfinished = stage.unfinished();
    if (!stage.busy() && unfinished.empty()) return;
    if (stage.now() >= begun + kUntilAtRest) {
      for (const auto& one : unfinished) stage.violate(one.rule, one.what);
      if (unfinished.empty()) stage.violate("converge", "somebody still waits for something");
      return;
    }
    stage.run_until(stage.now() + seconds{15});
  }
}

void stay_at_rest(MachinesStage& stage, io::Duration span) {
  if (!stage.violated()) stage.run_until(stage.now() + kUntilQuiet);
  if (stage.violated()) return;
  stage.check_settled();
  const io::Duration begun = stage.now();
  stage.run_until(begun + span);
  if (stage.violated()) return;
  if (stage.last_write() > begun) stage.violate("quiet", "careen wrote something although there was nothing to do");
  for (const auto& one : stage.unfinished()) stage.violate(one.rule, one.what);
}

}  // namespace

Outcome run_machines_undisturbed(const Campaign& campaign, const RunOptions& options) {
  Case one;
  one.seed = campaign.seed;
  one.campaign = campaign;
  MachinesStage stage(one, options.timeline);
  come_to_rest(stage);
  stay_at_rest(stage, seconds{30});
  return stage.outcome();
}

Outcome run_machines_case(const Case& one, const RunOptions& options) {
  MachinesStage stage(one, options.timeline);
  stage.run_until(one.calm_after);
  stage.disarm();
  while (!stage.violated() && stage.now() < stage.faults_end()) stage.run_until(stage.faults_end());
  stage.note("calm from here on");
  come_to_rest(stage);
  // An hour for one case of each campaign.
  stay_at_rest(stage, one.seed % kSeedsPerCampaign == 0 ? io::hours{1} : minutes{6});
  return stage.outcome();
}

}  // namespace careen::explore
