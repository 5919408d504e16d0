#include "controllers/profiles/decision_draft.h"

#include <utility>

#include "controllers/profiles/config.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/sooner.h"

namespace careen::profiles {

DecisionDraft::DecisionDraft(const World& w, const kube::Node& base, NodeData known, io::Wall at, Detail detail)
    : world(w),
      node(base),
      named(profiles_of(node.label(kProfileLabel))),
      data(std::move(known)),
      before(data),
      now(at),
      explain(detail == Detail::reasons) {
  decision.uid = base.uid;
  decision.version = base.version;
  if (explain) decision.why.text = "node " + base.name;
}

State DecisionDraft::overall() const {
  State worst = State::operational;
  for (const std::string& name : named) {
    const auto it = data.profiles.find(name);
    if (it == data.profiles.end() || !world.config.find_profile(name)) continue;
    if (const auto state = it->second.current.known()) worst = more_severe(worst, *state);
  }
  return worst;
}

void DecisionDraft::wake(std::optional<io::Wall> when) {
  sooner(decision.waits.wake, when);
  sooner(outcome.wake, when);
}

void DecisionDraft::fail(const Profile& profile, const ProfileData& of_profile, Why& why, std::string what,
                         std::string detail) {
  say(why, Verdict::error, "{}: {}", what, detail);
  outcome.error = fmt::format("{}: {}", what, detail);
  decision.failures.push_back(
      {profile.name, std::move(what), std::move(detail), std::string(of_profile.current.text())});
}

void DecisionDraft::hide_secrets(std::string& text) const {
  if (!world.config.secrets.empty()) text = world.config.redact(std::move(text));
}

}  // namespace careen::profiles
