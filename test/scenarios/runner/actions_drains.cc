#include <fmt/format.h>

#include <algorithm>

#include "actions.h"

namespace careen::scenarios {

using kube::Json;

namespace {

constexpr io::Duration kUsualGrace = io::seconds{30};

struct WorkloadKind {
  std::string_view name, collection;
};
constexpr WorkloadKind kWorkloadKinds[] = {{"Deployment", "apis/apps/v1"},
                                           {"StatefulSet", "apis/apps/v1"},
                                           {"DaemonSet", "apis/apps/v1"},
                                           {"Job", "apis/batch/v1"}};

std::string plural_of_kind(std::string_view kind) {
  std::string out(kind);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out + "s";
}

// NAMESPACE/NAME.
std::pair<std::string, std::string> read_place(const Member& member, std::string_view what, Faults& faults) {
  const size_t slash = member.key.find('/');
  if (slash == std::string::npos) {
    faults.add(member.where, fmt::format("{} is named NAMESPACE/NAME: shop/web", what));
    return {"default", member.key};
  }
  return {member.key.substr(0, slash), member.key.substr(slash + 1)};
}

// As a request, with all that the API server makes of it.
std::string request(Stage& stage, std::string method, std::string path, const Json* body) {
  kube::Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  if (body) request.body = body->dump();
  const kube::Response answer = stage.cluster.api.handle(request, {"person"});
  if (answer.status < 300) return {};
  const auto status = Json::parse(answer.body);
  return status ? std::string((*status)["message"].text().value_or(answer.body)) : answer.body;
}

void bind_to(Json& spec, const std::vector<std::string>& nodes) {
  Json values = Json::array();
  for (const std::string& node : nodes) values.push_back(node);
  Json rule = Json::object({{"key", "kubernetes.io/hostname"}, {"operator", "In"}});
  rule.set({"values"}, std::move(values));
  Json term = Json::object();
  term.set({"matchExpressions"}, Json::array().push_back(std::move(rule)));
  spec.set({"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"},
           Json::array().push_back(std::move(term)));
}

Json read_template(Fields& fields, const std::string& name, bool job, Reading& reading) {
  Json out = Json::object();
  out.set({"metadata", "labels", "app"}, name);
  if (const Value* labels = fields.find("labels")) {
    for (const auto& [key, text] : read_key_values(*labels, "labels", reading.faults)) {
      if (text) out.set({"metadata", "labels", key}, *text);
    }
  }
  Json spec = Json::object();
  spec.set({"containers"}, Json::array().push_back(Json::object({{"name", "main"}, {"image", "example"}})));
  if (job) spec.set({"restartPolicy"}, "Never");
  read_behaviour(fields, out, spec);
  if (const Value* nodes = fields.find("nodes")) bind_to(spec, reading.node_names(*nodes));
  if (fields.flag("tolerates-all")) {
    spec.set({"tolerations"}, Json::array().push_back(Json::object({{"operator", "Exists"}})));
  }
  return out.set({"spec"}, std::move(spec));
}

PlannedObject read_workload(const Member& member, Reading& reading) {
  const auto [ns, name] = read_place(member, "a workload", reading.faults);
  Fields fields(member.value, "a workload", reading.faults);
  const std::string kind = fields.text("kind").value_or("Deployment");
  const auto known =
      std::find_if(std::begin(kWorkloadKinds), std::end(kWorkloadKinds), [&](const auto& k) { return k.name == kind; });
  if (known == std::end(kWorkloadKinds)) {
    std::vector<std::string> names;
    for (const WorkloadKind& one : kWorkloadKinds) names.emplace_back(one.name);
    reading.faults.unknown(member.where, "kind of workload", kind, names);
    return {};
  }
  Json object = Json::object({{"apiVersion", std::string(known->collection.substr(5))}, {"kind", kind}});
  object.set({"metadata", "name"}, name).set({"metadata", "namespace"}, ns);
  const bool job = kind == "Job";
  if (const Value* replicas = fields.find("replicas")) {
    object.set({"spec", job ? "parallelism" : "replicas"}, replicas->integer.value_or(1));
    if (job) object.set({"spec", "completions"}, replicas->integer.value_or(1));
  }
  if (!job) object.set({"spec", "selector", "matchLabels", "app"}, name);
  if (kind == "StatefulSet") object.set({"spec", "serviceName"}, name);
  object.set({"spec", "template"}, read_template(fields, name, job, reading));
  fields.finish();
  return {fmt::format("/{}/namespaces/{}/{}", known->collection, ns, plural_of_kind(kind)), std::move(object), true};
}

PlannedObject read_budget(const Member& member, Reading& reading) {
  const auto [ns, name] = read_place(member, "a budget", reading.faults);
  Fields fields(member.value, "a budget", reading.faults);
  Json object = Json::object({{"apiVersion", "policy/v1"}, {"kind", "PodDisruptionBudget"}});
  object.set({"metadata", "name"}, name).set({"metadata", "namespace"}, ns);
  const Value* least = fields.find("min-available");
  const Value* most = fields.find("max-unavailable");
  if ((least != nullptr) == (most != nullptr)) {
    reading.faults.add(member.where,
                       "a budget needs one of `min-available` and `max-unavailable`: a number or a share");
  }
  if (least) object.set({"spec", "minAvailable"}, to_json(*least));
  if (most) object.set({"spec", "maxUnavailable"}, to_json(*most));
  const Value* labels = fields.find("labels");
  if (labels) object.set({"spec", "selector", "matchLabels"}, to_json(*labels));
  if (!labels) object.set({"spec", "selector", "matchLabels", "app"}, name);
  fields.finish();
  return {fmt::format("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", ns), std::move(object), true};
}

}  // namespace

void read_behaviour(Fields& fields, Json& metadata_holder, Json& spec) {
  const auto annotate = [&](std::string_view key, std::string text) {
    metadata_holder.set({"metadata", "annotations", fmt::format("model.careen.dev/{}", key)}, std::move(text));
  };
  io::Duration grace = kUsualGrace;
  if (const Value* value = fields.find("ends-in"); value && value->text == "never") {
    annotate("termination-time", "never");
  } else if (value) {
    const io::Duration span = read_span(*value, "ends-in", fields.faults()).value_or(io::Duration{0});
    annotate("termination-time", fmt::format("{}", io::to_seconds(span)));
    grace = std::max(grace, span);
  }
  if (const auto span = fields.span("starts-in")) annotate("start-time", fmt::format("{}", io::to_seconds(*span)));
  if (const auto span = fields.span("works-for")) annotate("run-time", fmt::format("{}", io::to_seconds(*span)));
  spec.set({"terminationGracePeriodSeconds"}, std::chrono::duration_cast<io::seconds>(grace).count());
}

std::string post_object(Stage& stage, const PlannedObject& planned) {
  return request(stage, "POST", planned.path, &planned.object);
}

std::vector<PlannedObject> read_workloads(const Value& value, Reading& reading) {
  std::vector<PlannedObject> out;
  for (const Member& member : members(value, "workloads", reading.faults)) {
    out.push_back(read_workload(member, reading));
  }
  return out;
}

std::vector<PlannedObject> read_budgets(const Value& value, Reading& reading) {
  std::vector<PlannedObject> out;
  for (const Member& member : members(value, "budgets", reading.faults)) out.push_back(read_budget(member, reading));
  return out;
}

// {NAME: node}, or {NAME: {node: …, reason: …, drain: …}}. Of several names, each has the next of several nodes.
Perform read_maintain(const Value& value, Reading& reading) {
  std::vector<PlannedObject> objects;
  for (const Member& member : members(value, "maintain", reading.faults)) {
    Json spec = Json::object();
    std::string nodes;
    if (member.value.is_scalar()) {
      nodes = read_text(member.value, "a node", reading.faults).value_or("");
    } else {
      Fields fields(member.value, "a maintenance", reading.faults);
      nodes = fields.text("node").value_or("");
      if (nodes.empty()) reading.faults.add(member.where, "a maintenance needs its `node`");
      if (const auto reason = fields.text("reason")) spec.set({"reason"}, *reason);
      if (const Value* drain = fields.find("drain")) spec.set({"drain"}, to_json(*drain));
      fields.finish();
    }
    const auto names = expand(member.key);
    const auto on = reading.node_names(nodes, member.value.where);
    for (size_t i = 0; i < names.size() && !on.empty(); ++i) {
      Json object = Json::object({{"apiVersion", "nodemaintenance.medik8s.io/v1beta1"}, {"kind", "NodeMaintenance"}});
      object.set({"metadata", "name"}, names[i]).set({"spec"}, spec).set({"spec", "nodeName"}, on[i % on.size()]);
      objects.push_back({std::string(kMaintenances), std::move(object), true});
    }
  }
  return [objects](Stage& stage) -> std::string {
    for (const PlannedObject& object : objects) {
      if (std::string wrong = post_object(stage, object); !wrong.empty()) return wrong;
    }
    return {};
  };
}

// NAME, or a list of them.
Perform read_release(const Value& value, Reading& reading) {
  std::vector<std::string> names;
  for (const Value* item : items(value)) {
    for (std::string& name : expand(read_text(*item, "a maintenance", reading.faults).value_or(""))) {
      names.push_back(std::move(name));
    }
  }
  return [names](Stage& stage) -> std::string {
    for (const std::string& name : names) {
      std::string wrong = request(stage, "DELETE", fmt::format("{}/{}", kMaintenances, name), nullptr);
      if (!wrong.empty()) return wrong;
    }
    return {};
  };
}

}  // namespace careen::scenarios
