// Keeps the MaintenanceSelectors' word: requests are made for nodes that match, and those that wait are taken back when
// their node does not match any more. One selector after the other, a few writes a second.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "controllers/requests/selector.h"
#include "controllers/slot/host.h"
#include "io/loop.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "io/task.h"
#include "kube/index.h"
#include "kube/object_writer.h"
#include "kube/objects.h"
#include "kube/watched.h"

namespace careen::requests {

class SelectorKeeper {
 public:
  // All must outlive it.
  SelectorKeeper(controllers::Host& host, kube::Store<kube::Object>& requests, const Roster& roster);

  void watch();
  void node_changed(const kube::Node* before, const kube::Node* after);
  // Until cancelled. It leads now.
  io::Task<void> run();

 private:
  void request_changed(const kube::Object* before, const kube::Object* after);
  std::vector<Request> made_by(const std::string& selector) const;
  io::Task<void> keep(std::string selector);
  io::Task<bool> make(const Selector& selector, SelectorPlan::Creation what);
  io::Task<bool> take_back(std::string name);
  io::Task<void> tell(const Selector& selector, const SelectorPlan& plan);
  void look_again(const std::string& selector);

  controllers::Host& p_;
  kube::Store<kube::Object>& requests_;
  const Roster& roster_;
  std::unique_ptr<kube::Watched<kube::Object>> watched_;
  kube::ObjectWriter<kube::Object> writer_;
  kube::ObjectWriter<kube::Object> request_writer_;
  kube::Index<kube::Object> by_selector_;
  std::set<std::string> due_;
  std::set<std::string> troubled_;
  io::Signal wake_;
  std::vector<io::Subscription> changes_;
};

}  // namespace careen::requests
