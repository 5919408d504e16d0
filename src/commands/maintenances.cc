#include "commands/maintenances.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/nodemaintenance/names.h"
#include "kube/decode.h"

namespace careen::app {

using io::Task;
using nodemaintenance::kResource;

Task<kube::Result<std::vector<Maintenance>>> list_maintenances(KubeSession& session) {
  std::vector<Maintenance> all;
  const auto read = co_await read_list(session, kResource, "", [&](kube::RawObject& raw) {
    auto object = kube::decode_object(raw);
    if (object) all.push_back(nodemaintenance::parse_maintenance(*object));
    return object.map([](const kube::Object&) { return true; });
  });
  if (!read) co_return tl::make_unexpected(read.error());
  co_return all;
}

std::string missing_kind() {
  return fmt::format(
      "the cluster does not know {}.{}: its CustomResourceDefinition is not installed; \"careen drain\" works without "
      "it",
      kResource.plural, kResource.group);
}

std::string full_name(const std::string& name) { return fmt::format("nodemaintenance.{}/{}", kResource.group, name); }

std::string blocked_by(const Maintenance& maintenance) {
  const auto* blocked = maintenance.status.condition("Blocked");
  if (blocked && blocked->holds) return blocked->message;
  return maintenance.status.last_error;
}

NodeView view_of(const Maintenance& maintenance, io::Wall now) {
  const auto& status = maintenance.status;
  const auto pending = static_cast<int>(status.pending.size());
  NodeView view;
  view.node = maintenance.node;
  view.total = static_cast<int>(status.eviction_pods);
  view.gone = std::max(0, view.total - pending);
  view.state = status.phase == nodemaintenance::Phase::none ? "not taken up yet" : "";
  view.elapsed = now - io::parse_rfc3339(maintenance.created).value_or(now);
  if (const std::string why = blocked_by(maintenance); !why.empty()) view.held.push_back({"blocked:", why, true});
  return view;
}

MaintenanceWatch::MaintenanceWatch(KubeSession& session)
    : changed_(session.loop), objects_(session.watch_parts(), {.resource = kResource}, [](kube::RawObject& raw) {
        return kube::decode_object(raw);
      }) {
  changes_ = objects_.store().subscribe([this](const kube::Object*, const kube::Object*) { changed_.notify(); });
  objects_.on_synced([this] { changed_.notify(); });
  objects_.start();
}

Task<void> MaintenanceWatch::changed() { co_await changed_.wait(); }

std::vector<Maintenance> MaintenanceWatch::all() const {
  std::vector<Maintenance> out;
  store().for_each([&](const kube::Object& object) { out.push_back(nodemaintenance::parse_maintenance(object)); });
  return out;
}

}  // namespace careen::app
