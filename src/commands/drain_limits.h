// MaintenanceLimits as a drain from a terminal respects them: it counts what nodes say of whoever has them out, waits
// its turn among the nodes of its own command, and goes on when there is a place. It has no part in careen's ledger, so
// two terminals that look at the same moment may both go on; what they have cordoned counts for everybody after them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "budget/ledger.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "io/task.h"
#include "kube/node.h"
#include "kube/objects.h"
#include "kube/watched.h"
#include "limits/desk.h"
#include "session/kube_session.h"

namespace careen::app {

class DrainLimits {
 public:
  DrainLimits(KubeSession& session, int page_size);

  // Whether there are limits that are about these nodes; if so, all nodes are followed from now on. False when that
  // cannot be found out, which has been said. Whoever may not read limits goes on without, and is told.
  io::Task<bool> find(const std::vector<kube::Node>& nodes);

  // "waits for …"; empty: it may go, and counts as out for those that are asked about after it.
  std::string foresee(const kube::Node& node);
  // Resumes when there is a place for the node, which it has from then on. `tell` is told what it waits for.
  io::Task<void> turn(kube::Node node, std::function<void(const std::string& text)> tell);
  // It was not cordoned after all.
  void give_up(const std::string& node);

 private:
  limits::Asking asking(const std::string& node) const;
  // A drain that is repeated goes on with what it has cordoned.
  bool has_cordoned(const kube::Node& node) const;
  // Why the node may not go yet; if it may, it has its place from now on.
  std::optional<limits::Desk::Answer> refusal(const kube::Node& node);

  KubeSession& session_;
  const int page_size_;
  const io::Wall since_;
  budget::Ledger ledger_;
  std::unique_ptr<kube::Watched<kube::Node>> nodes_;
  std::unique_ptr<kube::Watched<kube::Object>> limits_;
  std::unique_ptr<limits::Desk> desk_;  // null: there is nothing to wait for
  std::map<std::string, io::Signal, std::less<>> turns_;
  io::Subscription told_;
};

}  // namespace careen::app
