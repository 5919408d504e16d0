// The measuring stick of the benchmark of Machines: watches the Nodes of some clusters, and takes the hook off the
// Machine of a Node as soon as its deletion is approved there. It knows no Machines, asks for nothing else and decides
// nothing. Runs until it is ended.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "controllers/machines/machine.h"
#include "controllers/machines/names.h"
#include "io/files.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/real_loop.h"
#include "io/sync.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/http_transport.h"
#include "kube/watched.h"

namespace {

using namespace careen;
using machines::Node;

struct Process {
  io::RealLoop loop;
  io::RealFiles files{loop};
  io::Metrics metrics;
  io::Problems problems{io::Log{}};
  io::Random random;
  kube::AtomPool atoms;
};

// A cluster, and how it is asked.
struct Cluster {
  Cluster(Process& process, const char* kubeconfig) {
    auto access = kube::load_access(process.files, {[](std::string_view) { return std::nullopt; }}, {kubeconfig, ""});
    if (!access) {
      fmt::print(stderr, "{}\n", access.error().message);
      std::exit(1);
    }
    transport = kube::make_http_transport(
        process.loop, kube::make_authenticator(process.loop, process.files, std::move(*access), io::Log{}));
    client = std::make_unique<kube::Client>(process.loop, *transport, process.metrics, process.random);
  }
  std::unique_ptr<kube::HttpTransport> transport;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<kube::Watched<Node>> nodes = nullptr;
  io::Subscription changes = {};
};

io::Task<void> let_go(kube::Client& client, std::string ns, std::string machine) {
  const std::string patch = fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", machines::kPreDrainHook);
  const auto done = co_await client.patch(machines::kMachines, ns, machine, kube::PatchType::merge, patch);
  if (!done) fmt::print(stderr, "{}\n", done.error().message);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: relay_loop KUBECONFIG WORKLOAD_KUBECONFIG…\n", stderr);
    return 2;
  }
  Process process;
  Cluster management(process, argv[1]);
  std::vector<std::unique_ptr<Cluster>> workloads;
  io::Scope scope(process.loop);
  size_t listed = 0;
  for (int i = 2; i < argc; ++i) {
    Cluster& one = *workloads.emplace_back(std::make_unique<Cluster>(process, argv[i]));
    one.nodes = std::make_unique<kube::Watched<Node>>(
        kube::WatchParts{process.loop, *one.client, process.metrics, process.problems, process.random},
        kube::ReflectorOptions{.resource = kube::resources::nodes, .name = fmt::format("nodes-{}", i)},
        [&process](kube::RawObject& raw) { return machines::read_node(raw, process.atoms); });
    one.changes = one.nodes->store().subscribe([&](const Node* before, const Node* after) {
      if (!after || !after->approves_deletion || (before && before->approves_deletion)) return;
      scope.spawn(
          let_go(*management.client, std::string(after->machine_ns.view()), std::string(after->machine.view())));
    });
    one.nodes->on_synced([&] {
      if (++listed < workloads.size()) return;
      fmt::print("ready\n");
      std::fflush(stdout);
    });
    one.nodes->start();
  }
  process.loop.run();
}
