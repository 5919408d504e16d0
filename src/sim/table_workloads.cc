#include "sim/table_workloads.h"

#include "sim/table.h"

namespace careen::sim {

namespace {

int64_t spec(const json::value& object, std::string_view key, int64_t otherwise) {
  return integer_at(object, {"spec", key}).value_or(otherwise);
}
int64_t status(const json::value& object, std::string_view key) {
  return integer_at(object, {"status", key}).value_or(0);
}

std::string share(int64_t some, int64_t all) { return std::to_string(some) + "/" + std::to_string(all); }

// A number or a percentage.
json::value amount(const json::value& object, std::string_view key) {
  const json::value* found = find(object, {"spec", key});
  if (!found || found->is_null()) return "N/A";
  return found->is_string() ? *found : json::value(json::serialize(*found));
}

std::string node_selector(const json::value& set) {
  const json::value* found = find(set, {"spec", "template", "spec", "nodeSelector"});
  if (!found || !found->is_object() || found->get_object().empty()) return "<none>";
  std::string out;
  for (const auto& one : found->get_object()) {
    if (!out.empty()) out += ",";
    out += one.key();
    out += "=";
    if (one.value().is_string()) out += std::string_view(one.value().get_string());
  }
  return out;
}

std::string_view job_status(const json::value& job) {
  const json::value* conditions = find(job, {"status", "conditions"});
  if (conditions && conditions->is_array()) {
    for (const json::value& one : conditions->get_array()) {
      const std::string_view type = text_at(one, "type");
      const bool ended = type == "Complete" || type == "Failed" || type == "Suspended";
      if (ended && text_at(one, "status") == "True") return type;
    }
  }
  return "Running";
}

std::string job_duration(const json::value& job, io::Wall now) {
  const auto begun = io::parse_rfc3339(text_at(job, {"status", "startTime"}));
  if (!begun) return "";
  return human_duration(io::parse_rfc3339(text_at(job, {"status", "completionTime"})).value_or(now) - *begun);
}

std::string job_completions(const json::value& job) {
  if (const auto wanted = integer_at(job, {"spec", "completions"})) return share(status(job, "succeeded"), *wanted);
  const int64_t parallelism = spec(job, "parallelism", 1);
  const std::string of = parallelism > 1 ? "1 of " + std::to_string(parallelism) : "1";
  return std::to_string(status(job, "succeeded")) + "/" + of;
}

}  // namespace

std::vector<WorkloadColumn> workload_columns(std::string_view kind) {
  if (kind == "Deployment") {
    return {{"Ready", "string", "Ready replicas of those that are wanted."},
            {"Up-to-date", "string", "Replicas that are made from the current template."},
            {"Available", "string", "Replicas that have been ready for long enough."}};
  }
  if (kind == "ReplicaSet") {
    return {{"Desired", "integer", "Replicas that are wanted."},
            {"Current", "integer", "Replicas that there are."},
            {"Ready", "integer", "Replicas that are ready."}};
  }
  if (kind == "StatefulSet") return {{"Ready", "string", "Ready replicas of those that are wanted."}};
  if (kind == "DaemonSet") {
    return {{"Desired", "integer", "Nodes that should run a pod of it."},
            {"Current", "integer", "Nodes that run one."},
            {"Ready", "integer", "Nodes whose pod is ready."},
            {"Up-to-date", "integer", "Nodes whose pod is made from the current template."},
            {"Available", "integer", "Nodes whose pod has been ready for long enough."},
            {"Node Selector", "string", "Which nodes it is for."}};
  }
  if (kind == "Job") {
    return {{"Status", "string", "How it stands."},
            {"Completions", "string", "Pods that have done their work of those that are wanted."},
            {"Duration", "string", "How long it has been running, or ran."}};
  }
  if (kind == "PodDisruptionBudget") {
    return {{"Min Available", "string", "Pods that must stay."},
            {"Max Unavailable", "string", "Pods that may be missing."},
            {"Allowed Disruptions", "integer", "Evictions that are allowed now."}};
  }
  return {};
}

json::array workload_cells(std::string_view kind, const json::value& object, io::Wall now) {
  const int64_t replicas = spec(object, "replicas", 1);
  if (kind == "Deployment") {
    return {share(status(object, "readyReplicas"), replicas), std::to_string(status(object, "updatedReplicas")),
            std::to_string(status(object, "availableReplicas"))};
  }
  if (kind == "ReplicaSet") return {replicas, status(object, "replicas"), status(object, "readyReplicas")};
  if (kind == "StatefulSet") return {share(status(object, "readyReplicas"), replicas)};
  if (kind == "DaemonSet") {
    return {status(object, "desiredNumberScheduled"),
            status(object, "currentNumberScheduled"),
            status(object, "numberReady"),
            status(object, "updatedNumberScheduled"),
            status(object, "numberAvailable"),
            node_selector(object)};
  }
  if (kind == "Job") return {job_status(object), job_completions(object), job_duration(object, now)};
  return {amount(object, "minAvailable"), amount(object, "maxUnavailable"), status(object, "disruptionsAllowed")};
}

}  // namespace careen::sim
