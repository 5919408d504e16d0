#include "commands/leader_lock.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "commands/home_leases.h"
#include "kube/error.h"
#include "kube/resource.h"
#include "kube/transport.h"
#include "replica/controllers.h"
#include "web/holder.h"

namespace careen::app {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

constexpr io::Duration kTimeout = io::seconds{10};
// By how much clocks may differ.
constexpr io::Duration kClocksDiffer = io::hours{1};

struct Held {
  LeaderLock lock;
  io::Wall renewed{};
  io::Wall until{};
};

void add_held(JsonView leases, std::string_view name, std::vector<Held>& out) {
  leases["items"].for_each_element([&](JsonView lease) {
    const auto holder = lease.at("/spec/holderIdentity").text().value_or("");
    if (holder.empty()) return;
    const io::Wall renewed =
        io::parse_rfc3339(lease.at("/spec/renewTime").text().value_or("")).value_or(io::Wall::min());
    constexpr int64_t kLongest = 3600;
    const int64_t seconds = lease.at("/spec/leaseDurationSeconds").integer().value_or(0);
    const std::string ns(lease.at("/metadata/namespace").text().value_or(""));
    out.push_back({.lock = {ns, std::string(name), std::string(holder)},
                   .renewed = renewed,
                   .until = io::add(renewed, io::seconds{std::clamp<int64_t>(seconds, 0, kLongest)})});
  });
}

std::set<std::string> namespaces_of(const std::vector<Held>& held) {
  std::set<std::string> out;
  for (const Held& one : held) out.insert(one.lock.ns);
  return out;
}

// Keeps only those that `keep` says, unless that leaves none.
template <class Keep>
void prefer(std::vector<Held>& held, const Keep& keep) {
  std::vector<Held> kept;
  std::copy_if(held.begin(), held.end(), std::back_inserter(kept), keep);
  if (!kept.empty()) held = std::move(kept);
}

// Left over by one that is gone: it has run out, and there is no such pod any more. Running out alone does not count,
// or a stranger's lock would win whenever careen is down.
Task<bool> is_left_over(const LockSearch* search, const Held* held) {
  if (held->until > search->now) co_return false;
  const auto pod = web::pod_of_holder(held->lock.holder);
  if (!pod) co_return true;
  const auto found = co_await read_document(search->api, kube::resources::pods.path(held->lock.ns, *pod));
  co_return !found && found.error().status == 404;
}

}  // namespace

Task<ViewResult<Json>> read_document(kube::Transport& api, std::string path) {
  kube::Request request;
  request.path = std::move(path);
  request.timeout = kTimeout;
  const auto answer = co_await api.send(std::move(request));
  if (!answer) co_return tl::make_unexpected(ViewError{0, answer.error().message});
  if (answer->status != 200) {
    co_return tl::make_unexpected(ViewError{answer->status, kube::to_api_error(answer->status, answer->body).message});
  }
  auto document = Json::parse(answer->body);
  if (!document) co_return tl::make_unexpected(ViewError{answer->status, document.error().message});
  co_return std::move(*document);
}

Task<ViewResult<LeaderLock>> find_leader_lock(LockSearch search) {
  std::vector<Held> held;
  const std::vector<std::string_view> locks = replica::leader_locks();
  for (const std::string_view name : locks) {
    std::string path =
        fmt::format("{}?fieldSelector=metadata.name%3D{}", kube::resources::leases.path(search.ns), name);
    const auto leases = co_await read_document(search.api, std::move(path));
    if (!leases) {
      co_return tl::make_unexpected(ViewError{leases.error().status, "the leader's lock: " + leases.error().message});
    }
    add_held(leases->view(), name, held);
  }
  if (held.empty()) {
    const std::string where = search.ns.empty() ? "any namespace" : "namespace " + search.ns;
    co_return tl::make_unexpected(ViewError{
        404,
        fmt::format("nobody holds the Lease {} in {}: careen does not lead here", fmt::join(locks, " or "), where)});
  }
  // No careen writes a time to come.
  prefer(held, [&](const Held& one) { return one.renewed <= search.now + kClocksDiffer; });
  if (held.size() > 1) {
    std::set<const Held*> left_over;
    for (const Held& one : held) {
      if (co_await is_left_over(&search, &one)) left_over.insert(&one);
    }
    prefer(held, [&](const Held& one) { return !left_over.contains(&one); });
  }
  const std::set<std::string> namespaces = namespaces_of(held);
  if (namespaces.size() > 1) co_return tl::make_unexpected(ViewError{kSeveralLocks, several_homes(namespaces)});
  co_return std::move(held.front().lock);
}

}  // namespace careen::app
