// What coroutines of one loop wait on: Signal, Gate, Semaphore, OneShot; and what they are combined with: Scope
// (owns running tasks), with_timeout, race. All of it is single-threaded and safe against the waiting frame
// being destroyed at any point.
#pragma once

#include <list>
#include <optional>
#include <utility>

#include "io/loop.h"

namespace careen::io {

// A wake-up that is remembered: notify() before wait() is not lost, several count as one. One waiter at a time
// gets it. Keep the data beside it, in a queue of your own.
class Signal {
 public:
  explicit Signal(Loop& loop) : loop_(loop) {}
  void notify();
  auto wait() {
    struct Awaiter {
      Signal& signal;
      Waiter waiter{};
      bool await_ready() { return std::exchange(signal.set_, false); }
      void await_suspend(std::coroutine_handle<> h) {
        waiter.handle = h;
        signal.waiting_.push_back(waiter);
      }
      void await_resume() {}
    };
    return Awaiter{*this};
  }

 private:
  Loop& loop_;
  List<Waiter> waiting_;
  bool set_ = false;
};

// Closed until opened, then open for all; it can be closed again.
class Gate {
 public:
  explicit Gate(Loop& loop) : loop_(loop) {}
  void open();
  void close() { open_ = false; }
  bool is_open() const { return open_; }
  auto wait() {
    struct Awaiter {
      Gate& gate;
      Waiter waiter{};
      bool await_ready() { return gate.open_; }
      void await_suspend(std::coroutine_handle<> h) {
        waiter.handle = h;
        gate.waiting_.push_back(waiter);
      }
      void await_resume() {}
    };
    return Awaiter{*this};
  }

 private:
  Loop& loop_;
  List<Waiter> waiting_;
  bool open_ = false;
};

// Counts permits; first come, first served.
class Semaphore {
 public:
  Semaphore(Loop& loop, int permits) : loop_(loop), free_(permits) {}

  // Gives the permit back when destroyed.
  class Permit {
   public:
    explicit Permit(Semaphore* s) : semaphore_(s) {}
    Permit(Permit&& o) noexcept : semaphore_(std::exchange(o.semaphore_, nullptr)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (semaphore_) semaphore_->release();
    }

   private:
    Semaphore* semaphore_;
  };

  class Awaiter final : public Runnable {
   public:
    explicit Awaiter(Semaphore& s) : semaphore_(s) {}
    ~Awaiter() {
      if (granted_) semaphore_.release();
    }
    bool await_ready() {
      if (semaphore_.free_ == 0) return false;
      --semaphore_.free_;
      granted_ = true;
      return true;
    }
    void await_suspend(std::coroutine_handle<> h) {
      handle_ = h;
      semaphore_.waiting_.push_back(*this);
    }
    Permit await_resume() {
      granted_ = false;
      return Permit{&semaphore_};
    }
    void run() override { handle_.resume(); }

   private:
    friend class Semaphore;
    Semaphore& semaphore_;
    std::coroutine_handle<> handle_;
    bool granted_ = false;
  };
  // co_await semaphore.acquire() gives a Permit.
  Awaiter acquire() { return Awaiter{*this}; }
  int free() const { return free_; }

 private:
  void release();
  Loop& loop_;
  List<Awaiter> waiting_;
  int free_;
};

// A value that arrives once, from a callback or another coroutine.
template <class T>
class OneShot {
 public:
  explicit OneShot(Loop& loop) : loop_(loop) {}
  bool ready() const { return value_.has_value(); }
  void set(T value) {
    value_.emplace(std::move(value));
    if (waiter_) loop_.schedule(*waiter_);
  }
  auto take() {
    struct Awaiter {
      OneShot& cell;
      Waiter waiter{};
      ~Awaiter() { cell.waiter_ = nullptr; }
      bool await_ready() { return cell.value_.has_value(); }
      void await_suspend(std::coroutine_handle<> h) {
        waiter.handle = h;
        cell.waiter_ = &waiter;
      }
      T await_resume() { return std::move(*cell.value_); }
    };
    return Awaiter{*this};
  }

 private:
  Loop& loop_;
  std::optional<T> value_;
  Waiter* waiter_ = nullptr;
};

// Owns tasks that run side by side. Destroying the scope (or cancel()) ends them where they wait. An exception
// that leaves a spawned task is a bug and ends the program with a message.
class Scope {
 public:
  explicit Scope(Loop& loop);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  // The task starts with the loop's next turn.
  void spawn(Task<void> task);
  int running() const;
  // Resumes when no task is left.
  Task<void> join();
  // Not from within one of its own tasks.
  void cancel();

 private:
  struct Root;
  struct Coroutine;
  static Coroutine drive(Task<void> task);
  void erase(Root& root);
  Loop& loop_;
  std::list<Root> roots_;
  Gate empty_;
};

namespace detail {
template <class T>
Task<void> deliver(Task<T> task, OneShot<std::optional<T>>* out) {
  std::optional<T> value(co_await std::move(task));
  out->set(std::move(value));
}
template <class T>
Task<void> expire(Loop* loop, Steady when, OneShot<std::optional<T>>* out) {
  co_await sleep_until(*loop, when);
  if (!out->ready()) out->set(std::nullopt);
}
Task<void> announce(Task<void> task, int index, OneShot<int>* out);
}  // namespace detail

// The task's value, or nullopt when `limit` passed first; the task is cancelled then.
template <class T>
Task<std::optional<T>> with_timeout(Loop& loop, Duration limit, Task<T> task) {
  OneShot<std::optional<T>> out(loop);
  Scope scope(loop);
  scope.spawn(detail::deliver(std::move(task), &out));
  scope.spawn(detail::expire<T>(&loop, loop.now() + limit, &out));
  co_return co_await out.take();
}

// Runs both; the number (0 or 1) of the one that ended first. The other is cancelled.
Task<int> race(Loop& loop, Task<void> first, Task<void> second);

// Makes tasks, for race and with_timeout, of anything else that can be awaited.
Task<void> wait_for(Signal& signal);
Task<void> wait_for(Gate& gate);
Task<void> wait_until(Loop& loop, Steady when);
// True, for with_timeout, which tells by the value whether the task has ended.
Task<bool> completed(Task<void> task);
// Without a value, for Scope and race, which take none.
template <class T>
Task<void> keep(Task<T> task, std::optional<T>& out) {
  out = co_await std::move(task);
}

}  // namespace careen::io
