// A model cluster with the CRD of this repository, and careen on it as far as NodeMaintenance goes, in virtual time.
// Destroying the process is a crash.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "budget/ledger.h"
#include "controllers/nodemaintenance/controller.h"
#include "controllers/nodemaintenance/hosted.h"
#include "controllers/nodemaintenance/names.h"
#include "controllers/slot/definition.h"
#include "drain/holds.h"
#include "drain/test_process.h"
#include "io/test_log.h"
#include "io/virtual_time.h"
#include "kube/decode.h"
#include "kube/watched.h"
#include "limits/desk.h"
#include "sim/cluster.h"

namespace careen::nodemaintenance {

// As the original's: neither conditions nor spec.drain.
inline kube::Json original_definition() {
  kube::Json whole = kind().definitions().front();
  kube::Json version(whole.at("/spec/versions/0"));
  version.remove({"additionalPrinterColumns"});
  version.remove({"schema", "openAPIV3Schema", "properties", "status", "properties", "conditions"});
  version.remove({"schema", "openAPIV3Schema", "properties", "spec", "properties", "drain"});
  whole.set({"spec", "versions"}, kube::Json::array({std::move(version)}));
  return whole;
}

// The tests watch what the controller needs by themselves.
struct NoWatches final : controllers::Watches {
  void pods(std::function<void()>) override {}
  void disruption_budgets() override {}
  void leases(const std::string&, std::function<void()>) override {}
  void workloads(kube::WorkloadKind) override {}
  bool knows(kube::WorkloadKind) const override { return false; }
  void node_sections(std::string_view, const std::set<std::string>&, std::function<void()>) override {}
  // Nobody here has a watch of his own.
  kube::WatchParts parts(std::string_view) override { std::abort(); }
  std::unique_ptr<kube::Watched<kube::Object>> objects(kube::ReflectorOptions) override { return nullptr; }
};

class MaintenanceTest : public testing::Test {
 protected:
  static constexpr const char* kMaintenances = "/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances";
  static constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases";

  explicit MaintenanceTest(const kube::Json& crd = kind().definitions().front()) {
    cluster.pods.set_times({io::milliseconds{100}, io::milliseconds{200}});
    cluster.network.treat = [this](const sim::Sending& sending) {
      if (!sending.stream && sending.client.starts_with("careen") && sending.writes()) {
        sent.push_back(sending.request.method + " " + sending.request.path.substr(0, sending.request.path.find('?')));
      }
      return treat && !sending.stream ? treat(sending.request) : sim::Treatment{};
    };
    cluster.api.observe([this](const sim::Change& change) { observe(change); });
    EXPECT_EQ(ask("POST", controllers::kDefinitionsPath, crd.dump()), 201);
    put("/api/v1/namespaces/shop", R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})");
    put("/api/v1/namespaces/default", R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})");
  }

  struct Process : drain::TestProcess {
    Process(MaintenanceTest& test, ControllerOptions options)
        : TestProcess(test.time.make_loop(), test.cluster.network),
          ledger(*loop, client, problems, io::Log{}, metrics, test.ledger_options()),
          engine({*loop, client, pods, budgets, {}, nullptr, metrics, problems, io::Log{}, &pauses, &nodes}, {}),
          controller({*loop,   client, atoms,  decoder, nodes,   pods,     leases, workloads,
                      engine,  ledger, pauses, events,  metrics, problems, random, io::Log(test.log, ""),
                      watches, {},     false,  {},      {},      {},       {},     &desk},
                     maintenances, std::move(options)) {
      for (const auto& [name, spec] : test.limits) put_limit(name, spec, ++test.limit_version);
      for (kube::Reflector* one : {&pod_reflector, &budget_reflector, &lease_reflector, &node_reflector, &reflector}) {
        scope.spawn(one->run());
      }
      scope.spawn(start());
      scope.spawn(tell_pods());
      scope.spawn(tell_budgets(engine));
      scope.spawn(tell_leases());
      scope.spawn(events.run());
      scope.spawn(engine.run());
    }
    void put_limit(const std::string& name, std::string_view spec, uint64_t version) {
      auto object = kube::decode_object(
          fmt::format(R"({{"metadata":{{"name":"{0}","uid":"uid-{0}","resourceVersion":"{1}"}},"spec":{2}}})", name,
                      version, spec));
      ASSERT_TRUE(object) << object.error().message;
      limits.put(std::move(*object));
    }
    io::Task<void> start() {
      co_await ledger.take_over();
      desk.inherit();
      desk.known();
      scope.spawn(ledger.run());
      co_await node_reflector.synced_gate().wait();
      co_await reflector.synced_gate().wait();
      co_await controller.run();
    }
    io::Task<void> tell_pods() {
      co_await pod_reflector.synced_gate().wait();
      engine.pods_known();
      controller.pods_known();
    }
    io::Task<void> tell_leases() {
      co_await lease_reflector.synced_gate().wait();
      controller.leases_known();
    }
    static kube::ReflectorOptions lease_options() {
      kube::ReflectorOptions options{kube::resources::leases};
      options.ns = "medik8s-leases";
      return options;
    }

    kube::NodeDecoder decoder{atoms};
    kube::Store<kube::Object> maintenances;
    kube::Store<kube::Node> nodes;
    kube::Store<kube::Lease> leases;
    kube::Workloads workloads;
    std::unique_ptr<kube::Sink> sink =
        kube::make_sink(maintenances, [](kube::RawObject& raw) { return kube::decode_object(raw); });
    std::unique_ptr<kube::Sink> node_sink = kube::make_sink(nodes, decoder);
    std::unique_ptr<kube::Sink> lease_sink = kube::make_sink(leases, atoms);
    kube::Reflector reflector = reflect(*sink, {kResource});
    kube::Reflector node_reflector = reflect(*node_sink, {kube::resources::nodes});
    kube::Reflector lease_reflector = reflect(*lease_sink, lease_options());
    kube::Store<kube::Object> limits;
    budget::Ledger ledger;
    limits::Desk desk{*loop, nodes, limits, ledger};
    NoWatches watches;
    drain::Engine engine;
    Controller controller;
    io::Scope scope{*loop};
  };

  // Nodes and pods come first, then the process.
  Process& launch(ControllerOptions options = {}) {
    time.run_for(io::seconds{5});
    process = std::make_unique<Process>(*this, std::move(options));
    time.run_for(io::seconds{1});
    sent.clear();
    return *process;
  }
  void crash() { process.reset(); }
  // The next process writes its ledger into the cluster, under this name.
  std::optional<budget::LedgerOptions> ledger_options() const {
    if (identity.empty()) return std::nullopt;
    return budget::LedgerOptions{.ns = "kube-system", .identity = identity};
  }
  // A MaintenanceLimit about nodes, or another one instead of it, for the process that runs and for all after it.
  void limit(std::string_view spec, const std::string& name = "workers") {
    limits[name] = spec;
    if (process) process->put_limit(name, spec, ++limit_version);
  }

  void put(const std::string& path, std::string_view json) { cluster.api.put(path, *kube::Json::parse(json)); }
  void merge(const std::string& path, std::string_view json) { cluster.api.merge(path, *kube::Json::parse(json)); }
  // As a user's request; the status code.
  int ask(std::string method, std::string path, std::string body = "") {
    kube::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.content_type = request.method == "PATCH" ? "application/merge-patch+json" : "application/json";
    return cluster.api.handle(request).status;
  }

  void add_node(const std::string& name) { cluster.kubelets.add(name, {}, {}, {"32", "128Gi", "110", {}}); }
  static std::string pod_path(std::string_view name) { return "/api/v1/namespaces/shop/pods/" + std::string(name); }
  void add_pod(std::string_view name, std::string_view node = "n1", std::string_view app = "web",
               std::string_view annotations = "{}") {
    put(pod_path(name),
        fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"labels":{{"app":"{}"}},"annotations":{}}},)"
                    R"("spec":{{"nodeName":"{}","terminationGracePeriodSeconds":30,)"
                    R"("containers":[{{"name":"c","image":"i"}}]}},"status":{{"phase":"Pending"}}}})",
                    app, annotations, node));
  }
  // No pod of that app may go.
  void add_budget(std::string_view name, std::string_view app, int min_available = 1) {
    put("/apis/policy/v1/namespaces/shop/poddisruptionbudgets/" + std::string(name),
        fmt::format(R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"generation":1}},)"
                    R"("spec":{{"minAvailable":{},"selector":{{"matchLabels":{{"app":"{}"}}}}}}}})",
                    min_available, app));
  }
  void free_budget(std::string_view name) {
    merge("/apis/policy/v1/namespaces/shop/poddisruptionbudgets/" + std::string(name),
          R"({"metadata":{"generation":2},"spec":{"minAvailable":0}})");
  }
  static std::string path(std::string_view name = "m") { return std::string(kMaintenances) + "/" + std::string(name); }
  void maintain(std::string_view node = "n1", std::string_view name = "m", std::string_view more = "") {
    const int status =
        ask("POST", kMaintenances,
            fmt::format(R"({{"apiVersion":"nodemaintenance.medik8s.io/v1beta1","kind":"NodeMaintenance",)"
                        R"("metadata":{{"name":"{}"}},"spec":{{"nodeName":"{}"{}}}}})",
                        name, node, more));
    ASSERT_EQ(status, 201);
  }
  void end(std::string_view name = "m") { ASSERT_EQ(ask("DELETE", path(name)), 200); }
  // One the original operator has begun and drained.
  void add_predecessor(std::string_view node = "n1", std::string_view name = "m",
                       std::string_view phase = "Succeeded") {
    put(path(name),
        fmt::format(R"({{"apiVersion":"nodemaintenance.medik8s.io/v1beta1","kind":"NodeMaintenance","metadata":)"
                    R"({{"name":"{}","finalizers":["foregroundDeleteNodeMaintenance"]}},"spec":{{"nodeName":"{}"}},)"
                    R"("status":{{"phase":"{}","drainProgress":100,"evictionPods":2,"totalpods":3,)"
                    R"("lastUpdate":"2026-01-01T00:00:00Z"}}}})",
                    name, node, phase));
    merge(
        node_path(node),
        R"({"metadata":{"labels":{"remediation.medik8s.io/exclude-from-remediation":"true"}},"spec":{"unschedulable":true,
          "taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"},
                    {"key":"medik8s.io/drain","effect":"NoSchedule"}]}})");
  }

  kube::Json object(const std::string& at) const { return cluster.api.object(at); }
  bool exists(const std::string& at) const { return object(at).view().is_object(); }
  kube::Json status(std::string_view name = "m") const { return kube::Json(object(path(name))["status"]); }
  std::string phase(std::string_view name = "m") const { return text(status(name)["phase"]); }
  std::string last_error(std::string_view name = "m") const { return text(status(name)["lastError"]); }
  int64_t number(const char* field, std::string_view name = "m") const {
    return status(name)[field].integer().value_or(0);
  }
  // "True DisruptionBudget".
  std::string condition(std::string_view type, std::string_view name = "m") const {
    std::string out;
    const kube::Json now = status(name);
    now["conditions"].for_each_element([&](kube::JsonView one) {
      if (one["type"].text() == type) out = text(one["status"]) + " " + text(one["reason"]);
    });
    return out;
  }
  static std::string text(kube::JsonView value) { return std::string(value.text().value_or("")); }
  static std::string node_path(std::string_view node = "n1") { return "/api/v1/nodes/" + std::string(node); }
  static std::string lease_path(std::string_view node = "n1") {
    return std::string(kLeases) + "/node-" + std::string(node);
  }
  bool cordoned(std::string_view node = "n1") const {
    return object(node_path(node))["spec"]["unschedulable"].boolean().value_or(false);
  }
  // "key:effect", with a value or time if there is one.
  std::vector<std::string> taints(std::string_view node = "n1") const {
    std::vector<std::string> out;
    const kube::Json now = object(node_path(node));
    now["spec"]["taints"].for_each_element([&](kube::JsonView one) {
      out.push_back(text(one["key"]) + ":" + text(one["effect"]) + text(one["value"]) + text(one["timeAdded"]));
    });
    return out;
  }
  std::string label(std::string_view node = "n1") const {
    return text(object(node_path(node))["metadata"]["labels"][kExcludeLabel]);
  }
  bool in_maintenance(std::string_view node = "n1") const {
    return cordoned(node) && label(node) == "true" &&
           taints(node) ==
               std::vector<std::string>{"node.kubernetes.io/unschedulable:NoSchedule", "medik8s.io/drain:NoSchedule"};
  }
  bool untouched(std::string_view node = "n1") const {
    return !cordoned(node) && label(node).empty() && taints(node).empty() &&
           !object(node_path(node))["metadata"]["annotations"][drain::kHoldsAnnotation].exists();
  }
  // Somebody else holds the lease.
  void put_foreign_lease(std::string_view node = "n1", std::string_view holder = "node-healthcheck") {
    put("/api/v1/namespaces/medik8s-leases", R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})");
    put(lease_path(node), fmt::format(R"({{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":)"
                                      R"({{"holderIdentity":"{}","leaseDurationSeconds":3600,"renewTime":"{}"}}}})",
                                      holder, io::format_micro_time(server->wall_now())));
  }
  // How often an event of that reason was told.
  int events(std::string_view reason) const {
    int count = 0;
    cluster.api.for_each("/api/v1/events", [&](const std::string&, const sim::Text& event) {
      const auto json = kube::Json::parse(*event);
      if (json && (*json)["reason"].text() == reason) {
        count += static_cast<int>((*json)["count"].integer().value_or(1));
      }
    });
    return count;
  }
  int requests(std::string_view what) const {
    return static_cast<int>(std::count_if(sent.begin(), sent.end(),
                                          [&](const std::string& one) { return one.find(what) != std::string::npos; }));
  }
  void observe(const sim::Change& change) {
    if (change.collection == "/api/v1/nodes" && change.type == sim::Change::Type::modified) {
      const auto node = kube::Json::parse(*change.object);
      cordons.push_back(node && (*node)["spec"]["unschedulable"].boolean().value_or(false));
    }
  }
  bool runs_until(const std::function<bool()>& done, io::Duration span) { return time.run_until(done, span); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::Cluster cluster{*server};
  std::shared_ptr<io::LogLines> log = std::make_shared<io::LogLines>();
  std::function<sim::Treatment(const kube::Request&)> treat;
  std::vector<std::string> sent;  // by careen, writes only
  std::vector<bool> cordons;      // after each change of a node
  std::string identity;
  std::map<std::string, std::string> limits;
  uint64_t limit_version = 0;
  std::unique_ptr<Process> process;
};

}  // namespace careen::nodemaintenance
