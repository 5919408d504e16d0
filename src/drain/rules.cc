#include "drain/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "kube/cache.h"
#include "kube/names.h"
#include "kube/objects.h"
#include "kube/pod_store.h"

namespace careen::drain {

namespace {

using kube::JsonView;
using kube::LabelSelector;

Rule::Behavior behavior_of(std::string_view said) {
  if (said == "Drain") return Rule::Behavior::drain;
  if (said == "Skip") return Rule::Behavior::skip;
  if (said == "WaitCompleted") return Rule::Behavior::wait_completed;
  return Rule::Behavior::unknown;
}

// The API server keeps selectors of custom resources as they are, whatever their keys and values look like.
std::string wrong_in(const LabelSelector& selector) {
  for (const LabelSelector::Requirement& one : selector.requirements()) {
    auto errors = kube::qualified_name_errors(one.key);
    for (const std::string& value : one.values) {
      if (errors.empty()) errors = kube::label_value_errors(value);
    }
    if (!errors.empty()) return errors.front();
  }
  return {};
}

// What is not given matches everything. The mistake, if there is one.
std::optional<std::string> read_selector(JsonView holder, const char* field, LabelSelector& into) {
  const JsonView given = holder[field];
  if (!given || given.is_null()) return std::nullopt;
  auto selector = LabelSelector::from_json(given);
  if (!selector) return fmt::format("{}: {}", field, selector.error().message);
  if (const std::string wrong = wrong_in(*selector); !wrong.empty()) return fmt::format("{}: {}", field, wrong);
  into = std::move(*selector);
  return std::nullopt;
}

// read(element, choice) gives the mistake, if there is one.
template <class Choice, class Read>
std::optional<std::string> read_choices(JsonView spec, const char* field, std::vector<Choice>& into, Read read) {
  const JsonView list = spec[field];
  if (!list || list.is_null()) return std::nullopt;
  if (!list.is_array()) return fmt::format("spec.{}: must be a list", field);
  for (size_t i = 0; i < list.size(); ++i) {
    if (auto wrong = read(list[i], into.emplace_back())) return fmt::format("spec.{}[{}].{}", field, i, *wrong);
  }
  return std::nullopt;
}

std::optional<std::string> read_spec(JsonView spec, Rule& rule) {
  const JsonView order = spec["drain"]["order"];
  if (order && !order.is_null()) {
    const auto number = order.integer();
    using Range = std::numeric_limits<int32_t>;
    if (!number || *number < Range::min() || *number > Range::max()) return "spec.drain.order: must be a 32-bit number";
    if (rule.behavior == Rule::Behavior::drain) rule.order = static_cast<int32_t>(*number);
  }
  auto wrong = read_choices(spec, "machines", rule.machines, [](JsonView one, Rule::MachineChoice& choice) {
    auto mistake = read_selector(one, "selector", choice.machine);
    return mistake ? mistake : read_selector(one, "clusterSelector", choice.cluster);
  });
  if (wrong) return wrong;
  return read_choices(spec, "pods", rule.pods, [](JsonView one, Rule::PodChoice& choice) {
    auto mistake = read_selector(one, "selector", choice.pod);
    return mistake ? mistake : read_selector(one, "namespaceSelector", choice.ns);
  });
}

enum class Match { no, yes, open };

Match match_namespace(const LabelSelector& selector, const kube::Pod& pod, const NodeRules& rules) {
  if (selector.empty()) return Match::yes;
  const kube::Namespace* const ns = rules.namespaces ? rules.namespaces->find(pod.ns) : nullptr;
  if (!ns) return Match::open;
  const bool matches = selector.matches([ns](std::string_view key) -> std::optional<std::string_view> {
    const kube::Atom* const value = ns->label(key);
    return value ? std::optional(value->view()) : std::nullopt;
  });
  return matches ? Match::yes : Match::no;
}

Match match(const Rule& rule, const kube::Pod& pod, const NodeRules& rules) {
  if (rule.pods.empty()) return Match::yes;
  Match result = Match::no;
  for (const Rule::PodChoice& choice : rule.pods) {
    if (!choice.pod.matches([&pod](std::string_view key) { return pod.label(key); })) continue;
    const Match in_namespace = match_namespace(choice.ns, pod, rules);
    if (in_namespace == Match::yes) return Match::yes;
    if (in_namespace == Match::open) result = Match::open;
  }
  return result;
}

}  // namespace

io::Result<Rule> read_rule(const kube::Object& object) {
  const JsonView spec = object.document["spec"];
  Rule rule;
  rule.name = "MachineDrainRule " + object.key();
  rule.said = spec["drain"]["behavior"].text().value_or("");
  rule.behavior = behavior_of(rule.said);
  if (auto wrong = read_spec(spec, rule)) {
    return io::fail(io::ErrorKind::invalid, fmt::format("{}: {}", rule.name, *wrong));
  }
  return rule;
}

bool applies(const Rule& rule, const LabelSelector::Lookup& machine, const LabelSelector::Lookup& cluster) {
  return rule.machines.empty() || std::ranges::any_of(rule.machines, [&](const Rule::MachineChoice& choice) {
           return choice.machine.matches(machine) && choice.cluster.matches(cluster);
         });
}

Ruling ruling_for(const kube::Pod& pod, const NodeRules& rules) {
  for (const auto& rule : rules.rules) {
    const Match matches = match(*rule, pod, rules);
    if (matches == Match::open) return {.open = true};
    if (matches == Match::yes) return {.rule = rule.get()};
  }
  return {};
}

}  // namespace careen::drain
