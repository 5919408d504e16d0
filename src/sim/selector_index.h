// Which label selectors may select an object, found by a label that each of them requires: of a thousand disruption
// budgets in a namespace a pod then asks one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "kube/label_selector.h"
#include "sim/value.h"

namespace careen::sim {

class SelectorIndex {
 public:
  // In place of the one that has this name.
  void set(const std::string& name, const kube::LabelSelector& selector);
  void erase(const std::string& name);

  using Names = std::set<std::string>;
  // Those that may select an object with these labels: a map, or pairs of key and value.
  template <class Labels>
  Names candidates(const Labels& labels) const {
    Names out = unanchored_;
    for (const auto& [key, value] : labels) add_candidates(key, value, out);
    return out;
  }
  Names candidates(const json::value* labels) const;

 private:
  // A label that whatever is selected has. Without one a selector may select anything.
  using Anchor = std::pair<std::string, std::string>;
  static Anchor anchor_of(const kube::LabelSelector& selector);
  void add_candidates(std::string_view key, std::string_view value, Names& into) const;

  std::map<std::string, Anchor> anchors_;  // by name of the selector; no key when there is none
  std::map<std::string, std::map<std::string, Names, std::less<>>, std::less<>> anchored_;  // by key and value
  Names unanchored_;
};

}  // namespace careen::sim
