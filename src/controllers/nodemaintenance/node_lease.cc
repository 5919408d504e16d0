#include "controllers/nodemaintenance/node_lease.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/nodemaintenance/names.h"

namespace careen::nodemaintenance {

using kube::Json;

namespace {

constexpr int64_t kSeconds = std::chrono::duration_cast<io::seconds>(kLeaseDuration).count();

bool is_complete(const kube::Lease& lease) { return lease.renewed && lease.duration_seconds; }

Json owner_of(const kube::Node& node) {
  return Json::array({Json::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.name}, {"uid", node.uid}})});
}

Json created(const kube::Node& node, std::string_view ns, const std::string& now) {
  Json body = Json::object({{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}});
  body.set({"metadata", "name"}, lease_name(node.name)).set({"metadata", "namespace"}, ns);
  body.set({"metadata", "ownerReferences"}, owner_of(node));
  body.set({"spec"}, Json::object({{"holderIdentity", kLeaseHolder},
                                   {"leaseDurationSeconds", kSeconds},
                                   {"acquireTime", now},
                                   {"renewTime", now},
                                   {"leaseTransitions", 0}}));
  return body;
}

Json under_version(const kube::Lease& lease) {
  Json patch = Json::object();
  patch.set({"metadata", "uid"}, lease.uid).set({"metadata", "resourceVersion"}, std::to_string(lease.version));
  return patch;
}

}  // namespace

std::string lease_name(std::string_view node) {
  std::string name = "node-" + std::string(node);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

bool is_ours(const kube::Lease& lease) { return lease.holder == kLeaseHolder; }

io::Wall due(const kube::Lease& lease) {
  if (!is_complete(lease)) return io::Wall::min();
  return io::add(*lease.renewed, io::seconds{*lease.duration_seconds});
}

bool is_foreign(const kube::Lease& lease, io::Wall now) {
  if (is_ours(lease) || !is_complete(lease) || due(lease) < now) return false;
  // Its holder's clock may be ahead of ours, but no clock is wrong by more than the lease lasts.
  return *lease.renewed <= io::add(now, io::seconds{*lease.duration_seconds});
}

io::Wall renew_at(const kube::Lease& lease) {
  if (!is_complete(lease)) return io::Wall::min();
  return io::add(*lease.renewed, io::seconds{*lease.duration_seconds} / 2);
}

std::string held_by_other(const kube::Lease& lease) {
  return fmt::format("can't update or invalidate the lease because it is held by different owner: {}",
                     lease.holder.empty() ? "unknown" : lease.holder);
}

std::optional<Json> lease_request(const kube::Lease* lease, const kube::Node& node, std::string_view ns, io::Wall now) {
  const std::string text = io::format_micro_time(now);
  if (!lease) return created(node, ns, text);
  const bool is_kept = is_ours(*lease) && is_complete(*lease);
  if (is_kept && due(*lease) >= io::add(now, kLeaseDuration)) return std::nullopt;
  Json patch = under_version(*lease);
  patch.set({"metadata", "ownerReferences"}, owner_of(node));
  patch.set({"spec", "holderIdentity"}, kLeaseHolder).set({"spec", "renewTime"}, text);
  patch.set({"spec", "leaseDurationSeconds"}, kSeconds);
  if (is_kept && lease->acquired) return patch;
  patch.set({"spec", "acquireTime"}, text);
  return std::move(patch.set({"spec", "leaseTransitions"}, int64_t{lease->transitions.value_or(0)} + 1));
}

Json lease_surrender(const kube::Lease& lease) {
  Json patch = under_version(lease);
  for (const char* field : {"holderIdentity", "acquireTime", "renewTime"}) patch.set({"spec", field}, nullptr);
  return patch;
}

}  // namespace careen::nodemaintenance
