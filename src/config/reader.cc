#include "config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "config/file.h"
#include "config/plugin_doc.h"
#include "config/suggest.h"
#include "config/unknown_keys.h"
#include "config/yaml_values.h"

namespace careen::config {

namespace {

using Kind = Value::Kind;

constexpr std::string_view kHidden = "***";

// 12%, without blanks or sign.
std::optional<std::int64_t> parse_percentage(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  std::int64_t percent = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (problem != std::errc{} || end != text.data() + text.size() || percent < 1 || percent > 100) return std::nullopt;
  return percent;
}

void replace_all(std::string& text, std::string_view what) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + kHidden.size())) {
    text.replace(at, what.size(), kHidden);
  }
}

// Hides quoted text that occurs in the value: messages may quote a part of it.
void hide_quoted_parts(std::string& message, std::string_view value) {
  for (std::size_t open = message.find('"'); open != std::string::npos; open = message.find('"', open)) {
    const std::size_t close = message.find('"', open + 1);
    if (close == std::string::npos) return;
    const std::string_view quoted = std::string_view(message).substr(open + 1, close - open - 1);
    const std::size_t length = quoted.size();
    const bool is_part = length > 0 && value.find(quoted) != std::string_view::npos;
    if (is_part) message.replace(open + 1, length, kHidden);
    open += (is_part ? kHidden.size() : length) + 2;
  }
}

std::string written(const CountOrPercentage& value) {
  return value.percent > 0 ? fmt::format("{}%", value.percent) : fmt::format("{}", value.count);
}

}  // namespace

struct ConfigReader::Resolved {
  Position where;
  ConfigFile::Typed typed;
};

ConfigReader::ConfigReader(ConfigFile& file, const Value* object, Position where, std::string owner,
                           const std::vector<KeyDoc>* keys)
    : file_(file),
      object_(object),
      where_(where),
      owner_(std::move(owner)),
      keys_(keys),
      errors_before_(file.error_count()) {
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

const Value* ConfigReader::take(std::string_view key, std::string otherwise) {
  KeyUse& use = file_.use_of(path_ + std::string(key));
  if (!otherwise.empty()) use.otherwise = std::move(otherwise);
  return find(key);
}

bool ConfigReader::has(std::string_view key) const {
  file_.use_of(path_ + std::string(key));
  return find(key) != nullptr;
}

const KeyDoc* ConfigReader::declared(std::string_view key) const {
  return keys_ == nullptr ? nullptr : find_key(*keys_, key);
}

bool ConfigReader::is_secret(std::string_view key) const {
  const KeyDoc* doc = declared(key);
  return doc != nullptr && doc->secret;
}

void ConfigReader::missing(std::string_view key) {
  if (unusable_) return;
  file_.use_of(path_ + std::string(key)).missed = true;
  std::string hint;
  if (object_ != nullptr) {
    std::vector<std::string_view> present;
    for (const auto& [name, entry] : object_->entries) {
      if (declared(name) == nullptr) present.push_back(name);
    }
    if (const auto near = closest(key, present)) {
      hint = fmt::format("; the key \"{}\" is not known, did you mean \"{}\"?", *near, key);
      file_.mark_explained(object_->entries.find(*near)->second.where);
    }
  }
  file_.error(where_, fmt::format("{}: \"{}\" is required{}", owner_, key, hint));
}

void ConfigReader::fail(const Value& value, std::string_view key, std::string_view expected) {
  const std::string found = is_secret(key) && value.is_scalar() ? "" : fmt::format(", not {}", describe(value));
  file_.error(value.where, fmt::format("{}: \"{}\" must be {}{}", owner_, key, expected, found));
}

void ConfigReader::fail(const Resolved& scalar, std::string_view key, std::string_view expected) {
  if (!scalar.typed.from_variable) return fail(scalar.typed.value, key, expected);
  file_.error(scalar.where,
              fmt::format("{}: \"{}\" must be {}; what its reference resolves to is none", owner_, key, expected));
}

std::optional<ConfigReader::Resolved> ConfigReader::scalar(std::string_view key, Required required,
                                                           std::string otherwise) {
  const Value* value = take(key, std::move(otherwise));
  if (value != nullptr && !value->is_scalar()) {
    fail(*value, key, "a single value");
    return std::nullopt;
  }
  if (value != nullptr) {
    auto typed = file_.typed(*value);
    if (!typed) return std::nullopt;
    if (typed->value.kind != Kind::null) return Resolved{value->where, std::move(*typed)};
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
  if (text->from_variable || is_secret(key)) file_.add_secret(text->text);
  for (const std::string& part : text->variables) file_.add_secret(part);
  return std::move(text->text);
}

std::string ConfigReader::string(std::string_view key, Required required) {
  const Value* value = take(key);
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
  const auto found = scalar(key, required, fmt::format("{}", otherwise));
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
  const auto found = scalar(key, Required::no, fmt::format("{}", otherwise));
  if (!found) return otherwise;
  const auto result = to_boolean(found->typed.value);
  if (!result) fail(*found, key, "true or false");
  return result.value_or(otherwise);
}

io::Duration ConfigReader::duration(std::string_view key, Required required, io::Duration otherwise) {
  const auto found = scalar(key, required, io::format_duration(otherwise));
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
  const Value* value = take(key, io::format_duration(otherwise));
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
  Resolved read{value->where, {}};
  read.typed.value = *value;
  read.typed.from_variable = written->from_variable;
  fail(read, key, expected);
  return otherwise;
}

std::vector<std::string> ConfigReader::strings(std::string_view key, Required required) {
  const Value* value = take(key);
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
  for (const std::string& part : typed->variables) file_.add_secret(part);
  if (typed->from_variable || is_secret(key)) {
    for (const std::string& item : result) file_.add_secret(item);
  }
  return result;
}

CountOrPercentage ConfigReader::count_or_percentage(std::string_view key, Required required,
                                                    CountOrPercentage otherwise) {
  const auto found = scalar(key, required, written(otherwise));
  if (!found) return otherwise;
  if (const auto percent = parse_percentage(found->typed.value.text)) return {0, *percent};
  const auto count = to_integer(found->typed.value);
  if (!count) {
    fail(*found, key, "a count such as 3 or a percentage from 1% to 100%");
    return otherwise;
  }
  if (*count == 0 && required == Required::yes) {
    file_.error(found->where, fmt::format("{}: \"{}\" must not be 0", owner_, key));
  }
  return {*count, 0};
}

ConfigReader ConfigReader::nested(const Value* value, std::string_view key, std::string owner, std::string path) const {
  const KeyDoc* doc = declared(key);
  ConfigReader reader(file_, value, where_, std::move(owner), doc == nullptr ? nullptr : &doc->keys);
  reader.path_ = std::move(path);
  return reader;
}

ConfigReader ConfigReader::object(std::string_view key) {
  return nested(take(key), key, fmt::format("{}: \"{}\"", owner_, key), fmt::format("{}{}.", path_, key));
}

std::vector<ConfigReader> ConfigReader::objects(std::string_view key) {
  const Value* value = take(key);
  if (value == nullptr) return {};
  if (value->kind != Kind::list) {
    fail(*value, key, "a list of maps");
    return {};
  }
  std::vector<ConfigReader> result;
  for (const Value* item : value->items) {
    if (file_.is_hopeless()) break;
    result.push_back(nested(item, key, fmt::format("{}: \"{}[{}]\"", owner_, key, result.size()),
                            fmt::format("{}{}[].", path_, key)));
  }
  return result;
}

std::vector<std::pair<std::string, ConfigReader::Scalar>> ConfigReader::entries() {
  if (keys_ != nullptr) {
    for (const KeyDoc& key : *keys_) take(key.name);
  }
  std::vector<std::pair<std::string, Scalar>> result;
  if (object_ == nullptr) return result;
  for (const auto& [key, place] : object_->entries) {
    if (place.value->kind == Kind::null) continue;
    if (auto value = entry(*place.value, key)) result.emplace_back(key, std::move(*value));
  }
  return result;
}

std::optional<ConfigReader::Scalar> ConfigReader::entry(const Value& value, std::string_view key) {
  auto typed = value.is_scalar() ? file_.typed(value) : std::nullopt;
  if (value.is_scalar() && !typed) return std::nullopt;
  if (!typed || !typed->value.is_scalar()) {
    fail(value, key, "a single value");
    return std::nullopt;
  }
  const Value& read = typed->value;
  if (read.kind == Kind::boolean) return read.boolean;
  if (read.kind == Kind::integer && read.integer) return *read.integer;
  if (read.kind == Kind::real) return read.real;
  if (typed->from_variable || is_secret(key)) file_.add_secret(read.text);
  for (const std::string& part : typed->variables) file_.add_secret(part);
  return read.text;
}

std::string ConfigReader::shown(std::string_view key) {
  const Value* value = find(key);
  if (value == nullptr) return {};
  if (is_secret(key) || value->kind == Kind::map) return std::string(kHidden);
  std::string result;
  const std::vector<const Value*> single{value};
  for (const Value* item : value->kind == Kind::list ? value->items : single) {
    const auto text = item->is_scalar() ? file_.text(*item) : std::nullopt;
    if (!text || text->from_variable) return std::string(kHidden);
    result += (result.empty() ? "" : ", ") + text->text;
  }
  return result;
}

std::string ConfigReader::redacted(std::string_view key, std::string message) {
  const Value* value = find(key);
  if (value == nullptr || shown(key) != kHidden) return message;
  const std::vector<const Value*> single{value};
  for (const Value* item : value->kind == Kind::list ? value->items : single) {
    const auto text = item->is_scalar() ? file_.text(*item) : std::nullopt;
    if (!text) continue;
    hide_quoted_parts(message, text->text);
    replace_all(message, text->text);
  }
  for (const std::string& secret : file_.secrets()) replace_all(message, secret);
  return message;
}

void ConfigReader::error(std::string_view key, std::string message) {
  const Value* value = find(key);
  if (value != nullptr) file_.mark_explained(object_->entries.find(key)->second.where);
  file_.error(value != nullptr ? value->where : where_,
              fmt::format("{}: \"{}\" {}", owner_, key, redacted(key, std::move(message))));
}

void ConfigReader::warn(std::string_view key, std::string message) {
  const Value* value = find(key);
  file_.warn(value != nullptr ? value->where : where_,
             fmt::format("{}: \"{}\" {}", owner_, key, redacted(key, std::move(message))));
}

Position ConfigReader::place_within(std::string_view key, std::size_t offset) const {
  const Value* value = find(key);
  if (value == nullptr) return where_;
  if (!value->is_scalar()) return value->where;
  const auto text = file_.text(*value);
  // Once anything was replaced, bytes of the text are not those of the file.
  return text && text->text == value->text ? file_.position_within(*value, offset) : value->where;
}

std::size_t ConfigReader::offset_within(std::string_view key, Position in_text) const {
  const Value* value = find(key);
  std::size_t offset = 0;
  for (int line = 1; value != nullptr && line < in_text.line; ++line) {
    const std::size_t end = value->text.find('\n', offset);
    if (end == std::string::npos) break;
    offset = end + 1;
  }
  return offset + static_cast<std::size_t>(std::max(in_text.column - 1, 0));
}

void ConfigReader::error_within(std::string_view key, std::size_t offset, std::string message) {
  file_.error(place_within(key, offset), fmt::format("{}: \"{}\": {}", owner_, key, redacted(key, std::move(message))));
}

void ConfigReader::error_within(std::string_view key, Position in_text, std::string message) {
  error_within(key, offset_within(key, in_text), std::move(message));
}

void ConfigReader::warn_within(std::string_view key, Position in_text, std::string message) {
  file_.warn(place_within(key, offset_within(key, in_text)),
             fmt::format("{}: \"{}\": {}", owner_, key, redacted(key, std::move(message))));
}

void ConfigReader::warn_unknown_keys() {
  if (object_ != nullptr && keys_ != nullptr) config::warn_unknown_keys(file_, *object_, *keys_, owner_);
}

}  // namespace careen::config
