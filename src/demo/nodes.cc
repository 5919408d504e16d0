#include "demo/nodes.h"

#include <algorithm>

#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"
#include "demo/config.h"
#include "kube/json.h"
#include "replica/controllers.h"

namespace careen::app {

using kube::JsonView;
using profiles::State;

namespace {

std::string text(JsonView value) { return std::string(value.text().value_or("")); }

DemoNode read(const std::string& object) {
  DemoNode out;
  const auto node = kube::Json::parse(object);
  if (!node) return out;
  const JsonView labels = node->at("/metadata/labels");
  const JsonView annotations = node->at("/metadata/annotations");
  out.zone = text(labels["topology.kubernetes.io/zone"]);
  out.pool = text(labels[kPoolLabel]);
  out.os = text(labels[kOsVersionLabel]);
  out.hardware = text(labels[kHardwareLabel]);
  out.outdated = labels[kOutdatedLabel].exists();
  out.approved = annotations[kApprovedAnnotation].exists();
  out.cordoned = node->at("/spec/unschedulable").boolean().value_or(false);
  const std::string holds = text(annotations["careen.dev/holds"]);
  for (const std::string_view owner : replica::controller_names()) {
    out.held_by_maintenance |= holds.find(std::string(owner) + "/") != std::string::npos;
  }
  const auto data = profiles::parse_node_data(annotations[profiles::kDataAnnotation].text().value_or(""));
  if (!data) return out;
  for (const auto& [name, profile] : data->profiles) {
    if (const auto state = profile.current.known()) out.profiles.emplace(name, *state);
  }
  return out;
}

}  // namespace

State DemoNode::state(std::string_view profile) const {
  const auto known = profiles.find(profile);
  return known == profiles.end() ? State::operational : known->second;
}

bool DemoNode::at_rest() const {
  const bool operational =
      std::all_of(profiles.begin(), profiles.end(), [](const auto& one) { return one.second == State::operational; });
  return operational && !outdated && !cordoned && !held_by_maintenance && hardware.empty();
}

bool DemoNode::awaits_approval() const {
  return state(kOsUpdate) == State::maintenance_required && pool == "storage" && !approved;
}

DemoNodes::DemoNodes(sim::ApiServer& api) {
  api.observe([this](const sim::Change& change) {
    if (change.collection == "/api/v1/nodes") note(change);
  });
}

bool DemoNodes::any_outdated() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& one) { return one.second.outdated; });
}

void DemoNodes::note(const sim::Change& change) {
  if (change.type == sim::Change::Type::deleted) {
    nodes_.erase(change.name);
    return;
  }
  const DemoNode before = nodes_[change.name];
  const DemoNode& now = nodes_[change.name] = read(*change.object);
  for (const Listener& listener : listeners_) listener(change.name, before, now);
}

}  // namespace careen::app
