#include "demo/world.h"

#include <fmt/format.h>

#include "controllers/profiles/names.h"
#include "controllers/slot/kind.h"
#include "demo/config.h"
#include "demo/workloads.h"
#include "replica/controllers.h"

namespace careen::app {

namespace {

constexpr int kStorageEvery = 5;
// One node in this many already has the update when the demonstration begins.
constexpr int kUpdatedEvery = 4;

}  // namespace

DemoWorld::DemoWorld(io::VirtualTime& time, DemoWorldOptions options)
    : loop_(time.make_loop()),
      cluster_(std::make_unique<sim::Cluster>(*loop_, options.seed)),
      nodes_(std::make_unique<DemoNodes>(cluster_->api)),
      actors_(std::make_unique<DemoActors>(*loop_, *cluster_, *nodes_, options.seed, options.tell)) {
  define_kinds(cluster_->api);
  add_demo_limit(cluster_->api);
  add_nodes(options.nodes);
  add_demo_workloads(cluster_->api, options.nodes);
  time.run_for(kHeadStart);
  cluster_->api.compact();
  config_ = demo_config(time.wall_now());
  careen_ =
      std::make_unique<replica::ModelProcess>(time, *cluster_, config_,
                                              replica::ModelProcessOptions{.name = "careen-0",
                                                                           .seed = options.seed,
                                                                           .cache_pods = true,
                                                                           .controllers = replica::usual_controllers(),
                                                                           .log = options.log});
  if (options.actors) actors_->begin();
}

void DemoWorld::add_nodes(int count) {
  auto machine = sim::Kubelets::usual_machine();
  machine.ready_after = {};
  for (int index = 0; index < count; ++index) {
    const bool updated = index % kUpdatedEvery == 0;
    sim::Kubelets::Labels labels = sim::Kubelets::usual_place(index);
    labels.emplace_back(profiles::kProfileLabel, fmt::format("{}--{}", kOsUpdate, kHardwareRepair));
    labels.emplace_back(kPoolLabel, index % kStorageEvery == kStorageEvery - 1 ? "storage" : "worker");
    labels.emplace_back(kOsVersionLabel, updated ? actors_->newest_os() : "2.0.9");
    if (!updated) labels.emplace_back(kOutdatedLabel, "needed");
    cluster_->kubelets.add(fmt::format("node-{}", index), labels, {}, machine);
  }
}

std::string DemoWorld::node_with(std::string_view ns, std::string_view app) const {
  std::string out;
  cluster_->api.for_each("/api/v1/pods", [&](const std::string&, const sim::Text& text) {
    const auto pod = kube::Json::parse(*text);
    if (!out.empty() || !pod || pod->at("/metadata/namespace").text() != ns) return;
    if (pod->at("/metadata/labels/app").text() == app) out = pod->at("/spec/nodeName").text().value_or("");
  });
  return out;
}

}  // namespace careen::app
