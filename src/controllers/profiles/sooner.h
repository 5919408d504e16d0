// The earlier of two times, of which there may be none.
#pragma once

#include <optional>

#include "io/time.h"

namespace careen::profiles {

inline void sooner(std::optional<io::Wall>& when, std::optional<io::Wall> other) {
  if (other && (!when || *other < *when)) when = other;
}

}  // namespace careen::profiles
