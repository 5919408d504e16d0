// Which nodes wait for a place in which budget. A place that becomes free is offered to as many nodes as there are
// places, longest waiting first, and is offered on when the node does not take it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "budget/key.h"

namespace careen::budget {

class Waiters {
 public:
  // What the node waits for after its latest decision; replaces what it waited for before. Returns the budgets that
  // were offered to it, so that what it did not take goes to the next.
  std::vector<Key> update(std::string_view node, const std::vector<Wait>& waits, const std::vector<Scope>& rises);

  // The nodes to wake when `free` places are free.
  std::vector<std::string> offer(const Key& key, int64_t free);
  // Budgets of that scope for which somebody waits.
  std::vector<Key> waited_for(const Scope& scope) const;
  // Those that fit.
  std::vector<Key> waited_for_if(const std::function<bool(const Key&)>& fits) const;
  // Nodes that wait for the scope to fill.
  std::vector<std::string> waiting_for_rise(const Scope& scope) const;
  size_t waiting(const Key& key) const;
  size_t nodes_if(const std::function<bool(const std::string&)>& fits) const {
    return static_cast<size_t>(
        std::count_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return fits(entry.first); }));
  }
  bool empty() const { return queues_.empty() && rises_.empty(); }
  void clear();

 private:
  struct Queue {
    std::set<std::pair<io::Wall, std::string>> waiting;
    std::set<std::string, std::less<>> offered;
    bool empty() const { return waiting.empty() && offered.empty(); }
  };
  struct Entry {
    std::vector<Wait> waits;
    std::vector<Scope> rises;
  };
  std::map<Key, Queue> queues_;
  std::map<Scope, std::set<std::string, std::less<>>> rises_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace careen::budget
