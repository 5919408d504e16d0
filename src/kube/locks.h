// The locks that a program needs, in order: its own, and those of the programs it replaces. Each is campaigned for only
// while those before it are held, so no two programs that take them in this order hold some of them each and wait for
// the other for ever. They are given back in reverse order, and losing any of them ends leadership.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "io/task.h"
#include "io/time.h"
#include "kube/lock.h"

namespace careen::io {
class Loop;
}

namespace careen::kube {

class Locks {
 public:
  explicit Locks(io::Loop& loop) : loop_(loop) {}
  ~Locks();
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  // Comes after those that were added before; not while they run.
  Lock& add(std::unique_ptr<Lock> lock);
  bool empty() const { return locks_.empty(); }
  auto begin() const { return locks_.begin(); }
  auto end() const { return locks_.end(); }

  // Campaigns for one after the other and keeps them; returns when any is lost or was released. With no locks it never
  // does.
  io::Task<void> run();
  // Gives all back, the last one first. What was sent before must be over.
  io::Task<void> release();

  // Under `last` and all before it: the least of their windows (see Lock), nullopt while one of them is not held.
  std::optional<io::Duration> write_window(const Lock& last) const;
  bool leading(const Lock& last) const;

 private:
  io::Task<void> hold(size_t first);
  io::Task<void> hold_after(size_t held);

  io::Loop& loop_;
  std::vector<std::unique_ptr<Lock>> locks_;
};

}  // namespace careen::kube
