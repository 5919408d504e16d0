#include "io/printable.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace careen::io {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_harmless(char32_t code) {
  if (code < 0x20 || (code >= 0x7F && code <= 0x9F)) return false;       // controls; terminals obey the high ones, too
  if (code == 0x061C || code == 0x200E || code == 0x200F) return false;  // marks of direction
  if (code >= 0x2028 && code <= 0x202E) return false;                    // line ends; embeddings and overrides
  return code < 0x2066 || code > 0x206F;                                 // isolates, and what else was for direction
}

bool is_white_space(char32_t code) {
  return (code >= '\t' && code <= '\r') || code == 0x85 || code == 0x2028 || code == 0x2029;
}

// Of the well-formed sequence that begins with this byte; 0 when none does.
size_t length_after(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

bool ends_line(std::string_view text) { return text.starts_with('\n') || text.starts_with("\r\n"); }

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const size_t length = length_after(byte(0));
  if (length == 0 || text.size() < length) return {};
  if (length == 1) return {1, byte(0), is_harmless(byte(0))};
  char32_t code = byte(0) & (0x7F >> length);
  for (size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(at) & 0x3F);
  }
  // Longer than needed, a surrogate, or beyond the last character.
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (is_overlong || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return {};
  return {length, code, is_harmless(code)};
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    if (next.harmless) {
      out += text.substr(0, next.length);
    } else if (is_white_space(next.code)) {
      out += ' ';
    } else {
      out += kReplacement;
    }
    text.remove_prefix(next.length);
  }
  return out;
}

std::string escaped_document(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    if (next.harmless || ends_line(text) || next.code == '\t') {
      out += text.substr(0, next.length);
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<uint32_t>(next.code));
    }
    text.remove_prefix(next.length);
  }
  return out;
}

}  // namespace careen::io
