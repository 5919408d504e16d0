// One workload cluster as the management cluster sees it: the Secret with its kubeconfig, the connection that is made
// from it, and its Nodes. Each is on its own: one that hangs, or whose credentials are refused, delays no other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/machines/decide.h"
#include "controllers/machines/health_check.h"
#include "controllers/machines/machine.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/sync.h"
#include "kube/cluster.h"
#include "kube/connect.h"
#include "kube/object_writer.h"
#include "kube/watched.h"

namespace careen::machines {

// The Secret <cluster>-kubeconfig, of which one value counts.
struct KubeconfigSecret {
  std::string name;
  kube::Atom ns;
  std::string uid;
  uint64_t version = 0;
  std::optional<std::string> text;  // decoded; nothing: there is no such value, or it is no base64

  std::string key() const { return kube::object_key(ns.view(), name); }
  bool same_facts(const KubeconfigSecret& other) const { return uid == other.uid && text == other.text; }
};
io::Result<KubeconfigSecret> read_kubeconfig_secret(kube::RawObject& raw, kube::AtomPool& atoms);
io::Result<KubeconfigSecret> read_kubeconfig_secret(std::string_view json, kube::AtomPool& atoms);

struct WorkloadParts {
  io::Loop& loop;
  io::Random& random;
  io::Metrics& metrics;    // of the process
  io::Problems& problems;  // of the process
  io::Log log;
  kube::Client& management;  // reads
  kube::AtomPool& atoms;     // of the management cluster
  kube::Connect connect;
  std::function<void(kube::Client&)> guard;  // lets a client write only while this process leads
  // Watches of Secrets have metrics like all others, but nobody needs them for each of 500 clusters.
  io::Metrics& unseen;
  std::function<void(const Node* before, const Node* after)> node_changed;
  std::function<void()> state_changed;  // what is known of the cluster as a whole
  // Null: health checks are nobody's business, and not watched.
  std::function<void(const HealthCheck* before, const HealthCheck* after)> health_check_changed;
};

class Workload {
 public:
  Workload(WorkloadParts parts, std::string ns, std::string name);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  const std::string& key() const { return key_; }
  // How it stands with it; `trouble` is for people.
  enum class State { connecting, failing, connected };
  State state() const;
  std::string trouble() const;
  io::Wall since() const { return since_; }  // the connection's last change between these states, as it was noticed
  uint64_t credentials_taken() const { return taken_; }
  // For how long it has not been heard of.
  io::Duration silence() const;
  // Empty where there is none.
  std::string server() const;
  bool has_secret() const { return secret_->store().size() > 0; }

  // Null until its nodes have been listed.
  const kube::Store<Node>* nodes() const;
  // Under the version it was decided on. What it writes to lives until that has ended, whatever becomes of this.
  io::Task<kube::WriteResult> write(const Node& node, const NodeWrite& what);
  // The same of those that are held back: null where they are not served, or nobody asked for them.
  const kube::Store<HealthCheck>* health_checks() const;
  io::Task<kube::WriteResult> write(const HealthCheck& check, const std::vector<std::string>& pause_requests);
  // Reads the Node past all caches; what kept us from it, if anything did.
  io::Task<std::optional<kube::ApiError>> look(std::string node);
  // Something is on its way to it.
  bool busy() const { return connection_.use_count() > 1; }

 private:
  struct Connection;

  io::Task<void> run();
  void take_secret();
  void refuse(std::string why);
  void watch_state();
  bool troubled() const;

  WorkloadParts p_;
  const std::string ns_, name_, key_;
  io::Problems problems_;
  std::unique_ptr<kube::Watched<KubeconfigSecret>> secret_;
  std::shared_ptr<Connection> connection_;
  io::Subscription secret_changes_, node_changes_, health_check_changes_;
  std::string refusal_;  // why there is no connection
  State told_ = State::connecting;
  io::Wall since_;
  uint64_t taken_ = 0;
  io::Signal changed_;
  io::Scope scope_;
};

std::string_view name_of(Workload::State state);

}  // namespace careen::machines
