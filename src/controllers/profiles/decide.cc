#include "controllers/profiles/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "budget/ledger.h"
#include "budget/pause.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/expression_why.h"
#include "controllers/profiles/message_text.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/stagger_leases.h"
#include "controllers/profiles/trigger_context.h"
#include "drain/holds.h"
#include "io/redact.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "templates/analysis.h"

namespace careen::profiles {

namespace {

using Verdict = Why::Verdict;

// More limits than this in one expression are not looked at when it says no.
constexpr size_t kMostBudgets = 8;
// What was sent leaves the outbox with the next write, or alone after this long.
constexpr io::Duration kTidyOutbox = io::seconds{2};

void sooner(std::optional<io::Wall>& when, std::optional<io::Wall> other) {
  if (other && (!when || *other < *when)) when = other;
}

// One decision in the making.
class Decider {
 public:
  Decider(const World& world, const kube::Node& node, NodeData data, bool as_written, io::Wall now, Detail detail)
      : world_(world),
        draft_(node),
        named_(profiles_of(draft_.label(kProfileLabel))),
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
    attach();
    read_outbox();
    read_holds();
    if (const std::string strange = profile_in_unknown_state(); !strange.empty()) return leave_alone(strange);
    for (const std::string& name : named_) {
      if (world_.config.find_profile(name))
        in_maintenance_ |= data_.profiles[name].current.known() == State::in_maintenance;
    }
    for (const std::string& name : named_) {
      if (const Profile* profile = world_.config.find_profile(name)) {
        decide_profile(*profile, data_.profiles[name]);
        if (decision_.needs_document) return without_document();
      } else {
        say(decision_.why, Verdict::note, "profile {} is not configured", name);
      }
    }
    withdraw_begun();
    begin_drains();
    end_released_drains();
    draft_.set_label(kStateLabel, name_of(overall()));
    if (!as_written_ || data_ != before_) {
      decision_.data = format_node_data(data_);
      draft_.set_annotation(kDataAnnotation, decision_.data);
    }
    return as_decided();
  }

 private:
  Decision as_decided() {
    write_outbox();
    if (!draft_.changed()) return std::move(decision_);
    if (decision_.data.empty()) decision_.data = *draft_.base().annotation(kDataAnnotation);
    decision_.patch = draft_.merge_patch();
    return std::move(decision_);
  }

  std::string profile_in_unknown_state() const {
    for (const std::string& name : named_) {
      const auto it = data_.profiles.find(name);
      if (it != data_.profiles.end() && world_.config.find_profile(name) && !it->second.current.known()) return name;
    }
    return {};
  }

  // An unknown state may have been meant as any of the three: the node stays what its label says it is, for itself and
  // in every limit, until the data is repaired or removed.
  Decision leave_alone(const std::string& strange) {
    for (const std::string& name : named_) {
      const Profile* const profile = world_.config.find_profile(name);
      if (!profile) continue;
      const ProfileData& data = data_.profiles.at(name);
      open_outcome(*profile, data);
      Why& why = say(decision_.why, Verdict::note, "profile {} is {}", name, data.current.text());
      if (data.current.known()) {
        hold_up(why, Verdict::no, "the state of profile {} is unknown: the node is left alone", strange);
      } else {
        fail(*profile, data, why, "The state is unknown", fmt::format("\"{}\" is no state", data.current.text()));
      }
      leave_begun(*profile);
      close_outcome(data);
    }
    decision_.keeps = !begun_.empty();
    return as_decided();
  }

  Decision without_document() const {
    Decision decision;
    decision.uid = decision_.uid;
    decision.version = decision_.version;
    decision.needs_document = true;
    decision.keeps = !begun_.empty();
    decision.why = decision_.why;
    return decision;
  }

  // Data of profiles that the label no longer names is forgotten; new ones start operational.
  void attach() {
    std::erase_if(data_.profiles, [&](const auto& entry) {
      return std::find(named_.begin(), named_.end(), entry.first) == named_.end();
    });
    for (const std::string& name : named_) {
      if (world_.config.find_profile(name)) data_.profiles.try_emplace(name, ProfileData{now_, {}, {}});
    }
  }

  State overall() const {
    State worst = State::operational;
    for (const std::string& name : named_) {
      const auto it = data_.profiles.find(name);
      if (it == data_.profiles.end() || !world_.config.find_profile(name)) continue;
      if (const auto state = it->second.current.known()) worst = more_severe(worst, *state);
    }
    return worst;
  }

  void decide_profile(const Profile& profile, ProfileData& data) {
    open_outcome(profile, data);
    process(profile, data);
    close_outcome(data);
  }

  void open_outcome(const Profile& profile, const ProfileData& data) {
    outcome_ = {};
    if (!explain_) return;
    outcome_.name = profile.name;
    outcome_.state = data.current.text();
    // For a profile that is only being attached, the time would differ at each look.
    const bool known = before_.profiles.contains(profile.name);
    if (known && data.transition != kZeroTime) outcome_.since = data.transition;
  }

  void close_outcome(const ProfileData& data) {
    if (!explain_) return;
    outcome_.next = data.current.text();
    decision_.profiles.push_back(std::move(outcome_));
  }

  void process(const Profile& profile, ProfileData& data) {
    const auto current = data.current.known();
    Why& why = say(decision_.why, Verdict::note, "profile {} is {}", profile.name, data.current.text());
    if (const budget::Pause* pause = world_.pauses ? world_.pauses->of(profile.name) : nullptr) {
      stand_still(profile, *pause, why);
      return;
    }
    const StateChains& chains = profile.at(*current);
    if (!enter(profile, data, chains, why) || !tell(profile, data, chains, why)) {
      leave_begun(profile);
      return;
    }
    data.previous = data.current;

    const auto [winner, results] = choose(profile, data, chains, why);
    if (!winner || winner->next == *current) return;
    if (wants_place(*winner, results) && (waits_for_other(profile, why) || waits_for_room(data, why))) return;
    const Changes before = changes();
    std::optional<DrainWanted> drain;
    const ChainEnd end = run_triggers(profile, data, winner->trigger, "At least one trigger plugin failed", drain, why);
    if (end == ChainEnd::stuck) leave_begun(profile);
    // What stands before the drain is written with the cordon, before anything is evicted.
    const bool begun = end == ChainEnd::draining && begin(profile, winner->next, results, std::move(*drain), why);
    if (end != ChainEnd::done && !begun) restore(before);
    if (end != ChainEnd::done) return;
    if (drain) decision_.drains.push_back(std::move(*drain));
    take(results);
    move(profile, data, *current, winner->next, why);
  }

  // Nothing is decided: what has begun stays as it is, and neither continues nor ends.
  void stand_still(const Profile& profile, const budget::Pause& pause, Why& why) {
    leave_begun(profile);
    if (!explain_) return;
    outcome_.paused = pause.text();
    why.add(Verdict::no, outcome_.paused);
  }

  void wake(std::optional<io::Wall> when) {
    sooner(decision_.wake, when);
    sooner(outcome_.wake, when);
  }

  // False when the profile cannot go on.
  bool enter(const Profile& profile, const ProfileData& data, const StateChains& chains, Why& why) {
    if (data.previous == data.current) return true;
    const Changes before = changes();
    std::optional<DrainWanted> drain;
    const ChainEnd end = run_triggers(profile, data, chains.enter,
                                      fmt::format("Failed to enter state {}", data.current.text()), drain, why, true);
    if (end == ChainEnd::stuck) restore(before);
    const std::string owner = holder_name(profile.name);
    if (end == ChainEnd::draining) draft_.cordon(owner, now_, false);
    if (drain && has_cordoned(draft_.base(), owner)) {
      (end == ChainEnd::draining ? awaited_ : decision_.drains).push_back(std::move(*drain));
    }
    return end == ChainEnd::done;
  }

  // Puts the messages that are due into the outbox. False when the profile has to wait for one.
  bool tell(const Profile& profile, const ProfileData& data, const StateChains& chains, Why& why) {
    for (const int index : chains.notify) {
      const NotifyInstance& instance = world_.config.notifies[static_cast<size_t>(index)];
      const auto known = data_.notifications.find(instance.name);
      windows::ScheduleInputs inputs;
      inputs.current_differs_from_previous = data.previous != data.current;
      inputs.previous_is_operational = data.previous.known() == State::operational;
      inputs.now = now_;
      inputs.last = known == data_.notifications.end() ? kZeroTime : known->second;
      // Told by this very decision, of the state that it has just left.
      if (inputs.last == io::add(now_, io::Duration{1})) inputs.last = now_;
      inputs.transition = data.transition;
      const windows::ScheduleAnswer answer = windows::due(instance.schedule, inputs);
      if (!answer.due) {
        wake(answer.next);
        continue;
      }
      if (world_.notify_blocking) {
        const auto told = world_.deliveries.told(draft_.base().uid, profile.name, instance.name);
        // What was announced for an earlier state is not what is due now.
        const bool of_earlier = told && before_.profiles.contains(profile.name) && *told < data.transition;
        if (!told || *told <= inputs.last || of_earlier) {
          wait_for(profile, data, instance, why);
          return false;
        }
        data_.notifications[instance.name] = *told;
        continue;
      }
      std::optional<RenderedMessage> message = render(profile, data, instance);
      if (!message) return false;
      say(why, Verdict::note, "notification {} is due", instance.name);
      // A oneshot is due until it has been sent after the transition; sent at that very moment counts as after it.
      const bool at_once = instance.schedule.type == windows::ScheduleType::oneshot && now_ == data.transition;
      data_.notifications[instance.name] = at_once ? io::add(now_, io::Duration{1}) : now_;
      post(std::move(*message));
    }
    return true;
  }

  void wait_for(const Profile& profile, const ProfileData& data, const NotifyInstance& instance, Why& why) {
    if (!decision_.due) {
      decision_.due = render(profile, data, instance);
      decision_.due_state = data.current.text();
    }
    const std::string_view error = world_.deliveries.refused(draft_.base().uid, profile.name, instance.name);
    if (!error.empty()) outcome_.error = fmt::format("{}: {}", instance.name, error);
    hold_up(why, error.empty() ? Verdict::no : Verdict::error, "notification {} has to be sent first{}{}",
            instance.name, error.empty() ? "" : ": ", error);
  }

  // Nothing when the node as a whole has to be fetched first.
  std::optional<RenderedMessage> render(const Profile& profile, const ProfileData& data,
                                        const NotifyInstance& instance) {
    const bool whole = instance.notify->fields().whole;
    if (whole && !world_.document && !world_.only_explained) {
      decision_.needs_document = true;
      return std::nullopt;
    }
    kube::Json document = whole && world_.document ? draft_.document(*world_.document) : draft_.document();
    document.set({"metadata", "labels", kStateLabel}, name_of(overall()));
    RenderedMessage due;
    due.what = {instance.name,  profile.name,        now_, data.current.known(), data.transition,
                last_profile(), any_in_maintenance()};
    due.message = render_message(instance, due.what, draft_.base().name, document.view(), world_.config);
    return due;
  }

  // As the write leaves the node: a message on leaving is about a node that is out of maintenance.
  bool any_in_maintenance() const {
    return std::any_of(named_.begin(), named_.end(), [&](const std::string& name) {
      const auto found = data_.profiles.find(name);
      return world_.config.find_profile(name) && found != data_.profiles.end() &&
             found->second.current.known() == State::in_maintenance;
    });
  }

  std::string last_profile() const {
    std::string name;
    io::Wall latest = kZeroTime;
    for (const auto& [profile, data] : data_.profiles) {
      if (!name.empty() && data.transition <= latest) continue;
      name = profile;
      latest = data.transition;
    }
    return name;
  }

  void read_outbox() {
    const auto text = draft_.annotation(kOutboxAnnotation);
    if (!text) return;
    auto messages = parse_outbox(*text);
    if (!messages) {
      // What cannot be read cannot be sent.
      outbox_changed_ = true;
      return;
    }
    outbox_ = std::move(*messages);
  }

  // One notification may tell of two states in one decision: each is a message of its own.
  bool is_known(const std::string& id) const {
    return world_.deliveries.sent(draft_.base().uid, id) ||
           std::any_of(outbox_.begin(), outbox_.end(), [&](const OutboxMessage& other) { return other.id() == id; });
  }

  void post(RenderedMessage due) {
    while (is_known(due.what.id())) due.what.at += io::Duration{1};
    outbox_.push_back(due.what);
    decision_.posted.push_back(std::move(due));
    outbox_changed_ = true;
  }

  // What was sent leaves, at the latest a little after that.
  void write_outbox() {
    bool tidy = draft_.changed() || outbox_changed_;
    for (const OutboxMessage& message : outbox_) {
      const auto sent = world_.deliveries.sent(draft_.base().uid, message.id());
      if (!sent) continue;
      if (io::add(*sent, kTidyOutbox) <= now_) tidy = true;
    }
    if (!tidy) {
      for (const OutboxMessage& message : outbox_) {
        if (const auto sent = world_.deliveries.sent(draft_.base().uid, message.id())) {
          sooner(decision_.wake, io::add(*sent, kTidyOutbox));
        }
      }
      return;
    }
    std::erase_if(outbox_, [&](const OutboxMessage& message) {
      return world_.deliveries.sent(draft_.base().uid, message.id()).has_value();
    });
    while (outbox_.size() > kMostMessages || (outbox_.size() > 1 && format_outbox(outbox_).size() > kMostOutboxBytes)) {
      decision_.dropped.push_back(std::move(outbox_.front()));
      outbox_.erase(outbox_.begin());
    }
    if (outbox_.empty()) {
      draft_.remove_annotation(kOutboxAnnotation);
    } else if (outbox_changed_ || draft_.annotation(kOutboxAnnotation)) {
      draft_.set_annotation(kOutboxAnnotation, format_outbox(outbox_));
    }
  }

  // What a check said beyond yes or no.
  struct Said {
    size_t leaf = 0;  // of the expression
    CheckResult result;
  };

  struct Choice {
    const Transition* winner = nullptr;
    std::vector<Said> results;  // of the winner's checks
  };

  // The first transition that passes. None if any check has no answer: it might have been the first.
  Choice choose(const Profile& profile, const ProfileData& data, const StateChains& chains, Why& why) {
    Choice choice;
    std::string errors;
    bool pending = false;
    for (const Transition& transition : chains.transitions) {
      std::vector<Said> results;
      const bool passed = evaluate(profile, data, transition, why, errors, pending, results);
      if (!passed || choice.winner) continue;
      choice = {&transition, std::move(results)};
    }
    if (!errors.empty()) {
      keep_begun(profile);
      fail(profile, data, why, "At least one check plugin failed", errors);
      return {};
    }
    decision_.pending |= pending;
    if (pending) {
      leave_begun(profile);
      return {};
    }
    return choice;
  }

  // By another profile of this node, or by another check of the same leases.
  bool has_taken(const LeaseGrab& grab) const {
    return std::any_of(decision_.leases.begin(), decision_.leases.end(),
                       [&](const LeaseGrab& taken) { return taken.key() == grab.key(); });
  }

  // What the checks of the transition that happens allow only once.
  void take(const std::vector<Said>& results) {
    for (const auto& [leaf, result] : results) {
      if (result.lease && !has_taken(*result.lease)) decision_.leases.push_back(*result.lease);
      if (result.observed) decision_.observed.push_back(*result.observed);
      sooner(decision_.valid_until, result.changes_at);
    }
  }

  void move(const Profile& profile, ProfileData& data, State from, State to, Why& why) {
    data.transition = now_;
    data.current = to;
    data.previous = from;
    decision_.moved.push_back({profile.name, from, to});
    say(why, Verdict::yes, "moves to {}", name_of(to));
    if (to == State::in_maintenance) in_maintenance_ = true;
    if (to == State::in_maintenance || !decision_.leases.empty()) admit(profile, to);
    // The new state's messages go with the same write, unless something has to be done there first.
    const StateChains& next = profile.at(to);
    if (!next.enter.empty() || (world_.notify_blocking && !next.notify.empty())) return;
    if (tell(profile, data, next, why)) data.previous = to;
  }

  budget::Admission admission_of(const Profile& profile) const {
    return {draft_.base().uid, draft_.base().name, holder_name(profile.name), now_, false, {}};
  }

  void admit(const Profile& profile, State to) {
    if (!decision_.admission) decision_.admission = admission_of(profile);
    decision_.admission->counts |= to == State::in_maintenance;
    decision_.admission->leases.clear();
    for (const LeaseGrab& grab : decision_.leases) {
      decision_.admission->leases.push_back({grab.key(), in_microseconds(now_)});
    }
  }

  bool evaluate(const Profile& profile, const ProfileData& data, const Transition& transition, Why& parent,
                std::string& errors, bool& pending, std::vector<Said>& results) {
    Why& why = say(parent, Verdict::no, "to {} if {}", name_of(transition.next), transition.check.text);
    const size_t count = transition.check.leaves.size();
    const auto values = std::make_unique<bool[]>(count);
    results.reserve(count);
    TransitionOutcome outcome;
    std::string failed;
    bool unanswered = false;
    for (size_t i = 0; i < count; ++i) {
      const CheckInstance& instance = world_.config.checks[static_cast<size_t>(transition.check.leaves[i])];
      CheckResult result = instance.check->run({draft_, profile.name, data, world_.facts, now_, explain_});
      if (result.lease && has_taken(*result.lease)) {
        // One lease, one move; after the write there may be another one for this profile.
        result.passed = false;
        result.reason = fmt::format("lease {} is taken by another profile of this node", result.lease->key());
        result.lease.reset();
      }
      if (!result.error.empty()) {
        hide_secrets(result.error);
        failed += fmt::format("{}{}", failed.empty() ? "" : ", ", instance.name);
        errors += fmt::format("{}{}: {}", errors.empty() ? "" : "; ", instance.name, result.error);
      }
      unanswered |= result.pending;
      if (explain_) explain(instance, result, outcome);
      rest_on(result, data);
      values[i] = result.passed;
      // Most say no more than that.
      if (result.budget || result.lease || result.observed || result.changes_at) {
        results.push_back({i, std::move(result)});
      }
    }
    bool passed = false;
    const std::span<bool> leaves(values.get(), count);
    if (failed.empty() && !unanswered) {
      passed = outcome.chain_passed = transition.check.evaluate(leaves);
      if (!passed) wait_for_budgets(transition.check, results, leaves, data);
      if (passed && transition.next == State::in_maintenance && in_maintenance_) {
        outcome.blocked = "another profile of this node is in maintenance";
        passed = false;
      }
    }
    pending |= unanswered;
    decision_.unanswered |= unanswered;
    why.verdict = !failed.empty() ? Verdict::error : passed ? Verdict::yes : Verdict::no;
    if (explain_) {
      why.children = explain_expression(transition.check, outcome.checks);
      if (!outcome.blocked.empty()) why.add(Verdict::no, outcome.blocked);
      outcome.passed = passed;
      outcome.target = transition.next;
      outcome.expression = transition.check.text;
      if (!failed.empty()) outcome.error = "failed check instances: " + failed;
      outcome_.transitions.push_back(std::move(outcome));
    }
    return passed;
  }

  void explain(const CheckInstance& instance, CheckResult& result, TransitionOutcome& outcome) {
    // A reason may quote what is configured, and what somebody else says.
    hide_secrets(result.reason);
    for (auto& [key, value] : result.info) {
      if (auto* const text = std::get_if<std::string>(&value)) hide_secrets(*text);
      if (auto* const texts = std::get_if<std::vector<std::string>>(&value)) {
        for (std::string& text : *texts) hide_secrets(text);
      }
    }
    outcome.checks.push_back({instance.name, std::string(instance.check->type()), result.passed, result.error,
                              result.reason, result.info, result.pending, result.changes_at, result.budget});
  }

  void hide_secrets(std::string& text) const {
    if (!world_.config.secrets.empty()) text = io::redact(text, world_.config.secrets);
  }

  // What could make the check say something else.
  void rest_on(const CheckResult& result, const ProfileData& data) {
    wake(result.changes_at);
    // Of a place that is free, it matters only to those who would go if it were not.
    if (!result.budget || !result.passed) add_topics(result);
    if (!result.budget) return;
    const auto& [key, use] = *result.budget;
    if (const auto* value = std::get_if<budget::ObservedValue>(&key)) decision_.wanted.push_back(value->source);
    if (result.pending) decision_.waits.push_back({key, data.transition, use.free_at});
  }

  void add_topics(const CheckResult& result) {
    decision_.topics.insert(decision_.topics.end(), result.topics.begin(), result.topics.end());
  }

  // Which budgets would have to answer otherwise for the expression to be true? The node waits for those. Every minimal
  // set of them counts. The results are not needed after this.
  void wait_for_budgets(const CheckExpression& check, std::vector<Said>& results, std::span<bool> leaves,
                        const ProfileData& data) {
    std::vector<Said*> budgets;
    budgets.reserve(kMostBudgets);
    for (Said& said : results) {
      if (said.result.budget && budgets.size() < kMostBudgets) budgets.push_back(&said);
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
      const CheckResult& result = budgets[i]->result;
      auto& [key, use] = *budgets[i]->result.budget;
      if (result.passed) {
        if (const auto* places = std::get_if<budget::NodePlaces>(&key)) decision_.rises.push_back(places->scope);
        add_topics(result);
      } else if (use.full()) {
        // With a place free it is what is seen from there that says no, and the topics tell when that is another.
        decision_.waits.push_back({std::move(key), data.transition, use.free_at});
      }
    }
  }

  enum class ChainEnd {
    done,
    draining,  // the node has to be drained first
    stuck,     // for another reason
  };

  // `drain` is what the chain's last drain wants, whether or not it is done.
  ChainEnd run_triggers(const Profile& profile, const ProfileData& data, const std::vector<int>& chain,
                        const std::string& failure, std::optional<DrainWanted>& drain, Why& why, bool entered = false) {
    for (const int index : chain) {
      const TriggerInstance& instance = world_.config.triggers[static_cast<size_t>(index)];
      TriggerContext context{draft_, world_.facts.hypervisors, decision_.hypervisor, profile.name, entered,
                             now_,   world_.facts.drains};
      TriggerResult result = instance.trigger->apply(context);
      wake(result.changes_at);
      if (!result.error.empty()) {
        fail(profile, data, why, failure, fmt::format("{}: {}", instance.name, result.error));
        return ChainEnd::stuck;
      }
      decision_.unanswered |= result.pending;
      if (result.drain) drain = DrainWanted{holder_name(profile.name), std::move(*result.drain), std::nullopt};
      if (!result.pending && !result.retry) continue;
      hold_up(why, Verdict::no, "trigger {} is not done yet{}{}", instance.name, result.reason.empty() ? "" : ": ",
              result.reason);
      if (!result.drain) return ChainEnd::stuck;
      if (!result.overdue.empty()) {
        drain->overdue = Failure{profile.name, failure, fmt::format("{}: {}", instance.name, result.overdue),
                                 std::string(data.current.text())};
      }
      return ChainEnd::draining;
    }
    return ChainEnd::done;
  }

  void read_holds() {
    if (!draft_.annotation(drain::kHoldsAnnotation)) return;
    for (const auto& hold : draft_.holds().by_owner) {
      if (is_begun(hold)) begun_.insert(hold.first);
    }
  }

  static bool wants_place(const Transition& transition, const std::vector<Said>& results) {
    return transition.next == State::in_maintenance ||
           std::any_of(results.begin(), results.end(), [](const Said& said) { return said.result.lease.has_value(); });
  }

  // A node has one place: only one of its profiles is on its way by a transition that takes longer.
  bool waits_for_other(const Profile& profile, Why& why) {
    const std::string own = beginner_name(profile.name);
    if (std::all_of(begun_.begin(), begun_.end(), [&](const std::string& owner) { return owner == own; })) return false;
    hold_up(why, Verdict::no, "another profile of this node has begun a transition");
    return true;
  }

  // The ledger has to record it, and its record is full.
  bool waits_for_room(const ProfileData& data, Why& why) {
    if (!world_.ledger || world_.ledger->fits(draft_.base().uid)) return false;
    hold_up(why, Verdict::no, "the ledger is full: {} admissions are under way, and this one has to be recorded too",
            world_.ledger->entries().size());
    decision_.waits.push_back({budget::LedgerRoom{}, data.transition, std::nullopt});
    return true;
  }

  // The transition needs more than one write: it keeps its place while the node is drained. False when it cannot begin
  // now.
  bool begin(const Profile& profile, State to, const std::vector<Said>& results, DrainWanted drain, Why& why) {
    if (waits_for_other(profile, why)) return false;
    if (decision_.admission) {
      hold_up(why, Verdict::no, "another profile of this node moves first");
      return false;
    }
    const std::string owner = beginner_name(profile.name);
    if (begun_.contains(owner)) {
      decision_.keeps = true;
      decision_.goes_on = admission_of(profile);
      decision_.goes_on->counts = to == State::in_maintenance;
    } else {
      decision_.begins = true;
      take(results);
      admit(profile, to);
      decision_.admission->drains = true;
      begun_.insert(owner);
    }
    kept_.insert(owner);
    draft_.cordon(owner, now_, true);
    if (has_cordoned(draft_.base(), owner)) awaited_.push_back(std::move(drain));
    return true;
  }

  // The triggers before a drain take effect before anything is evicted: a drain waits for that write. One that is
  // already running continues meanwhile.
  void begin_drains() {
    const bool unwritten = draft_.changed() || !decision_.hypervisor.empty();
    for (DrainWanted& drain : awaited_) {
      if (unwritten) {
        decision_.undecided.push_back(std::move(drain.owner));
      } else {
        decision_.drains.push_back(std::move(drain));
      }
    }
  }

  // A transition that may have begun stays as it is, with its drain.
  void leave_begun(const Profile& profile) {
    keep_begun(profile);
    decision_.undecided.push_back(holder_name(profile.name));
  }

  // It keeps what it has taken, but nothing is evicted for it now.
  void keep_begun(const Profile& profile) {
    const std::string owner = beginner_name(profile.name);
    if (!begun_.contains(owner)) return;
    kept_.insert(owner);
    decision_.keeps = true;
  }

  // What has begun and does not go on: its cordon ends.
  void withdraw_begun() {
    if (begun_.empty()) return;
    for (const auto& hold : draft_.holds().by_owner) {
      if (!is_begun(hold) || kept_.contains(hold.first)) continue;
      say(decision_.why, Verdict::note, "the transition that {} stands for is withdrawn", hold.first);
      draft_.release_cordon(hold.first);
    }
  }

  // A pod that arrives after the release is left alone: the drain ends before the release is sent.
  void end_released_drains() {
    if (decision_.drains.empty()) return;
    const drain::Holds holds = draft_.holds();
    std::erase_if(decision_.drains, [&](const DrainWanted& wanted) {
      const std::string_view profile = std::string_view(wanted.owner).substr(kHoldPrefix.size());
      return !holds.by_owner.contains(wanted.owner) && !holds.by_owner.contains(beginner_name(profile));
    });
  }

  void fail(const Profile& profile, const ProfileData& data, Why& why, std::string what, std::string detail) {
    say(why, Verdict::error, "{}: {}", what, detail);
    outcome_.error = fmt::format("{}: {}", what, detail);
    decision_.failures.push_back({profile.name, std::move(what), std::move(detail), std::string(data.current.text())});
  }

  // Taken before a chain runs, given back if it fails.
  struct Changes {
    NodeDraft::Changes node;
    HypervisorDraft hypervisor;
  };
  Changes changes() const { return {draft_.changes(), decision_.hypervisor}; }
  void restore(const Changes& changes) {
    draft_.restore(changes.node);
    decision_.hypervisor = changes.hypervisor;
  }

  template <class... Arguments>
  Why& say(Why& parent, Verdict verdict, fmt::format_string<const Arguments&...> text, const Arguments&... arguments) {
    if (!explain_) return unsaid_;
    return parent.add(verdict, fmt::format(text, arguments...));
  }

  // The same for what the profile waits for besides its checks.
  template <class... Arguments>
  void hold_up(Why& parent, Verdict verdict, fmt::format_string<const Arguments&...> text,
               const Arguments&... arguments) {
    if (!explain_) return;
    outcome_.held_up.push_back(fmt::format(text, arguments...));
    parent.add(verdict, outcome_.held_up.back());
  }

  const World& world_;
  NodeDraft draft_;
  const std::vector<std::string> named_;  // profiles, in the order of the label
  NodeData data_;
  bool as_written_;  // the annotation is what data_ would be written as
  NodeData before_;
  io::Wall now_;
  bool explain_;
  Why unsaid_;
  ProfileOutcome outcome_;  // of the profile being decided
  std::vector<OutboxMessage> outbox_;
  bool outbox_changed_ = false;
  bool in_maintenance_ = false;
  std::set<std::string> begun_;       // owners of cordons that stand for a transition that has begun
  std::set<std::string> kept_;        // those of them that stay
  std::vector<DrainWanted> awaited_;  // drains of chains that are not done; their cordon is acknowledged
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
