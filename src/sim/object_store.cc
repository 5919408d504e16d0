#include "sim/object_store.h"

#include <algorithm>

namespace careen::sim {

namespace {

// etcd is compacted every five minutes; small histories are kept whole, large ones never outgrow memory.
constexpr io::Duration kRemembered = io::minutes{5};
constexpr size_t kFewest = 1000;
constexpr size_t kMost = 20'000;

}  // namespace

std::deque<Past>::const_iterator after(const Collection& collection, uint64_t version) {
  return std::upper_bound(collection.history.begin(), collection.history.end(), version,
                          [](uint64_t wanted, const Past& past) { return wanted < past.version; });
}

void FieldIndex::insert(std::string_view value, const std::string& key) {
  const auto known = keys_.find(value);
  (known == keys_.end() ? keys_[std::string(value)] : known->second).insert(key);
}

void FieldIndex::erase(std::string_view value, const std::string& key) {
  const auto known = keys_.find(value);
  if (known == keys_.end()) return;
  known->second.erase(key);
  if (known->second.empty()) keys_.erase(known);
}

const FieldIndex::Keys& FieldIndex::keys(std::string_view value) const {
  static const Keys none;
  const auto known = keys_.find(value);
  return known == keys_.end() ? none : known->second;
}

Text Objects::put(const std::string& key, Text text) {
  if (const auto place = places_.find(key); place != places_.end()) {
    return std::exchange(place->second->second, std::move(text));
  }
  const auto made = ordered_.emplace(key, std::move(text)).first;
  places_.emplace(made->first, made);
  return nullptr;
}

void Objects::erase(Ordered::const_iterator object) {
  places_.erase(object->first);
  ordered_.erase(object);
}

Collection& ObjectStore::collection(const std::string& path, bool namespaced) {
  Collection& found = collections_[path];
  found.path = path;
  found.namespaced = namespaced;
  return found;
}

Collection* ObjectStore::find(std::string_view path) {
  const auto found = collections_.find(path);
  return found == collections_.end() ? nullptr : &found->second;
}

const Past& ObjectStore::change(Collection& collection, const std::string& key, Text object, Text last) {
  Past past;
  past.version = ++version_;
  past.at = loop_.now();
  past.key = key;
  if (object) {
    past.before = collection.objects.put(key, object);
    past.object = std::move(object);
  } else {
    const auto known = collection.objects.find(key);
    past.before = known->second;
    past.object = std::move(last);
    past.deleted = true;
    collection.objects.erase(known);
  }
  log_.push_back({past.version, past.at, &collection});
  collection.history.push_back(std::move(past));
  while (log_.size() > kMost || (log_.size() > kFewest && log_.front().at + kRemembered < loop_.now())) forget_oldest();
  return collection.history.back();
}

void ObjectStore::forget_oldest() {
  forgotten_ = log_.front().version;
  log_.front().collection->history.pop_front();
  log_.pop_front();
}

void ObjectStore::compact() {
  while (!log_.empty()) forget_oldest();
  forgotten_ = version_;
}

uint64_t ObjectStore::version_at(io::Steady when) const {
  const auto later = std::upper_bound(log_.begin(), log_.end(), when,
                                      [](io::Steady time, const Mark& mark) { return time < mark.at; });
  return later == log_.end() ? version_ : later->version - 1;
}

ObjectStore::Differences ObjectStore::differences(const Collection& collection, uint64_t at) {
  Differences then;
  for (auto past = after(collection, at); past != collection.history.end(); ++past)
    then.emplace(past->key, &past->before);
  return then;
}

void ObjectStore::visit_among(const FieldIndex::Keys& keys, const Collection& collection, uint64_t at,
                              std::string_view from, const Visitor& visitor) const {
  const Differences then = differences(collection, at);
  std::set<std::string_view> all(keys.lower_bound(std::string(from)), keys.end());
  for (auto old = then.lower_bound(from); old != then.end(); ++old) all.insert(old->first);
  for (const std::string_view key : all) {
    const auto old = then.find(key);
    const Text& text = old != then.end() ? *old->second : collection.objects.find(key)->second;
    if (text && !visitor(std::string(key), text)) return;
  }
}

void ObjectStore::visit(const Collection& collection, uint64_t at, std::string_view from,
                        const Visitor& visitor) const {
  const Differences then = differences(collection, at);
  auto now = collection.objects.lower_bound(from);
  auto old = then.lower_bound(from);
  while (now != collection.objects.end() || old != then.end()) {
    const bool take_old = now == collection.objects.end() || (old != then.end() && old->first <= now->first);
    if (!take_old) {
      if (!visitor(now->first, now->second)) return;
      ++now;
      continue;
    }
    if (now != collection.objects.end() && now->first == old->first) ++now;
    if (*old->second && !visitor(std::string(old->first), *old->second)) return;
    ++old;
  }
}

Text ObjectStore::read(const Collection& collection, const std::string& key, uint64_t at) const {
  for (auto past = after(collection, at); past != collection.history.end(); ++past) {
    if (past->key == key) return past->before;
  }
  const auto found = collection.objects.find(key);
  return found == collection.objects.end() ? nullptr : found->second;
}

}  // namespace careen::sim
