#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "expectations.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "view/info_source.h"

namespace careen::scenarios {

namespace {

// The series' value in a text exposition; several series that `series` names without its labels are added up. A
// series that is not there counts as nothing: nullopt.
std::optional<double> metric(const std::string& exposition, const std::string& series) {
  std::istringstream lines(exposition);
  std::optional<double> sum;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(series)) continue;
    const char next = line.size() > series.size() ? line[series.size()] : '\0';
    if (next != ' ' && (next != '{' || series.ends_with('}'))) continue;
    const size_t space = line.rfind(' ');
    double value = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
    sum = sum.value_or(0) + value;
  }
  return sum;
}

// The node's element of the info document; empty when there is none.
std::string info_of(replica::Replica& replica, const std::string& node) {
  const auto pieces = view::info_source(replica).document();
  std::string text;
  while (pieces(text)) {
  }
  const auto document = kube::Json::parse(text);
  std::string found;
  if (!document) return found;
  document->view().for_each_element([&](kube::JsonView element) {
    if (element["node"].text() == node) found = element.dump();
  });
  return found;
}

std::string_view name_of(Crew::State state) {
  constexpr std::string_view kNames[] = {"running", "suspended", "down"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace

// {series: amount, of: replica}; of the leader when no replica is named.
Check read_metrics(const Value& value, Reading& reading) {
  std::string of = "leader";
  std::vector<std::pair<std::string, Amount>> wanted;
  for (const Member& member : members(value, "metrics", reading.faults)) {
    if (member.key == "of") {
      of = reading.replica_name(member.value).value_or(of);
    } else if (const auto amount = read_amount(member.value, member.key, reading.faults)) {
      wanted.emplace_back(member.key, *amount);
    }
  }
  return [wanted, of](const Stage& stage, const Mark&) {
    const auto name = stage.crew.resolve(of);
    replica::Replica* replica = name ? stage.crew.replica(*name) : nullptr;
    if (!replica) return Verdict{false, name ? *name + " is down" : "no replica leads", {}};
    const std::string exposition = replica->metrics().expose();
    for (const auto& [series, amount] : wanted) {
      const auto number = metric(exposition, series);
      if (!number) return Verdict{false, fmt::format("{} has no series {}", *name, series), {}};
      if (!amount.admits(*number)) return Verdict{false, fmt::format("{} of {} is {}", series, *name, *number), {}};
    }
    return Verdict{};
  };
}

// none, or globs on "key: message" that each fit an open problem of some replica.
Check read_problems(const Value& value, Reading& reading) {
  std::vector<std::string> wanted;
  const bool none = value.kind == Value::Kind::string && value.text == "none";
  for (const Value* item : items(value)) {
    if (const auto text = read_text(*item, "problems", reading.faults)) wanted.push_back(*text);
  }
  return [wanted, none](const Stage& stage, const Mark&) {
    std::vector<std::string> open;
    for (const std::string& name : stage.crew.names()) {
      const replica::Replica* replica = stage.crew.replica(name);
      if (!replica) continue;
      for (const auto& [key, message] : stage.crew.replica(name)->problems().open()) {
        open.push_back(fmt::format("{}: {}", key, message));
      }
    }
    const std::string seen = open.empty() ? "there is no open problem" : fmt::format("open: {}", fmt::join(open, "; "));
    if (none) return Verdict{open.empty(), seen, {}};
    for (const std::string& pattern : wanted) {
      const auto fits = [&](const std::string& problem) { return matches(pattern, problem); };
      if (std::none_of(open.begin(), open.end(), fits)) return Verdict{false, seen, {}};
    }
    return Verdict{};
  };
}

// taken or refused, by every replica that runs.
Check read_config(const Value& value, Reading& reading) {
  const std::string text = read_text(value, "config", reading.faults).value_or("taken");
  if (text != "taken" && text != "refused") reading.faults.unknown(value.where, "outcome", text, {"taken", "refused"});
  return [taken = text == "taken"](const Stage& stage, const Mark&) {
    for (const std::string& name : stage.crew.names()) {
      replica::Replica* replica = stage.crew.replica(name);
      if (!replica) continue;
      const bool valid = metric(replica->metrics().expose(), "careen_config_valid").value_or(0) == 1;
      if (valid != taken) return Verdict{false, fmt::format("{} has {} it", name, valid ? "taken" : "refused"), {}};
    }
    return Verdict{};
  };
}

Check read_leader(const Value& value, Reading& reading) {
  const std::string wanted = read_text(value, "leader", reading.faults).value_or("none");
  auto known = reading.replicas;
  known.emplace_back("none");
  known.emplace_back("some");
  if (std::find(known.begin(), known.end(), wanted) == known.end()) {
    reading.faults.unknown(value.where, "replica", wanted, known);
  }
  return [wanted](const Stage& stage, const Mark&) {
    const std::string leader = stage.crew.leader().value_or("none");
    const bool holds = wanted == "some" ? leader != "none" : leader == wanted;
    return Verdict{holds, leader == "none" ? "nobody leads" : leader + " leads", {}};
  };
}

// {careen-0: running | suspended | down | exited N}.
Check read_replicas(const Value& value, Reading& reading) {
  std::vector<std::pair<std::string, std::string>> wanted;
  const std::vector<std::string> words = {"running", "suspended", "down", "exited 0", "exited 1"};
  for (const Member& member : members(value, "replicas", reading.faults)) {
    if (std::find(reading.replicas.begin(), reading.replicas.end(), member.key) == reading.replicas.end()) {
      reading.faults.unknown(member.where, "replica", member.key, reading.replicas);
    }
    const auto text = read_text(member.value, member.key, reading.faults);
    if (text && std::find(words.begin(), words.end(), *text) == words.end()) {
      reading.faults.unknown(member.value.where, "condition of a replica", *text, words);
    }
    if (text) wanted.emplace_back(member.key, *text);
  }
  return [wanted](const Stage& stage, const Mark&) {
    for (const auto& [name, condition] : wanted) {
      const auto code = stage.crew.exit_code(name);
      const std::string exited = code ? fmt::format("exited {}", *code) : "never ended";
      const auto state = name_of(stage.crew.state(name));
      if (condition == state || condition == exited) continue;
      return Verdict{false, fmt::format("{} is {} ({})", name, state, exited), {}};
    }
    return Verdict{};
  };
}

// {node: glob on its element of the leader's info document}.
Check read_info(const Value& value, Reading& reading) {
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const Member& member : members(value, "info", reading.faults)) {
    reading.node_names(member.key, member.where);
    if (const auto text = read_text(member.value, member.key, reading.faults)) wanted.emplace_back(member.key, *text);
  }
  return [wanted](const Stage& stage, const Mark&) {
    const auto leader = stage.crew.leader();
    replica::Replica* replica = leader ? stage.crew.replica(*leader) : nullptr;
    if (!replica) return Verdict{false, "no replica leads", {}};
    for (const auto& [node, pattern] : wanted) {
      const std::string text = info_of(*replica, node);
      if (matches(pattern, text)) continue;
      return Verdict{false, text.empty() ? "the document has no " + node : "the document says " + text, {node}};
    }
    return Verdict{};
  };
}

// {node: glob on the tree of reasons of the leader}.
Check read_why(const Value& value, Reading& reading) {
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const Member& member : members(value, "why", reading.faults)) {
    reading.node_names(member.key, member.where);
    if (const auto text = read_text(member.value, member.key, reading.faults)) wanted.emplace_back(member.key, *text);
  }
  return [wanted](const Stage& stage, const Mark&) {
    for (const auto& [node, pattern] : wanted) {
      const auto leader = stage.crew.leader();
      const std::string reasons = leader ? stage.crew.reasons(*leader, node) : "";
      if (reasons.empty()) return Verdict{false, "no replica can tell", {node}};
      if (!matches(pattern, reasons)) return Verdict{false, "careen says otherwise", {node}};
    }
    return Verdict{};
  };
}

}  // namespace careen::scenarios
