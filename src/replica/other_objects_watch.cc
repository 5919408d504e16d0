#include "replica/other_objects_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kube/decode.h"
#include "kube/json.h"
#include "kube/machine.h"
#include "kube/sink.h"
#include "limits/desk.h"
#include "limits/limit.h"
#include "limits/other_objects.h"

namespace careen::replica {

using io::Task;
using kube::MachineKind;
using kube::MachineSetKind;

namespace {

constexpr const char* kProblem = "limits other objects";
constexpr io::Duration kLookEvery = io::minutes{1};
constexpr io::Duration kLookAgain = io::seconds{10};
// How long a watch may be without news before it is looked at whether its kind is still there.
constexpr io::Duration kBlind = io::seconds{30};
constexpr io::Duration kPatience = io::seconds{5};
constexpr io::Duration kListedYet = io::milliseconds{50};

std::string name_of(const kube::Resource& resource) { return fmt::format("{}.{}", resource.plural, resource.group); }

}  // namespace

OtherObjectsWatch::OtherObjectsWatch(OtherObjectsParts parts)
    : p_(std::move(parts)), loop_(p_.cluster.loop()), changed_(loop_), looked_(loop_) {
  const auto machines = [this](MachineKind kind) {
    return [this, kind] {
      return kube::make_sink(p_.objects.of(kind), [this, kind](kube::RawObject& raw) {
        return kube::decode_machine(raw, kind, p_.cluster.atoms());
      });
    };
  };
  const auto sets = [this](MachineSetKind kind) {
    return [this, kind] {
      return kube::make_sink(p_.objects.of(kind), [](kube::RawObject& raw) { return kube::decode_machine_set(raw); });
    };
  };
  follow({"cluster.x-k8s.io", "", "machines", "Machine", true}, machines(MachineKind::cluster_api), true);
  follow({"cluster.x-k8s.io", "", "machinesets", "MachineSet", true}, sets(MachineSetKind::cluster_api));
  follow({"machine.openshift.io", "", "machines", "Machine", true}, machines(MachineKind::machine_api), true);
  follow({"machine.openshift.io", "", "machinesets", "MachineSet", true}, sets(MachineSetKind::machine_api));
  follow({"karpenter.sh", "", "nodeclaims", "NodeClaim", false}, machines(MachineKind::node_claim), true);
  follow({"karpenter.sh", "", "nodepools", "NodePool", false}, sets(MachineSetKind::node_pool));
  follow({"maintenance.nvidia.com", "", "nodemaintenances", "NodeMaintenance", true},
         machines(MachineKind::nvidia_maintenance));
  follow({"kubevirt.io", "", "virtualmachineinstances", "VirtualMachineInstance", true},
         machines(MachineKind::virtual_machine));
  follow({"apps", "v1", "daemonsets", "DaemonSet", true}, [this] {
    return kube::make_sink(p_.objects.kured(), [](kube::RawObject& raw) { return kube::decode_object(raw); });
  });
  followed_.back().name = limits::kKuredActor;
  changes_ = p_.desk.on_change([this] { changed_.notify(); });
}

void OtherObjectsWatch::follow(kube::Resource resource, std::function<std::unique_ptr<kube::Sink>()> sink,
                               bool machines) {
  followed_.push_back({.resource = std::move(resource), .name = "", .sink = std::move(sink), .machines = machines});
}

bool OtherObjectsWatch::wanted() const {
  bool counts_all = false;
  p_.desk.for_each_limit([&](const limits::Limit& limit) {
    counts_all |= limit.subject == limits::Subject::node && limit.count == limits::Count::all;
  });
  return counts_all;
}

Task<void> OtherObjectsWatch::run() {
  for (;; co_await changed_.wait()) {
    if (!wanted()) continue;
    co_await run_while_wanted();
    stop_all();
  }
}

Task<void> OtherObjectsWatch::run_while_wanted() {
  while (wanted()) {
    const bool all = co_await look();
    looked_.open();
    tell();
    const io::Steady again = loop_.now() + (all ? kLookEvery : kLookAgain);
    while (wanted() && loop_.now() < again) {
      co_await io::race(loop_, io::wait_until(loop_, again), io::wait_for(changed_));
    }
  }
}

Task<bool> OtherObjectsWatch::look() {
  const auto versions = co_await preferred();
  if (!versions) co_return false;
  bool all = true;
  std::string group;
  std::optional<std::set<std::string>> plurals;
  for (Followed& one : followed_) {
    if (one.name.empty()) {
      const auto version = versions->find(one.resource.group);
      if (version == versions->end()) {
        stop(one);
        continue;
      }
      if (std::exchange(group, one.resource.group) != one.resource.group)
        plurals = co_await served(group, version->second);
      all &= plurals.has_value();
      if (!plurals) continue;
      if (!plurals->contains(one.resource.plural) || one.resource.version != version->second) stop(one);
      if (!plurals->contains(one.resource.plural)) continue;
      one.resource.version = version->second;
    }
    all &= co_await look_at(one);
  }
  const bool machines = std::ranges::any_of(followed_, [](const Followed& one) { return one.machines && one.watch; });
  p_.know_machines(machines);
  co_return all;
}

// Whether it may be read is asked before it is watched: a watch that is refused makes a noise of its own.
Task<bool> OtherObjectsWatch::look_at(Followed& followed) {
  if (followed.watch && followed.watch->blind_for() < kBlind) co_return true;
  kube::CallOptions call;
  call.query = "limit=1" + (followed.name.empty() ? "" : "&fieldSelector=metadata.name%3D" + followed.name);
  const auto answer = co_await p_.cluster.client().list(followed.resource, "", std::move(call));
  if (answer) {
    followed.refusals.granted();
    followed.refused = false;
    start(followed);
    co_return true;
  }
  if (answer.error().not_found()) stop(followed);
  if (!followed.refusals.missing(answer.error(), loop_.now())) co_return false;
  stop(followed);
  followed.refused = true;
  co_return true;
}

Task<std::optional<OtherObjectsWatch::Versions>> OtherObjectsWatch::preferred() {
  kube::Request request;
  request.path = "/apis";
  const auto answer =
      co_await p_.cluster.client().call(std::move(request), {"", "", "apis", "APIGroupList"}, "discover");
  const auto document = answer ? kube::Json::parse(*answer) : io::fail(io::ErrorKind::protocol, "");
  if (!document) co_return std::nullopt;
  Versions versions;
  (*document)["groups"].for_each_element([&](kube::JsonView group) {
    const auto name = group["name"].text();
    const auto version = group["preferredVersion"]["version"].text();
    if (name && version) versions.emplace(*name, *version);
  });
  co_return versions;
}

Task<std::optional<std::set<std::string>>> OtherObjectsWatch::served(std::string group, std::string version) {
  kube::Request request;
  request.path = fmt::format("/apis/{}/{}", group, version);
  const auto answer =
      co_await p_.cluster.client().call(std::move(request), {"", "", "apis", "APIResourceList"}, "discover");
  std::set<std::string> plurals;
  if (!answer && answer.error().not_found()) co_return plurals;
  const auto document = answer ? kube::Json::parse(*answer) : io::fail(io::ErrorKind::protocol, "");
  if (!document) co_return std::nullopt;
  (*document)["resources"].for_each_element(
      [&](kube::JsonView one) { plurals.emplace(one["name"].text().value_or("")); });
  co_return plurals;
}

void OtherObjectsWatch::start(Followed& followed) {
  if (followed.watch) return;
  const std::string name = name_of(followed.resource);
  kube::ReflectorOptions options{.resource = followed.resource, .name = name};
  if (!followed.name.empty()) {
    options = kube::ReflectorOptions::of_one(followed.resource, "", followed.name, name);
  }
  followed.watch = std::make_unique<kube::Watch>(p_.cluster.watch_parts(name), std::move(options), followed.sink());
  followed.watch->start();
}

void OtherObjectsWatch::stop(Followed& followed) {
  followed.refused = false;
  if (!followed.watch) return;
  followed.watch->stop();
  followed.watch.reset();
}

void OtherObjectsWatch::stop_all() {
  for (Followed& one : followed_) {
    stop(one);
    one.refusals.granted();
  }
  p_.know_machines(false);
  looked_.close();
  tell();
}

void OtherObjectsWatch::tell() {
  std::string refused;
  for (const Followed& one : followed_) {
    if (!one.refused) continue;
    refused += refused.empty() ? "" : ", ";
    refused += name_of(one.resource);
  }
  if (refused.empty()) return p_.cluster.problems().clear(kProblem);
  p_.cluster.problems().raise(
      kProblem,
      fmt::format("limits do not count what these say of nodes, until careen may list and watch them: {}", refused));
}

Task<void> OtherObjectsWatch::listed() {
  if (!wanted()) co_return;
  co_await io::with_timeout(loop_, kPatience, all_listed());
}

Task<bool> OtherObjectsWatch::all_listed() {
  co_await looked_.wait();
  const auto waits = [](const Followed& one) { return one.watch && !one.watch->synced(); };
  while (std::ranges::any_of(followed_, waits)) co_await io::sleep_for(loop_, kListedYet);
  co_return true;
}

}  // namespace careen::replica
