#include "sim/placement.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace careen::sim {

namespace {

const json::array* list_at(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* found = find(value, path);
  return found && found->is_array() ? &found->get_array() : nullptr;
}

constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";
constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";

bool node_is_ready(const json::value& node) {
  const json::array* conditions = list_at(node, {"status", "conditions"});
  return conditions && std::any_of(conditions->begin(), conditions->end(), [](const json::value& one) {
           return text_at(one, "type") == "Ready" && text_at(one, "status") == "True";
         });
}

double unit_of(std::string_view suffix) {
  static constexpr std::pair<std::string_view, double> units[] = {{"", 1},
                                                                  {"n", 1e-9},
                                                                  {"u", 1e-6},
                                                                  {"m", 1e-3},
                                                                  {"k", 1e3},
                                                                  {"M", 1e6},
                                                                  {"G", 1e9},
                                                                  {"T", 1e12},
                                                                  {"P", 1e15},
                                                                  {"E", 1e18},
                                                                  {"Ki", 1024.0},
                                                                  {"Mi", 1048576},
                                                                  {"Gi", 1073741824.0},
                                                                  {"Ti", 1099511627776},
                                                                  {"Pi", 1125899906842624},
                                                                  {"Ei", 1152921504606846976}};
  for (const auto& [name, factor] : units) {
    if (name == suffix) return factor;
  }
  return 0;
}

int64_t quantity_at(const json::value& list, std::string_view what) {
  const json::value* found = member(list, what);
  if (!found) return 0;
  if (found->is_string()) return milli_quantity(found->get_string());
  return found->is_number() ? milli_quantity(json::serialize(*found)) : 0;
}

Room room_of(const json::value& list) {
  return {quantity_at(list, "cpu"), quantity_at(list, "memory") / 1000, quantity_at(list, "pods") / 1000};
}

bool is_integer(std::string_view text, int64_t& into) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), into);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

// `value` is null when the node has no such label or field.
bool holds(const json::value& requirement, const std::string* value) {
  const std::string_view op = text_at(requirement, "operator");
  const json::array* values = list_at(requirement, {"values"});
  const auto named = [&] {
    return value && values && std::any_of(values->begin(), values->end(), [&](const json::value& one) {
             return one.is_string() && std::string_view(one.get_string()) == *value;
           });
  };
  if (op == "In") return named();
  if (op == "NotIn") return !named();
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  int64_t has = 0, bound = 0;
  const bool numbers = value && values && values->size() == 1 && values->front().is_string() &&
                       is_integer(*value, has) && is_integer(values->front().get_string(), bound);
  if (op == "Gt") return numbers && has > bound;
  if (op == "Lt") return numbers && has < bound;
  return false;
}

// All of its requirements; a term without any matches nothing.
bool term_matches(const json::value& term, const NodeFacts& node) {
  const json::array* expressions = list_at(term, {"matchExpressions"});
  const json::array* fields = list_at(term, {"matchFields"});
  if ((!expressions || expressions->empty()) && (!fields || fields->empty())) return false;
  if (expressions) {
    for (const json::value& one : *expressions) {
      const auto label = node.labels.find(text_at(one, "key"));
      if (!holds(one, label == node.labels.end() ? nullptr : &label->second)) return false;
    }
  }
  if (!fields) return true;
  return std::all_of(fields->begin(), fields->end(), [&](const json::value& one) {
    return text_at(one, "key") == "metadata.name" && holds(one, &node.name);
  });
}

const json::array* preferences(const json::value& pod_spec) {
  return list_at(pod_spec, {"affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"});
}

}  // namespace

Room& Room::operator+=(const Room& other) {
  milli_cpu += other.milli_cpu;
  memory += other.memory;
  pods += other.pods;
  return *this;
}

Room& Room::operator-=(const Room& other) {
  milli_cpu -= other.milli_cpu;
  memory -= other.memory;
  pods -= other.pods;
  return *this;
}

int64_t milli_quantity(std::string_view text) {
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return 0;
  const double factor = unit_of(text.substr(static_cast<size_t>(parsed.ptr - text.data())));
  const double milli = number * factor * 1000;
  if (std::abs(milli) >= 9e18) return milli < 0 ? INT64_MIN : INT64_MAX;
  // A hair above a whole number is the rounding of doubles, not the next thousandth.
  return static_cast<int64_t>(std::ceil(milli - 1e-6));
}

NodeFacts::NodeFacts(const json::value& node) : name(text_at(node, {"metadata", "name"})) {
  if (const json::value* list = find(node, {"metadata", "labels"}); list && list->is_object()) {
    for (const auto& one : list->get_object()) {
      if (one.value().is_string()) labels.emplace(one.key(), std::string(one.value().get_string()));
    }
  }
  if (const json::array* list = list_at(node, {"spec", "taints"})) {
    for (const json::value& one : *list) {
      taints.push_back(
          {std::string(text_at(one, "key")), std::string(text_at(one, "value")), std::string(text_at(one, "effect"))});
    }
  }
  const auto tainted = [&](std::string_view key) {
    return std::any_of(taints.begin(), taints.end(),
                       [&](const Taint& one) { return one.key == key && one.effect == "NoSchedule"; });
  };
  const json::value* spec = member(node, "spec");
  if (spec && is_true(*spec, "unschedulable") && !tainted(kUnschedulable)) {
    taints.push_back({std::string(kUnschedulable), "", "NoSchedule"});
  }
  if (!node_is_ready(node) && !tainted(kNotReady) && !tainted("node.kubernetes.io/unreachable")) {
    taints.push_back({std::string(kNotReady), "", "NoSchedule"});
  }
  if (const json::value* list = find(node, {"status", "allocatable"})) allocatable = room_of(*list);
}

bool operator==(const NodeFacts& a, const NodeFacts& b) {
  return a.name == b.name && a.labels == b.labels && a.allocatable == b.allocatable && a.taints == b.taints;
}

Room requests_of(const json::value& pod_spec) {
  const auto asked = [](const json::value& container) {
    // What is only limited is asked for, too; the server fills that in.
    const json::value* limits = find(container, {"resources", "limits"});
    const json::value* requests = find(container, {"resources", "requests"});
    Room room = limits ? room_of(*limits) : Room();
    if (!requests) return room;
    const Room named = room_of(*requests);
    if (member(*requests, "cpu")) room.milli_cpu = named.milli_cpu;
    if (member(*requests, "memory")) room.memory = named.memory;
    return room;
  };
  Room sum;
  if (const json::array* containers = list_at(pod_spec, {"containers"})) {
    for (const json::value& one : *containers) sum += asked(one);
  }
  if (const json::array* first = list_at(pod_spec, {"initContainers"})) {
    for (const json::value& one : *first) {
      const Room room = asked(one);
      sum.milli_cpu = std::max(sum.milli_cpu, room.milli_cpu);
      sum.memory = std::max(sum.memory, room.memory);
    }
  }
  if (const json::value* overhead = member(pod_spec, "overhead")) sum += room_of(*overhead);
  sum.pods = 1;
  return sum;
}

bool tolerates(const json::value& toleration, const Taint& taint) {
  const std::string_view effect = text_at(toleration, "effect");
  const std::string_view key = text_at(toleration, "key");
  const std::string_view op = text_at(toleration, "operator");
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  if (op == "Exists") return true;
  return (op.empty() || op == "Equal") && !key.empty() && text_at(toleration, "value") == taint.value;
}

const Taint* untolerated(const json::value& pod_spec, const NodeFacts& node,
                         const std::vector<std::string_view>& effects) {
  const json::array* tolerations = list_at(pod_spec, {"tolerations"});
  for (const Taint& taint : node.taints) {
    if (std::find(effects.begin(), effects.end(), taint.effect) == effects.end()) continue;
    const bool borne = tolerations && std::any_of(tolerations->begin(), tolerations->end(),
                                                  [&](const json::value& one) { return tolerates(one, taint); });
    if (!borne) return &taint;
  }
  return nullptr;
}

bool selects(const json::value& pod_spec, const NodeFacts& node) {
  if (const json::value* wanted = member(pod_spec, "nodeSelector"); wanted && wanted->is_object()) {
    for (const auto& one : wanted->get_object()) {
      const auto label = node.labels.find(one.key());
      if (label == node.labels.end() || !one.value().is_string() ||
          label->second != std::string_view(one.value().get_string())) {
        return false;
      }
    }
  }
  const json::value* required =
      find(pod_spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  if (!required || required->is_null()) return true;
  const json::array* terms = list_at(*required, {"nodeSelectorTerms"});
  return terms &&
         std::any_of(terms->begin(), terms->end(), [&](const json::value& term) { return term_matches(term, node); });
}

std::string_view only_node(const json::value& pod_spec) {
  const json::array* terms = list_at(
      pod_spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  if (!terms || terms->size() != 1) return {};
  const json::array* fields = list_at(terms->front(), {"matchFields"});
  if (!fields || fields->size() != 1 || text_at(fields->front(), "operator") != "In" ||
      text_at(fields->front(), "key") != "metadata.name") {
    return {};
  }
  const json::array* names = list_at(fields->front(), {"values"});
  return names && names->size() == 1 && names->front().is_string() ? std::string_view(names->front().get_string())
                                                                   : std::string_view();
}

bool has_preferences(const json::value& pod_spec) {
  const json::array* list = preferences(pod_spec);
  return list && !list->empty();
}

int64_t preference(const json::value& pod_spec, const NodeFacts& node) {
  const json::array* list = preferences(pod_spec);
  if (!list) return 0;
  int64_t sum = 0;
  for (const json::value& one : *list) {
    const json::value* term = member(one, "preference");
    if (term && term_matches(*term, node)) sum += integer_at(one, {"weight"}).value_or(0);
  }
  return sum;
}

}  // namespace careen::sim
