#include "templates/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "templates/compare.h"
#include "templates/format.h"
#include "templates/unicode.h"

namespace careen::templates {

namespace {

using Arguments = std::span<const Value>;

[[noreturn]] void fail(std::string message) { throw FunctionFailure{std::move(message)}; }

Value checked_text(std::string text) {
  if (text.size() > kLongestText) fail(fmt::format("the text is longer than {} bytes", kLongestText));
  return make_text(std::move(text));
}

// Access.
size_t index_argument(const Value& index, size_t limit) {
  int64_t wanted = 0;
  if (index.is(Kind::integer)) {
    wanted = integer_of(index);
  } else if (index.is(Kind::unsigned_integer)) {
    wanted = static_cast<int64_t>(unsigned_of(index));
  } else {
    fail(index.exists() ? fmt::format("cannot index slice/array with type {}", index.type->name)
                        : "cannot index slice/array with nil");
  }
  if (wanted < 0 || static_cast<uint64_t>(wanted) > limit) fail(fmt::format("index out of range: {}", wanted));
  return static_cast<size_t>(wanted);
}

Value index_map(const Value& map, const Value& key) {
  if (!key.exists()) fail("value is nil; should be of type string");
  if (!key.is(Kind::text)) fail(fmt::format("value has type {}; should be string", key.type->name));
  const auto found = entry(map, text_of(key));
  return found ? *found : from_json(*map.type->element, {});
}

Value target_of(const Value& item, std::string_view what) {
  if (!item.exists()) fail(fmt::format("{} of untyped nil", what));
  if (item.is(Kind::pointer) && is_nil(item)) fail(fmt::format("{} of nil pointer", what));
  return pointed_to(item);
}

Value index(Arguments arguments) {
  Value item = arguments[0];
  if (!item.exists()) fail("index of untyped nil");
  for (const Value& at : arguments.subspan(1)) {
    item = target_of(item, "index");
    if (item.is(Kind::map)) {
      item = index_map(item, at);
    } else if (item.is(Kind::list) || item.is(Kind::text)) {
      const size_t wanted = index_argument(at, length(item));
      if (wanted == length(item)) fail(fmt::format("index out of range: {}", wanted));
      item = element(item, wanted);
    } else {
      fail(fmt::format("can't index item of type {}", item.type->name));
    }
  }
  return item;
}

Value slice(Arguments arguments) {
  const Value item = target_of(arguments[0], "slice");
  const Arguments bounds = arguments.subspan(1);
  if (bounds.size() > 3) fail(fmt::format("too many slice indexes: {}", bounds.size()));
  if (!item.is(Kind::text) && !item.is(Kind::list)) fail(fmt::format("can't slice item of type {}", item.type->name));
  if (item.is(Kind::text) && bounds.size() == 3) fail("cannot 3-index slice a string");
  std::array<size_t, 3> at{0, length(item), capacity(item)};
  for (size_t i = 0; i < bounds.size(); ++i) at[i] = index_argument(bounds[i], capacity(item));
  if (at[0] > at[1]) fail(fmt::format("invalid slice index: {} > {}", at[0], at[1]));
  if (at[1] > at[2]) fail(fmt::format("invalid slice index: {} > {}", at[1], at[2]));
  return part(item, at[0], at[1], at[2]);
}

Value len(Arguments arguments) {
  if (!arguments[0].exists()) fail("len of nil");
  const Value item = target_of(arguments[0], "len");
  if (!item.is(Kind::text) && !item.is(Kind::list) && !item.is(Kind::map)) {
    fail(fmt::format("len of type {}", item.type->name));
  }
  return make_integer(static_cast<int64_t>(length(item)));
}

Value call(Arguments arguments) {
  if (!arguments[0].exists()) fail("call of nil");
  fail(fmt::format("non-function of type {}", arguments[0].type->name));
}

// Comparison.
Value eq(Arguments arguments) {
  if (arguments.size() < 2) fail("missing argument for comparison");
  const Arguments others = arguments.subspan(1);
  return make_boolean(
      std::any_of(others.begin(), others.end(), [&](const Value& other) { return equal(arguments[0], other); }));
}
Value ne(Arguments arguments) { return make_boolean(!equal(arguments[0], arguments[1])); }
Value lt(Arguments arguments) { return make_boolean(less(arguments[0], arguments[1])); }
Value le(Arguments arguments) {
  return make_boolean(less(arguments[0], arguments[1]) || equal(arguments[0], arguments[1]));
}
Value gt(Arguments arguments) { return make_boolean(!boolean_of(le(arguments))); }
Value ge(Arguments arguments) { return make_boolean(!less(arguments[0], arguments[1])); }
Value not_(Arguments arguments) { return make_boolean(!truth(arguments[0])); }

// Printing.
Value print(Arguments arguments) { return checked_text(sprint(arguments)); }
Value println(Arguments arguments) { return checked_text(sprintln(arguments)); }
Value printf(Arguments arguments) { return checked_text(sprintf(text_of(arguments[0]), arguments.subspan(1))); }

// Escaping.
std::string joined(Arguments arguments) {
  if (arguments.size() == 1 && arguments[0].is(Kind::text)) return std::string(text_of(arguments[0]));
  std::vector<Value> printable;
  for (const Value& value : arguments) {
    printable.push_back(value.exists() ? pointed_to(value) : make_text("<no value>"));
  }
  return sprint(printable);
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\0':
        append_rune(out, kReplacement);
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

std::string js_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Rune rune = decode_rune(text);
    const std::string_view written = text.substr(0, rune.width);
    const char c = text.front();
    text.remove_prefix(rune.width);
    if (c == '\\' || c == '\'' || c == '"') {
      out.push_back('\\');
      out.push_back(c);
    } else if (rune.value < 0x80) {
      const bool special = rune.value < ' ' || c == '<' || c == '>' || c == '&' || c == '=';
      out += special ? fmt::format("\\u{:04X}", static_cast<uint32_t>(rune.value)) : std::string(written);
    } else {
      out +=
          is_printable(rune.value) ? std::string(written) : fmt::format("\\u{:04X}", static_cast<uint32_t>(rune.value));
    }
  }
  return out;
}

std::string query_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        byte < 0x80 && (is_letter(byte) || is_digit(byte) || c == '-' || c == '_' || c == '.' || c == '~');
    if (plain) {
      out.push_back(c);
    } else if (c == ' ') {
      out.push_back('+');
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

Value html(Arguments arguments) { return checked_text(html_escaped(joined(arguments))); }
Value js(Arguments arguments) { return checked_text(js_escaped(joined(arguments))); }
Value urlquery(Arguments arguments) { return checked_text(query_escaped(joined(arguments))); }

constexpr Function kFunctions[] = {
    {"and", 1, true, false, ResultKind::argument, nullptr},   {"call", 1, true, false, ResultKind::unknown, call},
    {"eq", 1, true, false, ResultKind::boolean, eq},          {"ge", 2, false, false, ResultKind::boolean, ge},
    {"gt", 2, false, false, ResultKind::boolean, gt},         {"html", 0, true, false, ResultKind::text, html},
    {"index", 1, true, false, ResultKind::element, index},    {"js", 0, true, false, ResultKind::text, js},
    {"le", 2, false, false, ResultKind::boolean, le},         {"len", 1, false, false, ResultKind::integer, len},
    {"lt", 2, false, false, ResultKind::boolean, lt},         {"ne", 2, false, false, ResultKind::boolean, ne},
    {"not", 1, false, false, ResultKind::boolean, not_},      {"or", 1, true, false, ResultKind::argument, nullptr},
    {"print", 0, true, false, ResultKind::text, print},       {"printf", 1, true, true, ResultKind::text, printf},
    {"println", 0, true, false, ResultKind::text, println},   {"slice", 1, true, false, ResultKind::same, slice},
    {"urlquery", 0, true, false, ResultKind::text, urlquery},
};

}  // namespace

const Function* find_function(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const Function& f) { return f.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names;
  for (const Function& function : kFunctions) names.push_back(function.name);
  return names;
}

}  // namespace careen::templates
