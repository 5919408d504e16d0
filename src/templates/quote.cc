#include "templates/quote.h"

#include <fmt/format.h>

#include "templates/unicode.h"

namespace careen::templates {

namespace {

constexpr std::string_view kEscaped = "\a\b\f\n\r\t\v";
constexpr std::string_view kEscapes = "abfnrtv";

void append_escaped(std::string& out, char32_t rune, char mark, bool ascii_only) {
  if (rune == static_cast<char32_t>(mark) || rune == '\\') {
    out.push_back('\\');
    out.push_back(static_cast<char>(rune));
    return;
  }
  if (is_printable(rune) && (rune < 0x80 || !ascii_only)) return append_rune(out, rune);
  const size_t known = rune < 0x80 ? kEscaped.find(static_cast<char>(rune)) : std::string_view::npos;
  const auto number = static_cast<uint32_t>(rune);
  if (known != std::string_view::npos) {
    out.push_back('\\');
    out.push_back(kEscapes[known]);
  } else if (rune < ' ' || rune == 0x7F) {
    out += fmt::format("\\x{:02x}", number);
  } else if (rune < 0x10000) {
    out += fmt::format("\\u{:04x}", number);
  } else {
    out += fmt::format("\\U{:08x}", number);
  }
}

}  // namespace

std::string quote(std::string_view text, bool ascii_only) {
  std::string out = "\"";
  while (!text.empty()) {
    const Rune rune = decode_rune(text);
    if (rune.valid) {
      append_escaped(out, rune.value, '"', ascii_only);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(rune.width);
  }
  out.push_back('"');
  return out;
}

std::string quote_rune(char32_t rune, bool ascii_only) {
  std::string out = "'";
  append_escaped(out, is_rune(rune) ? rune : kReplacement, '\'', ascii_only);
  out.push_back('\'');
  return out;
}

bool can_backquote(std::string_view text) {
  constexpr char32_t kByteOrderMark = 0xFEFF;
  while (!text.empty()) {
    const Rune rune = decode_rune(text);
    if (!rune.valid || rune.value == kByteOrderMark) return false;
    if ((rune.value < ' ' && rune.value != '\t') || rune.value == '`' || rune.value == 0x7F) return false;
    text.remove_prefix(rune.width);
  }
  return true;
}

}  // namespace careen::templates
