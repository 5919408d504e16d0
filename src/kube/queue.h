// The work queue: which keys want a decision, now or later. A key stands in it at most once and is never handed
// out while it is being worked on; a wake-up meanwhile is remembered.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/loop.h"
#include "io/sync.h"

namespace careen::kube {

struct BackoffOptions {
  io::Duration first = io::milliseconds{500};
  io::Duration longest = io::minutes{1};
};

class WorkQueue {
 public:
  explicit WorkQueue(io::Loop& loop, BackoffOptions backoff = {});

  // Due at once.
  void wake(std::string_view key);
  // Due at `when`, unless something earlier is set already. Later deadlines are dropped: the decision that
  // follows sets a new one.
  void wake_at(std::string_view key, io::Steady when);
  // Due after the key's backoff, which doubles with each failure in a row.
  void wake_after_failure(std::string_view key);
  void succeeded(std::string_view key);
  // Forgets the key, deadlines and backoff.
  void forget(std::string_view key);

  // Waits for a key that is due and not being worked on; first due, first served. The caller ends with done().
  io::Task<std::string> next();
  void done(std::string_view key);

  size_t depth() const;    // due and waiting
  size_t working() const;  // handed out
  // How long the key last handed out had been due.
  io::Duration last_wait() const { return last_wait_; }
  // Drops everything that waits.
  void clear();

 private:
  struct Entry;
  class Alarm;
  io::Loop& loop_;
  BackoffOptions backoff_;
  std::unordered_map<std::string, Entry> entries_;
  io::Duration last_wait_{};
  std::unique_ptr<Alarm> alarm_;
};

}  // namespace careen::kube
