// What a plugin says about itself. The loader checks the keys of a configuration against it, `careen plugins` prints
// it, and the JSON Schema for editors is made of it: one table, so that none of them can differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace careen::config {

enum class KeyType {
  text,
  integer,
  boolean,
  duration,             // 90s; a bare number counts seconds
  duration_text,        // 90s; a bare number lacks its unit
  texts,                // a list; a single value is a list of one
  count_or_percentage,  // 3 or 10%
  time_of_day,          // 9:30
  message,              // a Go template
  choice,               // one of `choices`
  object,               // with `keys` of its own
  objects,              // a list of such
  any,
};

struct KeyDoc {
  std::string_view name;  // in angle brackets, <status field>: any key that the other entries do not name
  KeyType type = KeyType::text;
  std::string_view text = {};  // one sentence without a full stop: what it is for
  bool required = false;
  std::string_view otherwise = {};  // the value when it is absent, as one would write it; empty: none
  bool secret = false;              // printed as *** everywhere
  bool extension = false;           // careen's own: the program it replaces ignores it
  std::vector<std::string_view> choices = {};
  std::vector<KeyDoc> keys = {};
};

struct PluginDoc {
  std::string_view type;     // as the configuration names it
  std::string_view summary;  // one sentence
  std::vector<KeyDoc> keys;
  // The whole instance as one would write it below instances.check, .notify or .trigger.
  std::string_view example;
};

// Whether the entry stands for any key.
bool is_any_key(const KeyDoc& key);
// The entry of that key, else the one for any key, else nullptr.
const KeyDoc* find_key(const std::vector<KeyDoc>& keys, std::string_view name);
// How people call the type: "duration", "one of cordon, drain".
std::string describe_type(const KeyDoc& key);

}  // namespace careen::config
