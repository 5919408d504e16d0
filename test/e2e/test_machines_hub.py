"""The hub: profiles of two workload clusters run in the management cluster of the real Cluster API."""

import os
import subprocess

from careen import poll
from machines import APPROVE_DELETION, DELETED, ENABLED, STATE, MachinesEnvironment, MachinesTest
from node_watch import labels

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMITS = "/apis/repairman.k8s.io/v1/maintenancelimits"
LEASES = "/apis/coordination.k8s.io/v1"
PROFILED = {"cloud.sap/maintenance-profile": "os"}
WANTED, DONE = "e2e.careen.dev/reboot", "e2e.careen.dev/rebooted"

CONFIG = f"""
intervals: {{requeue: 500ms}}
instances:
  check:
  - {{name: wanted, type: hasLabel, config: {{key: {WANTED}, value: "yes"}}}}
  - {{name: one, type: maxMaintenance, config: {{max: 1}}}}
  - {{name: over, type: hasLabel, config: {{key: {DONE}, value: "yes"}}}}
  trigger:
  - {{name: drain, type: eviction, config: {{action: drain}}}}
  - {{name: uncordon, type: eviction, config: {{action: uncordon}}}}
  - {{name: asked, type: alterLabel, config: {{key: {WANTED}, remove: true}}}}
profiles:
- name: os
  operational: {{transitions: [{{check: wanted, next: maintenance-required}}]}}
  maintenance-required: {{transitions: [{{check: one, trigger: drain, next: in-maintenance}}]}}
  in-maintenance: {{transitions: [{{check: over, trigger: uncordon && asked, next: operational}}]}}
"""


class HubTest(MachinesTest):

    def setUp(self):
        super().setUp()
        self.config = os.path.join(self.folder, "maintenance.yaml")
        with open(self.config, "w") as file:
            file.write(CONFIG)
        definition = os.path.join(ROOT, "deploy", "crds", "maintenancelimit.yaml")
        self.rig.management.kubectl("apply", "--server-side", "-f", definition)
        poll(lambda: self.api.get(LIMITS), 30, "MaintenanceLimits to be served")

    def look_after(self, capi, *names):
        """The nodes of a pool have the profile, and the cluster is the hub's."""
        capi.patch("clusters", capi.name, {"metadata": {"labels": {"careen.dev/hub": "true"}}})
        for name in names:
            self.wait_label(capi, self.node_of(capi, name), STATE, "operational", 60)
        return [self.node_of(capi, name) for name in names]

    def pod(self, capi, name, node):
        capi.workload.api.call("POST", f"/api/v1/namespaces/{self.namespace}/pods", {
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "c", "image": "example.com/web:1"}]}})

    def careen_says(self, *words):
        where = ["--kubeconfig", self.rig.management.kubeconfig, "--server", f"http://127.0.0.1:{self.hub.metrics_port}"]
        return subprocess.run([MachinesEnvironment.binary, *words, *where],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True,
                              env={**os.environ, "COLUMNS": "200"}).stdout

    def test_two_clusters(self):
        """Each has its own profiles, limits and drains; what Cluster API does to its Machines counts in it, and its
        MachineDrainRules are heeded. Nothing but what profiles need is written there."""
        here, there = self.capi(), self.capi(self.rig.second, "other")
        mine, _ = self.pool(here, 2, {}, PROFILED)
        self.pool_name += "-other"
        leaves, stays = self.pool(there, 2, ENABLED, PROFILED)
        self.api.call("POST", LIMITS, {"apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceLimit",
                                       "metadata": {"name": self.namespace}, "spec": {
                                           "type": "node", "maxUnavailable": 1, "selector": {"matchLabels": PROFILED}}})
        self.addCleanup(self.api.delete, f"{LIMITS}/{self.namespace}")
        self.api.call("POST", f"{here.path}/machinedrainrules", {
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDrainRule", "metadata": {"name": "db"},
            "spec": {"drain": {"behavior": "Skip"}, "pods": [{"selector": {"matchLabels": {"app": "db"}}}],
                     "machines": [{"clusterSelector": {"matchLabels": {"careen.dev/hub": "true"}}}]}})
        self.hub = self.start("--hub", "--config", self.config).wait_ready()
        node, = self.look_after(here, mine)
        going, staying = self.look_after(there, leaves, stays)

        # Cluster API is about to delete one of two: the other has to wait, in this cluster alone.
        self.wait_hook(there, leaves)
        there.delete_machine(leaves)
        self.wait_label(there, going, DELETED)
        here.workload.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.addCleanup(here.workload.api.delete, f"/api/v1/namespaces/{self.namespace}")
        for name in ("web", "db"):
            self.pod(here, name, node)
        there.patch_node(staying, {WANTED: "yes"})
        here.patch_node(node, {WANTED: "yes"})
        self.wait_label(here, node, STATE, "in-maintenance", 60)
        self.assertTrue(here.node(node)["spec"].get("unschedulable"))
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        self.assertIsNone(here.workload.api.get(f"{pods}/web"))
        self.assertNotIn("deletionTimestamp", here.workload.api.get(f"{pods}/db")["metadata"])
        self.wait_label(there, staying, STATE, "maintenance-required", 60)

        said = self.careen_says("explain", f"cluster/{there.namespace}/{there.name}/node/{staying}")
        self.assertIn(self.namespace, said)
        self.assertIn(f"cluster-api on {going}", said)
        self.assertIn(node, self.careen_says("status", "--cluster", f"{here.namespace}/{here.name}"))
        for capi in (here, there):
            self.assertIn(f"{capi.namespace}/{capi.name}", self.careen_says("clusters"))

        there.patch_node(going, {APPROVE_DELETION: "true"})
        there.wait_gone(leaves, 90)
        self.wait_label(there, staying, STATE, "in-maintenance", 90)
        here.patch_node(node, {DONE: "yes"})
        self.wait_label(here, node, STATE, "operational", 60)
        self.assertNotIn("unschedulable", here.node(node)["spec"])
        self.assertNotIn(WANTED, labels(here.node(node)))

        for capi in (here, there):
            ledger = f"careen-ledger.{capi.namespace}.{capi.name}"
            self.assertIsNotNone(self.api.get(f"{LEASES}/namespaces/{self.namespace}/leases/{ledger}"))
            leases, _ = capi.workload.api.list(f"{LEASES}/leases")
            self.assertFalse([one["metadata"]["name"] for one in leases if "careen" in one["metadata"]["name"]
                              or "maintenance-controller" in one["metadata"]["name"]])
        # Whoever is not the hub's any more is left as it is.
        there.patch("clusters", there.name, {"metadata": {"labels": {"careen.dev/hub": None}}})
        poll(lambda: self.hub.get(f"/careen/v1/fleet?cluster={there.namespace}/{there.name}")[0] == 404, 30,
             "the hub to let the cluster go")
        there.patch_node(staying, {DONE: "yes"})
        self.assertEqual(self.hub.get(f"/careen/v1/fleet?cluster={here.namespace}/{here.name}")[0], 200)
        self.assertEqual(labels(there.node(staying))[STATE], "in-maintenance")
