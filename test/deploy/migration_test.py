#!/usr/bin/env python3
"""From node-maintenance-operator to careen and back, on a real API server, with the commands of the migration page: they
are taken from it and run as they stand, on what the original's own manifests install.

Usage: migration_test.py CAREEN

Brings up a cluster of its own with tools/testcluster and takes it down again. Pods are simulated; the careen that serves
is a process with the arguments of the chart's Deployment and the token of its account."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))

from api import Refused  # noqa: E402
from careen import Careen, free_port, poll  # noqa: E402
from chart import HELM  # noqa: E402
from cluster import Cluster, Stopped, stop_on_signals  # noqa: E402

CAREEN = None
PAGE = ROOT / "docs" / "migration" / "node-maintenance-operator.md"
ORIGINAL = ROOT / "test" / "deploy" / "original" / "node-maintenance-operator.yaml"
ORIGINALS_HOME, HOME = "node-maintenance-operator-system", "careen-system"
OBJECTS = "/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/medik8s-leases/leases"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
PATH = "/validate-nodemaintenance-medik8s-io-v1beta1-nodemaintenance"
TAINTS = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
          {"key": "medik8s.io/drain", "effect": "NoSchedule"}]
LOCAL = ("--metrics-bind-address", "--health-probe-bind-address", "--webhook-bind-address", "--metrics-timeout",
         "--zap-")


def steps(heading):
    """The commands of the page's first block below a heading, by the numbers of their comments."""
    text = PAGE.read_text()
    section = text[text.index(heading + "\n"):]
    block = re.search(r"^```\n(.*?)^```$", section, re.M | re.S).group(1)
    return {int(number): commands for number, commands in re.findall(r"^# (\d)\. .*\n((?:[^#\n].*\n|\n)*)", block, re.M)}


class MigrationTest(unittest.TestCase):

    cluster = None

    @classmethod
    def setUpClass(cls):
        cls.api = cls.cluster.api
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="careen-migration-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for name, target in (("kubectl", cls.cluster.kubectl_path), ("helm", HELM)):
            (cls.folder / name).write_text(f'#!/bin/sh\nexec {target} "$@"\n')
            (cls.folder / name).chmod(0o755)

    def kubectl(self, *arguments, stdin=None):
        return self.cluster.kubectl(*arguments, stdin=stdin)

    def follow(self, commands):
        """Runs commands of the page."""
        commands = commands.replace("REGISTRY", "registry.example.com").replace("ORIGINAL.yaml", str(ORIGINAL))
        environment = os.environ | {"KUBECONFIG": self.cluster.kubeconfig, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=ROOT, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(result.returncode, 0, f"{commands}\n{result.stdout}")
        return result.stdout

    def maintain(self, name, node):
        self.api.call("POST", OBJECTS, {"apiVersion": "nodemaintenance.medik8s.io/v1beta1", "kind": "NodeMaintenance",
                                        "metadata": {"name": name}, "spec": {"nodeName": node}}, attempts=1)

    def maintenance(self, name):
        return self.api.get(f"{OBJECTS}/{name}")

    def names(self, kinds, selector):
        return self.kubectl("get", kinds, "-A", "--selector", selector, "-o", "name").split()

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
        deployment = json.loads(self.kubectl("-n", HOME, "get", "deployment", "careen", "-o", "json"))
        arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        port = free_port()
        self.change_webhook("careen", {"op": "remove", "path": "/webhooks/0/clientConfig/service"},
                            {"op": "add", "path": "/webhooks/0/clientConfig/url",
                             "value": f"https://127.0.0.1:{port}{PATH}"})
        careen = Careen(CAREEN, self._kubeconfig(), os.devnull, str(self.folder / "log"),
                        *(one for one in arguments if not one.startswith(LOCAL)), f"--leader-election-namespace={HOME}",
                        f"--webhook-bind-address=127.0.0.1:{port}", "--webhook-host=127.0.0.1")
        self.addCleanup(careen.kill)
        return careen.wait_ready()

    def _kubeconfig(self):
        token = self.kubectl("-n", HOME, "create", "token", "careen").strip()
        path = self.folder / "kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "x", "cluster": {"server": self.cluster.server,
                                                   "certificate-authority": str(self.cluster.ca)}}],
            "users": [{"name": "x", "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x", "namespace": HOME}}]}))
        return str(path)

    def test_by_helm_and_back(self):
        over, back = steps("### By Helm"), steps("## The way back")
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


def main():
    global CAREEN
    CAREEN = str(pathlib.Path(sys.argv.pop(1)).resolve())
    stop_on_signals()
    MigrationTest.cluster = Cluster(f"move-{os.getpid()}", "--nodes", "3")
    try:
        MigrationTest.cluster.up()
        return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1
    except Stopped:
        return 1
    finally:
        MigrationTest.cluster.down()


if __name__ == "__main__":
    sys.exit(main())
