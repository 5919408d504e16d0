#include "kube/queue.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace careen::kube {

namespace {
[[noreturn]] void bug(std::string_view what, std::string_view key) {
  std::fprintf(stderr, "careen: bug: work queue: %.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(key.size()), key.data());
  std::abort();
}
}  // namespace

// A caller of next() that waits. One that was called and is destroyed before it ran passes its turn on, so that
// cancelling one worker never leaves a due key lying while another worker waits.
class WorkQueue::Turn final : public io::Runnable {
 public:
  explicit Turn(WorkQueue& queue) : queue_(queue) {}
  ~Turn() {
    if (called_) queue_.offer();
  }
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    handle_ = h;
    queue_.waiting_.push_back(*this);
  }
  void await_resume() { called_ = false; }
  void run() override { handle_.resume(); }
  void call() {
    called_ = true;
    queue_.loop_.schedule(*this);
  }

 private:
  WorkQueue& queue_;
  std::coroutine_handle<> handle_;
  bool called_ = false;
};

WorkQueue::WorkQueue(io::Loop& loop, BackoffOptions backoff)
    : loop_(loop), backoff_(backoff), idle_(loop), alarm_(loop, [this] { collect_due(); }) {
  idle_.open();
}

WorkQueue::Entry& WorkQueue::entry(std::string_view key) {
  if (const auto it = entries_.find(key); it != entries_.end()) return it->second;
  auto& [text, e] = *entries_.try_emplace(std::string(key)).first;
  e.key = &text;
  return e;
}

void WorkQueue::drop_if_idle(Entry& e) {
  if (e.linked() || e.slot != 0 || e.working || e.failures > 0) return;
  entries_.erase(entries_.find(*e.key));
}

bool WorkQueue::busy(std::string_view key) const {
  const auto it = entries_.find(key);
  return it != entries_.end() && (it->second.working || it->second.linked());
}

bool WorkQueue::is_failing(std::string_view key) const {
  const auto it = entries_.find(key);
  return it != entries_.end() && it->second.failures > 0;
}

void WorkQueue::wake(std::string_view key) { wake_at(key, loop_.now()); }

void WorkQueue::wake_at(std::string_view key, io::Steady when) {
  if (when == io::kNever) return;
  // What became due meanwhile stands before what is woken now, even if the alarm has not rung yet.
  collect_due();
  Entry& e = entry(key);
  if (e.linked() || e.when <= when) return;
  if (e.working) {
    e.when = when;
  } else if (const io::Steady now = loop_.now(); when <= now) {
    make_due(e, now);
  } else {
    schedule(e, when);
    set_alarm();
  }
}

void WorkQueue::wake_after_failure(std::string_view key) {
  Entry& e = entry(key);
  io::Duration pause = backoff_.first;
  for (int i = 0; i < e.failures && pause < backoff_.longest; ++i) pause *= 2;
  // Past 64 doublings every pause is the longest.
  e.failures = static_cast<uint16_t>(std::min(e.failures + 1, 64));
  wake_at(key, loop_.now() + std::min(pause, backoff_.longest));
}

void WorkQueue::succeeded(std::string_view key) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return;
  it->second.failures = 0;
  drop_if_idle(it->second);
}

void WorkQueue::forget(std::string_view key) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return;
  Entry& e = it->second;
  if (e.linked()) {
    e.unlink();
    --due_count_;
  }
  unschedule(e);
  e.when = io::kNever;
  e.failures = 0;
  drop_if_idle(e);
  set_alarm();
}

io::Task<std::string> WorkQueue::next() {
  for (;;) {
    collect_due();
    if (due_count_ > 0) break;
    co_await Turn(*this);
  }
  Entry& e = due_.pop_front();
  --due_count_;
  ++working_count_;
  idle_.close();
  last_wait_ = loop_.now() - e.when;
  e.when = io::kNever;
  e.working = true;
  co_return *e.key;
}

void WorkQueue::done(std::string_view key) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || !it->second.working) bug("done() for a key that was not handed out", key);
  Entry& e = it->second;
  e.working = false;
  if (--working_count_ == 0) idle_.open();
  const io::Steady when = std::exchange(e.when, io::kNever);
  if (when == io::kNever) return drop_if_idle(e);
  collect_due();
  if (const io::Steady now = loop_.now(); when <= now) {
    make_due(e, now);
  } else {
    schedule(e, when);
    set_alarm();
  }
}

void WorkQueue::clear() {
  scheduled_.clear();
  due_count_ = 0;
  alarm_.cancel();
  std::erase_if(entries_, [](const auto& item) { return !item.second.working; });
  for (auto& [key, e] : entries_) {
    e.when = io::kNever;
    e.failures = 0;
  }
}

void WorkQueue::make_due(Entry& e, io::Steady since) {
  unschedule(e);
  e.when = since;
  due_.push_back(e);
  ++due_count_;
  offer();
}

void WorkQueue::offer() {
  if (due_count_ > 0 && !waiting_.empty()) waiting_.pop_front().call();
}

void WorkQueue::collect_due() {
  const io::Steady now = loop_.now();
  while (!scheduled_.empty() && scheduled_.front()->when <= now)
    make_due(*scheduled_.front(), scheduled_.front()->when);
  set_alarm();
}

void WorkQueue::set_alarm() {
  if (scheduled_.empty()) return alarm_.cancel();
  const io::Steady when = scheduled_.front()->when;
  if (!alarm_.pending() || alarm_time_ != when) alarm_.set(alarm_time_ = when);
}

void WorkQueue::schedule(Entry& e, io::Steady when) {
  e.when = when;
  if (e.slot == 0) {
    scheduled_.push_back(&e);
    e.slot = static_cast<uint32_t>(scheduled_.size());
  }
  e.sequence = next_sequence_++;
  sift(e.slot - 1);
}

void WorkQueue::unschedule(Entry& e) {
  if (e.slot == 0) return;
  const size_t hole = std::exchange(e.slot, 0) - 1;
  Entry* last = scheduled_.back();
  scheduled_.pop_back();
  if (last == &e) return;
  settle(hole, last);
  sift(hole);
}

void WorkQueue::settle(size_t slot, Entry* e) {
  scheduled_[slot] = e;
  e->slot = static_cast<uint32_t>(slot + 1);
}

// Moves the entry at `slot` up or down to where it belongs.
void WorkQueue::sift(size_t slot) {
  const auto earlier = [](const Entry* a, const Entry* b) {
    return a->when != b->when ? a->when < b->when : a->sequence < b->sequence;
  };
  Entry* const moving = scheduled_[slot];
  for (size_t parent; slot > 0 && earlier(moving, scheduled_[parent = (slot - 1) / 2]); slot = parent) {
    settle(slot, scheduled_[parent]);
  }
  for (size_t child; (child = 2 * slot + 1) < scheduled_.size(); slot = child) {
    if (child + 1 < scheduled_.size() && earlier(scheduled_[child + 1], scheduled_[child])) ++child;
    if (!earlier(scheduled_[child], moving)) break;
    settle(slot, scheduled_[child]);
  }
  settle(slot, moving);
}

}  // namespace careen::kube
