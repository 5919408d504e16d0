// A cluster as one value: who asks which API server, the ways there, what is watched in it and what is under way
// with it, all under one name. careen's own is one of them; others are made from kubeconfigs that anybody may have
// written, and each has its own connections, pauses after failures, problems and metrics, so that it delays and
// confuses no other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/log.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/sync.h"
#include "kube/atoms.h"
#include "kube/client.h"
#include "kube/connect.h"
#include "kube/node_decoder.h"
#include "kube/watched.h"

namespace careen::kube {

struct ClusterParts {
  io::Loop& loop;
  io::Random& random;
  io::Metrics& metrics;    // of the process
  io::Problems& problems;  // of the process
  io::Log log = {};
};

class Cluster {
 public:
  // With a name its metrics have the label cluster, its problems begin with "cluster NAME: " and its log lines have the
  // field cluster; without one, as careen's own, they have none of it. Nothing is sent before somebody asks.
  Cluster(ClusterParts parts, std::string name, Access access, Connect connect);
  // Ends its tasks where they wait, its connections and its watches; its problems and metrics are gone. Atoms, clients
  // and watches made from it have to be gone before.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Other credentials, from the next request on; what is under way ends as it began. On the same server watches go on,
  // and those that had failed try again at once. Another server is another world: what was known of the old one leaves
  // the stores, and all is listed anew. Not from a listener of a store, or of Watch::on_synced().
  void change(Access access);

  const std::string& name() const { return name_; }
  const Access& access() const { return access_; }
  io::Loop& loop() { return parts_.loop; }
  io::Metrics& metrics() { return own_metrics_ ? *own_metrics_ : parts_.metrics; }
  io::Problems& problems() { return own_problems_ ? *own_problems_ : parts_.problems; }
  const io::Log& log() const { return parts_.log; }
  // Of tasks that have to do with it; they end before anything else of it.
  io::Scope& tasks() { return tasks_; }

  // For reads, and for writes that need no lease.
  Client& client() { return *client_; }
  // For whoever sets a guard of its own.
  std::unique_ptr<Client> make_client();
  // Over the connections that are kept free for renewals.
  std::unique_ptr<Client> make_lease_client();
  AtomPool& atoms() { return atoms_; }
  NodeDecoder& node_decoder() { return node_decoder_; }

  // Objects that are kept in memory as long as the cluster lives. Nothing is sent before start().
  template <class T, class Decoder>
  Watched<T>& watched(ReflectorOptions what, Decoder&& decoder) {
    const std::string name = what.name.empty() ? what.resource.plural : what.name;
    auto made = std::make_shared<Watched<T>>(watch_parts(name), std::move(what), std::forward<Decoder>(decoder));
    kept_.push_back(made);
    return *made;
  }
  // For a watch that ends before the cluster; `name` is that of its log.
  WatchParts watch_parts(std::string_view name);

 private:
  class Way;
  void lead_ways();

  ClusterParts parts_;
  std::string name_;
  Access access_;
  Connect connect_;
  std::optional<io::Metrics> own_metrics_;
  std::optional<io::Problems> own_problems_;
  std::unique_ptr<Way> requests_;
  std::unique_ptr<Way> leases_;
  std::unique_ptr<Client> client_;
  AtomPool atoms_;
  NodeDecoder node_decoder_{atoms_};
  std::vector<Watch*> watches_;
  std::vector<std::shared_ptr<void>> kept_;
  io::Scope tasks_;
};

}  // namespace careen::kube
