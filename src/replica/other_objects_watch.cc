#include "replica/other_objects_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kube/decode.h"
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
constexpr io::Duration kPatience = io::seconds{5};
constexpr io::Duration kListedYet = io::milliseconds{50};

}  // namespace

OtherObjectsWatch::OtherObjectsWatch(OtherObjectsParts parts)
    : p_(std::move(parts)),
      loop_(p_.cluster.loop()),
      here_(FollowedPlace::all_of(p_.cluster)),
      kinds_(loop_, ""),
      changed_(loop_),
      looked_(loop_) {
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
  const auto follow = [this](kube::Resource resource, auto sink) -> FollowedKinds::Kind& {
    return kinds_.add(here_, std::move(resource), std::move(sink));
  };
  const auto follow_machines = [&](kube::Resource resource, auto sink) {
    machines_.push_back(&follow(std::move(resource), std::move(sink)));
  };
  const auto of_cluster_api = [this](kube::Resource resource, auto sink) -> FollowedKinds::Kind& {
    FollowedKinds::Kind& kind = kinds_.add(p_.cluster_api, std::move(resource), std::move(sink));
    kind.label_selector = p_.cluster_api.of_the_cluster();
    return kind;
  };
  machines_.push_back(
      &of_cluster_api({"cluster.x-k8s.io", "", "machines", "Machine", true}, machines(MachineKind::cluster_api)));
  of_cluster_api({"cluster.x-k8s.io", "", "machinesets", "MachineSet", true}, sets(MachineSetKind::cluster_api));
  follow_machines({"machine.openshift.io", "", "machines", "Machine", true}, machines(MachineKind::machine_api));
  follow({"machine.openshift.io", "", "machinesets", "MachineSet", true}, sets(MachineSetKind::machine_api));
  follow_machines({"karpenter.sh", "", "nodeclaims", "NodeClaim", false}, machines(MachineKind::node_claim));
  follow({"karpenter.sh", "", "nodepools", "NodePool", false}, sets(MachineSetKind::node_pool));
  follow({"maintenance.nvidia.com", "", "nodemaintenances", "NodeMaintenance", true},
         machines(MachineKind::nvidia_maintenance));
  follow({"kubevirt.io", "", "virtualmachineinstances", "VirtualMachineInstance", true},
         machines(MachineKind::virtual_machine));
  follow({"apps", "v1", "daemonsets", "DaemonSet", true}, [this] {
    return kube::make_sink(p_.objects.kured(), [](kube::RawObject& raw) { return kube::decode_object(raw); });
  }).name = limits::kKuredActor;
  changes_ = p_.desk.on_change([this] { changed_.notify(); });
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
    const bool all = co_await kinds_.look();
    p_.know_machines(std::ranges::any_of(machines_, [](const auto* kind) { return kind->watch != nullptr; }));
    looked_.open();
    tell();
    const io::Steady again = loop_.now() + (all ? kLookEvery : kLookAgain);
    while (wanted() && loop_.now() < again) {
      co_await io::race(loop_, io::wait_until(loop_, again), io::wait_for(changed_));
    }
  }
}

void OtherObjectsWatch::stop_all() {
  kinds_.stop_all();
  p_.know_machines(false);
  looked_.close();
  tell();
}

void OtherObjectsWatch::tell() {
  const std::string refused = kinds_.refused();
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
  const auto waits = [](const FollowedKinds::Kind& one) { return one.watch && !one.watch->synced(); };
  while (std::ranges::any_of(kinds_.all(), waits)) co_await io::sleep_for(loop_, kListedYet);
  co_return true;
}

}  // namespace careen::replica
