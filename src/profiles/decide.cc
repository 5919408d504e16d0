#include "profiles/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "profiles/check_context.h"
#include "profiles/data.h"
#include "profiles/names.h"
#include "profiles/trigger_context.h"

namespace careen::profiles {

namespace {

using Verdict = Why::Verdict;

// More limits than this in one expression are not looked at when it says no.
constexpr size_t kMostBudgets = 8;

// One decision in the making.
class Decider {
 public:
  Decider(const World& world, const kube::Node& node, NodeData data, bool as_written, io::Wall now, Detail detail)
      : world_(world),
        draft_(node),
        data_(std::move(data)),
        as_written_(as_written),
        before_(data_),
        now_(now),
        explain_(detail == Detail::reasons) {
    decision_.uid = node.uid;
    decision_.version = node.version;
    if (explain_) decision_.why.text = "node " + node.name;
  }

  Decision run() {
    const std::vector<std::string> named = profiles_of(draft_.label(kProfileLabel));
    attach(named);
    for (const std::string& name : named) {
      if (world_.config.find_profile(name))
        in_maintenance_ |= data_.profiles[name].current.known() == State::in_maintenance;
    }
    for (const std::string& name : named) {
      if (const Profile* profile = world_.config.find_profile(name)) {
        decide_profile(*profile, data_.profiles[name]);
      } else {
        say(decision_.why, Verdict::note, "profile {} is not configured", name);
      }
    }
    draft_.set_label(kStateLabel, name_of(overall(named)));
    if (!as_written_ || data_ != before_) {
      decision_.data = format_node_data(data_);
      draft_.set_annotation(kDataAnnotation, decision_.data);
    } else if (draft_.changed()) {
      decision_.data = *draft_.base().annotation(kDataAnnotation);
    }
    if (draft_.changed()) decision_.patch = draft_.merge_patch();
    return std::move(decision_);
  }

 private:
  // Data of profiles that the label no longer names is forgotten; new ones start operational.
  void attach(const std::vector<std::string>& named) {
    std::erase_if(data_.profiles,
                  [&](const auto& entry) { return std::find(named.begin(), named.end(), entry.first) == named.end(); });
    for (const std::string& name : named) {
      if (world_.config.find_profile(name)) data_.profiles.try_emplace(name, ProfileData{now_, {}, {}});
    }
  }

  State overall(const std::vector<std::string>& named) const {
    State worst = State::operational;
    for (const std::string& name : named) {
      const auto it = data_.profiles.find(name);
      if (it == data_.profiles.end() || !world_.config.find_profile(name)) continue;
      if (const auto state = it->second.current.known()) worst = more_severe(worst, *state);
    }
    return worst;
  }

  void decide_profile(const Profile& profile, ProfileData& data) {
    const auto current = data.current.known();
    Why& why = say(decision_.why, Verdict::note, "profile {} is {}", profile.name, data.current.text());
    if (!current) {
      fail(profile, data, why, "The state is unknown", fmt::format("\"{}\" is no state", data.current.text()));
      return;
    }
    const StateChains& chains = profile.at(*current);
    const auto before = draft_.changes();
    if (data.previous != data.current) {
      if (const std::string error = run_triggers(chains.enter); !error.empty()) {
        draft_.restore(before);
        fail(profile, data, why, fmt::format("Failed to enter state {}", name_of(*current)), error);
        return;
      }
    }

    const Transition* winner = nullptr;
    std::string errors;
    for (const Transition& transition : chains.transitions) {
      const bool passed = evaluate(profile, data, transition, why, errors);
      if (passed && !winner) winner = &transition;
    }
    if (!errors.empty()) {
      draft_.restore(before);
      fail(profile, data, why, "At least one check plugin failed", errors);
      return;
    }
    if (!winner || winner->next == *current) {
      data.previous = data.current;
      return;
    }
    if (const std::string error = run_triggers(winner->trigger); !error.empty()) {
      draft_.restore(before);
      fail(profile, data, why, "At least one trigger plugin failed", error);
      return;
    }
    move(profile, data, *current, winner->next, why);
  }

  void move(const Profile& profile, ProfileData& data, State from, State to, Why& why) {
    const StateChains& next = profile.at(to);
    data.transition = now_;
    data.current = to;
    // Previous stays behind while there is something to do on entering the state.
    data.previous = next.enter.empty() && next.notify.empty() ? to : from;
    decision_.moved.push_back({profile.name, from, to});
    say(why, Verdict::yes, "moves to {}", name_of(to));
    if (to != State::in_maintenance) return;
    in_maintenance_ = true;
    decision_.admission = budget::Admission{draft_.base().uid, draft_.base().name, "profile/" + profile.name, now_};
  }

  bool evaluate(const Profile& profile, const ProfileData& data, const Transition& transition, Why& parent,
                std::string& errors) {
    Why& why = say(parent, Verdict::no, "to {} if {}", name_of(transition.next), transition.check.text);
    const size_t count = transition.check.leaves.size();
    const auto values = std::make_unique<bool[]>(count);
    std::vector<CheckResult> results;
    bool failed = false;
    for (size_t i = 0; i < count; ++i) {
      const CheckInstance& instance = world_.config.checks[static_cast<size_t>(transition.check.leaves[i])];
      CheckResult result = instance.check->run({draft_, profile.name, data, world_.occupancy, now_, explain_});
      if (!result.error.empty()) {
        failed = true;
        say(why, Verdict::error, "{}: {}", instance.name, result.error);
        errors += fmt::format("{}{}: {}", errors.empty() ? "" : "; ", instance.name, result.error);
      } else {
        say(why, result.passed ? Verdict::yes : Verdict::no, "{}: {}", instance.name, result.reason);
      }
      if (result.changes_at && (!decision_.wake || *result.changes_at < *decision_.wake)) {
        decision_.wake = result.changes_at;
      }
      values[i] = result.passed;
      results.push_back(std::move(result));
    }
    if (failed) {
      why.verdict = Verdict::error;
      return false;
    }
    const std::span<bool> leaves(values.get(), count);
    bool passed = transition.check.evaluate(leaves);
    if (!passed) wait_for_budgets(transition.check, results, leaves, data);
    if (passed && transition.next == State::in_maintenance && in_maintenance_) {
      say(why, Verdict::no, "another profile of this node is in maintenance");
      passed = false;
    }
    why.verdict = passed ? Verdict::yes : Verdict::no;
    return passed;
  }

  // Which budgets would have to answer otherwise for the expression to be true? The node waits for those. Every set
  // of them counts that no smaller one makes unnecessary.
  void wait_for_budgets(const CheckExpression& check, const std::vector<CheckResult>& results, std::span<bool> leaves,
                        const ProfileData& data) {
    std::vector<size_t> budgets;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].budget && budgets.size() < kMostBudgets) budgets.push_back(i);
    }
    std::vector<uint32_t> sufficient;
    for (uint32_t set = 1; set < uint32_t{1} << budgets.size(); ++set) {
      if (std::any_of(sufficient.begin(), sufficient.end(), [&](uint32_t s) { return (set & s) == s; })) continue;
      for (size_t i = 0; i < budgets.size(); ++i) leaves[budgets[i]] = results[budgets[i]].passed != ((set >> i) & 1);
      if (check.evaluate(leaves)) sufficient.push_back(set);
    }
    for (size_t i = 0; i < budgets.size(); ++i) {
      if (std::none_of(sufficient.begin(), sufficient.end(), [&](uint32_t s) { return (s >> i) & 1; })) continue;
      const CheckResult& result = results[budgets[i]];
      const auto& [key, use] = *result.budget;
      if (result.passed) {
        decision_.rises.push_back(key.scope);
      } else {
        decision_.waits.push_back({key, data.transition, use.free_at});
      }
    }
  }

  std::string run_triggers(const std::vector<int>& chain) {
    for (const int index : chain) {
      const TriggerInstance& instance = world_.config.triggers[static_cast<size_t>(index)];
      TriggerContext context{draft_};
      const TriggerResult result = instance.trigger->apply(context);
      if (!result.error.empty()) return fmt::format("{}: {}", instance.name, result.error);
    }
    return {};
  }

  void fail(const Profile& profile, const ProfileData& data, Why& why, std::string what, std::string detail) {
    say(why, Verdict::error, "{}: {}", what, detail);
    decision_.failures.push_back({profile.name, std::move(what), std::move(detail), std::string(data.current.text())});
  }

  template <class... Arguments>
  Why& say(Why& parent, Verdict verdict, fmt::format_string<const Arguments&...> text, const Arguments&... arguments) {
    if (!explain_) return unsaid_;
    return parent.add(verdict, fmt::format(text, arguments...));
  }

  const World& world_;
  NodeDraft draft_;
  NodeData data_;
  bool as_written_;  // the annotation is what data_ would be written as
  NodeData before_;
  io::Wall now_;
  bool explain_;
  Why unsaid_;
  bool in_maintenance_ = false;
  Decision decision_;
};

}  // namespace

Decision decide(const World& world, std::string_view name, io::Wall now, Detail detail) {
  Decision nothing;
  const kube::Node* node = world.nodes.find(name);
  if (!node) {
    nothing.gone = true;
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
    nothing.unreadable = data.error().message;
    nothing.why = {
        Verdict::error, fmt::format("node {}: annotation {}: {}", name, kDataAnnotation, data.error().message), {}};
    return nothing;
  }
  return Decider(world, *node, std::move(*data), as_written, now, detail).run();
}

}  // namespace careen::profiles
