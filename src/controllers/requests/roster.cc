#include "controllers/requests/roster.h"

namespace careen::requests {

void Roster::put(const Request& request) {
  const auto known = by_name_.find(request.name);
  Entry entry{request.node, request.client, request.selector, request.created, request.state, request.askable(), false};
  if (known != by_name_.end()) {
    entry.placed = known->second.placed && known->second.node == entry.node;
    leave(request.name, known->second);
  }
  if (!request.live()) {
    if (known != by_name_.end()) by_name_.erase(known);
    return;
  }
  enter(request.name, by_name_.insert_or_assign(request.name, std::move(entry)).first->second);
}

void Roster::remove(std::string_view name) {
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) return;
  leave(known->first, known->second);
  by_name_.erase(known);
}

void Roster::set_placed(std::string_view name, bool placed) {
  const auto known = by_name_.find(name);
  if (known == by_name_.end() || known->second.placed == placed) return;
  known->second.placed = placed;
  OnNode& on = by_node_[known->second.node];
  if (placed) {
    on.placed.insert(known->first);
  } else {
    on.placed.erase(known->first);
  }
}

const Roster::Entry* Roster::find(std::string_view name) const {
  const auto known = by_name_.find(name);
  return known == by_name_.end() ? nullptr : &known->second;
}

std::string Roster::busy_with(const Request& request) const {
  const auto on = by_node_.find(request.node);
  if (on == by_node_.end()) return {};
  for (const std::string& one : on->second.placed) {
    if (one != request.name) return one;
  }
  const auto& asking = on->second.asking;
  return asking.empty() || asking.begin()->second == request.name ? std::string() : asking.begin()->second;
}

std::string Roster::next_on(std::string_view node) const {
  const auto on = by_node_.find(node);
  return on == by_node_.end() || on->second.asking.empty() ? std::string() : on->second.asking.begin()->second;
}

void Roster::for_each(const std::function<void(const std::string&, const Entry&)>& visit) const {
  for (const auto& [name, entry] : by_name_) visit(name, entry);
}

void Roster::for_each_on(std::string_view node,
                         const std::function<void(const std::string&, const Entry&)>& visit) const {
  const auto on = by_node_.find(node);
  if (on == by_node_.end()) return;
  for (const std::string& name : on->second.all) visit(name, by_name_.find(name)->second);
}

void Roster::enter(const std::string& name, const Entry& entry) {
  OnNode& on = by_node_[entry.node];
  on.all.insert(name);
  if (entry.placed) on.placed.insert(name);
  if (entry.asks && entry.state == State::pending) on.asking.emplace(entry.created, name);
}

void Roster::leave(const std::string& name, const Entry& entry) {
  const auto it = by_node_.find(entry.node);
  if (it == by_node_.end()) return;
  OnNode& on = it->second;
  on.all.erase(name);
  on.placed.erase(name);
  on.asking.erase({entry.created, name});
  if (on.all.empty()) by_node_.erase(it);
}

}  // namespace careen::requests
