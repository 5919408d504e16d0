"""NodeMaintenance objects, pods, budgets and leases, as tests of drains need them."""

import os
import time

import yaml

from api import side_by_side
from careen import poll
from cluster import ROOT
from harness import CareenTest
from node_watch import labels

RBAC = "/apis/rbac.authorization.k8s.io/v1"
API = "/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances"
LOCK = "135b1886.medik8s.io"
FINALIZER = "foregroundDeleteNodeMaintenance"
EXCLUDE = "remediation.medik8s.io/exclude-from-remediation"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases"
TAINTS = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
          {"key": "medik8s.io/drain", "effect": "NoSchedule"}]
POOL = "e2e.careen.dev/pool"
HOLDS = "careen.dev/holds"


def shipped_roles():
    """The rules of deploy/manifests: those for the whole cluster, and those for the namespaces that have some."""
    cluster, own, leases, events = [], [], [], []
    of_namespace = {"medik8s-leases": leases, "default": events}
    with open(os.path.join(ROOT, "deploy", "manifests", "careen.yaml")) as file:
        for document in yaml.safe_load_all(file):
            name = document["metadata"]["name"]
            if name not in ("careen", "careen-auth", "careen-events", "careen-nodemaintenance", "careen-webhook"):
                continue
            if document["kind"] == "ClusterRole":
                cluster += document["rules"]
            elif document["kind"] == "Role":
                of_namespace.get(document["metadata"]["namespace"], own).extend(document["rules"])
    return cluster, own, leases, events


def condition(maintenance, kind):
    """Of its status: (status, reason, message), or None."""
    for one in maintenance.get("status", {}).get("conditions", []):
        if one["type"] == kind:
            return one["status"], one["reason"], one["message"]
    return None


class MaintenanceTest(CareenTest):
    """The controller of NodeMaintenance objects under election, and workloads to drain."""

    may_be_refused = set()

    def setUp(self):
        super().setUp()
        self._short_lived = []
        self._kubeconfig = None
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f",
                             os.path.join(ROOT, "deploy", "crds", "nodemaintenance.yaml"))
        self.cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s",
                             "crd/nodemaintenances.nodemaintenance.medik8s.io")
        poll(lambda: self.api.get(API) is not None, 30, "the API to serve NodeMaintenance objects")
        # First the objects, then the pods that block them, and the nodes as they were.
        self.addCleanup(self._clean)

    def tearDown(self):
        self._end_replicas()
        refused = self.refused()
        self._clean()
        if self.may_be_refused is not None:
            self.assertLessEqual(refused, self.may_be_refused, "rights that are missing")
        self.check_nothing_lost()

    def _clean(self):
        self._end_replicas()
        for remove in self._short_lived:
            remove()
        for maintenance in self.api.list(API)[0]:
            path = f"{API}/{maintenance['metadata']['name']}"
            self.api.delete(path)
            if self.api.get(path):
                self.api.patch(path, {"metadata": {"finalizers": None}})
        self.api.delete(f"/api/v1/namespaces/{self.namespace}")
        for pod in self.pods():
            self._kill(pod)
        for lease in self.api.list(LEASES)[0]:
            self.api.delete(f"{LEASES}/{lease['metadata']['name']}")
        side_by_side(self._restore, self.node_names)

    def _kill(self, pod):
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}"
        if pod["metadata"].get("finalizers"):
            self.api.patch(path, {"metadata": {"finalizers": None}})
        self.api.delete(path + "?gracePeriodSeconds=0")

    def short_lived(self, name):
        """A node of this test alone; it is gone before the others are looked at."""
        def remove():
            self.api.delete(f"/api/v1/nodes/{name}")
            self.watch.wait_until(lambda watch: name not in watch.nodes, 30, f"node {name} to be gone")
        self.addCleanup(remove)
        self._short_lived.append(remove)
        return {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name, "labels": {"kubernetes.io/hostname": name}, "annotations": {"kwok.x-k8s.io/node": "fake"}}}

    def _restore(self, name):
        node = self.watch.nodes[name]
        ours = [key for key in labels(node) if key.startswith(("e2e.careen.dev/", "remediation.medik8s.io/"))]
        if node["spec"].get("unschedulable") or node["spec"].get("taints") or ours:
            self.api.patch(f"/api/v1/nodes/{name}", {
                "metadata": {"labels": {key: None for key in ours}, "annotations": {HOLDS: None}},
                "spec": {"unschedulable": None, "taints": None}})

    def start_operator(self, *flags, **changes):
        """Under exactly the rights that are shipped."""
        if not self._kubeconfig:
            self._kubeconfig = self.restricted(*shipped_roles())
        return self.start_elected(None, "--controllers=nodemaintenance", *flags, kubeconfig=self._kubeconfig, **changes)

    def restricted(self, cluster, own, leases, events=()):
        """The kubeconfig of a service account with these rules for the cluster, its own namespace, the leases of nodes
        and the events of nodes."""
        token = self.service_account("operator")
        self.api.create("/api/v1/namespaces", {"metadata": {"name": "medik8s-leases"}})
        self.grant_rules("operator", cluster)
        for namespace, rules in ((self.namespace, own), ("medik8s-leases", leases), ("default", list(events))):
            name, base = f"e2e-{self.namespace}", f"{RBAC}/namespaces/{namespace}"
            self.api.create(f"{base}/roles", {"metadata": {"name": name}, "rules": rules})
            self.api.create(f"{base}/rolebindings", {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": self.namespace}]})
            self.addCleanup(self.api.delete, f"{base}/rolebindings/{name}")
            self.addCleanup(self.api.delete, f"{base}/roles/{name}")
        return self.kubeconfig(user={"token": token}, namespace=self.namespace)

    def refused(self):
        """What careen was not allowed to do since the mark."""
        return {(entry["verb"], entry["objectRef"].get("resource"), entry["objectRef"].get("subresource"))
                for entry in self.audit.entries() if entry["responseStatus"]["code"] in (401, 403)
                and entry["objectRef"].get("subresource") != "eviction"}

    # --- maintenances --------------------------------------------------------

    def maintain(self, name, node, reason="e2e", **spec):
        return self.api.call("POST", API, {"apiVersion": "nodemaintenance.medik8s.io/v1beta1", "kind": "NodeMaintenance",
                                           "metadata": {"name": name}, "spec": {"nodeName": node, "reason": reason, **spec}})

    def maintenance(self, name):
        return self.api.get(f"{API}/{name}")

    def status(self, name):
        found = self.maintenance(name)
        return found.get("status", {}) if found else {}

    def wait_phase(self, name, phase, seconds=60):
        return self.wait_maintenance(name, lambda found: found.get("status", {}).get("phase") == phase, seconds,
                                     f"the maintenance {name} to be {phase}")

    def wait_maintenance(self, name, holds, seconds=60, what="a change"):
        def found():
            maintenance = self.maintenance(name)
            return maintenance if maintenance and holds(maintenance) else None
        try:
            return poll(found, seconds, what, 0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.maintenance(name)}") from None

    def release(self, name, seconds=60):
        self.api.delete(f"{API}/{name}")
        poll(lambda: self.maintenance(name) is None, seconds, f"the maintenance {name} to be gone", 0.1)

    def maintenance_events(self, name, kind="NodeMaintenance"):
        items, _ = self.api.list("/api/v1/namespaces/default/events",
                                 fieldSelector=f"involvedObject.kind={kind},involvedObject.name={name}")
        return [(event["type"], event["reason"], event["message"]) for event in items
                for _ in range(event.get("count") or 1)]

    def node(self, name):
        return self.api.get(f"/api/v1/nodes/{name}")

    def check_in_maintenance(self, name):
        node = self.node(name)
        self.assertTrue(node["spec"].get("unschedulable"))
        self.assertEqual([(one["key"], one["effect"]) for one in node["spec"]["taints"][:2]],
                         [(one["key"], one["effect"]) for one in TAINTS])
        self.assertEqual(labels(node).get(EXCLUDE), "true")

    def check_released(self, name):
        """The controller of the control plane may need a moment for its own taint."""
        poll(lambda: not self.node(name)["spec"].get("taints"), 20, f"the taints of {name} to be gone")
        node = self.node(name)
        self.assertFalse(node["spec"].get("unschedulable", False))
        self.assertNotIn(EXCLUDE, labels(node))
        self.assertNotIn(HOLDS, node["metadata"].get("annotations", {}))
        self.assertIsNone(self.api.get(f"{LEASES}/node-{name}"))

    # --- workloads -----------------------------------------------------------

    def pool(self, *nodes):
        """These nodes take the pods of this test."""
        self.label(nodes, {POOL: self.namespace[-60:]})

    def _template(self, app, annotations=None, **spec):
        return {"metadata": {"labels": {"app": app}, "annotations": annotations or {}},
                "spec": {"nodeSelector": {POOL: self.namespace[-60:]},
                         "containers": [{"name": "c", "image": "example.com/app:1"}], **spec}}

    def deployment(self, app, replicas, kind="Deployment", annotations=None, **spec):
        """Its pods are ready when this returns."""
        plural = kind.lower() + "s"
        body = {"metadata": {"name": app}, "spec": {"selector": {"matchLabels": {"app": app}},
                                                    "template": self._template(app, annotations, **spec)}}
        if kind != "DaemonSet":
            body["spec"]["replicas"] = replicas
        self.api.call("POST", f"/apis/apps/v1/namespaces/{self.namespace}/{plural}", body)
        self.wait_ready_pods(app, replicas)

    def bare_pod(self, name, node, annotations=None, finalizers=None, wait=True, **spec):
        self.api.call("POST", f"/api/v1/namespaces/{self.namespace}/pods", {
            "metadata": {"name": name, "labels": {"app": name}, "annotations": annotations or {}, "finalizers": finalizers},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "example.com/app:1"}], **spec}})
        if wait:
            self.wait_ready_pods(name, 1)

    def budget(self, name, app, minimum=None, **spec):
        if minimum is not None:
            spec["minAvailable"] = minimum
        self.api.call("POST", f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets", {
            "metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": app}}, **spec}})
        poll(lambda: self._budget(name).get("status", {}).get("observedGeneration"), 30, f"the status of budget {name}")

    def _budget(self, name):
        return self.api.get(f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets/{name}")

    def free_budget(self, name):
        self.api.patch(f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets/{name}",
                       {"spec": {"minAvailable": 0}})

    def pods(self, node=None):
        items, _ = self.api.list(f"/api/v1/namespaces/{self.namespace}/pods")
        return [pod for pod in items if node is None or pod["spec"].get("nodeName") == node]

    def wait_ready_pods(self, app, count, seconds=60):
        def ready():
            return sum(pod["metadata"]["labels"].get("app") == app and "deletionTimestamp" not in pod["metadata"] and any(
                one["type"] == "Ready" and one["status"] == "True" for one in pod.get("status", {}).get("conditions", []))
                for pod in self.pods()) >= count
        poll(ready, seconds, f"{count} ready pods of {app}", 0.2)

    def evictions(self):
        """Evictions since the mark, as (pod, status code)."""
        return [(entry["objectRef"]["name"], entry["responseStatus"]["code"]) for entry in self.audit.entries()
                if entry["objectRef"].get("subresource") == "eviction"]

    def hold_lease(self, node, holder="somebody-else", seconds=3600):
        """As another operator does."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        self.api.create("/api/v1/namespaces", {"metadata": {"name": "medik8s-leases"}})
        spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "acquireTime": now, "renewTime": now,
                "leaseTransitions": 1}
        if not self.api.create(LEASES, {"metadata": {"name": f"node-{node}"}, "spec": spec}):
            self.api.patch(f"{LEASES}/node-{node}", {"spec": spec})
