// Many workload clusters and their management cluster as models: what does careen need for each, when nothing is to be
// done? Every cluster has its Nodes, and a Machine in careen's care for each of them, with its hook.
//
//   many_clusters serve CLUSTERS NODES KUBECONFIG   each on a port of its own, over TLS, for a careen that runs beside
//   it;
//                                                   every Node posts its status every five minutes. KUBECONFIG is
//                                                   written, for the management cluster. Each line on standard input is
//                                                   answered with one line of JSON; the end of input ends it. Before it
//                                                   answers "approve" it has Machines of all clusters deleted, and
//                                                   their Nodes approve that, one after the other.
//   many_clusters hours CLUSTERS NODES HOURS        the same with careen in this process, in virtual time
//
// The line says how many streams are open now, which requests there have been, and how many milliseconds it took from
// each approval until the hook was gone.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "controllers/machines/controller_options.h"
#include "controllers/machines/hosted.h"
#include "controllers/machines/names.h"
#include "io/certificates.h"
#include "io/process.h"
#include "io/real_loop.h"
#include "io/virtual_time.h"
#include "kube/base64.h"
#include "kube/credentials.h"
#include "kube/json.h"
#include "replica/model_process.h"
#include "sim/cluster.h"
#include "sim/http_face.h"

namespace {

using namespace careen;
using kube::Json;

constexpr io::Duration kStatusEvery = io::minutes{5};
constexpr io::Duration kBeat = io::milliseconds{100};
constexpr int kApprovals = 1000;
// So long their Nodes need to hear of the deletions.
constexpr io::Duration kUntilTold = io::seconds{10}, kBetweenApprovals = io::milliseconds{10};
constexpr const char* kNamespace = "fleet";

Json parsed(const std::string& text) { return *Json::parse(text); }

// About as much as a small Node has; five conditions are posted anew each time.
std::string conditions(const io::Loop& loop) {
  std::string all;
  for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "Ready"}) {
    all += fmt::format(
        R"({}{{"type":"{}","status":"{}","reason":"KubeletIsFine","message":"kubelet has nothing to complain about",)"
        R"("lastHeartbeatTime":"{}","lastTransitionTime":"2026-01-01T00:00:00Z"}})",
        all.empty() ? "" : ",", type, std::string_view(type) == "Ready" ? "True" : "False",
        io::format_rfc3339(loop.wall_now()));
  }
  return "[" + all + "]";
}

std::string images() {
  std::string all;
  for (int i = 0; i < 20; ++i) {
    all += fmt::format(
        R"({}{{"names":["registry.example.com/platform/component-{}@sha256:{:064x}","registry.example.com/platform/component-{}:v1.{}.0"],)"
        R"("sizeBytes":{}}})",
        all.empty() ? "" : ",", i, i * 7919, i, i, 10'000'000 + i);
  }
  return "[" + all + "]";
}

class World {
 public:
  World(io::Loop& loop, int clusters, int nodes)
      : loop_(loop), nodes_(nodes), management_(loop, 1, sim::ControlPlane::api_server_alone) {
    define_machines();
    management_.api.put(fmt::format("/api/v1/namespaces/{}", kNamespace),
                        parsed(R"({"apiVersion":"v1","kind":"Namespace","status":{"phase":"Active"}})"));
    management_.api.observe([this](const sim::Change& change) { look_at(change); });
    management_.network.treat = [this](const sim::Sending& sending) { return noted("management", sending); };
    for (int i = 0; i < clusters; ++i) add_cluster(i);
    management_.api.compact();
  }

  sim::Cluster& management() { return management_; }
  size_t size() const { return workloads_.size(); }
  sim::Cluster& workload(size_t index) { return *workloads_[index]; }
  static std::string name_of(size_t index) { return fmt::format("c{:03}", index); }

  // Where it is, and how it is known there.
  void put_secret(size_t index, const std::string& server, const std::string& authority, const std::string& user) {
    const std::string ca =
        authority.empty() ? "" : fmt::format(",\"certificate-authority-data\":\"{}\"", kube::base64_encode(authority));
    const std::string text = fmt::format(
        R"({{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{{"name":"c","context":{{"cluster":"c",)"
        R"("user":"u"}}}}],"clusters":[{{"name":"c","cluster":{{"server":"{}"{}}}}}],"users":[{{"name":"u","user":{}}}]}})",
        server, ca, user);
    management_.api.put(
        fmt::format("/api/v1/namespaces/{}/secrets/{}-kubeconfig", kNamespace, name_of(index)),
        parsed(fmt::format(
            R"({{"apiVersion":"v1","kind":"Secret","type":"cluster.x-k8s.io/secret","data":{{"value":"{}"}}}})",
            kube::base64_encode(text))));
  }

  // The next ones whose turn it is post their status.
  void beat() {
    const double due = static_cast<double>(size()) * nodes_ * (io::to_seconds(kBeat) / io::to_seconds(kStatusEvery));
    const Json status = parsed(fmt::format(R"({{"status":{{"conditions":{}}}}})", conditions(loop_)));
    for (owed_ += due; owed_ >= 1; owed_ -= 1) {
      const size_t cluster = next_ % size(), node = next_ / size() % static_cast<size_t>(nodes_);
      workload(cluster).api.merge(node_path(cluster, static_cast<int>(node)), status, "kubelet");
      ++next_;
    }
  }

  size_t streams() const {
    size_t open = management_.network.open_streams();
    for (const auto& one : workloads_) open += one->network.open_streams();
    return open;
  }
  void forget_requests() { requests_.clear(); }
  std::string line() const {
    std::string requests;
    for (const auto& [name, count] : requests_) {
      requests += fmt::format(R"({}"{}":{})", requests.empty() ? "" : ",", name, count);
    }
    return fmt::format(R"({{"streams":{},"requests":{{{}}},"approvals":[{:.3f}]}})", streams(), requests,
                       fmt::join(approvals_, ","));
  }

  io::Task<void> approve() {
    approvals_.clear();
    for (int i = 0; i < kApprovals; ++i) {
      kube::Request request;
      request.method = "DELETE";
      request.path = machines::kMachines.path(kNamespace, approved(i));
      management_.api.handle(request, {"people"});
    }
    co_await io::sleep_for(loop_, kUntilTold);
    const Json label =
        parsed(fmt::format(R"({{"metadata":{{"labels":{{"{}":"true"}}}}}})", machines::kApproveDeletion));
    for (int i = 0; i < kApprovals; ++i) {
      asked_[approved(i)] = loop_.now();
      workload(cluster_of(i)).api.merge(node_path(cluster_of(i), node_of(i)), label, "profiles");
      co_await io::sleep_for(loop_, kBetweenApprovals);
    }
    while (!asked_.empty()) co_await io::sleep_for(loop_, kBeat);
  }

 private:
  size_t cluster_of(int approval) const { return static_cast<size_t>(approval) % size(); }
  int node_of(int approval) const { return approval / static_cast<int>(size()) % nodes_; }
  std::string approved(int approval) const { return node_name(cluster_of(approval), node_of(approval)); }
  void look_at(const sim::Change& change) {
    const auto asked = asked_.find(change.name);
    if (asked == asked_.end() || !change.collection.ends_with("/machines")) return;
    if (change.object->find(machines::kPreDrainHook) != std::string::npos) return;
    approvals_.push_back(io::to_seconds(loop_.now() - asked->second) * 1000);
    asked_.erase(asked);
  }
  static std::string node_name(size_t cluster, int node) {
    return fmt::format("{}-pool-{:03}", name_of(cluster), node);
  }
  static std::string node_path(size_t cluster, int node) { return "/api/v1/nodes/" + node_name(cluster, node); }

  void define_machines() {
    management_.api.put(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines.cluster.x-k8s.io",
        parsed(
            R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":)"
            R"("machines.cluster.x-k8s.io"},"spec":{"group":"cluster.x-k8s.io","scope":"Namespaced","names":{"plural":)"
            R"("machines","singular":"machine","kind":"Machine"},"versions":[{"name":"v1beta2","served":true,)"
            R"("storage":true,"schema":{"openAPIV3Schema":{"type":"object",)"
            R"("x-kubernetes-preserve-unknown-fields":true}}}]}})"));
  }

  void add_cluster(int index) {
    const auto number = static_cast<size_t>(index);
    workloads_.push_back(std::make_unique<sim::Cluster>(loop_, index + 2, sim::ControlPlane::api_server_alone));
    workloads_.back()->network.treat = [this](const sim::Sending& sending) { return noted("workload", sending); };
    for (int node = 0; node < nodes_; ++node) {
      const std::string name = node_name(number, node);
      workloads_.back()->api.put(
          node_path(number, node),
          parsed(fmt::format(
              R"({{"apiVersion":"v1","kind":"Node","metadata":{{"labels":{{"{}":"operational","kubernetes.io/hostname":"{}",)"
              R"("topology.kubernetes.io/zone":"zone-{}","node.kubernetes.io/instance-type":"large"}},"annotations":{{)"
              R"("cluster.x-k8s.io/machine":"{}","cluster.x-k8s.io/cluster-namespace":"{}"}}}},"status":{{"conditions":{},)"
              R"("images":{}}}}})",
              machines::kMaintenanceState, name, node % 3, name, kNamespace, conditions(loop_), images())));
      management_.api.put(
          machines::kMachines.path(kNamespace, name),
          parsed(fmt::format(
              R"({{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{{"finalizers":[)"
              R"("machine.cluster.x-k8s.io"],"labels":{{"{}":"true","cluster.x-k8s.io/cluster-name":"{}"}},"annotations":{{)"
              R"("{}":"{}"}}}},"spec":{{"clusterName":"{}","providerID":"openstack:///{:08x}-0000-4000-8000-{:012x}",)"
              R"("infrastructureRef":{{"kind":"OpenStackMachine","name":"{}"}}}},"status":{{"nodeRef":{{"name":"{}"}}}}}})",
              machines::kEnabled, name_of(number), machines::kPreDrainHook, machines::kOwnValue, name_of(number), index,
              node, name, name)));
    }
    workloads_.back()->api.compact();
  }

  sim::Treatment noted(std::string_view where, const sim::Sending& sending) {
    std::string_view path = sending.request.path;
    path = path.substr(0, path.find('?'));
    std::string_view what = path;
    for (const std::string_view kind : {"secrets", "machines", "nodes", "leases", "events"}) {
      if (path.find(fmt::format("/{}", kind)) != std::string_view::npos) what = kind;
    }
    ++requests_[fmt::format("{} {} {}", where, sending.stream ? "WATCH" : sending.request.method, what)];
    return {};
  }

  io::Loop& loop_;
  const int nodes_;
  sim::Cluster management_;
  std::vector<std::unique_ptr<sim::Cluster>> workloads_;
  std::map<std::string, size_t> requests_;
  std::map<std::string, io::Steady> asked_;
  std::vector<double> approvals_;  // milliseconds
  double owed_ = 0;
  size_t next_ = 0;
};

// --- over TLS, in real time ----------------------------------------------------------------------------------------

struct Served {
  std::unique_ptr<io::HttpServer> server;
  std::string address, authority;
  std::string user;  // of its kubeconfig: a client certificate, as Cluster API writes it
};

Served serve(io::RealLoop& loop, sim::Cluster& cluster, const std::string& name) {
  const io::Validity year{loop.wall_now() - io::hours{1}, loop.wall_now() + io::hours{24 * 365}};
  const auto authority = io::make_authority(name, year);
  const auto pair = authority ? io::issue_certificate(*authority, {"127.0.0.1"}, year) : authority;
  const auto client = authority ? io::issue_certificate(*authority, {"kubernetes-admin"}, year) : authority;
  if (!pair || !client) std::exit(1);
  Served served;
  served.authority = authority->certificate;
  served.user = fmt::format(R"({{"client-certificate-data":"{}","client-key-data":"{}"}})",
                            kube::base64_encode(client->certificate), kube::base64_encode(client->key));
  io::ServerOptions options;
  options.address = "127.0.0.1:0";
  options.tls_pair = [shown = std::make_shared<const io::KeyPair>(*pair)] { return shown; };
  auto server = sim::serve_model(loop, cluster.network, std::move(options));
  if (!server) {
    fmt::print(stderr, "{}\n", server.error().message);
    std::exit(1);
  }
  served.server = std::move(*server);
  served.address = fmt::format("https://127.0.0.1:{}", served.server->port());
  return served;
}

io::Task<void> post_status(io::Loop& loop, World& world) {
  for (;;) {
    co_await io::sleep_for(loop, kBeat);
    world.beat();
  }
}

void print_line(const World& world) {
  fmt::print("{}\n", world.line());
  std::fflush(stdout);
}

io::Task<void> approve(World& world) {
  co_await world.approve();
  print_line(world);
}

int serve_all(int clusters, int nodes, const char* kubeconfig) {
  io::RealLoop loop;
  World world(loop, clusters, nodes);
  std::vector<Served> workloads;
  for (size_t i = 0; i < world.size(); ++i) {
    workloads.push_back(serve(loop, world.workload(i), World::name_of(i)));
    world.put_secret(i, workloads[i].address, workloads[i].authority, workloads[i].user);
  }
  const Served management = serve(loop, world.management(), "management");
  std::ofstream(kubeconfig) << fmt::format(
      R"({{"apiVersion":"v1","kind":"Config","current-context":"m","contexts":[{{"name":"m","context":{{"cluster":"m",)"
      R"("user":"m"}}}}],"clusters":[{{"name":"m","cluster":{{"server":"{}","certificate-authority-data":"{}"}}}}],)"
      R"("users":[{{"name":"m","user":{}}}]}})",
      management.address, kube::base64_encode(management.authority), management.user);
  io::Scope scope(loop);
  scope.spawn(post_status(loop, world));
  // Questions come as signals of a thread that reads: the loop knows no standard input.
  bool over = false;
  const auto asked = io::watch_signals(loop, {SIGUSR1, SIGUSR2, SIGTERM, SIGINT}, [&](int number) {
    if (number == SIGUSR2) return scope.spawn(approve(world));
    if (number != SIGUSR1) over = true;
    print_line(world);
  });
  std::thread([process = ::getpid()] {
    for (std::string line; std::getline(std::cin, line);) ::kill(process, line == "approve" ? SIGUSR2 : SIGUSR1);
    ::kill(process, SIGTERM);
  }).detach();
  fmt::print("ready\n");
  std::fflush(stdout);
  loop.run_until([&] { return over; });
  return 0;
}

// --- in virtual time -----------------------------------------------------------------------------------------------

int idle_for(int clusters, int nodes, int hours) {
  io::VirtualTime time;
  const auto loop = time.make_loop();
  World world(*loop, clusters, nodes);
  std::map<std::string, sim::Network*> reached;
  for (size_t i = 0; i < world.size(); ++i) {
    const std::string server = fmt::format("https://{}", World::name_of(i));
    world.put_secret(i, server, "", R"({"token":"t"})");
    reached[server] = &world.workload(i).network;
  }
  replica::ModelProcessOptions options;
  options.profiles = false;
  options.controllers = {machines::with_options({})};
  options.elsewhere = [&](const kube::Access& access) { return reached.at(access.server); };
  replica::ModelProcess careen(time, world.management(), "", std::move(options));
  time.run_for(io::minutes{10});
  world.forget_requests();
  time.run_for(io::hours{hours});
  fmt::print("{}\n", world.line());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc == 5 ? argv[1] : "";
  if (mode == "serve") return serve_all(std::atoi(argv[2]), std::atoi(argv[3]), argv[4]);
  if (mode == "hours") return idle_for(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
  std::fputs("usage: many_clusters serve CLUSTERS NODES KUBECONFIG | hours CLUSTERS NODES HOURS\n", stderr);
  return 2;
}
