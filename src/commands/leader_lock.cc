#include "commands/leader_lock.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "commands/home_objects.h"
#include "kube/error.h"
#include "kube/lock_object.h"
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

void add_held(JsonView list, const replica::HomeObject& named, std::vector<Held>& out) {
  const kube::LockObject& place = kube::lock_object(named.kind);
  list["items"].for_each_element([&](JsonView item) {
    const Json object(item);
    const auto record = place.read(object);
    if (!record || record->holder.empty()) return;
    if (named.kind == kube::LockKind::config_map && !kube::is_lock_of_careen(object, *record)) return;
    const io::Wall renewed = io::parse_rfc3339(record->renew_time).value_or(io::Wall::min());
    constexpr io::Duration kLongest = io::hours{1};
    out.push_back({.lock = {.ns = std::string(object["metadata"]["namespace"].text().value_or("")),
                            .name = named.name,
                            .kind = place.resource().kind,
                            .holder = record->holder},
                   .renewed = renewed,
                   .until = io::add(renewed, std::min(record->duration, kLongest))});
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

Task<ViewResult<std::vector<Held>>> held_locks(const LockSearch* search) {
  std::vector<Held> held;
  std::vector<std::string> tried;
  for (const replica::HomeObject& named : leases_first(replica::leader_locks())) {
    if (named.kind == kube::LockKind::config_map && !held.empty()) break;
    const kube::Resource& resource = kube::lock_object(named.kind).resource();
    std::string path = fmt::format("{}?fieldSelector=metadata.name%3D{}", resource.path(search->ns), named.name);
    const auto list = co_await read_document(search->api, std::move(path));
    if (!list) {
      co_return tl::make_unexpected(ViewError{list.error().status, "the leader's lock: " + list.error().message});
    }
    add_held(list->view(), named, held);
    tried.push_back(fmt::format("{} {}", resource.kind, named.name));
  }
  if (!held.empty()) co_return held;
  const std::string where = search->ns.empty() ? "any namespace" : "namespace " + search->ns;
  co_return tl::make_unexpected(ViewError{
      404, fmt::format("nobody holds the {} in {}: careen does not lead here", fmt::join(tried, " or the "), where)});
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
  auto found = co_await held_locks(&search);
  if (!found) co_return tl::make_unexpected(found.error());
  std::vector<Held> held = std::move(*found);
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
