// What the tests of this folder share: a configuration from YAML, and a world of nodes written as JSON whose budget
// ledger lives in memory.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "budget/ledger.h"
#include "budget/occupancy.h"
#include "budget/pause.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/decide.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/profiles/profile_states.h"
#include "controllers/profiles/stagger_leases.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "observe/prometheus_observations.h"
#include "sim/outside.h"
#include "sim/test_api.h"

namespace careen::profiles {

using Texts = std::map<std::string, std::string>;

inline constexpr auto kOp = State::operational;
inline constexpr auto kReq = State::maintenance_required;
inline constexpr auto kIn = State::in_maintenance;

// The names on a node as keys of Texts.
inline const std::string kProfile(kProfileLabel);
inline const std::string kState(kStateLabel);
inline const std::string kData(kDataAnnotation);

inline Config config_of(std::string_view yaml, const Texts& environment = {}) {
  auto config = load_config(yaml, "test.yaml", all_plugins(), [&](std::string_view name) -> std::optional<std::string> {
    const auto found = environment.find(std::string(name));
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
  if (!config) {
    std::string errors;
    for (const config::ConfigError& error : config.error()) errors += error.to_text() + "\n";
    throw std::invalid_argument(errors);
  }
  return std::move(*config);
}

// A node as the API server sends it.
inline kube::Json node_json(std::string_view name, std::string_view uid, uint64_t version, const Texts& labels = {},
                            const Texts& annotations = {}) {
  kube::Json node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
  node.set({"metadata", "name"}, name).set({"metadata", "uid"}, uid);
  node.set({"metadata", "resourceVersion"}, std::to_string(version));
  for (const auto& [key, value] : labels) node.set({"metadata", "labels", key}, value);
  for (const auto& [key, value] : annotations) node.set({"metadata", "annotations", key}, value);
  return node;
}

// The data annotation of a node with one profile.
inline std::string data_of(std::string_view profile, State current, io::Wall transition,
                           std::optional<State> previous = std::nullopt) {
  NodeData data;
  data.profiles.emplace(profile, ProfileData{transition, current, previous.value_or(current)});
  return format_node_data(data);
}

class WorldTest : public testing::Test {
 protected:
  // Puts a node into the world, newer than all before.
  void put(std::string_view name, const Texts& labels = {}, const Texts& annotations = {}) {
    auto node =
        kube::decode_node(node_json(name, "uid-" + std::string(name), ++version, labels, annotations).dump(), atoms);
    ASSERT_TRUE(node) << node.error().message;
    const kube::Node* known = nodes.find(name);
    const std::optional<kube::Node> before = known ? std::optional(*known) : std::nullopt;
    nodes.put(std::move(*node));
    if (config) occupancy.update(name);
    fleet.node_changed(before ? &*before : nullptr, nodes.find(name));
  }
  // A node with one profile, as careen leaves it.
  void put_in(std::string_view name, std::string_view profile, State state, Texts labels = {},
              std::optional<io::Wall> since = std::nullopt) {
    labels.emplace(kProfileLabel, profile);
    labels.emplace(kStateLabel, name_of(state));
    put(name, labels, {{std::string(kDataAnnotation), data_of(profile, state, since.value_or(now - io::hours{1}))}});
  }
  void configure(std::string_view yaml) {
    config.emplace(config_of(yaml));
    states.set_config(*config);
    occupancy.rebuild();
  }
  void reserve(const std::string& name) {
    ledger.reserve({"uid-" + name, name, "profile/p", now});
    occupancy.update(name);
  }
  Decision decide_on(std::string_view name) {
    return decide({nodes, *config, facts, deliveries, notify_blocking, nullptr, false, &pauses}, name, now);
  }

  // A part of the decision's patch; nothing without a patch.
  static std::optional<std::string> patched(const Decision& decision, std::string_view field, std::string_view key) {
    if (!decision.effects.patch) return std::nullopt;
    const auto patch = kube::Json::parse(*decision.effects.patch);
    const auto value = (*patch)["metadata"][field][key];
    if (value.is_null()) return "(removed)";
    const auto text = value.text();
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }
  static std::optional<std::string> label(const Decision& decision, std::string_view key) {
    return patched(decision, "labels", key);
  }
  static std::optional<std::string> annotation(const Decision& decision, std::string_view key) {
    return patched(decision, "annotations", key);
  }
  static std::optional<std::string> state(const Decision& decision) { return label(decision, kStateLabel); }
  static NodeData data(const Decision& decision) { return *parse_node_data(decision.effects.data); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Wall now = loop->wall_now();
  io::Metrics metrics;
  io::Random random{1};
  io::Problems problems{io::Log{}};
  sim::TestApi api{*loop};
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  kube::Client client{*loop, *transport, metrics, random};
  kube::AtomPool atoms;
  kube::Store<kube::Node> nodes;
  budget::Ledger ledger{*loop, client, problems, io::Log{}, metrics, std::nullopt};
  kube::PodStore pods{atoms, prefers_operational()};
  kube::Store<kube::Lease> leases;
  kube::Store<kube::Object> hypervisor_objects;
  sim::Outside outside{*loop};
  std::unique_ptr<io::HttpClient> http = outside.connect(*loop);
  budget::Topics topics;
  ProfileStates states;
  budget::Occupancy occupancy{nodes, ledger, states};
  Fleet fleet{nodes, pods, topics};
  StaggerLeases lease_facts{leases, topics};
  Hypervisors hypervisors{hypervisor_objects};
  observe::PrometheusObservations observations{*loop, *http, metrics, {}, [](const observe::PrometheusQuery&) {}};
  Facts facts{occupancy, fleet, lease_facts, hypervisors, observations, topics};
  Deliveries deliveries;
  budget::Pauses pauses;
  bool notify_blocking = false;
  std::optional<Config> config;
  uint64_t version = 100;
};

}  // namespace careen::profiles
