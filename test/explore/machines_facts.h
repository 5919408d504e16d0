// Machines, their Nodes and their hosts as what must hold is judged by them: read from what the API servers hold, by
// the names that users know, and not by careen's own readers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace careen::explore {

struct MachineFacts {
  std::string ns, name, cluster, node, provider_id, infrastructure;
  std::string asked;  // its label
  bool enabled = false;
  bool deleting = false;
  bool hooked = false;
  std::optional<std::string> skip;  // of remediation

  static MachineFacts read(std::string_view text);

  std::string key() const { return ns + "/" + name; }
  std::string cluster_key() const { return ns + "/" + cluster; }
  bool approved() const { return asked == "approved"; }
  bool in_maintenance() const { return approved() || asked == "requested"; }
  bool skips_for_careen() const;
};

struct MachineNodeFacts {
  std::string machine, ns;  // whose it says that it is
  bool maintained = false;
  bool approves_deletion = false, approves_maintenance = false;
  // Whatever value these labels have.
  bool approval_of_deletion = false, approval_of_maintenance = false;
  bool machine_deleted = false, machine_maintenance = false;
  bool ready = false;

  static MachineNodeFacts read(std::string_view text);
};

struct HostFacts {
  std::string ns, name, uid, consumer_ns, consumer;
  bool held_off = false;
  bool keeps_power = false;
  bool through = false;  // with what its operator does to it, and on

  static HostFacts read(std::string_view text);

  // Whoever can write a Machine can name any host.
  bool belongs_to(const MachineFacts& machine) const;
};

}  // namespace careen::explore
