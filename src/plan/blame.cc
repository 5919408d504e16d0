#include "plan/blame.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/expression_fold.h"
#include "plan/outside_facts.h"

namespace careen::plan {

namespace {

const profiles::ProfileOutcome* outcome_of(const profiles::Decision& decision, const std::string& profile) {
  for (const profiles::ProfileOutcome& outcome : decision.profiles) {
    if (outcome.name == profile) return &outcome;
  }
  return nullptr;
}

void blame_checks(const profiles::Config& facts, const profiles::Transition& transition,
                  const profiles::TransitionOutcome& outcome, Blame& out) {
  if (outcome.checks.size() != transition.check.leaves.size()) return;
  std::vector<size_t> leaves;
  for (size_t i = 0; i < outcome.checks.size(); ++i) {
    if (!outcome.checks[i].error.empty()) leaves.push_back(i);
  }
  if (leaves.empty()) {
    leaves = profiles::blocking_leaves(transition.check, [&](size_t leaf) { return outcome.checks[leaf].passed; });
  }
  for (const size_t leaf : leaves) {
    const profiles::CheckOutcome& check = outcome.checks[leaf];
    const profiles::CheckInstance& instance = facts.checks[static_cast<size_t>(transition.check.leaves[leaf])];
    const bool failed = !check.error.empty();
    out.all.push_back({fmt::format("{} {}", check.type, check.instance), failed ? check.error : check.reason,
                       is_outside(instance), failed});
  }
}

}  // namespace

std::string Blame::text() const {
  std::string out;
  const auto is_for_others = [](const Blamed& one) { return one.outside || one.failed; };
  const bool for_others = std::any_of(all.begin(), all.end(), is_for_others);
  for (const Blamed& one : all) {
    if (for_others && !is_for_others(one)) continue;
    if (!out.empty()) out += "; ";
    out += one.reason.empty() ? one.what : one.what + ": " + one.reason;
  }
  return out.empty() ? "nothing that careen knows of keeps it" : out;
}

Blame blame(const profiles::Config& facts, const profiles::Decision& decision, const std::string& profile,
            profiles::State from, profiles::State target) {
  Blame out;
  if (const profiles::Unreadable* const unreadable = decision.unreadable()) {
    out.all.push_back({"unreadable data", unreadable->error, false, true});
    return out;
  }
  const profiles::ProfileOutcome* outcome = outcome_of(decision, profile);
  const profiles::Profile* configured = facts.find_profile(profile);
  if (!outcome || !configured) return out;
  out.wake = outcome->wake;
  const auto& transitions = configured->at(from).transitions;
  for (size_t i = 0; i < transitions.size() && i < outcome->transitions.size(); ++i) {
    if (transitions[i].next != target || outcome->transitions[i].chain_passed) continue;
    blame_checks(facts, transitions[i], outcome->transitions[i], out);
  }
  if (!out.all.empty()) return out;
  if (!outcome->held_up.empty()) {
    const Why& why = outcome->held_up.front();
    const bool paused = why.code == Why::Code::paused;
    const bool failed = why.verdict == Why::Verdict::error;
    const char* const what = paused                            ? "a pause"
                             : why.code == Why::Code::no_place ? "MaintenanceLimits"
                                                               : "the node itself";
    out.all.push_back({what, why.text, paused, failed});
  } else if (!outcome->error.empty()) {
    out.all.push_back({"the node itself", outcome->error, false, true});
  } else if (transitions.empty()) {
    out.all.push_back({"the configuration", fmt::format("has no transition to {}", name_of(target)), true, false});
  }
  return out;
}

}  // namespace careen::plan
