// A value during rendering: a Go type and what it holds. Parts of the node stay in its JSON and are read when asked
// for; what the JSON lacks reads as Go's zero value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kube/json.h"
#include "templates/data.h"
#include "templates/go_time.h"
#include "templates/types.h"

namespace careen::templates {

// Text of the data, or text made by the template, which it then keeps alive.
struct Text {
  std::string_view view;
  std::shared_ptr<const std::string> owner;
};

// Elements of an array. As in Go, a part of a list can be widened up to its capacity.
struct ListPart {
  kube::JsonView array;
  size_t first = 0;
  size_t size = 0;
  size_t capacity = 0;
};

struct Value {
  // None: no value, as of a missing key, and nil.
  const Type* type = nullptr;
  std::variant<std::monostate, bool, int64_t, uint64_t, double, Text, GoTime, kube::JsonView, ListPart,
               const TemplateData*>
      held;

  bool exists() const { return type != nullptr; }
  bool is(Kind kind) const { return type != nullptr && type->kind == kind; }
};

Value make_boolean(bool value);
Value make_integer(int64_t value, const Type& type = types::integer);
Value make_float(double value);
Value make_text(std::string value);
Value make_time(const GoTime& time, const Type& type = types::time);
Value make_duration(io::Duration duration);
Value make_root(const TemplateData& data);

Value from_json(const Type& type, kube::JsonView json);

// Each of a value of that kind.
bool boolean_of(const Value& value);
int64_t integer_of(const Value& value);
uint64_t unsigned_of(const Value& value);
double float_of(const Value& value);
std::string_view text_of(const Value& value);
GoTime time_of(const Value& value);
io::Duration duration_of(const Value& value);

// Of a pointer, list or map; false for the others.
bool is_nil(const Value& value);
// What a pointer points to; anything else, and a nil pointer, as it is.
Value pointed_to(const Value& value);
// Of a text (in bytes), list or map.
size_t length(const Value& value);
Value element(const Value& list, size_t index);
// The part [first, last) of a text or list.
Value part(const Value& value, size_t first, size_t last, size_t capacity);
size_t capacity(const Value& value);
// The entry of a map, if there is one.
std::optional<Value> entry(const Value& map, std::string_view key);
// In the order of their keys.
std::vector<std::pair<std::string_view, Value>> entries(const Value& map);
Value field_of(const Value& object, const FoundField& found);

// Go's idea of truth: not zero, not empty, not nil.
bool truth(const Value& value);
// The text of what prints itself as text: times, durations, months, weekdays.
std::optional<std::string> own_text(const Value& value);

}  // namespace careen::templates
