// A decision in the making: what its parts (messages, transitions, chains, what has begun) look at and add to. The
// parts run one after the other, in the order that decide() gives them.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "controllers/profiles/data.h"
#include "controllers/profiles/decide.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/outcome.h"
#include "io/time.h"

namespace careen::profiles {

struct Profile;

struct DecisionDraft {
  using Verdict = Why::Verdict;

  DecisionDraft(const World& world, const kube::Node& node, NodeData data, io::Wall now, Detail detail);
  DecisionDraft(const DecisionDraft&) = delete;
  DecisionDraft& operator=(const DecisionDraft&) = delete;

  const World& world;
  NodeDraft node;
  const std::vector<std::string> named;  // profiles, in the order of the label
  NodeData data;
  const NodeData before;
  const io::Wall now;
  const bool explain;
  bool in_maintenance = false;  // some profile was before, or is by this decision
  ProfileOutcome outcome;       // of the profile being decided
  Decision decision;

  // The label shows it.
  State overall() const;

  void wake(std::optional<io::Wall> when);
  void fail(const Profile& profile, const ProfileData& data, Why& why, std::string what, std::string detail);
  void hide_secrets(std::string& text) const;

  template <class... Arguments>
  Why& say(Why& parent, Verdict verdict, fmt::format_string<const Arguments&...> text, const Arguments&... arguments) {
    if (!explain) return unsaid_;
    return parent.add(verdict, fmt::format(text, arguments...));
  }
  // The same for what the profile waits for besides its checks.
  template <class... Arguments>
  void hold_up(Why& parent, Verdict verdict, fmt::format_string<const Arguments&...> text,
               const Arguments&... arguments) {
    if (!explain) return;
    outcome.held_up.push_back(parent.add(verdict, fmt::format(text, arguments...)));
  }

 private:
  Why unsaid_;
};

}  // namespace careen::profiles
