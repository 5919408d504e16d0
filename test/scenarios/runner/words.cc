#include "words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "controllers/profiles/state.h"

namespace careen::scenarios {

namespace {

constexpr io::Duration kDay = io::hours{24};
constexpr int64_t kLongestRange = 10'000;

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    out.push_back(text.substr(0, text.find_first_of(" \n")));
    text.remove_prefix(out.back().size());
  }
  return out;
}

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The first "<number>..<number>" of a word.
struct Range {
  size_t begin = 0, end = 0;  // in the word
  int64_t first = 0, last = 0;
  size_t width = 0;
};
std::optional<Range> find_range(std::string_view word) {
  const size_t dots = word.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  Range range{dots, dots + 2, 0, 0, 0};
  while (range.begin > 0 && is_digit(word[range.begin - 1])) --range.begin;
  while (range.end < word.size() && is_digit(word[range.end])) ++range.end;
  if (range.begin == dots || range.end == dots + 2) return std::nullopt;
  range.width = dots - range.begin;
  std::from_chars(word.data() + range.begin, word.data() + dots, range.first);
  std::from_chars(word.data() + dots + 2, word.data() + range.end, range.last);
  if (range.last - range.first > kLongestRange) return std::nullopt;
  return range;
}

void expand_word(std::string_view word, std::vector<std::string>& out) {
  const auto range = find_range(word);
  if (!range) {
    out.emplace_back(word);
    return;
  }
  for (int64_t number = range->first; number <= range->last; ++number) {
    expand_word(fmt::format("{}{:0{}}{}", word.substr(0, range->begin), number, range->width, word.substr(range->end)),
                out);
  }
}

struct Spelling {
  std::string_view words;
  Amount::Kind kind;
  double offset;
};
constexpr Spelling kSpellings[] = {
    {"at least ", Amount::Kind::at_least, 0},  {"at most ", Amount::Kind::at_most, 0},
    {"more than ", Amount::Kind::at_least, 1}, {"fewer than ", Amount::Kind::at_most, -1},
    {"exactly ", Amount::Kind::exactly, 0},
};

}  // namespace

std::vector<std::string> expand(std::string_view words) {
  std::vector<std::string> out;
  for (const std::string_view word : split(words)) expand_word(word == "all" ? "*" : word, out);
  return out;
}

bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string in_turn(std::string_view choices, size_t index) {
  std::vector<std::string_view> all;
  for (;;) {
    const size_t bar = choices.find('|');
    all.push_back(choices.substr(0, bar));
    if (bar == std::string_view::npos) break;
    choices.remove_prefix(bar + 1);
  }
  return std::string(all[index % all.size()]);
}

bool Amount::admits(double number) const {
  if (kind == Kind::at_least) return number >= value;
  if (kind == Kind::at_most) return number <= value;
  if (kind == Kind::other_than) return number != value;
  return number == value;
}

Amount Amount::opposite() const {
  switch (kind) {
    case Kind::at_least:
      return {Kind::at_most, value - 1};
    case Kind::at_most:
      return {Kind::at_least, value + 1};
    case Kind::exactly:
      return {Kind::other_than, value};
    case Kind::other_than:
      break;
  }
  return {Kind::exactly, value};
}

std::optional<Amount> parse_amount(std::string_view text) {
  for (const Spelling& spelling : kSpellings) {
    if (!text.starts_with(spelling.words)) continue;
    const auto number = parse_number(text.substr(spelling.words.size()));
    if (!number || (spelling.offset != 0 && *number != std::floor(*number))) return std::nullopt;
    return Amount{spelling.kind, *number + spelling.offset};
  }
  const auto number = parse_number(text);
  if (!number) return std::nullopt;
  return Amount{Amount::Kind::exactly, *number};
}

std::optional<Count> parse_count(std::string_view text) {
  Count count;
  if (const size_t among = text.find(" among "); among != std::string_view::npos) {
    count.among = expand(text.substr(among + 7));
    if (count.among.empty()) return std::nullopt;
    text = text.substr(0, among);
  }
  const auto words = split(text);
  size_t size = words.size();
  if (size >= 4 && words[size - 2] == "per") {
    count.per = words[size - 1];
    size -= 2;
  }
  if (size < 2) return std::nullopt;
  count.state = words[size - 1];
  const bool label = count.state.find('/') != std::string::npos;
  if (!label && !profiles::parse_state(count.state) && count.state != "cordoned") return std::nullopt;
  const auto amount = parse_amount(
      fmt::format("{}", fmt::join(words.begin(), words.begin() + (static_cast<std::ptrdiff_t>(size) - 1), " ")));
  if (!amount) return std::nullopt;
  count.amount = *amount;
  return count;
}

std::optional<io::Duration> parse_span(std::string_view text) {
  io::Duration days{};
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end != text.data() + text.size() && *end == 'd') {
    if (number < 0 || number > 3650) return std::nullopt;
    days = number * kDay;
    text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
    if (text.empty()) return days;
  }
  const auto rest = io::parse_duration(text);
  if (!rest || *rest < io::Duration{0}) return std::nullopt;
  return days + *rest;
}

std::string format_span(io::Duration span) {
  span = std::chrono::floor<io::milliseconds>(span);
  const auto days = span / kDay;
  const io::Duration rest = span % kDay;
  if (days == 0) return io::format_duration(rest);
  return fmt::format("{}d{}", days, rest == io::Duration{0} ? "" : io::format_duration(rest));
}

}  // namespace careen::scenarios
