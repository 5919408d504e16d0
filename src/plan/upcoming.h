// The next hours as the dashboard shows them: a plan of the cluster as it is now, made beside the leader's work in
// slices so short that nothing waits for it, and kept for a while. A request that comes while it is being made gets
// what is there so far.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/interpolate.h"
#include "io/loop.h"
#include "io/sync.h"
#include "io/task.h"
#include "plan/planner.h"

namespace careen::kube {
class Client;
}

namespace careen::plan {

struct UpcomingParts {
  io::Loop& loop;                                   // that is not to be held up; a real one
  kube::Client& reader;                             // of the cluster
  std::function<io::Result<std::string>()> config;  // the text of the configuration file as it is now
  config::Environment environment = {};
  kube::Client* limits = nullptr;  // of the cluster that has the MaintenanceLimits, where that is another one
};

class Upcoming {
 public:
  explicit Upcoming(UpcomingParts parts) : p_(std::move(parts)), done_(p_.loop), scope_(p_.loop) {}

  // The Plan document of docs/api.md, from now on.
  io::Task<std::string> document(int hours);

 private:
  io::Task<void> make(int hours);
  io::Task<io::Result<bool>> prepare(int hours);
  std::string shown() const;

  UpcomingParts p_;
  std::unique_ptr<Planner> planner_;
  std::string finished_;  // the latest whole document, or an error's
  std::optional<io::Steady> made_at_;
  int hours_ = 0;
  bool making_ = false;
  io::Signal done_;
  io::Scope scope_;
};

}  // namespace careen::plan
