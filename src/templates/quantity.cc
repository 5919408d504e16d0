#include "templates/quantity.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace careen::templates {

namespace {

using Wide = __int128;

constexpr int kNanoDigits = 9;
constexpr int kMostDigits = 37;  // of a Wide

constexpr Wide power_of_ten(int exponent) {
  Wide power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

constexpr Wide kMost = power_of_ten(kMostDigits);

// A number without its point: 1.50 is 150 with two places.
struct Digits {
  Wide value = 0;
  int places = 0;
};

// Takes the digits off the text.
Digits take_digits(std::string_view& text) {
  Digits digits;
  bool after_point = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !after_point) {
      after_point = true;
    } else if (c >= '0' && c <= '9') {
      // Digits that do not fit are beyond what matters, or beyond every limit.
      if (digits.value >= kMost / 10) continue;
      digits.value = digits.value * 10 + (c - '0');
      digits.places += after_point ? 1 : 0;
    } else {
      break;
    }
  }
  return digits;
}

std::optional<int> decimal_exponent(std::string_view suffix) {
  constexpr std::string_view kSmall = "num", kLarge = "kMGTPE";
  if (suffix.empty()) return 0;
  if (suffix.size() == 1) {
    if (const size_t at = kSmall.find(suffix[0]); at != std::string_view::npos) return -9 + 3 * static_cast<int>(at);
    if (const size_t at = kLarge.find(suffix[0]); at != std::string_view::npos) return 3 + 3 * static_cast<int>(at);
    return std::nullopt;
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
  if (error != std::errc() || end != suffix.data() + suffix.size()) return std::nullopt;
  return exponent;
}

std::optional<int> binary_exponent(std::string_view suffix) {
  constexpr std::string_view kPrefixes = "KMGTPE";
  if (suffix.size() != 2 || suffix[1] != 'i') return std::nullopt;
  const size_t at = kPrefixes.find(suffix[0]);
  if (at == std::string_view::npos) return std::nullopt;
  return 10 + 10 * static_cast<int>(at);
}

// Away from zero.
Wide divided(Wide value, Wide by) {
  const Wide whole = value / by;
  return value % by == 0 ? whole : whole + (value < 0 ? -1 : 1);
}

Wide multiplied(Wide value, Wide by) { return value > kMost / by ? kMost : value * by; }

Wide shifted(Wide value, int64_t digits) {
  if (digits < 0)
    return digits < -kMostDigits ? divided(value, kMost) : divided(value, power_of_ten(-static_cast<int>(digits)));
  if (value == 0) return 0;
  return digits > kMostDigits ? kMost : multiplied(value, power_of_ten(static_cast<int>(digits)));
}

}  // namespace

Quantity read_quantity(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const Digits digits = take_digits(text);
  Wide nanos = 0;
  if (const auto decimal = decimal_exponent(text)) {
    nanos = shifted(digits.value, int64_t{*decimal} - digits.places + kNanoDigits);
  } else if (const auto binary = binary_exponent(text)) {
    nanos = shifted(multiplied(digits.value, Wide{1} << *binary), kNanoDigits - digits.places);
  }
  return {negative ? -nanos : nanos};
}

Quantity whole_quantity(int64_t value) { return {value * power_of_ten(kNanoDigits)}; }

int64_t scaled_value(Quantity quantity, int64_t scale) {
  const Wide magnitude = quantity.nanos < 0 ? -quantity.nanos : quantity.nanos;
  const int64_t digits = -kNanoDigits - std::clamp<int64_t>(scale, -100, 100);
  const Wide scaled = shifted(magnitude, digits);
  const Wide most = std::numeric_limits<int64_t>::max();
  const auto fitting = static_cast<int64_t>(std::min(scaled, most));
  return quantity.nanos < 0 ? -fitting : fitting;
}

double approximate(Quantity quantity) { return static_cast<double>(quantity.nanos) / 1e9; }

}  // namespace careen::templates
