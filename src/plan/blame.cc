#include "plan/blame.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/outside_facts.h"

namespace careen::plan {

using profiles::CheckExpression;

namespace {

// The leaves that keep the expression from having the wanted value.
void collect(const CheckExpression& expression, const std::vector<bool>& values, int index, bool wanted,
             std::vector<size_t>& into) {
  const CheckExpression::Node& node = expression.nodes[static_cast<size_t>(index)];
  const auto value_of = [&](int at, const auto& self) -> bool {
    const CheckExpression::Node& one = expression.nodes[static_cast<size_t>(at)];
    switch (one.op) {
      case CheckExpression::Op::leaf:
        return values[static_cast<size_t>(one.left)];
      case CheckExpression::Op::negate:
        return !self(one.left, self);
      case CheckExpression::Op::both:
        return self(one.left, self) && self(one.right, self);
      case CheckExpression::Op::either:
        return self(one.left, self) || self(one.right, self);
    }
    return false;
  };
  if (value_of(index, value_of) == wanted) return;
  switch (node.op) {
    case CheckExpression::Op::leaf:
      into.push_back(static_cast<size_t>(node.left));
      return;
    case CheckExpression::Op::negate:
      return collect(expression, values, node.left, !wanted, into);
    case CheckExpression::Op::both:
    case CheckExpression::Op::either:
      collect(expression, values, node.left, wanted, into);
      collect(expression, values, node.right, wanted, into);
  }
}

const profiles::ProfileOutcome* outcome_of(const profiles::Decision& decision, const std::string& profile) {
  for (const profiles::ProfileOutcome& outcome : decision.profiles) {
    if (outcome.name == profile) return &outcome;
  }
  return nullptr;
}

void blame_checks(const profiles::Config& facts, const profiles::Transition& transition,
                  const profiles::TransitionOutcome& outcome, Blame& out) {
  std::vector<bool> values;
  for (const profiles::CheckOutcome& check : outcome.checks) values.push_back(check.passed);
  if (values.size() != transition.check.leaves.size()) return;
  std::vector<size_t> leaves;
  for (size_t i = 0; i < outcome.checks.size(); ++i) {
    if (!outcome.checks[i].error.empty()) leaves.push_back(i);
  }
  if (leaves.empty()) {
    collect(transition.check, values, static_cast<int>(transition.check.nodes.size()) - 1, true, leaves);
  }
  for (const size_t leaf : leaves) {
    const profiles::CheckOutcome& check = outcome.checks[leaf];
    const profiles::CheckInstance& instance = facts.checks[static_cast<size_t>(transition.check.leaves[leaf])];
    const bool failed = !check.error.empty();
    out.all.push_back({fmt::format("{} {}", check.type, check.instance), failed ? check.error : check.reason,
                       is_outside(instance), failed});
  }
}

// The first reason against it that is no check: a pause, another profile, a message that has to be sent first.
const Why* obstacle(const Why& why) {
  for (const Why& child : why.children) {
    if (child.verdict == Why::Verdict::no || child.verdict == Why::Verdict::error) {
      if (!child.text.starts_with("to ")) return &child;
    }
  }
  return nullptr;
}

const Why* why_of(const profiles::Decision& decision, const std::string& profile) {
  const std::string start = "profile " + profile + " is ";
  for (const Why& child : decision.why.children) {
    if (child.text.starts_with(start)) return &child;
  }
  return nullptr;
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
  const Why* why = why_of(decision, profile);
  if (const Why* other = why ? obstacle(*why) : nullptr) {
    const bool paused = other->text.starts_with("paused");
    const bool failed = other->verdict == Why::Verdict::error;
    out.all.push_back({paused ? "a pause" : "the node itself", other->text, paused, failed});
  } else if (!outcome->error.empty()) {
    out.all.push_back({"an error", outcome->error, false, true});
  } else if (transitions.empty()) {
    out.all.push_back({"the configuration", fmt::format("has no transition to {}", name_of(target)), true, false});
  }
  return out;
}

}  // namespace careen::plan
