// NodeMaintenances as careen shows them: on the map of the fleet, in a node's story, on the timeline and in plans.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "controllers/slot/entry.h"
#include "controllers/slot/job.h"
#include "controllers/slot/picture.h"

namespace careen::kube {
struct EventRecord;
struct Node;
struct Object;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::nodemaintenance {

struct Maintenance;

std::unique_ptr<controllers::Picture> picture_of(const kube::Store<kube::Object>& maintenances,
                                                 const kube::Store<kube::Node>& nodes);
controllers::Job job_of(const kube::Object& object);
// As the documents have it (docs/api.md).
void append_maintenance(std::string& out, const Maintenance& maintenance);

// What the events of NodeMaintenances say, with the node they are about. An object whose last event arrives when it is
// gone was known when it began.
class Told {
 public:
  using NodeOf = std::function<std::optional<std::string>(const std::string& maintenance)>;
  std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time, const NodeOf& node_of);

 private:
  std::map<std::string, std::string> nodes_;  // by NodeMaintenance
};

}  // namespace careen::nodemaintenance
