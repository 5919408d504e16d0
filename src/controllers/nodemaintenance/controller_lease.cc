// The lease of a node, taken and given back: what is written, and what becomes of it when that is refused.
#include <fmt/format.h>

#include "controllers/nodemaintenance/controller_core.h"
#include "controllers/nodemaintenance/node_lease.h"
#include "io/problems.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/json.h"
#include "kube/objects.h"
#include "kube/resource.h"

namespace careen::nodemaintenance {

using io::Task;
using kube::Json;

namespace {
constexpr const char* kLeasesProblem = "write leases of nodes";
constexpr const char* kDeleteLeasesProblem = "delete leases of nodes";
}  // namespace

Task<void> Controller::Core::request_lease(std::string name, RequestLease effect) {
  const Maintenance* maintenance = roster.find(name);
  if (!maintenance) co_return;
  const std::string ns = options.lease_namespace, lease = lease_name(maintenance->node);
  kube::Result<std::string> answer;
  if (effect.create) {
    answer = co_await p.client.create(kube::resources::leases, ns, effect.body);
    if (!answer && answer.error().not_found()) {
      const Json made =
          Json::object({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Json::object({{"name", ns}})}});
      const auto space = co_await p.client.create(kube::resources::namespaces, "", made.dump());
      if (!space && !space.error().already_exists()) {
        failed(name, fmt::format("creating namespace {} failed", ns), kLeasesProblem, space.error());
        co_return;
      }
      answer = co_await p.client.create(kube::resources::leases, ns, effect.body);
    }
  } else {
    answer = co_await p.client.patch(kube::resources::leases, ns, lease, kube::PatchType::merge, effect.body);
  }
  if (!answer) {
    co_await look_at_lease(ns, lease, answer.error());
    failed(name, fmt::format("requesting lease {} failed", kube::object_key(ns, lease)), kLeasesProblem,
           answer.error());
    co_return;
  }
  leases.enter(*answer);
  if (const auto memory = memories.find(name); memory != memories.end()) memory->second.leased_for = effect.node_uid;
  succeeded(name, kLeasesProblem);
  p.log.debug("lease obtained successfully", "name", name, "lease", lease);
}

// Without the right to delete leases it is freed instead; without that either, it runs out by itself.
Task<void> Controller::Core::give_lease_back(std::string name, GiveLeaseBack effect) {
  const Maintenance* maintenance = roster.find(name);
  if (!maintenance) co_return;
  const std::string ns = options.lease_namespace, lease = lease_name(maintenance->node);
  const std::string key = kube::object_key(ns, lease);
  kube::DeleteOptions what;
  what.preconditions = {effect.uid, std::to_string(effect.version)};
  const auto answer = co_await p.client.remove(kube::resources::leases, ns, lease, what);
  if (answer) {
    lease_refusals.granted();
    p.leases.remove(key, effect.version);
    p.problems.clear(kDeleteLeasesProblem);
    succeeded(name, kLeasesProblem);
    co_return;
  }
  if (answer.error().code != 403) {
    co_await look_at_lease(ns, lease, answer.error());
    failed(name, fmt::format("deleting lease {} failed", key), kLeasesProblem, answer.error());
    co_return;
  }
  const auto freed =
      co_await p.client.patch(kube::resources::leases, ns, lease, kube::PatchType::merge, effect.surrender);
  p.problems.raise(kDeleteLeasesProblem,
                   fmt::format("leases in namespace {} cannot be deleted when a maintenance ends: {}; they are {}", ns,
                               answer.error().message, freed ? "freed instead" : "left to run out"));
  if (freed) {
    leases.enter(*freed);
  } else {
    co_await look_at_lease(ns, lease, freed.error());
  }
  const bool stays = freed || lease_refusals.missing(freed.error(), p.loop.now());
  const auto memory = memories.find(name);
  if (memory != memories.end() && stays) memory->second.lease_stays = true;
  if (!stays) {
    failed(name, fmt::format("freeing lease {} failed", key), kLeasesProblem, freed.error());
  }
}

// The lease that is there may not be the one that was looked at.
Task<void> Controller::Core::look_at_lease(std::string ns, std::string lease, kube::ApiError error) {
  if (kube::is_worth_a_look(error)) co_await leases.look(std::move(ns), std::move(lease));
}

}  // namespace careen::nodemaintenance
