#include "view_age.h"

#include <algorithm>
#include <utility>

namespace careen::explore {

namespace {

// Between a change and the write of whoever has heard of it.
constexpr io::Duration kFlowing = io::seconds{1};
// Until a watch that was cut off, or stood still, tells everything again: pauses after failures.
constexpr io::Duration kUntilRecovered = io::seconds{45};

}  // namespace

io::Steady ViewAge::oldest(io::Steady when) const {
  io::Steady oldest = when - kFlowing;
  // What was known before a trouble may have been old because of another one.
  for (bool older = true; std::exchange(older, false);) {
    for (const Trouble& trouble : troubles_) {
      const bool is_over = trouble.until != io::kNever && trouble.until + kUntilRecovered < oldest;
      if (trouble.from > when || is_over) continue;
      io::Steady heard = trouble.from - kFlowing;
      if (trouble.kind != Kind::still && trusted_ != io::Duration::max())
        heard = std::max(heard, when - trusted_ - kFlowing);
      if (heard >= oldest) continue;
      oldest = heard;
      older = true;
    }
  }
  return oldest;
}

bool ViewAge::is_silent(io::Steady when) const {
  return std::ranges::any_of(troubles_, [&](const Trouble& trouble) {
    return trouble.kind == Kind::silent && trouble.from + trusted_ + kFlowing < when && when < trouble.until;
  });
}

}  // namespace careen::explore
