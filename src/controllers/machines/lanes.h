// One lane for each object that somebody looks after: a decision, then the write that it wants, then the next decision.
// A write that fails is decided on again, later and later, and is a problem meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/loop.h"
#include "io/sync.h"
#include "io/task.h"
#include "kube/object_writer.h"
#include "kube/queue.h"

namespace careen::io {
class Problems;
}

namespace careen::machines {

class Lanes {
 public:
  struct Step {
    bool gone = false;                // there is no such object, and nothing to come
    std::optional<io::Steady> again;  // when nothing happens before
    std::optional<io::Task<kube::WriteResult>> write;
  };
  using Decide = std::function<Step(const std::string& key)>;

  // `name` is of each lane in problems, before its key. Decisions are made while run() runs.
  Lanes(io::Loop& loop, io::Problems& problems, std::string_view name, Decide decide);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  void wake(std::string_view key) { queue_.wake(key); }
  // Until stopped or cancelled.
  io::Task<void> run();
  // Takes no more work, and returns when what is under way has ended.
  io::Task<void> stop();

 private:
  io::Task<void> carry_out(std::string key, io::Task<kube::WriteResult> write);
  std::string problem_of(std::string_view key) const { return name_ + " " + std::string(key); }

  io::Problems& problems_;
  const std::string name_;
  Decide decide_;
  kube::WorkQueue queue_;
  bool stopping_ = false;
  io::Scope writes_;  // last: its tasks use everything above
};

}  // namespace careen::machines
