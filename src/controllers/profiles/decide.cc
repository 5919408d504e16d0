#include "controllers/profiles/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "budget/pause.h"
#include "controllers/profiles/begun_transitions.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/decision_draft.h"
#include "controllers/profiles/message_posting.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/transition_choice.h"
#include "controllers/profiles/trigger_chain.h"
#include "kube/cache.h"
#include "kube/node.h"

namespace careen::profiles {

namespace {

using Verdict = Why::Verdict;

// One decision: a profile after the other, then what they have in common.
class Decider {
 public:
  // `as_written`: the annotation is what the data would be written as.
  Decider(const World& world, const kube::Node& node, NodeData data, bool as_written, io::Wall now, Detail detail)
      : d_(world, node, std::move(data), now, detail), messages_(d_), begun_(d_), as_written_(as_written) {}

  Decision run() {
    attach();
    if (const std::string strange = profile_in_unknown_state(); !strange.empty()) return leave_alone(strange);
    for (const std::string& name : d_.named) {
      if (config().find_profile(name)) {
        d_.in_maintenance |= d_.data.profiles[name].current.known() == State::in_maintenance;
      }
    }
    for (const std::string& name : d_.named) {
      if (const Profile* profile = config().find_profile(name)) {
        decide_profile(*profile, d_.data.profiles[name]);
        if (d_.decision.needs_document()) return without_document();
      } else {
        d_.say(d_.decision.why, Verdict::note, "profile {} is not configured", name);
      }
    }
    begun_.finish();
    d_.node.set_label(kStateLabel, name_of(d_.overall()));
    if (!as_written_ || d_.data != d_.before) {
      effects().data = format_node_data(d_.data);
      d_.node.set_annotation(kDataAnnotation, effects().data);
    }
    return as_decided();
  }

 private:
  const Config& config() const { return d_.world.config; }
  Effects& effects() { return d_.decision.effects; }

  Decision as_decided() {
    messages_.finish();
    if (pending_ && std::holds_alternative<place::None>(d_.decision.place)) d_.decision.place = place::Open{};
    if (!d_.node.changed()) return std::move(d_.decision);
    if (effects().data.empty()) effects().data = *d_.node.base().annotation(kDataAnnotation);
    effects().patch = d_.node.merge_patch();
    return std::move(d_.decision);
  }

  std::string profile_in_unknown_state() const {
    for (const std::string& name : d_.named) {
      const auto it = d_.data.profiles.find(name);
      if (it != d_.data.profiles.end() && config().find_profile(name) && !it->second.current.known()) return name;
    }
    return {};
  }

  // An unknown state may have been meant as any of the three: the node stays what its label says it is, for itself and
  // in every limit, until the data is repaired or removed.
  Decision leave_alone(const std::string& strange) {
    for (const std::string& name : d_.named) {
      const Profile* const profile = config().find_profile(name);
      if (!profile) continue;
      const ProfileData& data = d_.data.profiles.at(name);
      open_outcome(*profile, data);
      Why& why = d_.say(d_.decision.why, Verdict::note, "profile {} is {}", name, data.current.text());
      if (data.current.known()) {
        d_.hold_up(why, Verdict::no, "the state of profile {} is unknown: the node is left alone", strange);
      } else {
        d_.fail(*profile, data, why, "The state is unknown", fmt::format("\"{}\" is no state", data.current.text()));
      }
      begun_.leave(*profile);
      close_outcome(data);
    }
    begun_.keep_all();
    return as_decided();
  }

  Decision without_document() {
    Decision& made = d_.decision;
    made.place = place::Open{};
    begun_.keep_all();
    Decision decision;
    decision.uid = made.uid;
    decision.version = made.version;
    decision.obstacle = NeedsDocument{};
    decision.place = std::move(made.place);
    decision.why = std::move(made.why);
    return decision;
  }

  // Data of profiles that the label no longer names is forgotten; new ones start operational.
  void attach() {
    std::erase_if(d_.data.profiles, [&](const auto& entry) {
      return std::find(d_.named.begin(), d_.named.end(), entry.first) == d_.named.end();
    });
    for (const std::string& name : d_.named) {
      if (config().find_profile(name)) d_.data.profiles.try_emplace(name, ProfileData{d_.now, {}, {}});
    }
  }

  void decide_profile(const Profile& profile, ProfileData& data) {
    open_outcome(profile, data);
    process(profile, data);
    close_outcome(data);
  }

  void open_outcome(const Profile& profile, const ProfileData& data) {
    d_.outcome = {};
    if (!d_.explain) return;
    d_.outcome.name = profile.name;
    d_.outcome.state = data.current.text();
    // For a profile that is only being attached, the time would differ at each look.
    const bool known = d_.before.profiles.contains(profile.name);
    if (known && data.transition != kZeroTime) d_.outcome.since = data.transition;
  }

  void close_outcome(const ProfileData& data) {
    if (!d_.explain) return;
    d_.outcome.next = data.current.text();
    d_.decision.profiles.push_back(std::move(d_.outcome));
  }

  void process(const Profile& profile, ProfileData& data) {
    const auto current = data.current.known();
    Why& why = d_.say(d_.decision.why, Verdict::note, "profile {} is {}", profile.name, data.current.text());
    const budget::Pauses* const pauses = d_.world.pauses;
    if (const budget::Pause* pause = pauses ? pauses->of(profile.name) : nullptr) {
      stand_still(profile, *pause, why);
      return;
    }
    const StateChains& chains = profile.at(*current);
    if (!enter(profile, data, chains, why) || !messages_.tell(profile, data, chains, why)) {
      begun_.leave(profile);
      return;
    }
    data.previous = data.current;
    const TransitionChoice choice = choose(d_, profile, data, chains, why);
    switch (choice.outcome) {
      case TransitionChoice::Outcome::none:
        return;
      case TransitionChoice::Outcome::failed:
        return begun_.keep(profile);
      case TransitionChoice::Outcome::pending:
        pending_ = true;
        return begun_.leave(profile);
      case TransitionChoice::Outcome::chosen:
        if (choice.winner->next != *current) carry_out(profile, data, choice, why);
    }
  }

  // Nothing is decided: what has begun stays as it is, and neither continues nor ends.
  void stand_still(const Profile& profile, const budget::Pause& pause, Why& why) {
    begun_.leave(profile);
    if (!d_.explain) return;
    d_.outcome.held_up.push_back(why.add(Verdict::no, pause.text(), Why::Code::paused));
  }

  // False when the profile cannot go on.
  bool enter(const Profile& profile, const ProfileData& data, const StateChains& chains, Why& why) {
    if (data.previous == data.current) return true;
    const ChainChanges before(d_);
    const ChainPurpose purpose{fmt::format("Failed to enter state {}", data.current.text()), true};
    ChainResult chain = run_chain(d_, profile, data, chains.enter, purpose, why);
    if (chain.end == ChainEnd::stuck) before.restore(d_);
    if (chain.drain) begun_.drain_on_entry(profile, std::move(*chain.drain), chain.end);
    return chain.end == ChainEnd::done;
  }

  // The chosen transition: its triggers run, and the profile moves, or the transition begins with a drain.
  void carry_out(const Profile& profile, ProfileData& data, const TransitionChoice& choice, Why& why) {
    if (choice.wants_place() && waits_for_place(profile, data, choice, why)) return;
    const ChainChanges before(d_);
    ChainResult chain =
        run_chain(d_, profile, data, choice.winner->trigger, {"At least one trigger plugin failed"}, why);
    if (chain.end == ChainEnd::stuck) begun_.leave(profile);
    // What stands before the drain is written with the cordon, before anything is evicted.
    const bool begun = chain.end == ChainEnd::draining && begun_.begin(profile, choice, std::move(*chain.drain), why);
    if (chain.end != ChainEnd::done && !begun) before.restore(d_);
    if (chain.end != ChainEnd::done) return;
    if (chain.drain) effects().drains.push_back(std::move(*chain.drain));
    take(effects(), choice);
    move(profile, data, *data.current.known(), choice.winner->next, why);
  }

  bool waits_for_place(const Profile& profile, const ProfileData& data, const TransitionChoice& choice, Why& why) {
    return begun_.waits_for_other(profile, why) || begun_.waits_for_room(data, why) ||
           begun_.waits_for_limit(profile, choice, why);
  }

  void move(const Profile& profile, ProfileData& data, State from, State to, Why& why) {
    data.transition = d_.now;
    data.current = to;
    data.previous = from;
    effects().moved.push_back({profile.name, from, to});
    d_.say(why, Verdict::yes, "moves to {}", name_of(to));
    if (to == State::in_maintenance) d_.in_maintenance = true;
    if (to == State::in_maintenance || !effects().leases.empty()) begun_.admit(profile, to);
    // The new state's messages go with the same write, unless something has to be done there first.
    const StateChains& next = profile.at(to);
    if (!next.enter.empty() || (d_.world.notify_blocking && !next.notify.empty())) return;
    if (messages_.tell(profile, data, next, why)) data.previous = to;
  }

  DecisionDraft d_;
  MessagePosting messages_;
  BegunTransitions begun_;
  const bool as_written_;
  bool pending_ = false;  // a check has no answer yet: what has begun neither continues nor ends
};

}  // namespace

Decision decide(const World& world, std::string_view name, io::Wall now, Detail detail) {
  Decision nothing;
  const kube::Node* node = world.nodes.find(name);
  if (!node) {
    nothing.obstacle = Gone{};
    nothing.why.text = fmt::format("node {} does not exist", name);
    return nothing;
  }
  const std::string* text = node->annotation(kDataAnnotation);
  auto written = text ? read_as_written(*text) : std::nullopt;
  const bool as_written = written.has_value();
  auto data = as_written ? io::Result<NodeData>(std::move(*written))
                         : parse_node_data(text ? std::string_view(*text) : std::string_view{});
  if (!data) {
    nothing.uid = node->uid;
    nothing.obstacle = Unreadable{data.error().message};
    nothing.why = {
        Verdict::error, fmt::format("node {}: annotation {}: {}", name, kDataAnnotation, data.error().message), {}};
    return nothing;
  }
  return Decider(world, *node, std::move(*data), as_written, now, detail).run();
}

}  // namespace careen::profiles
