#include "templates/unicode.h"

#include <algorithm>
#include <span>

#include "templates/unicode_ranges.h"

namespace careen::templates {

namespace {

bool within(std::span<const Range> ranges, char32_t rune) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), rune,
                                      [](char32_t wanted, const Range& range) { return wanted < range.first; });
  return after != ranges.begin() && rune <= std::prev(after)->last;
}

// How many bytes the character that begins with this byte has; 0 when none begins so.
size_t width_by_first(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

}  // namespace

bool is_rune(char32_t rune) { return rune <= kLastRune && (rune < 0xD800 || rune > 0xDFFF); }

Rune decode_rune(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t width = width_by_first(first);
  if (width == 1) return {first, 1, true};
  if (width == 0 || text.size() < width) return {};
  char32_t value = first & (0x7FU >> width);
  for (size_t i = 1; i < width; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte & 0x3FU);
  }
  const bool overlong = (width == 3 && value < 0x800) || (width == 4 && value < 0x10000);
  if (overlong || !is_rune(value)) return {};
  return {value, width, true};
}

void append_rune(std::string& out, char32_t rune) {
  if (!is_rune(rune)) rune = kReplacement;
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (rune < 0x80) return put(rune);
  if (rune < 0x800) {
    put(0xC0U | (rune >> 6U));
  } else if (rune < 0x10000) {
    put(0xE0U | (rune >> 12U));
    put(0x80U | ((rune >> 6U) & 0x3FU));
  } else {
    put(0xF0U | (rune >> 18U));
    put(0x80U | ((rune >> 12U) & 0x3FU));
    put(0x80U | ((rune >> 6U) & 0x3FU));
  }
  put(0x80U | (rune & 0x3FU));
}

size_t count_runes(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(decode_rune(text).width);
  return count;
}

bool is_letter(char32_t rune) {
  if (rune < 0x80) return (rune >= 'a' && rune <= 'z') || (rune >= 'A' && rune <= 'Z');
  return within(letters(), rune);
}

bool is_digit(char32_t rune) {
  if (rune < 0x80) return rune >= '0' && rune <= '9';
  return within(digits(), rune);
}

bool is_printable(char32_t rune) {
  if (rune < 0x80) return rune >= ' ' && rune < 0x7F;
  return within(printables(), rune);
}

}  // namespace careen::templates
