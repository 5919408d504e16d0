#include "observe/go_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "io/ascii.h"

namespace careen::observe {

namespace {

bool equal_in_any_case(std::string_view text, std::string_view lower_case) {
  if (text.size() != lower_case.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (io::lower(text[i]) != lower_case[i]) return false;
  }
  return true;
}

std::optional<double> parse_special(std::string_view text) {
  if (equal_in_any_case(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (!equal_in_any_case(text, "inf") && !equal_in_any_case(text, "infinity")) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return negative ? -infinity : infinity;
}

// Checks a literal from left to right and collects it without its underscores.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : rest_(text) {}

  // The literal as strtod understands it; nullopt when the text is none.
  std::optional<std::string> read() {
    if (rest_.starts_with('+') || rest_.starts_with('-')) take();
    const bool hex = rest_.size() > 2 && rest_[0] == '0' && io::lower(rest_[1]) == 'x';
    if (hex) {
      take();
      take();
      last_ = '0';  // an underscore may follow the prefix as it may follow a digit
    }
    bool some = digits(hex);
    if (rest_.starts_with('.')) {
      take();
      some = digits(hex) || some;
    }
    if (!some || !exponent(hex) || !rest_.empty() || misplaced_ || last_ == '_') return std::nullopt;
    return std::move(plain_);
  }

 private:
  void take() {
    if (last_ == '_') misplaced_ = true;
    last_ = rest_.front();
    plain_ += last_;
    rest_.remove_prefix(1);
  }

  bool digits(bool hex) {
    bool some = false;
    for (; !rest_.empty(); rest_.remove_prefix(1)) {
      const char c = rest_.front();
      if (c == '_') {
        if (last_ != '0') misplaced_ = true;
        last_ = '_';
      } else if (hex ? io::is_hex_digit(c) : io::is_digit(c)) {
        last_ = '0';  // stands for any digit
        plain_ += c;
        some = true;
      } else {
        break;
      }
    }
    return some;
  }

  bool exponent(bool hex) {
    if (rest_.empty() || io::lower(rest_.front()) != (hex ? 'p' : 'e')) return !hex;
    take();
    if (rest_.starts_with('+') || rest_.starts_with('-')) take();
    return digits(false);
  }

  std::string_view rest_;
  std::string plain_;
  char last_ = '^';
  bool misplaced_ = false;
};

}  // namespace

std::optional<double> parse_go_float(std::string_view text) {
  if (const auto special = parse_special(text)) return special;
  const auto literal = LiteralReader(text).read();
  if (!literal) return std::nullopt;
  const double number = std::strtod(literal->c_str(), nullptr);
  if (std::isinf(number)) return std::nullopt;
  return number;
}

std::string format_go_float(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Inf" : "+Inf";
  const double size = std::fabs(number);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e6);
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {text.data(), end.ptr};
}

}  // namespace careen::observe
