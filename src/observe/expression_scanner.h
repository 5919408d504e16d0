// The words of a number expression: numbers, strings, names and signs, with comments and blanks left out. Where a
// word begins and ends follows Go's lexical rules.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace careen::observe {

struct Word {
  enum class Kind { end, number, text, name, sign };
  Kind kind = Kind::end;
  std::size_t offset = 0;
  std::string_view spelled;  // as written
  double number = 0;         // of a number
  std::string text;          // of a string, without quotes and escapes

  bool is(std::string_view sign) const { return kind == Kind::sign && spelled == sign; }
};

// What is wrong, and at which byte. The scanner and the compiler throw it, NumberExpression::compile() catches it.
struct ExpressionProblem {
  std::size_t offset = 0;
  std::string message;
};

class ExpressionScanner {
 public:
  explicit ExpressionScanner(std::string_view text) : text_(text) {}

  // The next word; a sign is one character.
  Word next();
  // Where an operator is expected a sign may be two characters: lengthens the word that next() gave last.
  void lengthen(Word& sign);

 private:
  void skip_blanks_and_comments();
  Word number();
  Word quoted();
  Word raw();
  Word name();
  Word take(Word::Kind kind, std::size_t length);
  char at(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  bool digits(std::size_t& end, bool hex) const;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace careen::observe
