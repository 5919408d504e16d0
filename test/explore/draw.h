// Choices drawn from a seed, as campaigns and perturbations need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "io/random.h"
#include "io/time.h"

namespace careen::explore {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  // Both ends included.
  int between(int least, int most) {
    return least + static_cast<int>(random_.next() % static_cast<uint64_t>(most - least + 1));
  }
  io::Duration between(io::Duration least, io::Duration most) {
    const auto span = std::chrono::duration_cast<io::milliseconds>(most - least).count();
    return least + io::milliseconds{random_.next() % static_cast<uint64_t>(span + 1)};
  }
  bool one_in(int n) { return random_.next() % static_cast<uint64_t>(n) == 0; }
  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[random_.next() % choices.size()];
  }
  template <class T>
  const T& of(const std::vector<T>& choices) {
    return choices[random_.next() % choices.size()];
  }
  uint64_t next() { return random_.next(); }

 private:
  io::Random random_;
};

}  // namespace careen::explore
