#include "commands/fleet_from_nodes.h"

#include <array>
#include <map>
#include <optional>
#include <string>

#include "commands/pause_json.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/state.h"
#include "view/row.h"

namespace careen::app {

using kube::Json;
using profiles::State;

namespace {

using Counts = std::map<std::string, std::map<std::string, int64_t>>;  // by profile, then by state

void count(const kube::Node& node, Counts& counts) {
  const kube::Atom* state = node.label(profiles::kStateLabel);
  const kube::Atom* attached = node.label(profiles::kProfileLabel);
  if (!state && !attached) return;
  const std::string* annotation = node.annotation(profiles::kDataAnnotation);
  const auto data = profiles::parse_node_data(annotation ? *annotation : "");
  const std::string whole(state ? state->view() : profiles::name_of(State::operational));
  for (const std::string& name : profiles::profiles_of(attached ? std::optional(attached->view()) : std::nullopt)) {
    const auto found = data ? data->profiles.find(name) : decltype(data->profiles.find(name)){};
    const bool recorded = data && found != data->profiles.end();
    ++counts[name][recorded ? std::string(found->second.current.text()) : whole];
  }
}

Json row_of(const kube::Node& node) {
  return Json::object({{"name", node.name}, {"ready", view::is_ready(node)}, {"cordoned", node.unschedulable}});
}

}  // namespace

Json fleet_from_nodes(const std::vector<kube::Node>& nodes, const std::vector<budget::Pause>& pauses) {
  Counts counts;
  Json rows = Json::array(), profiles = Json::array(), paused = Json::array();
  for (const kube::Node& node : nodes) {
    count(node, counts);
    rows.push_back(row_of(node));
  }
  for (const auto& [name, by_state] : counts) {
    Json states = Json::object();
    for (const State state : profiles::kStates) states.set({profiles::name_of(state)}, int64_t{0});
    for (const auto& [state, number] : by_state) states.set({state}, number);
    profiles.push_back(Json::object({{"name", name}, {"states", std::move(states)}}));
  }
  for (const budget::Pause& pause : pauses) paused.push_back(pause_json(pause));
  return Json::object({{"nodes", std::move(rows)}, {"profiles", std::move(profiles)}, {"pauses", std::move(paused)}});
}

}  // namespace careen::app
