// A model cluster with the definitions of this repository, actors that ask for nodes, and careen on it as far as
// requests go, in virtual time. What the limit is about is watched by every change, not by looking now and then.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/requests/decide.h"
#include "controllers/requests/hosted.h"
#include "controllers/requests/names.h"
#include "controllers/requests/request.h"
#include "controllers/slot/definition.h"
#include "drain/holds.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/json.h"
#include "kube/objects.h"
#include "limits/limit.h"
#include "replica/model_process.h"
#include "sim/cluster.h"

namespace careen::requests {

// As the original's: no Rejected, no status fields, nothing pruned.
inline kube::Json original_definition() {
  kube::Json whole = kind().definitions().front();
  kube::Json version(whole.at("/spec/versions/0"));
  version.remove({"additionalPrinterColumns"});
  version.set({"schema", "openAPIV3Schema", "x-kubernetes-preserve-unknown-fields"}, true);
  version.set({"schema", "openAPIV3Schema", "properties", "status"},
              *kube::Json::parse(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})"));
  version.set({"schema", "openAPIV3Schema", "properties", "spec", "properties", "state", "enum"},
              *kube::Json::parse(R"(["Pending","Approved","InProgress","Completed"])"));
  whole.set({"spec", "versions"}, kube::Json::array({std::move(version)}));
  return whole;
}

class RequestsTest : public testing::Test {
 protected:
  explicit RequestsTest(std::optional<kube::Json> definition = {}) {
    cluster.pods.set_times({io::milliseconds{100}, io::milliseconds{200}});
    cluster.network.treat = [this](const sim::Sending& sending) {
      const bool renews = sending.request.path.find("controller-leader-election-helper") != std::string::npos;
      if (!sending.stream && sending.client.starts_with("careen") && sending.writes() && !renews) {
        sent.push_back(sending.request.method + " " + sending.request.path.substr(0, sending.request.path.find('?')));
      }
      return treat ? treat(sending) : sim::Treatment{};
    };
    cluster.api.observe([this](const sim::Change& change) { observe(change); });
    std::vector<kube::Json> all = kind().definitions();
    if (definition) all.front() = std::move(*definition);
    for (const kube::Json& one : all) EXPECT_EQ(ask("POST", controllers::kDefinitionsPath, one.dump()), 201);
    for (const char* ns : {"shop", "default"}) {
      put(std::string("/api/v1/namespaces/") + ns,
          R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})");
    }
  }

  void put(const std::string& path, std::string_view json) { cluster.api.put(path, *kube::Json::parse(json)); }
  void merge(const std::string& path, std::string_view json) { cluster.api.merge(path, *kube::Json::parse(json)); }
  int ask(std::string method, std::string path, std::string body = "") {
    kube::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.content_type = request.method == "PATCH" ? "application/merge-patch+json" : "application/json";
    const kube::Response response = cluster.api.handle(request, {"people"});
    said = response.body;
    return response.status;
  }

  void add_nodes(int count, int first = 1) {
    for (int i = first; i < first + count; ++i)
      cluster.kubelets.add(fmt::format("n{}", i), {}, {}, {"32", "128Gi", "110", {}});
  }
  static std::string node_path(std::string_view node) { return "/api/v1/nodes/" + std::string(node); }
  void cordon(std::string_view node, bool on = true) {
    merge(node_path(node), fmt::format(R"({{"spec":{{"unschedulable":{}}}}})", on ? "true" : "null"));
  }
  bool cordoned(std::string_view node) const {
    return cluster.api.object(node_path(node))["spec"]["unschedulable"].boolean().value_or(false);
  }
  void reboot(std::string_view node, std::string_view boot) {
    merge(node_path(node), fmt::format(R"({{"status":{{"nodeInfo":{{"bootID":"{}"}}}}}})", boot));
  }
  void add_pod(std::string_view name, std::string_view node, std::string_view app = "web") {
    put("/api/v1/namespaces/shop/pods/" + std::string(name),
        fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"labels":{{"app":"{}"}},"ownerReferences":[)"
                    R"({{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"r","controller":true}}]}},)"
                    R"("spec":{{"nodeName":"{}","terminationGracePeriodSeconds":30,)"
                    R"("containers":[{{"name":"c","image":"i"}}]}},"status":{{"phase":"Pending"}}}})",
                    app, node));
  }
  void add_budget(std::string_view app) {
    put("/apis/policy/v1/namespaces/shop/poddisruptionbudgets/" + std::string(app),
        fmt::format(R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"generation":1}},)"
                    R"("spec":{{"minAvailable":1,"selector":{{"matchLabels":{{"app":"{}"}}}}}}}})",
                    app));
  }
  size_t pods() const {
    size_t count = 0;
    cluster.api.for_each("/api/v1/pods", [&](const std::string&, const sim::Text&) { ++count; });
    return count;
  }

  void limit(std::string_view spec, std::string_view name = "node") {
    const std::string path = limits::kLimitResource.path("", name);
    if (cluster.api.object(path).view().is_object()) {
      ASSERT_LT(ask("PATCH", path, fmt::format(R"({{"spec":{}}})", spec)), 300) << said;
      return;
    }
    ASSERT_EQ(ask("POST", limits::kLimitResource.path(),
                  fmt::format(R"({{"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceLimit","metadata":)"
                              R"({{"name":"{}"}},"spec":{}}})",
                              name, spec)),
              201)
        << said;
  }
  static std::string path(std::string_view name) { return kResource.path("", name); }
  void request(std::string_view name, std::string_view node, std::string_view state = "Pending",
               std::string_view client = "rebooter") {
    ASSERT_EQ(ask("POST", kResource.path(),
                  fmt::format(R"({{"apiVersion":"repairman.k8s.io/v1","kind":"MaintenanceRequest","metadata":)"
                              R"({{"name":"{}","labels":{{"{}":"{}"}}}},)"
                              R"("spec":{{"name":"{}","type":"node","state":"{}"}}}})",
                              name, kClientLabel, client, node, state)),
              201)
        << said;
  }
  // As its actor.
  void set_state(std::string_view name, std::string_view state) {
    ASSERT_EQ(ask("PATCH", path(name), fmt::format(R"({{"spec":{{"state":"{}"}}}})", state)), 200) << said;
  }
  void remove(std::string_view name) { ASSERT_EQ(ask("DELETE", path(name)), 200) << said; }
  bool exists(std::string_view name) const { return cluster.api.object(path(name)).view().is_object(); }
  Request seen(std::string_view name) const {
    kube::Object object;
    object.name = name;
    object.document = cluster.api.object(path(name));
    return parse_request(object);
  }
  std::string state(std::string_view name) const {
    return exists(name) ? std::string(name_of(seen(name).state)) : "gone";
  }
  std::string phase(std::string_view name) const { return std::string(name_of(seen(name).status.phase)); }
  std::string reason(std::string_view name) const { return seen(name).status.reason; }
  std::string message(std::string_view name) const { return seen(name).status.message; }
  kube::Json limit_status(std::string_view name = "node") const {
    return kube::Json(cluster.api.object(limits::kLimitResource.path("", name))["status"]);
  }
  // How often an event with that reason was told, about that object if one is named.
  int events(std::string_view reason_of, std::string_view about = "") const {
    int count = 0;
    cluster.api.for_each("/api/v1/events", [&](const std::string&, const sim::Text& event) {
      const auto json = kube::Json::parse(*event);
      if (!json || (*json)["reason"].text() != reason_of) return;
      if (!about.empty() && (*json)["involvedObject"]["name"].text() != about) return;
      count += static_cast<int>((*json)["count"].integer().value_or(1));
    });
    return count;
  }
  std::string ledger() const {
    const kube::Json record = cluster.api.object("/api/v1/namespaces/kube-system/configmaps/careen-ledger-requests");
    return std::string(record["metadata"]["annotations"]["careen.dev/ledger"].text().value_or(""));
  }

  replica::Replica& start(ControllerOptions options = {}, replica::ModelProcessOptions process = {}) {
    process.profiles = false;
    process.controllers = {with_options(options)};
    careen.emplace(time, cluster, "", std::move(process));
    return careen->replica();
  }
  // It leads and has looked at everything.
  void launch(ControllerOptions options = {}, replica::ModelProcessOptions process = {}) {
    start(options, std::move(process));
    ASSERT_TRUE(until([&] { return careen->replica().running(); }, io::minutes{1}));
    run(io::seconds{2});
    sent.clear();
  }
  void run(io::Duration span) { time.run_for(span); }
  bool until(const std::function<bool()>& done, io::Duration span) { return time.run_until(done, span); }
  size_t writes(std::string_view what) const {
    return static_cast<size_t>(
        std::ranges::count_if(sent, [&](const std::string& one) { return one.find(what) != std::string::npos; }));
  }

  // Every change of a request is seen, with the time at which it happened.
  void observe(const sim::Change& change) {
    if (change.collection != kResource.path()) return;
    const auto object = kube::Json::parse(*change.object);
    const bool gone = change.type == sim::Change::Type::deleted;
    const std::string state_now(gone ? "" : (*object)["spec"]["state"].text().value_or(""));
    const std::string node((*object)["spec"]["name"].text().value_or(""));
    const bool before = running.contains(change.name);
    const bool now = state_now == "Approved" || state_now == "InProgress";
    if (now) running[change.name] = node;
    if (!now) running.erase(change.name);
    most = std::max(most, running.size());
    if (now && !before) approvals.emplace_back(change.name, change.at);
    if (before && !now) ends.push_back(change.at);
    std::set<std::string> nodes;
    for (const auto& [name, on] : running) nodes.insert(on);
    if (nodes.size() < running.size()) ++shared;
    if (on_change) on_change(change.name, state_now);
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::Cluster cluster{*server};
  std::function<sim::Treatment(const sim::Sending&)> treat;
  std::function<void(const std::string& name, const std::string& state)> on_change;
  std::vector<std::string> sent;               // by careen, writes only
  std::string said;                            // by the server, to the last request of people
  std::map<std::string, std::string> running;  // Approved or InProgress: node
  size_t most = 0;                             // that ever were at once
  size_t shared = 0;                           // how often two of one node were
  std::vector<std::pair<std::string, io::Steady>> approvals;
  std::vector<io::Steady> ends;
  std::optional<replica::ModelProcess> careen;
};

}  // namespace careen::requests
