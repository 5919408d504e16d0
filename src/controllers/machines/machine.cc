#include "controllers/machines/machine.h"

#include <algorithm>

#include "controllers/machines/names.h"
#include "kube/events.h"
#include "kube/raw_object.h"

namespace careen::machines {

namespace {

using kube::Atom;
using kube::AtomPool;
using kube::RawObject;
using kube::raw::Key;
using kube::raw::value;
namespace raw = kube::raw;

constexpr std::string_view kProvider = "metal3:";
// What is shown of another program's words.
constexpr size_t kMostOfAMessage = 300;

Atom atom_of(value& v, AtomPool& atoms) { return atoms.intern(raw::text(v).value_or("")); }
bool truth_of(value& v, bool otherwise) { return raw::boolean(v).value_or(otherwise); }
void read_text(value& v, std::string& out) {
  if (const auto text = raw::text(v)) out = *text;
}

// A condition's type, and whether it is True.
template <class F>
void each_condition(value& conditions, F&& visit) {
  raw::each_element(conditions, [&](value& condition) {
    std::string_view type, status;
    raw::each_field(condition, [&](Key key, value& field) {
      if (key == "type") type = raw::text(field).value_or("");
      if (key == "status") status = raw::text(field).value_or("");
    });
    visit(type, status == "True");
  });
}

template <class T>
io::Result<T> finish(raw::Meta& meta, T object) {
  if (auto ok = raw::complete(meta); !ok) return tl::make_unexpected(ok.error());
  object.name = meta.name;
  object.uid = meta.uid;
  object.version = meta.version;
  return object;
}

class MachineReader {
 public:
  explicit MachineReader(AtomPool& atoms) : atoms_(atoms) {}

  io::Result<Machine> read(RawObject& raw) {
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") return read_metadata(field);
      if (key == "spec") return read_spec(field);
      if (key == "status") return read_status(field);
    });
    machine_.ns = atoms_.intern(meta_.ns);
    if (!meta_.deleted.empty()) machine_.deleting = io::parse_rfc3339(meta_.deleted).value_or(io::Wall{});
    std::ranges::sort(machine_.other_hooks, {}, [](const Atom& hook) { return hook.view(); });
    return finish(meta_, std::move(machine_));
  }

 private:
  void read_metadata(value& metadata) {
    raw::each_meta_field(metadata, meta_, [&](Key key, value& field) {
      if (key == "labels") {
        raw::each_text(field, [&](std::string_view label, std::string_view text) { read_label(label, text); });
      } else if (key == "annotations") {
        raw::each_text(field, [&](std::string_view name, std::string_view text) { read_annotation(name, text); });
      }
    });
  }
  void read_label(std::string_view label, std::string_view text) {
    if (label == kEnabled) machine_.enabled = text == kTrue;
    if (label != kMaintenance) return;
    if (text == kRequested) machine_.asked = Asked::maintenance;
    if (text == kApproved) machine_.asked = Asked::granted;
  }
  void read_annotation(std::string_view name, std::string_view text) {
    if (name == kPreDrainHook) {
      machine_.hooked = true;
    } else if (name.starts_with(kPreDrainHooks)) {
      machine_.other_hooks.push_back(atoms_.intern(name));
    } else if (name == kSkipRemediation) {
      machine_.skips_remediation = atoms_.intern(text);
    } else if (name == kRebootHost) {
      machine_.reboot_host = atoms_.intern(text);
    }
  }
  void read_spec(value& spec) {
    raw::each_field(spec, [&](Key key, value& field) {
      if (key == "clusterName") machine_.cluster = atom_of(field, atoms_);
      if (key == "providerID") read_text(field, machine_.provider_id);
      if (key != "infrastructureRef") return;
      raw::each_field(field, [&](Key part, value& inner) {
        if (part == "name") machine_.infrastructure = atom_of(inner, atoms_);
      });
    });
  }
  void read_status(value& status) {
    raw::each_field(status, [&](Key key, value& field) {
      if (key == "conditions") return read_conditions(field);
      if (key == "nodeRef") {
        return raw::each_field(field, [&](Key part, value& inner) {
          if (part == "name") read_text(inner, machine_.node);
        });
      }
      if (key == "deletion") return read_deletion(field);
      // Where v1beta1 has what v1beta2 calls conditions.
      if (key != "v1beta2") return;
      raw::each_field(field, [&](Key part, value& inner) {
        if (part == "conditions") read_conditions(inner);
      });
    });
  }
  void read_deletion(value& deletion) {
    raw::each_field(deletion, [&](Key key, value& field) {
      if (key != "waitForPreDrainHookStartTime") return;
      machine_.held_since = io::parse_rfc3339(raw::text(field).value_or(""));
    });
  }
  void read_conditions(value& conditions) {
    each_condition(conditions, [&](std::string_view type, bool is_true) {
      if (type == "Updating") machine_.updating = is_true;
    });
  }

  AtomPool& atoms_;
  raw::Meta meta_;
  Machine machine_;
};

class NodeReader {
 public:
  NodeReader(AtomPool& atoms, NodeLabels labels) : atoms_(atoms), labels_(labels) {}

  io::Result<Node> read(RawObject& raw) {
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") return read_metadata(field);
      if (key != "status") return;
      raw::each_field(field, [&](Key part, value& inner) {
        if (part != "conditions") return;
        each_condition(inner, [&](std::string_view type, bool is_true) {
          if (type == "Ready") node_.ready = is_true;
        });
      });
    });
    node_.deleting = !meta_.deleted.empty();
    std::ranges::sort(node_.labels, {}, [](const auto& label) { return label.first.view(); });
    return finish(meta_, std::move(node_));
  }

 private:
  void read_metadata(value& metadata) {
    raw::each_meta_field(metadata, meta_, [&](Key key, value& field) {
      if (key == "labels") {
        raw::each_text(field, [&](std::string_view label, std::string_view text) { read_label(label, text); });
      } else if (key == "annotations") {
        raw::each_text(field, [&](std::string_view name, std::string_view text) {
          if (name == kMachineOfNode) node_.machine = atoms_.intern(text);
          if (name == kNamespaceOfNode) node_.machine_ns = atoms_.intern(text);
          if (name == kClusterOfNode) node_.cluster = atoms_.intern(text);
        });
      }
    });
  }
  void read_label(std::string_view label, std::string_view text) {
    if (labels_ == NodeLabels::all) node_.labels.emplace_back(atoms_.intern(label), atoms_.intern(text));
    if (label == kMaintenanceState) node_.maintained = true;
    if (label == kMachineDeleted) node_.machine_deleted = atoms_.intern(text);
    if (label == kMachineMaintenance) node_.machine_maintenance = atoms_.intern(text);
    if (label == kApproveDeletion) {
      node_.approval_of_deletion = true;
      node_.approves_deletion = text == kTrue;
    }
    if (label == kApproveMaintenance) {
      node_.approval_of_maintenance = true;
      node_.approves_maintenance = text == kTrue;
    }
  }

  AtomPool& atoms_;
  const NodeLabels labels_;
  raw::Meta meta_;
  Node node_;
};

class HostReader {
 public:
  explicit HostReader(AtomPool& atoms) : atoms_(atoms) {}

  io::Result<Host> read(RawObject& raw) {
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") return read_metadata(field);
      if (key == "spec") return read_spec(field);
      if (key == "status") return read_status(field);
    });
    host_.ns = atoms_.intern(meta_.ns);
    return finish(meta_, std::move(host_));
  }

 private:
  void read_metadata(value& metadata) {
    raw::each_meta_field(metadata, meta_, [&](Key key, value& field) {
      if (key != "annotations") return;
      raw::each_text(field, [&](std::string_view name, std::string_view) {
        if (name == kPowerOff) host_.held_off = true;
        if (name == kReboot) host_.reboots = true;
        if (name == kHostPaused) host_.paused = true;
        if (name == kHostDetached) host_.detached = true;
      });
    });
  }
  void read_spec(value& spec) {
    raw::each_field(spec, [&](Key key, value& field) {
      if (key == "online") host_.online = truth_of(field, true);
      if (key == "disablePowerOff") host_.keeps_power = truth_of(field, false);
      if (key != "consumerRef") return;
      raw::each_field(field, [&](Key part, value& inner) {
        if (part == "kind") host_.consumer_kind = atom_of(inner, atoms_);
        if (part == "namespace") host_.consumer_ns = atom_of(inner, atoms_);
        if (part == "name") host_.consumer = atom_of(inner, atoms_);
      });
    });
  }
  void read_status(value& status) {
    raw::each_field(status, [&](Key key, value& field) {
      if (key == "poweredOn") host_.powered = truth_of(field, false);
      if (key == "operationalStatus") host_.operational = atom_of(field, atoms_);
      if (key == "errorType") host_.error = atom_of(field, atoms_);
      if (key == "errorMessage") host_.error_message = kube::cut_text(raw::text(field).value_or(""), kMostOfAMessage);
      if (key != "provisioning") return;
      raw::each_field(field, [&](Key part, value& inner) {
        if (part == "state") host_.provisioning = atom_of(inner, atoms_);
      });
    });
  }

  AtomPool& atoms_;
  raw::Meta meta_;
  Host host_;
};

}  // namespace

bool Machine::same_facts(const Machine& other) const {
  return uid == other.uid && cluster == other.cluster && node == other.node && provider_id == other.provider_id &&
         infrastructure == other.infrastructure && enabled == other.enabled && asked == other.asked &&
         hooked == other.hooked && other_hooks == other.other_hooks && skips_remediation == other.skips_remediation &&
         reboot_host == other.reboot_host && deleting == other.deleting && held_since == other.held_since &&
         updating == other.updating;
}

bool Node::same_facts(const Node& other) const {
  return uid == other.uid && maintained == other.maintained && approves_deletion == other.approves_deletion &&
         approves_maintenance == other.approves_maintenance && machine_deleted == other.machine_deleted &&
         machine_maintenance == other.machine_maintenance && approval_of_deletion == other.approval_of_deletion &&
         approval_of_maintenance == other.approval_of_maintenance && machine == other.machine &&
         machine_ns == other.machine_ns && cluster == other.cluster && ready == other.ready &&
         deleting == other.deleting && labels == other.labels;
}

bool Host::same_facts(const Host& other) const {
  return uid == other.uid && held_off == other.held_off && reboots == other.reboots && paused == other.paused &&
         detached == other.detached && online == other.online && keeps_power == other.keeps_power &&
         powered == other.powered && provisioning == other.provisioning && operational == other.operational &&
         error == other.error && error_message == other.error_message && consumer_kind == other.consumer_kind &&
         consumer_ns == other.consumer_ns && consumer == other.consumer;
}

io::Result<Machine> read_machine(RawObject& raw, AtomPool& atoms) {
  return raw::guarded("a Machine", [&] { return MachineReader(atoms).read(raw); });
}
io::Result<Machine> read_machine(std::string_view json, AtomPool& atoms) {
  return raw::on_text("a Machine", json, [&](RawObject& raw) { return read_machine(raw, atoms); });
}
io::Result<Node> read_node(RawObject& raw, AtomPool& atoms, NodeLabels labels) {
  return raw::guarded("a Node", [&] { return NodeReader(atoms, labels).read(raw); });
}
io::Result<Node> read_node(std::string_view json, AtomPool& atoms, NodeLabels labels) {
  return raw::on_text("a Node", json, [&](RawObject& raw) { return read_node(raw, atoms, labels); });
}
io::Result<Host> read_host(RawObject& raw, AtomPool& atoms) {
  return raw::guarded("a BareMetalHost", [&] { return HostReader(atoms).read(raw); });
}
io::Result<Host> read_host(std::string_view json, AtomPool& atoms) {
  return raw::on_text("a BareMetalHost", json, [&](RawObject& raw) { return read_host(raw, atoms); });
}

// As the replaced program takes it apart: at each slash, the second part being empty.
std::optional<HostReference> host_of(std::string_view provider_id) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; parts.size() < 8;) {
    const size_t slash = provider_id.find('/', begin);
    parts.push_back(provider_id.substr(begin, slash - begin));
    if (slash == std::string_view::npos) break;
    begin = slash + 1;
  }
  if (parts.size() < 3 || parts[0] != kProvider) return std::nullopt;
  HostReference host;
  if (parts.size() == 3) {
    host.uid = parts[2];
    return host.uid.empty() ? std::nullopt : std::optional(host);
  }
  host.ns = parts[2];
  host.name = parts[3];
  if (parts.size() > 4) host.consumer = parts[4];
  return host.ns.empty() || host.name.empty() ? std::nullopt : std::optional(host);
}

}  // namespace careen::machines
