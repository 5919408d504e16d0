#include "budget/topic.h"

#include <algorithm>

namespace careen::budget {

void TopicWaiters::update(std::string_view node, std::vector<Topic> topics) {
  std::sort(topics.begin(), topics.end());
  topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
  auto found = by_node_.find(node);
  if (found == by_node_.end()) {
    if (topics.empty()) return;
    found = by_node_.emplace(node, std::vector<Topic>{}).first;
  }
  if (found->second == topics) return;
  for (const Topic topic : found->second) {
    if (std::binary_search(topics.begin(), topics.end(), topic)) continue;
    const auto waiting = by_topic_.find(topic);
    waiting->second.erase(found->first);
    if (waiting->second.empty()) by_topic_.erase(waiting);
  }
  for (const Topic topic : topics) by_topic_[topic].insert(found->first);
  if (topics.empty()) {
    by_node_.erase(found);
  } else {
    found->second = std::move(topics);
  }
}

std::vector<std::string> TopicWaiters::of(Topic topic) const {
  const auto found = by_topic_.find(topic);
  if (found == by_topic_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void TopicWaiters::clear() {
  by_node_.clear();
  by_topic_.clear();
}

}  // namespace careen::budget
