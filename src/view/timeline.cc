#include "view/timeline.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "io/whole_seconds.h"
#include "kube/json_writer.h"

namespace careen::view {

namespace {

// Enough to fold what repeats; the map is emptied of what is old when it has grown beyond.
constexpr size_t kMostSaid = 10'000;

std::string identity(const Entry& entry) { return entry.node + '\n' + entry.text; }

}  // namespace

std::string_view name_of(Entry::Kind kind) {
  switch (kind) {
    case Entry::Kind::transition:
      return "transition";
    case Entry::Kind::notification:
      return "notification";
    case Entry::Kind::drain:
      return "drain";
    case Entry::Kind::maintenance:
      return "maintenance";
    case Entry::Kind::pause:
      return "pause";
    case Entry::Kind::error:
      return "error";
    case Entry::Kind::careen:
      break;
  }
  return "careen";
}

void append_json(std::string& out, const Entry& entry) {
  kube::Members members(out, '{', '}');
  kube::append_json(members.next("time"), entry.time);
  kube::append_json(members.next("kind"), name_of(entry.kind));
  if (!entry.node.empty()) kube::append_json(members.next("node"), entry.node);
  if (!entry.profile.empty()) kube::append_json(members.next("profile"), entry.profile);
  if (!entry.from.empty()) kube::append_json(members.next("from"), entry.from);
  if (!entry.to.empty()) kube::append_json(members.next("to"), entry.to);
  kube::append_json(members.next("text"), entry.text);
}

void Timeline::add(Entry entry) {
  // Two transitions in the same words are two; anything else that repeats says nothing new.
  if (entry.kind != Entry::Kind::transition) {
    if (said_.size() > kMostSaid) {
      std::erase_if(said_, [&](const auto& one) { return io::add(one.second, kRepeat) <= entry.time; });
    }
    const auto [said, fresh] = said_.try_emplace(identity(entry), entry.time);
    const bool repeats = !fresh && io::add(said->second, kRepeat) > entry.time;
    said->second = entry.time;
    if (repeats) return;
  }
  entries_.push_back(std::move(entry));
  shrink();
}

void Timeline::add_past(std::vector<Entry> past) {
  std::set<std::pair<std::string, io::Wall>> known;
  const auto stamp = [](const Entry& entry) { return std::pair(identity(entry), io::whole_seconds(entry.time)); };
  for (const Entry& entry : entries_) known.insert(stamp(entry));
  std::erase_if(past, [&](const Entry& entry) {
    return !known.insert(stamp(entry)).second || (!entries_.empty() && entry.time >= entries_.front().time);
  });
  std::sort(past.begin(), past.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.time, a.node, a.text) < std::tie(b.time, b.node, b.text);
  });
  first_ -= static_cast<int64_t>(past.size());
  entries_.insert(entries_.begin(), std::make_move_iterator(past.begin()), std::make_move_iterator(past.end()));
  shrink();
}

void Timeline::shrink() {
  while (entries_.size() > kMost) {
    entries_.pop_front();
    ++first_;
  }
}

std::vector<const Entry*> Timeline::since(int64_t number, size_t most) const {
  const auto from = static_cast<size_t>(std::max<int64_t>(number - first_, 0));
  const size_t newest = entries_.size() > most ? entries_.size() - most : 0;
  std::vector<const Entry*> found;
  for (size_t i = std::max(from, newest); i < entries_.size(); ++i) found.push_back(&entries_[i]);
  return found;
}

std::vector<const Entry*> Timeline::of_node(std::string_view node) const {
  std::vector<const Entry*> found;
  for (const Entry& entry : entries_) {
    if (entry.node == node) found.push_back(&entry);
  }
  return found;
}

}  // namespace careen::view
