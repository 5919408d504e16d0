#include "budget/waiters.h"

#include <limits>
#include <variant>

namespace careen::budget {

std::vector<Key> Waiters::update(std::string_view node, const std::vector<Wait>& waits,
                                 const std::vector<Scope>& rises) {
  std::vector<Key> offered;
  if (const auto it = entries_.find(node); it != entries_.end()) {
    for (const Wait& wait : it->second.waits) {
      const auto queue = queues_.find(wait.key);
      if (queue == queues_.end()) continue;
      queue->second.waiting.erase({wait.since, std::string(node)});
      if (const auto was = queue->second.offered.find(node); was != queue->second.offered.end()) {
        queue->second.offered.erase(was);
        offered.push_back(wait.key);
      }
      if (queue->second.empty()) queues_.erase(queue);
    }
    for (const Scope& scope : it->second.rises) {
      auto& nodes = rises_[scope];
      nodes.erase(std::string(node));
      if (nodes.empty()) rises_.erase(scope);
    }
    entries_.erase(it);
  }
  if (waits.empty() && rises.empty()) return offered;
  for (const Wait& wait : waits) queues_[wait.key].waiting.emplace(wait.since, node);
  for (const Scope& scope : rises) rises_[scope].emplace(node);
  entries_.emplace(node, Entry{waits, rises});
  return offered;
}

std::vector<std::string> Waiters::offer(const Key& key, int64_t free) {
  std::vector<std::string> woken;
  const auto it = queues_.find(key);
  if (it == queues_.end()) return woken;
  Queue& queue = it->second;
  while (!queue.waiting.empty() && static_cast<int64_t>(queue.offered.size()) < free) {
    std::string node = queue.waiting.begin()->second;
    queue.waiting.erase(queue.waiting.begin());
    queue.offered.insert(node);
    woken.push_back(std::move(node));
  }
  return woken;
}

std::vector<Key> Waiters::waited_for(const Scope& scope) const {
  std::vector<Key> keys;
  const NodePlaces first{scope, std::numeric_limits<int64_t>::min(), io::Duration::min()};
  for (auto it = queues_.lower_bound(first); it != queues_.end(); ++it) {
    const NodePlaces* const places = std::get_if<NodePlaces>(&it->first);
    if (!places || places->scope != scope) break;
    keys.push_back(it->first);
  }
  return keys;
}

std::vector<Key> Waiters::waited_for_if(const std::function<bool(const Key&)>& fits) const {
  std::vector<Key> keys;
  for (const auto& [key, queue] : queues_) {
    if (fits(key)) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> Waiters::waiting_for_rise(const Scope& scope) const {
  const auto it = rises_.find(scope);
  if (it == rises_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

size_t Waiters::waiting(const Key& key) const {
  const auto it = queues_.find(key);
  return it == queues_.end() ? 0 : it->second.waiting.size();
}

void Waiters::clear() {
  queues_.clear();
  rises_.clear();
  entries_.clear();
}

}  // namespace careen::budget
