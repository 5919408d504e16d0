#include "templates/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "templates/float_text.h"
#include "templates/quote.h"
#include "templates/unicode.h"

namespace careen::templates {

namespace {

// Widths and precisions beyond are refused, as in Go.
constexpr int64_t kLargestNumber = 1000000;
constexpr std::string_view kLower = "0123456789abcdefx";
constexpr std::string_view kUpper = "0123456789ABCDEFX";

struct Flags {
  bool plus = false;
  bool minus = false;
  bool sharp = false;
  bool space = false;
  bool zero = false;
  // %+v and %#v, where the signs mean another thing.
  bool plus_v = false;
  bool sharp_v = false;
  std::optional<int> width;
  std::optional<int> precision;
};

std::string_view first_runes(std::string_view text, size_t count) {
  size_t end = 0;
  for (; count > 0 && end < text.size(); --count) end += decode_rune(text.substr(end)).width;
  return text.substr(0, end);
}

std::string digits_of(uint64_t number, unsigned base, std::string_view digits) {
  std::string reversed;
  do {
    reversed.push_back(digits[number % base]);
    number /= base;
  } while (number > 0);
  return {reversed.rbegin(), reversed.rend()};
}

// The verbs for which a value that has a text of its own is that text.
bool uses_own_text(char32_t verb) { return std::u32string_view(U"vsxXq").find(verb) != std::u32string_view::npos; }

class Printer {
 public:
  std::string take() { return std::move(out_); }
  std::string& out() { return out_; }
  bool full() const { return out_.size() > kLongestText; }
  Flags flags;

  void argument(const Value& value, char32_t verb) {
    if (!value.exists()) {
      if (verb == 'T' || verb == 'v') return padded("<nil>");
      return bad_verb(value, verb);
    }
    if (verb == 'T') return text(value, value.type->name, 's');
    if (verb == 'w' || verb == 'p') return bad_verb(value, verb);
    print(value, verb, 0);
  }

 private:
  void pad(int count, bool zeros) {
    if (count > 0) out_.append(static_cast<size_t>(count), zeros && flags.zero && !flags.minus ? '0' : ' ');
  }

  void padded(std::string_view content, bool zeros = true) {
    const int missing = flags.width ? *flags.width - static_cast<int>(count_runes(content)) : 0;
    if (!flags.minus) pad(missing, zeros);
    out_ += content;
    if (flags.minus) pad(missing, zeros);
  }

  void bad_verb(const Value& value, char32_t verb) {
    out_ += "%!";
    append_rune(out_, verb);
    out_.push_back('(');
    if (value.exists()) {
      out_ += value.type->name;
      out_.push_back('=');
      // Months and weekdays show their number here, as Go's do.
      const bool outer = std::exchange(explaining_, true);
      print(value, 'v', 0);
      explaining_ = outer;
    } else {
      out_ += "<nil>";
    }
    out_.push_back(')');
  }

  void print(const Value& value, char32_t verb, int depth) {
    if (full()) return;
    const bool number = value.is(Kind::integer);
    if (!flags.sharp_v && uses_own_text(verb) && !(explaining_ && number)) {
      if (const auto own = own_text(value)) return text(value, *own, verb);
    }
    const auto* time = std::get_if<GoTime>(&value.held);
    if (flags.sharp_v && verb == 'v' && time) return padded(truncated(go_source(*time)));
    switch (value.type->kind) {
      case Kind::boolean:
        if (verb != 't' && verb != 'v') return bad_verb(value, verb);
        return padded(boolean_of(value) ? "true" : "false");
      case Kind::integer:
        return integer(value, verb);
      case Kind::unsigned_integer:
        return integer(value, verb);
      case Kind::floating:
        return floating(value, verb);
      case Kind::text:
        return text(value, text_of(value), verb);
      case Kind::list:
        return list(value, verb, depth);
      case Kind::map:
        return map(value, verb, depth);
      case Kind::object:
        return object(value, verb, depth);
      case Kind::pointer:
        return pointer(value, verb, depth);
    }
  }

  // Texts.
  void text(const Value& value, std::string_view content, char32_t verb) {
    switch (verb) {
      case 'v':
        if (flags.sharp_v) return quoted(content);
        return padded(truncated(content));
      case 's':
        return padded(truncated(content));
      case 'q':
        return quoted(content);
      case 'x':
        return hexadecimal(content, kLower);
      case 'X':
        return hexadecimal(content, kUpper);
      default:
        return bad_verb(value, verb);
    }
  }

  std::string_view truncated(std::string_view content) const {
    return flags.precision ? first_runes(content, static_cast<size_t>(*flags.precision)) : content;
  }

  void quoted(std::string_view content) {
    content = truncated(content);
    if (flags.sharp && can_backquote(content)) return padded("`" + std::string(content) + "`");
    padded(quote(content, flags.plus));
  }

  void hexadecimal(std::string_view content, std::string_view digits) {
    if (flags.precision) content = content.substr(0, static_cast<size_t>(*flags.precision));
    std::string made;
    for (size_t i = 0; i < content.size(); ++i) {
      if (flags.space && i > 0) made.push_back(' ');
      if (flags.sharp && (i == 0 || flags.space)) made += {'0', digits[16]};
      const auto byte = static_cast<unsigned char>(content[i]);
      made += {digits[byte >> 4U], digits[byte & 15U]};
    }
    padded(made);
  }

  // Numbers.
  void integer(const Value& value, char32_t verb) {
    const bool is_signed = value.is(Kind::integer);
    const uint64_t bits = is_signed ? static_cast<uint64_t>(integer_of(value)) : unsigned_of(value);
    const bool negative = is_signed && integer_of(value) < 0;
    switch (verb) {
      case 'v':
        if (flags.sharp_v && !is_signed) {
          flags.sharp = true;
          integer_text(bits, negative, 16, kLower, verb);
          flags.sharp = false;
          return;
        }
        return integer_text(bits, negative, 10, kLower, verb);
      case 'd':
        return integer_text(bits, negative, 10, kLower, verb);
      case 'b':
        return integer_text(bits, negative, 2, kLower, verb);
      case 'o':
      case 'O':
        return integer_text(bits, negative, 8, kLower, verb);
      case 'x':
        return integer_text(bits, negative, 16, kLower, verb);
      case 'X':
        return integer_text(bits, negative, 16, kUpper, verb);
      case 'c':
        return character(bits);
      case 'q':
        return padded(quote_rune(rune_of(bits), flags.plus));
      case 'U':
        return unicode(bits);
      default:
        return bad_verb(value, verb);
    }
  }

  static char32_t rune_of(uint64_t bits) { return bits > kLastRune ? kReplacement : static_cast<char32_t>(bits); }

  void character(uint64_t bits) {
    std::string made;
    append_rune(made, rune_of(bits));
    padded(made);
  }

  void unicode(uint64_t bits) {
    std::string digits = digits_of(bits, 16, kUpper);
    const auto least = static_cast<size_t>(std::max(4, flags.precision.value_or(4)));
    if (digits.size() < least) digits.insert(0, least - digits.size(), '0');
    std::string made = "U+" + digits;
    if (flags.sharp && bits <= kLastRune && is_printable(static_cast<char32_t>(bits))) {
      made += " '";
      append_rune(made, static_cast<char32_t>(bits));
      made += "'";
    }
    padded(made, false);
  }

  void integer_text(uint64_t bits, bool negative, unsigned base, std::string_view digits, char32_t verb) {
    const uint64_t magnitude = negative ? ~bits + 1 : bits;
    size_t least = 0;
    if (flags.precision) {
      least = static_cast<size_t>(*flags.precision);
      if (least == 0 && magnitude == 0) return pad(flags.width.value_or(0), false);
    } else if (flags.zero && !flags.minus && flags.width) {
      const int room = *flags.width - (negative || flags.plus || flags.space ? 1 : 0);
      least = static_cast<size_t>(std::max(room, 0));
    }
    std::string made = digits_of(magnitude, base, digits);
    if (made.size() < least) made.insert(0, least - made.size(), '0');
    if (flags.sharp && base == 2) made.insert(0, "0b");
    if (flags.sharp && base == 8 && made[0] != '0') made.insert(0, "0");
    if (flags.sharp && base == 16) made.insert(0, {'0', digits[16]});
    if (verb == 'O') made.insert(0, "0o");
    if (negative) {
      made.insert(0, "-");
    } else if (flags.plus || flags.space) {
      made.insert(0, flags.plus ? "+" : " ");
    }
    padded(made, false);
  }

  void floating(const Value& value, char32_t verb) {
    switch (verb) {
      case 'v':
        return float_text_padded(float_of(value), 'g', -1);
      case 'b':
      case 'g':
      case 'G':
      case 'x':
      case 'X':
        return float_text_padded(float_of(value), static_cast<char>(verb), -1);
      case 'f':
      case 'F':
        return float_text_padded(float_of(value), 'f', 6);
      case 'e':
      case 'E':
        return float_text_padded(float_of(value), static_cast<char>(verb), 6);
      default:
        return bad_verb(value, verb);
    }
  }

  void float_text_padded(double value, char verb, int precision) {
    precision = flags.precision.value_or(precision);
    std::string digits = float_text(value, verb, precision);
    char sign = '+';
    if (digits[0] == '-') {
      sign = '-';
      digits.erase(0, 1);
    } else if (flags.space && !flags.plus) {
      sign = ' ';
    }
    if (flags.sharp && verb != 'b') digits = with_point(digits, verb, precision);
    if (!flags.plus && sign == '+') return padded(digits);
    const int missing = flags.width.value_or(0) - static_cast<int>(digits.size()) - 1;
    if (flags.zero && !flags.minus && missing > 0) {
      out_.push_back(sign);
      out_.append(static_cast<size_t>(missing), '0');
      out_ += digits;
      return;
    }
    padded(sign + digits);
  }

  // %#g and the like: always a point, and zeros up to the precision.
  static std::string with_point(const std::string& number, char verb, int precision) {
    const bool hexadecimal = verb == 'x' || verb == 'X';
    const size_t tail_at = std::min(number.find_first_of(hexadecimal ? "pP" : "eEpP"), number.size());
    std::string head = number.substr(0, tail_at);
    int missing = 0;
    if (verb == 'g' || verb == 'G' || verb == 'x') missing = precision < 0 ? 6 : precision;
    bool significant = false;
    for (const char c : head) {
      if (c == '.') continue;
      significant = significant || c != '0';
      missing -= significant ? 1 : 0;
    }
    if (head.find('.') == std::string::npos) {
      if (head == "0") --missing;
      head.push_back('.');
    }
    if (missing > 0) head.append(static_cast<size_t>(missing), '0');
    return head + number.substr(tail_at);
  }

  // What holds others.
  void between() { out_ += flags.sharp_v ? ", " : " "; }

  void list(const Value& value, char32_t verb, int depth) {
    if (flags.sharp_v) {
      out_ += value.type->name;
      if (is_nil(value)) {
        out_ += "(nil)";
        return;
      }
    }
    out_.push_back(flags.sharp_v ? '{' : '[');
    for (size_t i = 0; i < length(value); ++i) {
      if (i > 0) between();
      print(element(value, i), verb, depth + 1);
    }
    out_.push_back(flags.sharp_v ? '}' : ']');
  }

  void map(const Value& value, char32_t verb, int depth) {
    if (flags.sharp_v) {
      out_ += value.type->name;
      if (is_nil(value)) {
        out_ += "(nil)";
        return;
      }
    }
    out_ += flags.sharp_v ? "{" : "map[";
    bool first = true;
    for (const auto& [key, held] : entries(value)) {
      if (!std::exchange(first, false)) between();
      print(Value{&types::text, Text{key, nullptr}}, verb, depth + 1);
      out_.push_back(':');
      print(held, verb, depth + 1);
    }
    out_.push_back(flags.sharp_v ? '}' : ']');
  }

  void object(const Value& value, char32_t verb, int depth) {
    if (const auto own = own_text(value)) {
      out_ += "%!";
      append_rune(out_, verb);
      out_ += fmt::format("({}={})", value.type->name, *own);
      return;
    }
    // A node as Go prints it is of no use to people.
    if (value.type == &types::node) {
      out_ += std::get<kube::JsonView>(value.held).dump();
      return;
    }
    if (flags.sharp_v) out_ += value.type->name;
    out_.push_back('{');
    bool first = true;
    for (const Field& field : value.type->fields) {
      if (!std::exchange(first, false)) between();
      if (flags.plus_v || flags.sharp_v) {
        out_ += field.name;
        out_.push_back(':');
      }
      print(field_of(value, {nullptr, &field}), verb, depth + 1);
    }
    out_.push_back('}');
  }

  // Addresses mean nothing here: what is pointed to is printed in their place.
  void pointer(const Value& value, char32_t verb, int depth) {
    if (!is_nil(value)) {
      const Value target = pointed_to(value);
      if (depth == 0 && target.is(Kind::object) && !own_text(target) && target.type != &types::node)
        out_.push_back('&');
      return print(target, verb, depth + 1);
    }
    const Nature nature = value.type->element->nature;
    const bool prints_itself = nature == Nature::time || nature == Nature::api_time;
    if (prints_itself && !flags.sharp_v && uses_own_text(verb)) {
      out_ += "<nil>";
    } else if (verb == 'v' && flags.sharp_v) {
      out_ += fmt::format("({})(nil)", value.type->name);
    } else if (verb == 'v') {
      padded("<nil>");
    } else if (std::u32string_view(U"bodxX").find(verb) != std::u32string_view::npos) {
      integer_text(0, false, 10, kLower, verb);
    } else {
      bad_verb(value, verb);
    }
  }

  std::string out_;
  // Inside of the report of a verb that does not fit.
  bool explaining_ = false;
};

// Reads a format and hands its verbs to the printer.
class FormatReader {
 public:
  FormatReader(std::string_view format, std::span<const Value> values) : format_(format), values_(values) {}

  std::string run() {
    while (position_ < format_.size() && !printer_.full()) {
      const size_t percent = std::min(format_.find('%', position_), format_.size());
      printer_.out() += format_.substr(position_, percent - position_);
      position_ = percent + 1;
      if (percent < format_.size()) verb();
    }
    if (!reordered_ && next_ < values_.size()) extra();
    return printer_.take();
  }

 private:
  bool at(char c) const { return position_ < format_.size() && format_[position_] == c; }

  void read_flags() {
    Flags& flags = printer_.flags;
    for (; position_ < format_.size(); ++position_) {
      switch (format_[position_]) {
        case '+':
          flags.plus = true;
          break;
        case '-':
          flags.minus = true;
          break;
        case '#':
          flags.sharp = true;
          break;
        case ' ':
          flags.space = true;
          break;
        case '0':
          flags.zero = true;
          break;
        default:
          return;
      }
    }
  }

  // A number of the format; nothing, if there is none or it is too large.
  std::optional<int> number(size_t end) {
    int64_t value = 0;
    const size_t start = position_;
    while (position_ < end && format_[position_] >= '0' && format_[position_] <= '9') {
      if (value > kLargestNumber) return std::nullopt;
      value = value * 10 + (format_[position_++] - '0');
    }
    if (position_ == start) return std::nullopt;
    return static_cast<int>(value);
  }

  // [3]: the next argument is the third. True if such an index, good or bad, stands here.
  bool index() {
    if (!at('[')) return false;
    reordered_ = true;
    const size_t close = format_.find(']', position_);
    if (format_.size() - position_ < 3 || close == std::string_view::npos) {
      ++position_;
      good_index_ = false;
      return false;
    }
    ++position_;
    const std::optional<int> wanted = number(close);
    const bool read = wanted && position_ == close;
    position_ = close + 1;
    if (read && *wanted >= 1 && static_cast<size_t>(*wanted) <= values_.size()) {
      next_ = static_cast<size_t>(*wanted) - 1;
      return true;
    }
    good_index_ = false;
    return read;
  }

  // The width or precision that a * takes from the arguments.
  std::optional<int> argument_number() {
    if (next_ >= values_.size()) return std::nullopt;
    const Value& value = values_[next_++];
    int64_t read = 0;
    if (value.is(Kind::integer)) {
      read = integer_of(value);
    } else if (value.is(Kind::unsigned_integer)) {
      read = static_cast<int64_t>(unsigned_of(value));
    } else {
      return std::nullopt;
    }
    if (read > kLargestNumber || read < -kLargestNumber) return std::nullopt;
    return static_cast<int>(read);
  }

  void width(bool& after_index) {
    Flags& flags = printer_.flags;
    if (!at('*')) {
      flags.width = number(format_.size());
      if (after_index && flags.width) good_index_ = false;
      return;
    }
    ++position_;
    flags.width = argument_number();
    if (!flags.width) printer_.out() += "%!(BADWIDTH)";
    if (flags.width && *flags.width < 0) {
      flags.width = -*flags.width;
      flags.minus = true;
      flags.zero = false;
    }
    after_index = false;
  }

  void precision(bool& after_index) {
    if (!at('.')) return;
    ++position_;
    if (after_index) good_index_ = false;
    after_index = index();
    Flags& flags = printer_.flags;
    if (!at('*')) {
      flags.precision = number(format_.size()).value_or(0);
      return;
    }
    ++position_;
    flags.precision = argument_number();
    if (flags.precision && *flags.precision < 0) flags.precision.reset();
    if (!flags.precision) printer_.out() += "%!(BADPREC)";
    after_index = false;
  }

  void verb() {
    good_index_ = true;
    printer_.flags = {};
    read_flags();
    bool after_index = index();
    width(after_index);
    precision(after_index);
    if (!after_index) index();
    if (position_ >= format_.size()) {
      printer_.out() += "%!(NOVERB)";
      return;
    }
    const Rune rune = decode_rune(format_.substr(position_));
    position_ += rune.width;
    print(rune.value);
  }

  void print(char32_t verb) {
    std::string& out = printer_.out();
    if (verb == '%') {
      out.push_back('%');
      return;
    }
    if (!good_index_ || next_ >= values_.size()) {
      out += "%!";
      append_rune(out, verb);
      out += good_index_ ? "(MISSING)" : "(BADINDEX)";
      return;
    }
    if (verb == 'v') {
      Flags& flags = printer_.flags;
      flags.sharp_v = std::exchange(flags.sharp, false);
      flags.plus_v = std::exchange(flags.plus, false);
    }
    printer_.argument(values_[next_++], verb);
  }

  void extra() {
    printer_.flags = {};
    std::string& out = printer_.out();
    out += "%!(EXTRA ";
    bool first = true;
    for (const Value& value : values_.subspan(next_)) {
      if (!std::exchange(first, false)) out += ", ";
      if (value.exists()) out += fmt::format("{}=", value.type->name);
      printer_.argument(value, 'v');
    }
    out.push_back(')');
  }

  std::string_view format_;
  std::span<const Value> values_;
  size_t position_ = 0;
  size_t next_ = 0;
  bool reordered_ = false;
  bool good_index_ = true;
  Printer printer_;
};

}  // namespace

std::string sprint(std::span<const Value> values) {
  Printer printer;
  bool text_before = true;
  for (const Value& value : values) {
    const bool text = value.is(Kind::text);
    if (!text && !text_before) printer.out().push_back(' ');
    printer.argument(value, 'v');
    text_before = text;
  }
  return printer.take();
}

std::string sprintln(std::span<const Value> values) {
  Printer printer;
  bool first = true;
  for (const Value& value : values) {
    if (!std::exchange(first, false)) printer.out().push_back(' ');
    printer.argument(value, 'v');
  }
  printer.out().push_back('\n');
  return printer.take();
}

std::string sprintf(std::string_view format, std::span<const Value> values) {
  return FormatReader(format, values).run();
}

}  // namespace careen::templates
