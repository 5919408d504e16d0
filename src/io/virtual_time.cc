#include "io/virtual_time.h"

#include <algorithm>

namespace careen::io {

class VirtualTime::VirtualLoop final : public Loop {
 public:
  VirtualLoop(VirtualTime& time, Duration skew) : time_(time), skew_(skew) {}
  ~VirtualLoop() override { std::erase(time_.loops_, this); }
  Steady now() const override { return time_.now(); }
  Wall wall_now() const override { return time_.wall_now() + skew_; }

  void step_clock(Duration by) { skew_ += by; }

  bool suspended = false;

 private:
  VirtualTime& time_;
  Duration skew_;
};

VirtualTime::VirtualTime(uint64_t seed, Wall start) : start_(start), order_(seed) {}
VirtualTime::~VirtualTime() = default;

std::unique_ptr<Loop> VirtualTime::make_loop(Duration skew) {
  auto loop = std::make_unique<VirtualLoop>(*this, skew);
  loops_.push_back(loop.get());
  return loop;
}

bool VirtualTime::step() {
  if (loops_.empty()) return false;
  const size_t first = loops_.size() == 1 ? 0 : order_() % loops_.size();
  for (size_t i = 0; i < loops_.size(); ++i) {
    VirtualLoop& loop = *loops_[(first + i) % loops_.size()];
    if (!loop.suspended && loop.run_one()) return true;
  }
  return false;
}

std::optional<Steady> VirtualTime::next_timer() const {
  std::optional<Steady> next;
  for (const auto* loop : loops_) {
    const auto due = loop->suspended ? std::nullopt : loop->next_timer();
    if (due && (!next || *due < *next)) next = due;
  }
  return next;
}

void VirtualTime::advance(Steady to) {
  now_ = std::max(now_, to);
  for (auto* loop : loops_) {
    if (!loop->suspended) loop->collect_due();
  }
}

VirtualTime::VirtualLoop& VirtualTime::own(Loop& loop) { return static_cast<VirtualLoop&>(loop); }

void VirtualTime::suspend(Loop& loop) { own(loop).suspended = true; }

void VirtualTime::resume(Loop& loop) {
  own(loop).suspended = false;
  loop.collect_due();
}

void VirtualTime::step_clock(Loop& loop, Duration by) { own(loop).step_clock(by); }

void VirtualTime::settle() {
  advance(now_);
  while (step()) {
    if (const auto due = next_timer(); due && *due <= now_) advance(now_);
  }
}

void VirtualTime::run_for(Duration span) {
  run_until([] { return false; }, span);
}

bool VirtualTime::run_until(const std::function<bool()>& done, Duration span) {
  const Steady end = now_ + span;
  if (done()) return true;
  for (;;) {
    while (step()) {
      if (done()) return true;
    }
    const auto due = next_timer();
    if (!due || *due > end) {
      advance(end);
      return done();
    }
    advance(*due);
  }
}

}  // namespace careen::io
