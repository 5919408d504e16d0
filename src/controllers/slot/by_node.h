// The objects of a picture, in the order of their names, and which of them are about a node.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/name_order.h"

namespace careen::controllers {

template <class T>
class ByNode {
 public:
  // What each is called, and which node it is about.
  template <class Name, class Node>
  ByNode(std::vector<T> all, const Name& name, const Node& node) : all_(std::move(all)) {
    std::ranges::sort(all_, [&](const T& a, const T& b) { return kube::compare_names(name(a), name(b)) < 0; });
    for (const T& one : all_) by_node_.emplace(node(one), &one);
  }
  ByNode(const ByNode&) = delete;
  ByNode& operator=(const ByNode&) = delete;

  const std::vector<T>& all() const { return all_; }

  template <class Visit>
  void for_each_on(std::string_view node, const Visit& visit) const {
    const auto [begin, end] = by_node_.equal_range(node);
    for (auto it = begin; it != end; ++it) visit(*it->second);
  }

  // What `make` makes of all, or of those on a node.
  template <class Make>
  auto map(const Make& make) const {
    std::vector<decltype(make(std::declval<const T&>()))> out;
    for (const T& one : all_) out.push_back(make(one));
    return out;
  }
  template <class Make>
  auto map_on(std::string_view node, const Make& make) const {
    std::vector<decltype(make(std::declval<const T&>()))> out;
    for_each_on(node, [&](const T& one) { out.push_back(make(one)); });
    return out;
  }

 private:
  std::vector<T> all_;
  std::multimap<std::string, const T*, std::less<>> by_node_;
};

}  // namespace careen::controllers
