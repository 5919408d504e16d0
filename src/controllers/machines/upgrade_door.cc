#include "controllers/machines/upgrade_door.h"

#include <fmt/format.h>

#include "budget/pause.h"
#include "controllers/machines/names.h"
#include "io/ascii.h"
#include "kube/raw_object.h"

namespace careen::machines {

namespace {

namespace raws = kube::raw;

void read_annotation(std::string_view name, std::string_view text, ManagedCluster& cluster) {
  if (name == kUpgradeWindow) cluster.window = io::trimmed(text);
  if (name == kUpgradeHook) cluster.shut = true;
}

std::optional<DoorTrouble> trouble_of(const DoorWorld& world) {
  const ManagedCluster& cluster = *world.cluster;
  if (!*world.window) {
    return DoorTrouble{
        "UpgradeWindowInvalid",
        fmt::format(
            "annotation {} of Cluster {}: {}. Until it can be read Cluster API begins no upgrade of this cluster",
            kUpgradeWindow, cluster.key(), world.window->error().message)};
  }
  if (cluster.has_topology) return std::nullopt;
  return DoorTrouble{"UpgradeWindowUnused",
                     fmt::format("annotation {} of Cluster {}: it has no spec.topology, and Cluster API asks nobody "
                                 "before the control plane of such a cluster is upgraded",
                                 kUpgradeWindow, cluster.key())};
}

}  // namespace

bool ManagedCluster::same_facts(const ManagedCluster& other) const {
  return uid == other.uid && window == other.window && shut == other.shut && has_topology == other.has_topology &&
         deleting == other.deleting;
}

io::Result<ManagedCluster> read_cluster(kube::RawObject& raw, kube::AtomPool& atoms) {
  return raws::guarded("a Cluster", [&]() -> io::Result<ManagedCluster> {
    raws::Meta meta;
    ManagedCluster cluster;
    raws::each_field(raw.object, [&](raws::Key key, raws::value& field) {
      if (key == "metadata") {
        return raws::each_meta_field(field, meta, [&](raws::Key part, raws::value& value) {
          if (part != "annotations") return;
          raws::each_text(value,
                          [&](std::string_view name, std::string_view text) { read_annotation(name, text, cluster); });
        });
      }
      if (key != "spec") return;
      raws::each_field(field, [&](raws::Key part, raws::value& value) {
        if (part == "topology") raws::each_field(value, [&](raws::Key, raws::value&) { cluster.has_topology = true; });
      });
    });
    if (auto ok = raws::complete(meta); !ok) return tl::make_unexpected(ok.error());
    cluster.name = meta.name;
    cluster.ns = atoms.intern(meta.ns);
    cluster.uid = meta.uid;
    cluster.version = meta.version;
    cluster.deleting = !meta.deleted.empty();
    return cluster;
  });
}

io::Result<ManagedCluster> read_cluster(std::string_view json, kube::AtomPool& atoms) {
  return raws::on_text("a Cluster", json, [&](kube::RawObject& raw) { return read_cluster(raw, atoms); });
}

Door decide_door(const DoorWorld& world, io::Wall now) {
  const ManagedCluster& cluster = *world.cluster;
  Door door;
  if (cluster.deleting) return door;
  if (!world.window) {
    // A pause lets nothing begin, and nobody knows whether an upgrade waits.
    door.shut = cluster.shut && world.pause;
    if (door.shut) door.why = world.pause->text();
  } else {
    door.trouble = trouble_of(world);
    if (!*world.window) {
      door.shut = true;
      door.why = fmt::format("its window cannot be read: {}", world.window->error().message);
    } else {
      const windows::WindowAnswer answer = (*world.window)->evaluate(now);
      door.shut = !answer.open;
      door.changes_at = answer.changes_at;
      door.why = (*world.window)->explain(now).sentence;
    }
    if (world.pause) {
      door.shut = true;
      door.why = world.pause->text();
    }
  }
  if (door.shut != cluster.shut) door.hook = door.shut;
  return door;
}

}  // namespace careen::machines
