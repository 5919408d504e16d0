#include "run.h"

#include <fmt/format.h>

#include "cases.h"
#include "machines_run.h"
#include "stage.h"

namespace careen::explore {

using io::minutes;
using io::seconds;

namespace {

constexpr io::Duration kLongest = io::hours{6};
// Until the ledger is tidy, events have been sent, and pauses after failures are over.
constexpr io::Duration kSettle = minutes{3};
// On top of the time the undisturbed campaign takes.
constexpr io::Duration kRecovery = minutes{20};

Outcome outcome_of(Stage& stage) {
  Outcome outcome;
  outcome.violations = stage.invariants.violations();
  outcome.timeline = std::move(stage.timeline_text);
  outcome.coverage = stage.coverage;
  outcome.virtual_time = stage.now();
  outcome.transitions = stage.invariants.transitions();
  outcome.end.nodes = stage.end_states();
  outcome.end.takes = stage.last_write();
  outcome.writes = stage.writes;
  return outcome;
}

// An hour for one case of each campaign; one sweep for the others, which would find nothing else.
io::Duration quiet_time(const Case& one) { return one.seed % kSeedsPerCampaign == 0 ? io::hours{1} : minutes{11}; }

void be_quiet(Stage& stage, io::Duration span) {
  stage.check_settled();
  const double late = stage.swept_late();
  const io::Duration begun = stage.now();
  stage.run_until(begun + span);
  if (stage.violated()) return;
  if (stage.last_write() > begun)
    stage.invariants.violate("quiet", "careen wrote or sent something although there was nothing to do");
  if (stage.swept_late() > late) stage.invariants.violate("late", "only the sweep found what there was to do");
  stage.check_problems();
}

std::string differences(const std::map<std::string, std::string>& expected,
                        const std::map<std::string, std::string>& found) {
  std::string out;
  for (const auto& [node, state] : expected) {
    const auto it = found.find(node);
    if (it != found.end() && it->second == state) continue;
    out += fmt::format("\n    {} should be {}\n        {}", node, state, it == found.end() ? "missing" : it->second);
  }
  return out;
}

}  // namespace

Outcome run_undisturbed(const Campaign& campaign, const RunOptions& options) {
  if (campaign.machines) return run_machines_undisturbed(campaign, options);
  Case one;
  one.seed = campaign.seed;
  one.campaign = campaign;
  Stage stage(one, options.timeline);
  stage.invariants.calm();
  // One that does nothing for so long has ended.
  const io::Duration last_event = campaign.last_event(), pause = campaign.longest_pause();
  while (!stage.violated() && (stage.busy() || stage.now() < std::max(last_event, stage.last_write()) + pause)) {
    if (stage.now() > kLongest) {
      stage.invariants.check_guests();
      stage.invariants.violate("converge", "the undisturbed campaign does not come to an end");
      break;
    }
    stage.run_until(stage.now() + seconds{30});
  }
  if (!stage.violated()) {
    stage.check_settled();
    stage.check_problems();
  }
  if (!stage.violated() && stage.swept_late() > 0) stage.invariants.violate("late", "the sweep had to find something");
  return outcome_of(stage);
}

namespace {

void check_isolation(Stage& stage, const Case::Isolation& isolation, const Expectation& expected) {
  stage.run_until(isolation.by);
  std::map<std::string, std::string> others = expected.nodes;
  std::erase_if(others, [&](const auto& node) { return isolation.stuck.contains(node.first); });
  const std::string missing = stage.violated() ? "" : differences(others, stage.end_states());
  if (!missing.empty()) stage.invariants.violate("isolation", "nodes that can be written are held up:" + missing);
}

}  // namespace

Outcome run_case(const Case& one, const Expectation& expected, const RunOptions& options) {
  if (one.campaign.machines) return run_machines_case(one, options);
  Stage stage(one, options.timeline);
  if (one.isolation) check_isolation(stage, *one.isolation, expected);
  stage.run_until(std::max(one.calm_after, one.campaign.last_event()));
  stage.disarm();
  while (!stage.violated() && stage.now() < stage.faults_end()) stage.run_until(stage.faults_end());
  if (stage.violated()) return outcome_of(stage);

  stage.note("calm from here on");
  stage.invariants.calm();
  const io::Duration limit = stage.now() + expected.takes + kRecovery;
  stage.run_until(stage.now() + kSettle);
  const double late = stage.swept_late();
  while (!stage.violated() && (stage.busy() || stage.end_states() != expected.nodes)) {
    if (stage.now() >= limit) {
      stage.invariants.check_guests();
      stage.invariants.violate("converge", fmt::format("{} of calm did not lead to the expected end:{}",
                                                       io::format_duration(expected.takes + kRecovery),
                                                       differences(expected.nodes, stage.end_states())));
      break;
    }
    stage.run_until(stage.now() + seconds{15});
  }
  if (!stage.violated() && stage.swept_late() > late) {
    stage.invariants.violate("late", "only the sweep found what there was to do");
  }
  if (!stage.violated()) stage.run_until(stage.now() + kSettle);
  if (!stage.violated()) be_quiet(stage, quiet_time(one));
  if (!stage.violated()) stage.invariants.check_told();
  if (!stage.violated() && stage.end_states() != expected.nodes) {
    stage.invariants.violate("converge", "the end did not last:" + differences(expected.nodes, stage.end_states()));
  }
  return outcome_of(stage);
}

}  // namespace careen::explore
