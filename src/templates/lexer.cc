#include "templates/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "templates/unicode.h"

namespace careen::templates {

namespace {

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";
constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kDecimal = "0123456789_";
constexpr std::string_view kHexadecimal = "0123456789abcdefABCDEF_";
// The marker and the blank that separates it from the action.
constexpr size_t kTrimMarker = 2;
constexpr std::array<std::string_view, 11> kKeywords{"block", "break", "continue", "define",   "else", "end",
                                                     "if",    "nil",   "range",    "template", "with"};

bool is_space(char c) { return kSpaces.find(c) != std::string_view::npos; }

bool opens_with_trim(std::string_view text) {
  return text.size() >= kTrimMarker && text[0] == '-' && is_space(text[1]);
}

std::string_view without_trailing_space(std::string_view text) {
  const size_t last = text.find_last_not_of(kSpaces);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

size_t leading_space(std::string_view text) { return std::min(text.find_first_not_of(kSpaces), text.size()); }

std::string name_of(std::string_view text) {
  const Rune rune = decode_rune(text);
  std::string name = fmt::format("U+{:04X}", static_cast<uint32_t>(rune.value));
  if (is_printable(rune.value)) name += fmt::format(" '{}'", text.substr(0, rune.width));
  return name;
}

}  // namespace

std::string describe(const Token& token) {
  constexpr size_t kLongest = 20;
  if (token.kind == TokenKind::end_of_text) return "the end of the template";
  if (token.kind == TokenKind::keyword) return fmt::format("<{}>", token.text);
  if (token.kind == TokenKind::space) return "a blank";
  if (token.text.size() > kLongest) return fmt::format("\"{}…\"", token.text.substr(0, kLongest));
  return fmt::format("\"{}\"", token.text);
}

Place Lexer::place(size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? offset : offset - newline - 1;
  return {static_cast<int>(line), static_cast<int>(column) + 1};
}

void Lexer::fail(size_t offset, std::string message) const { fail_at(place(offset), std::move(message)); }

void Lexer::fail_bad_character() const {
  fail(position_, fmt::format("bad character {}", name_of(text_.substr(position_))));
}

Token Lexer::make(TokenKind kind) {
  const Token token{kind, start_, text_.substr(start_, position_ - start_)};
  start_ = position_;
  return token;
}

bool Lexer::at_trimming_close() const {
  const std::string_view rest = text_.substr(position_);
  return rest.size() >= kTrimMarker && is_space(rest[0]) && rest[1] == '-' &&
         rest.substr(kTrimMarker).starts_with(kClose);
}

bool Lexer::at_close() const { return at(kClose) || at_trimming_close(); }

bool Lexer::at_word_end() const {
  if (position_ == text_.size()) return true;
  const char c = text_[position_];
  return is_space(c) || std::string_view(".,|:)(").find(c) != std::string_view::npos || at(kClose);
}

bool Lexer::at_alphanumeric() const {
  if (position_ == text_.size()) return false;
  const char32_t rune = decode_rune(text_.substr(position_)).value;
  return rune == '_' || is_letter(rune) || is_digit(rune);
}

void Lexer::skip_alphanumeric() {
  while (at_alphanumeric()) position_ += decode_rune(text_.substr(position_)).width;
}

bool Lexer::accept(std::string_view characters) {
  if (position_ == text_.size() || characters.find(text_[position_]) == std::string_view::npos) return false;
  ++position_;
  return true;
}

void Lexer::accept_run(std::string_view characters) {
  while (accept(characters)) {
  }
}

Token Lexer::next() { return inside_ ? next_inside() : next_text(); }

Token Lexer::next_text() {
  while (true) {
    start_ = position_;
    const size_t open = text_.find(kOpen, position_);
    if (open == std::string_view::npos) {
      position_ = text_.size();
      return make(position_ == start_ ? TokenKind::end_of_text : TokenKind::text);
    }
    std::string_view before = text_.substr(position_, open - position_);
    const bool trims = opens_with_trim(text_.substr(open + kOpen.size()));
    if (trims) before = without_trailing_space(before);
    position_ = open;
    if (!before.empty()) return {TokenKind::text, start_, before};
    start_ = position_;
    const size_t inner = open + kOpen.size() + (trims ? kTrimMarker : 0);
    if (!text_.substr(inner).starts_with("/*")) return open_action();
    position_ = inner;
    skip_comment();
  }
}

Token Lexer::open_action() {
  action_start_ = position_;
  position_ += kOpen.size();
  const Token token = make(TokenKind::open);
  if (opens_with_trim(text_.substr(position_))) position_ += kTrimMarker;
  start_ = position_;
  inside_ = true;
  parens_ = 0;
  return token;
}

void Lexer::skip_comment() {
  const size_t end = text_.find("*/", position_ + 2);
  if (end == std::string_view::npos) fail(position_, "unclosed comment");
  position_ = end + 2;
  const bool trims = at_trimming_close();
  if (!trims && !at(kClose)) fail(position_, "comment ends before the closing }}");
  position_ += kClose.size() + (trims ? kTrimMarker : 0);
  if (trims) position_ += leading_space(text_.substr(position_));
}

Token Lexer::close_action() {
  const bool trims = at_trimming_close();
  if (trims) position_ += kTrimMarker;
  start_ = position_;
  position_ += kClose.size();
  const Token token = make(TokenKind::close);
  if (trims) position_ += leading_space(text_.substr(position_));
  inside_ = false;
  return token;
}

Token Lexer::next_inside() {
  start_ = position_;
  if (at_close()) {
    if (parens_ == 0) return close_action();
    fail(position_, "unclosed left parenthesis");
  }
  if (position_ == text_.size()) fail(action_start_, "unclosed action");
  const char c = text_[position_];
  if (is_space(c)) return space();
  if (at_alphanumeric() && !(c >= '0' && c <= '9')) return identifier();
  const bool number_follows =
      position_ + 1 == text_.size() || is_digit(static_cast<unsigned char>(text_[position_ + 1]));
  if ((c >= '0' && c <= '9') || c == '+' || c == '-' || (c == '.' && number_follows)) return number();
  ++position_;
  switch (c) {
    case '=':
      return make(TokenKind::assign);
    case ':':
      if (!accept("=")) fail(start_, "expected :=");
      return make(TokenKind::declare);
    case '|':
      return make(TokenKind::pipe);
    case '"':
      return quoted('"', TokenKind::quoted, "quoted string");
    case '\'':
      return quoted('\'', TokenKind::character, "character constant");
    case '`':
      return raw();
    case '$':
      return word(TokenKind::variable);
    case '.':
      return word(TokenKind::field);
    case '(':
      ++parens_;
      return make(TokenKind::left_paren);
    case ')':
      if (--parens_ < 0) fail(start_, "unexpected right parenthesis");
      return make(TokenKind::right_paren);
    default:
      break;
  }
  if (c > ' ' && c < 0x7F) return make(TokenKind::symbol);
  fail(start_, fmt::format("unrecognized character in action: {}", name_of(text_.substr(start_))));
}

// The last blank before a trimming }} belongs to it.
Token Lexer::space() {
  while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  --position_;
  if (!at_trimming_close()) {
    ++position_;
    return make(TokenKind::space);
  }
  return position_ == start_ ? close_action() : make(TokenKind::space);
}

Token Lexer::word(TokenKind kind) {
  if (at_word_end()) return make(kind == TokenKind::field ? TokenKind::dot : kind);
  skip_alphanumeric();
  if (!at_word_end()) fail_bad_character();
  return make(kind);
}

Token Lexer::identifier() {
  skip_alphanumeric();
  if (!at_word_end()) fail_bad_character();
  Token token = make(TokenKind::identifier);
  if (token.text == "true" || token.text == "false") token.kind = TokenKind::boolean;
  if (std::find(kKeywords.begin(), kKeywords.end(), token.text) != kKeywords.end()) token.kind = TokenKind::keyword;
  return token;
}

Token Lexer::quoted(char quote, TokenKind kind, std::string_view what) {
  while (position_ < text_.size() && text_[position_] != '\n') {
    const char c = text_[position_++];
    if (c == quote) return make(kind);
    if (c != '\\') continue;
    if (position_ == text_.size() || text_[position_] == '\n') break;
    ++position_;
  }
  fail(start_, fmt::format("unterminated {}", what));
}

Token Lexer::raw() {
  const size_t end = text_.find('`', position_);
  if (end == std::string_view::npos) fail(start_, "unterminated raw quoted string");
  position_ = end + 1;
  return make(TokenKind::raw);
}

Token Lexer::number() {
  bool good = scan_number();
  if (good && position_ < text_.size() && (text_[position_] == '+' || text_[position_] == '-')) {
    good = scan_number() && text_[position_ - 1] == 'i';
  }
  if (!good) fail(start_, fmt::format("bad number syntax: \"{}\"", text_.substr(start_, position_ - start_)));
  return make(TokenKind::number);
}

// Takes what could be a number; whether it is one the parser finds out.
bool Lexer::scan_number() {
  accept("+-");
  std::string_view digits = kDecimal;
  if (accept("0")) {
    if (accept("xX")) {
      digits = kHexadecimal;
    } else if (accept("oO")) {
      digits = "01234567_";
    } else if (accept("bB")) {
      digits = "01_";
    }
  }
  accept_run(digits);
  if (accept(".")) accept_run(digits);
  const std::string_view exponent = digits == kDecimal ? "eE" : digits == kHexadecimal ? "pP" : "";
  if (accept(exponent)) {
    accept("+-");
    accept_run(kDecimal);
  }
  accept("i");
  if (!at_alphanumeric()) return true;
  position_ += decode_rune(text_.substr(position_)).width;
  return false;
}

}  // namespace careen::templates
