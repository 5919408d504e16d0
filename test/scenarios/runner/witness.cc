#include "witness.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"
#include "controllers/slot/job.h"
#include "controllers/slot/kind.h"
#include "kube/decode.h"
#include "replica/controllers.h"
#include "replica/replica.h"
#include "scenario.h"
#include "troubles.h"

namespace careen::scenarios {

using kube::Json;
using kube::JsonView;

namespace {

std::string replica_of(std::string_view client) { return std::string(client.substr(0, client.find('/'))); }
bool is_careen(std::string_view client) { return client.starts_with("careen-"); }

std::map<std::string, std::string> texts(JsonView object) {
  std::map<std::string, std::string> out;
  object.for_each_member([&](std::string_view key, JsonView value) {
    if (const auto text = value.text()) out.emplace(key, *text);
  });
  return out;
}

std::string text_or(JsonView value, std::string_view otherwise = "") {
  return std::string(value.text().value_or(otherwise));
}

NodeView node_view(const Json& node) {
  NodeView view;
  view.labels = texts(node.at("/metadata/labels"));
  view.annotations = texts(node.at("/metadata/annotations"));
  view.cordoned = node.at("/spec/unschedulable").boolean().value_or(false);
  node.at("/spec/taints").for_each_element([&](JsonView taint) {
    const std::string value = text_or(taint["value"]);
    view.taints.push_back(
        fmt::format("{}{}:{}", text_or(taint["key"]), value.empty() ? "" : "=" + value, text_or(taint["effect"])));
  });
  node.at("/status/conditions").for_each_element([&](JsonView condition) {
    if (text_or(condition["type"]) == "Ready") view.ready = text_or(condition["status"]) == "True";
  });
  return view;
}

std::string data_of(const NodeView& view) {
  const auto it = view.annotations.find(std::string(profiles::kDataAnnotation));
  return it == view.annotations.end() ? std::string() : it->second;
}

// What a profile went through: "reboot: operational → maintenance-required".
std::vector<std::string> moves(const NodeView& before, const NodeView& after) {
  const auto old_data = profiles::parse_node_data(data_of(before));
  const auto new_data = profiles::parse_node_data(data_of(after));
  std::vector<std::string> out;
  if (!old_data || !new_data) return out;
  for (const auto& [profile, now] : new_data->profiles) {
    const auto was = old_data->profiles.find(profile);
    if (was == old_data->profiles.end()) {
      out.push_back(fmt::format("{}: begins {}", profile, now.current.text()));
    } else if (!(was->second.current == now.current)) {
      out.push_back(fmt::format("{}: {} → {}", profile, was->second.current.text(), now.current.text()));
    }
  }
  for (const auto& [profile, was] : old_data->profiles) {
    if (!new_data->profiles.contains(profile)) out.push_back(fmt::format("{}: is forgotten", profile));
  }
  return out;
}

void changed_keys(std::string_view what, const std::map<std::string, std::string>& before,
                  const std::map<std::string, std::string>& after, std::vector<std::string>& out) {
  const auto own = [](const std::string& key) {
    return key == profiles::kStateLabel || key == profiles::kDataAnnotation;
  };
  for (const auto& [key, value] : after) {
    const auto was = before.find(key);
    if (!own(key) && (was == before.end() || was->second != value)) {
      out.push_back(fmt::format("sets {} {}={}", what, key, value));
    }
  }
  for (const auto& [key, value] : before) {
    if (!own(key) && !after.contains(key)) out.push_back(fmt::format("removes {} {}", what, key));
  }
}

}  // namespace

std::string NodeView::state() const {
  const auto it = labels.find(std::string(profiles::kStateLabel));
  return it == labels.end() ? std::string() : it->second;
}

Witness::Witness(io::Loop& loop, sim::Cluster& cluster, Timeline& timeline, Explain explain)
    : loop_(loop), timeline_(timeline), explain_(std::move(explain)), pods_(cluster.api, timeline) {
  cluster.api.observe([this](const sim::Change& change) { see(change); });
  cluster.network.served = [this](const sim::Sending& sending, const kube::Response& response) {
    if (!sending.writes() || !is_careen(sending.client)) return;
    pods_.see_request(loop_.now(), replica_of(sending.client), sending.request, response.status);
    if (response.status >= 300) return;
    writes_.push_back({loop_.now(), replica_of(sending.client), plural_of(sending.request.path)});
  };
  cluster.outside.on_message = [this, &cluster](const sim::Outside::Message& message) {
    hear(cluster.outside, message);
  };
  cluster.outside.on_query = [this] {
    if (on_change) on_change();
  };
}

// The first line tells enough.
void Witness::hear(const sim::Outside& outside, const sim::Outside::Message& message) {
  std::string what = fmt::format("to {}: {}", message.to, message.text.substr(0, message.text.find('\n')));
  const auto& all = outside.messages();
  const auto opens = [&](const sim::Outside::Message& other) { return other.id == message.thread; };
  if (const auto title = std::find_if(all.begin(), all.end(), opens); !message.thread.empty() && title != all.end()) {
    what += fmt::format("  (in the thread \"{}\")", title->text.substr(0, title->text.find('\n')));
  }
  timeline_.add({loop_.now(), message.way == "mail" ? "mail" : "slack", std::move(what), {}, {}});
  if (on_change) on_change();
}

void Witness::see(const sim::Change& change) {
  const auto& kinds = replica::object_kinds();
  const auto locked =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto* kind) { return kind->lock == change.name; });
  const bool lock = locked != kinds.end() || change.name == profiles::kLock;
  if (change.collection == "/api/v1/nodes") see_node(change);
  if (change.collection.ends_with("/events")) see_event(change);
  if (change.collection == "/api/v1/pods") pods_.see(change, is_careen(change.by));
  for (const controllers::Kind* kind : kinds) {
    if (change.collection == kind->object.path()) see_job(change, *kind);
  }
  if (lock) {
    see_lock(change, locked == kinds.end() ? "the leader's lock"
                                           : fmt::format("the lock of {} objects", (*locked)->object.kind));
  }
  if (change.collection == "/api/v1/nodes" && on_node) on_node();
  if (!lock && on_change) on_change();
}

void Witness::see_node(const sim::Change& change) {
  const NodeView before = nodes_[change.name];
  if (change.type == sim::Change::Type::deleted) {
    nodes_.erase(change.name);
    return;
  }
  NodeView& after = nodes_[change.name] = node_view(*Json::parse(*change.object));
  if (before.state() != "in-maintenance" && after.state() == "in-maintenance") {
    entries_.push_back({change.at, change.name});
  }
  tell_of_node(change, before, after);
}

// That a new node becomes ready is no news.
void Witness::tell_of_readiness(const sim::Change& change, const NodeView& before, const NodeView& after) {
  if (before.ready && !after.ready) {
    lost_.insert(change.name);
    timeline_.add({change.at, "cluster", "is not ready", change.name, {}});
  } else if (after.ready && lost_.erase(change.name) > 0) {
    timeline_.add({change.at, "cluster", "is ready again", change.name, {}});
  }
}

void Witness::tell_of_node(const sim::Change& change, const NodeView& before, const NodeView& after) {
  if (!is_careen(change.by)) {
    tell_of_readiness(change, before, after);
    return;
  }
  const std::string replica = replica_of(change.by);
  auto happened = moves(before, after);
  const bool moved = !happened.empty();
  std::vector<std::string> keys;
  if (before.cordoned != after.cordoned) keys.emplace_back(after.cordoned ? "cordons it" : "uncordons it");
  changed_keys("label", before.labels, after.labels, keys);
  changed_keys("annotation", before.annotations, after.annotations, keys);
  if (happened.empty() && before.state() != after.state()) {
    happened.push_back(
        fmt::format("state label: {} → {}", before.state().empty() ? "none" : before.state(), after.state()));
  }
  if (happened.empty() && keys.empty()) return;
  Moment moment{change.at, replica, {}, change.name, {}};
  moment.what = fmt::format("{}", fmt::join(happened, ", "));
  if (happened.empty()) std::swap(moment.what, keys.front());
  if (const auto decision = moved ? explain_(replica, change.name) : std::nullopt;
      decision && !decision->effects.moved.empty()) {
    moment.details = reasons_to_move(decision->why);
  }
  for (std::string& key : keys) {
    if (!key.empty()) moment.details.push_back(std::move(key));
  }
  timeline_.add(std::move(moment));
}

void Witness::see_event(const sim::Change& change) {
  if (change.type == sim::Change::Type::deleted) return;
  const auto event = Json::parse(*change.object);
  EventSeen seen{change.at, text_or((*event)["reason"]), {}, {}, 1};
  seen.about = text_or(event->at("/regarding/name"), text_or(event->at("/involvedObject/name")));
  seen.note = text_or((*event)["note"], text_or((*event)["message"]));
  const auto series = event->at("/series/count").integer();
  const int count = static_cast<int>(series.value_or((*event)["count"].integer().value_or(1)));
  int& known = event_counts_[change.ns + "/" + change.name];
  seen.times = count - known;
  known = count;
  if (seen.times > 0) events_.push_back(std::move(seen));
}

// When its state changes, and when it goes.
void Witness::see_job(const sim::Change& change, const controllers::Kind& kind) {
  const auto state = [&](const sim::Text& text) {
    const auto object = text ? kube::decode_object(*text) : io::Result<kube::Object>(io::fail({}, ""));
    return object ? kind.job_of(*object).state : "new";
  };
  const bool gone = change.type == sim::Change::Type::deleted;
  if (!gone && state(change.before) == state(change.object)) return;
  timeline_.add({change.at,
                 replica_of(change.by),
                 fmt::format("{} {}: {}", kind.object.kind, change.name,
                             gone ? "is gone" : fmt::format("{} → {}", state(change.before), state(change.object))),
                 {},
                 {}});
}

void Witness::see_lock(const sim::Change& change, std::string_view what) {
  const auto lease = Json::parse(*change.object);
  const std::string holder =
      change.type == sim::Change::Type::deleted ? "" : text_or(lease->at("/spec/holderIdentity"));
  std::string& known = holders_[change.name];
  if (holder == known) return;
  if (holder.empty()) {
    timeline_.add({change.at, replica_of(change.by), fmt::format("gives {} back", what), {}, {}});
  } else {
    timeline_.add({change.at, holder.substr(0, holder.find('_')), fmt::format("takes {}", what), {}, {}});
  }
  known = holder;
}

}  // namespace careen::scenarios
