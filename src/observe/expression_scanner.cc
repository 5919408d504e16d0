#include "observe/expression_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "io/ascii.h"
#include "observe/go_number.h"

namespace careen::observe {

namespace {

bool is_letter(char c) { return (io::lower(c) >= 'a' && io::lower(c) <= 'z') || c == '_'; }

// Of the UTF-8 character that begins there, so that messages quote it whole.
std::size_t character_length(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) ++length;
  return length;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// A quoted string's content, character by character.
class Unquoter {
 public:
  Unquoter(std::string_view content, std::size_t offset, char quote)
      : content_(content), offset_(offset), quote_(quote) {}

  std::string unquote() {
    std::string out;
    for (int characters = 0; at_ < content_.size(); ++characters) {
      if (quote_ == '\'' && characters == 1) {
        throw ExpressionProblem{offset_ - 1, "single quotes hold one character; use \"\" for a string"};
      }
      if (content_[at_] == '\\') {
        escape(out);
      } else {
        const std::size_t length = character_length(content_.substr(at_));
        out += content_.substr(at_, length);
        at_ += length;
      }
    }
    return out;
  }

 private:
  void escape(std::string& out) {
    constexpr std::string_view kLetters = "abfnrtv\\";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\";
    const std::size_t begin = at_;
    const char c = content_[at_ + 1];  // the scanner never ends a string on a backslash
    at_ += 2;
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      out += kMeanings[known];
    } else if (c == quote_) {
      out += c;
    } else if (c == 'x') {
      out += static_cast<char>(code(begin, 2, 16));
    } else if (c == 'u' || c == 'U') {
      const uint32_t point = code(begin, c == 'u' ? 4 : 8, 16);
      if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) unknown(begin);
      append_utf8(out, point);
    } else if (c >= '0' && c <= '7') {
      --at_;
      const uint32_t byte = code(begin, 3, 8);
      if (byte > 0xff) unknown(begin);
      out += static_cast<char>(byte);
    } else {
      unknown(begin);
    }
  }

  uint32_t code(std::size_t begin, int length, uint32_t base) {
    uint32_t value = 0;
    for (; length > 0; --length, ++at_) {
      const char c = at_ < content_.size() ? io::lower(content_[at_]) : '\0';
      const uint32_t digit = io::is_digit(c) ? static_cast<uint32_t>(c - '0') : static_cast<uint32_t>(c - 'a') + 10;
      if (!io::is_hex_digit(c) || digit >= base) unknown(begin);
      value = value * base + digit;
    }
    return value;
  }

  [[noreturn]] void unknown(std::size_t begin) const {
    throw ExpressionProblem{offset_ + begin, "this is no escape sequence; a backslash itself is written \\\\"};
  }

  std::string_view content_;
  std::size_t offset_;
  char quote_;
  std::size_t at_ = 0;
};

}  // namespace

Word ExpressionScanner::next() {
  skip_blanks_and_comments();
  if (at_ >= text_.size()) return {Word::Kind::end, text_.size(), {}, 0, {}};
  const char c = text_[at_];
  if (is_letter(c)) return name();
  if (io::is_digit(c) || (c == '.' && io::is_digit(at(at_ + 1)))) return number();
  if (c == '"' || c == '\'') return quoted();
  if (c == '`') return raw();
  return take(Word::Kind::sign, character_length(text_.substr(at_)));
}

void ExpressionScanner::lengthen(Word& sign) {
  constexpr std::array<std::string_view, 12> kPairs = {"**", "<=", ">=", "==", "!=", "&&",
                                                       "||", "??", "<<", ">>", "=~", "!~"};
  if (sign.kind != Word::Kind::sign || sign.spelled.size() != 1) return;
  const std::string_view pair = text_.substr(sign.offset, 2);
  if (std::find(kPairs.begin(), kPairs.end(), pair) == kPairs.end()) return;
  sign.spelled = pair;
  at_ = sign.offset + 2;
}

void ExpressionScanner::skip_blanks_and_comments() {
  for (;;) {
    const char c = at(at_);
    if (at_ < text_.size() && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
      ++at_;
    } else if (c == '/' && at(at_ + 1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && at(at_ + 1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else {
      return;
    }
  }
}

bool ExpressionScanner::digits(std::size_t& end, bool hex) const {
  const std::size_t begin = end;
  while (at(end) == '_' || (hex ? io::is_hex_digit(at(end)) : io::is_digit(at(end)))) ++end;
  return end > begin;
}

Word ExpressionScanner::number() {
  std::size_t end = at_;
  bool hex = false;
  bool whole = true;
  if (at(end) == '0') {
    ++end;
    const char prefix = io::lower(at(end));
    hex = prefix == 'x';
    if (hex || prefix == 'o' || prefix == 'b') ++end;
  }
  digits(end, hex);
  if (at(end) == '.') {
    ++end;
    whole = false;
    digits(end, hex);
  }
  if (io::lower(at(end)) == 'e' || io::lower(at(end)) == 'p') {
    ++end;
    whole = false;
    if (at(end) == '+' || at(end) == '-') ++end;
    digits(end, false);
  }
  Word word = take(Word::Kind::number, end - at_);
  // Whole hexadecimal numbers are read as everybody means them.
  const auto value = parse_go_float(hex && whole ? std::string(word.spelled) + "p0" : std::string(word.spelled));
  if (!value) {
    throw ExpressionProblem{word.offset, fmt::format("\"{}\" is no number that can be used here", word.spelled)};
  }
  word.number = *value;
  return word;
}

Word ExpressionScanner::quoted() {
  const char quote = text_[at_];
  std::size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size() || text_[end] != quote) throw ExpressionProblem{at_, "this string is not closed"};
  Word word = take(Word::Kind::text, end + 1 - at_);
  const std::string_view content = word.spelled.substr(1, word.spelled.size() - 2);
  if (content.find('\n') != std::string_view::npos) throw ExpressionProblem{word.offset, "this string is not closed"};
  word.text = Unquoter(content, word.offset + 1, quote).unquote();
  return word;
}

Word ExpressionScanner::raw() {
  const std::size_t end = text_.find('`', at_ + 1);
  if (end == std::string_view::npos) throw ExpressionProblem{at_, "this string is not closed"};
  Word word = take(Word::Kind::text, end + 1 - at_);
  word.text = word.spelled.substr(1, word.spelled.size() - 2);
  std::erase(word.text, '\r');
  return word;
}

Word ExpressionScanner::name() {
  std::size_t end = at_;
  while (is_letter(at(end)) || io::is_digit(at(end))) ++end;
  return take(Word::Kind::name, end - at_);
}

Word ExpressionScanner::take(Word::Kind kind, std::size_t length) {
  Word word{kind, at_, text_.substr(at_, length), 0, {}};
  at_ += length;
  return word;
}

}  // namespace careen::observe
