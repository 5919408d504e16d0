// A replica of careen as far as the profiles go, in virtual time: take over the ledger, list the nodes, watch, decide,
// write. Destroying it is a crash; requests it has sent still arrive.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "budget/ledger.h"
#include "controllers/profiles/controller.h"
#include "controllers/profiles/test_support.h"
#include "drain/engine.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/disruption_budget.h"
#include "kube/events.h"
#include "kube/node_decoder.h"
#include "kube/reflector.h"
#include "kube/sink.h"
#include "limits/desk.h"
#include "notify/slack_threads.h"
#include "sim/outside.h"
#include "sim/test_api.h"

namespace careen::profiles {

// What else a replica may be given.
struct ReplicaExtras {
  ControllerOptions options = {};
  Texts environment = {};
  std::shared_ptr<io::LogSink> log = nullptr;
  // In place of the world outside that everybody has.
  std::function<std::unique_ptr<io::HttpClient>()> connect = nullptr;
};

class Replica {
 public:
  Replica(io::VirtualTime& time, sim::TestApi& api, std::string identity, std::string_view yaml,
          ControllerOptions options = {})
      : Replica(time, api, std::move(identity), yaml, ReplicaExtras{.options = options}) {}
  Replica(io::VirtualTime& time, sim::TestApi& api, std::string identity, std::string_view yaml, ReplicaExtras extras)
      : loop(time.make_loop()),
        transport(api.connect(*loop)),
        environment(std::move(extras.environment)),
        http(extras.connect ? extras.connect() : people.connect(*loop)),
        ledger(*loop, client, problems, io::Log{}, metrics,
               budget::LedgerOptions{"kube-system", "careen-ledger", std::move(identity)}),
        controller({*loop,
                    client,
                    atoms,
                    decoder,
                    nodes,
                    pods,
                    leases,
                    hypervisors,
                    ledger,
                    outside,
                    events,
                    metrics,
                    problems,
                    random,
                    io::Log(extras.log, ""),
                    &engine,
                    &pauses,
                    {},
                    &desk},
                   extras.options) {
    desk.known();
    set_config(yaml);
    scope.spawn(start());
  }

  // A MaintenanceLimit, or another one instead of it.
  void limit(std::string_view limit, std::string_view spec) {
    auto object = kube::decode_object(
        fmt::format(R"({{"metadata":{{"name":"{0}","uid":"uid-{0}","resourceVersion":"{1}"}},"spec":{2}}})", limit,
                    ++limited, spec));
    ASSERT_TRUE(object) << object.error().message;
    limit_objects.put(std::move(*object));
  }

  void set_config(std::string_view yaml) {
    auto config = std::make_shared<Config>(config_of(yaml, environment));
    if (!config->needs.lease_namespaces.empty()) watch_leases(*config->needs.lease_namespaces.begin());
    if (config->needs.budgets) watch_pods();
    controller.set_config(std::move(config));
  }

  double decisions() { return metrics.counter("careen_decisions_total", "", {{"result", "success"}}).value(); }
  double late() { return metrics.counter("careen_sweep_late_total", "").value(); }

  std::unique_ptr<io::Loop> loop;
  std::unique_ptr<kube::Transport> transport;
  Texts environment;
  io::Metrics metrics;
  io::Random random{3};
  io::Problems problems{io::Log{}};
  kube::Client client{*loop, *transport, metrics, random};
  kube::AtomPool atoms;
  kube::NodeDecoder decoder{atoms};
  kube::Store<kube::Node> nodes;
  kube::PodStore pods{atoms};
  kube::Store<kube::Lease> leases;
  kube::Store<kube::Object> hypervisors;
  sim::Outside people{*loop};
  std::unique_ptr<io::HttpClient> http;
  std::unique_ptr<io::MailClient> mail = people.connect_mail(*loop);
  notify::SlackThreads slack_threads{*loop};
  notify::Outside outside{*loop, *http, *mail, client, slack_threads};
  budget::Ledger ledger;
  budget::Pauses pauses;  // as somebody sets them
  kube::Store<kube::Object> limit_objects;
  uint64_t limited = 0;
  limits::Desk desk{*loop, nodes, limit_objects, ledger};
  kube::EventRecorder events{*loop, client, metrics, problems, "host"};
  std::unique_ptr<kube::Sink> sink = kube::make_sink(nodes, atoms);
  kube::Reflector reflector{*loop, client, metrics, problems, random, *sink, {kube::resources::nodes}};
  kube::Store<kube::DisruptionBudget> budgets;
  drain::Engine engine{{*loop, client, pods, budgets, nullptr, &events, metrics, problems, io::Log{}, &pauses, &nodes},
                       {}};
  Controller controller;
  std::unique_ptr<kube::Sink> pod_sink = kube::make_sink(pods);
  std::unique_ptr<kube::Sink> budget_sink =
      kube::make_sink(budgets, [](kube::RawObject& raw) { return kube::decode_disruption_budget(raw); });
  std::unique_ptr<kube::Reflector> pod_reflector, budget_reflector;  // once a configuration drains
  std::unique_ptr<kube::Sink> lease_sink = kube::make_sink(leases, atoms);
  std::unique_ptr<kube::Reflector> lease_reflector;  // of the namespace that the first configuration needs
  io::Scope scope{*loop};

 private:
  void watch_leases(const std::string& ns) {
    if (lease_reflector) return;
    kube::ReflectorOptions options{kube::resources::leases};
    options.ns = ns;
    lease_reflector = std::make_unique<kube::Reflector>(*loop, client, metrics, problems, random, *lease_sink, options);
    scope.spawn(lease_reflector->run());
    scope.spawn(tell_leases_known(ns));
  }
  void watch_pods() {
    if (pod_reflector) return;
    const auto watch = [this](kube::Sink& into, const kube::Resource& resource) {
      auto made = std::make_unique<kube::Reflector>(*loop, client, metrics, problems, random, into,
                                                    kube::ReflectorOptions{resource});
      scope.spawn(made->run());
      return made;
    };
    pod_reflector = watch(*pod_sink, kube::resources::pods);
    budget_reflector = watch(*budget_sink, kube::resources::disruption_budgets);
    scope.spawn(tell_pods_known());
  }
  io::Task<void> tell_pods_known() {
    co_await budget_reflector->synced_gate().wait();
    engine.budgets_known();
    co_await pod_reflector->synced_gate().wait();
    engine.pods_known();
    controller.pods_known();
  }
  io::Task<void> tell_leases_known(std::string ns) {
    co_await lease_reflector->synced_gate().wait();
    controller.leases_known(ns);
  }
  io::Task<void> start() {
    co_await ledger.take_over();
    desk.inherit();
    scope.spawn(ledger.run());
    scope.spawn(reflector.run());
    co_await reflector.synced_gate().wait();
    scope.spawn(engine.run());
    scope.spawn(controller.run());
  }
};

// A cluster whose nodes go round: labelled `go`, a node is required, then in maintenance as the limit allows, then
// `done`. After every change of a node the limit is checked.
class ClusterTest : public testing::Test {
 protected:
  ClusterTest() {
    api.changed = [this](std::string_view path, kube::JsonView object) { observe(path, object); };
  }

  // A round of three transitions under a limit; an in-maintenance takes `stay`.
  static std::string round(int max, std::string_view stay = "1s", std::string_view more = "") {
    return fmt::format(R"(
intervals: {{requeue: 30s}}
instances:
  check:
  - {{name: go, type: hasLabel, config: {{key: go}}}}
  - {{name: fresh, type: hasLabel, config: {{key: done}}}}
  - {{name: stay, type: wait, config: {{duration: {}}}}}
  - {{name: max, type: maxMaintenance, config: {{max: {}{}}}}}
  trigger:
  - {{name: finish, type: alterLabel, config: {{key: done, value: "true"}}}}
profiles:
- name: p
  operational: {{transitions: [{{check: go && !fresh, next: maintenance-required}}]}}
  maintenance-required: {{transitions: [{{check: max, next: in-maintenance}}]}}
  in-maintenance: {{transitions: [{{check: stay, next: operational, trigger: finish}}]}}
)",
                       stay, max, more);
  }

  static std::string path(std::string_view name) { return "/api/v1/nodes/" + std::string(name); }
  static std::string name(int i) { return fmt::format("n{:03}", i); }

  void add_nodes(int count, const Texts& labels = {{"go", ""}}) {
    for (int i = 0; i < count; ++i) add_node(name(i), labels);
  }
  void add_node(std::string_view node, Texts labels) {
    labels.emplace(kProfileLabel, "p");
    kube::Json object = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
    for (const auto& [key, value] : labels) object.set({"metadata", "labels", key}, value);
    api.put(path(node), std::move(object));
  }
  void label(std::string_view node, std::string_view key, kube::Json value) {
    api.merge(path(node), kube::Json::object().set({"metadata", "labels", key}, std::move(value)));
  }
  std::string state_of(std::string_view node) const {
    return std::string(api.object(path(node))["metadata"]["labels"][kStateLabel].text().value_or(""));
  }
  bool all_done() const { return done == known; }

  void observe(std::string_view changed, kube::JsonView object) {
    if (!changed.starts_with("/api/v1/nodes/")) return;
    const std::string node(changed.substr(changed.rfind('/') + 1));
    in.erase(node);
    done.erase(node);
    known.erase(node);
    if (!object) return;
    known.insert(node);
    const kube::JsonView labels = object["metadata"]["labels"];
    if (labels[kStateLabel].text() == name_of(State::in_maintenance)) in.insert(node);
    if (labels["done"].exists() && labels[kStateLabel].text() == name_of(State::operational)) done.insert(node);
    most = std::max(most, in.size());
    if (in.contains(node) && entered.insert(node).second) order.push_back(node);
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::TestApi api{*server};
  // As an independent observer of the API sees it.
  std::set<std::string> known, in, done, entered;
  std::vector<std::string> order;  // of entering maintenance
  size_t most = 0;                 // in maintenance at once
};

}  // namespace careen::profiles
