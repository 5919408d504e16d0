// A watch cache: what the API server holds of one kind, kept current by a Reflector, readable without waiting.
// Own writes enter it from the server's answer, and an older watch event never undoes them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/loop.h"
#include "io/time.h"

namespace careen::kube {

// T has key() (name or namespace/name), uid, version and same_facts().
template <class T>
class Store {
 public:
  // before is null for a new object, after for one that is gone. Called after the store changed, only if
  // something that T keeps has changed; `before` is valid during the call.
  using Listener = std::function<void(const T* before, const T* after)>;
  void subscribe(Listener listener) { listeners_.push_back(std::move(listener)); }

  const T* find(std::string_view key) const {
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : &it->second;
  }
  size_t size() const { return objects_.size(); }
  template <class F>
  void for_each(F&& visit) const {
    for (const auto& [key, object] : objects_) visit(object);
  }
  uint64_t newest_version() const { return newest_; }

  // Takes the object if it is newer than what is known of that key, tombstones included.
  bool put(T object);
  // The object of that key is gone as of `version`; leaves a tombstone so that a late event does not revive it.
  void remove(std::string_view key, uint64_t version);

  // A relist: between begin and end, put() what was listed; end removes what was not, unless it is newer than
  // the list.
  void begin_list();
  void end_list(uint64_t list_version);

 private:
  void notify(const T* before, const T* after) {
    for (const auto& listener : listeners_) listener(before, after);
  }
  std::map<std::string, T, std::less<>> objects_;
  std::map<std::string, uint64_t, std::less<>> tombstones_;
  std::map<std::string, bool, std::less<>> listed_;
  bool listing_ = false;
  uint64_t newest_ = 0;
  std::vector<Listener> listeners_;
};

template <class T>
bool Store<T>::put(T object) {
  newest_ = std::max(newest_, object.version);
  if (listing_) listed_.emplace(object.key(), true);
  if (const auto dead = tombstones_.find(object.key()); dead != tombstones_.end()) {
    if (object.version <= dead->second) return false;
    tombstones_.erase(dead);
  }
  const auto it = objects_.find(object.key());
  if (it == objects_.end()) {
    std::string key = object.key();
    const T& stored = objects_.emplace(std::move(key), std::move(object)).first->second;
    notify(nullptr, &stored);
    return true;
  }
  if (object.version <= it->second.version) return false;
  if (object.same_facts(it->second)) {
    it->second.version = object.version;
    return true;
  }
  const T before = std::exchange(it->second, std::move(object));
  notify(&before, &it->second);
  return true;
}

template <class T>
void Store<T>::remove(std::string_view key, uint64_t version) {
  newest_ = std::max(newest_, version);
  const auto it = objects_.find(key);
  if (it != objects_.end() && it->second.version > version) return;
  auto& dead = tombstones_[std::string(key)];
  dead = std::max(dead, version);
  if (it == objects_.end()) return;
  const T before = std::move(it->second);
  objects_.erase(it);
  notify(&before, nullptr);
}

template <class T>
void Store<T>::begin_list() {
  listing_ = true;
  listed_.clear();
}

template <class T>
void Store<T>::end_list(uint64_t list_version) {
  listing_ = false;
  std::vector<std::string> vanished;
  for (const auto& [key, object] : objects_) {
    if (!listed_.contains(key) && object.version <= list_version) vanished.push_back(key);
  }
  listed_.clear();
  for (const auto& key : vanished) remove(key, list_version);
  newest_ = std::max(newest_, list_version);
  // Events older than this list do not come any more: the watch goes on from it.
  std::erase_if(tombstones_, [&](const auto& dead) { return dead.second <= list_version; });
}

}  // namespace careen::kube
