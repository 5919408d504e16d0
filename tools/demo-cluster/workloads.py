"""What runs on the demonstration's cluster, and the labels of its nodes: those of `careen demo`."""

NEWEST_OS = "2.1.0"

# namespace, name, kind, replicas on sixty nodes, maxUnavailable of its budget, seconds to start and to end
APPS = [
    ("shop", "web", "Deployment", 72, 6, 5, 8),
    ("shop", "images", "Deployment", 48, 0, 3, 4),
    ("shop", "recommendations", "Deployment", 36, 0, 8, 10),
    ("shop", "search", "Deployment", 24, 2, 12, 8),
    ("shop", "cart", "Deployment", 18, 1, 6, 12),
    ("shop", "checkout", "Deployment", 12, 1, 10, 20),
    ("shop", "mail", "Deployment", 6, 0, 2, 3),
    ("data", "orders", "StatefulSet", 9, 1, 25, 15),
    ("data", "events", "StatefulSet", 7, 1, 20, 10),
    ("data", "cache", "StatefulSet", 12, 2, 5, 5),
    ("kube-system", "node-agent", "DaemonSet", 0, 0, 1, 2),
]


def pod_template(app, starts_in, ends_in, **annotations):
    return {"metadata": {"labels": {"app": app},
                         "annotations": {"testcluster/start-time": str(starts_in),
                                         "testcluster/termination-time": str(ends_in), **annotations}},
            "spec": {"containers": [{"name": "main", "image": f"registry.example.com/{app}:1.0"}]}}


def _workload(app, nodes):
    namespace, name, kind, replicas, _, starts_in, ends_in = app
    spec = {"selector": {"matchLabels": {"app": name}}, "template": pod_template(name, starts_in, ends_in)}
    if kind != "DaemonSet":
        spec["replicas"] = max(2, replicas * nodes // 60)
    if kind == "StatefulSet":
        spec.update(serviceName=name, podManagementPolicy="Parallel")
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _budget(app):
    namespace, name, _, _, max_unavailable, _, _ = app
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"maxUnavailable": max_unavailable, "selector": {"matchLabels": {"app": name}}}}


def job(name):
    template = pod_template(name, 2, 2, **{"testcluster/run-time": "240"})
    template["spec"]["restartPolicy"] = "Never"
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "batch"},
            "spec": {"completions": 24, "parallelism": 6, "backoffLimit": 100, "template": template}}


def manifests(nodes):
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                  for name in ("shop", "data", "batch", "medik8s-leases")]
    return namespaces + [_workload(app, nodes) for app in APPS] + [_budget(app) for app in APPS if app[4]]


def node_labels(index):
    updated = index % 4 == 0
    labels = [("cloud.sap/maintenance-profile", "os-update--hardware-repair"),
              ("demo.careen.dev/pool", "storage" if index % 5 == 4 else "worker"),
              ("demo.careen.dev/os", NEWEST_OS if updated else "2.0.9")]
    return labels if updated else labels + [("demo.careen.dev/os-update", "needed")]
