#include "requests_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/names.h"
#include "perturbation.h"
#include "settings.h"

namespace careen::explore {

using kube::Json;

namespace {

// By then careen has heard of what others have done, if nothing is in the way of that.
constexpr io::Duration kHeardOf = io::seconds{10};

// Between a decision and the write that shows it.
constexpr io::Duration kWriteTakes = io::seconds{1};

bool says_foreign_place(std::string_view ledger, const std::string& node) {
  return ledger.find(R"(node\":\")" + node + R"(\",\"by\":\"foreign/)") != std::string_view::npos;
}

// Clocks differ, and the age of an object is told in whole seconds.
bool is_earlier(io::Duration a, io::Duration b) { return a + kFurthestOff + io::seconds{1} < b; }

}  // namespace

void RequestsWatch::changed(const sim::Change& change, const Circumstances& circumstances) {
  if (change.collection == kRequestsPath) return request_changed(change, circumstances);
  const bool is_node = change.collection == "/api/v1/nodes";
  if (is_node || change.collection == kDaemonSetsPath) governors_.changed(change, circumstances.by_careen);
  if (is_node) return node_changed(change, circumstances);
  if (change.collection == kDaemonSetsPath) return;
  if (change.collection == kWebhooksPath) return;
  if (change.collection == "/api/v1/pods") return pod_changed(change);
  if (change.name != "careen-ledger") return;
  const std::string before = std::exchange(ledger_, change.object ? *change.object : std::string());
  for (const auto& [name, node] : nodes_) {
    if (says_foreign_place(before, name) && !says_foreign_place(ledger_, name)) foreign_until_[name] = now_();
  }
  if (!queues_ && ledger_.find(R"(\"by\":\"queue/)") != std::string::npos) queues_ = now_();
}

void RequestsWatch::request_changed(const sim::Change& change, const Circumstances& circumstances) {
  if (const auto known = requests_.find(change.name); known != requests_.end() && known->second.running()) {
    if (const auto node = nodes_.find(known->second.node); node != nodes_.end()) node->second.out_until = now_();
  }
  if (change.type == sim::Change::Type::deleted) {
    requests_.erase(change.name);
    return;
  }
  const auto object = Json::parse(*change.object);
  const kube::JsonView spec = (*object)["spec"];
  Request& request = requests_[change.name];
  if (change.type == sim::Change::Type::added) {
    request = {};
    request.made = now_();
  }
  request.node = spec["name"].text().value_or("");
  const std::string before = std::exchange(request.state, std::string(spec["state"].text().value_or("Pending")));
  if (before == request.state || !circumstances.by_careen) return;
  check_step(change.name, before, request);
  if (request.state != "Approved") return;
  // Two on one node have one place.
  const bool was_out = is_own(request.node) || has_foreign_place(request.node);
  request.approved_by_careen = true;
  const bool just_gone = has_just_gone(request.node, circumstances);
  if (!nodes_.contains(request.node) && !just_gone)
    report_("request", fmt::format("{} is approved for {}, which is not there", change.name, request.node));
  if (circumstances.exact && !has_place_on_record(change.name))
    report_("request", change.name + " is approved although its place is not on record");
  check_alone(request.node);
  if (!was_out) check_cap(request.node, "request " + change.name, circumstances);
  if (plan_->drains_first) return check_drained(change.name, request.node, just_gone);
  if (circumstances.exact && circumstances.informed) check_turn(change.name, request, circumstances);
}

void RequestsWatch::check_step(const std::string& name, const std::string& from, const Request& now) {
  const bool right = (now.state == "Approved" && (from == "Pending" || from.empty())) || now.state == "Rejected" ||
                     (now.state == "Completed" && from == "InProgress");
  if (!right || from == "Completed")
    report_("request", fmt::format("careen takes {} from {} to {}", name, from, now.state));
}

void RequestsWatch::node_changed(const sim::Change& change, const Circumstances& circumstances) {
  if (change.type == sim::Change::Type::deleted) {
    nodes_.erase(change.name);
    gone_[change.name] = now_();
    return;
  }
  const auto object = Json::parse(*change.object);
  Node& node = nodes_[change.name];
  if (node.in_profile || std::min(node.cordoned_since, node.unready_since) != kFree) node.out_until = now_();
  const auto since = [&](bool holds, io::Duration& begun) {
    if (!holds) begun = kFree;
    if (holds && begun == kFree) begun = now_();
  };
  bool ready = true;
  (*object)["status"]["conditions"].for_each_element([&](kube::JsonView condition) {
    if (condition["type"].text() == "Ready") ready = condition["status"].text() == "True";
  });
  since(!ready, node.unready_since);
  const bool held = (*object)["metadata"]["annotations"]["careen.dev/holds"].text().has_value();
  since((*object)["spec"]["unschedulable"].boolean().value_or(false) && !held, node.cordoned_since);
  follow_holds(change.name, node, *object, circumstances);
  if (node.cordoned_since == kFree) {
    node.turn = Node::Turn::none;
    node.waits_since = node.asked = kFree;
  }
  const kube::JsonView labels = (*object)["metadata"]["labels"];
  std::string zone(labels[kZone].text().value_or(""));
  if (std::exchange(node.zone, zone) != zone) zones_changed_ = now_();
  const auto state = labels[profiles::kStateLabel].text();
  // What others write there careen takes back: it knows the state.
  if (circumstances.by_careen) since(state == "maintenance-required", node.required_since);
  const bool maintained = state == "in-maintenance";
  if (!maintained) node.in_profile = false;
  // Somebody else says so, and is believed for as long as that stands.
  if (maintained && !circumstances.by_careen && !node.in_profile) node.declared_until = now_();
  if (!maintained || node.in_profile || !circumstances.by_careen) return;
  const bool was_out = is_own(change.name) || has_foreign_place(change.name);
  node.in_profile = true;
  if (!was_out) check_cap(change.name, "a profile", circumstances);
}

void RequestsWatch::pod_changed(const sim::Change& change) {
  const bool gone = change.type == sim::Change::Type::deleted;
  const auto object = Json::parse(gone ? *change.before : *change.object);
  const std::string node((*object)["spec"]["nodeName"].text().value_or(""));
  if (gone) pods_[node].erase(change.name);
  if (change.type == sim::Change::Type::added) pods_[node][change.name] = now_();
}

// Whoever is about to be approved gets his place with the cordon.
void RequestsWatch::follow_holds(const std::string& name, Node& node, const Json& object,
                                 const Circumstances& circumstances) {
  constexpr std::string_view kOwner = "request/";
  std::map<std::string, io::Duration> held;
  const auto record = Json::parse(object["metadata"]["annotations"]["careen.dev/holds"].text().value_or("{}"));
  if (record) {
    (*record)["holds"].for_each_member([&](std::string_view owner, kube::JsonView) {
      if (!owner.starts_with(kOwner)) return;
      const std::string request(owner.substr(kOwner.size()));
      const auto known = node.held_for.find(request);
      held[request] = known == node.held_for.end() ? now_() : known->second;
    });
  }
  // As it was when that was decided.
  const bool just_out = node.out_until > now_() - kWriteTakes;
  const bool was_out = is_own(name) || has_foreign_place(name) || just_out;
  std::swap(node.held_for, held);
  if (!circumstances.by_careen) return;
  for (const auto& [request, since] : node.held_for) {
    const auto known = requests_.find(request);
    if (held.contains(request) || known == requests_.end()) continue;
    if (!was_out) check_cap(name, "the cordon for " + request, circumstances);
    if (circumstances.exact && circumstances.informed) check_turn(request, known->second, circumstances);
  }
}

// It went, and careen cannot have heard of that yet.
bool RequestsWatch::has_just_gone(const std::string& node, const Circumstances& circumstances) const {
  const auto gone = gone_.find(node);
  return gone != gone_.end() && (!circumstances.informed || gone->second > now_() - kHeardOf);
}

// What was there when it was cordoned has gone, unless the time for that is over.
void RequestsWatch::check_drained(const std::string& request, const std::string& name, bool just_gone) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return;
  const auto held = node->second.held_for.find(request);
  if (held == node->second.held_for.end() && just_gone) return;  // it has been made anew
  if (held == node->second.held_for.end())
    return report_("request", fmt::format("{} is approved although {} is not held for it", request, name));
  for (const auto& [pod, made] : pods_[name]) {
    if (made < held->second)
      report_("request", fmt::format("{} is approved although {} is still on {}", request, pod, name));
  }
}

bool RequestsWatch::has_place_on_record(const std::string& request) const {
  return ledger_.find("request/" + request) != std::string::npos;
}

bool RequestsWatch::is_own(const std::string& node) const {
  const auto known = nodes_.find(node);
  if (known != nodes_.end() && (known->second.in_profile || !known->second.held_for.empty())) return true;
  return std::any_of(requests_.begin(), requests_.end(), [&](const auto& one) {
    return one.second.node == node && one.second.running() && one.second.approved_by_careen;
  });
}

bool RequestsWatch::has_foreign_place(const std::string& node) const {
  const auto known = nodes_.find(node);
  if (known != nodes_.end()) {
    if (known->second.turn == Node::Turn::allowed) return true;
    if (known->second.declared_until > now_() - kWriteTakes) return true;
  }
  const auto until = foreign_until_.find(node);
  const bool just_gone = until != foreign_until_.end() && until->second > now_() - kWriteTakes;
  return just_gone || says_foreign_place(ledger_, node);
}

std::string RequestsWatch::zone_of(const std::string& node) const {
  const auto known = nodes_.find(node);
  return known == nodes_.end() ? std::string() : known->second.zone;
}

bool RequestsWatch::in_its_group(const std::string& node, const std::string& other) const {
  return !plan_->cap.by_zone || zone_of(node) == zone_of(other);
}

void RequestsWatch::check_alone(const std::string& added) {
  const auto running = std::count_if(requests_.begin(), requests_.end(), [&](const auto& one) {
    return one.second.node == added && one.second.running() && one.second.approved_by_careen;
  });
  if (running > 1) report_("request", fmt::format("{} requests run on {}", running, added));
}

std::vector<std::string> RequestsWatch::out_with(const std::string& added, io::Duration heard_of) const {
  std::vector<std::string> out;
  for (const auto& [name, node] : nodes_) {
    if (!in_its_group(name, added)) continue;
    // Who waits serves on; and what careen was not asked about it cannot be blamed for.
    const bool cordoned = node.cordoned_since <= heard_of && !node.waits() && node.turn != Node::Turn::passed;
    const bool foreign = plan_->cap.counts_others && (cordoned || node.unready_since <= heard_of);
    if (name != added && !is_own(name) && !foreign && node.turn != Node::Turn::allowed) continue;
    out.push_back(name);
  }
  return out;
}

void RequestsWatch::check_cap(const std::string& added, const std::string& what, const Circumstances& circumstances) {
  // Whoever was down needs no part of the limit.
  const auto known = nodes_.find(added);
  const bool down = known != nodes_.end() && known->second.unready_since != kFree;
  if (!circumstances.exact || down) return;
  if (plan_->cap.by_zone && (!circumstances.informed || zones_changed_ > now_() - kHeardOf)) return;
  const io::Duration heard_of = circumstances.informed ? now_() - kHeardOf : io::Duration::min();
  const std::vector<std::string> out = out_with(added, heard_of);
  if (static_cast<int>(out.size()) <= plan_->cap.nodes) return;
  std::string all;
  for (const std::string& name : out) all += fmt::format(" {}{}", name, is_own(name) ? "" : " (others)");
  report_("cap", fmt::format("{} takes {} out; out are{}", what, added, all));
}

// What had begun before others had to wait may go on; everybody else needs a place first.
void RequestsWatch::evicted(const Evicted& what, const Circumstances& circumstances) {
  const auto known = nodes_.find(what.node);
  if (known == nodes_.end()) return;
  Node& node = known->second;
  // Evictions from a node that takes pods are nobody's business.
  if (node.cordoned_since == kFree) return;
  node.of_person = !what.user.starts_with("system:serviceaccount:");
  node.asked = now_();
  switch (what.passage) {
    case Passage::refused:
      if (node.turn != Node::Turn::none) return;
      node.turn = Node::Turn::waits;
      node.waits_since = now_();
      return;
    case Passage::allowed:
      if (node.turn != Node::Turn::none && node.turn != Node::Turn::waits) return;
      check_allowed(what.node, circumstances);
      node.turn = Node::Turn::allowed;
      return;
    case Passage::open:
      if (circumstances.exact && circumstances.informed)
        report_("queue", fmt::format("an eviction from {} passes as if nobody decided", what.node));
      [[fallthrough]];
    default:
      if (node.turn != Node::Turn::allowed) node.turn = Node::Turn::passed;
  }
}

void RequestsWatch::check_allowed(const std::string& node, const Circumstances& circumstances) {
  const Node& asked = nodes_.at(node);
  if (is_own(node) || !queues_ || asked.cordoned_since <= *queues_) return;
  const std::string place = R"(node\":\")" + node + R"(\",\"by\":\")";
  if (circumstances.exact && circumstances.informed && ledger_.find(place) == std::string::npos)
    report_("queue", fmt::format("an eviction from {} is allowed, which has no place on record", node));
  check_cap(node, "an eviction from " + node, circumstances);
  if (circumstances.exact && circumstances.informed) check_turn_of_drain(node, circumstances);
}

std::string RequestsWatch::waiting_before(const std::string& node, bool person, io::Duration since,
                                          const Circumstances& circumstances) const {
  // Whose turn it is has his place until he asks again.
  const int room = plan_->cap.nodes - static_cast<int>(out_with(node, io::Duration::min()).size());
  int waiting_before = 0;
  for (const auto& [other, waiting] : nodes_) {
    if (other == node || !waiting.waits() || is_own(other) || !in_its_group(other, node)) continue;
    // A leader learns of those who wait when they come again.
    if (waiting.waits_since < circumstances.leads_since + kHeardOf || waiting.waits_since > now_() - kHeardOf) continue;
    if (waiting.unready_since != kFree || waiting.asked < now_() - kHeardOf) continue;
    const bool before = waiting.of_person == person ? is_earlier(waiting.waits_since, since) : waiting.of_person;
    if (before && ++waiting_before > room) return other;
  }
  return {};
}

void RequestsWatch::check_turn_of_drain(const std::string& node, const Circumstances& circumstances) {
  const Node& asked = nodes_.at(node);
  if (asked.unready_since != kFree || asked.out_until > now_() - kHeardOf) return;
  if (zones_changed_ != io::Duration::min() && zones_changed_ > now_() - kHeardOf) return;
  const io::Duration since = asked.waits_since == kFree ? now_() : asked.waits_since;
  const std::string other = waiting_before(node, asked.of_person, since, circumstances);
  if (!other.empty())
    report_("turn", fmt::format("an eviction from {} is allowed before one from {}, which comes first", node, other));
}

void RequestsWatch::check_turn(const std::string& name, const Request& approved, const Circumstances& circumstances) {
  // A node that is out already, or about to be, needs no place of its own.
  const auto own = nodes_.find(approved.node);
  if (own == nodes_.end() || std::min(own->second.unready_since, own->second.cordoned_since) != kFree ||
      own->second.out_until > now_() - kHeardOf || own->second.in_profile ||
      ledger_.find(R"(node\":\")" + approved.node + R"(\",\"by\":\"profile/)") != std::string::npos) {
    return;
  }
  for (const auto& [other, waiting] : requests_) {
    const bool waits = waiting.state == "Pending" || waiting.state.empty();
    if (other == name || !waits || !is_earlier(waiting.made, approved.made) || waiting.made > now_() - kHeardOf)
      continue;
    if (!in_its_group(waiting.node, approved.node)) continue;
    const auto node = nodes_.find(waiting.node);
    if (node == nodes_.end() || node->second.unready_since != kFree) continue;
    // When it is a node's turn, whoever wants it may have it. A profile's time is that of careen's clock.
    if (own->second.required_since != kFree && !is_earlier(waiting.made, own->second.required_since)) continue;
    // Its node is out for somebody else, or it has its place and is about to be told.
    if (is_own(waiting.node) || node->second.cordoned_since != kFree) continue;
    if (node->second.out_until > now_() - kHeardOf) continue;
    if (has_place_on_record(other)) continue;
    return report_("turn", fmt::format("{} is approved before {}, which has waited longer", name, other));
  }
  if (own->second.required_since != kFree || has_foreign_place(approved.node)) return;
  const std::string other = waiting_before(approved.node, false, approved.made, circumstances);
  if (!other.empty())
    report_("turn", fmt::format("{} is approved before a drain of {}, which comes first", name, other));
}

void RequestsWatch::check_end() {
  governors_.check_end();
  for (const auto& [name, node] : nodes_) {
    if (node.waits()) report_("queue", fmt::format("a drain of {} waits for its turn in the end", name));
    if (!node.held_for.empty())
      report_("request", fmt::format("{} is held for {} in the end", name, node.held_for.begin()->first));
  }
  for (const auto& [name, request] : requests_) {
    if (!request.finished())
      report_("request", fmt::format("{} for {} is still {} in the end", name, request.node, request.state));
  }
}

}  // namespace careen::explore
