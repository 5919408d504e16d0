#include "drain/ask.h"

#include <algorithm>
#include <cstdint>

namespace careen::drain {

namespace {

constexpr io::Duration kFirstAskPause = io::seconds{30};
constexpr io::Duration kLongestAskPause = io::minutes{4};

// FNV-1a: the same for a pod wherever careen runs.
uint32_t digest_of(std::string_view text) {
  uint32_t digest = 2166136261U;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 16777619U;
  return digest;
}

}  // namespace

io::Duration pause_between_asks(int in_vain, std::string_view uid) {
  const io::Duration pause =
      std::min(kFirstAskPause * (int64_t{1} << std::clamp(in_vain - 1, 0, 10)), kLongestAskPause);
  // Up to a fifth sooner or later.
  const int64_t share = static_cast<int64_t>(digest_of(uid) % 401) - 200;
  return pause + pause * share / 1000;
}

}  // namespace careen::drain
