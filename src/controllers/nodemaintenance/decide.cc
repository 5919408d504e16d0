#include "controllers/nodemaintenance/decide.h"

#include <fmt/format.h>

#include <algorithm>

#include "budget/admission.h"
#include "budget/ledger.h"
#include "budget/pause.h"
#include "controllers/nodemaintenance/drain_report.h"
#include "controllers/nodemaintenance/lifecycle.h"
#include "controllers/nodemaintenance/names.h"
#include "controllers/nodemaintenance/node_lease.h"
#include "controllers/nodemaintenance/roster.h"
#include "drain/rules.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "kube/objects.h"
#include "kube/pod_store.h"
#include "limits/desk.h"
#include "limits/waits_text.h"

namespace careen::nodemaintenance {

namespace {

// Between two looks at a lease that was lost.
constexpr io::Duration kLeaseAttempts = io::milliseconds{300};
// Between two status writes of one object, unless its phase changes.
constexpr io::Duration kProgressInterval = io::seconds{1};
// Pods that come to a drained node and leave again within this time do not make it undrained.
constexpr io::Duration kNewcomers = io::seconds{5};
// Somebody who takes away what is held gets it back no more often than this.
constexpr io::Duration kDriftInterval = io::seconds{1};
// How long a maintenance waits for the pods to be known, so that its first status gives their number. If they cannot be
// listed at all it begins without.
constexpr io::Duration kPodsPatience = io::seconds{10};
// How long a maintenance that is deleted waits for the next one on the node to hold it.
constexpr io::Duration kHandOver = io::seconds{5};
// When a full ledger is looked at again.
constexpr io::Duration kLedgerPatience = io::seconds{10};

// The words of the original, whose client refuses to ask for a node without a name.
constexpr const char* kNamelessText = "resource name may not be empty";

Why doing(std::string text) { return {Why::Verdict::note, std::move(text), {}}; }
Why waiting(std::string text) { return {Why::Verdict::no, std::move(text), {}}; }
Why failing(std::string text) { return {Why::Verdict::error, std::move(text), {}}; }

std::string missing_text(std::string_view node) { return fmt::format("nodes \"{}\" not found", node); }

class Deliberation {
 public:
  Deliberation(const World& world, const Maintenance& maintenance, const Memory& memory, io::Wall now)
      : world_(world),
        m_(maintenance),
        memory_(memory),
        now_(now),
        node_(world.nodes.find(maintenance.node)),
        draft_(memory.written) {
    if (node_) holds_ = drain::holds_of(*node_);
  }

  Decision run() {
    decision_.held = node_ && holds(m_);
    decision_.place = decision_.held || took_over();
    if (m_.deleting) {
      depart();
    } else if (!m_.has_finalizer()) {
      attempt(Enlist{}, "it begins");
    } else if (m_.given_up() || memory_.written.lease_errors > kLeaseErrorsAllowed) {
      give_up();
    } else {
      stay();
    }
    return std::move(decision_);
  }

 private:
  // --- the object wants its node in maintenance ---

  void stay() {
    if (m_.node.empty()) return miss_name();
    if (!node_) return miss_node();
    const Maintenance* owner = world_.roster.owner_of(m_.node);
    if (owner && owner != &m_) return wait_for(*owner);
    if (world_.pause && !holds(m_)) return stand_still();
    if (draft_.phase != Phase::running && draft_.phase != Phase::succeeded) return enter();
    if (is_uncounted()) return count_late();
    if (!has_place() || !take_lease()) return;
    // While everything is paused the node is left as people have it; the lease is kept, and nothing is evicted.
    if (!world_.pause && !hold_node()) return;
    drain_node();
  }

  // Somebody has paused everything before it could begin.
  void stand_still() {
    if (draft_.phase != Phase::succeeded) draft_.phase = Phase::running;
    if (is_uncounted()) count_pods();
    obstacle(kPaused, world_.pause->text());
    report({Why::Verdict::no, world_.pause->text(), {}, Why::Code::paused}, Stage::planned);
  }

  // The original operator has the node out, and leaves no record of it.
  bool took_over() const { return node_ && node_->unschedulable && m_.of_predecessor() && !m_.given_up(); }

  // It has its node, or there is a place for it in every MaintenanceLimit that is about the node. False: it waits.
  bool has_place() {
    // What somebody takes away from a node that was held is put back.
    decision_.place |= memory_.held_uid == node_->uid;
    if (decision_.place || !world_.limits) return true;
    // While somebody else has the lease it wants no place.
    const kube::Lease* const lease = find_lease();
    if (!world_.leases_known || (lease && is_foreign(*lease, now_))) return true;
    const std::string owner = hold_owner(m_.name);
    if (!world_.limits->limited(m_.node)) {
      decision_.place = true;
    } else if (world_.ledger && !world_.ledger->fits(budget::claim_key(owner, node_->uid))) {
      wake_at(now_ + kLedgerPatience);
      wait_for_place("waits for room in the ledger, where its place has to be recorded");
    } else {
      ask_for_place(owner);
    }
    return decision_.place;
  }

  void ask_for_place(const std::string& owner) {
    limits::Asking asking{.node = m_.node,
                          .who = owner,
                          .actor = owner,
                          .rank = limits::Rank::person,
                          .since = io::parse_rfc3339(m_.created).value_or(now_)};
    const limits::Desk::Answer answer = world_.limits->ask(asking, limits::Desk::Detail::text);
    decision_.place = answer.allowed;
    if (answer.allowed) return;
    if (answer.changes_at) wake_at(*answer.changes_at);
    decision_.asks = std::move(asking);
    wait_for_place(limits::waits_text(answer.text));
  }

  void wait_for_place(const std::string& text) {
    draft_.phase = Phase::running;
    obstacle(kNoPlace, text);
    report({Why::Verdict::no, text, {}, Why::Code::no_place}, Stage::planned);
  }

  // No node is meant, and none ever will be: the name cannot be changed. As with the original it does not fail.
  void miss_name() {
    draft_.phase = Phase::running;
    obstacle("InvalidSpec", kNamelessText);
    report(failing("it names no node"));
  }

  void miss_node() {
    draft_.phase = Phase::failed;
    draft_.lease_errors = 0;
    draft_.pending.clear();
    obstacle("NodeMissing", missing_text(m_.node));
    report(failing(fmt::format("there is no node {}", m_.node)));
  }

  // The node of a maintenance that failed before is a new one, or was never seen: nothing is counted yet.
  void enter() {
    if (!world_.pods && now_ < memory_.met + kPodsPatience) {
      decision_.why = waiting("pods are not known yet");
      return wake_at(memory_.met + kPodsPatience);
    }
    Status fresh;
    fresh.phase = Phase::running;
    fresh.conditions = std::move(draft_.conditions);
    draft_ = std::move(fresh);
    set_condition(draft_, kDrained, false, "Waiting", "", now_);
    set_condition(draft_, kBlocked, false, "NothingBlocks", "", now_);
    count_pods();
    report(doing("it begins"));
  }

  // Once, and before anything is asked for: whoever looks at a maintenance that waits for its lease sees what it is
  // about, and whoever computes percentages has the same number all along.
  void count_pods() {
    if (!world_.pods) return;
    const auto rules = world_.drain_rules ? world_.drain_rules(m_.node) : drain::NodeRules{};
    Survey found = survey(*world_.pods, m_, world_.daemon_sets, rules);
    draft_.total_pods = found.total;
    draft_.eviction_pods = static_cast<int64_t>(found.pending.size());
    draft_.pending = std::move(found.pending);
    counted_ = node_->uid;
  }

  // It was Running before it could be counted: it waited for another one, or the original failed to.
  bool is_uncounted() const {
    return draft_.phase == Phase::running && draft_.total_pods == 0 && draft_.eviction_pods == 0 && !holds(m_) &&
           world_.pods && world_.pods->count_on(m_.node) > 0;
  }

  void count_late() {
    decision_.why = doing("its pods are counted");
    count_pods();
    if (now_ < memory_.status_trouble.retry_at) return wake_at(memory_.status_trouble.retry_at);
    write_status(true);
  }

  void wait_for(const Maintenance& owner) {
    if (holds(m_) && holds(owner)) {
      return attempt(ReleaseNode{release(), node_->version}, fmt::format("{} came first", owner.name));
    }
    draft_.phase = Phase::running;
    obstacle("WaitingForOther", fmt::format("node \"{}\" is in maintenance by NodeMaintenance \"{}\", which came "
                                            "first; this one begins when that one is deleted",
                                            m_.node, owner.name));
    report(waiting("another maintenance came first"), holds(owner) ? std::nullopt : std::optional(Stage::planned));
  }

  // False when it is not ours, or not yet.
  bool take_lease() {
    if (!world_.leases_known) {
      report(waiting("leases are not known yet"));
      return false;
    }
    const kube::Lease* lease = find_lease();
    if (lease && is_foreign(*lease, now_)) {
      lose_lease(*lease);
      return false;
    }
    const bool is_valid = lease && is_ours(*lease) && due(*lease) > now_;
    if (is_valid && holds(m_)) drain_if_allowed();  // goes on while it is renewed
    // A lease from before this maintenance is requested again, so that its time begins with the maintenance.
    const bool is_new = is_valid && memory_.leased_for.empty() && !holds(m_) &&
                        *lease->renewed < io::parse_rfc3339(m_.created).value_or(io::Wall::max());
    const bool other_node = !memory_.leased_for.empty() && memory_.leased_for != node_->uid;
    if (!is_valid || is_new || other_node || renew_at(*lease) <= now_) {
      if (const auto body = lease_request(lease, *node_, world_.lease_namespace, now_)) {
        attempt(RequestLease{!lease, body->dump(), node_->uid}, "the lease is taken");
        return false;
      }
    }
    wake_at(renew_at(*lease));
    return true;
  }

  void lose_lease(const kube::Lease& lease) {
    wake_at(io::add(due(lease), io::milliseconds{1}));
    const Why why = waiting("somebody else holds the lease");
    if (draft_.progress <= 0) {
      obstacle("LeaseHeld", fmt::format("failed to obtain a lease that is not owned by us : {} errorOnLeaseCount {}",
                                        held_by_other(lease), draft_.lease_errors));
      return report(why, holds(m_) ? Stage::draining : Stage::planned);
    }
    const io::Wall next = memory_.lost_at ? *memory_.lost_at + kLeaseAttempts : now_;
    if (now_ < next) {
      decision_.why = why;
      return wake_at(next);
    }
    ++draft_.lease_errors;
    obstacle("LeaseHeld", fmt::format("failed to extend a lease that used to be owned by us, incrementing error on "
                                      "lease count: {}, errorOnLeaseCount: {}",
                                      held_by_other(lease), draft_.lease_errors));
    wake_at(now_ + kLeaseAttempts);
    write_status(true, true);
    decision_.why = why;
  }

  // What is on the node without a record is the original's if any maintenance of the node is the original's, or ours
  // if we held it and somebody took the record away.
  drain::Found found() const {
    if (memory_.held_uid == node_->uid) return drain::Found::own;
    const auto all = world_.roster.on(m_.node);
    const bool predecessor = std::any_of(
        all.begin(), all.end(), [](const Maintenance* one) { return one->of_predecessor() && !one->given_up(); });
    return predecessor && holds_.empty() ? drain::Found::own : drain::Found::foreign;
  }

  // False when that has to be written first.
  bool hold_node() {
    drain::NodeChange change = drain::hold(*node_, hold_owner(m_.name), wanted_hold(m_, now_), world_.atoms, found());
    if (!change.empty()) {
      const io::Wall next = memory_.held_at + kDriftInterval;
      // Of a node that it has held as this one does, people may take away what they like.
      const bool leave_it = !world_.correct_drift && holds(m_) && m_.marked;
      if (!leave_it && (!holds(m_) || memory_.held_uid != node_->uid || now_ >= next)) {
        attempt(HoldNode{std::move(change), node_->version, node_->uid}, "the node is held");
        return false;
      }
      if (!leave_it) wake_at(next);
    }
    if (m_.marked) return true;
    attempt(Mark{}, "it is taken over from the original operator");
    return false;
  }

  void drain_if_allowed() {
    if (m_.mistake.empty()) decision_.drain = m_.options;
  }

  void drain_node() {
    draft_.lease_errors = 0;
    if (!m_.mistake.empty()) {
      draft_.phase = Phase::running;
      obstacle("InvalidSpec", m_.mistake);
      return report(failing("spec.drain is wrong"), Stage::draining);
    }
    drain_if_allowed();
    const drain::Progress* progress = world_.progress(drain_key(m_));
    if (!progress || progress->node_uid != node_->uid) return report(doing("the drain begins"));
    if (!same_node()) {
      draft_.eviction_pods = draft_.total_pods = 0;
      count_pods();
    }
    if (progress->phase == drain::Progress::Phase::drained) {
      const bool again = draft_.phase == Phase::succeeded && same_node();
      draft_.phase = Phase::succeeded;
      report_drained(draft_, *progress, now_);
      // Who came since and has left again is no news.
      if (again) draft_.eviction_pods = memory_.written.eviction_pods;
      if (again) draft_.total_pods = memory_.written.total_pods;
      return report(doing("drained"), Stage::drained);
    }
    if (draft_.phase == Phase::succeeded && same_node()) {
      decision_.undrained = true;
      const io::Wall patience_ends = memory_.undrained.value_or(now_) + kNewcomers;
      if (now_ < patience_ends) {
        wake_at(patience_ends);
        draft_.last_error.clear();
        set_condition(draft_, kBlocked, false, "NothingBlocks", "", now_);
        return report(doing("drained; what came since is evicted"), Stage::drained);
      }
    }
    draft_.phase = Phase::running;
    report_draining(draft_, *progress, now_);
    if (world_.pause) obstacle(kPaused, world_.pause->text());
    if (const auto when = next_complaint(*progress, now_)) wake_at(*when);
    report(doing("it drains"), Stage::draining);
  }

  // The node that the counts are about.
  bool same_node() const { return memory_.counted_uid.empty() || memory_.counted_uid == node_->uid; }

  // --- the lease was lost for good ---

  void give_up() {
    if (m_.given_up()) {
      decision_.why = failing("it has failed for good: the lease was lost");
      return;
    }
    failure_prefix_ = "failed to uncordon upon failure to obtain owned lease: ";
    if (!let_go()) return;
    draft_.phase = Phase::failed;
    report_obstacle(
        draft_, "LeaseLost",
        fmt::format("maintenance failed: lease could not be extended after {} attempts", draft_.lease_errors), now_);
    report(failing("the lease was lost too often"));
  }

  // --- the object is being deleted ---

  void depart() {
    if (!m_.has_finalizer()) {
      decision_.why = doing("its part is done; others keep the object");
      return;
    }
    const Maintenance* heir = world_.roster.owner_of(m_.node, &m_);
    const io::Wall patience_ends = memory_.departing.value_or(now_) + kHandOver;
    if (node_ && heir && holds(m_) && !holds(*heir) && now_ < patience_ends) {
      wake_at(patience_ends);
      decision_.why = waiting(fmt::format("{} takes over", heir->name));
      return;
    }
    if (!let_go()) return;
    attempt(Discharge{}, "it ends");
  }

  // The stop sequence: node, lease. True when nothing of it is left to do.
  bool let_go() {
    if (node_ && !release_node()) return false;
    if (world_.roster.owner_of(m_.node, &m_) || memory_.lease_stays) return true;
    if (!world_.leases_known) {
      decision_.why = waiting("leases are not known yet");
      return false;
    }
    const kube::Lease* lease = find_lease();
    if (!lease || lease->deleting || !(is_ours(*lease) || lease->holder.empty())) return true;
    if (lease->holder.empty() && !lease->renewed) return true;  // surrendered already
    attempt(GiveLeaseBack{lease->uid, lease->version, lease_surrender(*lease).dump()}, "the lease is given back");
    return false;
  }

  bool release_node() {
    drain::NodeChange change;
    if (holds(m_)) {
      change = release();
    } else if (m_.of_predecessor() && !m_.given_up()) {
      change = undo_predecessor(*node_, m_, now_, world_.atoms);
    }
    if (!change.empty()) {
      attempt(ReleaseNode{std::move(change), node_->version}, "the node is released");
      return false;
    }
    const bool is_last = !world_.roster.owner_of(m_.node, &m_);
    if (is_last && tell_lifecycle(Stage::none)) return false;
    return true;
  }

  drain::NodeChange release() const {
    return drain::release(*node_, hold_owner(m_.name), world_.atoms, earlier_cordon(world_));
  }

  // --- common ---

  bool holds(const Maintenance& maintenance) const {
    const auto found = holds_.by_owner.find(hold_owner(maintenance.name));
    return found != holds_.by_owner.end() && found->second.id == maintenance.uid;
  }

  const kube::Lease* find_lease() const {
    return world_.leases.find(kube::object_key(world_.lease_namespace, lease_name(m_.node)));
  }

  void wake_at(io::Wall when) {
    if (!decision_.wake || when < *decision_.wake) decision_.wake = when;
  }

  void obstacle(std::string reason, const std::string& message) {
    report_obstacle(draft_, std::move(reason), message, now_);
  }

  // The write, unless it has failed a moment ago; then the status says why.
  void attempt(Effect effect, std::string why) {
    decision_.why = doing(std::move(why));
    const Trouble& trouble = memory_.trouble;
    if (now_ >= trouble.retry_at) {
      decision_.effect = std::move(effect);
      return;
    }
    wake_at(trouble.retry_at);
    if (trouble.what.empty() || draft_.phase == Phase::none) return;
    obstacle("WriteFailed", failure_prefix_ + trouble.what);
    report(failing(decision_.why.text + ", but that failed"));
  }

  void report(Why why, std::optional<Stage> stage = std::nullopt) {
    decision_.why = std::move(why);
    if (says_more()) {
      const bool turns = draft_.phase != memory_.written.phase || draft_.lease_errors != memory_.written.lease_errors;
      const io::Wall earliest =
          std::max(turns ? io::Wall::min() : memory_.written_at + kProgressInterval, memory_.status_trouble.retry_at);
      if (now_ >= earliest) return write_status(turns);
      wake_at(earliest);
    }
    if (stage && node_) tell_lifecycle(*stage);
  }

  // A CRD that knows no conditions drops them: they alone are no reason to write what was found.
  bool says_more() const {
    if (!memory_.bare) return !draft_.same_facts(memory_.written);
    Status bare = draft_;
    bare.conditions.clear();
    return !bare.same_facts(memory_.written);
  }

  void write_status(bool urgent, bool counts_attempt = false) {
    decision_.effect = WriteStatus{std::move(draft_), urgent, counts_attempt, counted_};
  }

  bool tell_lifecycle(Stage stage) {
    if (!world_.node_conditions || memory_.lifecycle_stays) return false;
    const auto patch = lifecycle_patch(*node_, stage, now_);
    if (!patch || now_ < memory_.trouble.retry_at) return false;
    decision_.effect = TellLifecycle{patch->dump()};
    return true;
  }

  const World& world_;
  const Maintenance& m_;
  const Memory& memory_;
  io::Wall now_;
  const kube::Node* node_;
  drain::Holds holds_;
  Status draft_;
  std::string counted_;  // UID of the node whose pods are counted in the draft, by this decision
  std::string failure_prefix_;
  Decision decision_;
};

}  // namespace

Decision decide(const World& world, std::string_view name, const Memory& memory, io::Wall now) {
  const Maintenance* maintenance = world.roster.find(name);
  if (!maintenance) {
    Decision decision;
    decision.gone = true;
    decision.why = doing("it is gone");
    return decision;
  }
  return Deliberation(world, *maintenance, memory, now).run();
}

void Memory::clock_stepped(io::Duration by) {
  for (io::Wall* time : {&met, &written_at, &held_at, &trouble.retry_at, &status_trouble.retry_at}) {
    if (*time != io::Wall{}) *time = io::add(*time, by);
  }
  for (auto* time : {&lost_at, &undrained, &departing}) {
    if (*time) **time = io::add(**time, by);
  }
}

}  // namespace careen::nodemaintenance
