// Semantic versions 2.0.0, read strictly: three numbers without leading zeros, no leading v, an optional pre-release
// and optional build metadata. Numbers fit in 64 bits.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/result.h"

namespace careen::windows {

struct Semver {
  std::uint64_t major_number = 0, minor_number = 0, patch_number = 0;
  std::string pre_release;  // rc.1, without its hyphen
  std::string build;        // without its plus
};

// The error continues the text: "v1.2.3" must …
io::Result<Semver> parse_semver(std::string_view text);

// By the rules of precedence, in which build metadata does not count.
std::weak_ordering precedence(const Semver& a, const Semver& b);

}  // namespace careen::windows
