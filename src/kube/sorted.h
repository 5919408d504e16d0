// Search in the sorted key–value vectors that objects keep their labels and annotations in.
#pragma once

#include <algorithm>
#include <string_view>

namespace careen::kube {

// The value of `key`, or nullptr. Keys are Atoms, sorted by their text.
template <class Pairs>
auto find_sorted(const Pairs& pairs, std::string_view key) -> decltype(&pairs.front().second) {
  const auto it = std::lower_bound(pairs.begin(), pairs.end(), key,
                                   [](const auto& pair, std::string_view k) { return pair.first.view() < k; });
  return it != pairs.end() && it->first.view() == key ? &it->second : nullptr;
}

}  // namespace careen::kube
