// Randomness as a controller reaches it: from the system, or from a seed in virtual time.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>

namespace careen::io {

class Random {
 public:
  // Seeded from the system.
  Random();
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t next() { return engine_(); }
  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // A random (version 4) UUID in its usual text form.
  std::string uuid();

 private:
  std::mt19937_64 engine_;
};

}  // namespace careen::io
