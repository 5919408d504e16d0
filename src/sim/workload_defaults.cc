#include "sim/workload_defaults.h"

#include <utility>

namespace careen::sim {

namespace {

// "RollingUpdate" unless said otherwise; only that one has numbers.
json::object* rolling(json::object& spec, std::string_view strategy) {
  json::object& how = object_at(spec, strategy);
  set_if_missing(how, "type", "RollingUpdate");
  return text_at(how, "type") == "RollingUpdate" ? &object_at(how, "rollingUpdate") : nullptr;
}

void fill_deployment(json::object& spec) {
  set_if_missing(spec, "replicas", 1);
  if (json::object* numbers = rolling(spec, "strategy")) {
    set_if_missing(*numbers, "maxUnavailable", "25%");
    set_if_missing(*numbers, "maxSurge", "25%");
  }
  set_if_missing(spec, "revisionHistoryLimit", 10);
  set_if_missing(spec, "progressDeadlineSeconds", 600);
}

void fill_stateful_set(json::object& spec) {
  set_if_missing(spec, "replicas", 1);
  set_if_missing(spec, "podManagementPolicy", "OrderedReady");
  if (json::object* numbers = rolling(spec, "updateStrategy")) set_if_missing(*numbers, "partition", 0);
  set_if_missing(spec, "revisionHistoryLimit", 10);
  json::object& claims = object_at(spec, "persistentVolumeClaimRetentionPolicy");
  set_if_missing(claims, "whenDeleted", "Retain");
  set_if_missing(claims, "whenScaled", "Retain");
}

void fill_daemon_set(json::object& spec) {
  if (json::object* numbers = rolling(spec, "updateStrategy")) {
    set_if_missing(*numbers, "maxUnavailable", 1);
    set_if_missing(*numbers, "maxSurge", 0);
  }
  set_if_missing(spec, "revisionHistoryLimit", 10);
}

void fill_job(json::object& spec) {
  // Without either it is one pod; parallelism alone means a queue of work.
  if (!spec.contains("completions") && !spec.contains("parallelism")) spec["completions"] = 1;
  set_if_missing(spec, "parallelism", 1);
  set_if_missing(spec, "backoffLimit", 6);
  set_if_missing(spec, "completionMode", "NonIndexed");
  set_if_missing(spec, "suspend", false);
  set_if_missing(spec, "podReplacementPolicy", "TerminatingOrFailed");
  set_if_missing(spec, "manualSelector", false);
}

void fill_container(json::object& container) {
  set_if_missing(container, "resources", json::object());
  set_if_missing(container, "terminationMessagePath", "/dev/termination-log");
  set_if_missing(container, "terminationMessagePolicy", "File");
  const std::string image(text_at(container, "image"));
  const size_t colon = image.rfind(':');
  const bool latest =
      colon == std::string::npos || image.substr(colon) == ":latest" || image.find('/', colon) != std::string::npos;
  set_if_missing(container, "imagePullPolicy", latest ? "Always" : "IfNotPresent");
}

}  // namespace

void fill_pod_template(json::object& spec) {
  for (const char* key : {"containers", "initContainers"}) {
    json::value* list = spec.if_contains(key);
    if (!list || !list->is_array()) continue;
    for (json::value& one : list->get_array()) {
      if (one.is_object()) fill_container(one.get_object());
    }
  }
  set_if_missing(spec, "restartPolicy", "Always");
  set_if_missing(spec, "terminationGracePeriodSeconds", 30);
  set_if_missing(spec, "dnsPolicy", "ClusterFirst");
  set_if_missing(spec, "securityContext", json::object());
  set_if_missing(spec, "schedulerName", "default-scheduler");
}

void fill_workload(const Resource& resource, json::object& object) {
  if (resource.custom || (resource.group != "apps" && resource.group != "batch")) return;
  json::value* found = object.if_contains("spec");
  if (!found || !found->is_object()) return;
  json::object& spec = found->get_object();
  if (resource.kind == "Deployment") fill_deployment(spec);
  if (resource.kind == "ReplicaSet") set_if_missing(spec, "replicas", 1);
  if (resource.kind == "StatefulSet") fill_stateful_set(spec);
  if (resource.kind == "DaemonSet") fill_daemon_set(spec);
  if (resource.kind == "Job") fill_job(spec);
  json::value* pod = find(*found, {"template", "spec"});
  if (pod && pod->is_object()) fill_pod_template(pod->get_object());
}

void fill_new_workload(const Resource& resource, json::object& object) {
  if (resource.kind == "DaemonSet") {
    object_at(object_at(object, "metadata"), "annotations")["deprecated.daemonset.template.generation"] = "1";
  }
  if (resource.kind != "Job") return;
  // Both are there before either is held: what is put into an object moves its members.
  object_at(object, "metadata");
  json::object& spec = object_at(object, "spec");
  json::object& meta = object_at(object, "metadata");
  if (const json::value* manual = spec.if_contains("manualSelector"); manual && *manual == json::value(true)) return;
  const std::string name(text_at(meta, "name")), uid(text_at(meta, "uid"));
  const auto mark = [&](json::object& labels) {
    for (const char* key : {"batch.kubernetes.io/controller-uid", "controller-uid"}) labels[key] = uid;
    for (const char* key : {"batch.kubernetes.io/job-name", "job-name"}) labels[key] = name;
  };
  json::object& labels = object_at(object_at(object_at(spec, "template"), "metadata"), "labels");
  mark(labels);
  // A Job that has no labels of its own has those of its pods.
  if (object_at(meta, "labels").empty()) meta["labels"] = labels;
  spec["selector"] = {{"matchLabels", {{"batch.kubernetes.io/controller-uid", uid}}}};
}

}  // namespace careen::sim
