#include "sim/selector_index.h"

namespace careen::sim {

SelectorIndex::Anchor SelectorIndex::anchor_of(const kube::LabelSelector& selector) {
  for (const auto& one : selector.requirements()) {
    if (one.op == kube::LabelSelector::Operator::in && one.values.size() == 1) return {one.key, one.values.front()};
  }
  return {};
}

void SelectorIndex::set(const std::string& name, const kube::LabelSelector& selector) {
  Anchor anchor = anchor_of(selector);
  if (const auto known = anchors_.find(name); known != anchors_.end() && known->second == anchor) return;
  erase(name);
  (anchor.first.empty() ? unanchored_ : anchored_[anchor.first][anchor.second]).insert(name);
  anchors_.emplace(name, std::move(anchor));
}

void SelectorIndex::erase(const std::string& name) {
  const auto known = anchors_.find(name);
  if (known == anchors_.end()) return;
  const Anchor anchor = std::move(known->second);
  anchors_.erase(known);
  if (anchor.first.empty()) {
    unanchored_.erase(name);
    return;
  }
  const auto of_key = anchored_.find(anchor.first);
  const auto names = of_key->second.find(anchor.second);
  names->second.erase(name);
  if (names->second.empty()) of_key->second.erase(names);
  if (of_key->second.empty()) anchored_.erase(of_key);
}

void SelectorIndex::add_candidates(std::string_view key, std::string_view value, Names& into) const {
  const auto of_key = anchored_.find(key);
  if (of_key == anchored_.end()) return;
  if (const auto names = of_key->second.find(value); names != of_key->second.end()) {
    into.insert(names->second.begin(), names->second.end());
  }
}

SelectorIndex::Names SelectorIndex::candidates(const json::value* labels) const {
  Names out = unanchored_;
  if (!labels || !labels->is_object()) return out;
  for (const auto& one : labels->get_object()) {
    if (one.value().is_string()) add_candidates(one.key(), one.value().get_string(), out);
  }
  return out;
}

}  // namespace careen::sim
