#include "controllers/profiles/transition_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "controllers/profiles/config.h"
#include "controllers/profiles/decision_draft.h"
#include "controllers/profiles/expression_why.h"
#include "controllers/profiles/sooner.h"

namespace careen::profiles {

namespace {

// More limits than this in one expression are not looked at when it says no.
constexpr size_t kMostBudgets = 8;

// By another profile of this node, or by another check of the same leases.
bool has_taken(const Effects& effects, const LeaseGrab& grab) {
  return std::any_of(effects.leases.begin(), effects.leases.end(),
                     [&](const LeaseGrab& taken) { return taken.key() == grab.key(); });
}

// The transitions of one profile.
class Chooser {
 public:
  Chooser(DecisionDraft& draft, const Profile& profile, const ProfileData& data)
      : d_(draft), profile_(profile), data_(data) {}

  TransitionChoice choose(const StateChains& chains, Why& why) {
    TransitionChoice choice;
    for (const Transition& transition : chains.transitions) {
      std::vector<CheckAnswer> answers;
      const bool passed = evaluate(transition, why, answers);
      if (!passed || choice.winner) continue;
      choice = {TransitionChoice::Outcome::chosen, &transition, std::move(answers)};
    }
    if (!errors_.empty()) {
      d_.fail(profile_, data_, why, "At least one check plugin failed", errors_);
      return {TransitionChoice::Outcome::failed, nullptr, {}};
    }
    if (pending_) return {TransitionChoice::Outcome::pending, nullptr, {}};
    return choice;
  }

 private:
  bool evaluate(const Transition& transition, Why& parent, std::vector<CheckAnswer>& answers) {
    Why& why = d_.say(parent, Why::Verdict::no, "to {} if {}", name_of(transition.next), transition.check.text);
    const size_t count = transition.check.leaves.size();
    const auto values = std::make_unique<bool[]>(count);
    answers.reserve(count);
    TransitionOutcome outcome;
    std::string failed;
    bool unanswered = false;
    for (size_t i = 0; i < count; ++i) {
      const CheckInstance& instance = d_.world.config.checks[static_cast<size_t>(transition.check.leaves[i])];
      CheckResult result = ask(instance);
      if (!result.error.empty()) {
        failed += fmt::format("{}{}", failed.empty() ? "" : ", ", instance.name);
        errors_ += fmt::format("{}{}: {}", errors_.empty() ? "" : "; ", instance.name, result.error);
      }
      unanswered |= result.pending;
      if (d_.explain) explain(instance, result, outcome);
      rest_on(result);
      values[i] = result.passed;
      // Most say no more than that.
      if (result.budget || result.lease || result.observed || result.changes_at) {
        answers.push_back({i, std::move(result)});
      }
    }
    bool passed = false;
    const std::span<bool> leaves(values.get(), count);
    if (failed.empty() && !unanswered) {
      passed = outcome.chain_passed = transition.check.evaluate(leaves);
      if (!passed) wait_for_budgets(transition.check, answers, leaves);
      if (passed && transition.next == State::in_maintenance && d_.in_maintenance) {
        outcome.blocked = "another profile of this node is in maintenance";
        passed = false;
      }
    }
    pending_ |= unanswered;
    why.verdict = !failed.empty() ? Why::Verdict::error : passed ? Why::Verdict::yes : Why::Verdict::no;
    if (d_.explain) {
      why.children = explain_expression(transition.check, outcome.checks);
      if (!outcome.blocked.empty()) why.add(Why::Verdict::no, outcome.blocked);
      outcome.passed = passed;
      outcome.target = transition.next;
      outcome.expression = transition.check.text;
      if (!failed.empty()) outcome.error = "failed check instances: " + failed;
      d_.outcome.transitions.push_back(std::move(outcome));
    }
    return passed;
  }

  CheckResult ask(const CheckInstance& instance) const {
    CheckResult result = instance.check->run({d_.node, profile_.name, data_, d_.world.facts, d_.now, d_.explain});
    if (result.lease && has_taken(d_.decision.effects, *result.lease)) {
      // One lease, one move; after the write there may be another one for this profile.
      result.passed = false;
      result.reason = fmt::format("lease {} is taken by another profile of this node", result.lease->key());
      result.lease.reset();
    }
    if (!result.error.empty()) d_.hide_secrets(result.error);
    return result;
  }

  void explain(const CheckInstance& instance, CheckResult& result, TransitionOutcome& outcome) const {
    // A reason may quote what is configured, and what somebody else says.
    d_.hide_secrets(result.reason);
    for (auto& [key, value] : result.info) {
      if (auto* const text = std::get_if<std::string>(&value)) d_.hide_secrets(*text);
      if (auto* const texts = std::get_if<std::vector<std::string>>(&value)) {
        for (std::string& text : *texts) d_.hide_secrets(text);
      }
    }
    outcome.checks.push_back({instance.name, std::string(instance.check->type()), result.passed, result.error,
                              result.reason, result.info, result.pending, result.changes_at, result.budget});
  }

  // What could make the check say something else.
  void rest_on(const CheckResult& result) {
    d_.wake(result.changes_at);
    d_.decision.unanswered |= result.pending;
    // Of a place that is free, it matters only to those who would go if it were not.
    if (!result.budget || !result.passed) add_topics(result);
    if (!result.budget) return;
    const auto& [key, use] = *result.budget;
    Waits& waits = d_.decision.waits;
    if (const auto* value = std::get_if<budget::ObservedValue>(&key)) waits.observations.push_back(value->source);
    if (result.pending) waits.places.push_back({key, data_.transition, use.free_at});
  }

  void add_topics(const CheckResult& result) {
    std::vector<budget::Topic>& topics = d_.decision.waits.topics;
    topics.insert(topics.end(), result.topics.begin(), result.topics.end());
  }

  // Which budgets would have to answer otherwise for the expression to be true? The node waits for those. Every minimal
  // set of them counts. The answers are not needed after this.
  void wait_for_budgets(const CheckExpression& check, std::vector<CheckAnswer>& answers, std::span<bool> leaves) {
    std::vector<CheckAnswer*> budgets;
    budgets.reserve(kMostBudgets);
    for (CheckAnswer& answer : answers) {
      if (answer.result.budget && budgets.size() < kMostBudgets) budgets.push_back(&answer);
    }
    std::vector<uint32_t> sufficient;
    for (uint32_t set = 1; set < uint32_t{1} << budgets.size(); ++set) {
      if (std::any_of(sufficient.begin(), sufficient.end(), [&](uint32_t s) { return (set & s) == s; })) continue;
      for (size_t i = 0; i < budgets.size(); ++i) {
        leaves[budgets[i]->leaf] = budgets[i]->result.passed != ((set >> i) & 1);
      }
      if (check.evaluate(leaves)) sufficient.push_back(set);
    }
    for (size_t i = 0; i < budgets.size(); ++i) {
      if (std::none_of(sufficient.begin(), sufficient.end(), [&](uint32_t s) { return (s >> i) & 1; })) continue;
      CheckResult& result = budgets[i]->result;
      auto& [key, use] = *result.budget;
      if (result.passed) {
        if (const auto* places = std::get_if<budget::NodePlaces>(&key)) {
          d_.decision.waits.rises.push_back(places->scope);
        }
        add_topics(result);
      } else if (use.full()) {
        // With a place free it is what is seen from there that says no, and the topics tell when that is another.
        d_.decision.waits.places.push_back({std::move(key), data_.transition, use.free_at});
      }
    }
  }

  DecisionDraft& d_;
  const Profile& profile_;
  const ProfileData& data_;
  std::string errors_;  // of all transitions
  bool pending_ = false;
};

}  // namespace

bool TransitionChoice::wants_place() const {
  return winner->next == State::in_maintenance ||
         std::any_of(answers.begin(), answers.end(),
                     [](const CheckAnswer& answer) { return answer.result.lease.has_value(); });
}

TransitionChoice choose(DecisionDraft& draft, const Profile& profile, const ProfileData& data,
                        const StateChains& chains, Why& why) {
  return Chooser(draft, profile, data).choose(chains, why);
}

void take(Effects& effects, const TransitionChoice& choice) {
  for (const auto& [leaf, result] : choice.answers) {
    if (result.lease && !has_taken(effects, *result.lease)) effects.leases.push_back(*result.lease);
    if (result.observed) effects.observed.push_back(*result.observed);
    sooner(effects.valid_until, result.changes_at);
  }
}

}  // namespace careen::profiles
