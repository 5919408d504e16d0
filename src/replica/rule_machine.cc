#include "replica/rule_machine.h"

#include "kube/raw_object.h"

namespace careen::replica {

namespace raw = kube::raw;

namespace {

void read_spec(raw::value& spec, RuleMachine& machine, kube::AtomPool& atoms) {
  raw::each_field(spec, [&](raw::Key key, raw::value& field) {
    if (key == "clusterName") machine.cluster = atoms.intern(raw::text(field).value_or(""));
    if (key == "providerID") machine.provider_id = raw::text(field).value_or("");
  });
}

void read_status(raw::value& status, RuleMachine& machine) {
  raw::each_field(status, [&](raw::Key key, raw::value& reference) {
    if (key != "nodeRef") return;
    raw::each_field(reference, [&](raw::Key part, raw::value& field) {
      if (part == "name") machine.node = raw::text(field).value_or("");
    });
  });
}

}  // namespace

std::optional<std::string_view> RuleMachine::label(std::string_view wanted) const {
  for (const auto& [key, value] : labels) {
    if (key.view() == wanted) return value.view();
  }
  return std::nullopt;
}

bool RuleMachine::same_facts(const RuleMachine& other) const {
  return labels == other.labels && node == other.node && provider_id == other.provider_id && cluster == other.cluster;
}

io::Result<RuleMachine> read_rule_machine(kube::RawObject& object, kube::AtomPool& atoms) {
  return raw::guarded("a machine", [&]() -> io::Result<RuleMachine> {
    raw::Meta meta;
    RuleMachine machine;
    raw::each_field(object.object, [&](raw::Key key, raw::value& field) {
      if (key == "spec") return read_spec(field, machine, atoms);
      if (key == "status") return read_status(field, machine);
      if (key != "metadata") return;
      raw::each_meta_field(field, meta, [&](raw::Key part, raw::value& labels) {
        if (part != "labels") return;
        raw::each_text(labels, [&](std::string_view label, std::string_view text) {
          machine.labels.emplace_back(atoms.intern(label), atoms.intern(text));
        });
      });
    });
    if (auto ok = raw::complete(meta); !ok) return tl::make_unexpected(ok.error());
    machine.ns = atoms.intern(meta.ns);
    machine.name = meta.name;
    machine.uid = meta.uid;
    machine.version = meta.version;
    return machine;
  });
}

}  // namespace careen::replica
