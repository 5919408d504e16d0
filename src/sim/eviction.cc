// The eviction subresource of pods: a deletion that asks the pod's disruption budget first.
#include "kube/label_selector.h"
#include "sim/disruption_status.h"
#include "sim/removal.h"
#include "sim/write_options.h"

namespace careen::sim {

using kube::Response;

namespace {

// So many pods may be on their way out before the disruption controller has seen the first of them.
constexpr size_t kMostDisruptedPods = 2000;
constexpr std::string_view kRefused = "Cannot evict pod as it would violate the pod's disruption budget.";

Resource eviction_resource(std::string_view api_version) {
  Resource resource;
  resource.group = "policy";
  resource.version = api_version == "policy/v1beta1" ? "v1beta1" : "v1";
  resource.plural = "evictions";
  resource.kind = "Eviction";
  resource.namespaced = true;
  resource.type = builtin_type("Eviction");
  return resource;
}

// It ends anyway, or nobody is served by it yet: no budget counts it.
bool ignores_budgets(const json::value& pod) {
  const std::string_view phase = text_at(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
         find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
}

bool budget_selects(const json::value& budget, const json::value& pod) {
  const auto selector = kube::LabelSelector::from_json(kube::JsonView(find(budget, {"spec", "selector"})));
  if (!selector) return false;
  const json::value* labels = find(pod, {"metadata", "labels"});
  return selector->matches([&](std::string_view key) -> std::optional<std::string_view> {
    const json::value* value = labels ? member(*labels, key) : nullptr;
    if (!value || !value->is_string()) return std::nullopt;
    return std::string_view(value->get_string());
  });
}

int64_t number_of(const json::value& budget, std::string_view field) {
  return integer_at(budget, {"status", field}).value_or(0);
}

const json::value* disruption_allowed(const json::value& budget) {
  const json::value* conditions = find(budget, {"status", "conditions"});
  if (!conditions || !conditions->is_array()) return nullptr;
  for (const json::value& one : conditions->get_array()) {
    if (text_at(one, "type") == "DisruptionAllowed") return &one;
  }
  return nullptr;
}

// Why a budget that allows nothing does so.
std::string why_nothing(const json::value& budget) {
  const std::string start = "The disruption budget " + std::string(text_at(budget, {"metadata", "name"}));
  const json::value* condition = disruption_allowed(budget);
  const bool says = condition && text_at(*condition, "status") == "False" && !text_at(*condition, "message").empty();
  const std::string message(says ? text_at(*condition, "message") : "");
  const std::string reason(says ? text_at(*condition, "reason") : "");
  if (says && reason == "SyncFailed") {
    return start + " does not allow evicting pods currently because it failed sync: " + message;
  }
  const int64_t needs = number_of(budget, "desiredHealthy");
  const int64_t has = number_of(budget, "currentHealthy");
  if (has <= needs) {
    return start + " needs " + std::to_string(needs) + " healthy pods and has " + std::to_string(has) + " currently";
  }
  if (says) return start + " does not allow evicting pods currently (" + reason + "): " + message;
  return start + " does not allow evicting pods currently";
}

Failure refused_by_budget(std::string why, int retry_after) {
  Failure failure{.code = 429, .reason = "TooManyRequests", .message = std::string(kRefused)};
  failure.causes.push_back({"DisruptionBudget", std::move(why), ""});
  failure.retry_after = retry_after;
  return failure;
}

Failure forbidden_by_budget(const std::string& name, std::string_view why) {
  Failure failure{.code = 403, .reason = "Forbidden"};
  failure.message = "poddisruptionbudget.policy \"" + name + "\" is forbidden: " + std::string(why);
  failure.name = name;
  failure.group = "policy";
  failure.kind = "poddisruptionbudget";
  return failure;
}

// The budget does not allow one more disruption.
std::optional<Failure> refusal_of(const json::value& budget) {
  const std::string name(text_at(budget, {"metadata", "name"}));
  if (number_of(budget, "observedGeneration") < integer_at(budget, {"metadata", "generation"}).value_or(0)) {
    return refused_by_budget("The disruption budget " + name + " is still being processed by the server.", 10);
  }
  const int64_t allowed = number_of(budget, "disruptionsAllowed");
  if (allowed < 0) return forbidden_by_budget(name, "pdb disruptions allowed is negative");
  const json::value* disrupted = find(budget, {"status", "disruptedPods"});
  if (disrupted && disrupted->is_object() && disrupted->get_object().size() > kMostDisruptedPods) {
    return forbidden_by_budget(name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  }
  if (allowed == 0) return refused_by_budget(why_nothing(budget), 0);
  return std::nullopt;
}

// A pod that is not ready may go without being counted.
bool lets_unhealthy_go(const json::value& budget) {
  if (text_at(budget, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow") return true;
  const int64_t needs = number_of(budget, "desiredHealthy");
  return needs > 0 && number_of(budget, "currentHealthy") >= needs;
}

// Both the query and the options may ask for a dry run, but not for different ones.
std::optional<Failure> unequal_dry_run(const Query& query, const json::value* options) {
  const json::value* list = options ? member(*options, "dryRun") : nullptr;
  if (!list || !list->is_array() || list->get_array().empty() || query["dryRun"].empty()) return std::nullopt;
  std::string asked;
  for (const json::value& one : list->get_array()) {
    if (one.is_string()) asked += (asked.empty() ? "" : " ") + std::string(std::string_view(one.get_string()));
  }
  if (asked == query["dryRun"]) return std::nullopt;
  return Failure{.message = "Non-matching dry-run options in request and content: [" + std::string(query["dryRun"]) +
                            "] and [" + asked + "]"};
}

// The condition that tells why the pod ends. False when it is there already.
bool mark_as_target(json::value& pod, const std::string& now) {
  json::value& list = object_at(pod.get_object(), "status")["conditions"];
  if (!list.is_array()) list.emplace_array();
  json::value* known = nullptr;
  for (json::value& one : list.get_array()) {
    if (text_at(one, "type") == "DisruptionTarget") known = &one;
  }
  if (!known) known = &list.get_array().emplace_back(json::object());
  const bool was = text_at(*known, "status") == "True";
  const std::string since(was ? text_at(*known, "lastTransitionTime") : std::string_view(now));
  json::value wanted({{"type", "DisruptionTarget"},
                      {"status", "True"},
                      {"lastProbeTime", nullptr},
                      {"lastTransitionTime", since},
                      {"reason", "EvictionByEvictionAPI"},
                      {"message", "Eviction API: evicting"}},
                     known->storage());
  if (*known == wanted) return false;
  *known = std::move(wanted);
  return true;
}

}  // namespace

Response ApiServer::evict(const Ask& ask) {
  if (const auto wrong = wrong_body_type(ask.request->content_type)) return to_response(*wrong);
  if (const auto wrong = wrong_write_options(ask.query, "CreateOptions", false)) return to_response(*wrong);
  // All of this lives as long as the request.
  Scratch memory;
  const auto raw = sim::parse(ask.request->body, memory.storage());
  const auto eviction =
      decode(eviction_resource(raw ? text_at(*raw, "apiVersion") : ""), ask.request->body, memory.storage());
  if (!eviction) return to_response(eviction.error());
  const std::string_view ns = text_at(*eviction, {"metadata", "namespace"});
  if (!ns.empty() && ns != ask.ns) {
    return to_response(
        bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  }
  if (const auto wrong = check_namespace(ask, ask.name)) return to_response(*wrong);
  if (text_at(*eviction, {"metadata", "name"}) != ask.name) {
    return to_response(bad_request("name in URL does not match name in Eviction object"));
  }
  const json::value* options = member(*eviction, "deleteOptions");
  if (const auto wrong = unequal_dry_run(ask.query, options)) return to_response(*wrong);
  auto removal = Removal::read(options ? *options : json::value(json::object()));
  if (!removal) return to_response(removal.error());
  removal->dry_run |= ask.dry_run();

  const auto known = ask.resource->collection->objects.find(ask.key());
  if (known == ask.resource->collection->objects.end()) return to_response(not_found(*ask.resource, ask.name));
  const Parsed found = parsed(known->second);
  const json::value& pod = *found;
  if (!ignores_budgets(pod)) {
    if (const auto refused = spend_budget(ask, pod, removal->dry_run)) return to_response(*refused);
  }
  // What the budget gave is spent even when the pod turns out to be a different one.
  if (const auto wrong = removal->fails_for(*ask.resource, pod)) return to_response(*wrong);
  if (!removal->dry_run) mark_evicted(ask, Draft(pod));
  // Its version is another one now.
  removal->version.clear();
  const Response removed = remove_one(*ask.resource, ask.key(), *removal, ask.caller.client, removal->dry_run);
  if (removed.status >= 300) return removed;
  return answer_with(201, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})");
}

void ApiServer::mark_evicted(const Ask& ask, Draft pod) {
  if (mark_as_target(pod.value(), now_text())) store(*ask.resource, ask.key(), std::move(pod), ask.caller.client);
}

// Takes one disruption from the pod's budget, if it has one and is counted by it.
std::optional<Failure> ApiServer::spend_budget(const Ask& ask, const json::value& pod, bool dry_run) {
  const Resource& budgets = *resources_.find("policy", "v1", "poddisruptionbudgets");
  const auto in_namespace = budget_selectors_.find(ask.ns);
  if (in_namespace == budget_selectors_.end()) return std::nullopt;
  Parsed found;
  for (const std::string& name : in_namespace->second.candidates(find(pod, {"metadata", "labels"}))) {
    Parsed budget = parsed(budgets.collection->objects.at(ask.key_of(name)));
    if (!budget_selects(*budget, pod)) continue;
    if (found) {
      return Failure{.message =
                         "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
                         "not support."};
    }
    found = std::move(budget);
  }
  if (!found || (!is_ready(pod) && lets_unhealthy_go(*found))) return std::nullopt;
  if (auto refused = refusal_of(*found)) return refused;
  if (dry_run) return std::nullopt;

  Draft draft(*found);
  json::value& budget = draft.value();
  json::object& status = budget.at("status").get_object();
  const int64_t left = number_of(budget, "disruptionsAllowed") - 1;
  status["disruptionsAllowed"] = left;
  if (left == 0) update_disruption_allowed(status, now_text());
  object_at(status, "disruptedPods")[ask.name] = now_text();
  conform(budget, *budgets.type);
  const std::string name(text_at(budget, {"metadata", "name"}));
  store(budgets, ask.key_of(name), std::move(draft), "kube-apiserver");
  return std::nullopt;
}

}  // namespace careen::sim
