#include "controllers/nodemaintenance/roster.h"

#include <algorithm>

namespace careen::nodemaintenance {

void Roster::put(Maintenance maintenance) {
  remove(maintenance.name);
  by_node_[maintenance.node].insert(maintenance.name);
  std::string name = maintenance.name;
  by_name_.emplace(std::move(name), std::move(maintenance));
}

void Roster::remove(std::string_view name) {
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) return;
  const auto names = by_node_.find(known->second.node);
  names->second.erase(known->first);
  if (names->second.empty()) by_node_.erase(names);
  by_name_.erase(known);
}

const Maintenance* Roster::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

std::vector<const Maintenance*> Roster::on(std::string_view node) const {
  std::vector<const Maintenance*> out;
  const auto names = by_node_.find(node);
  if (names == by_node_.end()) return out;
  for (const std::string& name : names->second) out.push_back(find(name));
  std::sort(out.begin(), out.end(), [](const Maintenance* a, const Maintenance* b) { return a->before(*b); });
  return out;
}

const Maintenance* Roster::owner_of(std::string_view node, const Maintenance* except) const {
  for (const Maintenance* one : on(node)) {
    if (one != except && !one->deleting && !one->given_up()) return one;
  }
  return nullptr;
}

void Roster::for_each(const std::function<void(const Maintenance&)>& visit) const {
  for (const auto& [name, maintenance] : by_name_) visit(maintenance);
}

}  // namespace careen::nodemaintenance
