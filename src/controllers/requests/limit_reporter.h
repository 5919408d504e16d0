// Writes the status of the MaintenanceLimits: one after the other, a few a second, and only what has changed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "controllers/requests/limit_status.h"
#include "controllers/slot/host.h"
#include "io/loop.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "io/task.h"
#include "kube/object_writer.h"

namespace careen::requests {

class Roster;
struct ControllerOptions;

class LimitReporter {
 public:
  // Both must outlive it; the host has a desk.
  LimitReporter(controllers::Host& host, const Roster& roster);

  void follow(const ControllerOptions& options);
  // Some number may have changed.
  void changed();
  // A request for that node was approved, or has ended.
  void approved(const std::string& node);
  void finished(const std::string& node);
  // How many maintenances it allows, as its status has it.
  int64_t allowed(std::string_view limit) const;

  // Until cancelled. It leads now.
  io::Task<void> run();

 private:
  LimitPicture picture_of(const limits::Limit& limit) const;
  void note(const std::string& node, std::optional<io::Wall> LimitTimes::* which);
  io::Task<void> report(const std::string& name);
  void failed(const std::string& name, const std::string& message);
  void healed(const std::string& name);

  // Its status could not be written, so often in a row.
  struct Trouble {
    int failures = 0;
    io::Steady retry_at{};
  };

  controllers::Host& p_;
  const Roster& roster_;
  kube::ObjectWriter<kube::Object> writer_;
  bool not_ready_only_false_ = false;
  std::map<std::string, LimitTimes, std::less<>> times_;
  std::set<std::string> waiting_;  // those to be looked at
  std::map<std::string, Trouble, std::less<>> troubled_;
  io::Signal wake_;
  io::Alarm retry_;
  io::Subscription webhook_changes_;
};

}  // namespace careen::requests
