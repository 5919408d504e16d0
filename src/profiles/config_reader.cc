#include "profiles/config_reader.h"

#include <fmt/format.h>

#include <array>

#include "profiles/config_file.h"
#include "profiles/suggest.h"
#include "profiles/yaml_values.h"

namespace careen::profiles {

using Kind = Value::Kind;

struct ConfigReader::Scalar {
  Position where;
  ConfigFile::Typed typed;
};

ConfigReader::ConfigReader(ConfigFile& file, const Value* object, Position where, std::string owner)
    : file_(file), object_(object), where_(where), owner_(std::move(owner)), errors_before_(file.error_count()) {
  if (object_ == nullptr || object_->kind == Kind::null) {
    object_ = nullptr;
    return;
  }
  where_ = object_->where;
  if (object_->kind == Kind::map) return;
  unusable_ = true;
  file_.error(where_, fmt::format("{} must be a map of keys and values", owner_));
  object_ = nullptr;
}

bool ConfigReader::ok() const { return file_.error_count() == errors_before_; }

const Value* ConfigReader::find(std::string_view key) const {
  const Value* value = find_entry(object_, key);
  return value == nullptr || value->kind == Kind::null ? nullptr : value;
}

bool ConfigReader::has(std::string_view key) const { return find(key) != nullptr; }

void ConfigReader::missing(std::string_view key) {
  if (unusable_) return;
  std::string hint;
  if (object_ != nullptr) {
    std::vector<std::string_view> present;
    for (const auto& [name, entry] : object_->entries) present.push_back(name);
    if (const auto near = closest(key, present)) {
      hint = fmt::format("; the key \"{}\" is not known, did you mean \"{}\"?", *near, key);
    }
  }
  file_.error(where_, fmt::format("{}: \"{}\" is required{}", owner_, key, hint));
}

void ConfigReader::fail(const Value& value, std::string_view key, std::string_view expected) {
  file_.error(value.where, fmt::format("{}: \"{}\" must be {}, not {}", owner_, key, expected, describe(value)));
}

void ConfigReader::fail(const Scalar& scalar, std::string_view key, std::string_view expected) {
  if (!scalar.typed.from_variable) return fail(scalar.typed.value, key, expected);
  file_.error(scalar.where,
              fmt::format("{}: \"{}\" must be {}; what its reference resolves to is none", owner_, key, expected));
}

std::optional<ConfigReader::Scalar> ConfigReader::scalar(std::string_view key, Required required) {
  const Value* value = find(key);
  if (value != nullptr && !value->is_scalar()) {
    fail(*value, key, "a single value");
    return std::nullopt;
  }
  if (value != nullptr) {
    auto typed = file_.typed(*value);
    if (!typed) return std::nullopt;
    if (typed->value.kind != Kind::null) return Scalar{value->where, std::move(*typed)};
  }
  if (required == Required::yes) missing(key);
  return std::nullopt;
}

std::optional<std::string> ConfigReader::text(const Value& value, std::string_view key) {
  if (!value.is_scalar()) {
    fail(value, key, "a text");
    return std::nullopt;
  }
  auto text = file_.text(value);
  if (!text) return std::nullopt;
  return std::move(text->text);
}

std::string ConfigReader::string(std::string_view key, Required required) {
  const Value* value = find(key);
  if (value == nullptr) {
    if (required == Required::yes) missing(key);
    return {};
  }
  auto result = text(*value, key);
  if (!result) return {};
  if (result->empty() && required == Required::yes) {
    file_.error(value->where, fmt::format("{}: \"{}\" must not be empty", owner_, key));
  }
  return std::move(*result);
}

std::int64_t ConfigReader::integer(std::string_view key, Required required, std::int64_t otherwise) {
  const auto found = scalar(key, required);
  if (!found) return otherwise;
  const auto number = to_integer(found->typed.value);
  if (!number) {
    fail(*found, key, "an integer");
    return otherwise;
  }
  if (*number == 0 && required == Required::yes) {
    file_.error(found->where, fmt::format("{}: \"{}\" must not be 0", owner_, key));
  }
  return *number;
}

bool ConfigReader::boolean(std::string_view key, bool otherwise) {
  const auto found = scalar(key, Required::no);
  if (!found) return otherwise;
  const auto result = to_boolean(found->typed.value);
  if (!result) fail(*found, key, "true or false");
  return result.value_or(otherwise);
}

io::Duration ConfigReader::duration(std::string_view key, Required required, io::Duration otherwise) {
  const auto found = scalar(key, required);
  if (!found) return otherwise;
  const auto result = to_duration(found->typed.value);
  if (!result) {
    fail(*found, key, "a duration such as 90s or 1h30m");
    return otherwise;
  }
  if (result->count() == 0 && required == Required::yes) {
    file_.error(found->where, fmt::format("{}: \"{}\" must not be 0", owner_, key));
  }
  return *result;
}

io::Duration ConfigReader::duration_string(std::string_view key, Required required, io::Duration otherwise) {
  const Value* value = find(key);
  if (value == nullptr) {
    if (required == Required::yes) missing(key);
    return otherwise;
  }
  if (!value->is_scalar()) {
    fail(*value, key, "a duration such as 90s or 1h30m");
    return otherwise;
  }
  const auto written = file_.text(*value);
  if (!written) return otherwise;
  if (const auto result = io::parse_duration(written->text)) return *result;
  const bool only_unit_lacks = io::parse_duration(written->text + "s").has_value();
  const std::string_view expected =
      only_unit_lacks ? "a duration with its unit, such as 90s or 1h30m" : "a duration such as 90s or 1h30m";
  Scalar shown{value->where, {}};
  shown.typed.value = *value;
  shown.typed.from_variable = written->from_variable;
  fail(shown, key, expected);
  return otherwise;
}

std::vector<std::string> ConfigReader::strings(std::string_view key, Required required) {
  const Value* value = find(key);
  std::vector<std::string> result;
  if (value != nullptr && value->kind == Kind::map) {
    file_.warn(value->where, fmt::format("{}: \"{}\" must be a list; a map is read as an empty one", owner_, key));
  } else if (value != nullptr) {
    auto read = value->kind == Kind::list ? items(*value, key) : items_of_scalar(*value, key);
    if (!read) return {};
    result = std::move(*read);
  }
  if (result.empty() && required == Required::yes) missing(key);
  return result;
}

std::optional<std::vector<std::string>> ConfigReader::items(const Value& list, std::string_view key) {
  std::vector<std::string> result;
  for (const Value* item : list.items) {
    auto entry = text(*item, key);
    if (!entry) return std::nullopt;
    result.push_back(std::move(*entry));
  }
  return result;
}

std::optional<std::vector<std::string>> ConfigReader::items_of_scalar(const Value& scalar, std::string_view key) {
  const auto typed = file_.typed(scalar);
  if (!typed) return std::nullopt;
  std::vector<std::string> result;
  if (typed->value.kind == Kind::list) {
    // A list of this file has references of its own; what a variable said is taken as it is.
    if (!typed->from_variable) return items(typed->value, key);
    for (const Value* item : typed->value.items) result.push_back(item->text);
  } else if (typed->value.kind != Kind::null) {
    result.push_back(typed->value.text);
  }
  return result;
}

ConfigReader ConfigReader::object(std::string_view key) {
  return {file_, find(key), where_, fmt::format("{}: \"{}\"", owner_, key)};
}

void ConfigReader::error(std::string_view key, std::string message) {
  const Value* value = find(key);
  file_.error(value != nullptr ? value->where : where_, fmt::format("{}: \"{}\" {}", owner_, key, message));
}

void ConfigReader::warn(std::string_view key, std::string message) {
  const Value* value = find(key);
  file_.warn(value != nullptr ? value->where : where_, fmt::format("{}: \"{}\" {}", owner_, key, message));
}

}  // namespace careen::profiles
