#include "expectations.h"

#include <fmt/format.h>

#include <algorithm>

namespace careen::scenarios {

std::span<const ExpectationKind> expectation_kinds() {
  static constexpr ExpectationKind kKinds[] = {
      {"all", read_all},
      {"any", read_any},
      {"none", read_none},
      {"count", read_count},
      {"order", read_order},
      {"event", read_event},
      {"writes", read_writes},
      {"log", read_log},
      {"metrics", read_metrics},
      {"problems", read_problems},
      {"config", read_config},
      {"leader", read_leader},
      {"replicas", read_replicas},
      {"why", read_why},
      {"object", read_object},
      {"message", read_message},
      {"queries", read_queries},
      {"lease", read_lease},
      {"info", read_info},
      {"maintenance", read_maintenance},
      {"pods", read_pods_there},
      {"evictions", read_evictions},
      {"budgets", read_budgets_kept},
  };
  return kKinds;
}

namespace {

bool could_be_nodes(const std::vector<std::string>& names, const Reading& reading) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::any_of(reading.nodes.begin(), reading.nodes.end(),
                       [&](const auto& node) { return matches(name, node); });
  });
}

Check read_one(const Member& member, Reading& reading) {
  for (const ExpectationKind& kind : expectation_kinds()) {
    if (kind.name == member.key) return kind.read(member.value, reading);
  }
  const auto names = expand(member.key);
  if (could_be_nodes(names, reading)) {
    reading.node_names(member.key, member.where);
    return read_named(names, member.value, reading);
  }
  std::vector<std::string> known = reading.nodes;
  for (const ExpectationKind& kind : expectation_kinds()) known.emplace_back(kind.name);
  reading.faults.unknown(member.where, "expectation or node", member.key, known);
  return {};
}

}  // namespace

std::vector<Expectation> read_expectations(const Value& value, Reading& reading) {
  std::vector<Expectation> out;
  if (value.is_scalar()) {
    out.push_back({value.where, value.text, read_count(value, reading)});
    return out;
  }
  for (const Member& member : members(value, "an expectation", reading.faults)) {
    out.push_back(
        {member.where, fmt::format("{}: {}", member.key, flow_text(member.value)), read_one(member, reading)});
  }
  return out;
}

std::vector<Expectation> read_forbidden(const Value& value, Reading& reading) {
  if (value.is_scalar()) return {{value.where, value.text, read_forbidden_count(value, reading)}};
  auto out = read_expectations(value, reading);
  for (Expectation& one : out) {
    one.check = [wrong = std::move(one.check)](const Stage& stage, const Mark& since) {
      Verdict verdict = wrong(stage, since);
      verdict.seen = "it was so";
      verdict.holds = !verdict.holds;
      return verdict;
    };
  }
  return out;
}

}  // namespace careen::scenarios
