#include "drain/filter.h"

#include <algorithm>

#include "kube/objects.h"

namespace careen::drain {

namespace {

constexpr const char* kDaemonSetIgnored = "ignoring DaemonSet-managed Pods";
constexpr const char* kDaemonSetRefused = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)";
constexpr const char* kLocalStorageRefused = "Pods with local storage (use --delete-emptydir-data to override)";
constexpr const char* kUnmanagedTaken = "deleting Pods that declare no controller";
constexpr const char* kUnmanagedRefused = "cannot delete Pods that declare no controller (use --force to override)";

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
      if (options.force) return {Fate::take, {}};
      return {Fate::refuse, "daemonsets.apps \"" + std::string(pod.owner_name) + "\" not found"};
    case DaemonSetState::unknown:
      break;
  }
  return {Fate::leave, {}};
}

}  // namespace

Verdict judge(const kube::Pod& pod, const Options& options, DaemonSetState daemon_set, io::Duration beyond_grace) {
  if (options.only && !matches(*options.only, pod)) return {Fate::leave, {}};
  if (matches_any(options.skip, pod)) return {Fate::leave, {}};
  if (has_been_terminating_for_longer(pod, options.skip_wait_for_delete, beyond_grace)) return {Fate::leave, {}};
  if (options.daemon_sets_by_kind) {
    if (pod.flags.daemon_kind) return {Fate::leave, kDaemonSetIgnored};
  } else if (pod.flags.daemon_set && !pod.finished()) {
    if (Verdict verdict = judge_daemon(pod, options, daemon_set); verdict.fate != Fate::take) return verdict;
  }
  if (pod.flags.mirror) return {Fate::leave, {}};
  if (pod.finished()) return {Fate::take, {}};
  if (matches_any(options.wait_for, pod)) return {Fate::await, {}};
  if (pod.flags.local_storage && !options.delete_emptydir_data) return {Fate::refuse, kLocalStorageRefused};
  // The last filter's word is the one that is heard: nothing is said about local storage that is lost.
  if (!pod.owner_kind.empty()) return {Fate::take, {}};
  if (options.force) return {Fate::take, kUnmanagedTaken};
  return {Fate::refuse, kUnmanagedRefused};
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

}  // namespace careen::drain
