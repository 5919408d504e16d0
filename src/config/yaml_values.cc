#include "config/yaml_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "io/ascii.h"

namespace careen::config {

namespace {

using Kind = Value::Kind;

constexpr std::array<std::string_view, 11> kTrueWords{"y",  "Y",  "yes",  "Yes",  "YES", "on",
                                                      "On", "ON", "true", "True", "TRUE"};
constexpr std::array<std::string_view, 11> kFalseWords{"n",   "N",   "no",    "No",    "NO",   "off",
                                                       "Off", "OFF", "false", "False", "FALSE"};
constexpr std::array<std::string_view, 4> kNullWords{"~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 6> kTrueTexts{"1", "t", "T", "true", "True", "TRUE"};
constexpr std::array<std::string_view, 6> kFalseTexts{"0", "f", "F", "false", "False", "FALSE"};
constexpr std::array<std::string_view, 7> kTrueInterpolated{"true", "TRUE", "True", "t", "T", "on", "ON"};
constexpr std::array<std::string_view, 7> kFalseInterpolated{"false", "FALSE", "False", "f", "F", "off", "OFF"};

template <std::size_t N>
bool any_of(const std::array<std::string_view, N>& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

struct BigInteger {
  bool negative = false;
  std::uint64_t magnitude = 0;

  std::optional<std::int64_t> as_int64() const {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!negative) return magnitude <= kMost ? std::optional{static_cast<std::int64_t>(magnitude)} : std::nullopt;
    if (magnitude > kMost + 1) return std::nullopt;
    return static_cast<std::int64_t>(~magnitude + 1);
  }
  std::string to_text() const { return fmt::format("{}{}", negative && magnitude != 0 ? "-" : "", magnitude); }
};

int digit_value(char c) {
  if (io::is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// Sign, then 0x, 0b, 0o or a leading zero for the base; nullopt when the text is no integer or 64 bits do not hold it.
std::optional<BigInteger> parse_based_integer(std::string_view text) {
  BigInteger result;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    result.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  unsigned base = 10;
  if (text.size() > 1 && text.front() == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    text.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  if (text.empty()) return std::nullopt;
  for (char c : text) {
    const int digit = digit_value(c);
    if (digit >= static_cast<int>(base)) return std::nullopt;
    const auto wide = static_cast<unsigned __int128>(result.magnitude) * base + static_cast<unsigned>(digit);
    if (wide > std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    result.magnitude = static_cast<std::uint64_t>(wide);
  }
  if (result.negative && !result.as_int64()) return std::nullopt;
  return result;
}

// [sign] digits [. digits] [e [sign] digits], with digits on at least one side of the point.
bool looks_like_float(std::string_view text) {
  std::size_t at = 0;
  const auto sign = [&] {
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  };
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && io::is_digit(text[at])) ++at;
    return at > from;
  };
  sign();
  const bool whole = digits();
  bool fraction = false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    fraction = digits();
  }
  if (!whole && !fraction) return false;
  if (at < text.size() && (text[at] | 0x20) == 'e') {
    ++at;
    sign();
    if (!digits()) return false;
  }
  return at == text.size();
}

std::optional<double> parse_float(std::string_view text) {
  if (!looks_like_float(text)) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> parse_special_float(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (any_of(std::array<std::string_view, 3>{".nan", ".NaN", ".NAN"}, text)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  double sign = 1;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    sign = text.front() == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  if (any_of(std::array<std::string_view, 3>{".inf", ".Inf", ".INF"}, text)) return sign * kInfinity;
  return std::nullopt;
}

void set_boolean(Value& value, bool boolean) {
  value.kind = Kind::boolean;
  value.boolean = boolean;
  value.text = boolean ? "true" : "false";
}

void set_real(Value& value, double number) {
  value.kind = Kind::real;
  value.real = number;
  value.text = format_go_float(number);
}

bool set_integer(Value& value, std::string_view text) {
  const auto number = parse_based_integer(text);
  if (!number) return false;
  value.kind = Kind::integer;
  value.integer = number->as_int64();
  value.text = number->to_text();
  return true;
}

// Splits at commas outside of quotes.
std::vector<std::string_view> split_items(std::string_view text) {
  std::vector<std::string_view> items;
  char quote = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      // A quote opens only where an item begins; elsewhere it is a letter: don't.
      if (io::trimmed(text.substr(from, i - from)).empty()) quote = c;
    } else if (c == ',') {
      items.push_back(io::trimmed(text.substr(from, i - from)));
      from = i + 1;
    }
  }
  items.push_back(io::trimmed(text.substr(from)));
  return items;
}

bool is_quoted(std::string_view text) {
  return text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
         text.find(text.front(), 1) == text.size() - 1;
}

void set_interpolated_scalar(Value& value, std::string_view text) {
  if (is_quoted(text)) return set_string(value, text.substr(1, text.size() - 2));
  if (text.empty() || text == "null") {
    value.kind = Kind::null;
    return;
  }
  if (any_of(kTrueInterpolated, text)) return set_boolean(value, true);
  if (any_of(kFalseInterpolated, text)) return set_boolean(value, false);
  if (set_integer(value, text)) return;
  if (const auto number = parse_float(text)) return set_real(value, *number);
  set_string(value, text);
}

// Digits may be grouped by single underscores, as in 1_000.
std::optional<std::int64_t> parse_integer_text(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    const bool between = i > 0 && i + 1 < text.size() && digit_value(text[i - 1]) < 16 && digit_value(text[i + 1]) < 16;
    if (!between) return std::nullopt;
  }
  const auto number = parse_based_integer(digits);
  return number ? number->as_int64() : std::nullopt;
}

std::optional<io::Duration> seconds_of(double seconds) {
  const double nanos = seconds * 1e9;
  // 2^63 is exact as a double; what is not below it does not fit.
  if (!(std::abs(nanos) < 9223372036854775808.0)) return std::nullopt;
  return io::Duration{static_cast<std::int64_t>(nanos)};
}

}  // namespace

const Value* find_entry(const Value* map, std::string_view key) {
  if (map == nullptr || map->kind != Kind::map) return nullptr;
  const auto found = map->entries.find(key);
  return found == map->entries.end() ? nullptr : found->second.value;
}

void set_string(Value& value, std::string_view text) {
  value.kind = Kind::string;
  value.text = text;
}

void set_plain(Value& value, std::string_view text) {
  if (text.empty() || any_of(kNullWords, text)) {
    value.kind = Kind::null;
    return;
  }
  if (any_of(kTrueWords, text)) return set_boolean(value, true);
  if (any_of(kFalseWords, text)) return set_boolean(value, false);
  if (const auto number = parse_special_float(text)) return set_real(value, *number);
  const char first = text.front();
  if (io::is_digit(first) || first == '-' || first == '+' || first == '.') {
    std::string digits{text};
    if (first != '.') std::erase(digits, '_');
    if (set_integer(value, digits)) return;
    if (const auto number = parse_float(digits)) return set_real(value, *number);
  }
  set_string(value, text);
}

std::string format_go_float(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Inf" : "+Inf";
  // The shortest digits that read back as the same number; an exponent below -4 or above 5 is written out: 1e+06.
  std::array<char, 32> buffer{};
  const auto shortest =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(shortest.ptr - buffer.data()));
  int exponent = 0;
  const std::size_t e = text.find('e');
  const char* from = text.data() + e + 1 + (text[e + 1] == '+' ? 1 : 0);
  std::from_chars(from, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent > 5) return std::string{text};
  std::array<char, 400> plain{};
  const auto end = std::to_chars(plain.data(), plain.data() + plain.size(), number, std::chars_format::fixed).ptr;
  return {plain.data(), end};
}

Value reparse_interpolated(std::string_view text, std::vector<std::unique_ptr<Value>>& storage) {
  Value value;
  text = io::trimmed(text);
  const bool bracketed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  const std::string_view inner = bracketed ? io::trimmed(text.substr(1, text.size() - 2)) : text;
  const std::vector<std::string_view> parts = split_items(inner);
  // Where text is wanted after all, what the variable says is taken as it is, as for every string.
  const auto read = [](Value& scalar, std::string_view part) {
    set_interpolated_scalar(scalar, part);
    if (scalar.kind != Kind::string) scalar.text = part;
  };
  if (!bracketed && parts.size() == 1) {
    read(value, text);
    return value;
  }
  value.kind = Kind::list;
  if (inner.empty()) return value;
  for (std::string_view part : parts) {
    auto item = std::make_unique<Value>();
    read(*item, part);
    value.items.push_back(item.get());
    storage.push_back(std::move(item));
  }
  return value;
}

std::optional<std::int64_t> to_integer(const Value& value) {
  switch (value.kind) {
    case Kind::integer:
      return value.integer;
    case Kind::real:
      // 2^63 is exact as a double; NaN fails the comparison.
      if (!(std::abs(value.real) < 9223372036854775808.0)) return std::nullopt;
      return static_cast<std::int64_t>(value.real);
    case Kind::string:
      return parse_integer_text(value.text);
    default:
      return std::nullopt;
  }
}

std::optional<bool> to_boolean(const Value& value) {
  if (value.kind == Kind::boolean) return value.boolean;
  if (value.kind != Kind::string) return std::nullopt;
  if (any_of(kTrueTexts, value.text)) return true;
  if (any_of(kFalseTexts, value.text)) return false;
  return std::nullopt;
}

std::optional<io::Duration> to_duration(const Value& value) {
  switch (value.kind) {
    case Kind::integer: {
      constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
      if (!value.integer || *value.integer > kMost || *value.integer < -kMost) return std::nullopt;
      return io::seconds{*value.integer};
    }
    case Kind::real:
      return seconds_of(value.real);
    case Kind::string:
      return io::parse_duration(value.text);
    default:
      return std::nullopt;
  }
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Kind::null:
      return "nothing";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::string:
      break;
    default:
      return value.text;
  }
  constexpr std::size_t kShown = 40;
  if (value.text.size() <= kShown) return fmt::format("\"{}\"", value.text);
  std::size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(value.text[end]) & 0xC0) == 0x80) --end;
  return fmt::format("\"{}…\"", value.text.substr(0, end));
}

}  // namespace careen::config
