// The built-in kinds as the server's own types see them: which fields there are, of which type, when an empty one is
// kept, and how lists merge. Reading an object through its type is what drops unknown fields and refuses wrong ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/value.h"

namespace careen::sim {

struct Type;

enum class Shape {
  text,
  boolean,
  int32,
  int64,
  number,
  time,        // RFC 3339 in seconds
  micro_time,  // RFC 3339 with six digits
  quantity,
  int_or_text,
  any,
  structure,
};

struct Field {
  enum class Presence { omit_empty, always, pointer };
  std::string name;
  Shape shape = Shape::text;
  const Type* type = nullptr;  // of a structure
  enum class Container { none, list, map } container = Container::none;
  Presence presence = Presence::omit_empty;
  std::string merge_key;                // lists: elements are the same when this member is (strategic merge)
  std::vector<std::string> apply_keys;  // the same for server-side apply
  bool set = false;                     // lists of plain values that merge
  bool retain_keys = false;             // a strategic patch may name the members to keep
  // As Go's errors name it: []v1.Taint.
  std::string go_type() const;
};

struct Type {
  std::string name;
  std::vector<Field> fields;
  bool open = false;  // keeps fields that are not listed here
  const Field* field(std::string_view field_name) const;
};

// By name: "Node", "ObjectMeta". Null when there is none.
const Type* builtin_type(std::string_view name);

// Brings the value to the form the server would keep it in. The error is Go's, "json: cannot unmarshal …".
std::optional<std::string> conform(json::value& object, const Type& type, std::string_view path = {});
// The same for those members alone that these, too, are named like; the others have that form already.
std::optional<std::string> conform_members(json::value& object, const Type& type, const json::object& changed);

// A time as the server would print it; nothing when it is none. The error is Go's.
std::optional<std::string> conform_time(json::value& value, bool micro);

}  // namespace careen::sim
