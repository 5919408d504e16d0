// The event loop and the clock: the seam through which a controller meets time. A Loop belongs to one process
// (real or simulated) and one thread. RealLoop drives the operating system; VirtualTime drives any number of
// loops through time that jumps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "io/list.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::io {

// Something that can be in the loop's ready list. It leaves when destroyed.
class Runnable : public ListNode {
 public:
  virtual void run() = 0;

 protected:
  ~Runnable() = default;
};

class Loop;

// A Runnable with a due time. It leaves the loop's heap when destroyed.
class Timer : public Runnable {
 public:
  explicit Timer(Loop& loop) : loop_(loop) {}
  void set(Steady when);
  void cancel();
  bool pending() const { return armed_; }

 protected:
  ~Timer() { cancel(); }
  Loop& loop_;

 private:
  friend class Loop;
  Steady when_{};
  uint64_t sequence_ = 0;
  bool armed_ = false;
};

class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop();

  // Steady time; it goes on while the machine is suspended.
  virtual Steady now() const = 0;
  virtual Wall wall_now() const = 0;

  // The node runs once, after everything already scheduled. From this thread only.
  void schedule(Runnable& node) { ready_.push_back(node); }
  void post(std::function<void()> fn);

  // For drivers of the loop: run one ready node; move timers that are due to the ready list.
  bool run_one();
  void collect_due();
  bool idle() const { return ready_.empty(); }
  std::optional<Steady> next_timer() const;

 private:
  friend class Timer;
  struct Earlier {
    bool operator()(const Timer* a, const Timer* b) const {
      return a->when_ != b->when_ ? a->when_ < b->when_ : a->sequence_ < b->sequence_;
    }
  };
  List<Runnable> ready_;
  std::set<Timer*, Earlier> timers_;
  uint64_t next_sequence_ = 0;
};

// A timer that calls a function.
class Alarm final : public Timer {
 public:
  Alarm(Loop& loop, std::function<void()> ring) : Timer(loop), ring_(std::move(ring)) {}
  void run() override { ring_(); }

 private:
  std::function<void()> ring_;
};

// A coroutine that is in the ready list, or in the waiting list of a Signal, Gate, Semaphore …
struct Waiter final : Runnable {
  std::coroutine_handle<> handle;
  void run() override { handle.resume(); }
};

// co_await sleep_for(loop, 5s): resumes no earlier than that.
class SleepAwaiter final : public Timer {
 public:
  SleepAwaiter(Loop& loop, Steady when) : Timer(loop), when_to_wake_(when) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    handle_ = h;
    set(when_to_wake_);
  }
  void await_resume() noexcept {}
  void run() override { handle_.resume(); }

 private:
  Steady when_to_wake_;
  std::coroutine_handle<> handle_;
};
inline SleepAwaiter sleep_until(Loop& loop, Steady when) { return {loop, when}; }
// Lets everything that is ready run first.
inline SleepAwaiter yield_to_others(Loop& loop) { return {loop, loop.now()}; }
SleepAwaiter sleep_for(Loop& loop, Duration d);

}  // namespace careen::io
