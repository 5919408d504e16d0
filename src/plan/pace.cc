#include "plan/pace.h"

#include <algorithm>
#include <tuple>

namespace careen::plan {

namespace {
constexpr io::Duration kFirstInterval = io::seconds{1};
}

Pace::Pace(io::Loop& loop, const Timetable& timetable, io::Duration rest, Ask ask)
    : loop_(loop),
      timetable_(timetable),
      rest_(std::max<io::Duration>(rest, kFirstInterval)),
      interval_(kFirstInterval),
      ask_(std::move(ask)),
      next_(loop, [this] { sample(); }) {}

void Pace::wake() {
  if (!next_.pending()) next_.set(loop_.now() + interval_);
}

void Pace::sample() {
  // A short campaign is seen in detail, a long one does not become expensive by it.
  const io::Duration span = interval_;
  interval_ = std::min<io::Duration>(rest_, interval_ + interval_ / 8);
  if (timetable_.waiting().empty()) return;
  for (const auto& [profile, waiting] : timetable_.waiting()) {
    const Blame blame = ask_(waiting.begin()->second, profile);
    for (const Blamed& one : blame.all) {
      seconds_[one.what] += io::to_seconds(span) / static_cast<double>(blame.all.size());
    }
  }
  next_.set(loop_.now() + interval_);
}

std::vector<Limit> Pace::limits() const {
  double all = 0;
  for (const auto& [what, seconds] : seconds_) all += seconds;
  std::vector<Limit> limits;
  for (const auto& [what, seconds] : seconds_) limits.push_back({what, seconds / all});
  std::sort(limits.begin(), limits.end(),
            [](const Limit& a, const Limit& b) { return std::tie(b.share, a.what) < std::tie(a.share, b.what); });
  return limits;
}

}  // namespace careen::plan
