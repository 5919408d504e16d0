#include "hold_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace careen::explore {

using kube::Json;
using kube::JsonView;

namespace {

constexpr std::string_view kRecord = "careen.dev/holds";
constexpr std::string_view kExclude = "remediation.medik8s.io/exclude-from-remediation";
constexpr const char* kCordon = "cordon";
constexpr io::Duration kLongestHeldOn = io::seconds{4};
constexpr const char* kTaints[] = {"node.kubernetes.io/unschedulable:NoSchedule", "medik8s.io/drain:NoSchedule"};

std::string shown(const std::optional<std::string>& value) { return value ? "\"" + *value + "\"" : "nothing"; }

}  // namespace

HoldRecord HoldRecord::read(const NodeFacts& node) {
  HoldRecord record;
  const auto text = node.annotations.find(kRecord);
  if (text == node.annotations.end()) return record;
  const auto json = Json::parse(text->second);
  if (!json) return record;
  (*json)["holds"].for_each_member([&](std::string_view owner, JsonView hold) {
    record.owners.emplace(owner, hold["id"].text().value_or(""));
    if (hold["cordon"].boolean().value_or(false)) record.things.insert(kCordon);
    hold["taints"].for_each_element([&](JsonView taint) { record.things.emplace(taint.text().value_or("")); });
    hold["labels"].for_each_member([&](std::string_view key, JsonView) { record.things.emplace(key); });
  });
  return record;
}

bool HoldWatch::concerns_label(std::string_view key) { return key == kExclude; }
bool HoldWatch::concerns_annotation(std::string_view key) { return key == kRecord; }
bool HoldWatch::concerns_taint(std::string_view key, std::string_view effect) {
  const std::string text = fmt::format("{}:{}", key, effect);
  return std::any_of(std::begin(kTaints), std::end(kTaints), [&](const char* taint) { return taint == text; });
}

std::map<std::string, HoldWatch::Value> HoldWatch::things_of(const NodeFacts& node) {
  std::map<std::string, Value> things;
  const bool cordoned = node.document.at("/spec/unschedulable").boolean().value_or(false);
  things[kCordon] = cordoned ? Value("true") : std::nullopt;
  for (const char* taint : kTaints) things[taint] = std::nullopt;
  node.document.at("/spec/taints").for_each_element([&](JsonView taint) {
    const std::string_view key = taint["key"].text().value_or(""), effect = taint["effect"].text().value_or("");
    if (concerns_taint(key, effect)) things[fmt::format("{}:{}", key, effect)] = "true";
  });
  const auto label = node.labels.find(kExclude);
  things[std::string(kExclude)] = label == node.labels.end() ? std::nullopt : Value(label->second);
  return things;
}

void HoldWatch::made(const std::string& node, const NodeFacts& now, io::Steady at) {
  Node& known = nodes_[node] = {};
  for (const auto& [thing, value] : things_of(now)) known.wanted[thing] = {true, value};
  known.made = at;
  note_record(known, HoldRecord::read(now), at);
}

void HoldWatch::gone(const std::string& node, io::Steady at) {
  if (held_since(node)) gone_[node] = at;
  nodes_.erase(node);
}

void HoldWatch::forged(const std::string& node, io::Steady at) {
  if (held_since(node)) gone_[node] = at;
  Node& known = nodes_[node];
  known.forged = true;
  known.lost.insert(known.since.begin(), known.since.end());
}

bool HoldWatch::is_forged(const std::string& node) const {
  const auto known = nodes_.find(node);
  return known != nodes_.end() && known->second.forged;
}

bool HoldWatch::gone_while_held(const std::string& node, io::Steady since) const {
  const auto known = gone_.find(node);
  return known != gone_.end() && known->second >= since;
}

std::optional<io::Steady> HoldWatch::made_at(const std::string& node) const {
  const auto known = nodes_.find(node);
  return known == nodes_.end() ? std::nullopt : std::optional(known->second.made);
}

std::optional<io::Steady> HoldWatch::made_and_never_held(const std::string& node) const {
  const auto known = nodes_.find(node);
  if (known == nodes_.end() || known->second.was_held || known->second.forged) return std::nullopt;
  return known->second.made;
}

void HoldWatch::changed_by_others(const std::string& node, const NodeFacts& before, const NodeFacts& after) {
  Node& known = nodes_[node];
  const auto was = things_of(before), is = things_of(after);
  for (const auto& [thing, value] : is) {
    if (was.at(thing) == value) continue;
    // Once it is as careen wants it, careen cannot tell whose it is.
    const bool alike = known.record.things.contains(thing) && value == "true";
    known.wanted[thing] = {!alike, value};
  }
}

void HoldWatch::changed_by_careen(const std::string& by, const std::string& node, const NodeFacts& before,
                                  const NodeFacts& after, bool uncordons, io::Steady at) {
  Node& known = nodes_[node];
  if (uncordons) known.wanted[kCordon] = {true, std::nullopt};
  HoldRecord now = HoldRecord::read(after);
  const auto was = things_of(before), is = things_of(after);
  for (const auto& [thing, value] : is) {
    if (known.forged) {
      known.wanted[thing] = {false, value};
    } else {
      check(by, node, thing, was.at(thing), value, known.record, now);
    }
  }
  if (now.owners.empty()) known.forged = false;
  note_record(known, std::move(now), at);
}

void HoldWatch::check(const std::string& by, const std::string& node, const std::string& thing, const Value& was,
                      const Value& is, const HoldRecord& before, const HoldRecord& after) {
  Wanted& wanted = nodes_[node].wanted[thing];
  const bool held = before.things.contains(thing), holds = after.things.contains(thing);
  const auto blame = [&](std::string_view why) {
    report_("undo",
            fmt::format("{} left {} of node {} as {}, which was {}, {}", by, thing, node, shown(is), shown(was), why));
  };
  if (holds) {
    if (was != is && is != "true") blame("although it is held");
    return;
  }
  if (!held && was != is && !(thing == kCordon && wanted.known && wanted.value == is)) {
    return blame("although it never held it");
  }
  if (held && wanted.known && is != wanted.value) {
    return blame(fmt::format("although others want it to be {}", shown(wanted.value)));
  }
  if (held) wanted = {true, is};
}

void HoldWatch::note_record(Node& node, HoldRecord record, io::Steady at) {
  std::erase_if(node.since, [&](const auto& one) {
    const bool ends = !record.owners.contains(one.first);
    if (ends) node.ended[one.first] = at;
    return ends;
  });
  for (const auto& [owner, id] : record.owners) {
    const auto known = node.record.owners.find(owner);
    if (known != node.record.owners.end() && known->second == id) continue;
    // What has begun continues, although its record was lost.
    const auto lost = node.lost.extract(owner);
    node.since[owner] = lost ? lost.mapped() : at;
  }
  node.was_held |= !record.owners.empty();
  node.record = std::move(record);
}

void HoldWatch::withdrawn(const std::string& node, const std::string& owner, bool is, io::Steady at) {
  Node& known = nodes_[node];
  if (is && known.since.contains(owner)) {
    known.withdrawn.emplace(owner, at);
  } else {
    known.withdrawn.erase(owner);
  }
}

void HoldWatch::check_withdrawn(io::Steady now, io::Steady calm_since) {
  for (auto& [name, node] : nodes_) {
    for (const auto& [owner, since] : node.withdrawn) {
      if (now - std::max(since, calm_since) < kLongestHeldOn) continue;
      report_("withdrawn", fmt::format("node {} is still held by {} {} after its transition was called off", name,
                                       owner, io::format_duration(now - since)));
      node.withdrawn.clear();
      break;
    }
  }
}

std::optional<io::Steady> HoldWatch::held_since(const std::string& node, std::string_view owner_prefix) const {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return std::nullopt;
  std::optional<io::Steady> since;
  for (const auto& [owner, at] : known->second.since) {
    if (owner.starts_with(owner_prefix)) since = std::min(since.value_or(at), at);
  }
  return since;
}

std::set<std::string> HoldWatch::holders(const std::string& node, io::Steady until) const {
  std::set<std::string> out;
  const auto known = nodes_.find(node);
  if (known == nodes_.end() || known->second.forged) return out;
  for (const auto& [owner, at] : known->second.since) out.insert(owner);
  for (const auto& [owner, at] : known->second.ended) {
    if (at >= until) out.insert(owner);
  }
  return out;
}

bool HoldWatch::holds(const std::string& node, const std::string& owner, std::string_view id) const {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return false;
  const auto found = known->second.record.owners.find(owner);
  return found != known->second.record.owners.end() && found->second == id;
}

void HoldWatch::for_each(const std::function<void(const std::string&, const std::string&)>& visit) const {
  for (const auto& [name, node] : nodes_) {
    for (const auto& [owner, id] : node.record.owners) visit(name, owner);
  }
}

}  // namespace careen::explore
