#include "view/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "controllers/profiles/config.h"
#include "controllers/profiles/expression_fold.h"
#include "controllers/profiles/outcome.h"
#include "controllers/profiles/state.h"

namespace careen::view {

namespace {

using profiles::CheckExpression;
using profiles::CheckOutcome;
using profiles::ProfileOutcome;
using profiles::TransitionOutcome;

// What one check would have to say instead, in words.
using LeafText = std::function<std::string(const CheckOutcome& check, bool wanted)>;

// What is said of an expression, or of a part of it.
struct Said {
  bool holds = false;
  std::string text = {};  // empty: nothing has to change
  bool list = false;      // of several that are needed together
};

// Which checks keep an expression from being true. Only those whose answer would have to change are named.
std::string blockers(const CheckExpression& expression, const std::vector<CheckOutcome>& checks, const LeafText& text) {
  if (expression.nodes.empty()) return {};
  const auto leaf = [&](size_t place, bool wanted) {
    const CheckOutcome& check = checks[place];
    const bool holds = check.passed == wanted;
    const bool unanswered = check.pending || !check.error.empty();
    return Said{holds, holds && !unanswered ? std::string() : text(check, wanted)};
  };
  const auto all = [](Said left, Said right) {
    if (left.holds && right.holds) return Said{true};
    if (left.text.empty() || right.text.empty()) return Said{false, left.text + right.text};
    return Said{false, left.text + " and " + right.text, true};
  };
  const auto any = [](Said left, Said right) {
    if (left.holds || right.holds) return Said{true};
    for (Said* one : {&left, &right}) {
      if (one->list) one->text = "(" + one->text + ")";
    }
    return Said{false, left.text + " or " + right.text};
  };
  return profiles::fold(expression, true, leaf, all, any).text;
}

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
  const budget::Use& use = check.budget->second;
  return fmt::format("a place in `{}` ({} of {} taken{}{})", check.instance, use.used, use.max,
                     use.by.empty() ? "" : ": ", use.by);
}

std::string joined(const ProfileOutcome& outcome, std::span<const profiles::Transition> transitions,
                   const LeafText& text, const std::function<std::string(const TransitionOutcome&)>& suffix) {
  std::string all;
  for (size_t i = 0; i < transitions.size(); ++i) {
    const TransitionOutcome& transition = outcome.transitions[i];
    if (transition.chain_passed) continue;
    const std::string words = blockers(transitions[i].check, transition.checks, text);
    if (words.empty()) continue;
    all += fmt::format("{}{}{}", all.empty() ? "" : ", or ", words, suffix(transition));
  }
  return all;
}

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

std::string held_up_text(const ProfileOutcome& outcome) {
  std::string all;
  for (const Why& why : outcome.held_up) all += (all.empty() ? "" : "; ") + why.text;
  return all;
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
  if (outcome.next != outcome.state) return {};
  if (!outcome.held_up.empty()) return held_up_text(outcome);
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
  if (!outcome.error.empty()) return outcome.error;
  if (outcome.next != outcome.state) return "moves to " + outcome.next + " now";
  if (!outcome.held_up.empty()) return held_up_text(outcome);
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
