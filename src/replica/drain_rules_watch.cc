#include "replica/drain_rules_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "drain/engine.h"
#include "io/problems.h"
#include "kube/decode.h"
#include "kube/node.h"
#include "kube/sink.h"
#include "limits/other_objects.h"

namespace careen::replica {

using io::Task;

namespace {

constexpr const char* kRulesProblem = "drain rules";
constexpr const char* kRulesGroup = "cluster.x-k8s.io";
constexpr io::Duration kLookForRulesEvery = io::minutes{1};
// Drains wait for it.
constexpr io::Duration kLookForRulesAgain = io::seconds{3};

}  // namespace

DrainRulesWatch::DrainRulesWatch(DrainRulesParts parts)
    : p_(std::move(parts)),
      loop_(p_.cluster.loop()),
      here_(FollowedPlace::all_of(p_.cluster)),
      kinds_(loop_, "drains", [this] { change(); }),
      of_rules_(kinds_.add(
          p_.cluster_api, {kRulesGroup, "", "machinedrainrules", "MachineDrainRule", true},
          [this] { return kube::make_sink(rules_, [](kube::RawObject& raw) { return kube::decode_object(raw); }); })),
      of_machines_(kinds_.add(p_.cluster_api, {kRulesGroup, "", "machines", "Machine", true},
                              [this] { return sink_of(machines_); })),
      of_clusters_(kinds_.add(p_.cluster_api, {kRulesGroup, "", "clusters", "Cluster", true},
                              [this] { return sink_of(clusters_); })),
      of_namespaces_(kinds_.add(here_, kube::resources::namespaces,
                                [this] { return kube::make_sink(namespaces_, p_.cluster.atoms()); })),
      look_(loop_),
      tell_(loop_, [this] { p_.engine.rules_changed(); }) {
  changes_.push_back(
      rules_.subscribe([this](const kube::Object* before, const kube::Object* after) { rule_changed(before, after); }));
  changes_.push_back(machines_.subscribe(
      [this](const RuleMachine* before, const RuleMachine* after) { machine_changed(before, after); }));
  changes_.push_back(clusters_.subscribe([this](const RuleMachine*, const RuleMachine*) { change(); }));
  changes_.push_back(namespaces_.subscribe([this](const kube::Namespace*, const kube::Namespace*) { change(); }));
  of_machines_.label_selector = p_.cluster_api.of_the_cluster();
  of_clusters_.name = p_.cluster_api.cluster;
  consider_needs();
  p_.engine.rules = [this](const std::string& node) { return of(node); };
  change();
}

std::unique_ptr<kube::Sink> DrainRulesWatch::sink_of(kube::Store<RuleMachine>& store) {
  return kube::make_sink(store, [this](kube::RawObject& raw) { return read_rule_machine(raw, p_.cluster.atoms()); });
}

Task<void> DrainRulesWatch::run() {
  for (;;) {
    const bool all = co_await kinds_.look();
    report();
    change();
    const io::Steady again = loop_.now() + (all ? kLookForRulesEvery : kLookForRulesAgain);
    co_await io::race(loop_, io::wait_until(loop_, again), io::wait_for(look_));
  }
}

// Of many changes at once the engine hears once.
void DrainRulesWatch::change() {
  if (!tell_.pending()) tell_.set(loop_.now());
}

void DrainRulesWatch::rule_changed(const kube::Object* before, const kube::Object* after) {
  if (!after) {
    read_.erase(before->key());
  } else if (auto rule = drain::read_rule(*after)) {
    read_[after->key()] = {std::make_shared<const drain::Rule>(std::move(*rule)), ""};
  } else {
    read_[after->key()] = {nullptr, rule.error().message};
  }
  consider_needs();
  change();
}

void DrainRulesWatch::machine_changed(const RuleMachine* before, const RuleMachine* after) {
  const auto remove = [this](const RuleMachine& machine) {
    const auto at = by_node_.find(machine.node);
    if (at != by_node_.end() && at->second.erase(machine.key()) > 0 && at->second.empty()) by_node_.erase(at);
  };
  if (before) remove(*before);
  if (after && !after->node.empty()) by_node_[after->node].insert(after->key());
  change();
}

void DrainRulesWatch::consider_needs() {
  const auto some_rule = [this](auto&& chooses) {
    return std::ranges::any_of(read_, [&](const auto& one) { return one.second.rule && chooses(*one.second.rule); });
  };
  const auto needs = [this](FollowedKinds::Kind& kind, bool needed) {
    if (std::exchange(kind.wanted, needed) != needed) look_.notify();
  };
  needs(of_machines_, !read_.empty());
  needs(of_clusters_, some_rule([](const drain::Rule& rule) {
          return std::ranges::any_of(rule.machines, [](const auto& one) { return !one.cluster.empty(); });
        }));
  needs(of_namespaces_, some_rule([](const drain::Rule& rule) {
          return std::ranges::any_of(rule.pods, [](const auto& one) { return !one.ns.empty(); });
        }));
  if (std::exchange(asked_nodes_, !read_.empty()) == !read_.empty()) return;
  knows_nodes_ = false;
  p_.know_machines(asked_nodes_, [this, asked = ++asks_] {
    if (asked != asks_) return;
    knows_nodes_ = true;
    change();
  });
}

bool DrainRulesWatch::known() const {
  if (!kinds_.refused().empty()) return true;
  const bool all = std::ranges::all_of(kinds_.all(), [](const FollowedKinds::Kind& kind) { return kind.known(); });
  return all && (read_.empty() || knows_nodes_);
}

drain::NodeRules DrainRulesWatch::of(const std::string& node) const {
  drain::NodeRules out;
  out.known = known();
  if (!out.known || read_.empty() || !kinds_.refused().empty()) return out;
  const kube::Node* const found = p_.nodes.find(node);
  const RuleMachine* const machine = found ? machine_of(*found) : nullptr;
  if (!machine) return out;
  out.namespaces = &namespaces_;
  // Those of its namespace, by name.
  const std::string prefix = std::string(machine->ns.view()) + "/";
  for (auto at = read_.lower_bound(prefix); at != read_.end() && at->first.starts_with(prefix); ++at) {
    if (!at->second.rule) {
      out.mistake = at->second.mistake;
    } else if (is_about(*at->second.rule, *machine)) {
      out.rules.push_back(at->second.rule);
    }
  }
  return out;
}

const RuleMachine* DrainRulesWatch::machine_of(const kube::Node& node) const {
  const auto named = by_node_.find(node.name);
  const std::string_view provider_id = limits::provider_id_of(node);
  if (named == by_node_.end() || provider_id.empty()) return nullptr;
  for (const std::string& key : named->second) {
    const RuleMachine* const machine = machines_.find(key);
    if (machine && machine->provider_id == provider_id) return machine;
  }
  return nullptr;
}

bool DrainRulesWatch::is_about(const drain::Rule& rule, const RuleMachine& machine) const {
  const RuleMachine* const cluster = clusters_.find(kube::object_key(machine.ns.view(), machine.cluster.view()));
  return drain::applies(
      rule, [&machine](std::string_view key) { return machine.label(key); },
      [cluster](std::string_view key) { return cluster ? cluster->label(key) : std::nullopt; });
}

void DrainRulesWatch::report() {
  if (const std::string refused = kinds_.refused(); !refused.empty()) {
    return p_.cluster.problems().raise(
        kRulesProblem,
        fmt::format("drains go on without MachineDrainRules, until careen may list and watch: {}", refused));
  }
  for (const FollowedKinds::Kind& kind : kinds_.all()) {
    if (kind.known() || kind.error.empty()) continue;
    return p_.cluster.problems().raise(
        kRulesProblem,
        fmt::format("it is not known which MachineDrainRules there are: {}; no pod is evicted until it is, or has been "
                    "refused for {}",
                    kind.error, io::format_duration(kube::SteadyRefusal::kPatience)));
  }
  p_.cluster.problems().clear(kRulesProblem);
}

}  // namespace careen::replica
