#include "kube/locks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "io/loop.h"
#include "io/sync.h"

namespace careen::kube {

namespace {

[[noreturn]] void foreign_lock() {
  std::fputs("careen: bug: a lock is asked for in a list that does not have it\n", stderr);
  std::abort();
}

}  // namespace

Locks::~Locks() = default;

Lock& Locks::add(std::unique_ptr<Lock> lock) {
  locks_.push_back(std::move(lock));
  return *locks_.back();
}

io::Task<void> Locks::run() {
  if (!locks_.empty()) co_return co_await hold(0);
  io::Gate never(loop_);
  co_await never.wait();
}

io::Task<void> Locks::hold(size_t first) {
  if (first + 1 == locks_.size()) co_return co_await locks_[first]->run();
  co_await io::race(loop_, locks_[first]->run(), hold_after(first));
}

io::Task<void> Locks::hold_after(size_t held) {
  co_await locks_[held]->leading_gate().wait();
  co_await hold(held + 1);
}

io::Task<void> Locks::release() {
  for (auto lock = locks_.rbegin(); lock != locks_.rend(); ++lock) co_await (*lock)->release();
}

std::optional<io::Duration> Locks::write_window(const Lock& last) const {
  std::optional<io::Duration> least;
  for (const auto& lock : locks_) {
    const auto window = lock->write_window();
    if (!window) return std::nullopt;
    least = least ? std::min(*least, *window) : *window;
    if (lock.get() == &last) return least;
  }
  foreign_lock();
}

bool Locks::leading(const Lock& last) const {
  for (const auto& lock : locks_) {
    if (!lock->leading()) return false;
    if (lock.get() == &last) return true;
  }
  foreign_lock();
}

}  // namespace careen::kube
