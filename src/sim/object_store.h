// Objects as text at versions, and the changes that led to them. One counter numbers all changes; history is bounded,
// and what is forgotten is known: older reads and watches are refused.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/loop.h"
#include "sim/by_name.h"

namespace careen::sim {

// An object as it was at one version; shared by the store, its history and the watches.
using Text = std::shared_ptr<const std::string>;

// One change, as a collection remembers it.
struct Past {
  uint64_t version = 0;
  io::Steady at{};
  std::string key;
  Text before;  // null when added
  Text object;  // when deleted: as it was last, with the version of its deletion
  bool deleted = false;
};

// The keys of objects by the value of a field that lists select by: the pods of a node.
class FieldIndex {
 public:
  using Keys = std::set<std::string>;
  void insert(std::string_view value, const std::string& key);
  void erase(std::string_view value, const std::string& key);
  bool contains(std::string_view value, const std::string& key) const { return keys(value).contains(key); }
  const Keys& keys(std::string_view value) const;

 private:
  ByName<Keys> keys_;
};

// Texts by key: in the order of keys, which lists follow, and found without a walk down a tree.
class Objects {
 public:
  using Ordered = std::map<std::string, Text, std::less<>>;
  Ordered::const_iterator begin() const { return ordered_.begin(); }
  Ordered::const_iterator end() const { return ordered_.end(); }
  Ordered::const_iterator lower_bound(std::string_view key) const { return ordered_.lower_bound(key); }
  Ordered::const_iterator find(std::string_view key) const {
    const auto place = places_.find(key);
    return place == places_.end() ? ordered_.end() : Ordered::const_iterator(place->second);
  }
  bool contains(std::string_view key) const { return places_.contains(key); }
  const Text& at(std::string_view key) const { return places_.at(key)->second; }
  bool empty() const { return ordered_.empty(); }
  const Ordered& all() const { return ordered_; }

  // What was there.
  Text put(const std::string& key, Text text);
  void erase(Ordered::const_iterator object);

 private:
  Ordered ordered_;
  std::unordered_map<std::string_view, Ordered::iterator> places_;  // names are those of ordered_
};

// The objects of one resource in all namespaces, by "namespace/name" or "name".
struct Collection {
  std::string path;
  bool namespaced = false;
  std::string head;  // how the text of its objects begins, up to where kinds differ: {"kind":"Node","apiVersion":"v1",
  Objects objects;
  std::deque<Past> history;
  FieldIndex on_node;  // of pods that are bound: spec.nodeName
};

class ObjectStore {
 public:
  explicit ObjectStore(io::Loop& loop) : loop_(loop) {}

  // It is never removed, so that watches may hold it.
  Collection& collection(const std::string& path, bool namespaced);
  Collection* find(std::string_view path);

  // The version the next change will have.
  uint64_t next_version() const { return version_ + 1; }
  // A null object deletes; `last` is then what watches are told.
  const Past& change(Collection& collection, const std::string& key, Text object, Text last = nullptr);

  uint64_t version() const { return version_; }
  uint64_t version_at(io::Steady when) const;
  // Changes up to here are forgotten.
  uint64_t forgotten() const { return forgotten_; }
  void compact();

  // Objects of keys from `from` on as they were at that version, until the visitor returns false.
  using Visitor = std::function<bool(const std::string& key, const Text&)>;
  void visit(const Collection& collection, uint64_t at, std::string_view from, const Visitor& visitor) const;
  // The same for what may have been among these at that version: those of these keys, and all that changed since.
  void visit_among(const FieldIndex::Keys& keys, const Collection& collection, uint64_t at, std::string_view from,
                   const Visitor& visitor) const;
  Text read(const Collection& collection, const std::string& key, uint64_t at) const;

 private:
  struct Mark {
    uint64_t version;
    io::Steady at;
    Collection* collection;
  };
  void forget_oldest();
  // What was different then: for each key changed since, the text before its first change.
  using Differences = std::map<std::string_view, const Text*>;
  static Differences differences(const Collection& collection, uint64_t at);

  io::Loop& loop_;
  std::map<std::string, Collection, std::less<>> collections_;
  std::deque<Mark> log_;
  uint64_t version_ = 1;
  uint64_t forgotten_ = 0;
};

// Changes after that version, oldest first.
std::deque<Past>::const_iterator after(const Collection& collection, uint64_t version);

}  // namespace careen::sim
