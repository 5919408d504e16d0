#include "node_facts.h"

#include <fmt/format.h>

#include "controllers/profiles/names.h"
#include "hold_watch.h"
#include "settings.h"

namespace careen::explore {

using kube::JsonView;

namespace {

bool foreign(std::string_view key) { return key.starts_with("foreign"); }

std::string states(const NodeFacts& node) {
  if (!node.data) return "unreadable";
  std::string out;
  for (const auto& [name, profile] : node.data->profiles) {
    out += fmt::format("{}: {} after {}; ", name, profile.current.text(), profile.previous.text());
  }
  return out;
}

}  // namespace

NodeFacts NodeFacts::read(std::string_view text) {
  NodeFacts facts;
  facts.document = *kube::Json::parse(text);
  const JsonView metadata = facts.document["metadata"];
  facts.uid = std::string(metadata["uid"].text().value_or(""));
  metadata["labels"].for_each_member(
      [&](std::string_view key, JsonView value) { facts.labels.emplace(key, value.text().value_or("")); });
  metadata["annotations"].for_each_member(
      [&](std::string_view key, JsonView value) { facts.annotations.emplace(key, value.text().value_or("")); });
  const auto data = facts.annotations.find(profiles::kDataAnnotation);
  if (auto parsed = profiles::parse_node_data(data == facts.annotations.end() ? "" : data->second)) {
    facts.data = std::move(*parsed);
  }
  return facts;
}

std::string NodeFacts::label(std::string_view key) const {
  const auto it = labels.find(key);
  return it == labels.end() ? "" : it->second;
}

std::vector<std::string> NodeFacts::named_profiles() const {
  const auto it = labels.find(profiles::kProfileLabel);
  return profiles::profiles_of(it == labels.end() ? std::nullopt : std::optional<std::string_view>(it->second));
}

const profiles::ProfileData* NodeFacts::profile(std::string_view name) const {
  if (!data) return nullptr;
  const auto it = data->profiles.find(name);
  return it == data->profiles.end() ? nullptr : &it->second;
}

std::optional<profiles::State> NodeFacts::state(std::string_view name) const {
  if (!data) return std::nullopt;
  const auto* known = profile(name);
  return known ? known->current.known() : profiles::State::operational;
}

std::string end_state(const NodeFacts& node) {
  std::string out;
  for (const auto& [key, value] : node.labels) {
    if (foreign(key) || key == kZone || HoldWatch::concerns_label(key)) continue;
    out += fmt::format("{}={} ", key, value);
  }
  out += "| ";
  for (const auto& [key, value] : node.annotations) {
    if (foreign(key) || key == profiles::kTouchAnnotation || key == profiles::kDataAnnotation) continue;
    if (HoldWatch::concerns_annotation(key)) continue;
    out += fmt::format("{}={} ", key, value);
  }
  out += "| " + states(node) + "|";
  node.document.at("/spec/taints").for_each_element([&](JsonView taint) {
    const std::string_view key = taint["key"].text().value_or(""), effect = taint["effect"].text().value_or("");
    if (!foreign(key) && !HoldWatch::concerns_taint(key, effect)) out += " taint " + taint.dump();
  });
  node.document.at("/metadata/finalizers").for_each_element([&](JsonView finalizer) {
    if (!foreign(finalizer.text().value_or(""))) out += " finalizer " + finalizer.dump();
  });
  return out;
}

}  // namespace careen::explore
