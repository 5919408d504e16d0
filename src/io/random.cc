#include "io/random.h"

#include <fmt/format.h>

namespace careen::io {

Random::Random() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device()};
  engine_.seed(seed);
}

std::string Random::uuid() {
  const uint64_t a = (next() & ~0xF000ULL) | 0x4000ULL;
  const uint64_t b = (next() & ~(3ULL << 62)) | (2ULL << 62);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xFFFF, a & 0xFFFF, b >> 48,
                     b & 0xFFFFFFFFFFFFULL);
}

}  // namespace careen::io
