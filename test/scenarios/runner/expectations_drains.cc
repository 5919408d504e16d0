#include <fmt/format.h>

#include <algorithm>

#include "expectations.h"
#include "since.h"

namespace careen::scenarios {

using kube::Json;
using kube::JsonView;

namespace {

// A text that may also be missing: null.
struct TextWanted {
  std::optional<std::string> pattern{};
  bool none = false;

  std::string differs(std::string_view what, std::string_view text) const {
    if (none && !text.empty()) return fmt::format("{} is \"{}\"", what, text);
    if (pattern && !matches(*pattern, text)) return fmt::format("{} is \"{}\"", what, text);
    return {};
  }
};

TextWanted optional_text(Fields& fields, std::string_view key) {
  const Value* value = fields.find(key);
  if (!value) return {};
  if (value->kind == Value::Kind::null) return {.none = true};
  return {.pattern = read_text(*value, key, fields.faults())};
}

struct MaintenanceWanted {
  std::string name;
  bool gone = false;
  TextWanted phase, error, blocked;
  std::optional<bool> drained;
  std::vector<std::pair<std::string, Amount>> numbers;  // by their pointers in the status
  std::optional<Amount> pending;
};

MaintenanceWanted read_one_maintenance(const Member& member, Reading& reading) {
  MaintenanceWanted wanted;
  wanted.name = member.key;
  if (member.value.is_scalar()) {
    const std::string text = read_text(member.value, "a phase", reading.faults).value_or("gone");
    const std::vector<std::string> words = {"Running", "Succeeded", "Failed", "gone"};
    if (std::find(words.begin(), words.end(), text) == words.end()) {
      reading.faults.unknown(member.value.where, "phase", text, words);
    }
    wanted.gone = text == "gone";
    if (!wanted.gone) wanted.phase.pattern = text;
    return wanted;
  }
  Fields fields(member.value, "a maintenance", reading.faults);
  wanted.phase = optional_text(fields, "phase");
  wanted.error = optional_text(fields, "error");
  wanted.blocked = optional_text(fields, "blocked");
  wanted.drained = fields.optional_flag("drained");
  const std::pair<const char*, const char*> numbers[] = {{"progress", "/status/drainProgress"},
                                                         {"to-evict", "/status/evictionPods"},
                                                         {"pods", "/status/totalpods"},
                                                         {"lease-errors", "/status/errorOnLeaseCount"}};
  for (const auto& [key, pointer] : numbers) {
    if (const auto amount = fields.amount(key)) wanted.numbers.emplace_back(pointer, *amount);
  }
  wanted.pending = fields.amount("pending");
  fields.finish();
  return wanted;
}

// "Reason: message" of a condition that holds.
std::string condition_of(const Json& object, std::string_view type) {
  std::string out;
  object.at("/status/conditions").for_each_element([&](JsonView one) {
    if (one["type"].text() != type || one["status"].text() != "True") return;
    out = fmt::format("{}: {}", one["reason"].text().value_or(""), one["message"].text().value_or(""));
  });
  return out;
}

std::string differs(const MaintenanceWanted& wanted, const Json& object) {
  if (object.view().is_null()) return wanted.gone ? "" : "it is gone";
  if (wanted.gone) return "it is there";
  const auto text = [&](const char* pointer) { return object.at(pointer).text().value_or(""); };
  if (std::string d = wanted.phase.differs("its phase", text("/status/phase")); !d.empty()) return d;
  if (std::string d = wanted.error.differs("its error", text("/status/lastError")); !d.empty()) return d;
  if (std::string d = wanted.blocked.differs("what blocks", condition_of(object, "Blocked")); !d.empty()) return d;
  if (wanted.drained && *wanted.drained == condition_of(object, "Drained").empty()) {
    return *wanted.drained ? "it is not drained" : "it is drained";
  }
  for (const auto& [pointer, amount] : wanted.numbers) {
    const auto number = object.at(pointer).integer().value_or(0);
    if (!amount.admits(static_cast<double>(number))) return fmt::format("its {} is {}", pointer.substr(8), number);
  }
  const JsonView pending = object.at("/status/pendingPods");
  if (wanted.pending && !wanted.pending->admits(static_cast<double>(pending.size()))) {
    return fmt::format("pending is {}", pending.exists() ? pending.dump() : "nothing");
  }
  return {};
}

struct PodsWanted {
  std::string pattern;  // of namespace/name
  Amount count = kAtLeastOnce;
  std::string node = "*", phase = "*";
  std::optional<bool> ready, terminating;

  bool fits(const PodView& pod) const {
    return matches(node, pod.node) && matches(phase, pod.phase) && (!ready || *ready == pod.ready) &&
           (!terminating || *terminating == pod.terminating);
  }
};

PodsWanted read_some_pods(const Member& member, Reading& reading) {
  PodsWanted wanted;
  wanted.pattern = member.key;
  if (member.key.find('/') == std::string::npos) {
    reading.faults.add(member.where, "pods are named NAMESPACE/NAME, with * and ?: shop/web-*");
  }
  if (member.value.is_scalar() && member.value.text == "gone") {
    wanted.count = {Amount::Kind::exactly, 0};
    return wanted;
  }
  if (member.value.is_scalar()) {
    wanted.count = read_amount(member.value, "pods", reading.faults).value_or(kAtLeastOnce);
    return wanted;
  }
  Fields fields(member.value, "pods", reading.faults);
  wanted.count = fields.amount("count").value_or(kAtLeastOnce);
  if (const Value* node = fields.find("node")) {
    wanted.node = read_text(*node, "node", reading.faults).value_or("*");
    reading.node_names(wanted.node, node->where);
  }
  wanted.phase = fields.text("phase").value_or("*");
  wanted.ready = fields.optional_flag("ready");
  wanted.terminating = fields.optional_flag("terminating");
  fields.finish();
  return wanted;
}

std::string shown(const std::string& name, const PodView& pod) {
  return fmt::format("{} on {} {}{}", name, pod.node.empty() ? "no node" : pod.node,
                     pod.ready           ? "ready"
                     : pod.phase.empty() ? "not ready"
                                         : pod.phase,
                     pod.terminating ? ", terminating" : "");
}

Verdict check_pods(const PodsWanted& wanted, const Stage& stage) {
  int count = 0;
  std::vector<std::string> seen;
  for (const auto& [name, pod] : stage.witness.pods().pods()) {
    if (!matches(wanted.pattern, name)) continue;
    count += wanted.fits(pod) ? 1 : 0;
    if (seen.size() < kMostShown) seen.push_back(shown(name, pod));
  }
  if (wanted.count.admits(count)) return {};
  return {false,
          fmt::format("{} {} so; there {}", count, count == 1 ? "is" : "are",
                      seen.empty() ? "is none" : fmt::format("is {}", fmt::join(seen, "; "))),
          {}};
}

struct EvictionsWanted {
  std::vector<std::pair<std::string, Amount>> accepted;  // by pattern of namespace/name
  std::optional<Amount> refused;
  std::optional<Amount> each;  // of every single pod
  Since since;
};

Verdict check_evictions(const EvictionsWanted& wanted, const Stage& stage, const Mark& window) {
  const auto& all = stage.witness.pods().evictions();
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(wanted.since.from(window).evictions);
  for (const auto& [pattern, amount] : wanted.accepted) {
    const auto count = std::count_if(
        first, all.end(), [&, &p = pattern](const EvictionSeen& one) { return one.accepted && matches(p, one.pod); });
    if (amount.admits(static_cast<double>(count))) continue;
    return {false, fmt::format("{} evictions of {} were accepted", count, pattern), {}};
  }
  const auto refused = std::count_if(first, all.end(), [](const EvictionSeen& one) { return !one.accepted; });
  if (wanted.refused && !wanted.refused->admits(static_cast<double>(refused))) {
    return {false, fmt::format("{} evictions were refused", refused), {}};
  }
  std::map<std::string, int> times;
  for (auto it = first; wanted.each && it != all.end(); ++it) {
    if (it->accepted) ++times[it->pod + " " + it->uid];
  }
  for (const auto& [pod, count] : times) {
    if (!wanted.each->admits(count)) return {false, fmt::format("{} was evicted {} times", pod, count), {}};
  }
  return {};
}

}  // namespace

// {NAME: phase, or gone, or {phase: …, progress: …, blocked: …}}.
Check read_maintenance(const Value& value, Reading& reading) {
  std::vector<MaintenanceWanted> all;
  for (const Member& member : members(value, "maintenance", reading.faults)) {
    const MaintenanceWanted one = read_one_maintenance(member, reading);
    for (const std::string& name : expand(member.key)) {
      all.push_back(one);
      all.back().name = name;
    }
  }
  return [all](const Stage& stage, const Mark&) {
    for (const MaintenanceWanted& wanted : all) {
      const Json object = stage.cluster.api.object(fmt::format("{}/{}", kMaintenances, wanted.name));
      if (std::string seen = differs(wanted, object); !seen.empty()) {
        return Verdict{false, fmt::format("{}: {}", wanted.name, seen), {}};
      }
    }
    return Verdict{};
  };
}

// {NAMESPACE/NAME: amount, or gone, or {count: …, node: …, ready: …}}.
Check read_pods_there(const Value& value, Reading& reading) {
  std::vector<PodsWanted> all;
  for (const Member& member : members(value, "pods", reading.faults)) all.push_back(read_some_pods(member, reading));
  return [all](const Stage& stage, const Mark&) {
    for (const PodsWanted& wanted : all) {
      if (Verdict verdict = check_pods(wanted, stage); !verdict.holds) return verdict;
    }
    return Verdict{};
  };
}

// {NAMESPACE/NAME: amount, refused: amount, each: amount}.
Check read_evictions(const Value& value, Reading& reading) {
  EvictionsWanted wanted;
  for (const Member& member : members(value, "evictions", reading.faults)) {
    if (member.key == "since") {
      wanted.since = read_since(member.value, reading.faults);
      continue;
    }
    const auto amount = read_amount(member.value, member.key, reading.faults);
    if (member.key == "refused") {
      wanted.refused = amount;
    } else if (member.key == "each") {
      wanted.each = amount;
    } else if (member.key.find('/') == std::string::npos) {
      reading.faults.unknown(member.where, "key of evictions", member.key,
                             {"refused", "each", "since", "NAMESPACE/NAME"});
    } else if (amount) {
      wanted.accepted.emplace_back(member.key, *amount);
    }
  }
  return [wanted](const Stage& stage, const Mark& since) { return check_evictions(wanted, stage, since); };
}

// kept.
Check read_budgets_kept(const Value& value, Reading& reading) {
  const std::string text = read_text(value, "budgets", reading.faults).value_or("kept");
  if (text != "kept") reading.faults.unknown(value.where, "outcome", text, {"kept"});
  return [](const Stage& stage, const Mark&) {
    const auto& broken = stage.witness.pods().broken_budgets();
    return Verdict{broken.empty(), broken.empty() ? "" : broken.front(), {}};
  };
}

}  // namespace careen::scenarios
