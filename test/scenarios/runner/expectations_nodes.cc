#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/state.h"
#include "expectations.h"

namespace careen::scenarios {

using kube::Json;
using kube::JsonView;

namespace {

// What is asked of one node. Empty members ask nothing.
struct Facts {
  bool gone = false;
  std::string state;
  KeyValues labels, annotations, profiles;
  std::optional<bool> cordoned, ready;
  std::vector<std::string> taints;
};

bool is_state(const std::string& text) { return profiles::parse_state(text).has_value(); }

void check_state(const Value& value, const std::string& text, Faults& faults) {
  if (!is_state(text)) {
    faults.unknown(value.where, "state", text, {"operational", "maintenance-required", "in-maintenance", "gone"});
  }
}

Facts read_facts(const Value& value, Reading& reading) {
  Facts facts;
  if (value.is_scalar()) {
    facts.state = read_text(value, "a state", reading.faults).value_or("operational");
    facts.gone = facts.state == "gone";
    if (!facts.gone) check_state(value, facts.state, reading.faults);
    return facts;
  }
  Fields fields(value, "a node", reading.faults);
  if (const Value* state = fields.find("state")) {
    facts.state = read_text(*state, "state", reading.faults).value_or("operational");
    check_state(*state, facts.state, reading.faults);
  }
  const auto keys = [&](std::string_view key) {
    const Value* map = fields.find(key);
    return map ? read_key_values(*map, key, reading.faults) : KeyValues{};
  };
  facts.labels = keys("labels");
  facts.annotations = keys("annotations");
  facts.profiles = keys("profiles");
  facts.cordoned = fields.optional_flag("cordoned");
  facts.ready = fields.optional_flag("ready");
  if (const Value* taints = fields.find("taints")) {
    for (const Value* item : items(*taints)) {
      if (const auto text = read_text(*item, "a taint", reading.faults)) facts.taints.push_back(*text);
    }
  }
  fields.finish();
  return facts;
}

// The first difference: "label x is a, not b". Empty when there is none.
std::string differs(std::string_view what, const std::map<std::string, std::string>& have, const KeyValues& wanted) {
  for (const auto& [key, value] : wanted) {
    const auto it = have.find(key);
    if (!value && it == have.end()) continue;
    if (it == have.end()) return fmt::format("has no {} {}", what, key);
    if (!value || !matches(*value, it->second)) return fmt::format("has {} {}={}", what, key, it->second);
  }
  return {};
}

std::string profiles_differ(const NodeView& node, const KeyValues& wanted) {
  if (wanted.empty()) return {};
  const auto text = node.annotations.find(std::string(profiles::kDataAnnotation));
  const auto data = profiles::parse_node_data(text == node.annotations.end() ? "" : text->second);
  if (!data) return "has data that cannot be read";
  std::map<std::string, std::string> have;
  for (const auto& [profile, known] : data->profiles) have.emplace(profile, known.current.text());
  return differs("profile", have, wanted);
}

// What is otherwise about the node; empty when all is as asked.
std::string differs(const NodeView& node, const Facts& facts) {
  if (facts.gone) return "is there";
  if (!facts.state.empty() && node.state() != facts.state) {
    return node.state().empty() ? "has no state yet" : "is " + node.state();
  }
  for (const std::string& taint : facts.taints) {
    const auto fits = [&](const std::string& has) { return matches(taint, has); };
    if (std::none_of(node.taints.begin(), node.taints.end(), fits)) {
      return fmt::format("has the taints [{}]", fmt::join(node.taints, ", "));
    }
  }
  if (facts.cordoned && node.cordoned != *facts.cordoned) return node.cordoned ? "is cordoned" : "is not cordoned";
  if (facts.ready && node.ready != *facts.ready) return node.ready ? "is ready" : "is not ready";
  if (std::string d = differs("label", node.labels, facts.labels); !d.empty()) return d;
  if (std::string d = differs("annotation", node.annotations, facts.annotations); !d.empty()) return d;
  return profiles_differ(node, facts.profiles);
}

Verdict failing(const std::vector<std::pair<std::string, std::string>>& seen) {
  Verdict verdict;
  verdict.holds = seen.empty();
  std::vector<std::string> parts;
  for (const auto& [node, what] : seen) {
    verdict.nodes.insert(node);
    if (parts.size() < kMostShown) parts.push_back(fmt::format("{} {}", node, what));
  }
  if (seen.size() > kMostShown) parts.push_back(fmt::format("and {} more", seen.size() - kMostShown));
  verdict.seen = fmt::format("{}", fmt::join(parts, ", "));
  return verdict;
}

bool in_state(const NodeView& node, const std::string& state) {
  if (state == "cordoned") return node.cordoned;
  return state.find('/') != std::string::npos ? node.labels.contains(state) : node.state() == state;
}

Verdict count_nodes(const Stage& stage, const Count& count) {
  std::map<std::string, std::vector<std::string>> groups;
  if (count.per.empty()) groups[""];
  for (const auto& [name, node] : stage.witness.nodes()) {
    const auto fits = [&, &node_name = name](const std::string& pattern) { return matches(pattern, node_name); };
    if (!count.among.empty() && std::none_of(count.among.begin(), count.among.end(), fits)) continue;
    std::string group;
    if (!count.per.empty()) {
      const auto label = node.labels.find(count.per);
      if (label == node.labels.end()) continue;
      group = label->second;
    }
    auto& members = groups[group];
    if (in_state(node, count.state)) members.push_back(name);
  }
  Verdict verdict;
  for (const auto& [group, names] : groups) {
    if (count.amount.admits(static_cast<double>(names.size()))) continue;
    verdict.holds = false;
    verdict.nodes.insert(names.begin(), names.end());
    verdict.seen += fmt::format("{}{} {}{}{}", verdict.seen.empty() ? "" : ", ", names.size(), count.state,
                                group.empty() ? "" : fmt::format(" with {}={}", count.per, group),
                                names.empty() ? "" : fmt::format(" ({})", fmt::join(names, ", ")));
  }
  return verdict;
}

// What of `wanted` the object lacks; empty when it has all.
std::string lacks(JsonView object, JsonView wanted, const std::string& path) {
  if (wanted.is_null()) return object.exists() && !object.is_null() ? fmt::format("{} is {}", path, object.dump()) : "";
  if (wanted.is_object() && object.is_object()) {
    std::string first;
    wanted.for_each_member([&](std::string_view key, JsonView value) {
      if (first.empty()) first = lacks(object[key], value, fmt::format("{}.{}", path, key));
    });
    return first;
  }
  if (!object.exists()) return fmt::format("{} is missing", path);
  const auto pattern = wanted.text();
  if (pattern && object.text() && matches(*pattern, *object.text())) return {};
  return object == wanted ? "" : fmt::format("{} is {}", path, object.dump());
}

}  // namespace

Check read_named(const std::vector<std::string>& names, const Value& value, Reading& reading) {
  return [names, facts = read_facts(value, reading)](const Stage& stage, const Mark&) {
    std::vector<std::pair<std::string, std::string>> seen;
    for (const std::string& name : names) {
      bool found = false;
      for (const auto& [node, view] : stage.witness.nodes()) {
        if (!matches(name, node)) continue;
        found = true;
        if (std::string d = differs(view, facts); !d.empty()) seen.emplace_back(node, std::move(d));
      }
      if (!found && !facts.gone) seen.emplace_back(name, "does not exist");
    }
    Verdict verdict = failing(seen);
    if (verdict.holds) verdict.nodes.insert(names.begin(), names.end());
    return verdict;
  };
}

Check read_all(const Value& value, Reading& reading) { return read_named({"*"}, value, reading); }

Check read_any(const Value& value, Reading& reading) {
  return [facts = read_facts(value, reading)](const Stage& stage, const Mark&) {
    std::vector<std::pair<std::string, std::string>> seen;
    for (const auto& [node, view] : stage.witness.nodes()) {
      std::string d = differs(view, facts);
      if (d.empty()) return Verdict{};
      seen.emplace_back(node, std::move(d));
    }
    if (seen.empty()) return Verdict{false, "there is no node", {}};
    return failing(seen);
  };
}

Check read_none(const Value& value, Reading& reading) {
  return [facts = read_facts(value, reading)](const Stage& stage, const Mark&) {
    std::vector<std::pair<std::string, std::string>> seen;
    for (const auto& [node, view] : stage.witness.nodes()) {
      if (differs(view, facts).empty()) seen.emplace_back(node, facts.state.empty() ? "is so" : "is " + facts.state);
    }
    return failing(seen);
  };
}

namespace {

std::vector<Count> read_counts(const Value& value, Reading& reading) {
  std::vector<Count> counts;
  for (const Value* item : items(value)) {
    const auto count = item->is_scalar() ? parse_count(item->text) : std::nullopt;
    if (!count) {
      reading.faults.add(
          item->where, fmt::format("{} does not count nodes; write for example \"at most 2 in-maintenance\" or \"more "
                                   "than 1 in-maintenance per zone among node-1..3\"",
                                   config::describe(*item)));
      continue;
    }
    if (!count->among.empty()) {
      for (const std::string& name : count->among) reading.node_names(name, item->where);
    }
    counts.push_back(*count);
  }
  return counts;
}

Check check_counts(std::vector<Count> counts) {
  return [counts = std::move(counts)](const Stage& stage, const Mark&) {
    for (const Count& count : counts) {
      if (Verdict verdict = count_nodes(stage, count); !verdict.holds) return verdict;
    }
    return Verdict{};
  };
}

}  // namespace

Check read_count(const Value& value, Reading& reading) { return check_counts(read_counts(value, reading)); }

// No group may have such a number: "more than 1 per zone" forbids it in each zone.
Check read_forbidden_count(const Value& value, Reading& reading) {
  auto counts = read_counts(value, reading);
  for (Count& count : counts) count.amount = count.amount.opposite();
  return check_counts(std::move(counts));
}

// Nodes in the order they went into maintenance; others may come between.
Check read_order(const Value& value, Reading& reading) {
  return [wanted = reading.node_names(value)](const Stage& stage, const Mark&) {
    std::vector<std::string> entered;
    for (const Entry& entry : stage.witness.entries()) entered.push_back(entry.node);
    auto at = entered.begin();
    for (const std::string& name : wanted) {
      at = std::find(at, entered.end(), name);
      if (at == entered.end()) {
        return Verdict{false,
                       entered.empty() ? "no node went into maintenance"
                                       : fmt::format("they went into maintenance as {}", fmt::join(entered, ", ")),
                       {wanted.begin(), wanted.end()}};
      }
      ++at;
    }
    return Verdict{};
  };
}

// {path: gone}, or {path: part of the object}.
Check read_object(const Value& value, Reading& reading) {
  std::vector<std::pair<std::string, Json>> wanted;
  for (const Member& member : members(value, "object", reading.faults)) {
    if (!member.key.starts_with("/")) {
      reading.faults.add(member.where, "an object is named by its path: /api/v1/nodes/node-1");
    }
    const bool gone = member.value.is_scalar();
    if (gone && member.value.text != "gone")
      reading.faults.add(member.value.where, "write gone, or a part of the object");
    wanted.emplace_back(member.key, gone ? Json() : to_json(member.value));
  }
  return [wanted](const Stage& stage, const Mark&) {
    for (const auto& [path, part] : wanted) {
      const Json object = stage.cluster.api.object(path);
      const bool exists = !object.view().is_null();
      if (part.view().is_null()) {
        if (exists) return Verdict{false, fmt::format("{} is there", path), {}};
        continue;
      }
      if (!exists) return Verdict{false, fmt::format("there is no {}", path), {}};
      if (const std::string seen = lacks(object.view(), part.view(), ""); !seen.empty())
        return Verdict{false, seen, {}};
    }
    return Verdict{};
  };
}

}  // namespace careen::scenarios
