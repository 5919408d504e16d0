// The Fleet document, kept current from a stream that is opened again whenever it breaks, and the clock of its cluster.
#pragma once

#include <functional>
#include <string>

#include "commands/fleet_model.h"
#include "commands/view_session.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::app {

class FollowedFleet {
 public:
  explicit FollowedFleet(ViewSession& session);

  // Until cancelled. `trouble` is told why the stream broke, and nothing when it speaks again.
  io::Task<void> follow(std::function<void(const std::string& why)> trouble);

  const FleetModel& model() const { return model_; }
  io::Signal& changed() { return changed_; }
  // When the document was told, and now; the cluster's clock may run faster than ours.
  io::Wall told() const { return told_; }
  io::Wall now() const;

 private:
  void take(std::string_view event, const kube::Json& document);

  ViewSession& session_;
  FleetModel model_;
  io::Signal changed_;
  io::Wall told_{};
  io::Steady told_at_{};
};

}  // namespace careen::app
