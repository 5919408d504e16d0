// What runs on the demonstration's cluster: a shop with its databases, an agent on every node, and jobs by the hour.
// Pods take their time to start and to end, so that drains can be watched and budgets matter.
#pragma once

#include <string>

#include "kube/json.h"
#include "sim/api_server.h"

namespace careen::app {

// The DaemonSet of a program that takes nodes out and is not careen.
inline constexpr std::string_view kKuredDaemonSet = "/apis/apps/v1/namespaces/kube-system/daemonsets/kured";

// As kubectl would ask; the status of the answer. A refusal is no mistake: people may delete what this is about.
int ask_api(sim::ApiServer& api, const std::string& method, const std::string& path, const kube::Json& body = {});

// The custom resources of all controllers, as they are installed on clusters.
void define_kinds(sim::ApiServer& api);
// A MaintenanceLimit about all nodes: careen waits for whoever else has some out, and people wait their turn.
void add_demo_limit(sim::ApiServer& api);
// Namespaces, Deployments, StatefulSets with budgets and a DaemonSet, for that many nodes.
void add_demo_workloads(sim::ApiServer& api, int nodes);
// A Job of some pods that run for a few minutes each.
void add_demo_job(sim::ApiServer& api, const std::string& name);
void remove_demo_job(sim::ApiServer& api, const std::string& name);

}  // namespace careen::app
