#include "commands/maintenances.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/nodemaintenance/names.h"
#include "kube/decode.h"
#include "kube/sink.h"

namespace careen::app {

using io::Task;
using nodemaintenance::kResource;

namespace {

Task<void> tell(kube::Reflector* reflector, io::Signal* changed) {
  co_await reflector->synced_gate().wait();
  changed->notify();
}

}  // namespace

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

MaintenanceWatch::MaintenanceWatch(KubeSession& session) : changed_(session.loop), scope_(session.loop) {
  sink_ = kube::make_sink(store_, [](kube::RawObject& raw) { return kube::decode_object(raw); });
  kube::ReflectorOptions options;
  options.resource = kResource;
  reflector_ = session.reflector(*sink_, std::move(options));
  store_.subscribe([this](const kube::Object*, const kube::Object*) { changed_.notify(); });
  scope_.spawn(reflector_->run());
  scope_.spawn(tell(reflector_.get(), &changed_));
}

Task<void> MaintenanceWatch::changed() { co_await changed_.wait(); }

std::vector<Maintenance> MaintenanceWatch::all() const {
  std::vector<Maintenance> out;
  store_.for_each([&](const kube::Object& object) { out.push_back(nodemaintenance::parse_maintenance(object)); });
  return out;
}

}  // namespace careen::app
