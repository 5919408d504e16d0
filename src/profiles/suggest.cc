#include "profiles/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace careen::profiles {

namespace {

// Longer names are not compared: nobody misses one by a typing error that matters more than its length.
constexpr std::size_t kLongest = 80;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

// Edits that turn a into b: insert, delete, replace a character, or swap two neighbours.
std::size_t edits(std::string_view a, std::string_view b) {
  std::array<std::size_t, kLongest + 1> before{}, last{}, row{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string_view> closest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (std::string_view candidate : candidates) {
    if (candidate == name || candidate.empty() || candidate.size() > kLongest) continue;
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t tolerated = std::min<std::size_t>(longer / 3, 3);
    if (longer - std::min(name.size(), candidate.size()) > tolerated) continue;
    const std::size_t distance = same_but_case(name, candidate) ? 0 : edits(name, candidate);
    if (distance > tolerated) continue;
    if (!best || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const auto found = closest(name, candidates);
  return found ? fmt::format("; did you mean \"{}\"?", *found) : std::string{};
}

}  // namespace careen::profiles
