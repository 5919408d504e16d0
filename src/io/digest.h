// Digests of texts that must not be kept themselves, such as tokens in the keys of a cache.
#pragma once

#include <string>
#include <string_view>

namespace careen::io {

// The 32 bytes of SHA-256.
std::string sha256(std::string_view text);

}  // namespace careen::io
