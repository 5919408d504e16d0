// Writes that a pause stops: each belongs to a decision, and when what is paused has changed since then it is not sent,
// nor sent again. What was on its way by then may have taken effect.
#pragma once

#include <cstdint>
#include <string>

#include "budget/pause.h"
#include "io/loop.h"
#include "io/sync.h"
#include "io/task.h"
#include "kube/error.h"

namespace careen::budget {

class PauseGuard {
 public:
  using Write = io::Task<kube::Result<std::string>>;

  // Null: nothing is ever paused.
  PauseGuard(io::Loop& loop, Pauses* pauses);
  PauseGuard(const PauseGuard&) = delete;
  PauseGuard& operator=(const PauseGuard&) = delete;

  // How often what is paused has changed so far.
  uint64_t changes() const { return changes_; }
  // The write's answer. Decided on when there were fewer changes, it is not sent (TooLate); one that comes meanwhile
  // ends it with an error that is interrupted() and ambiguous.
  Write carry(uint64_t decided, Write write);

  static bool interrupted(const kube::ApiError& error) { return error.reason == kReason; }

 private:
  static constexpr const char* kReason = "Interrupted";

  io::Loop& loop_;
  uint64_t changes_ = 0;
  io::Gate changed_;
  io::Subscription pauses_;
};

}  // namespace careen::budget
