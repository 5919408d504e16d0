#include "sim/machine_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "sim/places.h"

namespace careen::sim {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

constexpr std::string_view kMachines = "/apis/cluster.x-k8s.io/v1beta2/machines";
constexpr std::string_view kHosts = "/apis/metal3.io/v1alpha1/baremetalhosts";
constexpr const char *kMachineController = "machine-controller", *kHostOperator = "baremetal-operator",
                     *kHealthCheck = "machine-health-check", *kOnNode = "kubelet";
constexpr std::string_view kHooks = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
constexpr std::string_view kSkipRemediation = "cluster.x-k8s.io/skip-remediation";
constexpr std::string_view kReboot = "reboot.metal3.io", kKeepOff = "reboot.metal3.io/";
constexpr std::string_view kMachineOfNode = "cluster.x-k8s.io/machine";
constexpr std::string_view kNamespaceOfNode = "cluster.x-k8s.io/cluster-namespace";
constexpr std::string_view kFinalizer = "machine.cluster.x-k8s.io";

bool has_annotation_like(const Json& object, std::string_view prefix) {
  bool found = false;
  object["metadata"]["annotations"].for_each_member(
      [&](std::string_view name, JsonView) { found |= name.starts_with(prefix); });
  return found;
}
bool is_rebooted(const Json& host) { return host["metadata"]["annotations"][kReboot].exists(); }
// With a key the host stays off while the annotation is there.
bool is_held_off(const Json& host) { return has_annotation_like(host, kKeepOff); }
bool is_on(const Json& host) { return host["status"]["poweredOn"].boolean().value_or(true); }

std::optional<bool> ready_of(const Json& node) {
  std::optional<bool> ready;
  node["status"]["conditions"].for_each_element([&](JsonView condition) {
    if (condition["type"].text() == "Ready") ready = condition["status"].text() == "True";
  });
  return ready;
}
Json ready_condition(bool ready) {
  return Json::array({Json::object({{"type", "Ready"}, {"status", ready ? "True" : "False"}})});
}

}  // namespace

struct MachineWorld::Slot {
  MachineSlot is;
  int machines = 0;  // so far
  bool closed = false;
  bool down = false;
  bool servicing = false;
  bool emptied = false;  // its Machine goes, and its Node has gone before it
  int moving = 0;        // what is being made, or taken away
  std::set<Ear*> ears;

  std::string machine() const { return fmt::format("{}-{}", is.name, machines); }
  std::string node() const { return is.node.empty() ? machine() : is.node; }
  std::string cluster() const { return is.ns + "/" + is.cluster; }
};

// With it a task hears of what happens to a slot.
class MachineWorld::Ear {
 public:
  Ear(io::Loop& loop, Slot& slot) : loop_(loop), slot_(slot), heard_(loop) { slot_.ears.insert(this); }
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;
  ~Ear() { slot_.ears.erase(this); }

  void tell() { heard_.notify(); }
  Task<void> wait(io::Steady until = io::kNever) {
    co_await io::race(loop_, io::wait_until(loop_, until), io::wait_for(heard_));
  }

 private:
  io::Loop& loop_;
  Slot& slot_;
  io::Signal heard_;
};

MachineWorld::MachineWorld(io::Loop& loop, ApiServer& management, uint64_t seed, MachinePace pace)
    : loop_(loop), management_(management), random_(seed), pace_(pace), scope_(loop) {
  define_kind(management_, "cluster.x-k8s.io", "v1beta2", "machines", "Machine");
  define_kind(management_, "metal3.io", "v1alpha1", "baremetalhosts", "BareMetalHost");
  management_.observe([this](const Change& change) { heard(change, ""); });
}

MachineWorld::~MachineWorld() = default;

void define_kind(ApiServer& api, std::string_view group, std::string_view version, std::string_view plural,
                 std::string_view kind) {
  std::string singular(kind);
  std::ranges::transform(singular, singular.begin(), [](unsigned char letter) { return std::tolower(letter); });
  Json served = Json::object({{"name", version}, {"served", true}, {"storage", true}});
  served.set({"schema", "openAPIV3Schema"},
             Json::object({{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}));
  Json definition = Json::object({{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "CustomResourceDefinition"}});
  definition.set({"spec", "group"}, group).set({"spec", "scope"}, "Namespaced");
  definition.set({"spec", "names"}, Json::object({{"plural", plural}, {"singular", singular}, {"kind", kind}}));
  definition.set({"spec", "versions"}, Json::array({std::move(served)}));
  api.put(fmt::format("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{}", plural, group), definition,
          "people");
}

std::string MachineWorld::machine_path(std::string_view ns, std::string_view name) {
  return fmt::format("/apis/cluster.x-k8s.io/v1beta2/namespaces/{}/machines/{}", ns, name);
}
std::string MachineWorld::host_path(std::string_view ns, std::string_view name) {
  return fmt::format("/apis/metal3.io/v1alpha1/namespaces/{}/baremetalhosts/{}", ns, name);
}

void MachineWorld::add_cluster(const std::string& ns, const std::string& name, ApiServer& workload) {
  const std::string key = ns + "/" + name;
  workloads_[key] = &workload;
  workload.observe([this, key](const Change& change) { heard(change, key); });
}

void MachineWorld::add(MachineSlot is) {
  std::unique_ptr<Slot>& slot = slots_[is.id];
  slot = std::make_unique<Slot>();
  slot->is = std::move(is);
  slot->moving = 1;
  if (!slot->is.host.empty()) make_host(slot->is);
  scope_.spawn(live(*slot));
  scope_.spawn(run_node(*slot));
  if (!slot->is.host.empty()) scope_.spawn(run_host(*slot));
  if (slot->is.remediated_after) scope_.spawn(watch_health(*slot));
}

void MachineWorld::close(const std::string& slot) { slots_.at(slot)->closed = true; }

void MachineWorld::set_label(const std::string& id, const std::string& label, const std::string& value) {
  Slot& slot = *slots_.at(id);
  if (value.empty()) {
    slot.is.labels.erase(label);
  } else {
    slot.is.labels[label] = value;
  }
  Json patch = Json::object();
  patch.set({"metadata", "labels", label}, value.empty() ? Json() : Json(value));
  management_.merge(machine_path(slot.is.ns, slot.machine()), patch, "people");
}

void MachineWorld::set_down(const std::string& id, bool down) {
  Slot& slot = *slots_.at(id);
  slot.down = down;
  for (Ear* ear : slot.ears) ear->tell();
}

void MachineWorld::renew_node(const std::string& id, io::Duration after) {
  Slot& slot = *slots_.at(id);
  if (node(slot).view().is_null() || machine(slot).view().is_null()) return;
  ++slot.moving;
  workload(slot).erase(node_path(slot.node()), "people");
  scope_.spawn(register_again(slot, after));
}

std::string MachineWorld::machine_of(const std::string& id) const {
  const Slot& slot = *slots_.at(id);
  return leaves(slot) ? std::string() : slot.machine();
}

std::string MachineWorld::newest_of(const std::string& id) const { return slots_.at(id)->machine(); }
std::string MachineWorld::node_of(const std::string& id) const { return slots_.at(id)->node(); }

// Whoever has ears hears of it a moment later: observers make no changes.
void MachineWorld::heard(const Change& change, const std::string& cluster) {
  const bool of_machines = cluster.empty() && change.collection == kMachines;
  const bool of_hosts = cluster.empty() && change.collection == kHosts;
  const bool of_nodes = !cluster.empty() && change.collection == kNodesPath;
  if (!of_machines && !of_hosts && !of_nodes) return;
  for (const auto& [id, slot] : slots_) {
    const bool concerned = of_nodes   ? cluster == slot->cluster() && change.name == slot->node()
                           : of_hosts ? change.ns == slot->is.ns && change.name == slot->is.host
                                      : change.ns == slot->is.ns && change.name == slot->machine();
    if (!concerned) continue;
    for (Ear* ear : slot->ears) ear->tell();
  }
}

io::SleepAwaiter MachineWorld::pause(MachinePace::Span span) {
  const auto beyond = static_cast<double>((span.most - span.least).count()) * random_.unit();
  return io::sleep_for(loop_, span.least + io::Duration{static_cast<io::Duration::rep>(beyond)});
}

// ---- What there is -----------------------------------------------------------------------------------------------

Json MachineWorld::machine(const Slot& slot) const {
  return management_.object(machine_path(slot.is.ns, slot.machine()));
}
Json MachineWorld::host(const Slot& slot) const { return management_.object(host_path(slot.is.ns, slot.is.host)); }
Json MachineWorld::node(const Slot& slot) const { return workload(slot).object(node_path(slot.node())); }
ApiServer& MachineWorld::workload(const Slot& slot) const { return *workloads_.at(slot.cluster()); }

bool MachineWorld::leaves(const Slot& slot) const {
  const Json now = machine(slot);
  return now.view().is_null() || now["metadata"]["deletionTimestamp"].exists();
}

bool MachineWorld::is_held(const Slot& slot) const { return has_annotation_like(machine(slot), kHooks); }

bool MachineWorld::may_be_ready(const Slot& slot) const {
  return !slot.down && (slot.is.host.empty() || is_on(host(slot)));
}

bool MachineWorld::is_settled(const Slot& slot) const {
  if (slot.moving > 0 || slot.servicing) return false;
  if (slot.machines == 0 || (slot.closed && machine(slot).view().is_null())) return true;
  if (leaves(slot) || ready_of(node(slot)) != may_be_ready(slot)) return false;
  if (slot.is.host.empty()) return true;
  const Json now = host(slot);
  return !is_rebooted(now) && is_on(now) == (slot.is.keeps_power || !is_held_off(now));
}

bool MachineWorld::busy() const {
  return !std::ranges::all_of(slots_, [this](const auto& slot) { return is_settled(*slot.second); });
}

// ---- Machines ----------------------------------------------------------------------------------------------------

Task<void> MachineWorld::live(Slot& slot) {
  Ear ear(loop_, slot);
  while (!slot.closed) {
    make_machine(slot);
    co_await boot(slot, slot.machine());
    --slot.moving;
    while (!leaves(slot)) co_await ear.wait();
    ++slot.moving;
    // A hook that comes in time holds it again.
    do {
      while (is_held(slot)) co_await ear.wait();
      co_await pause(pace_.drains);
    } while (is_held(slot));
    // Where somebody has taken the Machine away by force, its Node stays.
    if (machine(slot).view().is_object()) {
      slot.emptied = true;
      workload(slot).erase(node_path(slot.node()), kMachineController);
      ++slot.moving;
      if (slot.is.overlaps) scope_.spawn(bury(slot, slot.machine()));
      if (!slot.is.overlaps) co_await bury(slot, slot.machine());
    }
    co_await pause(pace_.renews);
  }
  --slot.moving;
}

Task<void> MachineWorld::boot(Slot& slot, std::string machine) {
  co_await pause(pace_.boots);
  if (leaves(slot)) co_return;
  make_node(slot);
  co_await pause(pace_.renews);
  Json status = Json::object();
  status.set({"status", "nodeRef", "name"}, slot.node());
  management_.merge(machine_path(slot.is.ns, machine), status, kMachineController);
}

Task<void> MachineWorld::bury(Slot& slot, std::string machine) {
  co_await pause(pace_.lingers);
  Json patch = Json::object();
  patch.set({"metadata", "finalizers"}, Json());
  request("PATCH", machine_path(slot.is.ns, machine), patch, kMachineController);
  --slot.moving;
}

void MachineWorld::make_machine(Slot& slot) {
  const MachineSlot& is = slot.is;
  ++slot.machines;
  slot.emptied = false;
  const std::string infrastructure = "infra-" + slot.machine();
  Json machine = Json::object({{"apiVersion", "cluster.x-k8s.io/v1beta2"}, {"kind", "Machine"}});
  machine.set({"metadata", "finalizers"}, Json::array({kFinalizer}));
  machine.set({"metadata", "labels", "cluster.x-k8s.io/cluster-name"}, is.cluster);
  for (const auto& [label, value] : is.labels) machine.set({"metadata", "labels", label}, value);
  machine.set({"spec", "clusterName"}, is.cluster);
  machine.set({"spec", "infrastructureRef", "kind"}, "Metal3Machine");
  machine.set({"spec", "infrastructureRef", "name"}, infrastructure);
  if (!is.host.empty()) {
    const Json known = host(slot);
    machine.set({"spec", "providerID"}, is.host_by_uid
                                            ? fmt::format("metal3://{}", known["metadata"]["uid"].text().value_or(""))
                                            : fmt::format("metal3://{}/{}/{}", is.ns, is.host, infrastructure));
    Json consumer = Json::object();
    consumer.set({"spec", "consumerRef"},
                 Json::object({{"kind", "Metal3Machine"}, {"name", infrastructure}, {"namespace", is.ns}}));
    management_.merge(host_path(is.ns, is.host), consumer, kMachineController);
  }
  management_.put(machine_path(is.ns, slot.machine()), machine, kMachineController);
}

// A Machine whose Node stays down is deleted, unless it is to be left alone.
Task<void> MachineWorld::watch_health(Slot& slot) {
  Ear ear(loop_, slot);
  std::optional<io::Steady> since;
  for (;;) {
    const bool spared = machine(slot)["metadata"]["annotations"][kSkipRemediation].exists();
    const bool down = !leaves(slot) && ready_of(node(slot)) == false;
    if (!down) since.reset();
    if (down && !since) since = loop_.now();
    if (since && !spared && loop_.now() >= *since + *slot.is.remediated_after) {
      request("DELETE", machine_path(slot.is.ns, slot.machine()), Json::object(), kHealthCheck);
      since.reset();
    }
    co_await ear.wait(since && !spared ? *since + *slot.is.remediated_after : io::kNever);
  }
}

// ---- Nodes -------------------------------------------------------------------------------------------------------

void MachineWorld::make_node(const Slot& slot) {
  Json node = Json::object({{"apiVersion", "v1"}, {"kind", "Node"}});
  node.set({"metadata", "labels", "kubernetes.io/hostname"}, slot.node());
  if (slot.is.node_labels) {
    for (const auto& [label, value] : slot.is.node_labels()) node.set({"metadata", "labels", label}, value);
  }
  node.set({"metadata", "annotations", kMachineOfNode}, slot.machine());
  node.set({"metadata", "annotations", kNamespaceOfNode}, slot.is.ns);
  node.set({"status", "conditions"}, ready_condition(true));
  workload(slot).put(node_path(slot.node()), node, kOnNode);
}

Task<void> MachineWorld::run_node(Slot& slot) {
  Ear ear(loop_, slot);
  for (;;) {
    const bool wanted = may_be_ready(slot);
    if (ready_of(node(slot)).value_or(wanted) == wanted) {
      co_await ear.wait();
      continue;
    }
    co_await pause(wanted ? pace_.boots : pace_.notices);
    if (may_be_ready(slot) != wanted) continue;
    Json patch = Json::object();
    patch.set({"status", "conditions"}, ready_condition(wanted));
    workload(slot).merge(node_path(slot.node()), patch, kOnNode);
  }
}

Task<void> MachineWorld::register_again(Slot& slot, io::Duration after) {
  const std::string machine = slot.machine();
  co_await io::sleep_for(loop_, after);
  --slot.moving;
  if (slot.machine() == machine && !slot.emptied) make_node(slot);
}

// ---- Hosts -------------------------------------------------------------------------------------------------------

void MachineWorld::make_host(const MachineSlot& is) {
  Json host = Json::object({{"apiVersion", "metal3.io/v1alpha1"}, {"kind", "BareMetalHost"}});
  host.set({"spec", "online"}, true);
  if (is.keeps_power) host.set({"spec", "disablePowerOff"}, true);
  host.set({"status", "poweredOn"}, true).set({"status", "operationalStatus"}, "OK");
  host.set({"status", "provisioning", "state"}, "provisioned");
  management_.put(host_path(is.ns, is.host), host, kHostOperator);
}

void MachineWorld::set_power(const Slot& slot, bool on) {
  Json patch = Json::object();
  patch.set({"status", "poweredOn"}, on);
  management_.merge(host_path(slot.is.ns, slot.is.host), patch, kHostOperator);
}

Task<void> MachineWorld::run_host(Slot& slot) {
  Ear ear(loop_, slot);
  for (;;) {
    const Json now = host(slot);
    // One that keeps its power is rebooted for as long as the annotation is there.
    const bool reboots = is_rebooted(now) || (slot.is.keeps_power && is_held_off(now));
    const bool wanted = !is_held_off(now) && !slot.servicing;
    if (reboots) {
      co_await pause(pace_.powers);
      set_power(slot, false);
      co_await pause(pace_.powers);
      set_power(slot, true);
      Json done = Json::object();
      done.set({"metadata", "annotations", kReboot}, Json());
      management_.merge(host_path(slot.is.ns, slot.is.host), done, kHostOperator);
    } else if (is_on(now) != wanted) {
      co_await pause(pace_.powers);
      if (is_held_off(host(slot)) == wanted) continue;
      set_power(slot, wanted);
      if (!wanted && slot.is.services_firmware) scope_.spawn(service(slot));
    } else {
      co_await ear.wait();
    }
  }
}

// Before that has ended the host is not powered on.
Task<void> MachineWorld::service(Slot& slot) {
  if (std::exchange(slot.servicing, true)) co_return;
  const auto tell = [&](const char* status) {
    Json patch = Json::object();
    patch.set({"status", "operationalStatus"}, status);
    management_.merge(host_path(slot.is.ns, slot.is.host), patch, kHostOperator);
  };
  tell("servicing");
  co_await pause(pace_.boots);
  slot.servicing = false;
  tell("OK");
}

void MachineWorld::request(const char* method, std::string path, const Json& body, const char* by) {
  kube::Request request;
  request.method = method;
  request.path = std::move(path);
  request.body = body.dump();
  if (request.method == "PATCH") request.content_type = "application/merge-patch+json";
  management_.handle(request, {by});
}

}  // namespace careen::sim
