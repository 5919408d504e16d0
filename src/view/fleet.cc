#include "view/fleet.h"

#include <algorithm>

#include "controllers/profiles/config.h"
#include "controllers/profiles/state.h"
#include "io/problems.h"
#include "kube/cache.h"
#include "kube/json_writer.h"
#include "kube/lock.h"
#include "kube/name_order.h"
#include "kube/node.h"
#include "replica/controllers.h"
#include "replica/hub.h"
#include "replica/replica.h"
#include "view/budgets.h"
#include "view/chronicle.h"
#include "view/claims.h"
#include "view/limit_groups.h"
#include "view/pauses.h"
#include "view/row.h"
#include "view/timeline.h"

namespace careen::view {

namespace {

using kube::append_json;
using kube::Members;

// One piece is at most this much, or this many nodes: a few milliseconds.
constexpr size_t kPiece = 64 << 10;
constexpr int kNodesAtOnce = 100;

void append_careen(std::string& out, const Shown& shown) {
  Members members(out, '{', '}');
  const replica::Replica& replica = shown.replica;
  append_json(members.next("version"), shown.version);
  append_json(members.next("identity"), replica.identity());
  append_json(members.next("leading"), replica.running());
  append_json(members.next("holder"), replica.election().holder());
  append_json(members.next("speed"), shown.speed());
}

void append_problems(std::string& out, const Shown& shown) {
  Members array(out, '[', ']');
  for (const auto& [key, message] : shown.replica.problems().open()) {
    Members members(array.next(), '{', '}');
    append_json(members.next("name"), key);
    append_json(members.next("message"), message);
    append_json(members.next("since"), shown.chronicle.problem_since(key));
  }
}

template <class Values, class Append>
std::string array_json(const Values& values, const Append& append) {
  std::string out;
  {
    Members array(out, '[', ']');
    for (const auto& value : values) append(array.next(), value);
  }
  return out;
}

std::vector<drain::Key> sorted_drains(const Work& work) {
  std::vector<drain::Key> keys = work.drains();
  std::sort(keys.begin(), keys.end(), [](const drain::Key& a, const drain::Key& b) {
    return a.node != b.node ? kube::compare_names(a.node, b.node) < 0 : a.owner < b.owner;
  });
  return keys;
}

std::string objects_json(const controllers::Picture* picture) {
  return array_json(picture ? picture->documents() : std::vector<std::string>(),
                    [](std::string& out, const std::string& document) { out += document; });
}

// The workload clusters that are looked after from here.
std::string hub_json(const replica::Hub& hub) {
  std::string out;
  {
    Members array(out, '[', ']');
    hub.for_each([&](const std::string& cluster, const replica::Replica&) { append_json(array.next(), cluster); });
  }
  return out;
}

}  // namespace

void StateCounts::add(const std::string& profile, std::string_view state, int by) {
  const auto known = profiles::parse_state(state);
  if (known) counts_[profile][profiles::index_of(*known)] += by;
}

std::string StateCounts::json(const replica::Replica& replica) const {
  std::map<std::string, std::array<int, 3>> all;
  for (const auto& [name, counts] : counts_) {
    if (counts != std::array<int, 3>{}) all.emplace(name, counts);
  }
  const profiles::Config* config = config_of(replica);
  if (config) {
    for (const auto& [name, profile] : config->profiles) {
      // `default` is there also when nobody has defined it.
      const bool says_something = std::any_of(profile.states.begin(), profile.states.end(),
                                              [](const auto& chains) { return !chains.transitions.empty(); });
      if (says_something) all.try_emplace(name);
    }
  }
  return array_json(all, [](std::string& out, const auto& entry) {
    Members members(out, '{', '}');
    append_json(members.next("name"), entry.first);
    Members states(members.next("states"), '{', '}');
    for (const profiles::State state : profiles::kStates) {
      append_json(states.next(profiles::name_of(state)), entry.second[profiles::index_of(state)]);
    }
  });
}

Sections make_sections(const Shown& shown, const Work& work) {
  const replica::Replica& replica = shown.replica;
  std::string careen, pauses, limits, claims, drains, problems;
  append_careen(careen, shown);
  append_problems(problems, shown);
  append_pauses(pauses, replica.pauses().all());
  append_limits(limits, replica.limits(), replica.now());
  append_claims(claims, claims_of(replica, work));
  append_drains(drains, replica, sorted_drains(work));
  Sections sections{
      {"careen", std::move(careen)},
      {"pauses", std::move(pauses)},
      {"budgets", array_json(budgets_of(replica), [](std::string& out, const Budget& b) { append_json(out, b); })},
      {"limits", std::move(limits)},
      {"claims", std::move(claims)},
      {"drains", std::move(drains)}};
  for (const controllers::Kind* kind : replica::controller_kinds()) {
    if (!kind->section.empty()) sections.emplace_back(kind->section, objects_json(work.picture_of(*kind)));
  }
  if (const replica::Hub* const hub = replica.hub()) sections.emplace_back("hub", hub_json(*hub));
  sections.emplace_back("problems", std::move(problems));
  return sections;
}

std::string labels_json(const std::vector<std::string>& labels) {
  std::string out;
  append_json(out, labels);
  return out;
}

void append_entries(std::string& out, const std::vector<const Entry*>& entries) {
  Members array(out, '[', ']');
  for (const Entry* entry : entries) append_json(array.next(), *entry);
}

FleetPieces::FleetPieces(Shown shown, int64_t timeline_until, FleetListener listener)
    : shown_(std::move(shown)),
      timeline_until_(timeline_until),
      listener_(std::move(listener)),
      work_(shown_.replica),
      labels_(grouping_labels(shown_.replica)) {}

FleetPieces::FleetPieces(Shown shown) : FleetPieces(shown, shown.chronicle.timeline().next()) {}

bool FleetPieces::read(std::string& into) {
  if (state_ == State::complete) return false;
  if (state_ == State::nothing) begin(into);
  add_nodes(into);
  return true;
}

void FleetPieces::begin(std::string& into) {
  state_ = State::nodes;
  into += "{\"time\":";
  append_json(into, shown_.replica.now());
  into += ",\"labels\":" + labels_json(labels_) + ",\"nodes\":[";
  if (listener_.labels) listener_.labels(labels_);
  shown_.replica.nodes().for_each([this](const kube::Node& node) { names_.push_back(node.name); });
  std::sort(names_.begin(), names_.end(), kube::NameOrder());
}

void FleetPieces::add_nodes(std::string& into) {
  const size_t enough = into.size() + kPiece;
  for (int count = 0; count < kNodesAtOnce && into.size() < enough; ++count) {
    if (next_ == names_.size()) return end(into);
    const std::string& name = names_[next_++];
    const kube::Node* node = shown_.replica.nodes().find(name);
    if (!node) continue;
    const Row row = make_row(shown_, *node, labels_, work_);
    for (const auto& [profile, state] : row.profiles) counts_.add(profile, state);
    if (listener_.row) listener_.row(name, row);
    if (!std::exchange(first_, false)) into += ',';
    into += row.json;
  }
}

void FleetPieces::end(std::string& into) {
  state_ = State::complete;
  into += ']';
  Sections sections = make_sections(shown_, work_);
  sections.emplace_back("profiles", counts_.json(shown_.replica));
  for (const auto& [name, json] : sections) {
    into += ",\"";
    into += name;
    into += "\":" + json;
  }
  if (listener_.sections) listener_.sections(sections);
  const Timeline& timeline = shown_.chronicle.timeline();
  const auto newer = static_cast<size_t>(std::max<int64_t>(timeline.next() - timeline_until_, 0));
  auto entries = timeline.latest(kFleetTimeline + newer);
  entries.resize(entries.size() - std::min(newer, entries.size()));
  into += ",\"timeline\":";
  append_entries(into, entries);
  into += '}';
}

}  // namespace careen::view
