// The desk in metrics, and in events on nodes that others have taken out beyond a limit. The numbers of series are
// bounded, whatever there is of groups and actors.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "io/metrics.h"
#include "io/subscription.h"

namespace careen::kube {
class EventRecorder;
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::limits {

class Desk;
struct GroupState;

class Report {
 public:
  // `writes_events`: whether this replica is the one that tells the cluster of it.
  Report(Desk& desk, io::Metrics& metrics, kube::EventRecorder& events, const kube::Store<kube::Node>& nodes,
         std::function<bool()> writes_events);
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

 private:
  using Series = std::map<std::pair<std::string, io::Labels>, double>;
  void measure();
  void tell_overshoot();

  Desk& desk_;
  io::Metrics& metrics_;
  kube::EventRecorder& events_;
  const kube::Store<kube::Node>& nodes_;
  std::function<bool()> writes_events_;
  Series shown_;
  std::map<std::string, std::set<std::string>> told_;  // nodes, by group, as long as more are out than may be
  std::shared_ptr<void> updates_;
  io::Subscription changes_;
};

}  // namespace careen::limits
