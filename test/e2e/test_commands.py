"""The commands for the terminal: drain, uncordon, maintain, release, status."""

import json
import os
import signal
import subprocess
import threading

from api import Refused
from careen import poll
from harness import CareenTest, Environment
from node_watch import annotations

HOLDS = "careen.dev/holds"
GROUP = "nodemaintenance.medik8s.io"
DEFINITION = {
    "metadata": {"name": f"nodemaintenances.{GROUP}"},
    "spec": {
        "group": GROUP, "scope": "Cluster",
        "names": {"kind": "NodeMaintenance", "listKind": "NodeMaintenanceList", "plural": "nodemaintenances",
                  "singular": "nodemaintenance", "shortNames": ["nm"]},
        "versions": [{"name": "v1beta1", "served": True, "storage": True, "subresources": {"status": {}},
                      "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}],
    },
}
CONTAINER = {"name": "c", "image": "none"}


class CommandsTest(CareenTest):
    """careen as an operator types it, on a node of the test's own."""

    def setUp(self):
        super().setUp()
        self.node = self.node_names[7]
        self.addCleanup(self._give_back)

    def tearDown(self):
        self._give_back()
        super().tearDown()

    def _give_back(self):
        self.api.call("DELETE", f"/apis/apps/v1/namespaces/{self.namespace}/deployments")
        self.api.call("DELETE", f"/api/v1/namespaces/{self.namespace}/pods?gracePeriodSeconds=0")
        self.api.patch(f"/api/v1/nodes/{self.node}",
                       {"metadata": {"annotations": {HOLDS: None}}, "spec": {"unschedulable": None}})

    # --- what is on the node -----------------------------------------------

    def deploy(self, name, replicas, min_available=None):
        """Pods that can live on the test's node only, with a budget if wanted; waits until they are ready."""
        labels = {"app": name}
        if min_available is not None:
            self.api.create(f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets", {
                "metadata": {"name": name},
                "spec": {"minAvailable": min_available, "selector": {"matchLabels": labels}}})
        self.api.create(f"/apis/apps/v1/namespaces/{self.namespace}/deployments", {
            "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"nodeSelector": {"kubernetes.io/hostname": self.node}, "containers": [CONTAINER]}}}})
        poll(lambda: self._ready(name) == replicas, 60, f"{replicas} pods of {name} to be ready")
        if min_available is not None:
            poll(lambda: self._budget(name).get("currentHealthy") == replicas, 60, f"the budget {name} to be current")

    def _ready(self, name):
        deployment = self.api.get(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{name}")
        return deployment["status"].get("readyReplicas", 0)

    def _budget(self, name):
        found = self.api.get(f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets/{name}")
        return found.get("status", {})

    def pods(self):
        """Names of the test's pods on its node."""
        items, _ = self.api.list(f"/api/v1/namespaces/{self.namespace}/pods",
                                 fieldSelector=f"spec.nodeName={self.node}")
        return {pod["metadata"]["name"] for pod in items}

    def state(self):
        node = self.api.get(f"/api/v1/nodes/{self.node}")
        return node["spec"].get("unschedulable", False), annotations(node).get(HOLDS)

    # --- careen ------------------------------------------------------------

    def command(self, *arguments):
        return [Environment.binary, arguments[0], "--kubeconfig", self.cluster.kubeconfig, *arguments[1:]]

    def careen(self, *arguments, code=0, seconds=120):
        """stdout and stderr of a command that must end with this code."""
        result = subprocess.run(self.command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=seconds, env=_environment())
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result.stdout, result.stderr

    # --- tests -------------------------------------------------------------

    def test_drain_and_uncordon(self):
        """kubectl's words, one eviction a pod, a hold in the user's name; afterwards all is as it was."""
        self.deploy("web", 3, min_available=0)
        names = self.pods()
        out, err = self.careen("drain", self.node)
        self.assertEqual(err, "")
        lines = out.splitlines()
        self.assertEqual(lines[0], f"node/{self.node} cordoned")
        self.assertEqual(lines[-1], f"node/{self.node} drained")
        self.assertEqual({line for line in lines if line.startswith("evicting")},
                         {f"evicting pod {self.namespace}/{name}" for name in names})
        self.assertEqual({line for line in lines if line.endswith(" evicted")},
                         {f"pod/{name} evicted" for name in names})
        self.assertEqual(self.pods(), set())
        unschedulable, holds = self.state()
        self.assertTrue(unschedulable)
        self.assertIn("terminal/", holds)

        out, _ = self.careen("status", self.node)
        self.assertRegex(out.splitlines()[0], r"^NODE +BY +STATE ")
        self.assertRegex(out.splitlines()[1], rf"^{self.node} +terminal/\S+@\S+ +cordoned ")

        self.assertEqual(self.careen("uncordon", self.node)[0], f"node/{self.node} uncordoned\n")
        self.assertEqual(self.state(), (False, None))
        self.assertEqual(self.careen("uncordon", self.node)[0], f"node/{self.node} already uncordoned\n")

    def test_refused_pods(self):
        """A pod that no controller would replace is left alone, in kubectl's words, until --force."""
        self.api.create(f"/api/v1/namespaces/{self.namespace}/pods", {
            "metadata": {"name": "alone"},
            "spec": {"nodeName": self.node, "containers": [CONTAINER], "terminationGracePeriodSeconds": 1}})
        _, err = self.careen("drain", self.node, code=1)
        self.assertIn(f"cannot delete Pods that declare no controller (use --force to override): {self.namespace}/alone",
                      err.replace("cannot delete cannot delete", "cannot delete"))
        self.assertIn(f"careen uncordon {self.node}", err)
        self.assertEqual(self.pods(), {"alone"})
        out, err = self.careen("drain", self.node, "--force")
        self.assertIn(f"node/{self.node} already cordoned", out)
        self.assertIn("declare no controller", err)
        self.assertEqual(self.pods(), set())

    def test_blocked_then_interrupted(self):
        """The budget is named; Ctrl-C leaves a clear state and says how to go on or back."""
        self.deploy("db", 2, min_available=2)
        process = subprocess.Popen(self.command("drain", self.node), stdin=subprocess.DEVNULL, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment())
        self.addCleanup(process.kill)
        blocked = threading.Event()
        lines = []

        def read():
            for line in process.stdout:
                lines.append(line)
                if f"budget {self.namespace}/db" in line:
                    blocked.set()
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self.assertTrue(blocked.wait(60), lines)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 130)
        err = process.stderr.read()
        process.stderr.close()
        reader.join(10)
        self.assertIn(f"node/{self.node} is cordoned; 2 of 2 pods are left", err)
        self.assertIn(f"careen uncordon {self.node}", err)
        self.assertEqual(len(self.pods()), 2)
        self.assertTrue(self.state()[0])
        self.assertIn(f"node/{self.node} uncordoned", self.careen("uncordon", "--all-mine")[0])
        self.assertEqual(self.state(), (False, None))

    def test_timeout_as_json(self):
        """One document says what was left and what blocked it."""
        self.deploy("db", 1, min_available=1)
        out, _ = self.careen("drain", self.node, "--timeout", "2s", "-o", "json", code=1)
        node, = json.loads(out)["nodes"]
        self.assertEqual((node["node"], node["result"], node["cordoned"]), (self.node, "failed", True))
        pod, = node["pending"]
        self.assertEqual((pod["namespace"], pod["stage"], pod["budget"]),
                         (self.namespace, "blocked", f"{self.namespace}/db"))
        self.assertTrue(node["errors"])

    def test_dry_run(self):
        """What would be done is printed and nothing is; the server's own answers with =server."""
        self.deploy("db", 1, min_available=1)
        pod, = self.pods()
        for flag, mark in (("--dry-run", "(dry run)"), ("--dry-run=server", "(server dry run)")):
            out, _ = self.careen("drain", flag, self.node)
            self.assertIn(f"node/{self.node} cordoned {mark}", out)
            self.assertRegex(out, rf"evicting pod {self.namespace}/{pod} \({mark[1:-1]}\): .*(budget|disruption)")
        self.assertEqual(self.state(), (False, None))
        self.assertEqual(self.pods(), {pod})

    def test_missing_node(self):
        """The error has the name, and one that is like it; nothing is done to the other node."""
        _, err = self.careen("drain", self.node, self.node + "x", code=1)
        self.assertIn(f'node "{self.node}x" not found; did you mean "{self.node}"?', err)
        self.assertEqual(self.state(), (False, None))
        _, err = self.careen("drain", code=2)
        self.assertIn("which nodes?", err)

    def test_node_maintenance(self):
        """maintain creates the object, it holds the node against uncordon, release deletes it."""
        path = f"/apis/{GROUP}/v1beta1/nodemaintenances"
        self._define()
        out, _ = self.careen("maintain", self.node, "--reason", "replace memory", "--name", "swap")
        self.assertEqual(out, f"nodemaintenance.{GROUP}/swap created\n")
        self.addCleanup(self.api.delete, f"{path}/swap")
        self.assertEqual(self.api.get(f"{path}/swap")["spec"], {"nodeName": self.node, "reason": "replace memory"})
        _, err = self.careen("maintain", self.node, "--reason", "again", "--name", "swap", code=1)
        self.assertIn("already exists", err)

        document = json.loads(self.careen("status", "-o", "json", self.node)[0])
        row, = document["maintenances"]
        self.assertEqual((row["node"], row["by"], row["reason"]), (self.node, "nodemaintenance/swap", "replace memory"))

        self.api.patch(f"/api/v1/nodes/{self.node}", {"spec": {"unschedulable": True}})
        _, err = self.careen("uncordon", self.node, code=1)
        self.assertIn(f"node/{self.node} stays cordoned: held by nodemaintenance/swap since ", err)
        self.assertTrue(self.state()[0])
        self.assertIn("uncordoned", self.careen("uncordon", "--force", self.node)[0])
        self.assertFalse(self.state()[0])

        _, err = self.careen("release", self.node + "x", code=1)
        self.assertIn(f'no NodeMaintenance for node "{self.node}x"', err)
        out, _ = self.careen("release", self.node, "--wait", "--timeout", "60s")
        self.assertEqual(out, f'nodemaintenance.{GROUP} "swap" deleted\n')
        self.assertIsNone(self.api.get(f"{path}/swap"))

    def _define(self):
        """The kind, if the cluster does not know it, until the test ends."""
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        if self.api.create(definitions, DEFINITION):
            self.addCleanup(self.api.delete, f"{definitions}/{DEFINITION['metadata']['name']}")

        def served():
            try:
                return self.api.get(f"/apis/{GROUP}/v1beta1/nodemaintenances") is not None
            except Refused:
                return False
        poll(served, 60, "the kind to be served")


def _environment():
    return {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
