#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "io/whole_seconds.h"
#include "io/xml.h"
#include "plan/plan_forms.h"

namespace careen::plan {

namespace {

// More nodes than this make a page that nobody scrolls through.
constexpr size_t kMostLanes = 600;
constexpr size_t kMostUnserved = 200;
constexpr int kName = 190;    // pixels for names
constexpr int kWidth = 1000;  // for time
constexpr int kLane = 18;
constexpr int kHead = 26;

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ink:#1c2733;--dim:#5b6b7b;--paper:#fff;--line:#dbe2ea;--soft:#f3f6f9;--drain:#c77700}
@media(prefers-color-scheme:dark){:root{--ink:#e4eaf0;--dim:#9fb0c0;--paper:#12181f;--line:#2b3642;--soft:#1a222b;--drain:#f0a23c}}
body{margin:0 auto;max-width:1240px;padding:24px;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:22px;margin:0}h2{font-size:16px;margin:32px 0 8px}p{margin:4px 0;color:var(--dim)}
.headline{font-size:18px;color:var(--ink);margin:12px 0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--dim);font-weight:600}td.number,th.number{text-align:right}
svg{display:block;max-width:100%;height:auto;min-width:900px}svg text{font:11px system-ui,sans-serif;fill:var(--ink)}svg .dim{fill:var(--dim)}
svg .grid{stroke:var(--line)}svg .stripe{fill:var(--soft)}svg .drain{fill:var(--drain)}
.c0{fill:#2f6fd0;background:#2f6fd0}.c1{fill:#1f8a5b;background:#1f8a5b}.c2{fill:#8a4fc4;background:#8a4fc4}.c3{fill:#b8443c;background:#b8443c}.c4{fill:#5a7184;background:#5a7184}
.key{display:inline-block;width:12px;height:12px;border-radius:3px;margin:0 6px 0 0}.bar{height:10px;border-radius:5px}
ul{margin:0;padding-left:20px}
)";

// Time on the page.
struct Axis {
  io::Wall from, until;
  double x(io::Wall time) const {
    const double share = io::to_seconds(time - from) / std::max(1.0, io::to_seconds(until - from));
    return kName + kWidth * std::clamp(share, 0.0, 1.0);
  }
};

// What happens, with a little room around it.
Axis axis_of(const Plan& plan) {
  Axis axis{plan.from, plan.from + io::minutes{1}};
  for (const PlanRow& row : plan.rows) {
    axis.from = std::min(axis.from, row.begin);
    axis.until = std::max(axis.until, row.end.value_or(plan.until));
  }
  axis.until += (axis.until - axis.from) / 50;
  return axis;
}

// The distance of the lines of the grid: at most fourteen.
io::Duration step_of(const Axis& axis) {
  using namespace std::chrono;
  const io::Duration steps[] = {seconds{5}, seconds{15}, minutes{1}, minutes{5},    minutes{15},   hours{1},
                                hours{3},   hours{6},    hours{24},  hours{24 * 2}, hours{24 * 7}, hours{24 * 30}};
  for (const io::Duration step : steps) {
    if ((axis.until - axis.from) / step <= 14) return step;
  }
  return hours{24 * 90};
}

std::string tick_text(io::Wall time, io::Duration step) {
  const std::string text = io::format_rfc3339(io::whole_seconds(time));
  if (step >= io::hours{24}) return text.substr(5, 5);
  if (step < io::minutes{1}) return text.substr(11, 8);
  return text.substr(11, 5) == "00:00" ? text.substr(5, 5) : text.substr(11, 5);
}

using Colours = std::map<std::string, int>;

Colours colours_of(const Plan& plan) {
  Colours out;
  for (const Campaign& campaign : plan.campaigns) {
    const int number = static_cast<int>(out.size());
    out[campaign.profile] = std::min(number, 4);
  }
  return out;
}

void add_grid(std::string& svg, const Axis& axis, int height) {
  const io::Duration step = step_of(axis);
  const auto first = axis.from.time_since_epoch() / step + 1;
  for (io::Wall time = io::Wall(first * step); time < axis.until; time += step) {
    svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>", axis.x(time),
                       kHead - 6, height);
    svg += fmt::format("<text class=\"dim\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", axis.x(time),
                       kHead - 12, tick_text(time, step));
  }
}

void add_row(std::string& svg, const Axis& axis, const PlanRow& row, int y, int colour, const Plan& plan) {
  const io::Wall end = row.end.value_or(plan.until);
  const double x = axis.x(row.begin), width = std::max(2.0, axis.x(end) - x);
  const std::string told = fmt::format("{} {}: {} to {}{}", row.node, row.profile, short_time(row.begin),
                                       row.end ? short_time(*row.end) : "after the plan",
                                       row.drain ? ", drained in " + short_span(*row.drain) : "");
  svg += fmt::format(
      "<g><title>{}</title><rect class=\"c{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" "
      "rx=\"2\"/>",
      io::xml_escaped(told), colour, x, y + 3, width, kLane - 6);
  if (row.drain) {
    const double drained = std::min(width, axis.x(row.begin + *row.drain) - x);
    if (drained >= 0.5) {
      svg += fmt::format("<rect class=\"drain\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\"/>", x,
                         y + 3, drained, kLane - 6);
    }
  }
  svg += "</g>\n";
}

// Nodes in the order in which their turn comes.
std::string chart(const Plan& plan) {
  std::map<std::string, size_t> lanes;
  std::vector<std::string> names;
  for (const PlanRow& row : plan.rows) {
    if (lanes.size() < kMostLanes && lanes.emplace(row.node, names.size()).second) names.push_back(row.node);
  }
  const Axis axis = axis_of(plan);
  const Colours colours = colours_of(plan);
  const int height = kHead + static_cast<int>(names.size()) * kLane + 4;
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Gantt chart: one lane a node\">\n",
                  kName + kWidth + 10, height);
  for (size_t i = 0; i < names.size(); ++i) {
    const int y = kHead + static_cast<int>(i) * kLane;
    if (i % 2 == 0) {
      svg += fmt::format("<rect class=\"stripe\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\"/>", y, kName + kWidth + 10,
                         kLane);
    }
    const std::string shown = names[i].size() > 28 ? names[i].substr(0, 27) + "…" : names[i];
    svg += fmt::format("<text x=\"6\" y=\"{}\">{}</text>\n", y + 13, io::xml_escaped(shown));
  }
  add_grid(svg, axis, height);
  for (const PlanRow& row : plan.rows) {
    const auto lane = lanes.find(row.node);
    if (lane == lanes.end()) continue;
    const auto colour = colours.find(campaign_of(row.profile));
    add_row(svg, axis, row, kHead + static_cast<int>(lane->second) * kLane,
            colour == colours.end() ? 4 : colour->second, plan);
  }
  return svg + "</svg>\n";
}

std::string campaigns_table(const Plan& plan) {
  std::string out =
      "<table><tr><th>Profile</th><th class=\"number\">Maintained</th><th class=\"number\">At once</th><th>Begins</th>"
      "<th>Ends</th><th class=\"number\">Left</th><th class=\"number\">Stuck</th></tr>\n";
  const Colours colours = colours_of(plan);
  for (const Campaign& one : plan.campaigns) {
    out += fmt::format(
        "<tr><td><span class=\"key c{}\"></span>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>"
        "<td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
        colours.at(one.profile), io::xml_escaped(one.profile), one.maintained, one.at_once,
        one.begin ? short_time(*one.begin) : "–", one.end ? short_time(*one.end) : "–", one.left, one.stuck);
  }
  return out + "</table>\n";
}

std::string limits_table(const Plan& plan) {
  std::string out = "<table>";
  for (const Limit& limit : plan.limits) {
    out += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{:.0f} %</td><td style=\"width:50%\"><div class=\"bar c0\" "
        "style=\"width:{:.1f}%\"></div></td></tr>\n",
        io::xml_escaped(limit.what), limit.share * 100, limit.share * 100);
  }
  return out + "</table>\n";
}

void add_unserved(std::string& out, const char* title, const std::vector<Unserved>& all) {
  if (all.empty()) return;
  out +=
      fmt::format("<h2>{} ({})</h2>\n<table><tr><th>Node</th><th>Profile</th><th>Why</th></tr>\n", title, all.size());
  for (size_t i = 0; i < std::min(all.size(), kMostUnserved); ++i) {
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", io::xml_escaped(all[i].node),
                       io::xml_escaped(all[i].profile), io::xml_escaped(all[i].why));
  }
  out += "</table>\n";
  if (all.size() > kMostUnserved) out += fmt::format("<p>… and {} more</p>\n", all.size() - kMostUnserved);
}

void add_list(std::string& out, const char* title, const std::vector<std::string>& all) {
  if (all.empty()) return;
  out += fmt::format("<h2>{}</h2>\n<ul>", title);
  for (const std::string& one : all) out += fmt::format("<li>{}</li>", io::xml_escaped(one));
  out += "</ul>\n";
}

}  // namespace

std::string plan_page(const Plan& plan) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>Maintenance plan</title><style>{}</style></head><body>\n",
      kStyle);
  out += fmt::format("<h1>Maintenance plan</h1><p>{} to {} UTC</p>\n<p class=\"headline\">{}</p>\n",
                     short_time(plan.from), short_time(plan.until), io::xml_escaped(headline(plan)));
  if (!plan.campaigns.empty()) out += "<div class=\"scroll\">" + campaigns_table(plan) + "</div>";
  add_unserved(out, "Never get through", plan.stuck);
  if (!plan.rows.empty()) {
    out +=
        "<h2>Timetable</h2>\n<p><span class=\"key\" style=\"background:var(--drain)\"></span>drain, then "
        "maintenance in the colour of its profile; all times are UTC</p>\n<div class=\"scroll\">";
    out += chart(plan) + "</div>\n";
  }
  if (!plan.limits.empty()) out += "<h2>What limits the pace</h2>\n" + limits_table(plan);
  add_unserved(out, "Left when the plan ends", plan.left);
  add_list(out, "Assumed", plan.assumptions);
  add_list(out, "Notes", plan.notes);
  return out + "</body></html>\n";
}

}  // namespace careen::plan
