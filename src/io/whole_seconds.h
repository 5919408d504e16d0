// Times in whole seconds, as Kubernetes writes most of them.
#pragma once

#include <chrono>

#include "io/time.h"

namespace careen::io {

// The beginning of the time's second. A time from before what nanoseconds can count reads as Wall::min(), whose second
// begins even earlier; it stays as it is.
constexpr Wall whole_seconds(Wall time) {
  constexpr Wall kFirst = Wall::min() + seconds{1};
  return time < kFirst ? Wall::min() : Wall(std::chrono::floor<seconds>(time));
}

}  // namespace careen::io
