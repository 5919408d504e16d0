// The hub: one careen in a management cluster that runs controllers in its workload clusters, too. Each workload
// cluster has a replica of its own, with its own caches, desk and drains; all of them write only while the hub leads,
// and have their ledgers, limits and pauses in the management cluster. One that hangs delays no other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "io/log.h"
#include "io/metrics.h"
#include "io/sync.h"
#include "io/task.h"
#include "kube/cluster.h"
#include "kube/objects.h"
#include "kube/watched.h"
#include "replica/replica.h"

namespace careen::replica {

struct HubParts {
  ReplicaParts process;  // how the management cluster is reached does not count
  kube::Cluster& home;
  kube::Lock& lock;
  std::function<std::optional<io::Duration>()> write_window;
  budget::Pauses& pauses;
  io::Log log;
};

class Hub {
 public:
  // `options` are those of the replica that has it.
  Hub(HubParts parts, const ReplicaOptions& options);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // While the process leads: until cancelled.
  io::Task<void> lead();
  // All of them wind down, side by side.
  io::Task<void> stop();
  // Opens when somebody else has taken over the ledger of one of them: this process does not lead any more.
  io::Gate& lost() { return lost_; }

  // By namespace/name; null: it is not run, or not yet.
  Replica* find(std::string_view cluster) const;
  void for_each(const std::function<void(const std::string& cluster, Replica& replica)>& visit) const;
  // Called with each one before it runs, and with null when it is to end. Whoever holds one for longer delays nothing
  // but its own return.
  using Tell = std::function<void(const std::string& cluster, std::shared_ptr<Replica> replica)>;
  void on_change(Tell tell) { tell_ = std::move(tell); }

 private:
  struct Child;

  io::Task<void> follow();
  bool compare();
  // By whom that API server is used; empty: by nobody else.
  std::string other_at(std::string_view server, const Child& asking) const;
  io::Task<void> let_go(std::shared_ptr<Child> child);

  HubParts p_;
  const ReplicaOptions& options_;
  io::Metrics unseen_;  // before what is counted there
  std::unique_ptr<kube::Watched<kube::Object>> clusters_;
  io::Subscription changes_;
  std::map<std::string, std::shared_ptr<Child>, std::less<>> children_;
  // Those that have not quite gone: metrics of one name are not had twice.
  std::map<std::string, std::weak_ptr<Child>, std::less<>> leaving_;
  Tell tell_;
  io::Signal changed_;
  io::Gate lost_;
  bool stopping_ = false;
  io::Scope scope_;  // last: its tasks use everything above
};

}  // namespace careen::replica
