#include "templates/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "templates/functions.h"

namespace careen::templates {

namespace {

bool is_basic(const Value& value) {
  if (!value.exists()) return false;
  switch (value.type->kind) {
    case Kind::list:
    case Kind::map:
    case Kind::object:
    case Kind::pointer:
      return false;
    default:
      return true;
  }
}

[[noreturn]] void incompatible(const Value& a, const Value& b) {
  throw FunctionFailure{fmt::format("incompatible types for comparison: {} and {}", a.type->name, b.type->name)};
}

bool is_nothing(const Value& value) { return !value.exists() || is_nil(value); }

// Lists and maps cannot be compared in Go, nor can what holds one.
bool is_comparable(const Type& type) {
  if (type.kind == Kind::list || type.kind == Kind::map) return false;
  return std::all_of(type.fields.begin(), type.fields.end(),
                     [](const Field& field) { return is_comparable(*field.type); });
}

bool equal_objects(const Value& a, const Value& b) {
  if (a.type != b.type) return false;
  if (const auto* time = std::get_if<GoTime>(&a.held)) return *time == time_of(b);
  return std::all_of(a.type->fields.begin(), a.type->fields.end(), [&](const Field& field) {
    const FoundField found{nullptr, &field};
    const Value left = field_of(a, found);
    const Value right = field_of(b, found);
    if (left.is(Kind::pointer)) return is_nil(left) && is_nil(right);
    return equal(left, right);
  });
}

bool equal_others(const Value& a, const Value& b) {
  if (a.exists() && b.exists() && a.type->kind != b.type->kind) {
    throw FunctionFailure{fmt::format("non-comparable types {} and {}", a.type->name, b.type->name)};
  }
  if (is_nothing(a) || is_nothing(b)) return is_nothing(a) == is_nothing(b);
  if (b.is(Kind::pointer)) {
    const auto* left = std::get_if<kube::JsonView>(&a.held);
    const auto* right = std::get_if<kube::JsonView>(&b.held);
    return a.type == b.type && left && right && *left == *right;
  }
  if (!is_comparable(*b.type)) throw FunctionFailure{fmt::format("non-comparable type {}", b.type->name)};
  return equal_objects(a, b);
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (!is_basic(a) && !is_basic(b)) return equal_others(a, b);
  if (!is_basic(a) || !is_basic(b)) {
    if (a.exists() && b.exists()) incompatible(a, b);
    return false;
  }
  if (a.is(Kind::integer) && b.is(Kind::unsigned_integer)) {
    return integer_of(a) >= 0 && static_cast<uint64_t>(integer_of(a)) == unsigned_of(b);
  }
  if (a.is(Kind::unsigned_integer) && b.is(Kind::integer)) return equal(b, a);
  if (a.type->kind != b.type->kind) incompatible(a, b);
  switch (a.type->kind) {
    case Kind::boolean:
      return boolean_of(a) == boolean_of(b);
    case Kind::integer:
      return integer_of(a) == integer_of(b);
    case Kind::unsigned_integer:
      return unsigned_of(a) == unsigned_of(b);
    case Kind::floating:
      return float_of(a) == float_of(b);
    default:
      return text_of(a) == text_of(b);
  }
}

bool less(const Value& a, const Value& b) {
  if (!is_basic(a) || !is_basic(b)) throw FunctionFailure{"invalid type for comparison"};
  if (a.is(Kind::integer) && b.is(Kind::unsigned_integer)) {
    return integer_of(a) < 0 || static_cast<uint64_t>(integer_of(a)) < unsigned_of(b);
  }
  if (a.is(Kind::unsigned_integer) && b.is(Kind::integer)) {
    return integer_of(b) >= 0 && unsigned_of(a) < static_cast<uint64_t>(integer_of(b));
  }
  if (a.type->kind != b.type->kind) incompatible(a, b);
  switch (a.type->kind) {
    case Kind::boolean:
      throw FunctionFailure{"invalid type for comparison"};
    case Kind::integer:
      return integer_of(a) < integer_of(b);
    case Kind::unsigned_integer:
      return unsigned_of(a) < unsigned_of(b);
    case Kind::floating:
      return float_of(a) < float_of(b);
    default:
      return text_of(a) < text_of(b);
  }
}

}  // namespace careen::templates
