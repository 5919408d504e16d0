#include "drain/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "drain/rules.h"
#include "kube/objects.h"

namespace careen::drain {

namespace {

constexpr const char* kDaemonSetIgnored = "ignoring DaemonSet-managed Pods";
constexpr const char* kDaemonSetRefused = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)";
constexpr const char* kLocalStorageRefused = "Pods with local storage (use --delete-emptydir-data to override)";
constexpr const char* kUnmanagedTaken = "deleting Pods that declare no controller";
constexpr const char* kUnmanagedRefused = "cannot delete Pods that declare no controller (use --force to override)";

constexpr const char* kLabelSkips = "left alone: label cluster.x-k8s.io/drain says skip";
constexpr const char* kLabelWaits = "left to end by itself: label cluster.x-k8s.io/drain says wait-completed";

// What a pod says of itself.
enum class Word { none, skip, wait };

// Any case, and with or without its first hyphen, as Cluster API reads it. Another value says nothing.
Word word_of(const kube::Pod& pod) {
  std::string value(pod.label(kDrainLabel).value_or(""));
  for (char& c : value) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (value == "skip") return Word::skip;
  if (const size_t hyphen = value.find('-'); hyphen != std::string::npos) value.erase(hyphen, 1);
  return value == "waitcompleted" ? Word::wait : Word::none;
}

bool matches(const kube::LabelSelector& selector, const kube::Pod& pod) {
  return selector.matches([&pod](std::string_view key) { return pod.label(key); });
}

bool matches_any(const std::vector<kube::LabelSelector>& selectors, const kube::Pod& pod) {
  return std::any_of(selectors.begin(), selectors.end(), [&](const auto& selector) { return matches(selector, pod); });
}

// In whole seconds, as kubectl counts them.
bool has_been_terminating_for_longer(const kube::Pod& pod, io::Duration limit, io::Duration beyond_grace) {
  if (limit <= io::Duration::zero() || !pod.deletion) return false;
  return std::chrono::floor<io::seconds>(beyond_grace) > limit;
}

Verdict judge_daemon(const kube::Pod& pod, const Options& options, DaemonSetState state) {
  switch (state) {
    case DaemonSetState::exists:
      if (options.ignore_daemon_sets) return {Fate::leave, kDaemonSetIgnored};
      return {Fate::refuse, kDaemonSetRefused};
    case DaemonSetState::missing:
      if (options.force) return {Fate::take};
      return {Fate::refuse, "daemonsets.apps \"" + std::string(pod.owner_name) + "\" not found"};
    case DaemonSetState::unknown:
      break;
  }
  return {Fate::leave};
}

// What a rule says of the pod, unless it is to be taken like any other. `taken` then has its order.
std::optional<Verdict> judge_by_rules(const kube::Pod& pod, const NodeRules& rules, Verdict& taken) {
  using Behavior = Rule::Behavior;
  if (!rules.mistake.empty()) return Verdict{Fate::refuse, fmt::format("Pods, because of {}", rules.mistake)};
  const Ruling ruling = ruling_for(pod, rules);
  if (ruling.open) return Verdict{Fate::await, "its namespace is not known yet, by which MachineDrainRules choose"};
  if (!ruling.rule) return std::nullopt;
  const Rule& rule = *ruling.rule;
  switch (rule.behavior) {
    case Behavior::skip:
      return Verdict{Fate::leave, fmt::format("left alone: {} says Skip", rule.name), true};
    case Behavior::wait_completed:
      if (pod.finished()) return std::nullopt;
      return Verdict{Fate::await, fmt::format("left to end by itself: {} says WaitCompleted", rule.name), true};
    case Behavior::unknown:
      return Verdict{Fate::refuse,
                     fmt::format("Pods of which {} says \"{}\", which careen does not know", rule.name, rule.said)};
    case Behavior::drain:
      taken.order = rule.order;
      if (rule.order != 0) taken.by = rule.name;
      return std::nullopt;
  }
  return std::nullopt;
}

Verdict judge_storage_and_owner(const kube::Pod& pod, const Options& options) {
  if (pod.finished()) return {Fate::take};
  if (pod.flags.local_storage && !options.delete_emptydir_data) return {Fate::refuse, kLocalStorageRefused};
  // The last filter's word is the one that is heard: nothing is said about local storage that is lost.
  if (!pod.owner_kind.empty()) return {Fate::take};
  if (options.force) return {Fate::take, kUnmanagedTaken};
  return {Fate::refuse, kUnmanagedRefused};
}

}  // namespace

Verdict judge(const kube::Pod& pod, const Options& options, DaemonSetState daemon_set, io::Duration beyond_grace,
              const NodeRules* rules) {
  if (options.only && !matches(*options.only, pod)) return {Fate::leave};
  if (matches_any(options.skip, pod)) return {Fate::leave};
  const bool awaited = matches_any(options.wait_for, pod);
  const Word word = awaited ? Word::none : word_of(pod);
  if (word == Word::skip) return {Fate::leave, kLabelSkips, true};
  if (has_been_terminating_for_longer(pod, options.skip_wait_for_delete, beyond_grace)) return {Fate::leave};
  if (options.daemon_sets_by_kind) {
    if (pod.flags.daemon_kind) return {Fate::leave, kDaemonSetIgnored};
  } else if (pod.flags.daemon_set && !pod.finished()) {
    if (Verdict verdict = judge_daemon(pod, options, daemon_set); verdict.fate != Fate::take) return verdict;
  }
  if (pod.flags.mirror) return {Fate::leave};
  if (awaited && !pod.finished()) return {Fate::await};
  if (word == Word::wait && !pod.finished()) return {Fate::await, kLabelWaits, true};
  Verdict verdict = judge_storage_and_owner(pod, options);
  if (!rules || awaited || word == Word::wait) return verdict;
  return judge_by_rules(pod, *rules, verdict).value_or(verdict);
}

void remark(Remarks& remarks, const std::string& message, const kube::Pod& pod) {
  auto known = std::find_if(remarks.begin(), remarks.end(), [&](const auto& one) { return one.first == message; });
  if (known == remarks.end()) known = remarks.insert(remarks.end(), {message, {}});
  known->second.push_back(kube::object_key(pod.ns, pod.name));
}

namespace {
std::string with_pods(const std::string& message, const std::vector<std::string>& pods) {
  std::string out = message + ": ";
  for (size_t i = 0; i < pods.size(); ++i) out += (i == 0 ? "" : ", ") + pods[i];
  return out;
}
}  // namespace

std::vector<std::string> refusals_text(const Remarks& refusals) {
  std::vector<std::string> out;
  for (const auto& [message, pods] : refusals) {
    out.push_back("cannot delete " + with_pods(message.empty() ? "unexpected error" : message, pods));
  }
  return out;
}

std::string warnings_text(const Remarks& warnings) {
  std::string out;
  for (const auto& [message, pods] : warnings) out += (out.empty() ? "WARNING: " : "; ") + with_pods(message, pods);
  return out;
}

std::vector<std::string> short_lines(const Remarks& remarks) {
  constexpr size_t kMostNamed = 10;
  std::vector<std::string> out;
  for (const auto& [message, pods] : remarks) {
    const std::vector<std::string> named(pods.begin(), pods.begin() + int64_t(std::min(pods.size(), kMostNamed)));
    out.push_back(with_pods(message, named));
    if (pods.size() > kMostNamed) out.back() += fmt::format(" and {} more", pods.size() - kMostNamed);
  }
  return out;
}

}  // namespace careen::drain
