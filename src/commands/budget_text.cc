#include "commands/budget_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/why_tree.h"
#include "commands/view_words.h"

namespace careen::app {

using kube::JsonView;

namespace {

constexpr size_t kActorsShown = 5;
constexpr size_t kOvershootShown = 3;

bool concerns(JsonView waiting, JsonView limits, const std::vector<std::string>& names) {
  if (names.empty()) return true;
  bool found = false;
  waiting["limits"].for_each_element([&](JsonView name) {
    limits["groups"].for_each_element(
        [&](JsonView group) { found = found || (group["name"].text() == name.text() && is_chosen(group, names)); });
  });
  return found;
}

template <class Visit>
void each_chosen(JsonView limits, const std::vector<std::string>& names, const Visit& visit) {
  limits["groups"].for_each_element([&](JsonView group) {
    if (is_chosen(group, names)) visit(group);
  });
}

void add_part(std::vector<Line>& lines, const Row& header, const std::vector<Row>& rows, size_t width) {
  if (rows.empty()) return;
  if (!lines.empty()) lines.emplace_back();
  for (const std::string& line : table_lines(header, rows)) {
    lines.emplace_back(width == 0 ? line : fit(line, width));
  }
}

std::string hidden(JsonView list, JsonView count, std::string_view what) {
  const int64_t more = count_of(count) - static_cast<int64_t>(list.size());
  return more > 0 ? fmt::format("and {} more {}", more, what) : "";
}

}  // namespace

bool is_chosen(JsonView group, const std::vector<std::string>& names) {
  return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
           return group["limit"].text() == name || group["name"].text() == name;
         });
}

std::string used_by(JsonView group, io::Wall now) {
  std::string out;
  size_t count = 0;
  group["usedBy"].for_each_element([&](JsonView of) {
    if (count++ >= kActorsShown) return;
    const int64_t nodes = count_of(of["count"]);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", shown(of["actor"]), nodes);
    if (nodes != 1) return;
    const JsonView only = of.at("/nodes/0");
    const auto since = time_of(only["since"]);
    out += fmt::format(" ({}{})", shown(only["node"]), since && *since < now ? ", " + age_text(now - *since) : "");
  });
  if (count > kActorsShown) out += fmt::format(" and {} more", count - kActorsShown);
  return out;
}

Row limit_header() { return {"LIMIT", "GROUP", "CAP", "USED", "FREE", "MISSING", "WAITING", "USED BY"}; }

std::vector<Row> limit_rows(JsonView limits, io::Wall now, const std::vector<std::string>& names) {
  std::vector<Row> rows;
  each_chosen(limits, names, [&](JsonView group) {
    std::string values;
    group["values"].for_each_element([&](JsonView value) { values += (values.empty() ? "" : "/") + shown(value); });
    rows.push_back({shown(group["limit"]), values, std::to_string(count_of(group["cap"])),
                    std::to_string(count_of(group["used"])), std::to_string(count_of(group["free"])),
                    std::to_string(count_of(group["missing"])), std::to_string(count_of(group["waiting"])),
                    used_by(group, now)});
  });
  return rows;
}

Row queue_header() { return {"QUEUE", "NODE", "ACTOR", "RANK", "WAITS", "EXPECTED", "FOR A PLACE IN"}; }

std::vector<Row> queue_rows(JsonView limits, io::Wall now, const std::vector<std::string>& names) {
  std::vector<Row> rows;
  limits["queue"].for_each_element([&](JsonView waiting) {
    if (!concerns(waiting, limits, names)) return;
    const auto since = time_of(waiting["since"]), expected = time_of(waiting["expected"]);
    rows.push_back({std::to_string(count_of(waiting["place"])), shown(waiting["node"]), shown(waiting["actor"]),
                    shown(waiting["rank"]), since ? age_text(now - *since) : "",
                    expected ? when_text(waiting["expected"], now) : "", list_text(waiting["limits"], 2)});
  });
  return rows;
}

std::vector<std::string> limit_alarms(JsonView limits, const std::vector<std::string>& names) {
  std::vector<std::string> alarms;
  each_chosen(limits, names, [&](JsonView group) {
    if (count_of(group["used"]) > count_of(group["cap"])) {
      std::string last;
      size_t count = 0;
      group["overshoot"].for_each_element([&](JsonView one) {
        if (count++ >= kOvershootShown) return;
        last += fmt::format("{}{} ({})", last.empty() ? "" : ", ", shown(one["actor"]), shown(one["node"]));
      });
      alarms.push_back(fmt::format("limit {}: {} nodes are out where {} may be{}", shown(group["name"]),
                                   count_of(group["used"]), count_of(group["cap"]),
                                   last.empty() ? "" : "; counted last: " + last));
    }
    if (const std::string mistake = shown(group["mistake"]); !mistake.empty()) {
      alarms.push_back(fmt::format("limit {} has a mistake, and admits nothing: {}", shown(group["limit"]), mistake));
    }
  });
  // All groups of a limit have its mistake.
  alarms.erase(std::unique(alarms.begin(), alarms.end()), alarms.end());
  return alarms;
}

bool is_overshot(JsonView limits, const std::vector<std::string>& names) {
  bool overshot = false;
  each_chosen(limits, names, [&](JsonView group) { overshot |= count_of(group["used"]) > count_of(group["cap"]); });
  return overshot;
}

std::vector<Line> budget_lines(JsonView limits, const Screen& screen, io::Wall now,
                               const std::vector<std::string>& names, size_t width) {
  std::vector<Line> lines;
  for (const std::string& alarm : limit_alarms(limits, names)) {
    const std::string text = width == 0 ? alarm : fit(alarm, width > 2 ? width - 2 : 1);
    lines.push_back(verdict_mark(screen, "error") + " " + screen.paint(Colour::yellow, text));
  }
  add_part(lines, limit_header(), limit_rows(limits, now, names), width);
  if (const std::string more = hidden(limits["groups"], limits["count"], "groups"); !more.empty()) {
    lines.push_back(screen.paint(Colour::dim, more));
  }
  add_part(lines, queue_header(), queue_rows(limits, now, names), width);
  if (const std::string more = hidden(limits["queue"], limits["waiting"], "that wait"); !more.empty()) {
    lines.push_back(screen.paint(Colour::dim, more));
  }
  return lines;
}

}  // namespace careen::app
