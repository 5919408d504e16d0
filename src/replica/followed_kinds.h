// Watches of kinds that a cluster may serve or not, and that careen may read or not. Which of them are there is looked
// at again from time to time; what may not be read is said by whoever wanted it, once that is certain.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "io/sync.h"
#include "kube/cluster.h"
#include "kube/resource.h"
#include "kube/steady_refusal.h"
#include "kube/watched.h"

namespace careen::replica {

// A cluster whose kinds are followed.
struct FollowedPlace {
  kube::Client& client;
  std::function<kube::WatchParts(std::string_view name)> watch;
  // Of a management cluster: only what is about this one of its workload clusters.
  std::string ns = {}, cluster = {};

  static FollowedPlace all_of(kube::Cluster& cluster);
  // The selector of the objects of Cluster API that are about it.
  std::string of_the_cluster() const;
};

class FollowedKinds {
 public:
  struct Kind {
    kube::Resource resource;
    std::function<std::unique_ptr<kube::Sink>()> sink;
    const FollowedPlace* place = nullptr;
    std::string name = {};  // of one object; empty: all
    std::string label_selector = {};
    bool discovered = false;  // whether it is served, and in which version, has to be found out
    bool wanted = true;
    // What is known of it, since it is wanted: it is watched, careen may not read it, or else it is not there.
    bool looked = false;
    std::unique_ptr<kube::Watch> watch = nullptr;
    bool refused = false;
    std::string error = {};  // why nothing is known yet
    kube::SteadyRefusal refusals = {};

    // It is known what there is of it, be it nothing.
    bool known() const { return !wanted || (looked && (!watch || watch->synced())); }
  };

  // Two may follow the same kind: `purpose` tells their watches apart. `on_synced` is called when the first list of one
  // of them is complete.
  FollowedKinds(io::Loop& loop, std::string purpose, std::function<void()> on_synced = {});
  FollowedKinds(const FollowedKinds&) = delete;
  FollowedKinds& operator=(const FollowedKinds&) = delete;

  // Without a version: the one that its group prefers, if that has the kind. The place outlives this.
  Kind& add(const FollowedPlace& place, kube::Resource resource, std::function<std::unique_ptr<kube::Sink>()> sink);
  const std::list<Kind>& all() const { return kinds_; }
  // Starts and stops watches. False: something did not answer, and should be asked again soon.
  io::Task<bool> look();
  void stop_all();
  // Those that are wanted and may not be read, with commas between them.
  std::string refused() const;

 private:
  using Versions = std::map<std::string, std::string, std::less<>>;  // by group
  using Plurals = std::set<std::string, std::less<>>;

  io::Task<bool> look_at(Kind& kind);
  bool find(Kind& kind, const std::string& version, const Plurals& served);
  bool take_refusal(Kind& kind, const kube::ApiError& error);
  void absent(Kind& kind);
  io::Task<kube::Result<Versions>> preferred(kube::Client& client);
  io::Task<kube::Result<Plurals>> served(kube::Client& client, std::string group, std::string version);
  void start(Kind& kind);
  void stop(Kind& kind);

  io::Loop& loop_;
  std::string purpose_;
  std::function<void()> on_synced_;
  std::list<Kind> kinds_;
};

}  // namespace careen::replica
