#include "sim/kubelets.h"

#include "sim/places.h"
#include "sim/value.h"

namespace careen::sim {

using kube::Json;

namespace {

constexpr io::Duration kStatusEvery = io::minutes{5};
constexpr io::Duration kLeaseEvery = io::seconds{10};
// node-monitor-grace-period
constexpr io::Duration kGrace = io::seconds{50};

constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/leases";

std::string lease_path(std::string_view name) {
  return "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + std::string(name);
}

struct Condition {
  const char* type;
  const char* reason;
  const char* message;
};
constexpr Condition kPressures[] = {
    {"MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
    {"DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
};

Json condition(const char* type, const char* status, const std::string& beat, const std::string& since,
               const char* reason, const std::string& message) {
  return Json::object({{"type", type},
                       {"status", status},
                       {"lastHeartbeatTime", beat},
                       {"lastTransitionTime", since},
                       {"reason", reason},
                       {"message", message}});
}

// Replaces the text of every such member; the new one has the same length or not.
void replace_all(std::string& text, std::string_view key, std::string_view value) {
  const std::string start = "\"" + std::string(key) + "\":\"";
  for (size_t at = find_text(text, start); at != std::string::npos; at = find_text(text, start, at)) {
    at += start.size();
    const size_t end = text.find('"', at);
    if (end == std::string::npos) return;
    text.replace(at, end - at, value);
    at += value.size();
  }
}

// The node's taints but those of the controller, and these.
Json taints_of(const Json& node, const std::vector<std::pair<const char*, const char*>>& wanted,
               const std::string& now) {
  Json out = Json::array();
  node.at("/spec/taints").for_each_element([&](kube::JsonView taint) {
    const std::string_view key = taint["key"].text().value_or("");
    if (key == "node.kubernetes.io/not-ready" || key == "node.kubernetes.io/unreachable") return;
    out.push_back(Json(taint));
  });
  for (const auto& [key, effect] : wanted) {
    out.push_back(Json::object({{"key", key}, {"effect", effect}, {"timeAdded", now}}));
  }
  return out;
}

constexpr const char* kReady = "KubeletReady";
constexpr const char* kReadyMessage = "kubelet is posting ready status";

}  // namespace

Kubelets::Kubelets(io::Loop& loop, ApiServer& api) : loop_(loop), api_(api) {
  api_.freshen(kNodesPath, [this](std::string_view, std::string_view name, const Text& text) {
    return with_heartbeats(name, text);
  });
  api_.freshen(kLeases, [this](std::string_view ns, std::string_view name, const Text& text) {
    return ns == "kube-node-lease" ? with_renewal(name, text) : text;
  });
  api_.observe([this](const Change& change) {
    if (change.type == Change::Type::deleted && change.collection == kNodesPath) forget(change.name);
  });
}
Kubelets::~Kubelets() {
  api_.freshen(kNodesPath, nullptr);
  api_.freshen(kLeases, nullptr);
}

void Kubelets::forget(const std::string& name) {
  const auto known = kubelets_.find(name);
  if (known != kubelets_.end()) kubelets_.erase(known);
}

void Kubelets::tell(const std::string& node) const {
  for (const auto& follower : followers_) follower(node);
}

bool Kubelets::running(const std::string& node) const {
  const auto known = kubelets_.find(node);
  return known != kubelets_.end() && known->second.stopped == io::kNever;
}

io::Wall Kubelets::last_beat(const Kubelet& kubelet, io::Duration every) const {
  const io::Steady until = std::min(loop_.now(), kubelet.stopped);
  const auto beats = (until - kubelet.since) / every;
  return loop_.wall_now() - (loop_.now() - (kubelet.since + beats * every));
}

Json Kubelets::conditions(const char* ready, const char* other, const char* reason, const std::string& message,
                          const std::string& beat) const {
  const std::string now = io::format_whole_seconds(loop_.wall_now());
  Json out = Json::array();
  const bool own = std::string_view(other) == "False";
  for (const Condition& one : kPressures) {
    out.push_back(condition(one.type, other, beat, now, own ? one.reason : reason, own ? one.message : message));
  }
  out.push_back(condition("Ready", ready, beat, now, reason, message));
  return out;
}

Kubelets::Labels Kubelets::usual_place(int index) {
  static constexpr const char* kZones[] = {"zone-a", "zone-b", "zone-c"};
  return {{"topology.kubernetes.io/region", "region-1"}, {"topology.kubernetes.io/zone", kZones[index % 3]}};
}

void Kubelets::add(const std::string& name, const Labels& labels, const Labels& annotations, const Machine& machine) {
  Kubelet& kubelet = kubelets_[name];
  kubelet.since = loop_.now();
  kubelet.stopped = io::kNever;
  const size_t number = kubelets_.size();
  const std::string ip = "10." + std::to_string(64 + number / 65536 % 64) + "." + std::to_string(number / 256 % 256) +
                         "." + std::to_string(number % 256);
  Json node = Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
  node.set({"metadata", "labels", "beta.kubernetes.io/arch"}, "amd64")
      .set({"metadata", "labels", "beta.kubernetes.io/os"}, "linux")
      .set({"metadata", "labels", "kubernetes.io/arch"}, "amd64")
      .set({"metadata", "labels", "kubernetes.io/hostname"}, name)
      .set({"metadata", "labels", "kubernetes.io/os"}, "linux");
  for (const auto& [key, value] : labels) node.set({"metadata", "labels", key}, value);
  for (const auto& [key, value] : annotations) node.set({"metadata", "annotations", key}, value);
  const bool ready = machine.ready_after <= io::Duration{0};
  if (!ready) {
    node.set({"spec", "taints"},
             Json::array({Json::object({{"key", "node.kubernetes.io/not-ready"}, {"effect", "NoSchedule"}})}));
  }
  const Json capacity = Json::object({{"cpu", machine.cpu}, {"memory", machine.memory}, {"pods", machine.pods}});
  node.set({"status", "capacity"}, capacity).set({"status", "allocatable"}, capacity);
  node.set({"status", "addresses"}, Json::array({Json::object({{"type", "InternalIP"}, {"address", ip}}),
                                                 Json::object({{"type", "Hostname"}, {"address", name}})}));
  node.set({"status", "daemonEndpoints", "kubeletEndpoint", "Port"}, 10250);
  node.set({"status", "nodeInfo"}, Json::object({{"kernelVersion", "6.1.0"},
                                                 {"osImage", "Simulated Linux"},
                                                 {"containerRuntimeVersion", "containerd://2.1.0"},
                                                 {"kubeletVersion", "v1.36.3"},
                                                 {"operatingSystem", "linux"},
                                                 {"architecture", "amd64"}}));
  const std::string beat = io::format_whole_seconds(loop_.wall_now());
  node.set({"status", "conditions"},
           ready ? conditions("True", "False", kReady, kReadyMessage, beat)
                 : conditions("False", "False", "KubeletNotReady",
                              "[container runtime status check may not have completed yet]", beat));
  api_.put(node_path(name), std::move(node), "kubelet");
  const Json made = api_.object(node_path(name));
  Json lease = Json::object({{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}});
  lease.set({"metadata", "ownerReferences"},
            Json::array({Json::object({{"apiVersion", "v1"},
                                       {"kind", "Node"},
                                       {"name", name},
                                       {"uid", made.at("/metadata/uid").text().value_or("")}})}));
  lease.set({"spec", "holderIdentity"}, name)
      .set({"spec", "leaseDurationSeconds"}, 40)
      .set({"spec", "renewTime"}, io::format_micro_time(loop_.wall_now()));
  api_.put(lease_path(name), std::move(lease), "kubelet");
  tell(name);
  if (ready) return;
  kubelet.next = std::make_unique<io::Alarm>(loop_, [this, name] { become_ready(name); });
  kubelet.next->set(loop_.now() + machine.ready_after);
}

void Kubelets::adopt(const std::string& name, bool running) {
  Kubelet& kubelet = kubelets_[name];
  kubelet.since = loop_.now();
  kubelet.stopped = running ? io::kNever : loop_.now();
  kubelet.lost = !running;
  tell(name);
}

void Kubelets::become_ready(const std::string& name) {
  const Json node = api_.object(node_path(name));
  const auto known = kubelets_.find(name);
  if (node.view().is_null() || known == kubelets_.end() || known->second.stopped != io::kNever) return;
  known->second.lost = false;
  const std::string now = io::format_whole_seconds(loop_.wall_now());
  Json patch;
  patch.set({"status", "conditions"}, conditions("True", "False", kReady, kReadyMessage, now));
  api_.merge(node_path(name), patch, "kubelet");
  Json taints;
  taints.set({"spec", "taints"}, taints_of(node, {}, now));
  api_.merge(node_path(name), taints, kControllerManager);
}

void Kubelets::stop(const std::string& node) {
  const auto known = kubelets_.find(node);
  if (known == kubelets_.end() || known->second.stopped != io::kNever) return;
  Kubelet& kubelet = known->second;
  kubelet.stopped = loop_.now();
  kubelet.next = std::make_unique<io::Alarm>(loop_, [this, node] { give_up(node); });
  // The controller counts from the last sign of life.
  const auto beats = (loop_.now() - kubelet.since) / kLeaseEvery;
  kubelet.next->set(std::max(loop_.now(), kubelet.since + beats * kLeaseEvery + kGrace));
  tell(node);
}

void Kubelets::start(const std::string& node) {
  const auto known = kubelets_.find(node);
  if (known == kubelets_.end() || known->second.stopped == io::kNever) return;
  Kubelet& kubelet = known->second;
  kubelet.stopped = io::kNever;
  kubelet.since = loop_.now();
  kubelet.next.reset();
  tell(node);
  if (!kubelet.lost) return;
  kubelet.next = std::make_unique<io::Alarm>(loop_, [this, node] { become_ready(node); });
  kubelet.next->set(loop_.now() + io::seconds{1});
}

void Kubelets::give_up(const std::string& name) {
  const Json node = api_.object(node_path(name));
  const auto known = kubelets_.find(name);
  if (node.view().is_null() || known == kubelets_.end() || known->second.stopped == io::kNever) return;
  known->second.lost = true;
  const std::string now = io::format_whole_seconds(loop_.wall_now());
  Json patch;
  patch.set({"status", "conditions"},
            conditions("Unknown", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.",
                       io::format_whole_seconds(last_beat(known->second, kStatusEvery))));
  api_.merge(node_path(name), patch, kControllerManager);
  Json taints;
  taints.set({"spec", "taints"}, taints_of(node,
                                           {{"node.kubernetes.io/unreachable", "NoSchedule"},
                                            {"node.kubernetes.io/unreachable", "NoExecute"}},
                                           now));
  api_.merge(node_path(name), taints, kControllerManager);
}

Text Kubelets::with_heartbeats(std::string_view name, const Text& text) const {
  const auto known = kubelets_.find(name);
  if (known == kubelets_.end() || known->second.lost) return text;
  const io::Wall beat = last_beat(known->second, kStatusEvery);
  auto fresh = std::make_shared<std::string>(*text);
  replace_all(*fresh, "lastHeartbeatTime", io::format_whole_seconds(beat));
  return fresh;
}

Text Kubelets::with_renewal(std::string_view name, const Text& text) const {
  const auto known = kubelets_.find(name);
  if (known == kubelets_.end()) return text;
  auto fresh = std::make_shared<std::string>(*text);
  replace_all(*fresh, "renewTime", io::format_micro_time(last_beat(known->second, kLeaseEvery)));
  return fresh;
}

}  // namespace careen::sim
