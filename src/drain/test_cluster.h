// A model cluster and an engine that drains its nodes, in virtual time. Requests are recorded as the network carries
// them.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drain/options.h"
#include "drain/test_process.h"
#include "io/virtual_time.h"
#include "sim/api_server.h"
#include "sim/disruption.h"
#include "sim/kubelets.h"
#include "sim/network.h"
#include "sim/pods.h"

namespace careen::drain {

// No scheduler and no workloads: pods stay where the test puts them, and nobody makes new ones.
struct Cluster {
  explicit Cluster(io::Loop& loop)
      : api(loop), network(loop, api), kubelets(loop, api), pods(loop, api, kubelets), disruption(loop, api) {}

  sim::ApiServer api;
  sim::Network network;
  sim::Kubelets kubelets;
  sim::Pods pods;
  sim::Disruption disruption;
};

struct Sent {
  std::string method, path, body;
  io::Steady at;
};

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    cluster.pods.set_times({io::milliseconds{100}, io::seconds{1}});
    cluster.network.treat = [this](const sim::Sending& sending) {
      if (!sending.stream)
        sent.push_back({sending.request.method, sending.request.path, sending.request.body, time.now()});
      return treat && !sending.stream ? treat(sending.request) : sim::Treatment{};
    };
    put("/api/v1/namespaces/shop", R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})");
  }

  // The process that drains.
  struct Process : TestProcess {
    Process(EngineTest& test, EngineOptions options, bool with_budgets)
        : TestProcess(test.time.make_loop(test.skew), test.cluster.network),
          engine({*loop, client, pods, budgets, test.daemon_set, &events, metrics, problems, io::Log{}, &pauses},
                 std::move(options)) {
      changes = engine.subscribe([this](const Key& key) { told.push_back(key); });
      scope.spawn(pod_reflector.run());
      scope.spawn(tell_pods());
      if (with_budgets) {
        scope.spawn(budget_reflector.run());
        scope.spawn(tell_budgets(engine));
      } else {
        engine.budgets_unavailable("poddisruptionbudgets.policy is forbidden");
      }
      scope.spawn(events.run());
      running.spawn(engine.run());
    }
    io::Task<void> tell_pods() {
      co_await pod_reflector.synced_gate().wait();
      engine.pods_known();
    }
    double evictions(const std::string& result) {
      return metrics.counter("careen_drain_evictions_total", "", {{"result", result}}).value();
    }

    Engine engine;
    std::vector<Key> told;
    io::Subscription changes;
    io::Scope scope{*loop};
    io::Scope running{*loop};
  };

  // Nodes and pods come first, then the process, then what is counted.
  Process& launch(EngineOptions options = {}, bool with_budgets = true) {
    time.run_for(io::seconds{5});
    process = std::make_unique<Process>(*this, std::move(options), with_budgets);
    time.run_for(io::seconds{1});
    sent.clear();
    return *process;
  }
  Engine& engine() { return process->engine; }
  static Options usual() {
    Options options;
    options.force = options.ignore_daemon_sets = options.delete_emptydir_data = true;
    return options;
  }
  static Key key(std::string_view node = "n1", std::string_view owner = "test") {
    return {std::string(node), std::string(owner)};
  }
  void begin(Options options = usual(), std::string_view node = "n1") { begin(key(node), std::move(options)); }
  void begin(const Key& drain, Options options) { engine().begin(drain, uid_of(drain.node), std::move(options)); }
  const Progress& progress(std::string_view node = "n1") { return *engine().progress(key(node)); }
  bool drained(std::string_view node = "n1") { return progress(node).phase == Progress::Phase::drained; }
  testing::AssertionResult drains_within(io::Duration span, std::string_view node = "n1") {
    if (time.run_until([&] { return drained(node); }, span)) return testing::AssertionSuccess();
    auto out = testing::AssertionFailure() << "node " << node << " is not drained:";
    for (const PodProgress& pod : progress(node).pods) out << "\n  " << pod.name << ": " << pod.reason;
    return out;
  }
  const PodProgress* pod(std::string_view name, std::string_view node = "n1") {
    for (const PodProgress& one : progress(node).pods) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
  std::string reason(std::string_view name, std::string_view node = "n1") {
    const PodProgress* found = pod(name, node);
    return found ? found->reason : "(none)";
  }

  void put(const std::string& path, std::string_view json) { cluster.api.put(path, *kube::Json::parse(json)); }
  static std::string pod_path(std::string_view name) { return "/api/v1/namespaces/shop/pods/" + std::string(name); }
  static std::string budget_path(std::string_view name) {
    return "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/" + std::string(name);
  }
  void add_node(const std::string& name) { cluster.kubelets.add(name); }
  std::string uid_of(std::string_view node) const {
    const kube::Json object = cluster.api.object("/api/v1/nodes/" + std::string(node));
    return std::string(object["metadata"]["uid"].text().value_or(""));
  }
  struct PodWish {
    std::string app = "web";
    std::string owner = "ReplicaSet";  // empty: none
    std::string more = "";             // of the spec
    std::string annotations = "{}";
    std::string labels = "";
  };
  void add_pod(std::string_view name, std::string_view node, const PodWish& wish) {
    const std::string owners =
        wish.owner.empty()
            ? "[]"
            : fmt::format(R"([{{"apiVersion":"apps/v1","kind":"{}","name":"own","uid":"u","controller":true}}])",
                          wish.owner);
    put(pod_path(name),
        fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"labels":{{"app":"{}"{}}},"annotations":{},)"
                    R"("ownerReferences":{}}},"spec":{{"nodeName":"{}","terminationGracePeriodSeconds":30,{})"
                    R"("containers":[{{"name":"c","image":"i"}}]}},"status":{{"phase":"Pending"}}}})",
                    wish.app, wish.labels, wish.annotations, owners, node, wish.more));
  }
  void add_pod(std::string_view name, std::string_view node = "n1") { add_pod(name, node, PodWish{}); }
  // So many pods of that app must stay healthy.
  void add_budget(std::string_view name, std::string_view app, int min_available) {
    put(budget_path(name),
        fmt::format(R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"generation":1}},)"
                    R"("spec":{{"minAvailable":{},"selector":{{"matchLabels":{{"app":"{}"}}}}}}}})",
                    min_available, app));
  }
  void set_minimum(std::string_view name, int min_available) {
    cluster.api.merge(budget_path(name), kube::Json::object().set({"spec", "minAvailable"}, min_available));
  }

  std::vector<Sent> evictions() const { return requests("POST", "/eviction"); }
  std::vector<Sent> deletions() const { return requests("DELETE", "/pods/"); }
  std::vector<Sent> requests(std::string_view method, std::string_view part) const {
    std::vector<Sent> out;
    for (const Sent& one : sent) {
      if (one.method == method && one.path.find(part) != std::string::npos) out.push_back(one);
    }
    return out;
  }
  // The names of the pods, in the order of the requests.
  std::vector<std::string> evicted() const {
    std::vector<std::string> out;
    for (const Sent& one : evictions()) {
      const size_t at = one.path.find("/pods/") + 6;
      out.push_back(one.path.substr(at, one.path.find('/', at) - at));
    }
    return out;
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  Cluster cluster{*server};
  std::function<sim::Treatment(const kube::Request&)> treat;
  std::function<DaemonSetState(std::string_view, std::string_view)> daemon_set;
  io::Duration skew{};  // of the process' clock
  std::vector<Sent> sent;
  std::unique_ptr<Process> process;
};

}  // namespace careen::drain
