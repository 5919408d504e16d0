// Characters as Go sees them: UTF-8 in and out, and the classes of Unicode that decide what an identifier is and what
// is printed as it stands. Bytes that are not UTF-8 read as U+FFFD of width one, as in Go.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace careen::templates {

inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr char32_t kLastRune = 0x10FFFF;

struct Rune {
  char32_t value = kReplacement;
  size_t width = 1;
  // False for the U+FFFD that stands for a byte which is not UTF-8.
  bool valid = false;
};

// The first character of a text that is not empty.
Rune decode_rune(std::string_view text);
// U+FFFD in place of what is not a character.
void append_rune(std::string& out, char32_t rune);
size_t count_runes(std::string_view text);
// A character that may occur in UTF-8: no surrogate, not beyond the last one.
bool is_rune(char32_t rune);

bool is_letter(char32_t rune);
bool is_digit(char32_t rune);
// Letters, marks, numbers, punctuation, symbols and the ASCII space.
bool is_printable(char32_t rune);

}  // namespace careen::templates
