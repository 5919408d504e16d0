#include "sim/node_lifecycle.h"

#include <algorithm>

#include "sim/places.h"
#include "sim/value.h"

namespace careen::sim {

using kube::Json;
using kube::JsonView;

namespace {

constexpr std::string_view kTaint = "node.kubernetes.io/unschedulable";
// A node that is gone may come back this soon, with its pods.
constexpr io::Duration kQuarantine = io::seconds{40};

bool is_cordoned(const std::string& text) { return find_text(text, "\"unschedulable\":true") != std::string::npos; }
// The taint as the server writes it. Text in an annotation has other quotes.
bool is_tainted(const std::string& text) {
  return find_text(text, R"("key":"node.kubernetes.io/unschedulable","effect":"NoSchedule")") != std::string::npos;
}
// Some taint of that key.
bool may_be_tainted(const std::string& text) { return find_text(text, kTaint) != std::string::npos; }

bool is_cordon_taint(JsonView taint) { return taint["key"].text() == kTaint && taint["effect"].text() == "NoSchedule"; }

}  // namespace

NodeLifecycle::NodeLifecycle(io::Loop& loop, ApiServer& api)
    : loop_(loop), api_(api), next_(loop, [this] { run(); }), collect_(loop, [this] { collect_orphans(); }) {
  api_.observe([this](const Change& change) { note(change); });
}

void NodeLifecycle::note(const Change& change) {
  if (change.collection != kNodesPath) return;
  if (change.type == Change::Type::deleted) {
    gone_[change.name] = loop_.now() + kQuarantine;
    if (!collect_.pending()) collect_.set(gone_[change.name]);
    return;
  }
  gone_.erase(change.name);
  // Most changes end here, without reading the object.
  if (is_cordoned(*change.object) ? is_tainted(*change.object) : !may_be_tainted(*change.object)) return;
  changed_.insert(change.name);
  if (!next_.pending()) next_.set(loop_.now() + delay_);
}

void NodeLifecycle::run() {
  for (const std::string& node : std::exchange(changed_, {})) settle_taint(node);
}

void NodeLifecycle::settle_taint(const std::string& node) {
  const Json object = api_.object(node_path(node));
  if (object.view().is_null()) return;
  const bool cordoned = object.at("/spec/unschedulable").boolean().value_or(false);
  bool tainted = false;
  Json taints = Json::array();
  object.at("/spec/taints").for_each_element([&](JsonView taint) {
    tainted |= is_cordon_taint(taint);
    if (cordoned || !is_cordon_taint(taint)) taints.push_back(Json(taint));
  });
  if (cordoned == tainted) return;
  if (cordoned) {
    const std::string now = io::format_whole_seconds(loop_.wall_now());
    taints.push_back(Json::object({{"key", kTaint}, {"effect", "NoSchedule"}, {"timeAdded", now}}));
  }
  Json patch;
  patch.set({"spec", "taints"}, taints.view().size() > 0 ? std::move(taints) : Json());
  api_.merge(node_path(node), patch, kControllerManager);
}

void NodeLifecycle::collect_orphans() {
  std::set<std::string, std::less<>> due;
  for (const auto& [node, at] : gone_) {
    if (at <= loop_.now()) due.insert(node);
  }
  for (const std::string& node : due) gone_.erase(node);
  if (!due.empty()) {
    std::set<std::string> orphans;
    for (const std::string& node : due) orphans.insert(api_.pods_on(node).begin(), api_.pods_on(node).end());
    for (const std::string& pod : orphans) {
      kube::Request request;
      request.method = "DELETE";
      request.path = pod_path_of_key(pod);
      request.body = R"({"gracePeriodSeconds":0})";
      api_.handle(request, {kControllerManager});
    }
  }
  if (gone_.empty()) return;
  const auto first =
      std::min_element(gone_.begin(), gone_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  collect_.set(first->second);
}

}  // namespace careen::sim
