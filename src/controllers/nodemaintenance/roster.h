// All NodeMaintenances, read once per change, by name and by the node they want.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/nodemaintenance/maintenance.h"

namespace careen::nodemaintenance {

class Roster {
 public:
  void put(Maintenance maintenance);
  void remove(std::string_view name);

  const Maintenance* find(std::string_view name) const;
  // The oldest first.
  std::vector<const Maintenance*> on(std::string_view node) const;
  // Whose the node is: the oldest that is neither being deleted nor given up, `except` aside. Null when it is nobody's.
  const Maintenance* owner_of(std::string_view node, const Maintenance* except = nullptr) const;
  void for_each(const std::function<void(const Maintenance&)>& visit) const;
  size_t size() const { return by_name_.size(); }

 private:
  std::map<std::string, Maintenance, std::less<>> by_name_;
  std::map<std::string, std::set<std::string>, std::less<>> by_node_;
};

}  // namespace careen::nodemaintenance
