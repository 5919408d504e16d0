#include "view/row.h"

#include <algorithm>
#include <set>

#include "controllers/profiles/config.h"
#include "controllers/profiles/controller.h"
#include "controllers/profiles/decision.h"
#include "controllers/profiles/hosted.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/state.h"
#include "drain/engine.h"
#include "drain/holds.h"
#include "drain/key.h"
#include "drain/progress.h"
#include "kube/cache.h"
#include "kube/json_writer.h"
#include "kube/node.h"
#include "replica/replica.h"
#include "view/shown.h"
#include "view/waiting.h"
#include "view/work.h"

namespace careen::view {

namespace {

using controllers::Cell;
using kube::append_json;
using kube::Members;
using profiles::ProfileOutcome;

std::string_view name_of(Cell cell) {
  switch (cell) {
    case Cell::none:
      return "none";
    case Cell::operational:
      return "operational";
    case Cell::maintenance_required:
      return "maintenance-required";
    case Cell::draining:
      return "draining";
    case Cell::in_maintenance:
      return "in-maintenance";
    case Cell::failing:
      break;
  }
  return "failing";
}

Cell cell_of(const ProfileOutcome& outcome) {
  if (!outcome.error.empty()) return Cell::failing;
  const auto state = profiles::parse_state(outcome.state);
  if (!state) return Cell::failing;
  if (*state == profiles::State::in_maintenance) return Cell::in_maintenance;
  return *state == profiles::State::operational ? Cell::operational : Cell::maintenance_required;
}

Cell cell_of(drain::Progress::Phase phase) {
  if (phase == drain::Progress::Phase::refused || phase == drain::Progress::Phase::failed) return Cell::failing;
  // Its owner reports what comes of it.
  return phase == drain::Progress::Phase::draining ? Cell::draining : Cell::none;
}

void append_profile(std::string& out, const ProfileOutcome& outcome, const profiles::Profile* profile) {
  Members members(out, '{', '}');
  append_json(members.next("name"), outcome.name);
  append_json(members.next("state"), outcome.state);
  if (outcome.since) append_json(members.next("since"), *outcome.since);
  if (const std::string text = waits(outcome, profile); !text.empty()) append_json(members.next("waits"), text);
  if (const auto wake = wake_of(outcome)) append_json(members.next("wake"), *wake);
  if (!outcome.error.empty()) append_json(members.next("error"), outcome.error);
}

void append_unreadable(std::string& out, const std::string& profile, const std::string& error) {
  Members members(out, '{', '}');
  append_json(members.next("name"), profile);
  append_json(members.next("state"), profiles::name_of(profiles::State::operational));
  append_json(members.next("error"), error);
}

std::vector<std::string> named_profiles(const kube::Node& node) {
  const kube::Atom* label = node.label(profiles::kProfileLabel);
  return profiles::profiles_of(label ? std::optional(label->view()) : std::nullopt);
}

Cell append_profiles(std::string& out, Row& row, const replica::Replica& replica, const kube::Node& node) {
  Members array(out, '[', ']');
  const auto decision = explained(replica, node);
  if (!decision) return Cell::none;
  if (const profiles::Unreadable* const unreadable = decision->unreadable()) {
    for (const std::string& name : named_profiles(node)) append_unreadable(array.next(), name, unreadable->error);
    return Cell::failing;
  }
  Cell worst = Cell::none;
  for (const ProfileOutcome& outcome : decision->profiles) {
    append_profile(array.next(), outcome, config_of(replica)->find_profile(outcome.name));
    row.profiles.emplace_back(outcome.name, outcome.state);
    worst = std::max(worst, cell_of(outcome));
  }
  return worst;
}

bool has_holds(const kube::Node& node) { return node.annotation(drain::kHoldsAnnotation) != nullptr; }

void append_row(std::string& out, const kube::Node& node, Cell cell, const std::string& profiles,
                const std::vector<std::string>& labels) {
  Members members(out, '{', '}');
  append_json(members.next("name"), node.name);
  append_json(members.next("cell"), name_of(cell));
  members.next("profiles") += profiles;
  {
    Members shown_labels(members.next("labels"), '{', '}');
    for (const std::string& key : labels) {
      if (const kube::Atom* value = node.label(key)) append_json(shown_labels.next(key), value->view());
    }
  }
  append_json(members.next("ready"), is_ready(node));
  append_json(members.next("cordoned"), node.unschedulable);
  if (!has_holds(node)) return;
  Members holds(members.next("holds"), '[', ']');
  for (const auto& [owner, hold] : drain::holds_of(node).by_owner) append_json(holds.next(), owner);
}

}  // namespace

std::optional<profiles::Decision> explained(const replica::Replica& replica, const kube::Node& node) {
  if (!config_of(replica)) return std::nullopt;
  return profiles::controller_in(replica.hosted())->explain(node.name);
}

const profiles::Config* config_of(const replica::Replica& replica) {
  const profiles::Controller* controller = profiles::controller_in(replica.hosted());
  return controller ? controller->config() : nullptr;
}

bool is_ready(const kube::Node& node) {
  return std::any_of(node.conditions.begin(), node.conditions.end(), [](const kube::NodeCondition& condition) {
    return condition.type.view() == "Ready" && condition.status.view() == "True";
  });
}

Row make_row(const Shown& shown, const kube::Node& node, const std::vector<std::string>& labels, const Work& work) {
  Row row;
  std::string profiles;
  Cell cell = append_profiles(profiles, row, shown.replica, node);
  for (const drain::Key& key : work.drains_of(node.name)) {
    if (const auto phase = shown.replica.drains().phase(key)) cell = std::max(cell, cell_of(*phase));
  }
  for (const Work::Part& part : work.parts()) cell = std::max(cell, part.picture->cell(node.name));
  append_row(row.json, node, cell, profiles, labels);
  return row;
}

std::vector<std::string> grouping_labels(const replica::Replica& replica) {
  std::vector<std::string> candidates;
  const auto add = [&](const std::string& key) {
    if (std::find(candidates.begin(), candidates.end(), key) == candidates.end()) candidates.push_back(key);
  };
  const profiles::Config* config = config_of(replica);
  if (config) {
    for (const auto& instance : config->checks) {
      for (const std::string& key : instance.check->group_labels()) add(key);
    }
  }
  add("topology.kubernetes.io/zone");
  if (config) {
    for (const std::string& key : config->dashboard_label_filter) add(key);
  }
  for (const char* key : {"topology.kubernetes.io/region", "node.kubernetes.io/instance-type"}) add(key);

  std::vector<std::set<std::string_view>> values(candidates.size());
  replica.nodes().for_each([&](const kube::Node& node) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (values[i].size() > 1) continue;
      if (const kube::Atom* value = node.label(candidates[i])) values[i].insert(value->view());
    }
  });
  std::vector<std::string> keys;
  for (const size_t count : {2, 1}) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (values[i].size() == count) keys.push_back(candidates[i]);
    }
  }
  return keys;
}

}  // namespace careen::view
