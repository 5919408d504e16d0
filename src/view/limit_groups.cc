#include "view/limit_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "io/whole_seconds.h"
#include "kube/json_writer.h"
#include "kube/name_order.h"
#include "kube/node.h"
#include "limits/desk.h"
#include "limits/limit.h"

namespace careen::view {

namespace {

using kube::append_json;
using kube::Members;
using limits::Desk;
using limits::GroupState;
using limits::Holder;
using limits::Waiting;

// Whom the nodes of a group are out for, those with the most nodes first.
struct OfActor {
  std::string actor;
  std::vector<const Holder*> nodes;  // each once, longest first
};

std::vector<OfActor> by_actor(const std::vector<Holder>& holders) {
  std::map<std::string_view, OfActor> actors;
  for (const Holder& holder : holders) {
    OfActor& one = actors[holder.actor];
    one.actor = holder.actor;
    const bool known = std::ranges::any_of(one.nodes, [&](const Holder* other) { return other->node == holder.node; });
    if (!known) one.nodes.push_back(&holder);
  }
  std::vector<OfActor> all;
  for (auto& [name, one] : actors) all.push_back(std::move(one));
  std::ranges::sort(all, [](const OfActor& a, const OfActor& b) {
    return a.nodes.size() != b.nodes.size() ? a.nodes.size() > b.nodes.size() : a.actor < b.actor;
  });
  return all;
}

void append_since(Members& members, const std::optional<io::Wall>& since) {
  if (since) append_json(members.next("since"), io::whole_seconds(*since));
}

void append_actor(std::string& out, const OfActor& of) {
  Members members(out, '{', '}');
  append_json(members.next("actor"), of.actor);
  append_json(members.next("count"), of.nodes.size());
  Members nodes(members.next("nodes"), '[', ']');
  for (size_t i = 0; i < std::min(of.nodes.size(), kMostNodesOfActor); ++i) {
    Members node(nodes.next(), '{', '}');
    append_json(node.next("node"), of.nodes[i]->node);
    append_json(node.next("what"), of.nodes[i]->what);
    append_since(node, of.nodes[i]->since);
  }
}

void append_group(std::string& out, const GroupState& group, const limits::Limit* limit) {
  Members members(out, '{', '}');
  append_json(members.next("limit"), group.limit);
  append_json(members.next("values"), group.values);
  append_json(members.next("name"), group.name());
  append_json(members.next("mode"), limit ? limits::name_of(limit->mode) : std::string_view());
  if (limit && !limit->mistake.empty()) append_json(members.next("mistake"), limit->mistake);
  append_json(members.next("total"), group.total);
  append_json(members.next("expected"), group.expected);
  append_json(members.next("cap"), group.cap);
  append_json(members.next("used"), group.used);
  append_json(members.next("free"), group.free());
  append_json(members.next("missing"), group.missing);
  append_json(members.next("parallel"), group.parallel);
  append_json(members.next("working"), group.working);
  append_json(members.next("waiting"), group.waiting);
  {
    const std::vector<OfActor> actors = by_actor(group.holders);
    Members used_by(members.next("usedBy"), '[', ']');
    for (size_t i = 0; i < std::min(actors.size(), kMostActors); ++i) append_actor(used_by.next(), actors[i]);
  }
  Members overshoot(members.next("overshoot"), '[', ']');
  for (size_t i = 0; i < std::min(group.overshoot.size(), kMostNodesOfActor); ++i) {
    Members one(overshoot.next(), '{', '}');
    append_json(one.next("node"), group.overshoot[i].node);
    append_json(one.next("actor"), group.overshoot[i].actor);
  }
}

void append_waiting(std::string& out, const Waiting& waiting, size_t place, io::Wall now) {
  Members members(out, '{', '}');
  append_json(members.next("place"), place);
  append_json(members.next("node"), waiting.asking.node);
  append_json(members.next("who"), waiting.asking.who);
  append_json(members.next("actor"), waiting.asking.actor);
  append_json(members.next("rank"), limits::name_of(waiting.rank));
  append_json(members.next("since"), io::whole_seconds(waiting.asking.since));
  append_json(members.next("limits"), waiting.groups);
  // In the past it says no more than soon, and it would change all the time.
  if (waiting.expected && *waiting.expected > now) {
    append_json(members.next("expected"), io::whole_seconds(*waiting.expected));
  }
}

// profile/os-update is read as "profile os-update".
std::string words_of(std::string actor) {
  if (const size_t slash = actor.find('/'); slash != std::string::npos) actor[slash] = ' ';
  return actor;
}

std::string age_words(const std::optional<io::Wall>& since, io::Wall now) {
  if (!since || *since > now) return "";
  const auto seconds = std::chrono::duration_cast<io::seconds>(now - *since);
  return fmt::format(" for {}", io::format_duration(seconds));
}

std::string group_of(const limits::Limit& limit, const kube::Node& node) {
  GroupState state;
  state.limit = limit.name;
  for (const std::string& key : limit.group_by) {
    const kube::Atom* value = node.label(key);
    state.values.emplace_back(value ? value->view() : std::string_view());
  }
  return state.name();
}

Why group_why(const GroupState& group, const std::string& node, io::Wall now) {
  // A full limit is no answer to anything: only whoever waits for a place is held up by it.
  Why why{Why::Verdict::note,
          fmt::format("limit {}: {} of {} nodes may be out, {} {}", group.name(), group.cap, group.expected, group.used,
                      group.used == 1 ? "is" : "are"),
          {}};
  for (const Holder& holder : group.holders) {
    if (holder.node != node) continue;
    why.add(Why::Verdict::note,
            fmt::format("counts for {}: {}{}", words_of(holder.actor), holder.what, age_words(holder.since, now)));
  }
  for (const OfActor& of : by_actor(group.holders)) {
    std::string text = fmt::format("{} {}", of.nodes.size(), words_of(of.actor));
    if (of.nodes.size() == 1) text += fmt::format(" on {}{}", of.nodes[0]->node, age_words(of.nodes[0]->since, now));
    if (why.children.size() > kMostNodesOfActor) break;
    why.add(Why::Verdict::note, text);
  }
  return why;
}

}  // namespace

void append_limits(std::string& out, const Desk* desk, io::Wall now) {
  Members members(out, '{', '}');
  const std::vector<GroupState> groups = desk ? desk->groups() : std::vector<GroupState>();
  const std::vector<Waiting> queue = desk ? desk->queue() : std::vector<Waiting>();
  append_json(members.next("count"), groups.size());
  {
    Members array(members.next("groups"), '[', ']');
    for (size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i) {
      append_group(array.next(), groups[i], desk->find(groups[i].limit));
    }
  }
  append_json(members.next("waiting"), queue.size());
  Members array(members.next("queue"), '[', ']');
  for (size_t i = 0; i < std::min(queue.size(), kMostQueued); ++i) append_waiting(array.next(), queue[i], i + 1, now);
}

std::vector<Why> limit_reasons(const Desk* desk, const kube::Node& node, io::Wall now) {
  std::vector<Why> reasons;
  if (!desk) return reasons;
  for (const Waiting& waiting : desk->queue()) {
    if (waiting.asking.node != node.name) continue;
    const Desk::Answer answer = desk->ask(waiting.asking, Desk::Detail::text);
    if (answer.allowed) continue;
    Why why{Why::Verdict::no, fmt::format("{} waits for {}", words_of(waiting.asking.actor), answer.text), {}};
    if (waiting.expected && *waiting.expected > now) {
      why.add(Why::Verdict::note, "as things usually go until " + io::format_whole_seconds(*waiting.expected));
    }
    reasons.push_back(std::move(why));
  }
  const auto limits = desk->limits_of(node.name);
  if (limits.empty()) return reasons;
  const std::vector<GroupState> groups = desk->groups();
  for (const limits::Limit* const limit : limits) {
    const auto group =
        std::ranges::find(groups, group_of(*limit, node), [](const GroupState& one) { return one.name(); });
    if (group != groups.end()) reasons.push_back(group_why(*group, node.name, now));
  }
  return reasons;
}

}  // namespace careen::view
