#include "controllers/requests/limit_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controllers/requests/roster.h"
#include "io/whole_seconds.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "limits/facts.h"
#include "limits/limit.h"

namespace careen::requests {

using kube::Json;
using kube::JsonView;
using limits::Limit;

namespace {

constexpr size_t kMostUnavailable = 1000;
constexpr size_t kMostGroups = 100;
constexpr size_t kMostQueued = 100;
constexpr size_t kMostUsers = 20;
// Expected times are guesses: they are written anew when they have moved by more than that.
constexpr io::Duration kGuess = io::minutes{5};

std::string time_text(io::Wall time) { return io::format_rfc3339(io::whole_seconds(time)); }

std::optional<limits::Policy> matched(const Limit& limit, const kube::Node& node, bool not_ready_only_false) {
  for (const limits::Policy policy : limit.policies) {
    const bool matches =
        policy == limits::Policy::not_ready ? limits::is_not_ready(node, not_ready_only_false) : node.unschedulable;
    if (matches) return policy;
  }
  return std::nullopt;
}

bool is_of(std::string_view group, const std::string& limit) {
  return group.starts_with(limit) && (group.size() == limit.size() || group[limit.size()] == '/');
}

Json used_by(const std::vector<limits::Holder>& holders) {
  struct Use {
    int64_t nodes = 0;
    const limits::Holder* first = nullptr;
  };
  std::vector<std::pair<std::string_view, Use>> uses;
  for (const limits::Holder& holder : holders) {
    auto found = std::ranges::find(uses, std::string_view(holder.actor), &std::pair<std::string_view, Use>::first);
    if (found == uses.end()) {
      if (uses.size() == kMostUsers) continue;
      found = uses.insert(uses.end(), {holder.actor, {0, &holder}});
    }
    ++found->second.nodes;
  }
  Json list = Json::array();
  for (const auto& [actor, use] : uses) {
    Json one = Json::object({{"actor", actor}, {"nodes", use.nodes}});
    if (use.nodes == 1) one.set({"node"}, use.first->node);
    if (use.first->since) one.set({"since"}, time_text(*use.first->since));
    list.push_back(std::move(one));
  }
  return list;
}

Json groups_json(const std::vector<limits::GroupState>& groups) {
  Json list = Json::array();
  for (const limits::GroupState& group : groups) {
    if (list.view().size() == kMostGroups) break;
    Json values = Json::array();
    for (const std::string& value : group.values) values.push_back(value);
    list.push_back(Json::object({{"values", std::move(values)},
                                 {"total", group.total},
                                 {"expected", group.expected},
                                 {"cap", group.cap},
                                 {"used", group.used},
                                 {"missing", group.missing},
                                 {"free", group.free()},
                                 {"parallel", group.parallel},
                                 {"working", group.working},
                                 {"waiting", static_cast<int64_t>(group.waiting)},
                                 {"usedBy", used_by(group.holders)}}));
  }
  return list;
}

Json queue_json(const std::vector<limits::Waiting>& queue) {
  Json list = Json::array();
  for (const limits::Waiting& one : queue) {
    Json entry = Json::object({{"node", one.asking.node},
                               {"actor", one.asking.actor},
                               {"class", limits::name_of(one.rank)},
                               {"since", time_text(one.asking.since)}});
    if (one.expected) {
      const auto steps = one.expected->time_since_epoch() / kGuess + 1;
      entry.set({"expected"}, time_text(io::Wall(steps * kGuess)));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

struct Said {
  std::string_view type;
  bool holds;
  std::string reason, message;
};

// Only said where it matters.
constexpr std::string_view kServing = "WebhookServing";

// Those of others stay as they are.
Json conditions_json(const std::vector<Said>& ours, JsonView there, int64_t generation, io::Wall now) {
  Json list = Json::array();
  there.for_each_element([&](JsonView one) {
    const auto type = one["type"].text();
    if (!type || *type == kServing || std::ranges::find(ours, *type, &Said::type) != ours.end()) return;
    list.push_back(Json(one));
  });
  for (const Said& said : ours) {
    const std::string_view status = said.holds ? "True" : "False";
    std::string since = time_text(now);
    there.for_each_element([&](JsonView one) {
      if (one["type"].text() != said.type || one["status"].text() != status) return;
      if (const auto text = one["lastTransitionTime"].text()) since = *text;
    });
    list.push_back(Json::object({{"type", said.type},
                                 {"status", status},
                                 {"reason", said.reason},
                                 {"message", said.message},
                                 {"observedGeneration", generation},
                                 {"lastTransitionTime", since}}));
  }
  return list;
}

bool is_nothing(JsonView value) {
  if (!value || value.is_null()) return true;
  if (value.is_object() || value.is_array()) return value.size() == 0;
  return value.integer() == 0;
}

}  // namespace

LimitPicture picture_of_limit(const Limit& limit, const kube::Store<kube::Node>& nodes, const Roster& roster,
                              const limits::Desk& desk, bool not_ready_only_false) {
  LimitPicture picture;
  if (limit.subject != limits::Subject::node) return picture;
  nodes.for_each([&](const kube::Node& node) {
    if (!limit.selects(node)) return;
    ++picture.total;
    const auto policy = matched(limit, node, not_ready_only_false);
    if (!policy) return;
    ++picture.unavailable_count;
    if (picture.unavailable.size() < kMostUnavailable) picture.unavailable.emplace(node.name, limits::name_of(*policy));
  });
  picture.nominal = limit.nominal(picture.total);
  roster.for_each([&](const std::string&, const Roster::Entry& entry) {
    const kube::Node* const node = nodes.find(entry.node);
    if (!node || !limit.selects(*node)) return;
    ++(entry.placed ? picture.running : picture.pending);
  });
  for (limits::GroupState& group : desk.groups_of(limit.name)) {
    if (group.used > group.cap) {
      picture.within = false;
      if (picture.beyond_by.empty()) {
        picture.beyond_by = fmt::format("{}: {} of {} are out", group.name(), group.used, group.cap);
      }
    }
    picture.groups.push_back(std::move(group));
  }
  for (limits::Waiting& one : desk.queue()) {
    if (picture.queue.size() == kMostQueued) break;
    if (std::ranges::any_of(one.groups, [&](const std::string& group) { return is_of(group, limit.name); })) {
      picture.queue.push_back(std::move(one));
    }
  }
  return picture;
}

std::optional<Json> limit_status_change(const Limit& limit, const LimitPicture& picture, JsonView status,
                                        io::Wall now) {
  Json wanted = Json::object({{"limit", picture.allowed()},
                              {"total", picture.total},
                              {"running", picture.running},
                              {"pending", picture.pending},
                              {"observedGeneration", limit.generation},
                              {"groups", groups_json(picture.groups)},
                              {"queue", queue_json(picture.queue)}});
  if (picture.times.approved) wanted.set({"lastApprovalTime"}, time_text(*picture.times.approved));
  if (picture.times.finished) wanted.set({"lastFinishTime"}, time_text(*picture.times.finished));
  std::vector<Said> said{limit.mistake.empty() ? Said{"Valid", true, "Valid", "it is understood"}
                                               : Said{"Valid", false, limit.mistake_reason, limit.mistake}};
  if (limit.subject == limits::Subject::node) {
    said.push_back(picture.within ? Said{"WithinBudget", true, "WithinBudget", "no more are out than may be"}
                                  : Said{"WithinBudget", false, "BeyondBudget", picture.beyond_by});
  }
  if (picture.asked) {
    said.push_back(*picture.asked ? Said{kServing, true, "Registered", "others wait their turn"}
                                  : Said{kServing, false, "NotRegistered",
                                         "the limit only observes what others do: " + picture.not_asked});
  }
  wanted.set({"conditions"}, conditions_json(said, status["conditions"], limit.generation, now));
  Json change = Json::object();
  wanted.view().for_each_member([&](std::string_view key, JsonView value) {
    const JsonView there = status[key];
    if (value == there || (is_nothing(value) && is_nothing(there))) return;
    change.set({key}, is_nothing(value) ? Json() : Json(value));
  });
  const JsonView there = status["unavailable"];
  for (const auto& [node, policy] : picture.unavailable) {
    if (there[node].text() != policy) change.set({"unavailable", node}, policy);
  }
  there.for_each_member([&](std::string_view node, JsonView) {
    if (!picture.unavailable.contains(std::string(node))) change.set({"unavailable", node}, Json());
  });
  if (change.view().size() == 0) return std::nullopt;
  return change;
}

bool changes_allowance(const Json& change) { return change["limit"].exists() || change["unavailable"].exists(); }

}  // namespace careen::requests
