// A model management cluster with Machines, model workload clusters with their Nodes, and careen between them, in
// virtual time.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/machines/controller_options.h"
#include "controllers/machines/hosted.h"
#include "controllers/machines/names.h"
#include "controllers/slot/controller.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/base64.h"
#include "kube/credentials.h"
#include "kube/json.h"
#include "replica/model_process.h"
#include "sim/cluster.h"

namespace careen::machines {

class MachinesTest : public testing::Test {
 protected:
  using Cluster = sim::Cluster;

  MachinesTest() {
    management.network.treat = [this](const sim::Sending& sending) { return noted("", sending, treat); };
    serve_machines();
    for (const char* ns : {"fleet", "a", "b"}) {
      management.api.put(std::string("/api/v1/namespaces/") + ns,
                         *kube::Json::parse(R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})"));
    }
  }

  // As Cluster API serves them: a definition with that version, or those.
  void serve_machines(std::string_view versions = R"({"name":"v1beta2","served":true,"storage":true})") {
    define("machines", "Machine", "cluster.x-k8s.io", versions);
    define("baremetalhosts", "BareMetalHost", "metal3.io", R"({"name":"v1alpha1","served":true,"storage":true})");
  }
  void define(std::string_view plural, std::string_view kind, std::string_view group, std::string_view versions) {
    define_in(management.api, "Namespaced", plural, kind, group, versions);
  }
  static void define_in(sim::ApiServer& api, std::string_view scope, std::string_view plural, std::string_view kind,
                        std::string_view group, std::string_view versions) {
    std::string schemas;
    const auto all = kube::Json::parse(fmt::format("[{}]", versions));
    all->view().for_each_element([&](kube::JsonView one) {
      kube::Json version(one);
      version.set({"schema", "openAPIV3Schema", "type"}, "object");
      version.set({"schema", "openAPIV3Schema", "x-kubernetes-preserve-unknown-fields"}, true);
      schemas += (schemas.empty() ? "" : ",") + version.dump();
    });
    const std::string path =
        fmt::format("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{}", plural, group);
    api.put(path,
            *kube::Json::parse(fmt::format(
                R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":)"
                R"({{"name":"{}.{}"}},"spec":{{"group":"{}","scope":"{}","names":{{"plural":"{}","singular":)"
                R"("{}","kind":"{}"}},"versions":[{}]}}}})",
                plural, group, group, scope, plural, kube::Json(kind).dump().substr(1, kind.size()), kind, schemas)));
  }

  // A workload cluster, and its Secret.
  Cluster& add_cluster(const std::string& name, const std::string& ns = "fleet") {
    const std::string key = ns + "/" + name;
    auto& cluster = workloads[key];
    cluster = std::make_unique<Cluster>(*server, 1, sim::ControlPlane::api_server_alone);
    cluster->network.treat = [this, key](const sim::Sending& sending) { return noted(key, sending, treat_workload); };
    secret(name, ns, "https://" + ns + "." + name);
    return *cluster;
  }
  void secret(const std::string& name, const std::string& ns, const std::string& address,
              const std::string& token = "t1") {
    put_secret(
        name, ns,
        fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: "
                    "c, user: u}}}}]\nclusters: [{{name: c, cluster: {{server: \"{}\"}}}}]\nusers: [{{name: u, "
                    "user: {{token: {}}}}}]\n",
                    address, token));
  }
  void put_secret(const std::string& name, const std::string& ns, const std::string& kubeconfig) {
    management.api.put(
        secret_path(name, ns),
        *kube::Json::parse(fmt::format(
            R"({{"apiVersion":"v1","kind":"Secret","type":"cluster.x-k8s.io/secret","data":{{"value":"{}"}}}})",
            kube::base64_encode(kubeconfig))));
  }
  static std::string secret_path(const std::string& name, const std::string& ns) {
    return fmt::format("/api/v1/namespaces/{}/secrets/{}-kubeconfig", ns, name);
  }
  Cluster& workload(const std::string& key) { return *workloads.at(key); }

  static std::string machine_path(std::string_view name, std::string_view ns = "fleet") {
    return kMachines.path(ns, name);
  }
  static std::string node_path(std::string_view name) { return "/api/v1/nodes/" + std::string(name); }
  // In careen's care, with a Node of the same name.
  void add_machine(const std::string& name, const std::string& cluster = "w1", const std::string& ns = "fleet",
                   bool enabled = true, const std::string& provider = "") {
    management.api.put(
        machine_path(name, ns),
        *kube::Json::parse(fmt::format(
            R"({{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{{"finalizers":["test/machine"],)"
            R"("labels":{{"{}":"{}"}}}},"spec":{{"clusterName":"{}","providerID":"{}","infrastructureRef":)"
            R"({{"name":"i-{}"}}}},"status":{{"nodeRef":{{"name":"{}"}}}}}})",
            kEnabled, enabled ? "true" : "false", cluster, provider, name, name)));
  }
  // That profiles look after.
  void add_node(const std::string& name, const std::string& cluster = "fleet/w1", bool maintained = true) {
    const std::string labels = maintained ? fmt::format(R"("{}":"operational")", kMaintenanceState) : "";
    workload(cluster).api.put(
        node_path(name),
        *kube::Json::parse(fmt::format(
            R"({{"apiVersion":"v1","kind":"Node","metadata":{{"labels":{{{}}}}},"status":{{"conditions":[{{"type":)"
            R"("Ready","status":"True"}}]}}}})",
            labels)));
  }
  void merge_machine(std::string_view name, std::string_view patch, std::string_view ns = "fleet") {
    management.api.merge(machine_path(name, ns), *kube::Json::parse(patch));
  }
  void merge_node(std::string_view name, std::string_view patch, const std::string& cluster = "fleet/w1") {
    workload(cluster).api.merge(node_path(name), *kube::Json::parse(patch));
  }
  // An empty value takes it off.
  void label_machine(std::string_view name, std::string_view label, std::string_view value,
                     std::string_view ns = "fleet") {
    merge_machine(name, labels(label, value), ns);
  }
  void label_node(std::string_view name, std::string_view label, std::string_view value,
                  const std::string& cluster = "fleet/w1") {
    merge_node(name, labels(label, value), cluster);
  }
  static std::string labels(std::string_view label, std::string_view value) {
    return fmt::format(R"({{"metadata":{{"labels":{{"{}":{}}}}}}})", label,
                       value.empty() ? std::string("null") : fmt::format("\"{}\"", value));
  }
  void set_ready(std::string_view name, bool ready, const std::string& cluster = "fleet/w1") {
    merge_node(
        name,
        fmt::format(R"({{"status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}}}})", ready ? "True" : "False"),
        cluster);
  }
  void delete_machine(std::string_view name, std::string_view ns = "fleet") {
    kube::Request request;
    request.method = "DELETE";
    request.path = machine_path(name, ns);
    management.api.handle(request, {"people"});
  }

  std::string on_machine(std::string_view field, std::string_view key, std::string_view name,
                         std::string_view ns = "fleet") const {
    return text_of(management.api.object(machine_path(name, ns)), field, key);
  }
  std::string on_node(std::string_view label, std::string_view name, const std::string& cluster = "fleet/w1") const {
    return text_of(workloads.at(cluster)->api.object(node_path(name)), "labels", label);
  }
  static std::string text_of(const kube::Json& object, std::string_view field, std::string_view key) {
    return std::string(object["metadata"][field][key].text().value_or("-"));
  }
  bool hooked(std::string_view name, std::string_view ns = "fleet") const {
    return on_machine("annotations", kPreDrainHook, name, ns) != "-";
  }
  std::string asked(std::string_view name, std::string_view ns = "fleet") const {
    return on_machine("labels", kMaintenance, name, ns);
  }

  replica::Replica& start(ControllerOptions options = {}, const std::string& name = "careen-0",
                          const std::string& hub_config = "") {
    replica::ModelProcessOptions process;
    process.name = name;
    process.profiles = false;
    process.controller.dry_run = dry_run;
    process.hub = !hub_config.empty();
    process.controllers = {with_options(options)};
    process.elsewhere = [this](const kube::Access& access) -> sim::Network* {
      const std::string host = access.server.substr(access.server.find("//") + 2);
      for (const auto& [key, cluster] : workloads) {
        std::string address = key;
        address[address.find('/')] = '.';
        if (host == address) return &cluster->network;
      }
      return nullptr;
    };
    careen.emplace(time, management, hub_config, std::move(process));
    return careen->replica();
  }
  void run(io::Duration span = io::seconds{5}) { time.run_for(span); }
  const controllers::Controller& controller() { return careen->replica().hosted().front().controller; }
  std::vector<std::string> problems() {
    std::vector<std::string> all;
    for (const auto& [key, text] : careen->replica().problems().open()) all.push_back(text);
    return all;
  }
  // Writes that careen has sent, but for its lock and its events: "CLUSTER METHOD path".
  size_t writes() const { return sent.size(); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  Cluster management{*server, 1, sim::ControlPlane::api_server_alone};
  std::map<std::string, std::unique_ptr<Cluster>> workloads;  // by "namespace/name"
  std::function<sim::Treatment(const sim::Sending&)> treat, treat_workload;
  std::vector<std::string> sent;
  bool dry_run = false;
  std::optional<replica::ModelProcess> careen;

 private:
  sim::Treatment noted(const std::string& cluster, const sim::Sending& sending,
                       const std::function<sim::Treatment(const sim::Sending&)>& then) {
    const std::string_view path = sending.request.path;
    const bool own = path.find("/leases") != std::string_view::npos || path.find("/events") != std::string_view::npos;
    if (sending.writes() && !own) {
      sent.push_back(fmt::format("{} {} {} {}", cluster, sending.request.method, path.substr(0, path.find('?')),
                                 sending.request.body));
    }
    return then ? then(sending) : sim::Treatment{};
  }
};

}  // namespace careen::machines
