#include "kube/workload.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "kube/raw_object.h"
#include "kube/resource.h"
#include "kube/sink.h"
#include "kube/sorted.h"

namespace careen::kube {

namespace {

using raw::Key;
using raw::value;

// What its spec and status say of its pods, as far as they say it.
struct PodCounts {
  std::optional<int64_t> replicas, available, ready, number_ready, desired, unavailable;
  bool says_unavailable = false;
};

void read_spec(value& spec, PodCounts& counts) {
  raw::each_field(spec, [&](Key key, value& field) {
    if (key == "replicas") counts.replicas = raw::integer(field);
  });
}

void read_condition(value& condition, PodCounts& counts) {
  bool available = false, no = false;
  raw::each_field(condition, [&](Key key, value& field) {
    if (key == "type") available = raw::text(field) == "Available";
    if (key == "status") no = raw::text(field) == "False";
  });
  counts.says_unavailable |= available && no;
}

void read_status(value& status, PodCounts& counts) {
  raw::each_field(status, [&](Key key, value& field) {
    if (key == "availableReplicas") counts.available = raw::integer(field);
    if (key == "readyReplicas") counts.ready = raw::integer(field);
    if (key == "numberReady") counts.number_ready = raw::integer(field);
    if (key == "desiredNumberScheduled") counts.desired = raw::integer(field);
    if (key == "numberUnavailable") counts.unavailable = raw::integer(field);
    if (key == "conditions") raw::each_element(field, [&](value& one) { read_condition(one, counts); });
  });
}

void read_label(value& labels, AtomPool& atoms, Workload& workload) {
  raw::each_text(labels, [&](std::string_view key, std::string_view text) {
    workload.labels.emplace_back(atoms.intern(key), atoms.intern(text));
  });
  std::sort(workload.labels.begin(), workload.labels.end(),
            [](const auto& a, const auto& b) { return a.first.view() < b.first.view(); });
  workload.labels.shrink_to_fit();
}

void apply(const PodCounts& counts, Workload& workload) {
  const auto least_zero = [](std::optional<int64_t> number, int64_t otherwise) {
    return std::max<int64_t>(number.value_or(otherwise), 0);
  };
  if (workload.kind == WorkloadKind::daemon_set) {
    workload.replicas = least_zero(counts.number_ready, 0);
    workload.wanted = least_zero(counts.desired, 0);
    workload.degraded = counts.unavailable.value_or(0) > 0;
    return;
  }
  workload.replicas = workload.wanted = least_zero(counts.replicas, 1);
  const bool deployment = workload.kind == WorkloadKind::deployment;
  workload.degraded = least_zero(deployment ? counts.available : counts.ready, 0) < workload.wanted ||
                      (deployment && counts.says_unavailable);
}

}  // namespace

const Atom* Workload::label(std::string_view key) const { return find_sorted(labels, key); }

io::Result<Workload> decode_workload(RawObject& raw, WorkloadKind kind, AtomPool& atoms) {
  return raw::guarded("a workload", [&]() -> io::Result<Workload> {
    raw::Meta meta;
    PodCounts counts;
    Workload workload;
    workload.kind = kind;
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") {
        return raw::each_meta_field(field, meta, [&](Key part, value& labels) {
          if (part == "labels") read_label(labels, atoms, workload);
        });
      }
      if (key == "spec") return read_spec(field, counts);
      if (key == "status") return read_status(field, counts);
    });
    if (auto ok = raw::complete(meta); !ok) return tl::make_unexpected(ok.error());
    workload.ns = atoms.intern(meta.ns);
    workload.name = meta.name;
    workload.uid = meta.uid;
    workload.version = meta.version;
    apply(counts, workload);
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
