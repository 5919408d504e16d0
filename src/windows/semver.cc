#include "windows/semver.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "io/ascii.h"

namespace careen::windows {

namespace {

bool is_identifier(char c) { return io::is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; }
bool numeric(std::string_view text) { return std::all_of(text.begin(), text.end(), io::is_digit); }

// What stands before the next dot; the text keeps what follows it, or nothing if there was none.
std::string_view next_part(std::optional<std::string_view>& text) {
  const std::size_t dot = text->find('.');
  const std::string_view part = text->substr(0, dot);
  text = dot == std::string_view::npos ? std::nullopt : std::optional{text->substr(dot + 1)};
  return part;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  if (text.empty() || leading_zero || !numeric(text)) return std::nullopt;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc{} ? std::optional{value} : std::nullopt;
}

// Identifiers between dots: not empty, of letters, digits and hyphens; a number among them as numbers are written.
bool are_identifiers(std::string_view text, bool numbers_are_numbers) {
  std::optional<std::string_view> rest = text;
  while (rest) {
    const std::string_view part = next_part(rest);
    if (part.empty() || !std::all_of(part.begin(), part.end(), is_identifier)) return false;
    if (numbers_are_numbers && numeric(part) && !number(part)) return false;
  }
  return true;
}

// Without leading zeros, a longer number is the larger one.
std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

std::strong_ordering compare_identifiers(std::string_view a, std::string_view b) {
  const bool a_numeric = numeric(a), b_numeric = numeric(b);
  if (a_numeric && b_numeric) return compare_numbers(a, b);
  if (a_numeric != b_numeric) return a_numeric ? std::strong_ordering::less : std::strong_ordering::greater;
  return a <=> b;
}

std::strong_ordering compare_pre_releases(std::string_view a, std::string_view b) {
  // A release comes after all of its pre-releases.
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();
  std::optional<std::string_view> rest_a = a, rest_b = b;
  while (rest_a && rest_b) {
    const auto order = compare_identifiers(next_part(rest_a), next_part(rest_b));
    if (order != 0) return order;
  }
  return rest_a.has_value() <=> rest_b.has_value();
}

}  // namespace

io::Result<Semver> parse_semver(std::string_view text) {
  Semver version;
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    version.build = text.substr(plus + 1);
    text = text.substr(0, plus);
    if (!are_identifiers(version.build, false)) {
      return io::refuse("must have letters, digits and hyphens after the plus, in parts between dots");
    }
  }
  if (const std::size_t hyphen = text.find('-'); hyphen != std::string_view::npos) {
    version.pre_release = text.substr(hyphen + 1);
    text = text.substr(0, hyphen);
    if (!are_identifiers(version.pre_release, true)) {
      return io::refuse(
          "must have letters, digits and hyphens in its pre-release, in parts between dots, and no number "
          "with a leading zero");
    }
  }
  if (!text.empty() && (text.front() == 'v' || text.front() == 'V')) return io::refuse("must not begin with a v");
  std::optional<std::string_view> rest = text;
  for (std::uint64_t* part : {&version.major_number, &version.minor_number, &version.patch_number}) {
    const auto value = rest ? number(next_part(rest)) : std::nullopt;
    if (!value) return io::refuse("must begin with three numbers such as 1.24.3, without leading zeros");
    *part = *value;
  }
  if (rest) return io::refuse("must begin with three numbers such as 1.24.3, not more");
  return version;
}

std::weak_ordering precedence(const Semver& a, const Semver& b) {
  if (const auto order = a.major_number <=> b.major_number; order != 0) return order;
  if (const auto order = a.minor_number <=> b.minor_number; order != 0) return order;
  if (const auto order = a.patch_number <=> b.patch_number; order != 0) return order;
  return compare_pre_releases(a.pre_release, b.pre_release);
}

}  // namespace careen::windows
