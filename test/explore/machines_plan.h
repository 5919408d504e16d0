// What a campaign of Machines is made of, for the stage, for people, and for the watch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/machines/decide.h"
#include "io/time.h"

namespace careen::explore {

// A workload cluster, and those who run its profiles.
struct ClusterPlan {
  std::string ns, name;
  io::Duration slowest_approval = io::minutes{1};
  bool forgetful = false;                 // approvals stay when nobody asks for them any more
  bool registers_maintained = false;      // profiles need not find a new Node first
  std::optional<io::Duration> dies = {};  // from then on it never answers again
  bool given_up_by_disabling = false;     // people then disable its Machines; otherwise all of it is deleted

  std::string key() const { return ns + "/" + name; }
};

// What people do with a Machine, or with its Node.
struct MachineStep {
  enum class Kind {
    request,     // its maintenance, for `span`; or not any more once `patience` is over
    remove,      // the Machine is deleted
    disable,     // for `span`, or for ever
    enable,      //
    skip,        // their own skip-remediation, for `span`
    fail,        // its Node is not Ready for `span`
    unmaintain,  // profiles do not look after its Node for `span`
    renew_node,  // its Node's object is deleted, and registered again after `span`
  };
  Kind kind = Kind::request;
  io::Duration at{}, span{}, patience{};
  int repeats = 0;  // of a request, once it is over
};

struct SlotPlan {
  std::string id;
  int cluster = 0;        // of the plan's
  std::string name;       // its Machines are called after it
  std::string node = {};  // of each of them; empty: its Machine's name
  bool enabled = true;
  bool maintained = true;  // profiles look after its Nodes
  bool has_host = false, host_by_uid = false, keeps_power = false, services_firmware = false;
  bool overlaps = false;
  bool has_stranger = false;  // another Machine says that it runs on the host, and that its maintenance is approved
  std::optional<io::Duration> remediated_after = {};
  std::vector<MachineStep> steps = {};
};

struct MachinesPlan {
  machines::RelayOptions relay;
  std::vector<ClusterPlan> clusters;
  std::vector<SlotPlan> slots;

  const ClusterPlan& cluster_of(const SlotPlan& slot) const { return clusters[static_cast<size_t>(slot.cluster)]; }
  const SlotPlan& slot(const std::string& id) const;
  std::string text() const;
};

}  // namespace careen::explore
