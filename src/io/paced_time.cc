#include "io/paced_time.h"

#include <algorithm>
#include <cmath>

namespace careen::io {

namespace {
// How long virtual loops run before sockets get their turn, and how many of their steps go by between two looks at the
// clock.
constexpr Duration kSlice = milliseconds{10};
constexpr int kSteps = 16;
// When there is more to run than a slice holds, sockets get this long.
constexpr Duration kBreath = milliseconds{1};
// Further behind than this (the machine slept, or is too slow for the speed), the time that was lost stays lost.
constexpr Duration kMostBehind = seconds{2};

Duration scaled(Duration d, double factor) {
  return Duration{static_cast<Duration::rep>(std::ceil(static_cast<double>(d.count()) * factor))};
}
}  // namespace

PacedTime::PacedTime(RealLoop& loop, VirtualTime& time, double speed)
    : loop_(loop), time_(time), speed_(speed), wake_(loop, [] {}) {
  start_from_here();
}

void PacedTime::start_from_here() {
  real_start_ = loop_.now();
  virtual_start_ = time_.now();
}

Steady PacedTime::shown_at(Steady real) const { return virtual_start_ + scaled(real - real_start_, speed_); }
Steady PacedTime::shows(Steady shown) const { return real_start_ + scaled(shown - virtual_start_, 1 / speed_); }

void PacedTime::follow() {
  const Steady begun = loop_.now();
  if (shown_at(begun) - time_.now() > scaled(kMostBehind, speed_)) start_from_here();
  int steps = 0;
  const auto slice_is_over = [&] { return ++steps % kSteps == 0 && loop_.now() - begun > kSlice; };
  const bool unfinished = time_.run_until(slice_is_over, std::max(Duration{0}, shown_at(begun) - time_.now()));
  if (unfinished) {
    wake_.set(loop_.now() + kBreath);
  } else if (const auto next = time_.next_timer()) {
    wake_.set(shows(*next));
  } else {
    wake_.cancel();
  }
}

void PacedTime::run_until(const std::function<bool()>& done) {
  loop_.run_until([&] {
    follow();
    return done();
  });
}

}  // namespace careen::io
