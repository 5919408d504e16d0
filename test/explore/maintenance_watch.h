// Watches NodeMaintenance objects at the API server: careen writes its finalizer, its mark and the status, and lets an
// object go only after its node. In the end each one that exists is drained, or waits for the older one of its node.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "hold_watch.h"
#include "sim/api_server.h"
#include "sim/network.h"

namespace careen::explore {

inline constexpr const char* kMaintenances = "/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances";

inline std::string maintenance_path(std::string_view name) {
  return std::string(kMaintenances) + "/" + std::string(name);
}

class MaintenanceWatch {
 public:
  MaintenanceWatch(const sim::ApiServer& api, const HoldWatch& holds, Report report)
      : api_(api), holds_(holds), report_(std::move(report)) {}

  void changed(const sim::Change& change, bool by_careen);
  // One of the leases of nodes.
  void lease_changed(const sim::Change& change);
  // A status on its way that will take effect and say that the node is drained for the first time: which node, and who
  // holds it.
  struct Success {
    std::string node, owner;
  };
  std::optional<Success> success_in(const sim::Sending& sending) const;
  // careen has come to rest.
  void check_end() const;
  // Rights were refused for a while: a lease that could not be deleted then runs out.
  void rights_refused() { rights_refused_ = true; }
  // What each of them has come to, by path.
  static std::map<std::string, std::string> ends(const sim::ApiServer& api);

 private:
  void check_untouched(const sim::Change& change) const;
  void check_discharged(const sim::Change& change) const;
  void check_leases() const;

  const sim::ApiServer& api_;
  const HoldWatch& holds_;
  Report report_;
  std::set<std::string> late_leases_;  // whose request arrived when their maintenance was gone: they run out
  bool rights_refused_ = false;
};

}  // namespace careen::explore
