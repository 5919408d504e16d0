#include "config/plugin_doc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace careen::config {

bool is_any_key(const KeyDoc& key) { return key.name.starts_with('<'); }

const KeyDoc* find_key(const std::vector<KeyDoc>& keys, std::string_view name) {
  const KeyDoc* any = nullptr;
  for (const KeyDoc& key : keys) {
    if (is_any_key(key)) {
      any = &key;
    } else if (key.name == name) {
      return &key;
    }
  }
  return any;
}

std::string describe_type(const KeyDoc& key) {
  switch (key.type) {
    case KeyType::text:
      return "text";
    case KeyType::integer:
      return "integer";
    case KeyType::boolean:
      return "true or false";
    case KeyType::duration:
      return "duration";
    case KeyType::duration_text:
      return "duration with unit";
    case KeyType::texts:
      return "list of texts";
    case KeyType::count_or_percentage:
      return "count or percentage";
    case KeyType::time_of_day:
      return "time of day";
    case KeyType::message:
      return "message template";
    case KeyType::choice:
      return fmt::format("one of {}", fmt::join(key.choices, ", "));
    case KeyType::object:
      return "map";
    case KeyType::objects:
      return "list of maps";
    case KeyType::any:
      return "any value";
  }
  return {};
}

}  // namespace careen::config
