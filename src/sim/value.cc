#include "sim/value.h"

#include <algorithm>
#include <cstring>

namespace careen::sim {

namespace {
// Deeper than any object the API server accepts is meant to be, shallow enough for the stack.
constexpr size_t kDeepest = 256;
}  // namespace

const json::value* member(const json::value& value, std::string_view key) {
  return value.is_object() ? value.get_object().if_contains(key) : nullptr;
}

json::value* member(json::value& value, std::string_view key) {
  return value.is_object() ? value.get_object().if_contains(key) : nullptr;
}

const json::value* find(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* at = &value;
  for (const std::string_view key : path) {
    at = member(*at, key);
    if (!at) return nullptr;
  }
  return at;
}

json::value* find(json::value& value, std::initializer_list<std::string_view> path) {
  return const_cast<json::value*>(find(std::as_const(value), path));
}

std::string_view text_at(const json::value& value, std::string_view key) {
  const json::value* found = member(value, key);
  return found && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

std::string_view text_at(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

std::string_view text_at(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* found = find(value, path);
  return found && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

bool is_true(const json::value& value, std::string_view key) {
  const json::value* found = member(value, key);
  return found && found->is_bool() && found->get_bool();
}

std::optional<int64_t> integer_at(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* found = find(value, path);
  if (!found || !found->is_number()) return std::nullopt;
  json::error_code failed;
  const auto number = found->to_number<int64_t>(failed);
  return failed ? std::nullopt : std::optional<int64_t>(number);
}

json::object& object_at(json::object& parent, std::string_view key) {
  json::value& slot = parent[key];
  if (!slot.is_object()) slot.emplace_object();
  return slot.get_object();
}

void set_if_missing(json::object& object, std::string_view key, json::value value) {
  if (!object.contains(key)) object.emplace(key, std::move(value));
}

void drop_type(json::value& object) {
  for (const char* key : {"kind", "apiVersion"}) {
    auto* const at = object.get_object().find(key);
    if (at != object.get_object().end()) object.get_object().stable_erase(at);
  }
}

bool same(const json::value& a, const json::value& b) {
  if (a.is_array() && b.is_array()) {
    const json::array& left = a.get_array();
    return std::equal(left.begin(), left.end(), b.get_array().begin(), b.get_array().end(), same);
  }
  if (!a.is_object() || !b.is_object()) return a == b;
  const json::object& left = a.get_object();
  const json::object& right = b.get_object();
  if (left.size() != right.size()) return false;
  const auto* at = right.begin();
  for (const auto& one : left) {
    const json::value* other = at->key() == one.key() ? &at->value() : right.if_contains(one.key());
    if (!other || !same(one.value(), *other)) return false;
    ++at;
  }
  return true;
}

size_t find_text(std::string_view in, std::string_view text, size_t from) {
  const void* found = ::memmem(in.data() + from, in.size() - from, text.data(), text.size());
  return found ? static_cast<size_t>(static_cast<const char*>(found) - in.data()) : std::string_view::npos;
}

std::string as_utf8(std::string_view text) {
  const auto continues = [&](size_t at) { return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80; };
  // Of the character at that place; 0 if there is none.
  const auto length = [&](size_t at) -> size_t {
    const auto first = static_cast<uint8_t>(text[at]);
    if (first < 0x80) return 1;
    const auto second = at + 1 < text.size() ? static_cast<uint8_t>(text[at + 1]) : uint8_t{0};
    if (!continues(at + 1)) return 0;
    if (first >= 0xC2 && first <= 0xDF) return 2;
    if (!continues(at + 2)) return 0;
    // Neither longer than needed nor half of a surrogate pair, nor beyond the last character.
    if (first == 0xE0) return second >= 0xA0 ? 3 : 0;
    if (first == 0xED) return second < 0xA0 ? 3 : 0;
    if (first >= 0xE1 && first <= 0xEF) return 3;
    if (!continues(at + 3)) return 0;
    if (first == 0xF0) return second >= 0x90 ? 4 : 0;
    if (first == 0xF4) return second < 0x90 ? 4 : 0;
    return first >= 0xF1 && first <= 0xF3 ? 4 : 0;
  };
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t size = length(at);
    out += size == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(at, size);
    at += std::max<size_t>(size, 1);
  }
  return out;
}

std::string_view go_kind(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "bool";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "array";
    case json::kind::object:
      return "object";
    default:
      return "number";
  }
}

std::optional<json::value> parse(std::string_view text, json::storage_ptr storage) {
  json::parse_options options;
  options.max_depth = kDeepest;
  json::error_code failed;
  json::value value = json::parse(text, failed, std::move(storage), options);
  if (failed) return std::nullopt;
  return value;
}

std::string go_syntax_error(std::string_view text) {
  json::parse_options options;
  options.max_depth = kDeepest;
  json::stream_parser parser({}, options);
  json::error_code failed;
  const size_t read = parser.write_some(text.data(), text.size(), failed);
  // Go takes a byte for a character, and shows it so.
  const auto character = [&](size_t at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    static constexpr char digits[] = "0123456789abcdef";
    if (byte < 0x80) return std::string("'") + text[at] + "'";
    return std::string("'\\u00") + digits[byte >> 4] + digits[byte & 15] + "'";
  };
  // In the middle of null, true or false it says what should have come.
  if (failed && read < text.size()) {
    size_t start = read;
    while (start > 0 && text[start - 1] >= 'a' && text[start - 1] <= 'z') --start;
    for (const std::string_view literal : {"null", "true", "false"}) {
      if (text[start] != literal[0]) continue;
      for (size_t i = 1; i < literal.size() && start + i < text.size(); ++i) {
        if (text[start + i] == literal[i]) continue;
        return "invalid character " + character(start + i) + " in literal " + std::string(literal) + " (expecting '" +
               literal[i] + "')";
      }
    }
  }
  if (failed && read < text.size()) return "invalid character " + character(read) + " looking for beginning of value";
  if (!failed && read < text.size()) return "invalid character " + character(read) + " after top-level value";
  return "unexpected end of JSON input";
}

std::string quoted(std::string_view text) { return json::serialize(json::string(text)); }

}  // namespace careen::sim
