#include "controllers/profiles/lease_taker.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/loop.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "kube/objects.h"
#include "kube/resource.h"

namespace careen::profiles {

using io::Task;
using kube::Json;

namespace {

int64_t whole_seconds(io::Duration d) { return std::chrono::duration_cast<io::seconds>(d).count(); }

bool is_taken_by(const kube::Lease& lease, const std::string& node, io::Wall acquired) {
  return lease.holder == node && lease.acquired == acquired;
}

Json spec_of(const LeaseGrab& grab, const std::string& node, io::Wall acquired, io::Wall renewed) {
  return Json::object({{"holderIdentity", node},
                       {"acquireTime", io::format_micro_time(acquired)},
                       {"renewTime", io::format_micro_time(renewed)},
                       {"leaseDurationSeconds", whole_seconds(grab.duration)},
                       {"leaseTransitions", int64_t{grab.transitions} + 1}});
}

// The lease may be another than the one that was looked at. Where no lease can be made because there is no such
// namespace, there is nothing to look at.
bool may_have_changed(const kube::ApiError& error, const LeaseGrab& grab) {
  if (error.not_found()) return grab.version != 0;
  return error.conflict() || error.already_exists() || error.ambiguous();
}

// When a node takes its own lease again, for a transition that a predecessor with a faster clock has begun, the lease
// keeps its later time: others who have seen that time must not find the lease free any earlier. Nor is a lease held
// from a time before it was decided on: our clock may have been set back since.
io::Wall renewal(const kube::Lease* known, const LeaseGrab& grab, const std::string& node, io::Wall acquired,
                 io::Wall now) {
  now = std::max(now, acquired);
  const bool again = known && known->version == grab.version && known->holder == node && known->renewed;
  return again ? std::max(now, *known->renewed) : now;
}

kube::ApiError without_lease(kube::ApiError error, const LeaseGrab& grab) {
  if (!error.not_leader()) error.message = fmt::format("lease {} cannot be taken: {}", grab.key(), error.message);
  return error;
}

}  // namespace

bool LeaseTaker::enter_world(const std::string& body) {
  auto lease = kube::decode_lease(body, atoms_);
  if (!lease) {
    log_.error("the server's answer cannot be read", "cause", lease.error().message);
    return false;
  }
  leases_.put(std::move(*lease));
  return true;
}

Task<kube::Result<LeaseTaker::Outcome>> LeaseTaker::take(LeaseGrab grab, std::string node, io::Wall acquired) {
  const io::Wall renewed = renewal(leases_.find(grab.key()), grab, node, acquired, client_.loop().wall_now());
  Json body = Json::object({{"spec", spec_of(grab, node, acquired, renewed)}});
  kube::Result<std::string> answer;
  if (grab.version == 0) {
    body.set({"apiVersion"}, "coordination.k8s.io/v1").set({"kind"}, "Lease");
    body.set({"metadata", "name"}, grab.name).set({"metadata", "namespace"}, grab.ns);
    answer = co_await client_.create(kube::resources::leases, grab.ns, body.dump());
  } else {
    body.set({"metadata", "uid"}, grab.uid).set({"metadata", "resourceVersion"}, std::to_string(grab.version));
    answer = co_await client_.patch(kube::resources::leases, grab.ns, grab.name, kube::PatchType::merge, body.dump());
  }
  if (answer && enter_world(*answer)) co_return Outcome::taken;
  if (answer || may_have_changed(answer.error(), grab)) {
    co_return co_await read_back(std::move(grab), std::move(node), acquired);
  }
  co_return tl::make_unexpected(without_lease(answer.error(), grab));
}

// After an answer that does not say what the lease is now.
Task<kube::Result<LeaseTaker::Outcome>> LeaseTaker::read_back(LeaseGrab grab, std::string node, io::Wall acquired) {
  const uint64_t asked_at = leases_.newest_version();
  const auto answer = co_await client_.get(kube::resources::leases, grab.ns, grab.name);
  if (!answer && answer.error().not_found()) {
    leases_.remove(grab.key(), asked_at);
    co_return Outcome::lost;
  }
  if (!answer) co_return tl::make_unexpected(without_lease(answer.error(), grab));
  enter_world(*answer);
  const kube::Lease* lease = leases_.find(grab.key());
  co_return lease&& is_taken_by(*lease, node, acquired) ? Outcome::taken : Outcome::lost;
}

Task<void> LeaseTaker::read(std::string key) {
  const size_t slash = key.find('/');
  if (slash == std::string::npos) co_return;
  const uint64_t asked_at = leases_.newest_version();
  const auto answer = co_await client_.get(kube::resources::leases, key.substr(0, slash), key.substr(slash + 1));
  if (answer) {
    enter_world(*answer);
  } else if (answer.error().not_found()) {
    leases_.remove(key, asked_at);
  }
}

Task<void> LeaseTaker::give_back(std::string key, std::string node, std::vector<io::Wall> acquired) {
  const kube::Lease* lease = leases_.find(key);
  const bool is_taken = lease && std::any_of(acquired.begin(), acquired.end(),
                                             [&](io::Wall time) { return is_taken_by(*lease, node, time); });
  if (!is_taken) co_return;
  const std::string ns = lease->ns, name = lease->name;
  // As if it had run out when it was taken, by the clock that it was taken by. That clock may be ahead of ours: the
  // time of whoever passed before was over by it, and may not be by ours.
  const io::Wall taken = lease->renewed.value_or(*lease->acquired);
  const io::Wall over = io::add(taken, -io::seconds{lease->duration_seconds.value_or(1)});
  Json body = Json::object();
  body.set({"metadata", "uid"}, lease->uid).set({"metadata", "resourceVersion"}, std::to_string(lease->version));
  body.set({"spec", "acquireTime"}, io::format_micro_time(over))
      .set({"spec", "renewTime"}, io::format_micro_time(over));
  const auto answer = co_await client_.patch(kube::resources::leases, ns, name, kube::PatchType::merge, body.dump());
  if (answer) {
    enter_world(*answer);
    log_.info("a transition that had begun is withdrawn; its lease is free again", "lease", key, "node", node);
  } else if (!answer.error().conflict() && !answer.error().not_found()) {
    log_.warn("the lease of a withdrawn transition stays taken until it runs out", "lease", key, "node", node, "cause",
              answer.error().message);
  }
}

}  // namespace careen::profiles
