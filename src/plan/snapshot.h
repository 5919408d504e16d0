// A snapshot: what a plan needs to know of a cluster, and nothing else, as one JSON document that can be kept, mailed
// and planned with later. It never holds secrets: pods come without environment and commands and with only a few
// annotations, volumes say only whether they are local, and the configuration has no secret values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "io/time.h"
#include "kube/json.h"
#include "kube/resource.h"

namespace careen::controllers {
struct Kind;
}

namespace careen::plan {

enum class Kind : uint8_t {
  nodes,
  pods,
  budgets,
  deployments,
  replica_sets,
  stateful_sets,
  daemon_sets,
  jobs,
  leases,
  hypervisors,
  limits,
  first_of_controllers,  // and as many more as there are controllers: kind_of()
};

struct KindEntry {
  Kind kind;
  std::string_view section;  // of the document
  kube::Resource resource;
};
// All kinds, in the order of the document.
const std::vector<KindEntry>& kinds();
const KindEntry& entry_of(Kind kind);
// The objects of a controller.
Kind kind_of(const controllers::Kind& controller);
// Pods, or what makes, keeps or counts them.
constexpr bool concerns_pods(Kind kind) { return kind < Kind::leases && kind != Kind::nodes; }

struct Snapshot {
  static constexpr int kFormat = 1;

  io::Wall time{};                                  // of the cluster
  std::string server;                               // its version, v1.36.3
  std::string careen;                               // the version that took it
  std::string config;                               // text of the configuration file, without secrets; empty: none
  std::vector<std::string> missing;                 // what could not be read, and why, for people
  std::map<Kind, std::vector<kube::Json>> objects;  // reduced

  const std::vector<kube::Json>& of(Kind kind) const;
};

// The object with what a plan needs of it and no more.
kube::Json reduce(Kind kind, const boost::json::value& whole);
// A lease of kubelets, an old ReplicaSet: nothing a plan needs.
bool is_needed(Kind kind, kube::JsonView whole);

// The document. Reading tells what is wrong and where: objects.pods[3].metadata.name: must be a text.
std::string snapshot_text(const Snapshot& snapshot);
io::Result<Snapshot> parse_snapshot(std::string_view text);

// Packed with gzip if the name ends with .gz; reading finds out by itself.
std::string pack_for(const std::string& file_name, std::string text);
io::Result<std::string> unpack(std::string bytes);

}  // namespace careen::plan
