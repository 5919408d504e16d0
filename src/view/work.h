// What is being done to nodes now: drains and NodeMaintenances, found by node, and as the documents show them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/nodemaintenance/maintenance.h"
#include "drain/key.h"
#include "drain/progress.h"

namespace careen::replica {
class Replica;
}

namespace careen::view {

// As of one moment; the replica may go on meanwhile.
class Work {
 public:
  explicit Work(const replica::Replica& replica);

  const std::vector<drain::Key>& drains() const { return drains_; }                                // by node
  const std::vector<nodemaintenance::Maintenance>& maintenances() const { return maintenances_; }  // by name
  std::vector<drain::Key> drains_of(std::string_view node) const;
  std::vector<const nodemaintenance::Maintenance*> maintenances_of(std::string_view node) const;

 private:
  std::vector<drain::Key> drains_;
  std::vector<nodemaintenance::Maintenance> maintenances_;
  std::multimap<std::string, size_t, std::less<>> by_node_;
};

std::string_view name_of(drain::Progress::Phase phase);
// A Drain; nothing when it has ended.
void append_drain(std::string& out, const drain::Key& key, const drain::Progress& progress);
// Drain[] of those that still run.
void append_drains(std::string& out, const replica::Replica& replica, const std::vector<drain::Key>& keys);
void append_maintenance(std::string& out, const nodemaintenance::Maintenance& maintenance);

}  // namespace careen::view
