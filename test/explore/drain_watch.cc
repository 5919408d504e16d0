#include "drain_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace careen::explore {

using kube::Json;
using kube::JsonView;

namespace {

// How old what careen acts on can be while all is well.
constexpr io::Duration kLag = io::seconds{1};
// Of the clock by which careen counts; and between a request and its repetition.
constexpr io::Duration kSlack = io::seconds{1};
// An eviction of careen's own that used a budget up is older than this when it asks there again.
constexpr io::Duration kNotJust = io::milliseconds{4900};
// More pods of one owner than any has are not evicted from one node within this time.
constexpr io::Duration kStorm = io::minutes{2};
constexpr size_t kMostEvictions = 30;
// Between two requests for a pod whose budget stays closed.
constexpr io::Duration kSeldom = io::seconds{20};

std::string_view without_query(std::string_view path) { return path.substr(0, path.find('?')); }

// A request about one pod: /api/v1/namespaces/NS/pods/NAME and maybe /eviction.
struct PodRequest {
  std::string key;
  bool eviction = false;
};
std::optional<PodRequest> pod_request(const kube::Request& request) {
  std::string_view path = without_query(request.path);
  constexpr std::string_view kNamespaces = "/api/v1/namespaces/", kEviction = "/eviction", kPods = "/pods/";
  if (!path.starts_with(kNamespaces)) return std::nullopt;
  path.remove_prefix(kNamespaces.size());
  PodRequest out;
  out.eviction = path.ends_with(kEviction);
  if (out.eviction) path.remove_suffix(kEviction.size());
  const size_t pods = path.find(kPods);
  if (pods == std::string_view::npos) return std::nullopt;
  out.key = fmt::format("{}/{}", path.substr(0, pods), path.substr(pods + kPods.size()));
  return out;
}

std::string named_uid(const kube::Request& request, bool eviction) {
  const auto body = Json::parse(request.body);
  if (!body) return {};
  const JsonView options = eviction ? (*body)["deleteOptions"] : body->view();
  return text_at(options["preconditions"], "uid");
}

std::map<std::string, std::string> texts(JsonView object) {
  std::map<std::string, std::string> out;
  object.for_each_member([&](std::string_view key, JsonView value) { out.emplace(key, value.text().value_or("")); });
  return out;
}

}  // namespace

DrainWatch::Pod DrainWatch::read(const Json& object) {
  Pod pod;
  const JsonView metadata = object["metadata"];
  pod.key = fmt::format("{}/{}", text_at(metadata, "namespace"), text_at(metadata, "name"));
  pod.node = text_at(object["spec"], "nodeName");
  pod.phase = text_at(object["status"], "phase");
  pod.labels = texts(metadata["labels"]);
  pod.leaves = metadata["deletionTimestamp"].exists();
  metadata["ownerReferences"].for_each_element([&](JsonView owner) {
    pod.stays |= owner["kind"].text() == "DaemonSet";
    pod.owner = text_at(owner, "uid");
  });
  object["status"]["conditions"].for_each_element([&](JsonView condition) {
    pod.ready |= condition["type"].text() == "Ready" && condition["status"].text() == "True";
  });
  return pod;
}

void DrainWatch::sent(const sim::Sending& sending, Certain certain, io::Steady now) {
  const auto request = pod_request(sending.request);
  if (!request) return;
  const auto blame = [&](std::string_view why) {
    report_("evict",
            fmt::format("{} sends {} {} {}", sending.client, sending.request.method, sending.request.path, why));
  };
  const std::string uid = named_uid(sending.request, request->eviction);
  if (uid.empty()) return blame("without the UID of the pod");
  named_.insert(uid);
  const auto pod = pods_.find(uid);
  if (pod == pods_.end() || pod->second.key != request->key) return blame("about a pod that never was");
  if (pod->second.stays) return blame("although a DaemonSet would make it again at once");
  const std::string& node = pod->second.node;
  if (certain.nodes && !holds_.held_since(node) && !holds_.gone_while_held(node, now - kLag)) {
    return blame("although it does not hold the node");
  }
  const auto made = holds_.made_and_never_held(node);
  if (made && *made < certain.asked_for_node) {
    return blame("although it has asked for the node since that was made, and does not hold it");
  }
  if (!request->eviction) return check_force(sending.client, pod->second, now);
  if (certain.budgets) check_budget(sending.client, uid, pod->second, now);
}

std::set<std::string> DrainWatch::may_be_for(const sim::Sending& sending, io::Steady now) const {
  const auto request = pod_request(sending.request);
  if (!request) return {};
  const auto pod = pods_.find(named_uid(sending.request, request->eviction));
  return pod == pods_.end() ? std::set<std::string>() : holds_.holders(pod->second.node, now - kLag);
}

// Deleting, which no budget holds back, is for pods that could not be evicted in time.
void DrainWatch::check_force(const std::string& process, const Pod& pod, io::Steady now) {
  const bool told = std::any_of(settings_.plans.begin(), settings_.plans.end(),
                                [](const Plan& plan) { return plan.drain != Plan::Drain::none && plan.forced; });
  const auto since = holds_.held_since(pod.node, "profile/");
  const bool waited = since && now - std::max(*since, pod.bound) + kSlack >= kEvictionTimeout;
  if (told && (waited || pod.leaves)) return;
  report_("force", fmt::format("{} deletes pod {} {}", process, pod.key, told ? "too early" : "without being told to"));
}

// One that is not ready, or was not a moment ago, may go without being counted.
bool DrainWatch::is_counted(const Pod& pod, io::Steady now) {
  return pod.phase == "Running" && pod.ready && now - pod.ready_since >= kLag;
}

std::vector<std::string> DrainWatch::budgets_of(const Pod& pod) const {
  std::vector<std::string> out;
  for (const auto& [key, budget] : budgets_) {
    const bool same_namespace = key.substr(0, key.find('/')) == pod.key.substr(0, pod.key.find('/'));
    const bool selected = std::all_of(budget.selector.begin(), budget.selector.end(), [&](const auto& wanted) {
      const auto label = pod.labels.find(wanted.first);
      return label != pod.labels.end() && label->second == wanted.second;
    });
    if (same_namespace && selected) out.push_back(key);
  }
  return out;
}

// By one of the states of the budget that the process may have seen, less what it knows to have taken since, there was
// something left.
bool DrainWatch::may_be_open(const std::string& process, const std::string& budget, io::Steady now) const {
  const auto& history = budgets_.at(budget).history;
  for (size_t i = 0; i < history.size(); ++i) {
    const Allowance& state = history[i];
    if (i + 1 < history.size() && history[i + 1].since < now - kLag) continue;
    const auto taken = std::count_if(granted_.begin(), granted_.end(), [&](const Granted& one) {
      return one.process == process && one.budget == budget && one.at >= state.since;
    });
    // The first status after a grant may be the one that counts it.
    const bool counts_one = i > 0 && history[i - 1].allowed > state.allowed;
    if (state.allowed - taken + (counts_one ? 1 : 0) > 0 && state.observed >= state.generation) return true;
  }
  return false;
}

// What lets nobody go is asked, for the sake of webhooks, but seldom, and not when careen itself has just used it up.
void DrainWatch::check_budget(const std::string& process, const std::string& uid, const Pod& pod, io::Steady now) {
  if (!is_counted(pod, now) || pod.leaves) return;
  const auto keys = budgets_of(pod);
  if (keys.size() != 1 || may_be_open(process, keys.front(), now)) return;
  const auto blame = [&](std::string_view why) {
    report_("budget", fmt::format("{} asks for pod {}, whose budget {} it knows to allow nothing, {}", process, pod.key,
                                  keys.front(), why));
  };
  const bool own = std::any_of(granted_.begin(), granted_.end(), [&](const Granted& one) {
    return one.process == process && one.budget == keys.front() && now - one.at < kNotJust;
  });
  if (own) return blame("although its own eviction has just used it up");
  const auto last = refused_.find({process, uid});
  if (last != refused_.end() && now - last->second < kSeldom) blame("although it was refused a moment ago");
}

void DrainWatch::served(const sim::Sending& sending, const kube::Response& response, io::Steady now) {
  constexpr std::string_view kOnNode = "fieldSelector=spec.nodeName%3D";
  const std::string& path = sending.request.path;
  if (path.starts_with("/api/v1/pods?") && response.status == 200) {
    const size_t at = path.find(kOnNode);
    if (at == std::string::npos) return;
    const size_t begin = at + kOnNode.size();
    lists_[{sending.client, path.substr(begin, path.find('&', begin) - begin)}].push_back(now);
    return;
  }
  const auto request = pod_request(sending.request);
  if (!request || !request->eviction) return;
  const std::string uid = named_uid(sending.request, true);
  if (response.status == 429) refused_[{sending.client, uid}] = now;
  if (response.status >= 300) return;
  const auto pod = pods_.find(uid);
  if (pod != pods_.end()) check_storm(sending.client, pod->second, now);
  // careen may have taken it for one that is not counted.
  if (pod == pods_.end() || !is_counted(pod->second, now)) return;
  for (const std::string& budget : budgets_of(pod->second)) granted_.push_back({sending.client, budget, now});
}

// A pod that comes back to the node after each eviction is left alone, or evicted with growing pauses.
void DrainWatch::check_storm(const std::string& process, const Pod& pod, io::Steady now) {
  if (pod.owner.empty()) return;
  auto& times = evicted_[fmt::format("{} {} {}", process, pod.node, pod.owner)];
  std::erase_if(times, [&](io::Steady at) { return now - at > kStorm; });
  times.push_back(now);
  if (times.size() <= kMostEvictions) return;
  report_("storm", fmt::format("{} has evicted {} pods of the owner of {} from node {} within {}", process,
                               times.size(), pod.key, pod.node, io::format_duration(kStorm)));
}

void DrainWatch::pod_changed(const sim::Change& change, bool by_careen, io::Steady now) {
  const Json object = *Json::parse(*change.object);
  const std::string uid = text_at(object["metadata"], "uid");
  Pod pod = read(object);
  const auto known = pods_.find(uid);
  if (known != pods_.end()) pod.bound = known->second.bound;
  if (known == pods_.end() || known->second.node != pod.node) pod.bound = now;
  pod.ready_since = known != pods_.end() && known->second.ready ? known->second.ready_since : now;
  pod.there = change.type != sim::Change::Type::deleted;
  const std::string key = pod.key;
  pods_[uid] = std::move(pod);
  if (by_careen && !named_.contains(uid)) {
    report_("evict",
            fmt::format("a request of {} hit pod {} with the UID {}, which it did not name", change.by, key, uid));
  }
}

void DrainWatch::budget_changed(const sim::Change& change, io::Steady now) {
  const std::string key = fmt::format("{}/{}", change.ns, change.name);
  if (change.type == sim::Change::Type::deleted) {
    budgets_.erase(key);
    return;
  }
  const Json object = *Json::parse(*change.object);
  Budget& budget = budgets_[key];
  budget.selector = texts(object.at("/spec/selector/matchLabels"));
  budget.history.push_back({now, object.at("/status/disruptionsAllowed").integer().value_or(0),
                            object.at("/metadata/generation").integer().value_or(0),
                            object.at("/status/observedGeneration").integer().value_or(0)});
}

void DrainWatch::check_drained(const std::string& process, const std::string& node, io::Steady held_since) {
  const auto blame = [&](std::string_view why) {
    report_("drained", fmt::format("{} says that node {} is drained {}", process, node, why));
  };
  // The first one since then is the beginning of the drain; later ones may be those of others who hold the node too.
  const auto& lists = lists_[{process, node}];
  const auto list = std::lower_bound(lists.begin(), lists.end(), held_since);
  if (list == lists.end()) return blame("without having listed its pods since it is held");
  for (const auto& [uid, pod] : pods_) {
    // One that was bound in the same moment may have come after it.
    if (pod.there && !pod.stays && pod.node == node && pod.bound < *list) {
      return blame(fmt::format("although pod {} is there", pod.key));
    }
  }
}

}  // namespace careen::explore
