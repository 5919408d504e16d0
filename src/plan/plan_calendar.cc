#include <fmt/format.h>

#include "io/whole_seconds.h"
#include "plan/plan_forms.h"

namespace careen::plan {

namespace {

constexpr size_t kLine = 75;  // bytes of a line, without its end

// Long lines go on after a line end and a blank, never inside a character.
void add_line(std::string& out, std::string_view line) {
  size_t room = kLine;
  while (line.size() > room) {
    size_t cut = room;
    while (cut > 1 && (static_cast<unsigned char>(line[cut]) & 0xC0) == 0x80) --cut;
    out += line.substr(0, cut);
    out += "\r\n ";
    line.remove_prefix(cut);
    room = kLine - 1;
  }
  out += line;
  out += "\r\n";
}

std::string calendar_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (static_cast<unsigned char>(c) < 0x20) continue;
    if (c == '\\' || c == ';' || c == ',') out += '\\';
    out += c;
  }
  return out;
}

// 20260302T100000Z
std::string stamp(io::Wall time) {
  std::string out;
  for (const char c : io::format_rfc3339(io::whole_seconds(time))) {
    if (c != '-' && c != ':') out += c;
  }
  return out;
}

// A node may have several rounds of one profile within a plan.
std::string uid_of(const PlanRow& row) {
  const std::string round = row.requested ? stamp(*row.requested) : stamp(row.begin);
  std::string out = fmt::format("{}-{}-{}@careen", row.profile, row.node, round);
  for (char& c : out) {
    if (c == '/' || c == ' ' || c == ';' || c == ',') c = '-';
  }
  return out;
}

void add_event(std::string& out, const PlanRow& row, const Plan& plan) {
  add_line(out, "BEGIN:VEVENT");
  add_line(out, "UID:" + uid_of(row));
  add_line(out, "DTSTAMP:" + stamp(plan.from));
  add_line(out, "DTSTART:" + stamp(row.begin));
  add_line(out, "DTEND:" + stamp(row.end.value_or(plan.until)));
  add_line(out, "SUMMARY:" + calendar_text(fmt::format("{}: {}", row.profile, row.node)));
  std::string more = fmt::format("Maintenance of node {} by {}, as planned by careen.", row.node, row.profile);
  if (row.requested) more += fmt::format("\nRequested {} UTC.", short_time(*row.requested));
  if (row.drain) more += fmt::format("\nDrained in {}.", short_span(*row.drain));
  if (!row.end) more += "\nIts end is not within the plan.";
  add_line(out, "DESCRIPTION:" + calendar_text(more));
  add_line(out, "CATEGORIES:" + calendar_text(row.profile));
  add_line(out, "TRANSP:TRANSPARENT");
  add_line(out, "END:VEVENT");
}

}  // namespace

std::string plan_calendar(const Plan& plan) {
  std::string out;
  add_line(out, "BEGIN:VCALENDAR");
  add_line(out, "VERSION:2.0");
  add_line(out, "PRODID:-//careen//careen plan//EN");
  add_line(out, "CALSCALE:GREGORIAN");
  add_line(out, "METHOD:PUBLISH");
  add_line(out, "X-WR-CALNAME:Node maintenance");
  for (const PlanRow& row : plan.rows) add_event(out, row, plan);
  add_line(out, "END:VCALENDAR");
  return out;
}

}  // namespace careen::plan
