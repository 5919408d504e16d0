// What the workload controllers of the model see and do: the pods and ReplicaSets of an owner, pods made from a
// template, status written when it changed. One file for each kind decides what is to be done.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/loop.h"
#include "sim/api_server.h"
#include "sim/by_name.h"
#include "sim/disruption_status.h"
#include "sim/placement.h"
#include "sim/places.h"
#include "sim/pod_phase.h"

namespace careen::sim {

// A pod as far as its ReplicaSet is concerned.
struct PodFacts {
  explicit PodFacts(const json::value& pod);

  std::string name, uid, node, phase, created;
  std::map<std::string, std::string, std::less<>> labels;
  int64_t deletion_cost = 0;
  bool terminating = false;
  bool ended = false;
  bool ready = false;
  std::optional<io::Wall> ready_since{};

  bool active() const { return !terminating && !ended; }
};

class WorkloadWorld {
 public:
  WorkloadWorld(io::Loop& loop, ApiServer& api) : loop_(loop), api_(api) {}

  // Pods, or ReplicaSets, that the owner with this UID controls, ordered by name.
  std::vector<json::value> dependents(std::string_view collection, std::string_view owner_uid) const;
  // The pods among them; each is there until it changes.
  std::vector<const PodFacts*> pods_of(std::string_view owner_uid) const;
  Parsed read(const std::string& path) const { return api_.value(path); }
  const std::map<std::string, NodeFacts>& nodes() const { return nodes_; }
  io::Wall now() const { return loop_.wall_now(); }
  // As times are written in objects.
  std::string now_text() const;

  // False when the server refuses.
  bool create(const std::string& collection_path, const json::value& object);
  // Only that object, not one that has its name since.
  void remove(const std::string& path, std::string_view uid);
  void merge(const std::string& path, const json::value& patch);
  // Nothing happens when the owner has that status already.
  void write_status(const std::string& path, const json::value& owner, const json::value& status);

  // The failed pods of a Job since its last success, also those that are gone.
  struct Failures {
    int in_a_row = 0;
    io::Wall last{};
  };
  Failures& failures_of(std::string_view job_uid) { return failures_[std::string(job_uid)]; }

  // Kept by Workloads from what it observes.
  void follow(const std::string& owner_uid, const std::string& path, Text object) {
    dependents_[owner_uid].insert_or_assign(path, Dependent{std::move(object)});
  }
  void unfollow(const std::string& owner_uid, const std::string& path);
  // Whether anything is different about the node, or it came or went.
  bool read_node(const std::string& name);
  void forget_failures(const std::string& job_uid) { failures_.erase(job_uid); }
  void forget_nodes() { nodes_.clear(); }

 private:
  struct Dependent {
    Text object;
    mutable std::optional<PodFacts> pod{};  // read when somebody asks
  };

  io::Loop& loop_;
  ApiServer& api_;
  ByName<std::map<std::string, Dependent>> dependents_;  // by the owner's UID, by path
  std::map<std::string, NodeFacts> nodes_;
  std::map<std::string, Failures> failures_;  // by the Job's UID
};

// Where objects are: namespaced ones of a collection such as "/apis/apps/v1/replicasets".
std::string collection_in(std::string_view collection, std::string_view ns);
std::string object_in(std::string_view collection, std::string_view ns, std::string_view name);
std::string path_of(std::string_view collection, const json::value& object);

inline constexpr std::string_view kReplicaSetsPath = "/apis/apps/v1/replicasets";

// On the pods of a DaemonSet or StatefulSet: which of its templates they were made from.
inline constexpr std::string_view kRevisionHashLabel = "controller-revision-hash";

// --- pods ---------------------------------------------------------------------------------------------------------

bool is_terminating(const json::value& object);
inline bool is_active(const json::value& pod) { return !is_terminating(pod) && !has_ended(pod); }
// Ready for this long; `again` becomes the time until it is, when that is sooner.
bool is_available(const json::value& pod, int64_t min_ready_seconds, io::Wall now, std::optional<io::Duration>& again);
bool is_available(const PodFacts& pod, int64_t min_ready_seconds, io::Wall now, std::optional<io::Duration>& again);
// A pod as the template of an owner says, controlled by it.
json::value pod_from_template(const json::value& owner, std::string_view api_version, std::string_view kind,
                              json::storage_ptr memory = {});
json::value controller_reference(const json::value& owner, std::string_view api_version, std::string_view kind,
                                 json::storage_ptr memory = {});

// --- small things -------------------------------------------------------------------------------------------------

std::string_view uid_of(const json::value& object);
std::string_view name_of(const json::value& object);
std::string_view namespace_of(const json::value& object);
int64_t generation_of(const json::value& object);
int64_t spec_number(const json::value& object, std::string_view field, int64_t otherwise);
int64_t status_number(const json::value& object, std::string_view field);
json::object labels_of(const json::value& object);
void sooner(std::optional<io::Duration>& again, io::Duration in);
// A number or a percentage of `whole`.
int64_t scaled(const json::value* number, int64_t whole, bool round_up, int64_t otherwise);
// A short name for what a template says, in letters and digits that make no words.
std::string template_hash(const json::value& pod_template, int64_t collisions = 0);

}  // namespace careen::sim
