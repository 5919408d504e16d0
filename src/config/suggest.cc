#include "config/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "io/ascii.h"

namespace careen::config {

namespace {

// Longer names are not compared: nobody misses one by a typing error that matters more than its length.
constexpr std::size_t kLongestName = 80;

bool same_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return io::lower(x) == io::lower(y); });
}

// Edits that turn a into b: insert, delete, replace a character, or swap two neighbours. Counting ends at `limit`.
std::size_t edits(std::string_view a, std::string_view b, std::size_t limit) {
  using Row = std::array<std::uint8_t, kLongestName + 1>;
  std::array<Row, 3> rows;
  Row *before = &rows[0], *last = &rows[1], *row = &rows[2];
  for (std::size_t j = 0; j <= b.size(); ++j) (*last)[j] = static_cast<std::uint8_t>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::uint8_t fewest = (*row)[0] = static_cast<std::uint8_t>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = (*last)[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      int cost = std::min({(*last)[j] + 1, (*row)[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost = std::min(cost, (*before)[j - 2] + 1);
      (*row)[j] = static_cast<std::uint8_t>(cost);
      fewest = std::min(fewest, (*row)[j]);
    }
    // A swap reaches back two rows and saves at most one.
    if (fewest > limit + 1) return limit + 1;
    Row* const oldest = std::exchange(before, std::exchange(last, row));
    row = oldest;
  }
  return (*last)[b.size()];
}

}  // namespace

std::optional<std::string_view> closest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > kLongestName) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (std::string_view candidate : candidates) {
    if (candidate == name || candidate.empty() || candidate.size() > kLongestName) continue;
    const std::size_t longer = std::max(name.size(), candidate.size());
    std::size_t tolerated = std::min<std::size_t>(longer / 3, 3);
    if (best) tolerated = std::min(tolerated, best_distance - 1);
    if (longer - std::min(name.size(), candidate.size()) > tolerated) continue;
    const std::size_t distance = same_but_case(name, candidate) ? 0 : edits(name, candidate, tolerated);
    if (distance > tolerated) continue;
    best = candidate;
    best_distance = distance;
    if (distance == 0) break;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const auto found = closest(name, candidates);
  return found ? fmt::format("; did you mean \"{}\"?", *found) : std::string{};
}

}  // namespace careen::config
