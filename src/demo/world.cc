#include "demo/world.h"

#include <fmt/format.h>

#include <utility>

#include "controllers/machines/hosted.h"
#include "controllers/slot/kind.h"
#include "demo/config.h"
#include "demo/workloads.h"
#include "replica/controllers.h"

namespace careen::app {

namespace {

// What is told of the nodes of one cluster among several.
DemoActors::Tell told_of(const std::string& cluster, DemoActors::Tell tell) {
  return [cluster, tell = std::move(tell)](const std::string& node, const std::string& text) {
    tell(node.empty() ? cluster : fmt::format("{}: {}", cluster, node), text);
  };
}

}  // namespace

DemoWorld::DemoWorld(io::VirtualTime& time, DemoWorldOptions options) : loop_(time.make_loop()) {
  if (options.clusters > 1) management_ = std::make_unique<DemoManagement>(*loop_, options.seed);
  for (int index = 0; index < options.clusters; ++index) {
    const auto tell = management_ ? told_of(kClusterNames[index], options.tell) : options.tell;
    clusters_.push_back(std::make_unique<DemoCluster>(*loop_, options.nodes, options.seed + index, tell));
    if (management_) management_->add(kClusterNames[index], *clusters_.back());
  }
  add_demo_limit(home().api);
  time.run_for(kHeadStart);
  home().api.compact();
  for (const auto& cluster : clusters_) cluster->model().api.compact();
  config_ = demo_config(time.wall_now());
  careen_ = std::make_unique<replica::ModelProcess>(time, home(), config_, process(options));
  if (!options.actors) return;
  for (const auto& cluster : clusters_) cluster->actors().begin(management_ == nullptr);
}

replica::ModelProcessOptions DemoWorld::process(const DemoWorldOptions& options) const {
  replica::ModelProcessOptions process{
      .name = "careen-0", .seed = options.seed, .cache_pods = true, .log = options.log};
  if (!management_) {
    process.controllers = replica::usual_controllers();
    return process;
  }
  process.hub = true;
  process.controllers = {machines::kind().usual()};
  process.elsewhere = [this](const kube::Access& access) { return management_->reached(access); };
  return process;
}

void DemoWorld::publish(size_t index, const std::string& address, const std::string& kubeconfig) {
  management_->publish(kClusterNames[index], *clusters_[index], address, kubeconfig);
}

}  // namespace careen::app
