#include "demo/cluster.h"

#include <fmt/format.h>

#include "controllers/profiles/names.h"
#include "demo/config.h"
#include "demo/workloads.h"
#include "kube/json.h"

namespace careen::app {

namespace {

constexpr int kStorageEvery = 5;
// One node in this many already has the update when the demonstration begins.
constexpr int kUpdatedEvery = 4;

}  // namespace

DemoCluster::DemoCluster(io::Loop& loop, int nodes, uint64_t seed, const DemoActors::Tell& tell)
    : model_(loop, seed), nodes_(model_.api), actors_(loop, model_, nodes_, seed, tell) {
  define_kinds(model_.api);
  add_nodes(nodes);
  add_demo_workloads(model_.api, nodes);
}

void DemoCluster::add_nodes(int count) {
  auto machine = sim::Kubelets::usual_machine();
  machine.ready_after = {};
  for (int index = 0; index < count; ++index) {
    const bool updated = index % kUpdatedEvery == 0;
    sim::Kubelets::Labels labels = sim::Kubelets::usual_place(index);
    labels.emplace_back(profiles::kProfileLabel, fmt::format("{}--{}", kOsUpdate, kHardwareRepair));
    labels.emplace_back(kPoolLabel, index % kStorageEvery == kStorageEvery - 1 ? "storage" : "worker");
    labels.emplace_back(kOsVersionLabel, updated ? actors_.newest_os() : "2.0.9");
    if (!updated) labels.emplace_back(kOutdatedLabel, "needed");
    model_.kubelets.add(fmt::format("node-{}", index), labels, {}, machine);
  }
}

std::string DemoCluster::node_with(std::string_view ns, std::string_view app) const {
  std::string out;
  model_.api.for_each("/api/v1/pods", [&](const std::string&, const sim::Text& text) {
    const auto pod = kube::Json::parse(*text);
    if (!out.empty() || !pod || pod->at("/metadata/namespace").text() != ns) return;
    if (pod->at("/metadata/labels/app").text() == app) out = pod->at("/spec/nodeName").text().value_or("");
  });
  return out;
}

}  // namespace careen::app
