// A topic stands for a fact that many nodes' decisions may rest on. A node whose decision relied on it is woken when
// the fact changes, and only then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace careen::budget {

using Topic = uint32_t;

// Gives every fact its number, by a name that says what it is.
class Topics {
 public:
  Topic of(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    return numbers_.emplace(name, static_cast<Topic>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, Topic, std::less<>> numbers_;
};

// Which nodes' latest decisions rest on which topics.
class TopicWaiters {
 public:
  // Replaces what the node's decision rests on.
  void update(std::string_view node, std::vector<Topic> topics);
  // In the order of their names.
  std::vector<std::string> of(Topic topic) const;
  bool any(Topic topic) const { return by_topic_.contains(topic); }
  size_t nodes_if(const std::function<bool(const std::string&)>& fits) const {
    return static_cast<size_t>(
        std::count_if(by_node_.begin(), by_node_.end(), [&](const auto& entry) { return fits(entry.first); }));
  }
  void clear();

 private:
  std::map<std::string, std::vector<Topic>, std::less<>> by_node_;  // sorted, once each
  std::map<Topic, std::set<std::string, std::less<>>> by_topic_;
};

}  // namespace careen::budget
