// Keeps what other objects say of nodes current (limits/other_objects.h), on every replica, as long as some limit
// counts what others do. Only kinds that the cluster serves and careen may read are watched; which those are is looked
// at again each minute. What may not be read is not counted, and said once: others are observed as well as can be.
#pragma once

#include <functional>
#include <vector>

#include "io/subscription.h"
#include "io/sync.h"
#include "kube/cluster.h"
#include "replica/followed_kinds.h"

namespace careen::limits {
class Desk;
class OtherObjects;
}  // namespace careen::limits

namespace careen::replica {

struct OtherObjectsParts {
  kube::Cluster& cluster;
  limits::OtherObjects& objects;
  limits::Desk& desk;
  // From now on nodes have to say which machine they are, or need not any more.
  std::function<void(bool)> know_machines;
  const FollowedPlace& cluster_api;  // where its objects about this cluster are; it outlives the watch
};

class OtherObjectsWatch {
 public:
  explicit OtherObjectsWatch(OtherObjectsParts parts);
  OtherObjectsWatch(const OtherObjectsWatch&) = delete;
  OtherObjectsWatch& operator=(const OtherObjectsWatch&) = delete;

  // Until cancelled.
  io::Task<void> run();
  // Resumes when what is needed has been listed, or after a few seconds: it is waited for, but not for ever.
  io::Task<void> listed();

 private:
  bool wanted() const;
  io::Task<void> run_while_wanted();
  void stop_all();
  void tell();
  io::Task<bool> all_listed();

  OtherObjectsParts p_;
  io::Loop& loop_;
  const FollowedPlace here_;
  FollowedKinds kinds_;
  std::vector<const FollowedKinds::Kind*> machines_;  // those that have a node
  io::Signal changed_;
  io::Gate looked_;
  io::Subscription changes_;
};

}  // namespace careen::replica
