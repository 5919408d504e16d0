// A watch cache: what the API server holds of one kind, kept current by a Reflector, readable without waiting.
// Own writes enter it from the server's answer, and an older watch event never undoes them.
//
// Three rules make late, doubled and missing events harmless. An object is replaced only by a newer version of its
// key. The watch tells all changes up to its *position* in order, so an object the store does not know whose version
// is not beyond that position is known to be gone. A deletion beyond the position (an own one, heard before the watch
// tells it) leaves a tombstone until the watch has passed it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/subscription.h"

namespace careen::kube {

// T has key() (name or namespace/name), uid, version and same_facts().
template <class T>
class Store {
 public:
  // before is null for a new object, after for one that is gone; an object that was deleted and made again under the
  // same name is first gone, then new. Called after the store changed, only if something that T keeps has changed;
  // both are valid during the call. A listener reads the store and must not change it. It is told until what is
  // returned is destroyed.
  using Listener = std::function<void(const T* before, const T* after)>;
  io::Subscription subscribe(Listener listener) { return listeners_.subscribe(std::move(listener)); }

  const T* find(std::string_view key) const {
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : &it->second;
  }
  // The first one with a greater key; null when there is none.
  const T* next(std::string_view key) const {
    const auto it = objects_.upper_bound(key);
    return it == objects_.end() ? nullptr : &it->second;
  }
  size_t size() const { return objects_.size(); }
  // In the order of the keys.
  template <class F>
  void for_each(F&& visit) const {
    for (const auto& [key, object] : objects_) visit(object);
  }
  // The newest version heard of, own writes included.
  uint64_t newest_version() const { return newest_; }
  // Everything up to here has been listed or watched.
  uint64_t position() const { return position_; }

  // Takes the object if it is newer than what is known of that key. From any source: a watch event, the answer to
  // an own write, a read.
  bool put(T object);
  // The object of that key is gone as of `version`.
  void remove(std::string_view key, uint64_t version);
  // The watch has told everything up to `version`.
  void progress(uint64_t version);

  // A relist: stage() what was listed; nothing of it is seen before end_list(), which takes it all in one step,
  // removes what was not listed (unless it is newer than the list), and only then calls the listeners.
  void begin_list();
  void stage(T object) { staged_.push_back(std::move(object)); }
  void end_list(uint64_t list_version);
  // Forgets what was staged.
  void drop_list() { std::vector<T>().swap(staged_); }

 private:
  struct Change {
    std::optional<T> before;
    const T* after;
  };
  bool take(T object, std::vector<Change>& changes);
  void erase(std::string_view key, uint64_t version, std::vector<Change>& changes);
  void announce(const std::vector<Change>& changes);
  void must_not_be_called_by_a_listener() const;

  std::map<std::string, T, std::less<>> objects_;
  std::map<std::string, uint64_t, std::less<>> tombstones_;
  std::vector<T> staged_;
  uint64_t newest_ = 0;
  uint64_t newest_before_list_ = 0;
  uint64_t position_ = 0;
  bool announcing_ = false;
  io::Hub<const T*, const T*> listeners_;
};

template <class T>
bool Store<T>::put(T object) {
  must_not_be_called_by_a_listener();
  newest_ = std::max(newest_, object.version);
  std::vector<Change> changes;
  const bool taken = take(std::move(object), changes);
  announce(changes);
  return taken;
}

template <class T>
bool Store<T>::take(T object, std::vector<Change>& changes) {
  const auto it = objects_.find(object.key());
  if (it == objects_.end()) {
    if (object.version <= position_) return false;
    if (const auto dead = tombstones_.find(object.key()); dead != tombstones_.end()) {
      if (object.version <= dead->second) return false;
      tombstones_.erase(dead);
    }
    std::string key(object.key());
    changes.push_back({std::nullopt, &objects_.emplace(std::move(key), std::move(object)).first->second});
    return true;
  }
  T& known = it->second;
  if (object.version < known.version) return false;
  if (object.uid == known.uid && object.same_facts(known))
    return std::exchange(known.version, object.version) != object.version;
  T before = std::exchange(known, std::move(object));
  changes.push_back({std::move(before), &known});
  return true;
}

template <class T>
void Store<T>::remove(std::string_view key, uint64_t version) {
  must_not_be_called_by_a_listener();
  newest_ = std::max(newest_, version);
  std::vector<Change> changes;
  erase(key, version, changes);
  announce(changes);
}

template <class T>
void Store<T>::erase(std::string_view key, uint64_t version, std::vector<Change>& changes) {
  const auto it = objects_.find(key);
  if (it != objects_.end() && it->second.version > version) return;
  if (version > position_) {
    uint64_t& dead = tombstones_[std::string(key)];
    dead = std::max(dead, version);
  }
  if (it == objects_.end()) return;
  changes.push_back({std::move(it->second), nullptr});
  objects_.erase(it);
}

template <class T>
void Store<T>::progress(uint64_t version) {
  newest_ = std::max(newest_, version);
  if (version <= position_) return;
  position_ = version;
  if (!tombstones_.empty()) {
    std::erase_if(tombstones_, [&](const auto& dead) { return dead.second <= position_; });
  }
}

template <class T>
void Store<T>::begin_list() {
  drop_list();
  newest_before_list_ = newest_;
}

template <class T>
void Store<T>::end_list(uint64_t list_version) {
  must_not_be_called_by_a_listener();
  std::vector<Change> changes;
  // A list is never older than what was heard before it began, unless the server's history itself went back (a
  // restored backup). Then no version of ours means anything any more.
  const bool went_back = list_version < newest_before_list_;
  if (went_back) {
    tombstones_.clear();
    newest_ = 0;
    for (auto& [key, object] : objects_) object.version = 0;
  }
  // While the list is taken, nothing that is not in the store counts as known to be gone.
  position_ = 0;
  std::set<std::string, std::less<>> listed;
  for (T& object : staged_) {
    listed.emplace(object.key());
    take(std::move(object), changes);
  }
  drop_list();
  position_ = list_version;
  newest_ = std::max(newest_, list_version);
  std::vector<std::string> vanished;
  for (const auto& [key, object] : objects_) {
    if (object.version <= list_version && !listed.contains(key)) vanished.push_back(key);
  }
  for (const std::string& key : vanished) erase(key, list_version, changes);
  std::erase_if(tombstones_, [&](const auto& dead) { return dead.second <= position_; });
  announce(changes);
}

template <class T>
void Store<T>::announce(const std::vector<Change>& changes) {
  announcing_ = true;
  for (const Change& change : changes) {
    const T* before = change.before ? &*change.before : nullptr;
    const bool made_again = before && change.after && before->uid != change.after->uid;
    if (made_again) {
      listeners_.tell(before, nullptr);
      before = nullptr;
    }
    listeners_.tell(before, change.after);
  }
  announcing_ = false;
}

template <class T>
void Store<T>::must_not_be_called_by_a_listener() const {
  if (!announcing_) return;
  std::fputs("careen: bug: a listener of a store changes it\n", stderr);
  std::abort();
}

}  // namespace careen::kube
