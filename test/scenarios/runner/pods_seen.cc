#include "pods_seen.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/label_selector.h"

namespace careen::scenarios {

using kube::Json;
using kube::JsonView;

namespace {

PodView pod_view(const Json& pod) {
  PodView view;
  pod.at("/metadata/labels").for_each_member([&](std::string_view key, JsonView value) {
    view.labels.emplace(key, value.text().value_or(""));
  });
  view.node = pod.at("/spec/nodeName").text().value_or("");
  view.phase = pod.at("/status/phase").text().value_or("");
  view.terminating = pod.at("/metadata/deletionTimestamp").exists();
  pod.at("/status/conditions").for_each_element([&](JsonView condition) {
    if (condition["type"].text() == "Ready") view.ready = condition["status"].text() == "True";
  });
  return view;
}

bool selects(const kube::LabelSelector& selector, const PodView& pod) {
  return selector.matches([&](std::string_view key) -> std::optional<std::string_view> {
    const auto it = pod.labels.find(std::string(key));
    if (it == pod.labels.end()) return std::nullopt;
    return it->second;
  });
}

// What it demands; of shares, the number that the cluster made of them.
int64_t demanded(const Json& budget) {
  if (const auto number = budget.at("/spec/minAvailable").integer()) return *number;
  return budget.at("/status/desiredHealthy").integer().value_or(0);
}

}  // namespace

void PodsSeen::see(const sim::Change& change, bool by_careen) {
  const std::string key = change.ns + "/" + change.name;
  const PodView before = pods_[key];
  const bool gone = change.type == sim::Change::Type::deleted;
  if (gone) {
    pods_.erase(key);
  } else {
    pods_[key] = pod_view(*Json::parse(*change.object));
  }
  const bool taken = before.healthy() && (gone || pods_[key].terminating);
  if (taken && by_careen) check_budgets(change.ns, change.name, before);
}

void PodsSeen::check_budgets(const std::string& ns, const std::string& name, const PodView& taken) {
  api_.for_each("/apis/policy/v1/poddisruptionbudgets", [&](const std::string& path, const sim::Text& text) {
    if (!path.starts_with(fmt::format("/apis/policy/v1/namespaces/{}/", ns))) return;
    const Json budget = *Json::parse(*text);
    const auto selector = kube::LabelSelector::from_json(budget.at("/spec/selector"));
    if (!selector || !selects(*selector, taken)) return;
    const auto counts = [&](const auto& one) {
      return one.first.starts_with(ns + "/") && one.second.healthy() && selects(*selector, one.second);
    };
    const auto healthy = std::count_if(pods_.begin(), pods_.end(), counts);
    if (healthy >= demanded(budget)) return;
    broken_.push_back(fmt::format("{}/{} had {} healthy pods of {} when careen took {}", ns,
                                  budget.at("/metadata/name").text().value_or(""), healthy, demanded(budget), name));
  });
}

void PodsSeen::see_request(io::Steady at, const std::string& replica, const kube::Request& request, int status) {
  constexpr std::string_view kBefore = "/api/v1/namespaces/", kBetween = "/pods/", kBehind = "/eviction";
  std::string_view path = request.path;
  path = path.substr(0, path.find('?'));
  if (!path.starts_with(kBefore) || !path.ends_with(kBehind)) return;
  path = path.substr(kBefore.size(), path.size() - kBefore.size() - kBehind.size());
  const size_t between = path.find(kBetween);
  if (between == std::string_view::npos) return;
  EvictionSeen seen;
  seen.pod = fmt::format("{}/{}", path.substr(0, between), path.substr(between + kBetween.size()));
  seen.accepted = status < 300;
  if (const auto body = Json::parse(request.body)) {
    seen.uid = body->at("/deleteOptions/preconditions/uid").text().value_or("");
  }
  if (seen.accepted) timeline_.add({at, replica, fmt::format("evicts {}", seen.pod), {}, {}});
  evictions_.push_back(std::move(seen));
}

}  // namespace careen::scenarios
