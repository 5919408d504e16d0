#include "demo/actors.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/nodemaintenance/names.h"
#include "demo/config.h"
#include "demo/workloads.h"

namespace careen::app {

using io::minutes;
using io::seconds;
using io::Task;
using kube::Json;
using profiles::State;

namespace {

constexpr const char* kFaults[] = {"memory errors", "a disk is failing", "a power supply is lost", "a fan has stopped",
                                   "packets get lost on eth1"};

struct Work {
  const char* name;
  const char* reason;
};
constexpr Work kWorks[] = {{"swap-disk", "swap a disk"},
                           {"firmware", "new firmware for the network card"},
                           {"cabling", "tidy up cables in the rack"},
                           {"memory", "add memory modules"}};

// More at a time would crowd the picture.
constexpr int kMostBroken = 2;

std::string node_path(const std::string& name) { return "/api/v1/nodes/" + name; }
std::string maintenance_path(const std::string& name) { return nodemaintenance::kResource.path("", name); }

bool entered(std::string_view profile, State state, const DemoNode& before, const DemoNode& now) {
  return before.state(profile) != state && now.state(profile) == state;
}

}  // namespace

DemoActors::DemoActors(io::Loop& loop, sim::Cluster& cluster, DemoNodes& nodes, uint64_t seed, Tell tell)
    : loop_(loop),
      cluster_(cluster),
      nodes_(nodes),
      random_(seed),
      tell_(std::move(tell)),
      newest_os_("2.1.0"),
      updated_(loop),
      scope_(loop) {
  nodes_.subscribe(
      [this](const std::string& name, const DemoNode& before, const DemoNode& now) { react(name, before, now); });
}

void DemoActors::begin(bool objects) {
  people_at_work_ = true;
  scope_.spawn(publish_releases());
  scope_.spawn(break_hardware());
  if (objects) scope_.spawn(take_nodes_out());
  scope_.spawn(run_jobs());
  scope_.spawn(reboot_as_kured());
}

void DemoActors::react(const std::string& name, const DemoNode& before, const DemoNode& now) {
  if (entered(kOsUpdate, State::in_maintenance, before, now)) scope_.spawn(reboot(name));
  if (entered(kHardwareRepair, State::in_maintenance, before, now)) scope_.spawn(repair(name));
  if (before.outdated && !now.outdated) updated_.notify();
  if (people_at_work_ && now.awaits_approval() && approving_.insert(name).second) scope_.spawn(approve(name));
}

io::SleepAwaiter DemoActors::pause(io::Duration least, io::Duration most) {
  const auto beyond = static_cast<double>((most - least).count()) * random_.unit();
  return io::sleep_for(loop_, least + io::Duration{static_cast<io::Duration::rep>(beyond)});
}

void DemoActors::label(const std::string& node, std::string_view key, Json value) {
  Json patch = Json::object();
  patch.set({"metadata", "labels", key}, std::move(value));
  ask_api(cluster_.api, "PATCH", node_path(node), patch);
}

std::string DemoActors::any_node_at_rest() {
  std::vector<std::string> resting;
  for (const auto& [name, node] : nodes_.all()) {
    if (node.at_rest()) resting.push_back(name);
  }
  return resting.empty() ? "" : resting[random_.next() % resting.size()];
}

// The machine installs the image, boots, and comes back with it.
Task<void> DemoActors::reboot(std::string node) {
  co_await pause(seconds{4}, seconds{10});
  cluster_.kubelets.stop(node);
  co_await pause(seconds{25}, seconds{100});
  cluster_.kubelets.start(node);
  co_await pause(seconds{2}, seconds{5});
  Json patch = Json::object();
  patch.set({"metadata", "labels", kOsVersionLabel}, newest_os_);
  patch.set({"metadata", "labels", kOutdatedLabel}, nullptr);
  ask_api(cluster_.api, "PATCH", node_path(node), patch);
}

Task<void> DemoActors::repair(std::string node) {
  co_await pause(minutes{1}, minutes{4});
  label(node, kHardwareLabel, "repaired");
  tell_(node, "a technician has repaired it");
}

Task<void> DemoActors::approve(std::string node) {
  co_await pause(minutes{5}, minutes{25});
  approving_.erase(node);
  const auto known = nodes_.all().find(node);
  if (known == nodes_.all().end() || !known->second.awaits_approval()) co_return;
  Json patch = Json::object();
  patch.set({"metadata", "annotations", kApprovedAnnotation}, "ana");
  ask_api(cluster_.api, "PATCH", node_path(node), patch);
  tell_(node, "Ana has approved its update");
}

// The next one comes out some time after the last node has the one before.
Task<void> DemoActors::publish_releases() {
  for (;;) {
    while (nodes_.any_outdated()) co_await updated_.wait();
    co_await pause(minutes{4}, minutes{12});
    newest_os_ = fmt::format("2.1.{}", ++release_);
    tell_("", fmt::format("OS release {} is out: all nodes need it", newest_os_));
    std::vector<std::string> names;
    for (const auto& [name, node] : nodes_.all()) names.push_back(name);
    for (const std::string& name : names) {
      label(name, kOutdatedLabel, "needed");
      co_await pause(seconds{0}, seconds{3});
    }
  }
}

Task<void> DemoActors::break_hardware() {
  co_await pause(seconds{25}, seconds{40});
  for (;;) {
    const auto broken = std::count_if(nodes_.all().begin(), nodes_.all().end(),
                                      [](const auto& one) { return one.second.hardware == "broken"; });
    const std::string node = broken < kMostBroken ? any_node_at_rest() : "";
    if (!node.empty()) {
      tell_(node, fmt::format("hardware fault: {}", kFaults[random_.next() % std::size(kFaults)]));
      label(node, kHardwareLabel, "broken");
    }
    co_await pause(minutes{3}, minutes{10});
  }
}

Task<void> DemoActors::take_nodes_out() {
  co_await pause(seconds{6}, seconds{9});
  for (;;) {
    const std::string node = any_node_at_rest();
    const Work& work = kWorks[random_.next() % std::size(kWorks)];
    if (!node.empty()) scope_.spawn(take_out(node, fmt::format("{}-{}", work.name, node), work.reason));
    co_await pause(minutes{4}, minutes{12});
  }
}

// A colleague's NodeMaintenance: made, used while the node is drained, and deleted.
Task<void> DemoActors::take_out(std::string node, std::string name, std::string reason) {
  const kube::Resource& kind = nodemaintenance::kResource;
  Json object = Json::object({{"apiVersion", kind.group + "/" + kind.version}, {"kind", kind.kind}});
  object.set({"metadata", "name"}, name);
  object.set({"spec"}, Json::object({{"nodeName", node}, {"reason", reason}}));
  ask_api(cluster_.api, "POST", maintenance_path(""), object);
  for (int look = 0; look < 60; ++look) {
    co_await pause(seconds{5}, seconds{10});
    const Json now = cluster_.api.object(maintenance_path(name));
    if (now.view().is_null() || now.at("/status/phase").text() == "Succeeded") break;
  }
  co_await pause(minutes{1}, minutes{4});
  ask_api(cluster_.api, "DELETE", maintenance_path(name));
}

// Another program that reboots nodes, one at a time, and asks nobody: kured. Its lock is an annotation of its
// DaemonSet; what it takes out is told by its annotation and its cordon.
Task<void> DemoActors::reboot_as_kured() {
  co_await pause(seconds{45}, seconds{75});
  for (;;) {
    if (const std::string node = any_node_at_rest(); !node.empty()) co_await kured_takes(node);
    co_await pause(minutes{5}, minutes{15});
  }
}

Task<void> DemoActors::kured_takes(std::string node) {
  const auto annotate = [this](const std::string& path, std::string_view key, Json value) {
    Json patch = Json::object();
    patch.set({"metadata", "annotations", key}, std::move(value));
    ask_api(cluster_.api, "PATCH", path, patch);
  };
  const auto cordon = [&](Json value) {
    Json patch = Json::object();
    patch.set({"spec", "unschedulable"}, std::move(value));
    ask_api(cluster_.api, "PATCH", node_path(node), patch);
  };
  const std::string now = io::format_whole_seconds(loop_.wall_now());
  tell_(node, "kured reboots it, and has asked nobody");
  annotate(std::string(kKuredDaemonSet), "weave.works/kured-node-lock",
           Json(Json::object({{"nodeID", node}, {"created", now}}).dump()));
  annotate(node_path(node), "weave.works/kured-reboot-in-progress", now);
  cordon(true);
  for (int attempt = 0; attempt < 60 && !evict_pods(node); ++attempt) co_await io::sleep_for(loop_, seconds{5});
  cluster_.kubelets.stop(node);
  co_await pause(seconds{40}, seconds{90});
  cluster_.kubelets.start(node);
  co_await pause(seconds{10}, seconds{20});
  cordon(nullptr);
  annotate(node_path(node), "weave.works/kured-reboot-in-progress", nullptr);
  annotate(std::string(kKuredDaemonSet), "weave.works/kured-node-lock", nullptr);
}

bool DemoActors::evict_pods(const std::string& node) {
  const auto keys = cluster_.api.pods_on(node);
  bool empty = true;
  for (const auto& key : keys) {
    const sim::Text text = cluster_.api.pod_text(key);
    const auto pod = Json::parse(text ? *text : "null");
    if (!pod || pod->at("/metadata/ownerReferences/0/kind").text() == "DaemonSet") continue;
    empty = false;
    const std::string name(pod->at("/metadata/name").text().value_or(""));
    const std::string ns(pod->at("/metadata/namespace").text().value_or(""));
    Json eviction = Json::object({{"apiVersion", "policy/v1"}, {"kind", "Eviction"}});
    eviction.set({"metadata"}, Json::object({{"name", name}, {"namespace", ns}}));
    ask_api(cluster_.api, "POST", fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", ns, name), eviction);
  }
  return empty;
}

Task<void> DemoActors::run_jobs() {
  for (int number = 1;; ++number) {
    add_demo_job(cluster_.api, fmt::format("report-{}", number));
    co_await io::sleep_for(loop_, minutes{30});
    if (number > 1) remove_demo_job(cluster_.api, fmt::format("report-{}", number - 1));
  }
}

}  // namespace careen::app
