// What people read of the desk. Names come from strangers: they are shown harmless, and never at length.
#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "io/printable.h"
#include "limits/desk_core.h"

namespace careen::limits {

namespace {

constexpr size_t kLongestName = 63;
constexpr size_t kLongestAnswer = 700;
constexpr size_t kMostActorsNamed = 5;
constexpr size_t kMostRefusalsNamed = 2;
constexpr size_t kMostHolders = 1'000;
// Nobody needs to know how far behind it is beyond that, and finding it out costs as much.
constexpr size_t kMostCounted = 999;

std::string clipped(std::string text, size_t longest) {
  if (text.size() <= longest) return text;
  text.resize(longest);
  // Not within a character.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.pop_back();
  return text + "…";
}

std::string shown_name(std::string_view name) {
  return clipped(io::printable(name.substr(0, 4 * kLongestName)), kLongestName);
}

// profile/os-update is read as "profile os-update".
std::string shown_words(std::string_view actor) {
  std::string words(actor);
  if (const size_t slash = words.find('/'); slash != std::string::npos) words[slash] = ' ';
  return shown_name(words);
}

std::string roughly(io::Duration span) {
  const auto whole = std::chrono::duration_cast<io::seconds>(std::max(span, io::Duration{})).count();
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 2 * 3600) return fmt::format("{} min", whole / 60);
  if (whole < 2 * 86400) return fmt::format("{} h", whole / 3600);
  return fmt::format("{} d", whole / 86400);
}

struct ByActor {
  std::string actor;
  std::set<std::string> nodes;
  std::optional<io::Wall> since;
};

// 2 profile os-update, 1 kubectl on n40 since 3 h
std::string list_of(const GroupState& group, io::Wall now) {
  std::vector<ByActor> actors;
  for (const Holder& holder : group.holders) {
    auto it = std::ranges::find(actors, holder.actor, &ByActor::actor);
    if (it == actors.end()) it = actors.insert(it, {holder.actor, {}, holder.since});
    it->nodes.insert(holder.node);
  }
  std::ranges::sort(actors, [](const ByActor& a, const ByActor& b) {
    return std::tuple(b.nodes.size(), std::string_view(a.actor)) <
           std::tuple(a.nodes.size(), std::string_view(b.actor));
  });
  std::string text;
  for (size_t i = 0; i < std::min(actors.size(), kMostActorsNamed); ++i) {
    const ByActor& one = actors[i];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.nodes.size(), shown_words(one.actor));
    if (one.nodes.size() > 1) continue;
    text += " on " + shown_name(*one.nodes.begin());
    if (one.since) text += " since " + roughly(now - *one.since);
  }
  if (actors.size() > kMostActorsNamed) text += fmt::format(" and {} more", actors.size() - kMostActorsNamed);
  return text;
}

// Nodes that are not there have no names: they are told by the set that lacks them.
void add_lacking(const Desk::Core::Group& group, std::vector<Holder>& holders) {
  if (group.limit.limit.count != Count::all) return;
  for (const Desk::Core::NodeSet* const set : group.sets) {
    for (int64_t i = 1; i <= set->lacking && holders.size() < kMostHolders; ++i) {
      std::string name = set->id.name();
      if (set->lacking > 1) name += fmt::format(" #{}", i);
      holders.push_back({std::string(kMissing), std::move(name),
                         fmt::format("{} of {} nodes are there", set->present, *set->wanted), std::nullopt});
    }
  }
}

size_t place_in(const Desk::Core::Row& row, const Desk::Core::Turn& turn) {
  size_t before = 0;
  for (auto it = row.begin(); it != row.end() && (*it)->turn < turn && before < kMostCounted; ++it) ++before;
  return before + 1;
}

}  // namespace

std::string GroupState::name() const {
  std::string name = limit;
  for (const std::string& value : values) name.append("/").append(value);
  return name;
}

GroupState Desk::Core::state(const Group& group) const {
  GroupState state;
  state.limit = group.limit.limit.name;
  state.values = group.values;
  state.total = group.total();
  state.missing = group.lost();
  state.expected = state.total + state.missing;
  state.cap = group.cap;
  state.used = group.used + state.missing;
  state.parallel = group.parallel;
  state.working = group.working;
  state.waiting = group.waiting.size();
  std::vector<std::pair<uint64_t, Holder>> others;  // the last of each node that somebody else has out
  for (const auto& [key, unit] : group.units) {
    if (unit.counted == 0) continue;
    for (const Member* const member : unit.members) {
      if (!member->tally.counted) continue;
      std::vector<Holder> holders = holders_of(member->node, group.limit.limit);
      if (holders.empty()) {
        holders = member->last_holders;
        for (Holder& holder : holders) holder.what = "back, and settling";
      }
      for (const Holder& holder : holders) {
        if (!holder.own) others.emplace_back(member->counted_as, holder);
      }
      if (state.holders.size() < kMostHolders)
        state.holders.insert(state.holders.end(), holders.begin(), holders.end());
    }
  }
  for (const auto& [since, uid] : group.missing) {
    if (state.missing == 0 || state.holders.size() >= kMostHolders) break;
    const auto missing = missing_.find(uid);
    if (missing == missing_.end()) continue;
    state.holders.push_back({std::string(kMissing), missing->second.admission.node, "deleted while it was out", since});
  }
  add_lacking(group, state.holders);
  sort_by_time(state.holders);
  if (state.used > state.cap) {
    std::ranges::sort(others, [](const auto& a, const auto& b) {
      return std::tie(b.first, a.second.actor) < std::tie(a.first, b.second.actor);
    });
    for (const auto& [counted, holder] : others) {
      if (static_cast<int64_t>(state.overshoot.size()) >= state.used - state.cap) break;
      if (!has_one(state.overshoot, holder.node, &Holder::node)) state.overshoot.push_back(holder);
    }
  }
  return state;
}

// Many ask about one group at a time. Ages are roughly right for a second.
const std::string& Desk::Core::listed(const Group& group) const {
  if (!group.listed || group.listed->first + io::seconds{1} <= loop_.now())
    group.listed.emplace(loop_.now(), list_of(state(group), now()));
  return group.listed->second;
}

std::string Desk::Core::sentence(const Refusal& refusal, const Asker& asker) const {
  const auto limit = [&] { return shown_name(refusal.limit->limit.name); };
  switch (refusal.why) {
    case Refused::unknown:
      return io::printable(clipped(why_unknown_, kLongestAnswer));
    case Refused::crowded:
      return "there are more limits about nodes than careen can follow, and nothing is admitted";
    case Refused::absent:
      return "there is no node " + shown_name(asker.turn.node);
    case Refused::mistake:
      return fmt::format("limit {} has a mistake, and admits nothing until it is mended: {}", limit(),
                         clipped(io::printable(refusal.limit->limit.mistake), kLongestAnswer / 2));
    case Refused::interval:
      if (!refusal.until) {
        return fmt::format("in limit {} another request begins first, and {} lie between two", limit(),
                           io::format_duration(refusal.limit->limit.interval));
      }
      return fmt::format("limit {} lets the next request begin at {}: {} lie between two", limit(),
                         io::format_whole_seconds(io::add(*refusal.until, io::seconds{1} - io::Duration{1})),
                         io::format_duration(refusal.limit->limit.interval));
    case Refused::beyond:
      return fmt::format("limit {} makes more groups than careen can follow", limit());
    case Refused::workload:
      return fmt::format("limit {} about workloads: {}", limit(),
                         clipped(io::printable(refusal.text), kLongestAnswer / 2));
    case Refused::over:
    case Refused::full:
    case Refused::parallel:
    case Refused::stopped:
      break;
  }
  const Group& group = *refusal.group;
  const int64_t used = group.used + group.lost();
  const std::string name = shown_name(group.name);
  const size_t turn = place_in(group.waiting, asker.turn);
  const std::string place =
      turn > kMostCounted ? fmt::format("a place beyond {}", kMostCounted) : fmt::format("place {}", turn);
  if (refusal.why == Refused::stopped) {
    return fmt::format("{} in limit {}, after {}, which others have been preferred to for too long", place, name,
                       shown_name(refusal.by->asking.node));
  }
  const bool slots = refusal.why == Refused::parallel;
  std::string numbers =
      slots ? fmt::format("{} of {} at work", group.working, group.parallel) : fmt::format("{} of {}", used, group.cap);
  const std::string& list = listed(group);
  if (const int64_t kept = kept_for_others(group, asker.actor); kept > 0 && !slots)
    numbers += fmt::format(", {} reserved", kept);
  if (const int64_t offered = group.claimed - group.used; offered > 0)
    numbers += fmt::format(", {} about to begin", offered);
  if (!list.empty()) numbers += ": " + list;
  std::string after;
  if (refusal.why == Refused::over && used <= group.cap) {
    after = ", more were out than may be, and that has to be over for " +
            io::format_duration(std::max<io::Duration>(io::seconds{30}, refusal.limit->limit.settle));
  }
  return fmt::format("{} in limit {} ({}){}", place, name, numbers, after);
}

std::string Desk::Core::text(const NodeState* state, const Asker& asker) const {
  std::vector<std::string> sentences;
  size_t more = 0;
  refusals(state, asker, [&](const Refusal& refusal) {
    if (sentences.size() < kMostRefusalsNamed) {
      sentences.push_back(sentence(refusal, asker));
    } else {
      ++more;
    }
    return true;
  });
  std::string text;
  for (const std::string& one : sentences) text += (text.empty() ? "" : "; ") + one;
  text = clipped(std::move(text), kLongestAnswer);
  if (more > 0) text += fmt::format("; and {} more", more);
  return text;
}

// Each group's places end when places of their actors usually do, and go to those that wait, one after the other. Where
// nothing has been learned of an actor, its place does not end as far as is known.
std::map<const Desk::Core::Entry*, io::Wall> Desk::Core::expected() const {
  std::map<const Entry*, io::Wall> found;
  std::set<const Entry*> unknown;
  for (const auto& [name, limit] : limits_) {
    for (const auto& [values, group] : limit.groups) {
      if (group->waiting.empty()) continue;
      std::priority_queue<io::Wall, std::vector<io::Wall>, std::greater<>> ends;
      for (const Holder& holder : state(*group).holders) {
        const auto usual = durations_.usual(holder.actor);
        if (usual && holder.since) ends.push(std::max(now(), io::add(*holder.since, *usual)));
      }
      for (int64_t free = group->cap - group->claimed - group->lost(); free > 0; --free) ends.push(now());
      for (const Entry* const entry : group->waiting) {
        if (ends.empty()) {
          unknown.insert(entry);
          continue;
        }
        const io::Wall turn = ends.top();
        ends.pop();
        io::Wall& latest = found.try_emplace(entry, turn).first->second;
        latest = std::max(latest, turn);
        if (const auto usual = durations_.usual(shown_actor(entry->asking.actor))) ends.push(io::add(turn, *usual));
      }
    }
  }
  for (const Entry* const entry : unknown) found.erase(entry);
  return found;
}

}  // namespace careen::limits
