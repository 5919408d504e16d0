#include "config/unknown_keys.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "config/suggest.h"

namespace careen::config {

namespace {

using Kind = Value::Kind;
using Keys = std::vector<KeyDoc>;

class Search {
 public:
  explicit Search(ConfigFile& file) : file_(file) {}

  void look_at(const Value& object, const Keys& keys, const std::string& owner) {
    // Anchors let one value appear in many places.
    if (object.kind != Kind::map || !seen_.emplace(&object, &keys).second) return;
    for (const auto& [name, entry] : object.entries) {
      const KeyDoc* key = find_key(keys, name);
      if (key == nullptr) {
        warn(object, name, entry.where, keys, owner);
      } else {
        look_into(*entry.value, *key, owner);
      }
    }
  }

 private:
  void look_into(const Value& value, const KeyDoc& key, const std::string& owner) {
    const std::string inner = owner.empty() ? std::string{} : fmt::format("{}: \"{}\"", owner, key.name);
    if (key.type == KeyType::object) look_at(value, key.keys, inner);
    if (key.type != KeyType::objects || value.kind != Kind::list) return;
    for (const Value* item : value.items) look_at(*item, key.keys, inner);
  }

  void warn(const Value& object, std::string_view name, Position where, const Keys& keys, const std::string& owner) {
    if (file_.is_explained(where)) return;
    // What is there already was not misspelt.
    std::vector<std::string_view> absent;
    for (const KeyDoc& key : keys) {
      if (!object.entries.contains(key.name)) absent.push_back(key.name);
    }
    file_.warn(where, fmt::format("{}{}the key \"{}\" is not known and has no effect{}", owner,
                                  owner.empty() ? "" : ": ", name, did_you_mean(name, absent)));
  }

  ConfigFile& file_;
  std::set<std::pair<const Value*, const Keys*>> seen_;
};

}  // namespace

void warn_unknown_keys(ConfigFile& file, const Value& object, const std::vector<KeyDoc>& keys, std::string_view owner) {
  Search(file).look_at(object, keys, std::string(owner));
}

}  // namespace careen::config
