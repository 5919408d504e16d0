// The part of the stage that is about drains: nodes with kubelets, workloads, NodeMaintenance objects, and the
// perturbations of these.
#include <fmt/format.h>

#include <algorithm>

#include "controllers/nodemaintenance/hosted.h"
#include "controllers/nodemaintenance/names.h"
#include "controllers/slot/definition.h"
#include "stage.h"

namespace careen::explore {

using io::seconds;
using kube::Json;

namespace {

constexpr const char* kNamespace = "default";

std::string budget_path(const std::string& name) {
  return fmt::format("/apis/policy/v1/namespaces/{}/poddisruptionbudgets/{}", kNamespace, name);
}

Json pod_template(const Workload& workload) {
  Json pod = Json::object();
  pod.set({"metadata", "labels", "app"}, workload.name);
  pod.set({"metadata", "annotations", "model.careen.dev/termination-time"}, std::to_string(workload.ends_in));
  pod.set({"spec", "containers"}, Json::array({Json::object({{"name", "c"}, {"image", "i"}})}));
  return pod;
}

struct KindNames {
  const char* kind;
  const char* plural;
};
KindNames names_of(Workload::Kind kind) {
  switch (kind) {
    case Workload::Kind::deployment:
    case Workload::Kind::pinned:
      return {"Deployment", "deployments"};
    case Workload::Kind::stateful_set:
      return {"StatefulSet", "statefulsets"};
    default:
      return {"DaemonSet", "daemonsets"};
  }
}

std::string last_of(std::string path) {
  path = path.substr(0, path.find('?'));
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

void Stage::ask(std::string method, std::string path, const Json& body) {
  kube::Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.content_type = request.method == "PATCH" ? "application/merge-patch+json" : "application/json";
  request.body = body.dump();
  const kube::Response response = cluster->api.handle(request, {"people"});
  if (response.status >= 400) note(fmt::format("{} {} is refused: {}", request.method, request.path, response.body));
}

void Stage::set_up_drains() {
  ask("POST", controllers::kDefinitionsPath, nodemaintenance::kind().definitions().front());
  for (const Workload& workload : case_.campaign.workloads) make_workload(workload);
}

void Stage::make_workload(const Workload& workload) {
  Json pod = pod_template(workload);
  if (workload.kind == Workload::Kind::pinned) {
    pod.set({"spec", "nodeName"}, workload.node);
    pod.set({"spec", "tolerations"}, Json::array({Json::object({{"operator", "Exists"}})}));
  }
  if (workload.kind == Workload::Kind::bare_pod) return make_bare_pod(workload.name, workload.node, std::move(pod));
  const auto [kind, plural] = names_of(workload.kind);
  Json object = Json::object({{"apiVersion", "apps/v1"}, {"kind", kind}});
  object.set({"metadata", "name"}, workload.name);
  object.set({"spec", "selector", "matchLabels", "app"}, workload.name);
  object.set({"spec", "template"}, std::move(pod));
  if (workload.kind != Workload::Kind::daemon_set) object.set({"spec", "replicas"}, workload.replicas);
  if (workload.kind == Workload::Kind::stateful_set) object.set({"spec", "serviceName"}, workload.name);
  ask("POST", fmt::format("/apis/apps/v1/namespaces/{}/{}", kNamespace, plural), object);
  if (!workload.max_unavailable) return;
  Json budget = Json::object({{"apiVersion", "policy/v1"}, {"kind", "PodDisruptionBudget"}});
  budget.set({"metadata", "name"}, workload.name);
  budget.set({"spec", "maxUnavailable"}, *workload.max_unavailable);
  budget.set({"spec", "selector", "matchLabels", "app"}, workload.name);
  ask("POST", fmt::format("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", kNamespace), budget);
  if (!workload.moved_after) allowed_[workload.name] = *workload.max_unavailable;
}

const Workload* Stage::moved_by(const sim::Sending& sending) const {
  const std::string_view path = std::string_view(sending.request.path).substr(0, sending.request.path.find('?'));
  if (sending.request.method != "POST" || !path.ends_with("/eviction")) return nullptr;
  for (const Workload& workload : case_.campaign.workloads) {
    if (workload.moved_after && path.find(fmt::format("/pods/{}-", workload.name)) != std::string_view::npos) {
      return &workload;
    }
  }
  return nullptr;
}

void Stage::tell_mover(const sim::Sending& sending, const Workload& workload) {
  const std::string eviction = sending.request.path.substr(0, sending.request.path.find('?'));
  const std::string pod = eviction.substr(0, eviction.rfind('/'));
  if (!moving_.insert(pod).second) return;
  lasts(*workload.moved_after);
  later(*workload.moved_after, [this, pod] {
    kube::Request request;
    request.method = "DELETE";
    request.path = pod;
    cluster->api.handle(request, {"mover"});
  });
}

void Stage::make_bare_pod(const std::string& name, const std::string& node, Json pod) {
  pod.set({"apiVersion"}, "v1").set({"kind"}, "Pod").set({"metadata", "name"}, name).set({"spec", "nodeName"}, node);
  ask("POST", fmt::format("/api/v1/namespaces/{}/pods", kNamespace), pod);
}

// One that pods can live on.
void Stage::make_machine(const std::string& node) {
  sim::Kubelets::Labels labels(wanted_[node].begin(), wanted_[node].end());
  cluster->kubelets.add(node, labels, {{"people.example/remark", "mine"}}, {"32", "128Gi", "110", seconds{0}});
  const auto plan = std::find_if(case_.campaign.nodes.begin(), case_.campaign.nodes.end(),
                                 [&](const NodePlan& one) { return one.name == node; });
  Json taints = Json::array({Json::object({{"key", "people.example/pool"}, {"effect", "PreferNoSchedule"}})});
  if (plan->drain_taint)
    taints.push_back(Json::object({{"key", nodemaintenance::kDrainTaint}, {"effect", "NoSchedule"}}));
  Json patch = Json::object();
  patch.set({"metadata", "finalizers"}, Json::array({"people.example/keep"}));
  patch.set({"spec", "taints"}, std::move(taints));
  if (plan->cordoned) patch.set({"spec", "unschedulable"}, true);
  cluster->api.merge(node_path(node), patch, "people");
}

void Stage::maintain(const std::string& name, const std::string& node) {
  maintained_[name] = node;
  Json object = Json::object({{"apiVersion", "nodemaintenance.medik8s.io/v1beta1"}, {"kind", "NodeMaintenance"}});
  object.set({"metadata", "name"}, name).set({"spec", "nodeName"}, node).set({"spec", "reason"}, "people want it");
  object.set({"metadata", "labels", "people.example/team"}, "ours");
  object.set({"metadata", "annotations", "people.example/remark"}, "mine");
  ask("POST", kMaintenances, object);
}

void Stage::release(const std::string& name) {
  maintained_.erase(name);
  ask("DELETE", maintenance_path(name), Json::object());
}

void Stage::set_cordon(const std::string& node, bool cordoned) {
  if (!cluster->api.text(node_path(node))) return;
  Json patch = Json::object();
  patch.set({"spec", "unschedulable"}, cordoned ? Json(true) : Json());
  cluster->api.merge(node_path(node), patch, "people");
}

void Stage::set_budget(const std::string& name, int max_unavailable) {
  // As a request does, so that its generation grows.
  kube::Request request;
  request.method = "PATCH";
  request.path = budget_path(name);
  request.content_type = "application/merge-patch+json";
  request.body = fmt::format(R"({{"spec": {{"maxUnavailable": {}}}}})", max_unavailable);
  cluster->api.handle(request, {"people"});
}

void Stage::strike_drain(const Perturbation& what, const Hit& hit) {
  std::string node = case_.campaign.nodes[what.choice % case_.campaign.nodes.size()].name;
  std::string maintenance, pod;
  if (!maintained_.empty()) {
    const auto one = std::next(maintained_.begin(), static_cast<std::ptrdiff_t>(what.choice % maintained_.size()));
    maintenance = one->first;
    if (what.choice % 3) node = one->second;
  }
  if (hit.sending && hit.sending->request.path.starts_with("/api/v1/nodes/")) node = last_of(hit.sending->request.path);
  const std::string path = hit.sending ? hit.sending->request.path.substr(0, hit.sending->request.path.find('?')) : "";
  if (what.action == Action::replace_pod && path.ends_with("/eviction")) {
    // The next of its name is there when the eviction arrives.
    hit.treatment->before = seconds{2};
    return cluster->api.erase(path.substr(0, path.rfind('/')), "people");
  }
  const auto rest = [this, &what, node, maintenance] { strike_drained(what, node, maintenance); };
  if (hit.treatment || !hit.sending) return rest();
  agenda_.soon(rest);
}

void Stage::strike_drained(const Perturbation& what, const std::string& node, const std::string& maintenance) {
  const std::string number = std::to_string(what.choice % 1000);
  switch (what.action) {
    case Action::uncordon:
      return set_cordon(node, false);
    case Action::relabel:
      return set(node, "labels", nodemaintenance::kExcludeLabel, what.choice % 2 ? Json(number) : Json());
    case Action::place_pod: {
      Workload bare;
      bare.name = "placed" + number;
      return make_bare_pod(bare.name, node, pod_template(bare));
    }
    case Action::close_budget: {
      if (allowed_.empty()) return;
      const auto one = std::next(allowed_.begin(), static_cast<std::ptrdiff_t>(what.choice % allowed_.size()));
      set_budget(one->first, 0);
      lasts(what.span);
      return later(what.span, [this, name = one->first] { set_budget(name, allowed_.at(name)); });
    }
    case Action::delete_node_lease:
      return cluster->api.erase("/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases/node-" + node, "people");
    case Action::edit_maintenance:
      return edit_maintenance(what, maintenance);
    case Action::renew_maintenance:
      return renew_maintenance(maintenance);
    default:
      return;
  }
}

void Stage::edit_maintenance(const Perturbation& what, const std::string& name) {
  const std::string path = maintenance_path(name), number = std::to_string(what.choice % 1000);
  const Json object = cluster->api.object(path);
  if (name.empty() || !object.view().is_object()) return;
  Json patch = Json::object();
  patch.set({"metadata", "labels", "foreign.example/label"}, number);
  patch.set({"metadata", "annotations", "foreign.example/annotation"}, number);
  // A finalizer cannot be added to an object that is being deleted.
  if (!object["metadata"]["deletionTimestamp"].exists()) {
    Json finalizers(object["metadata"]["finalizers"]);
    finalizers.push_back("foreign.example/" + number);
    patch.set({"metadata", "finalizers"}, std::move(finalizers));
  }
  cluster->api.merge(path, patch, "people");
  lasts(what.span);
  later(what.span, [this, path, own = "foreign.example/" + number] {
    const Json now = cluster->api.object(path);
    if (!now.view().is_object()) return;
    Json kept = Json::array();
    now["metadata"]["finalizers"].for_each_element([&](kube::JsonView one) {
      if (one.text() != own) kept.push_back(Json(one));
    });
    Json back = Json::object();
    back.set({"metadata", "finalizers"}, std::move(kept));
    kube::Request request;
    request.method = "PATCH";
    request.path = path;
    request.content_type = "application/merge-patch+json";
    request.body = back.dump();
    cluster->api.handle(request, {"people"});
  });
}

// Unless it has a rival: who comes first must not depend on this.
void Stage::renew_maintenance(const std::string& name) {
  const auto known = maintained_.find(name);
  if (known == maintained_.end()) return;
  for (const Edit& what : case_.campaign.edits) {
    if (what.kind == Edit::Kind::maintain && what.node == known->second && what.key != name) return;
  }
  const std::string uid = text_at(cluster->api.object(maintenance_path(name))["metadata"], "uid");
  ask("DELETE", maintenance_path(name), Json::object());
  make_again(name, uid, known->second);
}

// Once the one with this UID is gone, if it is still wanted and nobody else has made it again.
void Stage::make_again(const std::string& name, const std::string& uid, const std::string& node) {
  lasts(seconds{2});
  later(seconds{1}, [this, name, uid, node] {
    if (!maintained_.contains(name)) return;
    if (!cluster->api.text(maintenance_path(name))) return maintain(name, node);
    if (text_at(cluster->api.object(maintenance_path(name))["metadata"], "uid") == uid) make_again(name, uid, node);
  });
}

}  // namespace careen::explore
