// The NodeMaintenances of the cluster, as the commands read and follow them.
#pragma once

#include <string>
#include <vector>

#include "commands/kube_session.h"
#include "commands/progress_view.h"
#include "controllers/nodemaintenance/maintenance.h"
#include "kube/objects.h"
#include "kube/watched.h"

namespace careen::app {

using nodemaintenance::Maintenance;

// 404 when the cluster does not know the kind.
io::Task<kube::Result<std::vector<Maintenance>>> list_maintenances(KubeSession& session);
// What to say to whoever needs the kind then.
std::string missing_kind();
// nodemaintenance.nodemaintenance.medik8s.io/x, as kubectl names it.
std::string full_name(const std::string& name);

// What blocks it, in words; empty when nothing does.
std::string blocked_by(const Maintenance& maintenance);
NodeView view_of(const Maintenance& maintenance, io::Wall now);

// A watch of all of them.
class MaintenanceWatch {
 public:
  explicit MaintenanceWatch(KubeSession& session);

  // Resumes when something has changed since the last call.
  io::Task<void> changed();
  io::Gate& known() { return objects_.synced_gate(); }
  const kube::Store<kube::Object>& store() const { return objects_.store(); }
  std::vector<Maintenance> all() const;

 private:
  io::Signal changed_;
  kube::Watched<kube::Object> objects_;
  io::Subscription changes_;
};

}  // namespace careen::app
