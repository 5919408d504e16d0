// Cuts a template into text and the tokens of its actions. Text next to a trim marker comes out trimmed, comments do
// not come out at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "templates/error.h"

namespace careen::templates {

enum class TokenKind {
  end_of_text,
  text,
  open,   // {{
  close,  // }}
  space,
  left_paren,
  right_paren,
  pipe,
  assign,
  declare,
  symbol,  // any other character, such as a comma
  dot,
  field,
  variable,
  identifier,
  boolean,
  number,
  character,
  quoted,
  raw,
  keyword,
};

struct Token {
  TokenKind kind = TokenKind::end_of_text;
  size_t offset = 0;
  std::string_view text;

  bool is_keyword(std::string_view word) const { return kind == TokenKind::keyword && text == word; }
};

// How a message names a token.
std::string describe(const Token& token);

class Lexer {
 public:
  // The text has to outlive the lexer and its tokens.
  explicit Lexer(std::string_view text) : text_(text) {}

  // Throws TemplateFailure where the text is not a template.
  Token next();
  Place place(size_t offset) const;

 private:
  Token next_text();
  Token next_inside();
  Token open_action();
  Token close_action();
  void skip_comment();
  Token space();
  Token word(TokenKind kind);
  Token identifier();
  Token quoted(char quote, TokenKind kind, std::string_view what);
  Token raw();
  Token number();
  bool scan_number();
  void skip_alphanumeric();
  bool accept(std::string_view characters);
  void accept_run(std::string_view characters);

  bool at(std::string_view prefix) const { return text_.substr(position_).starts_with(prefix); }
  bool at_close() const;
  bool at_trimming_close() const;
  bool at_word_end() const;
  bool at_alphanumeric() const;
  Token make(TokenKind kind);
  [[noreturn]] void fail(size_t offset, std::string message) const;
  [[noreturn]] void fail_bad_character() const;

  std::string_view text_;
  size_t position_ = 0;
  size_t start_ = 0;
  int parens_ = 0;
  bool inside_ = false;
  size_t action_start_ = 0;
};

}  // namespace careen::templates
