#include "kube/workload.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "kube/raw_object.h"
#include "kube/resource.h"
#include "kube/sink.h"

namespace careen::kube {

namespace {

using raw::Key;
using raw::value;

std::optional<int64_t> integer_in(value& object, std::string_view name) {
  std::optional<int64_t> out;
  raw::each_field(object, [&](Key key, value& field) {
    if (key == name) out = raw::integer(field);
  });
  return out;
}

}  // namespace

io::Result<Workload> decode_workload(RawObject& raw, WorkloadKind kind, AtomPool& atoms) {
  return raw::guarded("a workload", [&]() -> io::Result<Workload> {
    raw::Meta meta;
    std::optional<int64_t> wanted, ready;
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") return raw::each_meta_field(field, meta, [](Key, value&) {});
      if (kind == WorkloadKind::daemon_set) {
        if (key == "status") ready = integer_in(field, "numberReady");
      } else if (key == "spec") {
        wanted = integer_in(field, "replicas");
      }
    });
    if (auto ok = raw::complete(meta); !ok) return tl::make_unexpected(ok.error());
    Workload workload;
    workload.kind = kind;
    workload.ns = atoms.intern(meta.ns);
    workload.name = meta.name;
    workload.uid = meta.uid;
    workload.version = meta.version;
    const int64_t replicas = kind == WorkloadKind::daemon_set ? ready.value_or(0) : wanted.value_or(1);
    workload.replicas = std::max<int64_t>(replicas, 0);
    return workload;
  });
}

io::Result<Workload> decode_workload(std::string_view json, WorkloadKind kind, AtomPool& atoms) {
  return raw::on_text("a workload", json, [&](RawObject& raw) { return decode_workload(raw, kind, atoms); });
}

const Resource& resource_of(WorkloadKind kind) {
  static const Resource deployments{"apps", "v1", "deployments", "Deployment", true};
  static const Resource stateful_sets{"apps", "v1", "statefulsets", "StatefulSet", true};
  static const Resource daemon_sets{"apps", "v1", "daemonsets", "DaemonSet", true};
  switch (kind) {
    case WorkloadKind::deployment:
      return deployments;
    case WorkloadKind::stateful_set:
      return stateful_sets;
    case WorkloadKind::daemon_set:
      return daemon_sets;
  }
  std::abort();
}

std::unique_ptr<Sink> make_sink(Workloads& workloads, WorkloadKind kind, AtomPool& atoms) {
  return make_sink(workloads.of(kind), [kind, &atoms](RawObject& raw) { return decode_workload(raw, kind, atoms); });
}

}  // namespace careen::kube
