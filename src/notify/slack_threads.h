// What sends into Slack threads share within a process: the turn at each lease that names a thread, so that many
// nodes at once open one thread, and titles that were posted but could not be recorded in their lease yet.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "io/sync.h"

namespace careen::notify {

class SlackThreads {
 public:
  // The turn at a lease; it ends when destroyed.
  class Turn {
   public:
    Turn(std::shared_ptr<io::Semaphore> lane, io::Semaphore::Permit permit)
        : lane_(std::move(lane)), permit_(std::move(permit)) {}

   private:
    std::shared_ptr<io::Semaphore> lane_;
    io::Semaphore::Permit permit_;
  };

  struct Title {
    std::string ts;  // Slack's name for the message
    io::Wall posted{};
  };

  explicit SlackThreads(io::Loop& loop) : loop_(loop) {}

  // First come, first served.
  io::Task<Turn> take_turn(std::string lease);

  // Between posting a title and recording it there is a write that can fail: the next send continues with that title.
  void remember(const std::string& lease, Title title) { unrecorded_[lease] = std::move(title); }
  void recorded(const std::string& lease) { unrecorded_.erase(lease); }
  const Title* unrecorded(const std::string& lease) const;

 private:
  io::Loop& loop_;
  std::map<std::string, std::weak_ptr<io::Semaphore>> lanes_;
  std::map<std::string, Title> unrecorded_;
};

}  // namespace careen::notify
