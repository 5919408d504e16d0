#include "io/loop.h"

namespace careen::io {

namespace {
struct Posted final : Runnable {
  std::function<void()> fn;
  explicit Posted(std::function<void()> f) : fn(std::move(f)) {}
  void run() override {
    auto work = std::move(fn);
    delete this;
    work();
  }
};
}  // namespace

void Timer::set(Steady when) {
  cancel();
  when_ = when;
  sequence_ = loop_.next_sequence_++;
  armed_ = true;
  loop_.timers_.insert(this);
}

void Timer::cancel() {
  unlink();  // it may be due already and wait for its turn
  if (!armed_) return;
  loop_.timers_.erase(this);
  armed_ = false;
}

Loop::~Loop() {
  // What is still posted is dropped; coroutines belong to their scopes.
  while (!ready_.empty()) {
    Runnable& node = ready_.pop_front();
    if (auto* posted = dynamic_cast<Posted*>(&node)) delete posted;
  }
}

void Loop::post(std::function<void()> fn) { schedule(*new Posted(std::move(fn))); }

bool Loop::run_one() {
  if (ready_.empty()) return false;
  ready_.pop_front().run();
  return true;
}

void Loop::collect_due() {
  const Steady time = now();
  while (!timers_.empty() && (*timers_.begin())->when_ <= time) {
    Timer& timer = **timers_.begin();
    timer.cancel();
    schedule(timer);
  }
}

std::optional<Steady> Loop::next_timer() const {
  if (timers_.empty()) return std::nullopt;
  return (*timers_.begin())->when_;
}

SleepAwaiter sleep_for(Loop& loop, Duration d) {
  const Steady now = loop.now();
  return {loop, d > kNever - now ? kNever : now + d};
}

}  // namespace careen::io
