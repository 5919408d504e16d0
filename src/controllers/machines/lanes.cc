#include "controllers/machines/lanes.h"

#include <fmt/format.h>

#include <utility>

#include "budget/pause_guard.h"
#include "io/problems.h"

namespace careen::machines {

using io::Task;
using kube::WriteFate;
using kube::WriteResult;

Lanes::Lanes(io::Loop& loop, io::Problems& problems, std::string_view name, Decide decide)
    : problems_(problems),
      name_(name),
      decide_(std::move(decide)),
      queue_(loop, {.first = io::seconds{1}, .longest = io::minutes{5}}),
      writes_(loop) {}

Task<void> Lanes::run() {
  while (!stopping_) {
    const std::string key = co_await queue_.next();
    if (stopping_) {
      queue_.done(key);
      break;
    }
    Step step = decide_(key);
    if (step.again) queue_.wake_at(key, *step.again);
    if (step.write) {
      writes_.spawn(carry_out(key, std::move(*step.write)));
      continue;
    }
    problems_.clear(problem_of(key));
    if (step.gone) {
      queue_.forget(key);
    } else {
      queue_.succeeded(key);
    }
    queue_.done(key);
  }
}

// The key is decided on again in any case: what it finds then is the world.
Task<void> Lanes::carry_out(std::string key, Task<WriteResult> write) {
  const WriteResult result = co_await std::move(write);
  if (result.done() || result.fate == WriteFate::conflict || result.fate == WriteFate::missing) {
    queue_.succeeded(key);
    queue_.wake(key);
  } else {
    queue_.wake_after_failure(key);
    if (result.fate != WriteFate::unsent && !budget::PauseGuard::interrupted(*result.error)) {
      problems_.raise(problem_of(key), fmt::format("{} cannot be written: {}; it is tried again", problem_of(key),
                                                   result.error->message));
    }
  }
  queue_.done(key);
}

Task<void> Lanes::stop() {
  stopping_ = true;
  queue_.clear();
  while (queue_.working() > 0) co_await queue_.idle().wait();
}

}  // namespace careen::machines
