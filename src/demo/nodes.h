// The nodes of the demonstration's cluster as its actors and its log see them: what is written on each, kept up to date
// with every change, and who hears of a change.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/profiles/state.h"
#include "sim/api_server.h"

namespace careen::app {

struct DemoNode {
  std::string zone, pool, os;
  std::string hardware;  // empty, broken or repaired
  bool outdated = false;
  bool approved = false;
  bool cordoned = false;
  bool held_by_maintenance = false;  // an object of a controller
  std::map<std::string, profiles::State, std::less<>> profiles;

  profiles::State state(std::string_view profile) const;
  // Nothing is going on, and nothing is about to.
  bool at_rest() const;
  bool awaits_approval() const;
};

class DemoNodes {
 public:
  explicit DemoNodes(sim::ApiServer& api);
  DemoNodes(const DemoNodes&) = delete;
  DemoNodes& operator=(const DemoNodes&) = delete;

  const std::map<std::string, DemoNode>& all() const { return nodes_; }
  const DemoNode& of(const std::string& name) const { return nodes_.at(name); }
  bool any_outdated() const;

  // Called after each change of a node; must not make changes itself.
  using Listener = std::function<void(const std::string& name, const DemoNode& before, const DemoNode& now)>;
  void subscribe(Listener listener) { listeners_.push_back(std::move(listener)); }

 private:
  void note(const sim::Change& change);

  std::map<std::string, DemoNode> nodes_;
  std::vector<Listener> listeners_;
};

}  // namespace careen::app
