"""careen in the place of node-maintenance-operator: its custom resource definition, its roles, its start."""

import http.client
import os
import ssl
import subprocess

from careen import free_port, poll
from harness import Environment
from maintenance import API, MaintenanceTest

READ = ["get", "list", "watch"]
ORIGINAL_CLUSTER = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": [*READ, "patch", "update"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "create"]},
    {"apiGroups": ["apps"], "resources": ["daemonsets", "deployments", "replicasets", "statefulsets"], "verbs": READ},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", *READ, "patch", "update"]},
    {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": READ},
    {"apiGroups": ["nodemaintenance.medik8s.io"], "resources": ["nodemaintenances"],
     "verbs": ["create", "delete", *READ, "patch", "update"]},
    {"apiGroups": ["nodemaintenance.medik8s.io"], "resources": ["nodemaintenances/finalizers"], "verbs": ["update"]},
    {"apiGroups": ["nodemaintenance.medik8s.io"], "resources": ["nodemaintenances/status"], "verbs": ["get", "patch", "update"]},
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
]
# OLM gives the rules of the leader election's role in all namespaces.
LIFTED = [{"apiGroups": ["", "coordination.k8s.io"], "resources": ["configmaps", "leases"],
           "verbs": [*READ, "create", "update", "patch", "delete"]},
          {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]}]

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
ORIGINAL_SCHEMA = {"type": "object", "properties": {
    "apiVersion": TEXT, "kind": TEXT, "metadata": {"type": "object"},
    "spec": {"type": "object", "required": ["nodeName"], "properties": {"nodeName": TEXT, "reason": TEXT}},
    "status": {"type": "object", "properties": {
        "phase": TEXT, "drainProgress": NUMBER, "lastUpdate": {"type": "string", "format": "date-time"}, "lastError": TEXT,
        "pendingPods": {"type": "array", "items": TEXT},
        "pendingPodsRefs": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT, "namespace": TEXT}}},
        "totalpods": NUMBER, "evictionPods": NUMBER, "errorOnLeaseCount": NUMBER}}}}
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemaintenances.nodemaintenance.medik8s.io"


class OriginalTest(MaintenanceTest):

    may_be_refused = {("list", "events", None)}  # the past of the timeline

    def _use_original_definition(self):
        definition = self.api.get(DEFINITION)
        for version in definition["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"] = ORIGINAL_SCHEMA
            version.pop("additionalPrinterColumns", None)
        self.api.call("PUT", DEFINITION, definition)

    def test_under_its_roles_and_definition(self):
        """The image is swapped and all else stays: a maintenance from creation to deletion, nothing is refused, and
        what the definition does not know is not written again and again."""
        node = self.node_names[0]
        self.pool(node)
        self.deployment("web", 3)
        self._use_original_definition()
        self._kubeconfig = self.restricted(ORIGINAL_CLUSTER + LIFTED, [], [])
        careen = self.start_operator().wait_ready()
        self.maintain("swap", node)
        done = self.wait_phase("swap", "Succeeded")
        self.assertNotIn("conditions", done["status"])
        self.check_in_maintenance(node)
        self.audit.mark()
        poll(lambda: len(self.maintenance_events("swap")) >= 2, 20, "its events")
        writes = [entry for entry in self.audit.entries() if entry["objectRef"].get("resource") == "nodemaintenances"
                  and entry["verb"] in ("patch", "update")]
        self.assertLessEqual(len(writes), 1, "writes of an object that does not change")
        self.release("swap")
        self.check_released(node)
        self.assertEqual(careen.complaints(), [])

    def test_started_as_its_manager(self):
        """By the name and with the arguments of its manifest: the controller, and metrics behind TLS and a token."""
        node = self.node_names[0]
        link = os.path.join(self.folder, "manager")
        os.symlink(Environment.binary, link)
        metrics, health = free_port(), free_port()
        kubeconfig = self.restricted(ORIGINAL_CLUSTER + LIFTED, [], [])
        with open(os.path.join(self.folder, "manager.log"), "wb") as log:
            process = subprocess.Popen(
                [link, f"--health-probe-bind-address=127.0.0.1:{health}", f"--metrics-bind-address=127.0.0.1:{metrics}",
                 "--leader-elect", "--enable-http2=false", f"--kubeconfig={kubeconfig}", "--webhook-bind-address=0"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.kill)
        self.maintain("swap", node)
        self.wait_phase("swap", "Succeeded")
        self.release("swap")
        self.assertIsNone(process.poll(), "it runs")

        def fetch(token=None):
            # It signs for itself: there is nothing to verify.
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection = http.client.HTTPSConnection("127.0.0.1", metrics, timeout=30, context=context)
            try:
                connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
                return connection.getresponse().status
            finally:
                connection.close()
        self.assertEqual(fetch(), 401)
        self.assertEqual(fetch(self.service_account("nobody")), 403)
        reader = self.service_account("reader")
        self.grant_rules("reader", [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])
        poll(lambda: fetch(reader) == 200, 60, "the reader to be let in", 1)

    def test_without_leases_delete(self):
        """Its own role, without what OLM adds, may not delete leases: said once, and the object is not stuck."""
        node = self.node_names[0]
        self._kubeconfig = self.restricted(ORIGINAL_CLUSTER, [{"apiGroups": [""], "resources": ["events"],
                                                               "verbs": ["create", "patch"]}], [])
        self.may_be_refused = self.may_be_refused | {("delete", "leases", None), ("create", "events", None),
                                                     ("patch", "events", None)}
        careen = self.start_operator().wait_ready()
        self.maintain("stay", node)
        self.wait_phase("stay", "Succeeded")
        self.api.delete(f"{API}/stay")
        poll(lambda: not self.node(node)["spec"].get("unschedulable", False), 60, "the node to be free")
        poll(lambda: any("lease" in key for key in careen.open_problems()), 60, "the problem with the lease")
