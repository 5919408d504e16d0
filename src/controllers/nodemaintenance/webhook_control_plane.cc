// Whether the control plane can spare a node: on OpenShift the disruption budget of etcd says so, elsewhere a majority
// of the control-plane nodes has to remain.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "controllers/nodemaintenance/webhook.h"
#include "kube/client.h"
#include "kube/resource.h"
#include "kube/transport.h"
#include "kube/url.h"

namespace careen::nodemaintenance {

using io::Task;
using kube::AdmissionVerdict;
using kube::Json;
using kube::JsonView;

namespace {

constexpr std::string_view kMasterLabel = "node-role.kubernetes.io/master";
constexpr std::string_view kControlPlaneLabel = "node-role.kubernetes.io/control-plane";
constexpr std::string_view kOpenShiftVersion = "config.openshift.io/v1";
constexpr const char* kEtcdNamespace = "openshift-etcd";
const kube::Resource kBudgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true};

bool in_control_plane(JsonView node) {
  const JsonView labels = node.at("/metadata/labels");
  return labels[kMasterLabel] || labels[kControlPlaneLabel];
}

// "True", "False", "Unknown"; empty when the condition is missing.
std::string ready_status(JsonView object) {
  std::string status;
  object.at("/status/conditions").for_each_element([&](JsonView condition) {
    if (condition["type"].text() == "Ready") status = condition["status"].text().value_or("");
  });
  return status;
}

std::string name_of(JsonView object) { return std::string(object.at("/metadata/name").text().value_or("")); }

std::string query_of(std::string_view key, std::string_view value) {
  std::string query(key);
  query += '=';
  kube::append_encoded(query, value);
  return query;
}

AdmissionVerdict violates_quorum(std::string_view node) {
  return AdmissionVerdict::deny(
      fmt::format("can not put master/control-plane node into maintenance at this moment, disrupting node {} will "
                  "violate etcd quorum",
                  node));
}

}  // namespace

io::Result<std::string> plain_selector(JsonView selector) {
  std::map<std::string, std::string> labels;
  selector["matchLabels"].for_each_member(
      [&](std::string_view key, JsonView value) { labels[std::string(key)] = value.text().value_or(""); });
  std::string wrong;
  selector["matchExpressions"].for_each_element([&](JsonView expression) {
    const std::string_view op = expression["operator"].text().value_or("");
    const bool known = op == "In" || op == "NotIn" || op == "Exists" || op == "DoesNotExist";
    const JsonView values = expression["values"];
    if (!wrong.empty()) return;
    if (!known) {
      wrong = fmt::format("\"{}\" is not a valid selector operator", op);
    } else if (op != "In") {
      wrong = fmt::format("operator \"{}\" cannot be converted into the old label selector format", op);
    } else if (values.size() != 1) {
      wrong = fmt::format(
          "operator \"{}\" without a single value cannot be converted into the old label selector format", op);
    } else {
      labels[std::string(expression["key"].text().value_or(""))] = values[size_t{0}].text().value_or("");
    }
  });
  if (!wrong.empty()) return io::fail(io::ErrorKind::invalid, wrong);
  std::string out;
  for (const auto& [key, value] : labels) out += fmt::format("{}{}={}", out.empty() ? "" : ",", key, value);
  return out;
}

Task<Webhook::Spared> Webhook::judge_control_plane(Subject& subject, const std::vector<Listed>& maintenances) {
  if (!in_control_plane(subject.node_object.view())) co_return Spared{AdmissionVerdict::allow()};
  const auto openshift = co_await on_openshift(subject.give_up);
  if (!openshift) {
    co_return Spared{
        AdmissionVerdict::deny("could not find out whether the control plane is one of OpenShift, please try again: " +
                               openshift.error().message)};
  }
  if (*openshift) co_return Spared{co_await judge_etcd(subject)};
  if (!options_.protect_control_plane) co_return Spared{AdmissionVerdict::allow()};
  const auto control_plane = co_await list_control_plane(subject.give_up);
  if (!control_plane) {
    co_return Spared{AdmissionVerdict::deny("could not list the control-plane nodes, please try again: " +
                                            control_plane.error().message)};
  }
  co_return judge_majority(subject, *control_plane, maintenances);
}

// Asked of the server once: a cluster does not change its kind.
Task<kube::Result<bool>> Webhook::on_openshift(io::Wall give_up) {
  if (openshift_) co_return *openshift_;
  kube::Request request;
  request.path = "/apis";
  const auto turn = co_await reads_.acquire();
  const auto groups =
      co_await client_.call(std::move(request), {"", "", "apis", "APIGroupList"}, "get", reading(give_up));
  if (!groups) co_return tl::make_unexpected(groups.error());
  const auto parsed = Json::parse(*groups);
  if (!parsed) co_return tl::make_unexpected(kube::to_api_error(parsed.error()));
  bool found = false;
  (*parsed)["groups"].for_each_element([&](JsonView group) {
    group["versions"].for_each_element(
        [&](JsonView version) { found = found || version["groupVersion"].text() == kOpenShiftVersion; });
  });
  openshift_ = found;
  co_return found;
}

Task<AdmissionVerdict> Webhook::judge_etcd(const Subject& subject) {
  const auto budgets = co_await list(kBudgets, kEtcdNamespace, "", subject.give_up);
  if (!budgets) co_return AdmissionVerdict::pass_on(budgets.error());
  if (budgets->size() != 1) co_return violates_quorum(subject.node);
  const JsonView budget = budgets->front().view();
  if (budget.at("/status/disruptionsAllowed").integer().value_or(0) >= 1) co_return AdmissionVerdict::allow();
  auto selector = plain_selector(budget.at("/spec/selector"));
  if (!selector) co_return AdmissionVerdict::deny(selector.error().message);
  co_return co_await judge_etcd_pod(subject, std::move(*selector));
}

// No disruption is allowed: then only a node whose member of etcd does not work anyway may go.
Task<AdmissionVerdict> Webhook::judge_etcd_pod(const Subject& subject, std::string selector) {
  std::string selectors = query_of("fieldSelector", "spec.nodeName=" + subject.node);
  if (!selector.empty()) selectors += "&" + query_of("labelSelector", selector);
  const auto pods = co_await list(kube::resources::pods, kEtcdNamespace, std::move(selectors), subject.give_up);
  if (!pods) co_return AdmissionVerdict::pass_on(pods.error());
  if (pods->empty()) co_return AdmissionVerdict::allow();
  const std::string ready = ready_status(pods->front().view());
  if (ready == "True" || ready == "Unknown") co_return violates_quorum(subject.node);
  co_return AdmissionVerdict::allow();
}

Task<kube::Result<std::vector<Json>>> Webhook::list_control_plane(io::Wall give_up) {
  std::vector<Json> nodes;
  for (const std::string_view label : {kControlPlaneLabel, kMasterLabel}) {
    auto listed = co_await list(kube::resources::nodes, "", query_of("labelSelector", label), give_up);
    if (!listed) co_return listed;
    for (Json& node : *listed) {
      const bool known = std::any_of(nodes.begin(), nodes.end(),
                                     [&](const Json& one) { return name_of(one.view()) == name_of(node.view()); });
      if (!known) nodes.push_back(std::move(node));
    }
  }
  co_return nodes;
}

Webhook::Spared Webhook::judge_majority(Subject& subject, const std::vector<Json>& control_plane,
                                        const std::vector<Listed>& maintenances) {
  // What does not work anyway can be repaired.
  if (ready_status(subject.node_object.view()) != "True") return {AdmissionVerdict::allow()};
  const auto in_maintenance = [&](const std::string& node) {
    return std::any_of(maintenances.begin(), maintenances.end(), [&](const Listed& one) { return one.node == node; });
  };
  size_t remaining = 0, on_the_way = 0;
  std::string away;
  for (const Json& node : control_plane) {
    const std::string name = name_of(node.view());
    if (name == subject.node) continue;
    const char* why = in_maintenance(name)                               ? "in maintenance"
                      : ready_status(node.view()) != "True"              ? "not ready"
                      : node.at("/spec/unschedulable").boolean() == true ? "unschedulable"
                                                                         : nullptr;
    if (!why && may_still_come(name, subject)) {
      why = "its maintenance was admitted a moment ago";
      ++on_the_way;
    }
    if (!why) {
      ++remaining;
    } else {
      away += fmt::format("{}{} ({})", away.empty() ? "" : ", ", name, why);
    }
  }
  const size_t majority = control_plane.size() / 2 + 1;
  if (remaining >= majority) return {AdmissionVerdict::allow()};
  const bool may_change = remaining + on_the_way >= majority && may_wait(subject);
  return {AdmissionVerdict::deny(fmt::format(
              "can not put master/control-plane node into maintenance at this moment, disrupting node {} would leave "
              "{} of {} control-plane nodes, and {} are needed for a majority{}",
              subject.node, remaining, control_plane.size(), majority, away.empty() ? "" : "; already away: " + away)),
          may_change};
}

}  // namespace careen::nodemaintenance
