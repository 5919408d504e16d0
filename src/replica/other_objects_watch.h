// Keeps what other objects say of nodes current (limits/other_objects.h), on every replica, as long as some limit
// counts what others do. Only kinds that the cluster serves and careen may read are watched; which those are is looked
// at again each minute. What may not be read is not counted, and said once: others are observed as well as can be.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/subscription.h"
#include "io/sync.h"
#include "kube/cluster.h"
#include "kube/resource.h"
#include "kube/steady_refusal.h"
#include "kube/watched.h"

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
  struct Followed {
    kube::Resource resource;  // without its version, if that has to be found out
    std::string name;         // of one object; empty: all
    std::function<std::unique_ptr<kube::Sink>()> sink;
    bool machines = false;
    std::unique_ptr<kube::Watch> watch = nullptr;
    kube::SteadyRefusal refusals = {};
    bool refused = false;
  };
  using Versions = std::map<std::string, std::string, std::less<>>;  // by group

  void follow(kube::Resource resource, std::function<std::unique_ptr<kube::Sink>()> sink, bool machines = false);
  bool wanted() const;
  io::Task<void> run_while_wanted();
  // False: something did not answer, and is asked again soon.
  io::Task<bool> look();
  io::Task<bool> look_at(Followed& followed);
  io::Task<std::optional<Versions>> preferred();
  io::Task<std::optional<std::set<std::string>>> served(std::string group, std::string version);
  void start(Followed& followed);
  void stop(Followed& followed);
  void stop_all();
  void tell();
  io::Task<bool> all_listed();

  OtherObjectsParts p_;
  io::Loop& loop_;
  std::vector<Followed> followed_;
  io::Signal changed_;
  io::Gate looked_;
  io::Subscription changes_;
};

}  // namespace careen::replica
