// A secondary index over a Store: which objects have a certain value (nodes by the value of a label, leases by
// holder). It follows the store by itself.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/cache.h"

namespace careen::kube {

template <class T>
class Index {
 public:
  // The values under which an object is found; none keeps it out.
  using Values = std::function<std::vector<std::string>(const T&)>;

  // The store must outlive it.
  Index(Store<T>& store, Values values) : store_(store), values_(std::move(values)) {
    store_.for_each([this](const T& object) { add(object); });
    changes_ = store_.subscribe([this](const T* before, const T* after) {
      if (before) drop(*before);
      if (after) add(*after);
    });
  }
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  size_t count(std::string_view value) const {
    const auto it = keys_.find(value);
    return it == keys_.end() ? 0 : it->second.size();
  }
  // In the order of their keys.
  template <class F>
  void for_each(std::string_view value, F&& visit) const {
    const auto it = keys_.find(value);
    if (it == keys_.end()) return;
    for (const std::string& key : it->second) {
      // During a relist's announcements the index is behind the store for a moment.
      if (const T* object = store_.find(key)) visit(*object);
    }
  }
  // Each value in use, with the number of its objects.
  template <class F>
  void for_each_value(F&& visit) const {
    for (const auto& [value, keys] : keys_) visit(std::string_view(value), keys.size());
  }

 private:
  void add(const T& object) {
    for (std::string& value : values_(object)) keys_[std::move(value)].emplace(object.key());
  }
  void drop(const T& object) {
    for (const std::string& value : values_(object)) {
      const auto it = keys_.find(value);
      if (it == keys_.end()) continue;
      it->second.erase(std::string(object.key()));
      if (it->second.empty()) keys_.erase(it);
    }
  }

  Store<T>& store_;
  Values values_;
  std::map<std::string, std::set<std::string>, std::less<>> keys_;
  io::Subscription changes_;
};

}  // namespace careen::kube
