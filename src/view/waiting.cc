#include "view/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "controllers/profiles/config.h"
#include "controllers/profiles/expression.h"
#include "controllers/profiles/outcome.h"
#include "controllers/profiles/state.h"

namespace careen::view {

namespace {

using profiles::CheckExpression;
using profiles::CheckOutcome;
using profiles::ProfileOutcome;
using profiles::TransitionOutcome;
using Op = CheckExpression::Op;

// What one check would have to say instead, in words.
using LeafText = std::function<std::string(const CheckOutcome& check, bool wanted)>;

// Which checks keep an expression from being true. Only those whose answer would have to change are named.
class Blockers {
 public:
  Blockers(const CheckExpression& expression, const std::vector<CheckOutcome>& checks, const LeafText& text)
      : nodes_(expression.nodes), checks_(checks), text_(text) {
    values_.reserve(nodes_.size());
    for (const auto& node : nodes_) values_.push_back(value(node));
  }

  std::string words() const { return nodes_.empty() ? std::string() : of(static_cast<int>(nodes_.size()) - 1, true); }

 private:
  bool at(int index) const { return values_[static_cast<size_t>(index)]; }
  const CheckOutcome& check(const CheckExpression::Node& leaf) const { return checks_[static_cast<size_t>(leaf.left)]; }

  bool value(const CheckExpression::Node& node) const {
    switch (node.op) {
      case Op::leaf:
        return check(node).passed;
      case Op::negate:
        return !at(node.left);
      case Op::both:
        return at(node.left) && at(node.right);
      case Op::either:
        break;
    }
    return at(node.left) || at(node.right);
  }

  std::string of(int index, bool wanted, bool within = false) const {
    const auto& node = nodes_[static_cast<size_t>(index)];
    const bool unanswered = node.op == Op::leaf && (check(node).pending || !check(node).error.empty());
    if (at(index) == wanted && !unanswered) return {};
    if (node.op == Op::leaf) return text_(check(node), wanted);
    if (node.op == Op::negate) return of(node.left, !wanted, within);
    // By De Morgan's laws, what has to be false of both is what has to be true of either.
    const bool all = (node.op == Op::both) == wanted;
    const std::string left = of(node.left, wanted, !all), right = of(node.right, wanted, !all);
    if (left.empty() || right.empty()) return left.empty() ? right : left;
    const std::string both = fmt::format("{} {} {}", left, all ? "and" : "or", right);
    return within && all ? "(" + both + ")" : both;
  }

  std::span<const CheckExpression::Node> nodes_;
  const std::vector<CheckOutcome>& checks_;
  const LeafText& text_;
  std::vector<bool> values_;
};

bool is_full(const CheckOutcome& check) { return check.budget && !check.passed && check.error.empty(); }

std::string short_text(const CheckOutcome& check, bool wanted) {
  const std::string name = (wanted ? "" : "!") + check.instance;
  if (!wanted || !is_full(check)) return name;
  const budget::Use& use = check.budget->second;
  return fmt::format("{} ({} of {})", name, use.used, use.max);
}

std::string sentence(const CheckOutcome& check, bool wanted) {
  if (!check.error.empty()) return fmt::format("an answer of `{}` ({})", check.instance, check.error);
  if (check.pending) return fmt::format("an answer of `{}` ({})", check.instance, check.reason);
  if (!wanted) return fmt::format("`{}` to say no ({})", check.instance, check.reason);
  if (!is_full(check)) return fmt::format("`{}` ({})", check.instance, check.reason);
  const auto& [key, use] = *check.budget;
  // The names of those who have the places stand behind the last colon of the reason.
  const size_t colon = check.reason.rfind(": ");
  const bool named = !std::holds_alternative<budget::LeasePlaces>(key) && colon != std::string::npos;
  const std::string who = named ? check.reason.substr(colon) : std::string();
  return fmt::format("a place in `{}` ({} of {} taken{})", check.instance, use.used, use.max, who);
}

std::string joined(const ProfileOutcome& outcome, std::span<const profiles::Transition> transitions,
                   const LeafText& text, const std::function<std::string(const TransitionOutcome&)>& suffix) {
  std::string all;
  for (size_t i = 0; i < transitions.size(); ++i) {
    const TransitionOutcome& transition = outcome.transitions[i];
    if (transition.chain_passed) continue;
    const std::string words = Blockers(transitions[i].check, transition.checks, text).words();
    if (words.empty()) continue;
    all += fmt::format("{}{}{}", all.empty() ? "" : ", or ", words, suffix(transition));
  }
  return all;
}

std::string list(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, "; ")); }

const TransitionOutcome* chosen(const ProfileOutcome& outcome) {
  const auto found = std::find_if(outcome.transitions.begin(), outcome.transitions.end(),
                                  [](const TransitionOutcome& transition) { return transition.passed; });
  return found == outcome.transitions.end() ? nullptr : &*found;
}

// The answer that changes first among those that say no.
struct Next {
  io::Wall time{};
  const CheckOutcome* check = nullptr;
};
std::optional<Next> next_answer(const ProfileOutcome& outcome) {
  std::optional<Next> next;
  for (const TransitionOutcome& transition : outcome.transitions) {
    for (const CheckOutcome& check : transition.checks) {
      if (transition.chain_passed || check.passed) continue;
      const auto at = is_full(check) ? check.budget->second.free_at : check.changes_at;
      if (at && (!next || *at < next->time)) next = Next{*at, &check};
    }
  }
  return next;
}

std::string when_text(const Next& next, io::Wall now) {
  const std::string& name = next.check->instance;
  const std::string time = clock_text(next.time, now);
  if (next.check->type == "timeWindow") return fmt::format("at {} when window `{}` opens", time, name);
  if (next.check->type == "wait" || next.check->type == "waitExclude") {
    return fmt::format("at {} when the time of `{}` is over", time, name);
  }
  if (is_full(*next.check)) return fmt::format("at {} when a place in `{}` becomes free", time, name);
  return fmt::format("at {} by `{}`", time, name);
}

}  // namespace

std::span<const profiles::Transition> transitions_of(const ProfileOutcome& outcome, const profiles::Profile* profile) {
  const auto state = profiles::parse_state(outcome.state);
  if (!profile || !state) return {};
  const auto& transitions = profile->at(*state).transitions;
  if (transitions.size() != outcome.transitions.size()) return {};
  return transitions;
}

std::string clock_text(io::Wall time, io::Wall now) {
  using Days = std::chrono::days;
  // 2026-03-01T10:00:00Z
  const std::string text = io::format_rfc3339(std::chrono::round<io::seconds>(time));
  if (text.size() < 19) return text;
  const std::string clock = text.substr(17, 2) == "00" ? text.substr(11, 5) : text.substr(11, 8);
  if (std::chrono::floor<Days>(time) == std::chrono::floor<Days>(now)) return clock + " UTC";
  return text.substr(0, 10) + " " + clock + " UTC";
}

std::optional<io::Wall> wake_of(const ProfileOutcome& outcome) {
  std::optional<io::Wall> wake = outcome.wake;
  const auto next = next_answer(outcome);
  if (next && (!wake || next->time < *wake)) wake = next->time;
  // A window opens a moment after its time has come; nobody wants to read of nanoseconds.
  if (wake) wake = std::chrono::floor<io::microseconds>(*wake);
  return wake;
}

std::string waits(const ProfileOutcome& outcome, const profiles::Profile* profile) {
  if (!outcome.paused.empty()) return outcome.paused;
  if (outcome.next != outcome.state) return {};
  if (!outcome.held_up.empty()) return list(outcome.held_up);
  if (const auto* transition = chosen(outcome)) return transition->blocked;
  const std::string words = joined(outcome, transitions_of(outcome, profile), short_text,
                                   [](const TransitionOutcome&) { return std::string(); });
  if (!words.empty()) return words;
  for (const TransitionOutcome& transition : outcome.transitions) {
    if (!transition.blocked.empty()) return transition.blocked;
  }
  return {};
}

std::string summary(const ProfileOutcome& outcome, const profiles::Profile* profile, io::Wall now) {
  if (!outcome.paused.empty()) return outcome.paused;
  if (!outcome.error.empty()) return outcome.error;
  if (outcome.next != outcome.state) return "moves to " + outcome.next + " now";
  if (!outcome.held_up.empty()) return list(outcome.held_up);
  std::string blocked;
  for (const TransitionOutcome& transition : outcome.transitions) {
    if (!transition.blocked.empty()) blocked = transition.blocked;
  }
  if (!blocked.empty()) return "waits: " + blocked;
  const bool several = outcome.transitions.size() > 1;
  const std::string words =
      joined(outcome, transitions_of(outcome, profile), sentence, [&](const TransitionOutcome& transition) {
        return several ? fmt::format(" to become {}", name_of(transition.target)) : std::string();
      });
  if (words.empty()) return outcome.transitions.empty() ? "stays: there is no transition from here" : "stays";
  std::string text = "waits for " + words;
  if (const auto next = next_answer(outcome)) text += "; can next change " + when_text(*next, now);
  return text;
}

}  // namespace careen::view
