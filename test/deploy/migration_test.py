#!/usr/bin/env python3
"""docs/migration/node-maintenance-operator.md: to careen and back.

Usage: migration_test.py CAREEN"""

import json
import os
import sys

sys.dont_write_bytecode = True

from migration import HOME, ORIGINALS, Move, main  # noqa: E402

from api import Refused  # noqa: E402
from careen import Careen, free_port, poll  # noqa: E402
from page import Page, steps  # noqa: E402

PAGE = Page("migration/node-maintenance-operator.md")
ORIGINAL = ORIGINALS / "node-maintenance-operator.yaml"
ORIGINALS_HOME = "node-maintenance-operator-system"
OBJECTS = "/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
PATH = "/validate-nodemaintenance-medik8s-io-v1beta1-nodemaintenance"
TAINTS = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
          {"key": "medik8s.io/drain", "effect": "NoSchedule"}]


class MigrationTest(Move):

    renamed = Move.renamed | {"ORIGINAL.yaml": str(ORIGINAL)}

    def maintain(self, name, node):
        self.api.call("POST", OBJECTS, {"apiVersion": "nodemaintenance.medik8s.io/v1beta1", "kind": "NodeMaintenance",
                                        "metadata": {"name": name}, "spec": {"nodeName": node}}, attempts=1)

    def maintenance(self, name):
        return self.api.get(f"{OBJECTS}/{name}")

    def change_webhook(self, configuration, *operations):
        self.api.call("PATCH", f"{WEBHOOKS}/{configuration}", list(operations), "application/json-patch+json")

    def play_the_original(self, name, node):
        """What it leaves of a drain that it is in the middle of."""
        self.kubectl("apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "medik8s-leases"}}))
        self.maintain(name, node)
        self.api.patch(f"{OBJECTS}/{name}", {"metadata": {"finalizers": ["foregroundDeleteNodeMaintenance"]}})
        self.api.patch(f"/api/v1/nodes/{node}", {
            "metadata": {"labels": {"remediation.medik8s.io/exclude-from-remediation": "true"}},
            "spec": {"unschedulable": True, "taints": TAINTS}})
        now = "2026-01-01T00:00:00.000000Z"
        self.api.call("POST", LEASES, {"metadata": {"name": f"node-{node}"}, "spec": {
            "holderIdentity": "node-maintenance", "leaseDurationSeconds": 3600, "acquireTime": now, "renewTime": now,
            "leaseTransitions": 0}})
        self.api.patch(f"{OBJECTS}/{name}/status", {"status": {"phase": "Running", "evictionPods": 2, "totalpods": 3}})

    def start_careen(self):
        """As the chart's Deployment says, with its account's rights; on loopback, where the API server reaches it."""
        port = free_port()
        self.change_webhook("careen", {"op": "remove", "path": "/webhooks/0/clientConfig/service"},
                            {"op": "add", "path": "/webhooks/0/clientConfig/url",
                             "value": f"https://127.0.0.1:{port}{PATH}"})
        careen = Careen(self.careen, self.kubeconfig_of(HOME, "careen"), os.devnull, str(self.folder / "log"),
                        *self.arguments_of_chart(), f"--leader-election-namespace={HOME}",
                        f"--webhook-bind-address=127.0.0.1:{port}", "--webhook-host=127.0.0.1")
        self.addCleanup(careen.kill)
        return careen.wait_ready()

    def test_by_helm_and_back(self):
        over, back = (steps(PAGE.blocks("", heading)[0]) for heading in ("### By Helm", "## The way back"))
        self.assertEqual((sorted(over), sorted(back)), ([1, 2, 3, 4], [1, 2, 3]))
        self.kubectl("apply", "--server-side", "-f", str(ORIGINAL))
        self.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd",
                     "nodemaintenances.nodemaintenance.medik8s.io")
        self.kubectl("-n", ORIGINALS_HOME, "rollout", "status", "--timeout=60s",
                     "deployment/node-maintenance-operator-controller-manager")
        # Nobody is behind the original's webhook here, so its objects are made while it does not fail.
        self.change_webhook("node-maintenance-operator-validating-webhook-configuration",
                            {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"},
                            {"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 1})
        self.play_the_original("swap-dimm", "node-0")
        before = self.maintenance("swap-dimm")["metadata"]["uid"]

        self.follow(over[1])
        self.assertEqual(self.names("pods", "node-maintenance-operator"), [])
        self.follow(over[2])
        self.assertEqual(self.names("validatingwebhookconfigurations", "node-maintenance-operator"), [])
        self.assertIn("swap-dimm", self.follow(over[3]))
        careen = self.start_careen()
        poll(lambda: self.maintenance("swap-dimm").get("status", {}).get("phase") == "Succeeded", 60,
             "careen to end what the original had begun")
        self.follow(over[4])

        # What is left is careen, and everything that people made.
        kinds = "clusterroles,clusterrolebindings,deployments,services,serviceaccounts,roles,rolebindings"
        self.assertEqual(self.names(kinds, "node-maintenance-operator"), [])
        self.kubectl("-n", HOME, "get", "deployment/careen", "service/careen-webhook")
        kept = self.maintenance("swap-dimm")
        self.assertEqual(kept["metadata"]["uid"], before)
        self.assertEqual(kept["metadata"]["finalizers"], ["foregroundDeleteNodeMaintenance"])
        # And it is served: by the webhook, and by the controller.
        poll(lambda: self._refused("probe", "no-such-node"), 60, "the API server to call careen's webhook", 0.5)
        self.maintain("second", "node-1")
        poll(lambda: self.maintenance("second").get("status", {}).get("phase") == "Succeeded", 60, "another one")
        self.assertTrue(self.api.get("/api/v1/nodes/node-1")["spec"]["unschedulable"])
        self.kubectl("delete", "nodemaintenance", "second", "--timeout=60s")
        self.assertNotIn("unschedulable", self.api.get("/api/v1/nodes/node-1")["spec"])
        self.assertEqual(careen.complaints(), [])

        # Back: the process here is careen's last pod.
        careen.stop()
        self.follow(back[1])
        self.assertEqual(self.api.list(WEBHOOKS)[0], [])
        self.follow(back[2])
        self.follow(back[3])
        again = self.maintenance("swap-dimm")
        self.assertEqual(again["metadata"]["uid"], before)
        self.assertEqual(again["metadata"]["finalizers"], ["foregroundDeleteNodeMaintenance"])
        self.assertEqual(again["status"]["phase"], "Succeeded")
        self.assertEqual(self.api.get(f"{LEASES}/node-node-0")["spec"]["holderIdentity"], "node-maintenance")
        self.assertEqual(self.names("validatingwebhookconfigurations", "node-maintenance-operator"),
                         ["validatingwebhookconfiguration.admissionregistration.k8s.io/"
                          "node-maintenance-operator-validating-webhook-configuration"])

    def _refused(self, name, node):
        try:
            self.maintain(name, node)
        except Refused as error:
            return f"no node with name {node} found" in str(error)
        self.api.patch(f"{OBJECTS}/{name}", {"metadata": {"finalizers": None}})
        self.api.delete(f"{OBJECTS}/{name}")
        return False


if __name__ == "__main__":
    sys.exit(main(MigrationTest, nodes=3))
