#include "sim/disruption.h"

#include <algorithm>
#include <charconv>

#include "sim/disruption_status.h"
#include "sim/places.h"

namespace careen::sim {

namespace {

constexpr std::string_view kBudgets = "/apis/policy/v1/poddisruptionbudgets";
constexpr std::string_view kApps = "/apis/apps/v1/";
// A pod whose eviction was granted and that is not being deleted after this time counts again.
constexpr io::Duration kDeletionTimeout = io::minutes{2};

std::string in_namespace(std::string_view group_version, const std::string& ns, std::string_view plural,
                         const std::string& name) {
  return std::string(group_version) + "/namespaces/" + ns + "/" + std::string(plural) + "/" + name;
}

// "30%" of a number, rounded up; a plain number as it is.
std::optional<int64_t> scaled_up(const json::value& value, int64_t of) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = value.get_string();
  int64_t percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || std::string_view(end, text.data() + text.size()) != "%") return std::nullopt;
  return (of * percent + 99) / 100;
}

std::string wrong_share(const json::value& value) {
  return "invalid value for IntOrString: invalid value " + json::serialize(value) + ": string is not a percentage";
}

// The labels and the owners.
bool same_belongings(const json::value& a, const json::value& b) {
  for (const char* key : {"labels", "ownerReferences"}) {
    const json::value* left = find(a, {"metadata", key});
    const json::value* right = find(b, {"metadata", key});
    if (left && right ? !same(*left, *right) : left != right) return false;
  }
  return true;
}

// Disruptions that were granted and whose pods are not yet seen going.
struct Granted {
  json::object kept{};
  std::optional<io::Wall> recheck_at{};
};

}  // namespace

Disruption::Disruption(io::Loop& loop, ApiServer& api) : loop_(loop), api_(api), next_(loop, [this] { run(); }) {
  api_.observe([this](const Change& change) { note(change); });
}

void Disruption::note(const Change& change) {
  if (change.collection == kBudgets) return note_budget(change);
  if (places_.empty()) return;
  if (change.collection == kPodsPath) return note_pod(change);
  if (change.collection.starts_with(kApps)) note_workload(change);
}

void Disruption::note_budget(const Change& change) {
  const auto known = places_.find(change.ns);
  if (change.type == Change::Type::deleted) {
    if (known == places_.end()) return;
    strike_off_budget(known->second, change.name);
    if (known->second.budgets.empty()) places_.erase(known);
    return;
  }
  const Parsed budget = api_.parsed(change.object);
  const auto selector = kube::LabelSelector::from_json(kube::JsonView(find(*budget, {"spec", "selector"})));
  Place& place = places_[change.ns];
  if (known == places_.end()) read_pods(change.ns, place);
  if (selector) set_selector(place, change.name, *selector);
  wake({change.ns, change.name}, delay_);
}

void Disruption::note_pod(const Change& change) {
  const auto place = places_.find(change.ns);
  if (place == places_.end()) return;
  auto& pods = place->second.pods;
  const auto known = pods.find(change.name);
  if (known != pods.end()) wake_for(change.ns, known->second);
  if (change.type == Change::Type::deleted) {
    if (known == pods.end()) return;
    strike_off(place->second, change.name, known->second);
    pods.erase(known);
    return;
  }
  const Parsed pod_now = api_.parsed(change.object);
  if (known != pods.end() && change.type == Change::Type::modified &&
      same_belongings(*api_.parsed(change.before), *pod_now)) {
    known->second.ready = is_ready(*pod_now);
    known->second.deleting = find(*pod_now, {"metadata", "deletionTimestamp"}) != nullptr;
    return;
  }
  PodFacts facts = facts_of(*pod_now);
  if (known != pods.end() && known->second.labels == facts.labels) {
    facts.budgets = std::move(known->second.budgets);
    known->second = std::move(facts);
    return;
  }
  if (known != pods.end()) strike_off(place->second, change.name, known->second);
  PodFacts& pod = pods.insert_or_assign(change.name, std::move(facts)).first->second;
  enroll(place->second, change.name, pod);
  wake_for(change.ns, pod);
}

bool Disruption::selects(const kube::LabelSelector& selector, const PodFacts& pod) {
  return selector.matches([&](std::string_view key) -> std::optional<std::string_view> {
    const auto known = pod.labels.find(key);
    return known == pod.labels.end() ? std::nullopt : std::optional<std::string_view>(known->second);
  });
}

void Disruption::enroll(Place& place, const std::string& name, PodFacts& pod) {
  pod.budgets.clear();
  for (const std::string& budget_name : place.selectors.candidates(pod.labels)) {
    Budget& budget = place.budgets.at(budget_name);
    if (!selects(budget.selector, pod)) continue;
    budget.pods.emplace(name, &pod);
    pod.budgets.push_back(budget_name);
  }
}

void Disruption::strike_off(Place& place, const std::string& name, const PodFacts& pod) {
  for (const std::string& budget : pod.budgets) place.budgets.at(budget).pods.erase(name);
}

void Disruption::set_selector(Place& place, const std::string& name, const kube::LabelSelector& selector) {
  const auto known = place.budgets.find(name);
  if (known != place.budgets.end() && known->second.selector == selector) return;
  strike_off_budget(place, name);
  Budget& budget = place.budgets[name];
  budget.selector = selector;
  place.selectors.set(name, selector);
  for (auto& [pod_name, pod] : place.pods) {
    if (!selects(selector, pod)) continue;
    budget.pods.emplace(pod_name, &pod);
    pod.budgets.push_back(name);
  }
}

void Disruption::strike_off_budget(Place& place, const std::string& name) {
  const auto known = place.budgets.find(name);
  if (known == place.budgets.end()) return;
  for (const auto& [pod, facts] : known->second.pods) std::erase(place.pods.at(pod).budgets, name);
  place.selectors.erase(name);
  place.budgets.erase(known);
}

// Only its size matters.
void Disruption::note_workload(const Change& change) {
  const auto place = places_.find(change.ns);
  if (place == places_.end() || !change.object) return;
  const auto size = [this](const Text& text) {
    return text ? integer_at(*api_.parsed(text), {"spec", "replicas"}) : std::nullopt;
  };
  if (change.type == Change::Type::modified && size(change.before) == size(change.object)) return;
  for (const auto& [name, budget] : place->second.budgets) wake({change.ns, name}, delay_);
}

void Disruption::wake_for(const std::string& ns, const PodFacts& pod) {
  for (const std::string& name : pod.budgets) wake({ns, name}, delay_);
}

void Disruption::wake(const Key& key, io::Duration in) {
  const io::Steady at = loop_.now() + in;
  const auto known = due_.find(key);
  if (known != due_.end()) {
    if (known->second <= at) return;
    by_time_.erase({known->second, key});
  }
  due_[key] = at;
  by_time_.insert({at, key});
  if (!next_.pending() || by_time_.begin()->first == at) next_.set(by_time_.begin()->first);
}

void Disruption::run() {
  while (!by_time_.empty() && by_time_.begin()->first <= loop_.now()) {
    const Key key = by_time_.begin()->second;
    by_time_.erase(by_time_.begin());
    due_.erase(key);
    sync(key);
  }
  if (!by_time_.empty()) next_.set(by_time_.begin()->first);
}

std::optional<Disruption::Controller> Disruption::controller_of(const json::value& object) {
  const json::value* owners = find(object, {"metadata", "ownerReferences"});
  if (!owners || !owners->is_array()) return std::nullopt;
  for (const json::value& owner : owners->get_array()) {
    if (!is_true(owner, "controller")) continue;
    return Controller{std::string(text_at(owner, "apiVersion")), std::string(text_at(owner, "kind")),
                      std::string(text_at(owner, "name")), std::string(text_at(owner, "uid"))};
  }
  return std::nullopt;
}

Disruption::PodFacts Disruption::facts_of(const json::value& pod) {
  PodFacts facts;
  if (const json::value* labels = find(pod, {"metadata", "labels"}); labels && labels->is_object()) {
    for (const auto& one : labels->get_object()) {
      if (one.value().is_string()) facts.labels.emplace(one.key(), one.value().get_string());
    }
  }
  facts.ready = is_ready(pod);
  facts.deleting = find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
  facts.controller = controller_of(pod);
  return facts;
}

void Disruption::read_pods(const std::string& ns, Place& place) const {
  const std::string prefix = "/api/v1/namespaces/" + ns + "/pods/";
  api_.for_each(kPodsPath, [&](const std::string& path, const Text& text) {
    if (path.starts_with(prefix)) place.pods.emplace(path.substr(prefix.size()), facts_of(*api_.parsed(text)));
  });
}

Disruption::OrWhy<std::optional<std::pair<std::string, int64_t>>> Disruption::scale_of(
    const std::string& ns, const Controller& controller) const {
  using Found = std::optional<std::pair<std::string, int64_t>>;
  const auto read = [&](std::string_view plural, const Controller& wanted) -> Parsed {
    Parsed object = api_.value(in_namespace("/apis/apps/v1", ns, plural, wanted.name));
    if (!object || text_at(*object, {"metadata", "uid"}) != wanted.uid) return nullptr;
    return object;
  };
  const auto sized = [](const json::value& object) -> Found {
    return {{std::string(text_at(object, {"metadata", "uid"})), integer_at(object, {"spec", "replicas"}).value_or(1)}};
  };
  const bool apps = controller.api_version.starts_with("apps/");
  if (apps && controller.kind == "ReplicaSet") {
    const Parsed set = read("replicasets", controller);
    if (!set) return Found();
    const auto above = controller_of(*set);
    if (!above || above->kind != "Deployment") return sized(*set);
    const Parsed deployment = read("deployments", *above);
    return deployment ? sized(*deployment) : Found();
  }
  if (apps && controller.kind == "StatefulSet") {
    const Parsed set = read("statefulsets", controller);
    return set ? sized(*set) : Found();
  }
  if (apps && controller.kind == "DaemonSet") {
    return tl::unexpected(std::string("daemonsets.apps does not implement the scale subresource"));
  }
  if (controller.api_version.starts_with("batch/") && controller.kind == "Job") {
    return tl::unexpected(std::string("jobs.batch does not implement the scale subresource"));
  }
  return tl::unexpected("no matches for kind \"" + controller.kind + "\" in version \"" + controller.api_version +
                        "\"");
}

// The sum over the controllers of the pods, each once; pods of nobody count nothing.
Disruption::OrWhy<int64_t> Disruption::scale_of(const std::string& ns, const Selected& pods) const {
  std::map<std::string, int64_t> scales;
  std::set<std::string_view> seen;
  std::string_view latest;  // mostly all have one controller
  for (const auto& [name, pod] : pods) {
    const auto& controller = pod->controller;
    if (!controller || controller->uid == latest || !seen.insert(controller->uid).second) continue;
    latest = controller->uid;
    const auto found = scale_of(ns, *controller);
    if (!found) return tl::unexpected(found.error());
    if (!*found) return tl::unexpected("found no controllers for pod \"" + name + "\"");
    scales.insert(**found);
  }
  int64_t sum = 0;
  for (const auto& [uid, scale] : scales) sum += scale;
  return sum;
}

Disruption::OrWhy<Disruption::Expected> Disruption::expected(const json::value& budget, const Selected& pods) const {
  const json::value* most = find(budget, {"spec", "maxUnavailable"});
  const json::value* least = find(budget, {"spec", "minAvailable"});
  if (!most && !least) return Expected();
  if (!most && least->is_int64()) return Expected{static_cast<int64_t>(pods.size()), least->get_int64()};
  const auto scale = scale_of(std::string(text_at(budget, {"metadata", "namespace"})), pods);
  if (!scale) return tl::unexpected(scale.error());
  const auto share = scaled_up(most ? *most : *least, *scale);
  if (!share) return tl::unexpected(wrong_share(most ? *most : *least));
  return Expected{*scale, most ? std::max<int64_t>(0, *scale - *share) : *share};
}

void Disruption::sync(const Key& key) {
  const auto& [ns, name] = key;
  const auto place = places_.find(ns);
  const std::string path = in_namespace("/apis/policy/v1", ns, "poddisruptionbudgets", name);
  const Parsed object = api_.value(path);
  if (place == places_.end() || !object) return;
  const json::value& budget = *object;
  const auto selection = place->second.budgets.find(name);
  if (selection == place->second.budgets.end()) return;
  const Selected& pods = selection->second.pods;

  const json::value* known = member(budget, "status");
  json::object status = known && known->is_object() ? known->get_object() : json::object();
  const json::object before = status;
  // A copy: what is set in the status below moves its members.
  json::object disrupted;
  if (const json::value* told = status.if_contains("disruptedPods"); told && told->is_object())
    disrupted = told->get_object();
  const std::string now = io::format_whole_seconds(loop_.wall_now());
  Granted granted;
  const auto wanted = expected(budget, pods);
  if (!wanted) {
    status["disruptionsAllowed"] = 0;
    set_condition(status, "DisruptionAllowed", false, "SyncFailed", wanted.error(), now);
  } else {
    int64_t healthy = 0;
    for (const auto& [pod_name, pod] : pods) {
      if (pod->deleting) continue;
      const std::string_view since = text_at(disrupted, pod_name);
      const auto at = since.empty() ? std::nullopt : io::parse_rfc3339(since);
      if (at && *at + kDeletionTimeout >= loop_.wall_now()) {
        granted.kept[pod_name] = since;
        granted.recheck_at = std::min(granted.recheck_at.value_or(*at + kDeletionTimeout), *at + kDeletionTimeout);
      } else if (pod->ready) {
        ++healthy;
      }
    }
    const int64_t allowed = wanted->pods > 0 ? std::max<int64_t>(0, healthy - wanted->healthy) : 0;
    status["observedGeneration"] = integer_at(budget, {"metadata", "generation"}).value_or(0);
    status["disruptionsAllowed"] = allowed;
    status["currentHealthy"] = healthy;
    status["desiredHealthy"] = wanted->healthy;
    status["expectedPods"] = wanted->pods;
    // A merge leaves what it does not name.
    for (auto& one : disrupted) one.value() = nullptr;
    for (const auto& one : granted.kept) disrupted[one.key()] = one.value();
    if (!disrupted.empty()) status["disruptedPods"] = std::move(disrupted);
    update_disruption_allowed(status, now);
  }
  if (status != before) {
    api_.merge(path, json::value{{"status", status}}, kControllerManager);
  }
  if (granted.recheck_at) wake(key, *granted.recheck_at - loop_.wall_now() + delay_);
}

}  // namespace careen::sim
