#include "templates/float_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace careen::templates {

namespace {

std::string chars(double value, std::chars_format format, std::optional<int> precision) {
  // The longest number has 309 digits before the point.
  std::string buffer(static_cast<size_t>(precision.value_or(0)) + 400, '\0');
  char* const end = buffer.data() + buffer.size();
  const auto result = precision ? std::to_chars(buffer.data(), end, value, format, *precision)
                                : std::to_chars(buffer.data(), end, value, format);
  buffer.resize(static_cast<size_t>(result.ptr - buffer.data()));
  return buffer;
}

// The digits of a positive number and the power of ten of the first one.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

Decimal decimal(double magnitude, int precision) {
  const std::optional<int> places = precision < 0 ? std::nullopt : std::optional(precision - 1);
  const std::string text = chars(magnitude, std::chars_format::scientific, places);
  const size_t mark = text.find('e');
  Decimal result;
  result.exponent = std::atoi(text.c_str() + mark + 1);
  for (const char c : std::string_view(text).substr(0, mark)) {
    if (c != '.') result.digits.push_back(c);
  }
  while (result.digits.size() > 1 && result.digits.back() == '0') result.digits.pop_back();
  return result;
}

std::string with_exponent(const Decimal& number, char mark) {
  std::string out = number.digits.substr(0, 1);
  if (number.digits.size() > 1) out += "." + number.digits.substr(1);
  return out + fmt::format("{}{}{:02}", mark, number.exponent < 0 ? '-' : '+', std::abs(number.exponent));
}

std::string without_exponent(const Decimal& number) {
  if (number.exponent < 0) return "0." + std::string(static_cast<size_t>(-number.exponent - 1), '0') + number.digits;
  const auto whole = static_cast<size_t>(number.exponent) + 1;
  if (number.digits.size() <= whole) return number.digits + std::string(whole - number.digits.size(), '0');
  return number.digits.substr(0, whole) + "." + number.digits.substr(whole);
}

std::string general(double magnitude, int precision, char mark) {
  constexpr int kShortestThreshold = 6;
  const bool shortest = precision < 0;
  if (precision == 0) precision = 1;
  const Decimal number = magnitude == 0 ? Decimal{"0", 0} : decimal(magnitude, precision);
  const int count = magnitude == 0 ? 0 : static_cast<int>(number.digits.size());
  int threshold = precision;
  if (threshold > count && count >= number.exponent + 1) threshold = count;
  if (shortest) threshold = kShortestThreshold;
  const bool far = magnitude != 0 && (number.exponent < -4 || number.exponent >= threshold);
  return far ? with_exponent(number, mark) : without_exponent(number);
}

std::string hexadecimal(double magnitude, int precision) {
  const std::optional<int> places = precision < 0 ? std::nullopt : std::optional(precision);
  const std::string text = chars(magnitude, std::chars_format::hex, places);
  const size_t mark = text.find('p');
  const int exponent = std::atoi(text.c_str() + mark + 1);
  return fmt::format("0x{}p{}{:02}", text.substr(0, mark), exponent < 0 ? '-' : '+', std::abs(exponent));
}

std::string binary(double magnitude) {
  constexpr int kMantissaBits = 53;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);
  const auto mantissa = static_cast<int64_t>(std::ldexp(fraction, kMantissaBits));
  const int power = magnitude == 0 ? -1074 : exponent - kMantissaBits;
  return fmt::format("{}p{:+}", mantissa, power);
}

std::string magnitude_text(double magnitude, char verb, int precision) {
  switch (verb) {
    case 'e':
    case 'E':
      return chars(magnitude, std::chars_format::scientific, precision < 0 ? std::nullopt : std::optional(precision));
    case 'f':
      return chars(magnitude, std::chars_format::fixed, precision < 0 ? std::nullopt : std::optional(precision));
    case 'x':
    case 'X':
      return hexadecimal(magnitude, precision);
    case 'b':
      return binary(magnitude);
    default:
      return general(magnitude, precision, verb == 'G' ? 'E' : 'e');
  }
}

}  // namespace

std::string float_text(double value, char verb, int precision) {
  std::string text = magnitude_text(std::fabs(value), verb, precision);
  if (verb == 'E' || verb == 'X') {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  }
  return std::signbit(value) ? "-" + text : text;
}

}  // namespace careen::templates
