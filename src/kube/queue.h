// The work queue: which keys want a decision, now or later. A key is in it at most once and is never handed out while
// it is being worked on; a wake-up meanwhile is remembered. All deadlines share one timer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/list.h"
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
  // Due at `when`, unless something earlier is set already. A key has one deadline: handing it out drops the one
  // it had, and the decision that follows sets a new one. kNever sets none.
  void wake_at(std::string_view key, io::Steady when);
  // Due after the key's backoff, which doubles with each failure in a row.
  void wake_after_failure(std::string_view key);
  void succeeded(std::string_view key);
  // Forgets the key, deadlines and backoff. If it is being worked on, done() is still to be called.
  void forget(std::string_view key);

  // Waits for a key that is due and not being worked on; first due, first served, equal ones in the order in which
  // they were woken. The caller ends with done(); a key woken during the work stands behind the others then.
  io::Task<std::string> next();
  void done(std::string_view key);

  size_t depth() const { return due_count_; }        // due and waiting
  size_t working() const { return working_count_; }  // handed out
  // Open while nothing is handed out.
  io::Gate& idle() { return idle_; }
  // Due, or handed out.
  bool busy(std::string_view key) const;
  // Its last attempt failed.
  bool is_failing(std::string_view key) const;
  // Everything the queue knows of: waiting, scheduled, handed out, or in backoff.
  size_t size() const { return entries_.size(); }
  // How long the key last handed out had been due, not counting the time others worked on it.
  io::Duration last_wait() const { return last_wait_; }
  // Drops everything that waits, and all backoff. Keys handed out stay so until done().
  void clear();

 private:
  // Linked while it is due and waiting.
  struct Entry : io::ListNode {
    const std::string* key = nullptr;
    io::Steady when = io::kNever;  // the deadline; while due, since when
    uint64_t sequence = 0;         // orders equal deadlines
    uint32_t slot = 0;             // place in scheduled_ plus one; zero when not there
    uint16_t failures = 0;
    bool working = false;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Entries = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;
  class Turn;

  Entry& entry(std::string_view key);
  void drop_if_idle(Entry& e);
  void make_due(Entry& e, io::Steady since);
  void unschedule(Entry& e);
  void schedule(Entry& e, io::Steady when);
  void settle(size_t slot, Entry* e);
  void sift(size_t slot);
  void collect_due();
  void set_alarm();
  void offer();

  io::Loop& loop_;
  BackoffOptions backoff_;
  Entries entries_;
  std::vector<Entry*> scheduled_;  // a binary heap, earliest first
  io::List<Entry> due_;            // in the order of becoming due
  io::List<Turn> waiting_;         // callers of next()
  size_t due_count_ = 0;
  size_t working_count_ = 0;
  uint64_t next_sequence_ = 0;
  io::Duration last_wait_{};
  io::Gate idle_;
  io::Alarm alarm_;
  io::Steady alarm_time_{};
};

}  // namespace careen::kube
