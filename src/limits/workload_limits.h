// Limits about workloads: at most so many nodes that ran pods of a workload may be out at once. What is asked about is
// a node; what is counted, for each workload by itself, are the nodes that have a place and ran one of its pods when
// they got it. That is remembered with the place, because a drain takes the pods away.
//
// A node that is down needs nothing here: its pods do not serve, and a failure shall not keep its own repair waiting.
// Once it has a place it counts like any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/subscription.h"
#include "kube/objects.h"
#include "kube/workload.h"
#include "limits/limit.h"

namespace careen::kube {
class PodStore;
struct Pod;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::limits {

// Where it looks things up; all must outlive it. What is not known holds back.
struct WorkloadSources {
  kube::PodStore& pods;
  kube::Workloads& workloads;
  kube::Store<kube::Namespace>& namespaces;
  std::function<bool()> knows_pods;
  std::function<bool(kube::WorkloadKind)> knows;
  std::function<bool()> knows_namespaces;
};

class WorkloadLimits {
 public:
  struct Listener {
    std::function<void(std::string_view node)> moved;  // it has got or lost pods
    std::function<void()> changed;                     // workloads or namespaces are others
  };
  explicit WorkloadLimits(WorkloadSources sources, Listener listener = {});
  WorkloadLimits(const WorkloadLimits&) = delete;
  WorkloadLimits& operator=(const WorkloadLimits&) = delete;

  // About workloads; in place of the one of its name.
  void put(Limit limit);
  void remove(std::string_view name);
  bool empty() const { return limits_.empty(); }
  // What has to be watched for them, besides pods.
  std::set<kube::WorkloadKind> kinds() const;
  bool needs_namespaces() const;

  struct Refusal {
    const Limit* limit = nullptr;
    std::string why;  // for people: "deployment shop/web: 1 of 1: n4"
  };
  // What keeps the node from a place, each limit once, until visit says no.
  void refusals(std::string_view node, const std::function<bool(const Refusal&)>& visit) const;

  // The node has a place from now on. What it runs of the workloads that there are limits about is remembered, besides
  // what was remembered before: `record`, of a predecessor. Returns all of it; empty: nothing is to be recorded.
  std::vector<std::string> take(std::string_view node, const std::vector<std::string>& record = {});
  // It has none any more. False: nothing was remembered of it.
  bool release(std::string_view node);
  bool has(std::string_view node) const { return taken_.contains(node); }

  // More workloads than that of one node are not remembered one by one: the node counts for every one of them.
  static constexpr size_t kMostRemembered = 64;

 private:
  // Of kind, namespace and name. Two workloads that share one count together.
  using Mark = uint32_t;
  using Nodes = std::set<std::string, std::less<>>;
  struct Taken {
    std::set<Mark> marks;
    bool all = false;
  };

  struct Selected {
    const Limit* limit;
    const kube::Workload* workload;
    Mark mark;
  };
  bool knows_all() const;
  bool selects(const Limit& limit, const kube::Workload& workload) const;
  // The workloads that have pods there and that a limit is about, limit by limit.
  const std::vector<Selected>& selected_on(std::string_view node) const;
  std::vector<Selected> look(std::string_view node) const;
  int64_t count_out(Mark mark, std::string_view but) const;
  std::string refused(const Selected& selected, std::string_view node) const;

  WorkloadSources sources_;
  Listener listener_;
  std::map<std::string, Limit, std::less<>> limits_;
  // What was found on nodes, until something of it changes: all who wait are looked at again when one has left.
  mutable std::map<std::string, std::vector<Selected>, std::less<>> found_;
  std::map<std::string, Taken, std::less<>> taken_;  // by node
  std::map<Mark, Nodes> nodes_;
  Nodes everywhere_;  // nodes that count for all
  std::vector<io::Subscription> follows_;
};

}  // namespace careen::limits
