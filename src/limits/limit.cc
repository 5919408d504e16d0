#include "limits/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "io/printable.h"
#include "kube/json.h"
#include "kube/names.h"
#include "kube/node.h"
#include "kube/objects.h"

namespace careen::limits {

using kube::JsonView;

const kube::Resource kLimitResource{"repairman.k8s.io", "v1", "maintenancelimits", "MaintenanceLimit", false};

namespace {

// Spans in seconds and numbers of nodes: what fits in 32 bits, so that sums of a few of them fit in 64 in any unit.
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
constexpr size_t kMostGroupKeys = 8;
constexpr size_t kMostReserves = 64;
constexpr size_t kMostRequirements = 64;
constexpr size_t kLongestReserveActor = 253;
constexpr size_t kLongestSelector = 4096;
constexpr size_t kLongestQuote = 60;

constexpr std::string_view kInvalidField = "InvalidField";
constexpr std::string_view kUnsupportedType = "UnsupportedType";
constexpr std::string_view kInfraDrainNeedsDrain = "InfraDrainNeedsDrain";
constexpr std::string_view kHostLabel = "kubernetes.cloud.sap/host";
constexpr std::string_view kGovernors[] = {"karpenter", "karpenterNodePool", "clusterAutoscaler", "kured",
                                           "clusterAPI"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

// A value as it is shown in a sentence: it comes from a stranger, and may be as long as an object.
std::string quote(JsonView value) {
  std::string text = value.dump();
  if (text.size() > kLongestQuote) text = text.substr(0, kLongestQuote) + "…";
  return io::printable(text);
}

bool is_given(JsonView value) { return value && !value.is_null(); }

Subject subject_named(std::string_view type) {
  if (same_word(type, "node")) return Subject::node;
  if (same_word(type, "deployment")) return Subject::deployment;
  if (same_word(type, "statefulset")) return Subject::stateful_set;
  if (same_word(type, "daemonset")) return Subject::daemon_set;
  return Subject::unsupported;
}

bool is_about_workloads(Subject subject) { return subject != Subject::node && subject != Subject::unsupported; }

// "10%"; digits alone are a number that somebody has put in quotes.
std::optional<Amount> amount_in(std::string_view text) {
  Amount amount;
  if (text.ends_with('%')) {
    amount.percent = true;
    text.remove_suffix(1);
  }
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount.value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc()) amount.value = std::numeric_limits<int64_t>::max();
  return amount;
}

// Reads fields of one object of the spec. Of mistakes the first is told: whoever mends it sees the next.
class FieldReader {
 public:
  FieldReader(JsonView object, std::string path, Limit& limit)
      : object_(object), path_(std::move(path)), limit_(limit) {}

  JsonView operator[](std::string_view field) const { return object_[field]; }
  bool has(std::string_view field) const { return is_given(object_[field]); }
  void mistake(std::string_view field, const std::string& what, std::string_view reason = kInvalidField) {
    if (!limit_.mistake.empty()) return;
    limit_.mistake_reason = reason;
    limit_.mistake = fmt::format("{}.{}: {}", path_, field, what);
  }
  // A part that is an object itself; nothing where there is none.
  std::optional<FieldReader> part(std::string_view field) {
    if (!has(field)) return std::nullopt;
    if (!object_[field].is_object()) {
      mistake(field, quote(object_[field]) + " is no object");
      return std::nullopt;
    }
    return FieldReader(object_[field], fmt::format("{}.{}", path_, field), limit_);
  }

  // In all of these, without a value the place stays as it is.
  void read(std::string_view field, bool& into) {
    if (!has(field)) return;
    if (const auto value = object_[field].boolean()) {
      into = *value;
    } else {
      mistake(field, quote(object_[field]) + " is neither true nor false");
    }
  }
  void read(std::string_view field, std::optional<int64_t>& into, int64_t least, int64_t most) {
    if (!has(field)) return;
    const auto value = object_[field].integer();
    if (!value) return mistake(field, quote(object_[field]) + " is no whole number");
    if (*value < least || *value > most) {
      return mistake(field, fmt::format("{} is not between {} and {}", *value, least, most));
    }
    into = *value;
  }
  void read(std::string_view field, std::optional<Amount>& into) {
    if (!has(field)) return;
    const auto number = object_[field].integer();
    const auto text = object_[field].text();
    const auto amount = number ? Amount{*number, false} : amount_in(text.value_or(""));
    if (!amount) return mistake(field, quote(object_[field]) + " is neither a number nor a percentage");
    const int64_t most = amount->percent ? 100 : kLargest;
    if (amount->value < 0 || amount->value > most) {
      return mistake(
          field, fmt::format("{} is not between 0 and {}{}", quote(object_[field]), most, amount->percent ? "%" : ""));
    }
    into = *amount;
  }
  void read_seconds(std::string_view field, io::Duration& into) {
    std::optional<int64_t> seconds;
    read(field, seconds, 0, kLargest);
    if (seconds) into = io::seconds{*seconds};
  }
  void read_seconds(std::string_view field, std::optional<io::Duration>& into) {
    if (!has(field)) return;
    io::Duration span{};
    read_seconds(field, span);
    into = span;
  }
  // As people write it: 10m, 1h30m.
  void read_duration(std::string_view field, io::Duration& into) {
    if (!has(field)) return;
    const auto span = io::parse_duration(object_[field].text().value_or(""));
    if (!span) return mistake(field, quote(object_[field]) + " is no duration such as 10m");
    if (*span < io::Duration{} || *span > io::seconds{kLargest}) {
      return mistake(field, quote(object_[field]) + " is negative or too long");
    }
    into = *span;
  }
  // One of the names, as an index into them; they are all told if it is none.
  std::optional<size_t> one_of(std::string_view field, std::initializer_list<std::string_view> names) {
    if (!has(field)) return std::nullopt;
    const auto found = std::find(names.begin(), names.end(), object_[field].text().value_or(""));
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    mistake(field, fmt::format("{} is none of {}", quote(object_[field]), fmt::join(names, ", ")));
    return std::nullopt;
  }
  // visit(place, element) for each of at most so many.
  template <class F>
  void each(std::string_view field, size_t most, F&& visit) {
    if (!has(field)) return;
    const JsonView list = object_[field];
    if (!list.is_array()) return mistake(field, quote(list) + " is no list");
    if (list.size() > most) {
      return mistake(field, fmt::format("a list of {} is too long; there may be {}", list.size(), most));
    }
    for (size_t i = 0; i < list.size(); ++i) visit(fmt::format("{}[{}]", field, i), list[i]);
  }
  void read(std::string_view field, kube::LabelSelector& into) {
    if (!has(field)) return;
    const JsonView json = object_[field];
    if (auto wrong = selector_mistake(json)) return mistake(field, *wrong);
    auto selector = kube::LabelSelector::from_json(json);
    if (!selector) return mistake(field, io::printable(selector.error().message));
    into = std::move(*selector);
  }

 private:
  // What the API server would refuse, and LabelSelector takes for a selector of more than is meant.
  static std::optional<std::string> selector_mistake(JsonView json) {
    if (!json.is_object()) return quote(json) + " is no label selector";
    const JsonView labels = json["matchLabels"], expressions = json["matchExpressions"];
    if (is_given(labels) && !labels.is_object()) return "matchLabels is no object";
    if (is_given(expressions) && !expressions.is_array()) return "matchExpressions is no list";
    if (labels.size() + expressions.size() > kMostRequirements) {
      return fmt::format("more than {} requirements", kMostRequirements);
    }
    if (json.dump().size() > kLongestSelector) return fmt::format("longer than {} bytes", kLongestSelector);
    std::optional<std::string> wrong;
    labels.for_each_member([&](std::string_view key, JsonView value) {
      if (!value.text()) wrong = fmt::format("matchLabels: the value of {} is no text", io::printable(key));
    });
    return wrong;
  }

  JsonView object_;
  std::string path_;
  Limit& limit_;
};

void read_label_key(FieldReader& spec, const std::string& place, JsonView value, std::string& into) {
  const std::string_view key = value.text().value_or("");
  if (!kube::qualified_name_errors(key).empty()) return spec.mistake(place, quote(value) + " is no label key");
  into = key;
}

void read_group_by(FieldReader& spec, std::vector<std::string>& into) {
  spec.each("groupBy", kMostGroupKeys, [&](const std::string& place, JsonView value) {
    std::string key;
    read_label_key(spec, place, value, key);
    if (key.empty()) return;
    if (std::find(into.begin(), into.end(), key) != into.end()) return spec.mistake(place, key + " is named twice");
    into.push_back(std::move(key));
  });
}

void read_unit(FieldReader& spec, std::string& into) {
  if (!spec.has("unit")) return;
  if (spec["unit"].text() == "host") {
    into = kHostLabel;
  } else {
    read_label_key(spec, "unit", spec["unit"], into);
  }
}

// Those that the program that careen replaces does not know have no effect there, and none here.
void read_policies(FieldReader& spec, std::vector<Policy>& into) {
  if (!spec.has("policies")) return;
  if (!spec["policies"].is_array()) return spec.mistake("policies", quote(spec["policies"]) + " is no list");
  spec["policies"].for_each_element([&](JsonView value) {
    for (const Policy policy : {Policy::not_ready, Policy::unschedulable}) {
      if (value.text() != name_of(policy)) continue;
      if (std::find(into.begin(), into.end(), policy) == into.end()) into.push_back(policy);
    }
  });
}

void read_reserve(FieldReader& spec, std::vector<Reserve>& into) {
  spec.each("reserve", kMostReserves, [&](const std::string& place, JsonView value) {
    const std::string_view actor = value["actor"].text().value_or("");
    if (actor.empty() || actor.size() > kLongestReserveActor || io::printable(actor) != actor) {
      return spec.mistake(place + ".actor", "who it is for is missing or no name");
    }
    const auto same = [&](const Reserve& other) { return other.actor == actor; };
    if (std::any_of(into.begin(), into.end(), same)) {
      return spec.mistake(place + ".actor", std::string(actor) + " is named twice");
    }
    const auto nodes = value["nodes"].integer();
    if (!nodes || *nodes < 0 || *nodes > kLargest) {
      return spec.mistake(place + ".nodes", fmt::format("is not between 0 and {}", kLargest));
    }
    into.push_back({std::string(actor), *nodes});
  });
}

void read_governors(FieldReader& spec, std::vector<std::string>& into) {
  spec.each("governors", std::size(kGovernors), [&](const std::string& place, JsonView value) {
    const std::string_view name = value.text().value_or("");
    if (std::find(std::begin(kGovernors), std::end(kGovernors), name) == std::end(kGovernors)) {
      return spec.mistake(place, fmt::format("{} is none of {}", quote(value), fmt::join(kGovernors, ", ")));
    }
    if (std::find(into.begin(), into.end(), name) == into.end()) into.emplace_back(name);
  });
}

void read_on_timeout(FieldReader& step, OnTimeout& into) {
  if (const auto named = step.one_of("onTimeout", {"Reject", "Continue"})) {
    into = *named == 0 ? OnTimeout::reject : OnTimeout::go_on;
  }
}

void read_pod_selector(FieldReader& drain, std::optional<kube::LabelSelector>& into) {
  if (!drain.has("podSelector")) return;
  const auto text = drain["podSelector"].text();
  if (!text || text->size() > kLongestSelector) {
    return drain.mistake("podSelector", quote(drain["podSelector"]) + " is no label selector such as app=web");
  }
  auto selector = kube::LabelSelector::parse(*text);
  if (!selector) return drain.mistake("podSelector", io::printable(selector.error().message));
  if (!selector->empty()) into = std::move(*selector);
}

void read_drain(FieldReader& spec, DrainStep& into) {
  into.options.ignore_daemon_sets = true;
  into.options.delete_emptydir_data = true;
  auto drain = spec.part("drain");
  if (!drain) return;
  std::optional<int64_t> grace;
  drain->read("enabled", into.enabled);
  drain->read("cordonOnly", into.cordon_only);
  drain->read("gracePeriodSeconds", grace, -1, kLargest);
  drain->read_seconds("timeoutSeconds", into.timeout);
  drain->read("deleteEmptyDirData", into.options.delete_emptydir_data);
  drain->read("force", into.options.force);
  drain->read("ignoreDaemonSets", into.options.ignore_daemon_sets);
  read_pod_selector(*drain, into.options.only);
  drain->read_seconds("afterSeconds", into.after);
  read_on_timeout(*drain, into.on_timeout);
  drain->read("uncordon", into.uncordon);
  into.options.grace_seconds = grace.value_or(-1);
}

void read_infra_drain(FieldReader& spec, InfraDrainStep& into) {
  auto drain = spec.part("infraDrain");
  if (!drain) return;
  drain->read("enabled", into.enabled);
  drain->read_seconds("timeoutSeconds", into.timeout);
  drain->read_seconds("afterSeconds", into.after);
  read_on_timeout(*drain, into.on_timeout);
}

void read_timeouts(FieldReader& spec, Timeouts& into) {
  auto timeouts = spec.part("timeouts");
  if (!timeouts) return;
  timeouts->read_seconds("pendingSeconds", into.pending);
  timeouts->read_seconds("approvedSeconds", into.approved);
  timeouts->read_seconds("inProgressSeconds", into.in_progress);
  timeouts->read_seconds("evidenceSeconds", into.evidence);
}

// An object of a type that careen does not know counts nothing and holds nothing back, as before: its mistake is told.
void read_subject(FieldReader& spec, Limit& limit) {
  const auto type = spec["type"].text();
  if (spec.has("type") && !type) {
    // About whatever its name says, so that it holds back rather than lets pass.
    limit.subject = subject_named(limit.name);
    return spec.mistake("type", quote(spec["type"]) + " is no text");
  }
  limit.subject = subject_named(type.value_or(limit.name));
  if (limit.subject != Subject::unsupported) return;
  const std::string said = type ? quote(spec["type"]) : fmt::format("absent, and the name {}", limit.name);
  spec.mistake("type", said + " is none of node, deployment, statefulset, daemonset", kUnsupportedType);
}

void read_mode(FieldReader& spec, Limit& limit) {
  if (const auto named = spec.one_of("mode", {name_of(Mode::observe), name_of(Mode::queue), name_of(Mode::enforce)})) {
    limit.mode = static_cast<Mode>(*named);
  }
  const bool whole = limit.max_unavailable || limit.mode != Mode::observe;
  limit.count = whole && limit.subject == Subject::node ? Count::all : Count::policies;
  if (const auto named = spec.one_of("count", {"Policies", "All"})) {
    limit.count = *named == 0 ? Count::policies : Count::all;
  }
  if (limit.mode != Mode::observe && limit.count == Count::policies && !is_about_workloads(limit.subject)) {
    spec.mistake("count", fmt::format("Policies goes with mode Observe only, not with {}", name_of(limit.mode)));
  }
}

// What has a meaning for the other kind of limit only would be ignored in silence.
void refuse_fields_of_others(FieldReader& spec, Subject subject) {
  if (subject == Subject::node && spec.has("namespaceSelector")) {
    spec.mistake("namespaceSelector", "is for limits about workloads; this one is about nodes");
  }
  if (!is_about_workloads(subject)) return;
  for (const char* field :
       {"drain", "infraDrain", "groupBy", "unit", "maxParallel", "count", "settleSeconds", "foreignCordonAfter",
        "reserve", "governors", "timeouts", "intervalSeconds", "ttlSecondsAfterFinished"}) {
    if (spec.has(field)) spec.mistake(field, "is for limits about nodes; this one is about workloads");
  }
  const auto mode = spec["mode"].text();
  if (spec.has("mode") && mode != name_of(Mode::observe)) {
    spec.mistake("mode", "limits about workloads have no other than Observe");
  }
}

void read_spec(FieldReader& spec, Limit& limit) {
  read_subject(spec, limit);
  refuse_fields_of_others(spec, limit.subject);
  spec.read("selector", limit.selector);
  spec.read("namespaceSelector", limit.namespace_selector);
  read_group_by(spec, limit.group_by);
  read_unit(spec, limit.unit);
  spec.read("limit", limit.percent, 0, 100);
  spec.read("maxUnavailable", limit.max_unavailable);
  spec.read("maxParallel", limit.max_parallel);
  spec.read("minimum", limit.minimum, 0, kLargest);
  read_policies(spec, limit.policies);
  read_mode(spec, limit);
  spec.read_seconds("settleSeconds", limit.settle);
  spec.read_duration("foreignCordonAfter", limit.foreign_cordon_after);
  read_reserve(spec, limit.reserve);
  read_governors(spec, limit.governors);
  read_drain(spec, limit.drain);
  read_infra_drain(spec, limit.infra_drain);
  read_timeouts(spec, limit.timeouts);
  spec.read_seconds("intervalSeconds", limit.interval);
  spec.read_seconds("ttlSecondsAfterFinished", limit.ttl);
  // Volumes are detached once the pods that use them are gone.
  if (limit.infra_drain.enabled && (!limit.drain.enabled || limit.drain.cordon_only)) {
    spec.mistake("infraDrain.enabled", "needs spec.drain.enabled, without cordonOnly", kInfraDrainNeedsDrain);
  }
}

std::optional<io::Wall> time_in(JsonView value) { return io::parse_rfc3339(value.text().value_or("")); }

}  // namespace

int64_t Limit::nominal(int64_t total) const {
  if (total <= 0) return 0;
  std::optional<int64_t> most;
  bool none = false;  // somebody says that there shall be none
  if (percent) {
    most = Amount{*percent, true}.of(total);
    none = *percent == 0;
  }
  if (max_unavailable) {
    const int64_t so_many = max_unavailable->of(total);
    most = std::min(most.value_or(so_many), so_many);
    none |= max_unavailable->value == 0;
  }
  const int64_t floor = minimum.value_or(most && !none ? 1 : 0);
  return std::max(most.value_or(0), floor);
}

int64_t Limit::parallel(int64_t total) const {
  if (!max_parallel) return nominal(total);
  if (total <= 0 || max_parallel->value == 0) return 0;
  // A percentage of few nodes is still more than none: the repair of a node that is down has to be possible.
  return std::max<int64_t>(max_parallel->of(total), 1);
}

bool Limit::selects(const kube::Node& node) const {
  if (subject != Subject::node) return false;
  if (selector.empty()) return true;
  return selector.matches([&](std::string_view key) -> std::optional<std::string_view> {
    const kube::Atom* const label = node.label(key);
    if (!label) return std::nullopt;
    return label->view();
  });
}

Limit parse_limit(const kube::Object& object, const ParseOptions& options) {
  Limit limit;
  limit.name = object.name;
  limit.uid = object.uid;
  limit.version = object.version;
  const JsonView meta = object.document["metadata"], status = object.document["status"];
  limit.generation = meta["generation"].integer().value_or(0);
  limit.deleting = meta["deletionTimestamp"].is_string();
  limit.last_approval = time_in(status["lastApprovalTime"]);
  limit.last_finish = time_in(status["lastFinishTime"]);
  const JsonView json = object.document["spec"];
  FieldReader spec(json.is_object() ? json : JsonView(), "spec", limit);
  if (is_given(json) && !json.is_object()) {
    limit.mistake_reason = kInvalidField;
    limit.mistake = "spec: " + quote(json) + " is no object";
  }
  read_spec(spec, limit);
  if (options.floor_of_one && limit.subject == Subject::node && !limit.minimum) limit.minimum = 1;
  return limit;
}

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::observe:
      return "Observe";
    case Mode::queue:
      return "Queue";
    case Mode::enforce:
      return "Enforce";
  }
  return "";
}

std::string_view name_of(Policy policy) {
  switch (policy) {
    case Policy::not_ready:
      return "NotReady";
    case Policy::unschedulable:
      return "Unschedulable";
  }
  return "";
}

}  // namespace careen::limits
