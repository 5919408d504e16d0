#include <fmt/format.h>

#include <algorithm>

#include "controllers/slot/kind.h"
#include "expectations.h"
#include "replica/controllers.h"
#include "since.h"

namespace careen::scenarios {

namespace {

struct EventWanted {
  std::string reason = "*", node = "*", note = "*";
  Amount times = kAtLeastOnce;
  Since since;

  // All but the note, which the answer then shows.
  bool is_alike(const EventSeen& event) const { return matches(reason, event.reason) && matches(node, event.about); }
};

EventWanted read_one_event(const Value& value, Reading& reading) {
  EventWanted wanted;
  Fields fields(value, "an event", reading.faults);
  wanted.reason = fields.text("reason").value_or("*");
  if (const Value* node = fields.find("node")) {
    wanted.node = read_text(*node, "node", reading.faults).value_or("*");
    reading.node_names(wanted.node, node->where);
  }
  if (const auto about = fields.text("about")) wanted.node = *about;
  wanted.note = fields.text("note").value_or("*");
  wanted.times = fields.amount("times").value_or(kAtLeastOnce);
  wanted.since = read_since(fields);
  fields.finish();
  return wanted;
}

Verdict check_event(const EventWanted& wanted, const Stage& stage, const Mark& window) {
  int times = 0;
  std::vector<std::string> alike;
  const auto& events = stage.witness.events();
  for (size_t i = wanted.since.from(window).events; i < events.size(); ++i) {
    const EventSeen& event = events[i];
    if (!wanted.is_alike(event)) continue;
    if (matches(wanted.note, event.note)) times += event.times;
    alike.push_back(fmt::format("\"{}\" at {}", event.note, format_span(event.at.time_since_epoch())));
  }
  if (wanted.times.admits(times)) return {};
  Verdict verdict{false, fmt::format("seen {} {}", times, times == 1 ? "time" : "times"), {}};
  if (alike.size() > kMostShown) alike.resize(kMostShown);
  verdict.seen += alike.empty() ? "; there was no such event" : fmt::format("; there was {}", fmt::join(alike, ", "));
  if (stage.witness.nodes().contains(wanted.node)) verdict.nodes.insert(wanted.node);
  return verdict;
}

struct LogWanted {
  std::string text = "*";
  std::string replica = "*";
  std::optional<io::LogLevel> level;
  Amount times = kAtLeastOnce;
  Since since;
};

std::optional<io::LogLevel> read_level(const Value& value, Faults& faults) {
  const std::vector<std::string> names = {"info", "warn", "error"};
  const auto text = read_text(value, "level", faults);
  const auto it = text ? std::find(names.begin(), names.end(), *text) : names.end();
  if (text && it == names.end()) faults.unknown(value.where, "level", *text, names);
  if (it == names.end()) return std::nullopt;
  return static_cast<io::LogLevel>(1 + (it - names.begin()));
}

LogWanted read_one_log(const Value& value, Reading& reading) {
  LogWanted wanted;
  if (value.is_scalar()) {
    wanted.text = read_text(value, "log", reading.faults).value_or("*");
    return wanted;
  }
  Fields fields(value, "a log line", reading.faults);
  wanted.text = fields.text("text").value_or("*");
  if (const Value* replica = fields.find("replica")) wanted.replica = reading.replica_name(*replica).value_or("*");
  if (const Value* level = fields.find("level")) wanted.level = read_level(*level, reading.faults);
  wanted.times = fields.amount("times").value_or(kAtLeastOnce);
  wanted.since = read_since(fields);
  fields.finish();
  return wanted;
}

Verdict check_log(const LogWanted& wanted, const Stage& stage, const Mark& window) {
  int times = 0;
  std::vector<std::string> lines;
  const auto& logs = stage.crew.logs();
  for (size_t i = wanted.since.from(window).logs; i < logs.size(); ++i) {
    const LogLine& line = logs[i];
    if (wanted.level && line.level != *wanted.level) continue;
    if (!matches(wanted.replica, line.replica)) continue;
    times += matches(wanted.text, line.text) ? 1 : 0;
    lines.push_back(line.text);
  }
  if (wanted.times.admits(times)) return {};
  Verdict verdict{false, fmt::format("seen {} {}", times, times == 1 ? "time" : "times"), {}};
  if (times == 0 && !lines.empty()) verdict.seen += fmt::format("; the last line is \"{}\"", lines.back());
  return verdict;
}

}  // namespace

Check read_event(const Value& value, Reading& reading) {
  std::vector<EventWanted> all;
  for (const Value* item : items(value)) all.push_back(read_one_event(*item, reading));
  return [all](const Stage& stage, const Mark& since) {
    for (const EventWanted& wanted : all) {
      if (Verdict verdict = check_event(wanted, stage, since); !verdict.holds) return verdict;
    }
    return Verdict{};
  };
}

Check read_log(const Value& value, Reading& reading) {
  std::vector<LogWanted> all;
  for (const Value* item : items(value)) all.push_back(read_one_log(*item, reading));
  return [all](const Stage& stage, const Mark& since) {
    for (const LogWanted& wanted : all) {
      if (Verdict verdict = check_log(wanted, stage, since); !verdict.holds) return verdict;
    }
    return Verdict{};
  };
}

// {nodes: 9, leases: at most 40, by: careen-0}.
Check read_writes(const Value& value, Reading& reading) {
  std::vector<std::pair<std::string, Amount>> wanted;
  std::string by = "*";
  Since since;
  std::vector<std::string> known = {"nodes", "leases", "events", "hypervisors", "pods", "by", "since"};
  for (const controllers::Kind* kind : replica::object_kinds()) known.push_back(kind->object.plural);
  for (const Member& member : members(value, "writes", reading.faults)) {
    if (member.key == "by") {
      by = reading.replica_name(member.value).value_or("*");
    } else if (member.key == "since") {
      since = read_since(member.value, reading.faults);
    } else if (std::find(known.begin(), known.end(), member.key) == known.end()) {
      reading.faults.unknown(member.where, "resource", member.key, known);
    } else if (const auto amount = read_amount(member.value, member.key, reading.faults)) {
      wanted.emplace_back(member.key, *amount);
    }
  }
  return [wanted, by, since](const Stage& stage, const Mark& window) {
    const std::string replica = by == "leader" ? stage.crew.leader().value_or("nobody") : by;
    for (const auto& [resource, amount] : wanted) {
      const auto& writes = stage.witness.writes();
      const auto first = writes.begin() + static_cast<std::ptrdiff_t>(since.from(window).writes);
      const auto count = std::count_if(first, writes.end(), [&, &plural = resource](const WriteSeen& write) {
        return write.resource == plural && matches(replica, write.replica);
      });
      if (!amount.admits(static_cast<double>(count))) {
        return Verdict{false, fmt::format("{} writes of {}", count, resource), {}};
      }
    }
    return Verdict{};
  };
}

}  // namespace careen::scenarios
