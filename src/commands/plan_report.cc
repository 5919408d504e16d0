#include "commands/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/terminal_table.h"
#include "cli/text_wrap.h"
#include "plan/plan_forms.h"

namespace careen::app {

using plan::Plan;
using plan::short_span;
using plan::short_time;

namespace {

constexpr size_t kRows = 50;
constexpr size_t kUnserved = 20;
constexpr size_t kMostLimits = 4;
constexpr size_t kColumn = 20;  // of a comparison

using Lines = std::vector<std::string>;

std::string number(size_t count) { return count == 0 ? "" : std::to_string(count); }

void add_table(Lines& lines, const Row& header, const std::vector<Row>& rows, size_t width) {
  for (const std::string& line : table_lines(header, rows)) lines.push_back(fit(line, width));
}

void add_sentence(Lines& lines, std::string_view label, std::string_view text, size_t width) {
  const std::string indent(label.size(), ' ');
  bool first = true;
  for (const std::string& line : wrap(text, width > label.size() + 20 ? width - label.size() : width)) {
    lines.push_back((first ? std::string(label) : indent) + line);
    first = false;
  }
}

std::string limits_text(const Plan& plan) {
  std::string out;
  for (size_t i = 0; i < std::min(plan.limits.size(), kMostLimits); ++i) {
    out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", plan.limits[i].what, plan.limits[i].share * 100);
  }
  return out;
}

// The head of the plan has the year.
std::string without_year(io::Wall time) { return short_time(time).substr(5); }

void add_campaigns(Lines& lines, const Plan& plan, size_t width) {
  if (plan.campaigns.empty()) return;
  std::vector<Row> rows;
  for (const plan::Campaign& one : plan.campaigns) {
    rows.push_back({one.profile, number(one.maintained), number(one.at_once), one.begin ? without_year(*one.begin) : "",
                    one.end ? without_year(*one.end) : "", number(one.left), number(one.stuck)});
  }
  add_table(lines, {"PROFILE", "DONE", "AT ONCE", "BEGINS", "ENDS", "LEFT", "STUCK"}, rows, width);
  lines.emplace_back();
}

// The end without its date when that is the begin's.
std::string end_text(const plan::PlanRow& row) {
  if (!row.end) return "after the plan";
  const std::string begin = short_time(row.begin), end = short_time(*row.end);
  return begin.substr(0, 10) == end.substr(0, 10) ? end.substr(11) : end.substr(5);
}

void add_rows(Lines& lines, const Plan& plan, const PlanReportOptions& options) {
  if (plan.rows.empty()) return;
  const size_t shown = options.all ? plan.rows.size() : std::min(plan.rows.size(), kRows);
  std::vector<Row> rows;
  for (size_t i = 0; i < shown; ++i) {
    const plan::PlanRow& row = plan.rows[i];
    rows.push_back(
        {row.node, row.profile, short_time(row.begin), end_text(row), row.drain ? short_span(*row.drain) : ""});
  }
  add_table(lines, {"NODE", "PROFILE", "BEGIN", "END", "DRAIN"}, rows, options.width);
  if (shown < plan.rows.size())
    lines.push_back(fmt::format("… and {} more; --all shows them", plan.rows.size() - shown));
}

void add_unserved(Lines& lines, std::string_view title, const std::vector<plan::Unserved>& all,
                  const PlanReportOptions& options) {
  if (all.empty()) return;
  lines.push_back(fmt::format("{} ({}):", title, all.size()));
  const size_t shown = options.all ? all.size() : std::min(all.size(), kUnserved);
  for (size_t i = 0; i < shown; ++i) {
    const std::string label = fmt::format("  {} {}: ", all[i].node, all[i].profile);
    const Lines text = wrap(label + all[i].why, options.width - 4);
    for (size_t line = 0; line < text.size(); ++line) lines.push_back((line == 0 ? "" : "    ") + text[line]);
  }
  if (shown < all.size()) lines.push_back(fmt::format("  … and {} more; --all shows them", all.size() - shown));
  lines.emplace_back();
}

std::optional<io::Wall> end_of(const Plan& plan) {
  if (!plan.left.empty() || !plan.stuck.empty()) return std::nullopt;
  std::optional<io::Wall> end;
  for (const plan::PlanRow& row : plan.rows)
    end = std::max(end.value_or(row.end.value_or(row.begin)), row.end.value_or(row.begin));
  return end;
}

std::string end_or_why(const Plan& plan) {
  if (const auto end = end_of(plan)) return short_time(*end);
  if (plan.rows.empty() && plan.left.empty() && plan.stuck.empty()) return "nothing to do";
  return plan.stuck.empty() ? "after the plan" : "never";
}

std::string end_difference(const Plan& a, const Plan& b) {
  const auto first = end_of(a), second = end_of(b);
  if (!first || !second) return "";
  const io::Duration change = std::chrono::round<io::seconds>(*second - *first);
  if (change == io::Duration{0}) return "the same";
  return change > io::Duration{0} ? short_span(change) + " later" : short_span(-change) + " earlier";
}

std::string change_of(size_t a, size_t b) {
  if (a == b) return "the same";
  return b > a ? fmt::format("{} more", b - a) : fmt::format("{} fewer", a - b);
}

size_t done(const Plan& plan) {
  return static_cast<size_t>(
      std::count_if(plan.rows.begin(), plan.rows.end(), [](const plan::PlanRow& row) { return row.end.has_value(); }));
}

// Stuck with the second configuration only.
std::vector<plan::Unserved> newly_stuck(const Plan& a, const Plan& b) {
  std::set<std::pair<std::string, std::string>> known;
  for (const plan::Unserved& one : a.stuck) known.insert({one.node, one.profile});
  std::vector<plan::Unserved> out;
  for (const plan::Unserved& one : b.stuck) {
    if (!known.contains({one.node, one.profile})) out.push_back(one);
  }
  return out;
}

}  // namespace

std::vector<std::string> plan_lines(const Plan& plan, const PlanReportOptions& options) {
  Lines lines;
  lines.push_back(fmt::format("Maintenance plan, {} to {} UTC", short_time(plan.from), short_time(plan.until)));
  lines.emplace_back();
  lines.push_back(plan::headline(plan));
  if (plan.at_once > 0) {
    lines.push_back(fmt::format("At most {} under maintenance at once.", count_text(plan.at_once, "node")));
  }
  if (!plan.limits.empty()) add_sentence(lines, "What limits the pace: ", limits_text(plan), options.width);
  lines.emplace_back();
  add_campaigns(lines, plan, options.width);
  for (const std::string& one : plan.assumptions) add_sentence(lines, "Assumed: ", one, options.width);
  for (const std::string& one : plan.notes) add_sentence(lines, "Note: ", one, options.width);
  if (!plan.assumptions.empty() || !plan.notes.empty()) lines.emplace_back();
  add_unserved(lines, "Never get through", plan.stuck, options);
  add_unserved(lines, "Left when the plan ends", plan.left, options);
  add_rows(lines, plan, options);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> comparison_lines(const NamedPlan& a, const NamedPlan& b, const PlanReportOptions& options) {
  const auto limit = [](const Plan& plan) { return plan.limits.empty() ? "" : fit(plan.limits[0].what, kColumn); };
  std::vector<Row> rows = {
      {"ends", end_or_why(a.plan), end_or_why(b.plan), end_difference(a.plan, b.plan)},
      {"done", std::to_string(done(a.plan)), std::to_string(done(b.plan)), change_of(done(a.plan), done(b.plan))},
      {"nodes at once", std::to_string(a.plan.at_once), std::to_string(b.plan.at_once),
       change_of(a.plan.at_once, b.plan.at_once)},
      {"never get through", std::to_string(a.plan.stuck.size()), std::to_string(b.plan.stuck.size()),
       change_of(a.plan.stuck.size(), b.plan.stuck.size())},
      {"left", std::to_string(a.plan.left.size()), std::to_string(b.plan.left.size()),
       change_of(a.plan.left.size(), b.plan.left.size())},
      {"limited by", limit(a.plan), limit(b.plan), limit(a.plan) == limit(b.plan) ? "the same" : "another"},
  };
  Lines lines;
  lines.push_back(fmt::format("Maintenance plans, {} to {} UTC", short_time(a.plan.from), short_time(a.plan.until)));
  lines.emplace_back();
  add_table(lines, {"CONFIGURATION", fit(a.name, kColumn), fit(b.name, kColumn), "DIFFERENCE"}, rows, options.width);
  lines.emplace_back();
  add_unserved(lines, "Get through with the first only", newly_stuck(a.plan, b.plan), options);
  add_unserved(lines, "Get through with the second only", newly_stuck(b.plan, a.plan), options);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace careen::app
