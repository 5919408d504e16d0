#include "demo/log.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/state.h"
#include "kube/name_order.h"

namespace careen::app {

using view::Entry;

namespace {

// How much is looked at in one go; what came before that was too much to read anyhow.
constexpr size_t kMostEntries = 200;
// So many nodes are named when many move at once.
constexpr size_t kNamed = 4;

std::string time_of_day(io::Wall time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const std::chrono::hh_mm_ss clock(second - std::chrono::floor<std::chrono::days>(second));
  return fmt::format("{:02}:{:02}:{:02}", clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

bool becomes(const Entry& entry, profiles::State state) {
  return entry.kind == Entry::Kind::transition && entry.to == profiles::name_of(state);
}

Colour colour_of(const Entry& entry) {
  if (entry.kind == Entry::Kind::error) return Colour::red;
  if (entry.kind == Entry::Kind::pause) return Colour::bold;
  if (entry.kind == Entry::Kind::drain) return Colour::dim;
  if (becomes(entry, profiles::State::in_maintenance)) return Colour::yellow;
  if (becomes(entry, profiles::State::operational)) return Colour::green;
  return Colour::plain;
}

}  // namespace

// `of`: the node or the cluster that it is about; empty: all of it.
void DemoLog::line(io::Wall time, Colour colour, const std::string& of, const std::string& text) {
  screen_.line(screen_.paint(Colour::dim, time_of_day(time)) + "  " +
               screen_.paint(colour, of.empty() ? text : fmt::format("{}: {}", of, text)));
}

void DemoLog::tell(io::Wall time, const std::string& node, const std::string& text) {
  line(time, Colour::blue, node, text);
}

void DemoLog::show(const std::string& cluster, const view::Timeline& timeline) {
  int64_t& shown = shown_[cluster];
  std::vector<const Entry*> required;
  for (const Entry* entry : timeline.since(shown, kMostEntries)) {
    if (becomes(*entry, profiles::State::maintenance_required)) {
      required.push_back(entry);
      continue;
    }
    show_required(cluster, required);
    required.clear();
    show(cluster, *entry);
  }
  show_required(cluster, required);
  shown = timeline.next();
}

void DemoLog::show(const std::string& cluster, const Entry& entry) {
  // A profile that was attached is no news.
  if (entry.kind == Entry::Kind::transition && entry.from.empty()) return;
  if (brief_ && entry.kind == Entry::Kind::drain) return;
  line(entry.time, colour_of(entry), cluster, entry.text);
}

void DemoLog::show_required(const std::string& cluster, const std::vector<const Entry*>& entries) {
  if (entries.empty()) return;
  if (entries.size() <= kNamed) {
    for (const Entry* entry : entries) show(cluster, *entry);
    return;
  }
  std::vector<std::string_view> names;
  for (const Entry* entry : entries) names.push_back(entry->node);
  std::sort(names.begin(), names.end(), kube::NameOrder());
  names.resize(kNamed);
  line(entries.front()->time, Colour::plain, cluster,
       fmt::format("{} nodes need maintenance: {}, …", entries.size(), fmt::join(names, ", ")));
}

}  // namespace careen::app
