#include "io/sync.h"

#include <cstdio>
#include <cstdlib>

namespace careen::io {

void Signal::notify() {
  if (waiting_.empty()) {
    set_ = true;
    return;
  }
  loop_.schedule(waiting_.pop_front());
}

void Gate::open() {
  open_ = true;
  while (!waiting_.empty()) loop_.schedule(waiting_.pop_front());
}

void Semaphore::release() {
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  Awaiter& next = waiting_.pop_front();
  next.granted_ = true;
  loop_.schedule(next);
}

// The outermost frame of a spawned task. It tells its Root when it is done; the Root then destroys it from the
// loop, never from inside itself.
struct Scope::Coroutine {
  struct promise_type {
    Root* owner = nullptr;
    Coroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> h) noexcept;
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept {
      try {
        throw;
      } catch (const std::exception& e) {
        std::fprintf(stderr, "careen: bug: an exception left a task: %s\n", e.what());
      } catch (...) {
        std::fprintf(stderr, "careen: bug: an unknown exception left a task\n");
      }
      std::abort();
    }
  };
  std::coroutine_handle<promise_type> handle;
};

struct Scope::Root final : Runnable {
  explicit Root(Scope& s) : scope(s) {}
  ~Root() {
    if (handle) handle.destroy();
  }
  Scope& scope;
  std::list<Root>::iterator self;
  std::coroutine_handle<Coroutine::promise_type> handle;

  void run() override {
    if (handle.done()) return scope.erase(*this);
    handle.resume();
  }
};

void Scope::Coroutine::promise_type::Final::await_suspend(std::coroutine_handle<promise_type> h) noexcept {
  Root& root = *h.promise().owner;
  root.scope.loop_.schedule(root);
}

Scope::Coroutine Scope::drive(Task<void> task) { co_await std::move(task); }

Scope::Scope(Loop& loop) : loop_(loop), empty_(loop) { empty_.open(); }
Scope::~Scope() = default;

int Scope::running() const { return static_cast<int>(roots_.size()); }

void Scope::spawn(Task<void> task) {
  empty_.close();
  Root& root = roots_.emplace_back(*this);
  root.self = std::prev(roots_.end());
  root.handle = drive(std::move(task)).handle;
  root.handle.promise().owner = &root;
  loop_.schedule(root);
}

void Scope::erase(Root& root) {
  roots_.erase(root.self);
  if (roots_.empty()) empty_.open();
}

void Scope::cancel() {
  roots_.clear();
  empty_.open();
}

Task<void> Scope::join() { co_await empty_.wait(); }

namespace detail {
Task<void> announce(Task<void> task, int index, OneShot<int>* out) {
  co_await std::move(task);
  if (!out->ready()) out->set(index);
}
}  // namespace detail

Task<int> race(Loop& loop, Task<void> first, Task<void> second) {
  OneShot<int> out(loop);
  Scope scope(loop);
  scope.spawn(detail::announce(std::move(first), 0, &out));
  scope.spawn(detail::announce(std::move(second), 1, &out));
  co_return co_await out.take();
}

Task<void> wait_for(Signal& signal) { co_await signal.wait(); }
Task<void> wait_for(Gate& gate) { co_await gate.wait(); }
Task<void> wait_until(Loop& loop, Steady when) { co_await sleep_until(loop, when); }

Task<bool> completed(Task<void> task) {
  co_await std::move(task);
  co_return true;
}

}  // namespace careen::io
