#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal_table.h"
#include "commands/budget_text.h"
#include "commands/fleet_parts.h"
#include "commands/fleet_text.h"
#include "commands/view_words.h"
#include "kube/name_order.h"

namespace careen::app {

using kube::JsonView;

namespace {

constexpr size_t kOverviewBarWidth = 16;
constexpr size_t kMostName = 28;

// What a part of the screen shows; how many of its lines fit is decided when all are known.
struct Section {
  std::string title;
  std::vector<Line> lines;
  bool newest_last = false;  // the last lines matter most
  size_t granted = 0;
};

class Top {
 public:
  Top(const FleetModel& fleet, const Screen& screen, io::Wall now)
      : fleet_(fleet), screen_(screen), now_(now), size_(screen.size()) {}

  std::vector<Line> lines(const std::string& trouble) {
    std::vector<Line> out = {header()};
    if (!trouble.empty()) out.push_back(line().add(trouble, Colour::bold_red).line());
    const auto alarms = alarm_lines(fleet_["pauses"], fleet_["problems"], screen_, size_.width, now_);
    out.insert(out.end(), alarms.begin(), alarms.end());
    std::vector<Section> sections = {{"NODES", profile_lines()}, {"BUDGETS", budget_lines()},
                                     {"LIMITS", limit_lines()},  {"DRAINS", drain_lines()},
                                     {"NEXT", next_lines()},     {"LATEST", timeline_lines(), true}};
    std::erase_if(sections, [](const Section& section) { return section.lines.empty(); });
    grant(sections, size_.height > out.size() ? size_.height - out.size() : 0);
    for (const Section& section : sections) append(section, out);
    if (out.size() > size_.height) out.resize(size_.height);
    return out;
  }

 private:
  PaintedLine line() const { return PaintedLine(screen_, size_.width); }

  // Fair: whoever needs little gets it all, the rest share what is left.
  static void grant(std::vector<Section>& sections, size_t room) {
    const size_t titles = 2 * sections.size();  // a blank line and the title
    room = room > titles ? room - titles : 0;
    bool again = true;
    while (room > 0 && again) {
      again = false;
      for (Section& section : sections) {
        if (room == 0 || section.granted == section.lines.size()) continue;
        ++section.granted;
        --room;
        again = true;
      }
    }
  }

  void append(const Section& section, std::vector<Line>& out) const {
    if (section.granted == 0) return;
    out.emplace_back();
    const size_t hidden = section.lines.size() - section.granted;
    PaintedLine title = line();
    title.add(section.title, Colour::bold);
    if (hidden > 0 && !section.newest_last) title.add(fmt::format("  {} more", hidden), Colour::dim);
    out.push_back(title.line());
    const size_t first = section.newest_last ? hidden : 0;
    for (size_t index = first; index < first + section.granted; ++index) out.push_back(section.lines[index]);
  }

  Line header() const {
    const JsonView careen = fleet_["careen"];
    const double speed = careen["speed"].number().value_or(1);
    PaintedLine out = line();
    out.add("careen " + shown(careen["version"]), Colour::bold);
    out.add("  " + count_text(fleet_.nodes().size(), "node"));
    out.add("  " + io::format_rfc3339(std::chrono::floor<io::seconds>(now_)));
    if (speed != 1) out.add(fmt::format("  time runs {} times as fast", speed), Colour::yellow);
    if (const std::string holder = shown(careen["holder"]); !holder.empty()) out.add("  led by " + holder, Colour::dim);
    out.add("  q quits", Colour::dim);
    return out.line();
  }

  std::vector<Line> profile_lines() const {
    size_t widest = 0;
    fleet_["profiles"].for_each_element(
        [&](JsonView profile) { widest = std::max(widest, text_width(shown(profile["name"]))); });
    std::vector<Line> out;
    fleet_["profiles"].for_each_element([&](JsonView profile) {
      const StateCounts counts = state_counts(profile);
      const int64_t all = std::max<int64_t>(1, counts.operational + counts.required + counts.in_maintenance);
      const double done = static_cast<double>(counts.operational) / static_cast<double>(all);
      out.push_back(line()
                        .column(shown(profile["name"]), std::min(widest, kMostName))
                        .bar(kOverviewBarWidth, done, Colour::green)
                        .column(fmt::format("{} operational", counts.operational), 16)
                        .column(fmt::format("{} required", counts.required), 13,
                                counts.required > 0 ? Colour::yellow : Colour::dim)
                        .add(fmt::format("{} in maintenance", counts.in_maintenance),
                             counts.in_maintenance > 0 ? Colour::blue : Colour::dim)
                        .line());
    });
    return out;
  }

  std::vector<Line> budget_lines() const {
    size_t widest = 0;
    fleet_["budgets"].for_each_element(
        [&](JsonView budget) { widest = std::max(widest, text_width(budget_name(budget))); });
    std::vector<Line> out;
    fleet_["budgets"].for_each_element([&](JsonView budget) {
      const int64_t used = count_of(budget["used"]), max = count_of(budget["max"]);
      const int64_t waiting = count_of(budget["waiting"]);
      const bool full = used >= max;
      const double share = max <= 0 ? 1 : static_cast<double>(used) / static_cast<double>(max);
      out.push_back(line()
                        .column(budget_name(budget), std::min(widest, kMostName))
                        .bar(kOverviewBarWidth, share, full ? Colour::yellow : Colour::green)
                        .column(fmt::format("{}/{}", used, max), 7)
                        .add(shown(budget["scope"]), Colour::dim)
                        .add(waiting > 0 ? fmt::format("  {} waiting", waiting) : "", Colour::yellow)
                        .add(budget["holders"].size() > 0 ? "  " + list_text(budget["holders"], 5) : "")
                        .line());
    });
    return out;
  }

  std::vector<Line> limit_lines() const {
    size_t widest = 0;
    const JsonView groups = fleet_["limits"]["groups"];
    groups.for_each_element([&](JsonView group) { widest = std::max(widest, text_width(shown(group["name"]))); });
    std::vector<Line> out;
    groups.for_each_element([&](JsonView group) {
      const int64_t used = count_of(group["used"]), cap = count_of(group["cap"]), waiting = count_of(group["waiting"]);
      const double share = cap <= 0 ? 1 : std::min(1.0, static_cast<double>(used) / static_cast<double>(cap));
      out.push_back(line()
                        .column(shown(group["name"]), std::min(widest, kMostName))
                        .bar(kOverviewBarWidth, share, used >= cap ? Colour::yellow : Colour::green)
                        .column(fmt::format("{}/{}", used, cap), 7, used > cap ? Colour::bold_red : Colour::plain)
                        .add(used_by(group, now_))
                        .add(waiting > 0 ? fmt::format("  {} waiting", waiting) : "", Colour::yellow)
                        .line());
    });
    return out;
  }

  std::vector<Line> drain_lines() const {
    size_t widest = 0;
    fleet_["drains"].for_each_element(
        [&](JsonView drain) { widest = std::max(widest, text_width(shown(drain["node"]))); });
    std::vector<Line> out;
    fleet_["drains"].for_each_element([&](JsonView drain) {
      const int64_t total = count_of(drain["total"]), left = count_of(drain["left"]);
      const auto begun = time_of(drain["begun"]);
      const std::string blocked = blocked_text(drain);
      out.push_back(line()
                        .column(shown(drain["node"]), std::min(widest, kMostName))
                        .bar(kOverviewBarWidth, static_cast<double>(count_of(drain["percent"])) / 100, Colour::green)
                        .column(fmt::format("{}/{} gone", total - left, total), 12)
                        .column(begun ? age_text(now_ - *begun) : "", 6)
                        .add(shown(drain["owner"]), Colour::dim)
                        .add(blocked.empty() ? "" : "  " + blocked, Colour::yellow)
                        .line());
    });
    return out;
  }

  // The nodes that can change by themselves, soonest first.
  std::vector<Line> next_lines() const {
    struct Next {
      io::Wall at;
      std::string node, profile, waits;
    };
    std::vector<Next> all;
    for (const auto& [name, node] : fleet_.nodes()) {
      node["profiles"].for_each_element([&](JsonView profile) {
        const auto at = time_of(profile["wake"]);
        if (at && *at > now_) all.push_back({*at, name, shown(profile["name"]), shown(profile["waits"])});
      });
    }
    std::sort(all.begin(), all.end(), [](const Next& a, const Next& b) {
      if (a.at != b.at) return a.at < b.at;
      if (a.node != b.node) return kube::compare_names(a.node, b.node) < 0;
      return a.profile < b.profile;
    });
    std::vector<Line> out;
    for (const Next& next : all) {
      out.push_back(line()
                        .column("in " + age_text(next.at - now_), 8)
                        .column(next.node, 20)
                        .column(next.profile, 16, Colour::dim)
                        .add(next.waits)
                        .line());
    }
    return out;
  }

  std::vector<Line> timeline_lines() const {
    std::vector<Line> out;
    for (const kube::Json& entry : fleet_.timeline()) {
      const auto at = time_of(entry["time"]);
      const std::string kind = shown(entry["kind"]);
      // The hour is enough on a screen of what happens now.
      const std::string time = at ? io::format_rfc3339(std::chrono::floor<io::seconds>(*at)).substr(11, 8) : "";
      out.push_back(line()
                        .column(time, 8, Colour::dim)
                        .add(shown(entry["text"]), kind == "error" ? Colour::yellow : Colour::plain)
                        .line());
    }
    return out;
  }

  const FleetModel& fleet_;
  const Screen& screen_;
  io::Wall now_;
  ScreenSize size_;
};

}  // namespace

std::vector<Line> top_lines(const FleetModel& fleet, const Screen& screen, io::Wall now, const std::string& trouble) {
  return Top(fleet, screen, now).lines(trouble);
}

}  // namespace careen::app
