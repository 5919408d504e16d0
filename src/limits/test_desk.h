// A desk with nodes and limits that a test puts there, in virtual time; its ledger lives in memory.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "budget/ledger.h"
#include "drain/holds.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "limits/desk.h"
#include "limits/other_objects.h"
#include "sim/test_api.h"

namespace careen::limits {

// What a test says of a node.
struct NodeSpec {
  std::map<std::string, std::string> labels = {};
  std::string cordoned_by = {};  // a manager; empty: it is schedulable
  bool ready = true;
  std::string taint = {};   // its key
  std::string holder = {};  // careen holds it cordoned for that owner
  std::string uid = {};     // empty: one that belongs to the name
  std::string provider_id = {};
  std::string annotation = {};  // its key
};

struct DeskWorld {
  DeskWorld() : server_loop(time.make_loop()), loop(time.make_loop()), transport(api.connect(*loop)) {
    ledger.emplace(*loop, client, problems, io::Log{}, metrics, std::nullopt);
  }

  kube::Json node_of(const std::string& name, const NodeSpec& spec) {
    auto json = kube::Json::object();
    json.set({"metadata", "name"}, name).set({"metadata", "uid"}, spec.uid.empty() ? "uid-" + name : spec.uid);
    json.set({"metadata", "resourceVersion"}, std::to_string(++version));
    auto& created = births.try_emplace(spec.uid.empty() ? name : spec.uid, loop->wall_now()).first->second;
    json.set({"metadata", "creationTimestamp"}, io::format_whole_seconds(created));
    for (const auto& [key, value] : spec.labels) json.set({"metadata", "labels", key}, value);
    json.set({"status", "conditions"},
             kube::Json::array({kube::Json::object({{"type", "Ready"},
                                                    {"status", spec.ready ? "True" : "False"},
                                                    {"lastTransitionTime", "2025-01-01T00:00:00Z"}})}));
    if (!spec.taint.empty()) {
      json.set({"spec", "taints"},
               kube::Json::array({kube::Json::object({{"key", spec.taint}, {"effect", "NoSchedule"}})}));
    }
    if (!spec.provider_id.empty()) json.set({"spec", "providerID"}, spec.provider_id);
    if (!spec.annotation.empty()) json.set({"metadata", "annotations", spec.annotation}, "");
    if (!spec.holder.empty()) {
      json.set({"spec", "unschedulable"}, true);
      drain::Holds holds;
      holds.by_owner[spec.holder] = {.id = "id", .since = births.begin()->second, .items = {.cordon = true}};
      json.set({"metadata", "annotations", drain::kHoldsAnnotation}, holds.text());
    }
    if (!spec.cordoned_by.empty()) {
      json.set({"spec", "unschedulable"}, true);
      auto fields = kube::Json::object({{"f:spec", kube::Json::object({{"f:unschedulable", kube::Json::object()}})}});
      json.set({"metadata", "managedFields"},
               kube::Json::array({kube::Json::object({{"manager", spec.cordoned_by},
                                                      {"time", io::format_whole_seconds(loop->wall_now())},
                                                      {"fieldsV1", std::move(fields)}})}));
    }
    return json;
  }
  void node(const std::string& name, const NodeSpec& spec = {}) {
    auto decoded = kube::decode_node(node_of(name, spec).dump(), atoms, kube::NodeSections({kProviderIdPointer}));
    ASSERT_TRUE(decoded);
    nodes.put(std::move(*decoded));
  }
  void remove_node(const std::string& name) { nodes.remove(name, ++version); }
  void limit(const std::string& name, const std::string& spec, const std::string& status = "{}") {
    auto decoded = kube::decode_object(fmt::format(
        R"({{"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceLimit","metadata":{{"name":"{}","uid":"l-{}",
        "resourceVersion":"{}"}},"spec":{},"status":{}}})",
        name, name, ++version, spec, status));
    ASSERT_TRUE(decoded);
    limits.put(std::move(*decoded));
  }
  // Of the kind of Cluster API, unless it says otherwise.
  void machine(kube::Machine machine) {
    machine.version = ++version;
    if (machine.uid.empty()) machine.uid = "m-" + machine.name;
    others.of(machine.kind).put(std::move(machine));
  }
  void remove_machine(const std::string& name, kube::MachineKind kind = kube::MachineKind::cluster_api) {
    others.of(kind).remove(name, ++version);
  }
  void machine_set(const std::string& name, int64_t replicas) {
    others.of(kube::MachineSetKind::cluster_api)
        .put({.name = name, .ns = "", .uid = "s-" + name, .version = ++version, .replicas = replicas});
  }
  void remove_machine_set(const std::string& name) {
    others.of(kube::MachineSetKind::cluster_api).remove(name, ++version);
  }
  void remove_limit(const std::string& name) { limits.remove(name, ++version); }

  void open() {
    desk.emplace(*loop, nodes, limits, *ledger);
    desk->follow(others);
    told =
        desk->on_turn([this](const std::string& node, const std::string& who) { turns.push_back(node + " " + who); });
    desk->known();
  }
  // What has been told of turns since the last time.
  std::vector<std::string> whose_turn() {
    time.settle();
    return std::exchange(turns, {});
  }
  Asking asking(const std::string& node, const std::string& who, Rank rank = Rank::campaign) {
    return {node, who, who, rank, loop->wall_now()};
  }
  bool allows(const std::string& node, const std::string& who, Rank rank = Rank::campaign) {
    return desk->ask(asking(node, who, rank)).allowed;
  }
  std::string why_not(const std::string& node, const std::string& who, Rank rank = Rank::campaign) {
    return desk->ask(asking(node, who, rank), Desk::Detail::text).text;
  }
  void take(const std::string& node, const std::string& who) {
    const kube::Node* const known = nodes.find(node);
    desk->take({node, known ? known->uid : "uid-" + node, who, who, loop->wall_now()});
  }
  GroupState group(const std::string& name) {
    for (GroupState& one : desk->groups()) {
      if (one.name() == name) return one;
    }
    ADD_FAILURE() << "no group " << name;
    return {};
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server_loop;
  sim::TestApi api{*server_loop};
  std::unique_ptr<io::Loop> loop;
  std::unique_ptr<kube::Transport> transport;
  io::Metrics metrics;
  io::Random random{7};
  io::Problems problems{io::Log{}};
  kube::Client client{*loop, *transport, metrics, random};
  std::optional<budget::Ledger> ledger;
  kube::AtomPool atoms;
  kube::Store<kube::Node> nodes;
  kube::Store<kube::Object> limits;
  OtherObjects others;
  uint64_t version = 100;
  std::map<std::string, io::Wall> births;
  std::vector<std::string> turns;
  std::optional<Desk> desk;
  io::Subscription told;
};

}  // namespace careen::limits
