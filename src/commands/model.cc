#include <fmt/format.h>

#include <csignal>

#include "cli/screen.h"
#include "commands/commands.h"
#include "commands/model_kubeconfig.h"
#include "io/process.h"
#include "io/real_loop.h"
#include "sim/cluster.h"
#include "sim/http_face.h"
#include "sim/sample_workloads.h"

namespace careen::app {

namespace {

void add_nodes(sim::Cluster& cluster, int count) {
  auto machine = sim::Kubelets::usual_machine();
  machine.ready_after = {};
  for (int index = 0; index < count; ++index) {
    cluster.kubelets.add(fmt::format("node-{}", index), sim::Kubelets::usual_place(index), {}, machine);
  }
}

}  // namespace

int serve_model_cluster(const ModelOptions& options) {
  Screen screen(process_screen());
  io::RealLoop loop;
  sim::Cluster cluster(loop, options.seed,
                       options.controllers ? sim::ControlPlane::whole : sim::ControlPlane::api_server_alone);
  add_nodes(cluster, options.nodes);
  sim::add_sample_workloads(cluster.api, options.workloads);
  // As on a server that has been running for long: the history of its start is gone.
  cluster.api.compact();
  const auto server = sim::serve_model(loop, cluster.network, options.listen);
  if (!server) {
    screen.note(server.error().message);
    return 1;
  }
  const size_t colon = options.listen.rfind(':');
  const std::string host = colon == 0 ? "127.0.0.1" : options.listen.substr(0, colon);
  const std::string address = fmt::format("http://{}:{}", host, (*server)->port());
  if (!options.kubeconfig.empty() && !write_model_kubeconfig(options.kubeconfig, {{.server = address}})) {
    screen.note(options.kubeconfig + ": cannot be written");
    return 1;
  }
  screen.line(address);
  bool stop = false;
  const auto watch = io::watch_signals(loop, {SIGTERM, SIGINT}, [&](int) { stop = true; });
  loop.run_until([&] { return stop; });
  return 0;
}

}  // namespace careen::app
