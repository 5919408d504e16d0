#include "observe/expression_value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "io/overloaded.h"
#include "observe/go_number.h"

namespace careen::observe {

namespace {

using io::Overloaded;

template <class Visitor>
auto visit_value(Visitor&& visitor, const Value& value) {
  return std::visit(std::forward<Visitor>(visitor),
                    static_cast<const std::variant<std::monostate, bool, double, std::string, ValueList>&>(value));
}

bool is_nothing(const Value& value) { return std::holds_alternative<std::monostate>(value); }

std::string_view type_of(const Value& value) {
  return visit_value(Overloaded{
                         [](std::monostate) { return "nothing"; },
                         [](bool) { return "a truth"; },
                         [](double) { return "a number"; },
                         [](const std::string&) { return "a string"; },
                         [](const ValueList&) { return "a list"; },
                     },
                     value);
}

std::optional<double> to_number(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return parse_go_float(*text);
  return std::nullopt;
}

std::optional<bool> to_truth(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (is_nothing(value)) return false;
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (*text == "false" || *text == "FALSE") return false;
    if (*text == "true" || *text == "TRUE") return true;
  }
  const auto number = to_number(value);
  if (!number) return std::nullopt;
  return *number != 0;
}

std::string to_text(const Value& value) {
  return visit_value(Overloaded{
                         [](std::monostate) { return std::string("<nil>"); },
                         [](bool truth) { return std::string(truth ? "true" : "false"); },
                         [](double number) { return format_go_float(number); },
                         [](const std::string& text) { return text; },
                         [](const ValueList& list) {
                           std::string text = "[";
                           for (const Value& element : list) {
                             if (text.size() > 1) text += ' ';
                             text += to_text(element);
                           }
                           return text + "]";
                         },
                     },
                     value);
}

// Without any conversion.
bool same(const Value& left, const Value& right) {
  if (left.index() != right.index()) return false;
  const auto* list = std::get_if<ValueList>(&left);
  if (list == nullptr) {
    return visit_value(Overloaded{
                           [](std::monostate) { return true; },
                           [](const ValueList&) { return false; },
                           [&](const auto& mine) { return mine == std::get<std::decay_t<decltype(mine)>>(right); },
                       },
                       left);
  }
  const auto& other = std::get<ValueList>(right);
  if (list->size() != other.size()) return false;
  for (std::size_t i = 0; i < list->size(); ++i) {
    if (!same((*list)[i], other[i])) return false;
  }
  return true;
}

tl::unexpected<std::string> refuse(std::string message) { return tl::make_unexpected(std::move(message)); }

ValueResult impossible(Infix infix, const Value& left, const Value& right) {
  return refuse(fmt::format("\"{}\" cannot combine {} with {}", spelling(infix), type_of(left), type_of(right)));
}

// The whole part, if it is a 64-bit integer. What a conversion of anything else gives depends on the processor.
std::optional<int64_t> to_integer(double number) {
  constexpr double kLimit = 0x1p63;
  if (!(number >= -kLimit && number < kLimit)) return std::nullopt;
  return static_cast<int64_t>(number);
}

ValueResult outside_of_integers(std::string_view operation, double number) {
  return refuse(fmt::format("\"{}\" works on 64-bit integers, and {} is none", operation, format_go_float(number)));
}

int64_t shifted_left(int64_t number, int64_t places) {
  return places >= 64 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(number) << places);
}

int64_t shifted_right(int64_t number, int64_t places) { return number >> (places >= 64 ? 63 : places); }

ValueResult on_bits(Infix infix, double left, double right) {
  const auto a = to_integer(left);
  if (!a) return outside_of_integers(spelling(infix), left);
  const auto b = to_integer(right);
  if (!b) return outside_of_integers(spelling(infix), right);
  const bool shifts = infix == Infix::shift_left || infix == Infix::shift_right;
  if (shifts && *b < 0) return refuse(fmt::format("\"{}\" cannot shift by {}", spelling(infix), *b));
  const auto number = [](int64_t result) { return Value(static_cast<double>(result)); };
  switch (infix) {
    case Infix::bit_and:
      return number(*a & *b);
    case Infix::bit_or:
      return number(*a | *b);
    case Infix::bit_xor:
      return number(*a ^ *b);
    case Infix::shift_left:
      return number(shifted_left(*a, *b));
    default:
      return number(shifted_right(*a, *b));
  }
}

// By squaring, as Go does it: the last digit decides comparisons, and std::pow rounds large whole powers otherwise.
double whole_power(double base, int64_t exponent) {
  int base_scale = 0;
  double factor = std::frexp(base, &base_scale);
  double result = 1;
  int64_t scale = 0;
  int64_t factor_scale = base_scale;
  for (uint64_t rest = static_cast<uint64_t>(exponent < 0 ? -exponent : exponent); rest != 0; rest >>= 1) {
    if (factor_scale < -(1 << 12) || factor_scale > (1 << 12)) {
      scale += factor_scale;  // far beyond the range already, in one direction or the other
      break;
    }
    if ((rest & 1) != 0) {
      result *= factor;
      scale += factor_scale;
    }
    factor *= factor;
    factor_scale *= 2;
    if (factor < 0.5) {
      factor += factor;
      --factor_scale;
    }
  }
  if (exponent < 0) {
    result = 1 / result;
    scale = -scale;
  }
  return std::ldexp(result, static_cast<int>(scale));
}

double power(double base, double exponent) {
  constexpr double kLargestWhole = 1e9;
  const bool whole = std::fabs(exponent) <= kLargestWhole && std::trunc(exponent) == exponent;
  if (!whole || base == 0 || !std::isfinite(base)) return std::pow(base, exponent);
  return whole_power(base, static_cast<int64_t>(exponent));
}

// nullopt: not an operator on numbers.
std::optional<ValueResult> on_numbers(Infix infix, double left, double right) {
  switch (infix) {
    case Infix::add:
      return Value(left + right);
    case Infix::subtract:
      return Value(left - right);
    case Infix::multiply:
      return Value(left * right);
    case Infix::divide:
      return Value(left / right);
    case Infix::remainder:
      return Value(std::fmod(left, right));
    case Infix::power:
      return Value(power(left, right));
    case Infix::less:
      return Value(left < right);
    case Infix::at_most:
      return Value(left <= right);
    case Infix::greater:
      return Value(left > right);
    case Infix::at_least:
      return Value(left >= right);
    case Infix::equal:
      return Value(left == right);
    case Infix::unequal:
      return Value(left != right);
    case Infix::bit_and:
    case Infix::bit_or:
    case Infix::bit_xor:
    case Infix::shift_left:
    case Infix::shift_right:
      return on_bits(infix, left, right);
    case Infix::both:
    case Infix::either:
    case Infix::or_else:
    case Infix::in:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ValueResult> on_truths(Infix infix, bool left, bool right) {
  switch (infix) {
    case Infix::both:
      return Value(left && right);
    case Infix::either:
      return Value(left || right);
    case Infix::equal:
      return Value(left == right);
    case Infix::unequal:
      return Value(left != right);
    default:
      return std::nullopt;
  }
}

std::optional<ValueResult> on_texts(Infix infix, const std::string& left, const std::string& right) {
  switch (infix) {
    case Infix::add:
      return Value(left + right);
    case Infix::less:
      return Value(left < right);
    case Infix::at_most:
      return Value(left <= right);
    case Infix::greater:
      return Value(left > right);
    case Infix::at_least:
      return Value(left >= right);
    default:
      return std::nullopt;
  }
}

std::optional<ValueResult> on_equal_types(Infix infix, const Value& left, const Value& right) {
  if (left.index() != right.index()) return std::nullopt;
  if (const auto* a = std::get_if<double>(&left)) return on_numbers(infix, *a, std::get<double>(right));
  if (const auto* a = std::get_if<bool>(&left)) return on_truths(infix, *a, std::get<bool>(right));
  if (const auto* a = std::get_if<std::string>(&left)) return on_texts(infix, *a, std::get<std::string>(right));
  return std::nullopt;
}

ValueResult is_in(const Value& element, const Value& list) {
  const auto* elements = std::get_if<ValueList>(&list);
  if (elements == nullptr) return refuse(fmt::format("\"in\" needs a list on its right, not {}", type_of(list)));
  for (const Value& candidate : *elements) {
    if (same(element, candidate)) return Value(true);
  }
  return Value(false);
}

}  // namespace

ValueResult compute(Infix infix, const Value& left, const Value& right) {
  if (infix == Infix::in) return is_in(left, right);
  if (infix == Infix::or_else) return is_blank(left) ? right : left;
  if (auto result = on_equal_types(infix, left, right)) return std::move(*result);
  if (const auto a = to_number(left), b = to_number(right); a && b) {
    if (auto result = on_numbers(infix, *a, *b)) return std::move(*result);
  }
  if (const auto a = to_truth(left), b = to_truth(right); a && b) {
    if (auto result = on_truths(infix, *a, *b)) return std::move(*result);
  }
  if (infix == Infix::equal) return Value(same(left, right));
  if (infix == Infix::unequal) return Value(!same(left, right));
  if (!is_nothing(left) && !is_nothing(right)) {
    if (auto result = on_texts(infix, to_text(left), to_text(right))) return std::move(*result);
  }
  return impossible(infix, left, right);
}

ValueResult compute(Prefix prefix, const Value& operand) {
  if (prefix == Prefix::negate) {
    const auto truth = to_truth(operand);
    if (!truth) return refuse(fmt::format("\"!\" cannot negate {}", type_of(operand)));
    return Value(!*truth);
  }
  const std::string_view sign = prefix == Prefix::minus ? "-" : "~";
  const auto number = to_number(operand);
  if (!number) return refuse(fmt::format("\"{}\" needs a number behind it, not {}", sign, type_of(operand)));
  if (prefix == Prefix::minus) return Value(-*number);
  const auto integer = to_integer(*number);
  if (!integer) return outside_of_integers(sign, *number);
  return Value(static_cast<double>(~*integer));
}

bool decided_by_left(Infix infix, const Value& left) {
  const auto* truth = std::get_if<bool>(&left);
  switch (infix) {
    case Infix::both:
      return truth != nullptr && !*truth;
    case Infix::either:
      return truth != nullptr && *truth;
    case Infix::or_else:
      return !is_blank(left);
    default:
      return false;
  }
}

bool is_blank(const Value& value) {
  return visit_value(Overloaded{
                         [](std::monostate) { return true; },
                         [](bool truth) { return !truth; },
                         [](double number) { return number == 0; },
                         [](const std::string& text) { return text.empty(); },
                         [](const ValueList&) { return false; },
                     },
                     value);
}

tl::expected<bool, std::string> truth_of(const Value& value) {
  if (is_nothing(value)) return false;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* number = std::get_if<double>(&value)) return *number != 0;
  return refuse(fmt::format("the result is {}; it must be true, false or a number", type_of(value)));
}

std::string_view spelling(Infix infix) {
  switch (infix) {
    case Infix::add:
      return "+";
    case Infix::subtract:
      return "-";
    case Infix::multiply:
      return "*";
    case Infix::divide:
      return "/";
    case Infix::remainder:
      return "%";
    case Infix::power:
      return "**";
    case Infix::less:
      return "<";
    case Infix::at_most:
      return "<=";
    case Infix::greater:
      return ">";
    case Infix::at_least:
      return ">=";
    case Infix::equal:
      return "==";
    case Infix::unequal:
      return "!=";
    case Infix::both:
      return "&&";
    case Infix::either:
      return "||";
    case Infix::or_else:
      return "??";
    case Infix::in:
      return "in";
    case Infix::bit_and:
      return "&";
    case Infix::bit_or:
      return "|";
    case Infix::bit_xor:
      return "^";
    case Infix::shift_left:
      return "<<";
    case Infix::shift_right:
      return ">>";
  }
  return "";
}

}  // namespace careen::observe
