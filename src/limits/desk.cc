#include "limits/desk.h"

#include <algorithm>
#include <utility>

#include "limits/desk_core.h"

namespace careen::limits {

namespace {

constexpr std::string_view kNotYet = "it is not known yet which limits there are";

}  // namespace

Desk::Core::Core(io::Loop& loop, kube::Store<kube::Node>& nodes, kube::Store<kube::Object>& limits,
                 budget::Ledger& ledger)
    : loop_(loop),
      nodes_(nodes),
      objects_(limits),
      ledger_(ledger),
      why_unknown_(kNotYet),
      alarm_(loop, [this] { ring(); }),
      settle_(loop, [this] {
        soon_ = false;
        settle();
        for (const auto& [node, who] : std::exchange(turns_, {})) {
          const auto state = states_.find(node);
          if (state == states_.end()) continue;
          const auto entry = state->second.entries.find(who);
          if (entry != state->second.entries.end() && entry->second.offered) turn_hub_.tell(node, who);
        }
        if (std::exchange(changed_, false)) change_hub_.tell();
      }) {
  follows_.push_back(
      nodes_.subscribe([this](const kube::Node* before, const kube::Node* after) { node_changed(before, after); }));
  follows_.push_back(objects_.subscribe(
      [this](const kube::Object* before, const kube::Object* after) { limit_changed(before, after); }));
  follows_.push_back(ledger_.on_end([this](const budget::Admission& admission) { ledger_ended(admission); }));
  read_anew();
}

void Desk::Core::soon() {
  if (std::exchange(soon_, true)) return;
  settle_.set(loop_.now());
}

void Desk::Core::ring() {
  while (const auto due = due_.take(loop_.now())) {
    switch (due->kind) {
      case Due::node:
        if (const auto it = states_.find(due->name); it != states_.end()) recount(it->second);
        break;
      case Due::latch:
        for (auto& [name, limit] : limits_) {
          if (!due->name.starts_with(name)) continue;
          for (const auto& [values, group] : limit.groups) {
            if (group->name == due->name) recounted_.insert(group.get());
          }
        }
        break;
      case Due::interval:
        if (const auto it = limits_.find(due->name); it != limits_.end()) limits_eased_.insert(&it->second);
        break;
      case Due::missing:
        found(std::string(due->name));
        break;
      case Due::workloads:
        if (const auto it = states_.find(due->name); it != states_.end()) {
          it->second.inherited = false;
          recall(it->second);
          forget_if_empty(it->second);
        }
        break;
    }
  }
  while (!ageing_.empty() && ageing_.begin()->first <= now()) {
    Entry& entry = *ageing_.begin()->second;
    ageing_.erase(ageing_.begin());
    requeue(entry);
  }
  while (!declined_.empty() && declined_.begin()->first <= loop_.now()) {
    Entry& entry = *declined_.begin()->second;
    declined_.erase(declined_.begin());
    entry.declined_until.reset();
    reconsider(entry);
  }
  passed_long_enough();
  soon();
}

void Desk::Core::rearm() {
  std::optional<io::Steady> next = due_.next();
  const auto also = [&](io::Steady when) { next = next ? std::min(*next, when) : when; };
  if (!ageing_.empty()) also(io::steady_at(loop_, ageing_.begin()->first));
  if (!passed_.empty()) also(passed_.begin()->first + io::hours{1});
  if (!declined_.empty()) also(declined_.begin()->first);
  if (next) {
    alarm_.set(*next);
  } else {
    alarm_.cancel();
  }
}

Desk::Desk(io::Loop& loop, kube::Store<kube::Node>& nodes, kube::Store<kube::Object>& limits, budget::Ledger& ledger)
    : core_(std::make_unique<Core>(loop, nodes, limits, ledger)) {}
Desk::~Desk() = default;

void Desk::follow(Rules rules) {
  if (core_->rules_ == rules) return;
  core_->rules_ = rules;
  core_->read_anew();
}

void Desk::follow(WorkloadSources sources, std::function<void(const WorkloadLimits&)> watch) {
  core_->follow(std::move(sources), std::move(watch));
}

void Desk::follow(OtherObjects& others) { core_->follow(others); }
void Desk::count(std::vector<CountedTaint> taints) {
  core_->taints_ = std::move(taints);
  core_->read_anew();
}
std::vector<Fact> Desk::facts_of(const kube::Node& node) const { return core_->facts(node); }
void Desk::workloads_known() {
  core_->remember_all();
  core_->ease_workloads();
}

void Desk::inherit() { core_->inherit(); }

// Steady times stay; those of a wall clock are looked at again.
void Desk::clock_stepped() {
  core_->leads_from_ = std::min(core_->leads_from_, core_->now());
  core_->nodes_.for_each([this](const kube::Node& node) {
    if (const auto it = core_->states_.find(node.name); it != core_->states_.end()) core_->recount(it->second);
  });
  for (auto& [name, limit] : core_->limits_) core_->limits_eased_.insert(&limit);
  core_->soon();
}

void Desk::unknown(std::string why) {
  core_->known_ = false;
  core_->why_unknown_ = why.empty() ? std::string(kNotYet) : std::move(why);
  // Nothing of what was offered counts any more.
  for (auto& [node, state] : core_->states_) {
    for (auto& [who, entry] : state.entries) {
      core_->withdraw(entry);
      core_->reconsider(entry);
    }
  }
  core_->changed_ = true;
  core_->soon();
}

void Desk::known() {
  if (std::exchange(core_->known_, true)) return;
  core_->all_eased_ = true;
  core_->changed_ = true;
  core_->soon();
}

bool Desk::is_known() const { return core_->known_; }

bool Desk::limited(std::string_view node) const {
  if (!core_->known_) return true;
  const auto it = core_->states_.find(node);
  if (!core_->about_workloads_.empty()) return true;
  if (it == core_->states_.end() || !it->second.present) return core_->node_limits_ > 0;
  return !it->second.members.empty();
}

Desk::Answer Desk::ask(const Asking& asking, Detail detail) const {
  Core& core = *core_;
  core.settle();
  const auto it = core.states_.find(asking.node);
  const Core::NodeState* const state = it == core.states_.end() ? nullptr : &it->second;
  Core::Asker asker{asking.who, asking.actor, core.turn_of(asking, state)};
  if (state) {
    const auto entry = state->entries.find(asking.who);
    if (entry != state->entries.end()) asker.entry = &entry->second;
  }
  Answer answer{.allowed = true};
  bool by_time = true;
  core.refusals(state, asker, [&](const Core::Refusal& refusal) {
    answer.allowed = false;
    if (refusal.until) {
      answer.changes_at = std::max(answer.changes_at.value_or(*refusal.until), *refusal.until);
    } else {
      by_time = false;
    }
    return by_time;
  });
  if (!by_time) answer.changes_at.reset();
  if (!answer.allowed && detail == Detail::text) answer.text = core.text(state, asker);
  return answer;
}

void Desk::wait(Asking asking) { core_->wait(std::move(asking)); }
void Desk::leave(std::string_view node, std::string_view who) { core_->leave(node, who); }
void Desk::take(Place place) { core_->take(std::move(place)); }
void Desk::release(std::string_view node, std::string_view who) { core_->release(node, who); }

bool Desk::has(std::string_view node, std::string_view who) const {
  const auto it = core_->states_.find(node);
  if (it == core_->states_.end()) return false;
  const auto place = it->second.places.find(who);
  return place != it->second.places.end() && (!it->second.present || place->second.is_of(it->second.uid));
}

bool Desk::placed(std::string_view node) const {
  const auto it = core_->states_.find(node);
  return it != core_->states_.end() && it->second.present && it->second.has_place();
}

io::Subscription Desk::on_turn(std::function<void(const std::string& node, const std::string& who)> tell) {
  return core_->turn_hub_.subscribe(std::move(tell));
}
io::Subscription Desk::on_change(std::function<void()> tell) { return core_->change_hub_.subscribe(std::move(tell)); }

std::vector<GroupState> Desk::groups() const {
  core_->settle();
  std::vector<GroupState> all;
  for (const auto& [name, limit] : core_->limits_) {
    for (const auto& [values, group] : limit.groups) all.push_back(core_->state(*group));
  }
  return all;
}

std::vector<GroupState> Desk::groups_of(std::string_view limit) const {
  core_->settle();
  std::vector<GroupState> all;
  if (const auto it = core_->limits_.find(limit); it != core_->limits_.end()) {
    for (const auto& [values, group] : it->second.groups) all.push_back(core_->state(*group));
  }
  return all;
}

std::vector<GroupState> Desk::exceeded() const {
  core_->settle();
  std::vector<GroupState> all;
  for (const Core::Group* const group : core_->exceeded_) all.push_back(core_->state(*group));
  std::ranges::sort(all, {}, &GroupState::name);
  return all;
}

std::vector<Waiting> Desk::queue() const {
  core_->settle();
  const auto expected = core_->expected();
  std::vector<const Core::Entry*> entries;
  for (const auto& [node, state] : core_->states_) {
    for (const auto& [who, entry] : state.entries) {
      if (!entry.offered) entries.push_back(&entry);
    }
  }
  std::ranges::sort(entries, [](const auto* a, const auto* b) { return a->turn < b->turn; });
  std::vector<Waiting> all;
  for (const Core::Entry* const entry : entries) {
    Waiting one{entry->asking, entry->turn.rank, {}, std::nullopt};
    if (const auto it = expected.find(entry); it != expected.end()) one.expected = it->second;
    core_->refusals(&entry->node, {entry->asking.who, entry->asking.actor, entry->turn, entry},
                    [&](const Core::Refusal& refusal) {
                      if (refusal.limit)
                        one.groups.push_back(refusal.group ? refusal.group->name : refusal.limit->limit.name);
                      return true;
                    });
    all.push_back(std::move(one));
  }
  return all;
}

const Limit* Desk::find(std::string_view limit) const {
  const auto it = core_->limits_.find(limit);
  return it == core_->limits_.end() ? nullptr : &it->second.limit;
}

void Desk::for_each_limit(const std::function<void(const Limit&)>& visit) const {
  for (const auto& [name, limit] : core_->limits_) visit(limit.limit);
}

std::vector<const Limit*> Desk::limits_of(std::string_view node) const {
  std::vector<const Limit*> found;
  const auto it = core_->states_.find(node);
  if (it == core_->states_.end()) return found;
  for (const auto& member : it->second.members) found.push_back(&member->limit.limit);
  return found;
}

}  // namespace careen::limits
