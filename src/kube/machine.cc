#include "kube/machine.h"

#include <algorithm>

#include "kube/raw_object.h"

namespace careen::kube {

namespace {

using raw::Key;
using raw::value;

constexpr std::string_view kSetLabel = "cluster.x-k8s.io/set-name";
constexpr std::string_view kPoolLabel = "karpenter.sh/nodepool";

void read_text(value& v, std::string& out) {
  if (auto text = raw::text(v)) out = *text;
}

// One object, while it is read: what is in which order is up to the server.
class Reader {
 public:
  Reader(MachineKind kind, AtomPool& atoms) : atoms_(atoms) { machine_.kind = kind; }

  io::Result<Machine> read(RawObject& raw) {
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") return read_metadata(field);
      if (key == "spec") return read_spec(field);
      if (key == "status") return read_status(field);
    });
    if (auto ok = raw::complete(meta_); !ok) return tl::make_unexpected(ok.error());
    machine_.ns = atoms_.intern(meta_.ns);
    machine_.name = meta_.name;
    machine_.uid = meta_.uid;
    machine_.version = meta_.version;
    if (!meta_.deleted.empty()) machine_.deleting = io::parse_rfc3339(meta_.deleted).value_or(io::Wall{});
    const bool pool = machine_.kind == MachineKind::node_claim;
    if (!set_.empty()) machine_.set = atoms_.intern(object_key(pool ? "" : meta_.ns, set_));
    return std::move(machine_);
  }

 private:
  void read_metadata(value& metadata) {
    raw::each_meta_field(metadata, meta_, [&](Key key, value& field) {
      if (key == "labels") return read_labels(field);
      if (key == "ownerReferences") raw::each_element(field, [&](value& owner) { read_owner(owner); });
    });
  }
  void read_labels(value& labels) {
    const std::string_view wanted = machine_.kind == MachineKind::node_claim ? kPoolLabel : kSetLabel;
    raw::each_text(labels, [&](std::string_view key, std::string_view text) {
      if (key == wanted && set_.empty()) set_ = text;
    });
  }
  void read_owner(value& owner) {
    bool is_set = false;
    std::string name;
    raw::each_field(owner, [&](Key key, value& field) {
      if (key == "kind") is_set = raw::text(field) == "MachineSet";
      if (key == "name") read_text(field, name);
    });
    if (is_set) set_ = std::move(name);
  }

  void read_spec(value& spec) {
    raw::each_field(spec, [&](Key key, value& field) {
      if (machine_.kind == MachineKind::nvidia_maintenance) {
        if (key == "nodeName") return read_text(field, machine_.node);
        if (key == "requestorID") machine_.requestor = atoms_.intern(raw::text(field).value_or(""));
      } else if (machine_.kind != MachineKind::node_claim && key == "providerID") {
        read_text(field, machine_.provider_id);
      }
    });
  }

  void read_status(value& status) {
    const bool claim = machine_.kind == MachineKind::node_claim;
    const bool machine = machine_.kind == MachineKind::cluster_api || machine_.kind == MachineKind::machine_api;
    raw::each_field(status, [&](Key key, value& field) {
      if (key == "conditions") return read_conditions(field);
      // Where v1beta1 has the conditions of v1beta2.
      if (machine && key == "v1beta2") return read_status_of_v1beta2(field);
      if (machine && key == "nodeRef") return read_node(field);
      if (machine_.kind == MachineKind::virtual_machine && key == "evacuationNodeName") return read_evacuation(field);
      if (claim && key == "nodeName") return read_text(field, machine_.node);
      if (claim && key == "providerID") read_text(field, machine_.provider_id);
    });
  }
  void read_status_of_v1beta2(value& status) {
    raw::each_field(status, [&](Key key, value& field) {
      if (key == "conditions") read_conditions(field);
    });
  }
  // Set with the first eviction that KubeVirt turns into a migration, and cleared when that has ended.
  void read_evacuation(value& field) {
    read_text(field, machine_.node);
    if (!machine_.node.empty()) work("");
  }
  void read_node(value& reference) {
    raw::each_field(reference, [&](Key key, value& field) {
      if (key == "name") return read_text(field, machine_.node);
      if (key == "uid") read_text(field, machine_.node_uid);
    });
  }

  void read_conditions(value& conditions) {
    raw::each_element(conditions, [&](value& condition) { read_condition(condition); });
  }
  void read_condition(value& condition) {
    std::string_view type, status, reason, since;
    raw::each_field(condition, [&](Key key, value& field) {
      if (key == "type") type = raw::text(field).value_or("");
      if (key == "status") status = raw::text(field).value_or("");
      if (key == "reason") reason = raw::text(field).value_or("");
      if (key == "lastTransitionTime") since = raw::text(field).value_or("");
    });
    const bool is_true = status == "True";
    switch (machine_.kind) {
      case MachineKind::cluster_api:
        if (type == "Updating" && is_true) work(since);
        return;
      case MachineKind::machine_api:
      case MachineKind::virtual_machine:
        return;
      case MachineKind::node_claim:
        if (type == "Rebooting" && is_true) work(since);
        if (type == "DisruptionReason" && is_true && (reason == "Empty" || reason == "Underutilized"))
          machine_.surplus = true;
        return;
      case MachineKind::nvidia_maintenance:
        // Whatever follows has begun with the cordon.
        if (type == "Ready" && !reason.empty() && reason != "Pending" && reason != "Scheduled") work(since);
        return;
    }
  }
  void work(std::string_view since) { machine_.worked_on = io::parse_rfc3339(since).value_or(io::Wall{}); }

  AtomPool& atoms_;
  raw::Meta meta_;
  std::string set_;
  Machine machine_;
};

}  // namespace

bool Machine::same_facts(const Machine& other) const {
  return kind == other.kind && uid == other.uid && node == other.node && node_uid == other.node_uid &&
         provider_id == other.provider_id && set == other.set && requestor == other.requestor &&
         deleting == other.deleting && worked_on == other.worked_on && surplus == other.surplus;
}

io::Result<Machine> decode_machine(RawObject& raw, MachineKind kind, AtomPool& atoms) {
  return raw::guarded("a machine", [&] { return Reader(kind, atoms).read(raw); });
}

io::Result<Machine> decode_machine(std::string_view json, MachineKind kind, AtomPool& atoms) {
  return raw::on_text("a machine", json, [&](RawObject& raw) { return decode_machine(raw, kind, atoms); });
}

io::Result<MachineSet> decode_machine_set(RawObject& raw) {
  return raw::guarded("a set of machines", [&]() -> io::Result<MachineSet> {
    raw::Meta meta;
    MachineSet set;
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") return raw::each_meta_field(field, meta, [](Key, value&) {});
      if (key != "spec") return;
      raw::each_field(field, [&](Key part, value& number) {
        if (part == "replicas") set.replicas = raw::integer(number);
      });
    });
    if (auto ok = raw::complete(meta); !ok) return tl::make_unexpected(ok.error());
    set.name = meta.name;
    set.ns = meta.ns;
    set.uid = meta.uid;
    set.version = meta.version;
    if (set.replicas) set.replicas = meta.deleted.empty() ? std::max<int64_t>(*set.replicas, 0) : 0;
    return set;
  });
}

io::Result<MachineSet> decode_machine_set(std::string_view json) {
  return raw::on_text("a set of machines", json, [](RawObject& raw) { return decode_machine_set(raw); });
}

}  // namespace careen::kube
