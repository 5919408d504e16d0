#include "templates/literals.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "io/ascii.h"
#include "templates/unicode.h"

namespace careen::templates {

namespace {

constexpr std::string_view kFloatMarks = ".eEpP";

int base_of_prefix(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  switch (digits[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 10;
  }
}

// Underscores separate digits, or the prefix of the base from the first digit.
bool underscores_fit(std::string_view digits) {
  const bool prefixed = base_of_prefix(digits) != 10;
  char before = prefixed ? '0' : '^';
  for (const char c : digits.substr(prefixed ? 2 : 0)) {
    const bool digit = base_of_prefix(digits) == 16 ? io::is_hex_digit(c) : c >= '0' && c <= '9';
    if (digit) {
      before = '0';
    } else if (c == '_') {
      if (before != '0') return false;
      before = '_';
    } else {
      if (before == '_') return false;
      before = '!';
    }
  }
  return before != '_';
}

std::string without_underscores(std::string_view digits) {
  std::string plain;
  for (const char c : digits) {
    if (c != '_') plain.push_back(c);
  }
  return plain;
}

struct Signed {
  bool negative = false;
  std::string_view digits;
};

Signed split_sign(std::string_view text) {
  if (text.starts_with('-')) return {true, text.substr(1)};
  return {false, text.starts_with('+') ? text.substr(1) : text};
}

std::optional<uint64_t> parse_magnitude(std::string_view digits) {
  if (!underscores_fit(digits)) return std::nullopt;
  int base = base_of_prefix(digits);
  std::string_view rest = digits.substr(base == 10 ? 0 : 2);
  if (base == 10 && digits.size() > 1 && digits[0] == '0') {
    base = 8;
    rest = digits.substr(1);
  }
  const std::string plain = without_underscores(rest);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value, base);
  if (error != std::errc() || end != plain.data() + plain.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> with_sign(uint64_t magnitude, bool negative) {
  constexpr uint64_t kLowest = uint64_t{1} << 63U;
  if (magnitude > kLowest || (magnitude == kLowest && !negative)) return std::nullopt;
  return static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude);
}

// from_chars does not tell too large from too small. What is too small is zero, what is too large no number.
bool too_small(std::string_view plain, bool hexadecimal) {
  const size_t mark = plain.find_first_of(hexadecimal ? "pP" : "eE");
  return mark != std::string_view::npos && plain.substr(mark + 1).starts_with('-');
}

std::optional<double> parse_float(const Signed& text) {
  if (text.digits.empty() || !underscores_fit(text.digits)) return std::nullopt;
  const bool hexadecimal = base_of_prefix(text.digits) == 16;
  std::string plain = without_underscores(text.digits.substr(hexadecimal ? 2 : 0));
  if (plain.empty() || (plain[0] != '.' && !io::is_hex_digit(plain[0]))) return std::nullopt;
  const size_t exponent = plain.find_first_of(hexadecimal ? "pP" : "eE");
  if (hexadecimal && exponent == std::string::npos) return std::nullopt;
  if (exponent != std::string::npos && exponent + 1 < plain.size() && plain[exponent + 1] == '+') {
    plain.erase(exponent + 1, 1);
  }
  double value = 0;
  const auto format = hexadecimal ? std::chars_format::hex : std::chars_format::general;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value, format);
  if (end != plain.data() + plain.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range && too_small(plain, hexadecimal))
    value = 0;
  else if (error != std::errc())
    return std::nullopt;
  return text.negative ? -value : value;
}

// The integers that a float is equal to.
void add_integers(Number& number) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const double value = *number.floating;
  if (std::trunc(value) != value) return;
  if (value >= -kTwoTo63 && value < kTwoTo63) number.integer = static_cast<int64_t>(value);
  if (value >= 0 && value < 2 * kTwoTo63) number.unsigned_integer = static_cast<uint64_t>(value);
}

std::optional<char32_t> simple_escape(char c, char quote) {
  switch (c) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    case '\\':
      return '\\';
    case '\'':
    case '"':
      if (c == quote) return static_cast<char32_t>(c);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// One character of a quoted text, taken off its front.
struct Unquoted {
  char32_t value = 0;
  // \xFF and \377 mean a byte, not a character.
  bool byte = false;
};

std::optional<Unquoted> take_numeric(std::string_view& text, size_t count, int base, bool byte) {
  if (text.size() < count) return std::nullopt;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, value, base);
  if (error != std::errc() || end != text.data() + count) return std::nullopt;
  if (byte ? value > 0xFF : !is_rune(value)) return std::nullopt;
  text.remove_prefix(count);
  return Unquoted{value, byte};
}

std::optional<Unquoted> take_character(std::string_view& text, char quote) {
  const char c = text.front();
  if (c == quote || c == '\n') return std::nullopt;
  if (c != '\\') {
    const Rune rune = decode_rune(text);
    text.remove_prefix(rune.width);
    return Unquoted{rune.value, false};
  }
  text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  const char kind = text.front();
  if (kind >= '0' && kind <= '7') return take_numeric(text, 3, 8, true);
  text.remove_prefix(1);
  if (kind == 'x') return take_numeric(text, 2, 16, true);
  if (kind == 'u') return take_numeric(text, 4, 16, false);
  if (kind == 'U') return take_numeric(text, 8, 16, false);
  const auto escaped = simple_escape(kind, quote);
  if (!escaped) return std::nullopt;
  return Unquoted{*escaped, false};
}

}  // namespace

std::optional<Number> parse_number(std::string_view text) {
  if (text.ends_with('i')) return std::nullopt;
  const Signed parts = split_sign(text);
  const bool looks_like_float = text.find_first_of(kFloatMarks) != std::string_view::npos;
  Number number;
  if (const auto magnitude = parse_magnitude(parts.digits)) {
    number.integer = with_sign(*magnitude, parts.negative);
    if (parts.digits.size() == text.size() || *magnitude == 0) number.unsigned_integer = magnitude;
    if (!number.integer && !number.unsigned_integer) return std::nullopt;
    number.floating = number.integer ? static_cast<double>(*number.integer) : static_cast<double>(*magnitude);
    return number;
  }
  if (!looks_like_float) return std::nullopt;
  number.floating = parse_float(parts);
  if (!number.floating) return std::nullopt;
  number.prefers_float = true;
  add_integers(number);
  return number;
}

std::optional<Number> parse_character(std::string_view text) {
  text.remove_prefix(1);
  const auto character = take_character(text, '\'');
  if (!character || text != "'") return std::nullopt;
  Number number;
  number.integer = static_cast<int64_t>(character->value);
  number.unsigned_integer = character->value;
  number.floating = static_cast<double>(character->value);
  return number;
}

std::optional<std::string> unquote(std::string_view text) {
  const char quote = text.front();
  std::string_view inner = text.substr(1, text.size() - 2);
  std::string value;
  if (quote == '`') {
    for (const char c : inner) {
      if (c != '\r') value.push_back(c);
    }
    return value;
  }
  while (!inner.empty()) {
    const auto character = take_character(inner, quote);
    if (!character) return std::nullopt;
    if (character->byte) {
      value.push_back(static_cast<char>(character->value));
    } else {
      append_rune(value, character->value);
    }
  }
  return value;
}

}  // namespace careen::templates
