// Values of a configuration file: what YAML 1.1 makes of a scalar, and how each kind of value converts to the type a
// key wants. The rules are those of the file format careen took over, including how numbers turn into text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/error.h"
#include "io/time.h"

namespace careen::config {

struct Value {
  enum class Kind { null, boolean, integer, real, string, list, map };
  struct Entry {
    Position where;  // of the key
    const Value* value = nullptr;
  };

  Kind kind = Kind::null;
  Position where;
  std::size_t offset = 0;  // byte in the file where the value begins
  // Scalars: the text as a string target gets it (010 is "8", yes is "true", null is empty).
  std::string text;
  bool boolean = false;
  std::optional<std::int64_t> integer;  // nullopt when the kind is integer but 64 bits do not hold it
  double real = 0;
  std::vector<const Value*> items;
  std::map<std::string, Entry, std::less<>> entries;

  bool is_scalar() const { return kind != Kind::list && kind != Kind::map; }
};

// The entry's value, nullptr when `map` is not a map or has no such key.
const Value* find_entry(const Value* map, std::string_view key);

// A plain scalar: sets kind, text and value by the rules of YAML 1.1.
void set_plain(Value& value, std::string_view text);
void set_string(Value& value, std::string_view text);
// A float as Go prints it: 1.5, 1e+06, +Inf.
std::string format_go_float(double number);

// Text that came out of an interpolation, for a target that is a boolean, number, duration or list: blanks around it
// do not count, words and numbers are read as if they were in the file, quotes end where they began, and commas
// separate the items of a list. The result owns its items through `storage`.
Value reparse_interpolated(std::string_view text, std::vector<std::unique_ptr<Value>>& storage);

// nullopt: the value does not convert.
std::optional<std::int64_t> to_integer(const Value& value);
std::optional<bool> to_boolean(const Value& value);
// A number counts seconds.
std::optional<io::Duration> to_duration(const Value& value);

// For messages: a list, a map, "text".
std::string describe(const Value& value);

}  // namespace careen::config
