#include "commands/home_objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "budget/ledger.h"
#include "budget/ledger_record.h"
#include "budget/pause.h"
#include "kube/client.h"
#include "kube/lock_object.h"

namespace careen::app {

using io::Task;
using kube::Json;
using kube::JsonView;
using replica::HomeObject;

namespace {

// With the lock's record, or that of a ledger.
bool is_of_careen(const Json& config_map) {
  if (config_map["metadata"]["annotations"][budget::Ledger::kAnnotation].exists()) return true;
  const auto record = kube::lock_object(kube::LockKind::config_map).read(config_map);
  return record && kube::is_lock_of_careen(config_map, *record);
}

}  // namespace

const std::vector<HomeObject>& home_objects() {
  static const std::vector<HomeObject> all = [] {
    std::vector<HomeObject> found = replica::leader_locks();
    for (HomeObject& ledger : replica::ledgers()) found.push_back(std::move(ledger));
    found.push_back({.name = std::string(budget::PauseRecord::kLease)});
    return leases_first(found);
  }();
  return all;
}

std::vector<HomeObject> leases_first(const std::vector<HomeObject>& objects) {
  std::vector<HomeObject> out;
  for (const kube::LockKind kind : {kube::LockKind::lease, kube::LockKind::config_map}) {
    std::ranges::copy_if(objects, std::back_inserter(out), [&](const HomeObject& one) { return one.kind == kind; });
  }
  return out;
}

Task<kube::Result<std::vector<Json>>> find_home_objects(kube::Client& client, HomeObject named) {
  kube::CallOptions call;
  call.query = "fieldSelector=metadata.name%3D" + named.name;
  const auto body = co_await client.list(kube::lock_object(named.kind).resource(), "", std::move(call));
  if (!body) co_return tl::make_unexpected(body.error());
  const auto list = Json::parse(*body);
  if (!list) co_return tl::make_unexpected(kube::to_api_error(list.error()));
  std::vector<Json> found;
  (*list)["items"].for_each_element([&](JsonView item) {
    Json object(item);
    if (named.kind == kube::LockKind::lease || is_of_careen(object)) found.push_back(std::move(object));
  });
  co_return found;
}

std::string holder_of(const HomeObject& named, const Json& object) {
  const auto record = kube::lock_object(named.kind).read(object);
  if (record && !record->holder.empty()) return record->holder;
  const auto ledger = object["metadata"]["annotations"][budget::Ledger::kAnnotation].text();
  if (!ledger) return {};
  const auto written = budget::LedgerRecord::parse(*ledger);
  return written ? written->writer : std::string();
}

std::string several_homes(const std::set<std::string>& namespaces) {
  return fmt::format(
      "careen, or what it replaces, has leases in several namespaces: {}; name the one that is meant with --namespace",
      fmt::join(namespaces, ", "));
}

}  // namespace careen::app
