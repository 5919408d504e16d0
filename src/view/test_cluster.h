// A model cluster with careen on it, in virtual time, and the documents it shows.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "controllers/nodemaintenance/hosted.h"
#include "controllers/slot/definition.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/json.h"
#include "replica/model_process.h"
#include "sim/cluster.h"
#include "view/chronicle.h"
#include "view/fleet.h"
#include "view/shown.h"
#include "view/story.h"

namespace careen::view {

class ViewTest : public testing::Test {
 protected:
  static constexpr const char* kZone = "topology.kubernetes.io/zone";
  static constexpr size_t k0 = 0;  // as an index; a literal could be a pointer
  // Two places a zone; `go` asks for maintenance, which lasts until the label `done`.
  static constexpr const char* kConfig = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: done, type: hasLabel, config: {key: done}}
  - {name: few, type: maxMaintenance, config: {max: 2, groupBy: topology.kubernetes.io/zone}}
  - {name: night, type: timeWindow, config: {start: "22:00", end: "23:00", weekdays: [mon, tue, wed, thu, fri, sat, sun]}}
  trigger:
  - {name: clean, type: alterLabel, config: {key: go, remove: true}}
profiles:
- name: p
  operational: {transitions: [{check: go && !done, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: few, next: in-maintenance}]}
  in-maintenance: {transitions: [{check: done, next: operational, trigger: clean}]}
- name: nightly
  operational: {transitions: [{check: go && (night || done), next: in-maintenance}]}
)";

  void add_node(const std::string& name, std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
    auto node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
    for (const auto& [key, value] : labels) node.set({"metadata", "labels", key}, value);
    node.set({"status", "conditions"},
             kube::Json::array({kube::Json::object({{"type", "Ready"}, {"status", "True"}})}));
    cluster.api.put("/api/v1/nodes/" + name, std::move(node));
  }
  void label(const std::string& name, std::string_view key, std::string_view value) {
    auto patch = kube::Json::object();
    patch.set({"metadata", "labels", key}, value);
    cluster.api.merge("/api/v1/nodes/" + name, patch);
  }
  // Four nodes in two zones, all of which want maintenance.
  void add_four() {
    for (const char* name : {"a1", "a2", "a3", "b1"}) {
      add_node(name, {{"cloud.sap/maintenance-profile", "p"}, {"go", ""}, {kZone, std::string_view(name, 1)}});
    }
  }
  void define_maintenances() {
    const kube::Json definition = nodemaintenance::kind().definitions().front();
    const auto name = definition.at("/metadata/name").text().value_or("");
    cluster.api.put(fmt::format("{}/{}", controllers::kDefinitionsPath, name), definition);
  }
  void start(replica::ModelProcessOptions options = {}, const char* config = kConfig) {
    careen.emplace(time, cluster, config, std::move(options));
    chronicle.emplace(replica());
  }
  void lead() {
    ASSERT_TRUE(time.run_until([&] { return replica().running(); }, io::minutes{1}));
  }
  void run(io::Duration span) { time.run_for(span); }

  replica::Replica& replica() { return careen->replica(); }
  Shown shown() { return {replica(), *chronicle, "1.2.3"}; }

  static kube::Json parsed(const std::string& text) {
    auto json = kube::Json::parse(text);
    EXPECT_TRUE(json) << text;
    return json ? std::move(*json) : kube::Json();
  }
  kube::Json fleet() {
    FleetPieces pieces(shown());
    std::string text;
    while (pieces.read(text)) {
    }
    return parsed(text);
  }
  kube::Json story_of(const std::string& node) { return parsed(story(shown(), node).value_or("null")); }
  // The element whose member `key` is that text.
  static kube::JsonView with(kube::JsonView array, const char* key, std::string_view text) {
    kube::JsonView found;
    array.for_each_element([&](kube::JsonView element) {
      if (!found && element[key].text() == text) found = element;
    });
    return found;
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::Cluster cluster{*server};
  std::optional<replica::ModelProcess> careen;
  std::optional<Chronicle> chronicle;
};

}  // namespace careen::view
