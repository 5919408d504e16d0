#include "sim/schema.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

#include "io/time.h"

namespace careen::sim {

namespace {

bool is_meta(std::string_view key) { return key == "kind" || key == "apiVersion" || key == "metadata"; }

void prune_value(json::value& value, const json::value& schema, bool root) {
  if (is_true(schema, "x-kubernetes-embedded-resource") && !root) root = true;
  const json::value* properties = member(schema, "properties");
  const json::value* additional = member(schema, "additionalProperties");
  const bool keeps = is_true(schema, "x-kubernetes-preserve-unknown-fields");
  if (value.is_array()) {
    const json::value* items = member(schema, "items");
    if (!items) return;
    for (json::value& one : value.get_array()) prune_value(one, *items, false);
  }
  if (!value.is_object()) return;
  json::object& object = value.get_object();
  for (size_t i = 0; i < object.size();) {
    auto* const at = object.begin() + static_cast<ptrdiff_t>(i);
    const json::value* known = properties ? member(*properties, at->key()) : nullptr;
    if (!known && additional && additional->is_object()) known = additional;
    if (root && is_meta(at->key())) {
      ++i;
    } else if (known) {
      prune_value(at->value(), *known, false);
      ++i;
    } else if (keeps || (additional && additional->is_bool() && additional->get_bool())) {
      ++i;
    } else {
      object.stable_erase(at);
    }
  }
}

void default_value(json::value& value, const json::value& schema) {
  if (value.is_array()) {
    const json::value* items = member(schema, "items");
    if (!items) return;
    for (json::value& one : value.get_array()) default_value(one, *items);
  }
  if (!value.is_object()) return;
  json::object& object = value.get_object();
  const json::value* properties = member(schema, "properties");
  if (properties && properties->is_object()) {
    for (const auto& property : properties->get_object()) {
      json::value* known = object.if_contains(property.key());
      const json::value* fallback = member(property.value(), "default");
      // A null where none may be is the same as nothing.
      if (known && known->is_null() && !is_true(property.value(), "nullable") &&
          !is_true(property.value(), "x-kubernetes-preserve-unknown-fields")) {
        object.stable_erase(object.find(property.key()));
        known = nullptr;
      }
      if (!known && fallback) known = &(object[property.key()] = *fallback);
      if (known) default_value(*known, property.value());
    }
  }
  const json::value* additional = member(schema, "additionalProperties");
  if (!additional || !additional->is_object()) return;
  for (auto& one : object) {
    if (!properties || !member(*properties, one.key())) default_value(one.value(), *additional);
  }
}

// As schemas name it.
std::string type_of(const json::value& value) {
  if (value.is_bool()) return "boolean";
  if (!value.is_number()) return std::string(go_kind(value));
  return value.is_double() && std::trunc(value.get_double()) != value.get_double() ? "number" : "integer";
}

class Validator {
 public:
  void check(const json::value& value, const json::value& schema, const std::string& path) {
    if (value.is_null() && is_true(schema, "nullable")) return;
    if (!check_type(value, schema, path)) return;
    check_enum(value, schema, path);
    if (value.is_string()) check_text(std::string(std::string_view(value.get_string())), schema, path);
    if (value.is_number()) check_number(value, schema, path);
    if (value.is_array()) check_array(value.get_array(), schema, path);
    if (value.is_object()) check_object(value.get_object(), schema, path);
    check_combinations(value, schema, path);
  }
  FieldErrors errors;

 private:
  static std::string in_body(const std::string& path) { return path + " in body "; }
  void wrong(const std::string& path, std::string_view shown, const std::string& why) {
    errors.push_back(invalid_shown(path, shown, in_body(path) + why));
  }
  void wrong_type(const std::string& path, const std::string& shown, const std::string& wanted) {
    errors.push_back({"FieldValueTypeInvalid", path,
                      "Invalid value: " + quoted(shown) + ": " + in_body(path) + "must be of type " + wanted + ": " +
                          quoted(shown)});
  }
  // Errors that the server cannot put to a field.
  void nowhere(const std::string& why) { errors.push_back(invalid_shown("<nil>", "\"\"", why)); }

  bool check_type(const json::value& value, const json::value& schema, const std::string& path) {
    const std::string has = type_of(value);
    if (is_true(schema, "x-kubernetes-int-or-string")) {
      if (has == "integer" || has == "string") return true;
      wrong_type(path, has, "integer,string");
      return false;
    }
    const std::string_view wanted = text_at(schema, "type");
    if (wanted.empty() || wanted == has || (wanted == "number" && has == "integer")) return true;
    wrong_type(path, has, std::string(wanted));
    return false;
  }

  void check_enum(const json::value& value, const json::value& schema, const std::string& path) {
    const json::value* allowed = member(schema, "enum");
    if (!allowed || !allowed->is_array()) return;
    const json::array& list = allowed->get_array();
    if (std::find(list.begin(), list.end(), value) != list.end()) return;
    std::string shown;
    for (const json::value& one : list) shown += (shown.empty() ? "" : ", ") + json::serialize(one);
    errors.push_back({"FieldValueNotSupported", path,
                      "Unsupported value: " + json::serialize(value) + ": supported values: " + shown});
  }

  void check_text(const std::string& text, const json::value& schema, const std::string& path) {
    // Lengths count characters.
    const auto length = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
    if (const auto most = integer_at(schema, {"maxLength"}); most && length > *most) {
      errors.push_back(
          {"FieldValueTooLong", path, "Too long: may not be more than " + std::to_string(*most) + " bytes"});
      return;
    }
    if (const auto least = integer_at(schema, {"minLength"}); least && length < *least) {
      wrong(path, quoted(text), "should be at least " + std::to_string(*least) + " chars long");
      return;
    }
    if (const std::string_view pattern = text_at(schema, "pattern"); !pattern.empty()) {
      try {
        const std::regex expression{std::string(pattern), std::regex::ECMAScript};
        if (!std::regex_search(text, expression)) {
          wrong(path, quoted(text), "should match '" + std::string(pattern) + "'");
          return;
        }
      } catch (const std::regex_error&) {
        // A pattern of Go's that C++ cannot read matches everything.
      }
    }
    if (text_at(schema, "format") == "date-time" && !io::parse_rfc3339(text)) {
      errors.push_back(
          {"FieldValueTypeInvalid", path,
           "Invalid value: " + quoted(text) + ": " + in_body(path) + "must be of type date-time: " + quoted(text)});
    }
  }

  void check_number(const json::value& value, const json::value& schema, const std::string& path) {
    const double number = value.to_number<double>();
    const std::string shown = json::serialize(value);
    const std::string_view format = text_at(schema, "format");
    if (format == "int32" &&
        (number > std::numeric_limits<int32_t>::max() || number < std::numeric_limits<int32_t>::min())) {
      nowhere("Checked value must be of type integer with format int32 in " + path);
    }
    if (const json::value* bound = member(schema, "maximum"); bound && bound->is_number()) {
      const double most = bound->to_number<double>();
      const bool strict = is_true(schema, "exclusiveMaximum");
      if (strict ? number >= most : number > most) {
        wrong(path, shown,
              (strict ? "should be less than " : "should be less than or equal to ") + json::serialize(*bound));
      }
    }
    if (const json::value* bound = member(schema, "minimum"); bound && bound->is_number()) {
      const double least = bound->to_number<double>();
      const bool strict = is_true(schema, "exclusiveMinimum");
      if (strict ? number <= least : number < least) {
        wrong(path, shown,
              (strict ? "should be greater than " : "should be greater than or equal to ") + json::serialize(*bound));
      }
    }
    if (const json::value* step = member(schema, "multipleOf"); step && step->is_number()) {
      const double quotient = number / step->to_number<double>();
      if (quotient != std::trunc(quotient)) wrong(path, shown, "should be a multiple of " + json::serialize(*step));
    }
  }

  // Between min<Of> and max<Of> of them.
  void check_size(size_t count, const json::value& schema, const std::string& of, const std::string& what,
                  const std::string& path) {
    const auto size = static_cast<int64_t>(count);
    if (const auto most = integer_at(schema, {"max" + of}); most && size > *most) {
      errors.push_back(
          {"FieldValueTooMany", path,
           "Too many: " + std::to_string(size) + ": must have at most " + std::to_string(*most) + " items"});
    }
    if (const auto least = integer_at(schema, {"min" + of}); least && size < *least) {
      wrong(path, std::to_string(size), "should have at least " + std::to_string(*least) + " " + what);
    }
  }

  void check_array(const json::array& array, const json::value& schema, const std::string& path) {
    check_size(array.size(), schema, "Items", "items", path);
    const json::value* items = member(schema, "items");
    for (size_t i = 0; i < array.size(); ++i) {
      const std::string inner = path + "[" + std::to_string(i) + "]";
      if (items && items->is_object()) check(array[i], *items, inner);
      if (duplicate_in(array, i, schema)) {
        errors.push_back(duplicate(inner, json::serialize(identity(array[i], schema))));
      }
    }
  }

  // What makes an element of a set or map list itself.
  static json::value identity(const json::value& element, const json::value& schema) {
    const json::value* keys = member(schema, "x-kubernetes-list-map-keys");
    if (!keys || !keys->is_array()) return element;
    json::object out;
    for (const json::value& key : keys->get_array()) {
      if (const json::value* part = member(element, key.get_string())) out[key.get_string()] = *part;
    }
    return out;
  }
  static bool duplicate_in(const json::array& array, size_t at, const json::value& schema) {
    const std::string_view kind = text_at(schema, "x-kubernetes-list-type");
    if (kind != "set" && kind != "map") return false;
    for (size_t i = 0; i < at; ++i) {
      if (identity(array[i], schema) == identity(array[at], schema)) return true;
    }
    return false;
  }

  void check_object(const json::object& object, const json::value& schema, const std::string& path) {
    const auto inner = [&](std::string_view key) {
      return path.empty() ? std::string(key) : path + "." + std::string(key);
    };
    if (const json::value* needed = member(schema, "required"); needed && needed->is_array()) {
      for (const json::value& key : needed->get_array()) {
        if (key.is_string() && !object.contains(key.get_string())) errors.push_back(required(inner(key.get_string())));
      }
    }
    check_size(object.size(), schema, "Properties", "properties", path);
    const json::value* properties = member(schema, "properties");
    const json::value* additional = member(schema, "additionalProperties");
    for (const auto& one : object) {
      if (path.empty() && is_meta(one.key())) continue;
      const json::value* known = properties ? member(*properties, one.key()) : nullptr;
      if (!known && additional && additional->is_object()) known = additional;
      if (known) check(one.value(), *known, inner(one.key()));
    }
  }

  static FieldErrors tried(const json::value& value, const json::value& schema, const std::string& path) {
    Validator inner;
    inner.check(value, schema, path);
    return inner.errors;
  }

  void check_combinations(const json::value& value, const json::value& schema, const std::string& path) {
    const auto branches = [&](std::string_view key) {
      return member(schema, key) && member(schema, key)->is_array() ? &member(schema, key)->get_array() : nullptr;
    };
    if (const json::array* all = branches("allOf")) {
      bool failed = false;
      for (const json::value& one : *all) {
        const FieldErrors found = tried(value, one, path);
        failed |= !found.empty();
        errors.insert(errors.end(), found.begin(), found.end());
      }
      if (failed) nowhere("\"" + path + "\" must validate all the schemas (allOf)");
    }
    if (const json::array* any = branches("anyOf")) {
      if (count_valid(value, *any, path) == 0) {
        nowhere("\"" + path + "\" must validate at least one schema (anyOf)");
        tell_first(value, *any, path);
      }
    }
    if (const json::array* one_of = branches("oneOf")) {
      const size_t valid = count_valid(value, *one_of, path);
      if (valid == 0) {
        nowhere("\"" + path + "\" must validate one and only one schema (oneOf). Found none valid");
        tell_first(value, *one_of, path);
      } else if (valid > 1) {
        nowhere("\"" + path + "\" must validate one and only one schema (oneOf). Found " + std::to_string(valid) +
                " valid alternatives");
      }
    }
    if (const json::value* no = member(schema, "not"); no && tried(value, *no, path).empty()) {
      nowhere("\"" + path + "\" must not validate the schema (not)");
    }
  }
  static size_t count_valid(const json::value& value, const json::array& branches, const std::string& path) {
    return static_cast<size_t>(std::count_if(branches.begin(), branches.end(),
                                             [&](const json::value& one) { return tried(value, one, path).empty(); }));
  }
  void tell_first(const json::value& value, const json::array& branches, const std::string& path) {
    if (branches.empty()) return;
    const FieldErrors found = tried(value, branches.front(), path);
    errors.insert(errors.end(), found.begin(), found.end());
  }
};

}  // namespace

void Schema::prune(json::value& object) const { prune_value(object, schema_, true); }
void Schema::fill_defaults(json::value& object) const { default_value(object, schema_); }

FieldErrors Schema::validate(const json::value& object) const {
  Validator validator;
  validator.check(object, schema_, "");
  return std::move(validator.errors);
}

}  // namespace careen::sim
