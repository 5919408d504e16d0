#include "plan/outside_world.h"

#include <algorithm>

#include "controllers/profiles/hypervisors.h"
#include "controllers/slot/job.h"
#include "controllers/slot/kind.h"
#include "sim/value.h"
#include "windows/semver.h"

namespace careen::plan {

namespace json = boost::json;
using kube::Json;
using profiles::State;

namespace {

constexpr const char* kBy = "outside";

std::string node_path(const std::string& node) { return "/api/v1/nodes/" + node; }
std::string hypervisor_path(const std::string& node) { return profiles::kHypervisorResource.path("", node); }

// The list with these statuses in it.
Json with_conditions(const json::value& object, const std::map<std::string, std::string>& wanted, io::Wall now) {
  const std::string since = io::format_rfc3339(std::chrono::floor<io::seconds>(now));
  Json out = Json::array();
  std::set<std::string> seen;
  const json::value* known = sim::find(object, {"status", "conditions"});
  if (known && known->is_array()) {
    for (const json::value& one : known->get_array()) {
      Json condition{kube::JsonView(&one)};
      const std::string type(sim::text_at(one, "type"));
      const auto change = wanted.find(type);
      if (change != wanted.end() && seen.insert(type).second) {
        condition.set({"status"}, change->second).set({"lastTransitionTime"}, since);
      }
      out.push_back(std::move(condition));
    }
  }
  for (const auto& [type, status] : wanted) {
    if (seen.contains(type)) continue;
    out.push_back(Json::object({{"type", type}, {"status", status}, {"lastTransitionTime", since}}));
  }
  return out;
}

void set_all(Json& patch, std::string_view what, const std::map<std::string, std::optional<std::string>>& values) {
  for (const auto& [key, value] : values) patch.set({"metadata", what, key}, value ? Json(*value) : Json());
}

// Whether the profile's chain itself changes labels or annotations of the node: then the configuration ends the need.
bool tidies_up(const profiles::Config& config, const profiles::Transition& transition) {
  return std::any_of(transition.trigger.begin(), transition.trigger.end(), [&](int index) {
    const std::string_view type = config.triggers[static_cast<size_t>(index)].trigger->type();
    return type == "alterLabel" || type == "alterAnnotation";
  });
}

}  // namespace

OutsideWorld::OutsideWorld(io::Loop& loop, sim::Cluster& cluster, const profiles::Config& facts,
                           const Assumptions& assumptions)
    : loop_(loop), cluster_(cluster), facts_(facts), assumptions_(assumptions), next_(loop, [this] { run(); }) {}

io::Steady OutsideWorld::steady(io::Wall when) const {
  return std::max(loop_.now(), loop_.now() + (when - loop_.wall_now()));
}

void OutsideWorld::drop(const Key& key) {
  const auto known = due_.find(key);
  if (known == due_.end()) return;
  by_time_.erase({known->second.at, key});
  due_.erase(known);
}

void OutsideWorld::plan(const Key& key, Task task) {
  drop(key);
  by_time_.insert({task.at, key});
  due_.emplace(key, task);
  next_.set(by_time_.begin()->first);
}

void OutsideWorld::note(const std::string& node, const NodeStory& story) {
  for (const auto& [name, data] : story.profiles) {
    const Key key{node, name};
    const auto state = data.current.known();
    if (!facts_.find_profile(name) || !state || state == State::operational) {
      drop(key);
      continue;
    }
    // Work begins when the node has been prepared for it.
    const bool entered = data.previous == data.current;
    if (state == State::in_maintenance && !entered) {
      drop(key);
      continue;
    }
    const auto known = due_.find(key);
    if (known != due_.end() && known->second.state == *state && known->second.since == data.transition) continue;
    if (state == State::in_maintenance) {
      // A drain on entering comes before the work.
      const io::Wall prepared = std::max(data.transition, loop_.wall_now());
      const bool just_now = loop_.wall_now() - data.transition < io::seconds{1};
      const bool has_enter = !facts_.find_profile(name)->at(State::in_maintenance).enter.empty();
      const io::Wall from = just_now || !has_enter ? data.transition : prepared;
      plan(key, {*state, data.transition, steady(io::add(from, assumptions_.maintenance_of(name, node)))});
      continue;
    }
    const Approvals approvals = assumptions_.approvals_of(name, node);
    if (approvals.kind == Approvals::Kind::none) continue;
    plan(key, {*state, data.transition, steady(io::add(data.transition, approvals.after))});
  }
}

void OutsideWorld::note(const controllers::Kind& kind, const controllers::Job& job) {
  const Key key{kind.object.path("", job.name), ""};
  if (job.ending || job.stage != controllers::Job::Stage::ready) return drop(key);
  if (ended_.contains(key.first) || due_.contains(key)) return;
  const io::Duration takes = assumptions_.maintenance_of(std::string(kind.name), job.node);
  plan(key, {State::in_maintenance, {}, loop_.now() + takes});
}

void OutsideWorld::run() {
  while (!by_time_.empty() && by_time_.begin()->first <= loop_.now()) {
    const Key key = by_time_.begin()->second;
    const Task task = due_.at(key);
    drop(key);
    act(key, task);
  }
  if (!by_time_.empty()) next_.set(by_time_.begin()->first);
}

void OutsideWorld::act(const Key& key, const Task& task) {
  if (key.second.empty()) return end_job(key.first);
  const profiles::Profile* profile = facts_.find_profile(key.second);
  if (!profile) return;
  if (task.state == State::maintenance_required) return approve(key.first, *profile);
  finish(key.first, *profile);
}

// No node ever gets beyond this version, so one search is enough.
const std::string& OutsideWorld::newest(const std::string& label) {
  const auto [known, fresh] = newest_.try_emplace(label);
  std::string& text = known->second;
  if (!fresh) return text;
  std::optional<windows::Semver> best;
  cluster_.api.for_each("/api/v1/nodes", [&](const std::string&, const sim::Text& node) {
    const auto object = sim::parse(*node);
    const json::value* labels = object ? sim::find(*object, {"metadata", "labels"}) : nullptr;
    if (!labels) return;
    auto version = windows::parse_semver(sim::text_at(*labels, label));
    if (!version || (best && precedence(*version, *best) <= 0)) return;
    text = sim::text_at(*labels, label);
    best = std::move(*version);
  });
  return text;
}

void OutsideWorld::approve(const std::string& node, const profiles::Profile& profile) {
  const auto text = cluster_.api.text(node_path(node));
  const auto hypervisor_text = cluster_.api.text(hypervisor_path(node));
  const auto object = text ? sim::parse(*text) : std::nullopt;
  if (!object) return;
  const auto hypervisor = hypervisor_text ? sim::parse(*hypervisor_text) : std::nullopt;
  const NodeState state{*object, hypervisor ? &*hypervisor : nullptr, [this](const auto& l) { return newest(l); }};
  for (const profiles::Transition& transition : profile.at(State::maintenance_required).transitions) {
    if (transition.next != State::in_maintenance) continue;
    const auto edit = edit_for(facts_, transition.check, true, state, Editor::approver);
    if (!edit) continue;
    return apply(node, *edit);
  }
}

void OutsideWorld::finish(const std::string& node, const profiles::Profile& profile) {
  cluster_.kubelets.start(node);
  const auto text = cluster_.api.text(node_path(node));
  const auto object = text ? sim::parse(*text) : std::nullopt;
  if (!object) return;
  const auto hypervisor_text = cluster_.api.text(hypervisor_path(node));
  const auto hypervisor = hypervisor_text ? sim::parse(*hypervisor_text) : std::nullopt;
  const NodeState state{*object, hypervisor ? &*hypervisor : nullptr, [this](const auto& l) { return newest(l); }};
  const auto& exits = profile.at(State::in_maintenance).transitions;
  Edit edit;
  bool tidy = false;
  // Back to work rather than to another round.
  for (const State target : {State::operational, State::maintenance_required}) {
    const auto exit = std::find_if(exits.begin(), exits.end(), [&](const auto& one) {
      return one.next == target && edit_for(facts_, one.check, true, state, Editor::maintainer);
    });
    if (exit == exits.end()) continue;
    edit = *edit_for(facts_, exit->check, true, state, Editor::maintainer);
    tidy = tidies_up(facts_, *exit);
    break;
  }
  // What was the reason for it is dealt with.
  if (!tidy) {
    for (const profiles::Transition& transition : profile.at(State::operational).transitions) {
      Edit both = edit;
      const auto end = edit_for(facts_, transition.check, false, state, Editor::maintainer);
      if (end && both.add(*end)) edit = std::move(both);
    }
  }
  apply(node, edit);
}

void OutsideWorld::apply(const std::string& node, const Edit& edit) {
  Json patch;
  set_all(patch, "labels", edit.labels);
  set_all(patch, "annotations", edit.annotations);
  if (!edit.conditions.empty()) {
    const auto object = sim::parse(*cluster_.api.text(node_path(node)));
    patch.set({"status", "conditions"}, with_conditions(*object, edit.conditions, loop_.wall_now()));
  }
  if (!patch.view().is_null()) cluster_.api.merge(node_path(node), patch, kBy);
  apply_to_hypervisor(node, edit);
}

void OutsideWorld::apply_to_hypervisor(const std::string& node, const Edit& edit) {
  if (edit.hypervisor_conditions.empty() && edit.hypervisor_status.empty()) return;
  const auto text = cluster_.api.text(hypervisor_path(node));
  if (!text) return;
  Json patch;
  for (const auto& [field, value] : edit.hypervisor_status) patch.set({"status", field}, value);
  if (!edit.hypervisor_conditions.empty()) {
    patch.set({"status", "conditions"},
              with_conditions(*sim::parse(*text), edit.hypervisor_conditions, loop_.wall_now()));
  }
  cluster_.api.merge(hypervisor_path(node), patch, kBy);
}

void OutsideWorld::end_job(const std::string& path) {
  ended_.insert(path);
  kube::Request request;
  request.method = "DELETE";
  request.path = path;
  cluster_.api.handle(request, {kBy});
}

}  // namespace careen::plan
