#include "budget/pause_guard.h"

#include <optional>

namespace careen::budget {

using io::Task;

namespace {

using Answer = kube::Result<std::string>;

Answer not_sent() {
  kube::ApiError error;
  error.reason = "TooLate";
  error.message = "not sent: what is paused has changed since it was decided";
  return tl::make_unexpected(std::move(error));
}

// The check is made in the very step that sends it.
Task<void> send(const uint64_t* changes, uint64_t decided, PauseGuard::Write write, std::optional<Answer>* answer) {
  if (*changes != decided) {
    answer->emplace(not_sent());
    co_return;
  }
  answer->emplace(co_await std::move(write));
}

// Also a change from before anybody waits for it.
Task<void> changed_since(const uint64_t* changes, uint64_t decided, io::Gate* gate) {
  while (*changes == decided) co_await gate->wait();
}

}  // namespace

PauseGuard::PauseGuard(io::Loop& loop, Pauses* pauses) : loop_(loop), changed_(loop) {
  if (!pauses) return;
  pauses_ = pauses->subscribe([this] {
    ++changes_;
    changed_.open();
    changed_.close();
  });
}

PauseGuard::Write PauseGuard::carry(uint64_t decided, Write write) {
  std::optional<Answer> answer;
  co_await io::race(loop_, send(&changes_, decided, std::move(write), &answer),
                    changed_since(&changes_, decided, &changed_));
  if (answer) co_return std::move(*answer);
  kube::ApiError error;
  error.reason = kReason;
  error.message = "somebody has paused or resumed meanwhile";
  error.maybe_applied = true;
  co_return tl::make_unexpected(std::move(error));
}

}  // namespace careen::budget
