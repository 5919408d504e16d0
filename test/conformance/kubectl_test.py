#!/usr/bin/env python3
"""A real kubectl, and careen itself, on the model cluster over HTTP.

    CAREEN_BINARY=build/careen test/conformance/kubectl_test.py [KubectlTest.test_nodes …]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
sys.path[:0] = [FOLDER, os.path.join(ROOT, "test", "e2e")]
sys.dont_write_bytecode = True

from careen import Careen, poll  # noqa: E402
from kinds import CRD  # noqa: E402
from model import Model  # noqa: E402

BINARY = os.path.abspath(os.environ.get("CAREEN_BINARY", os.path.join(ROOT, "build", "careen")))
TOOL = os.path.join(ROOT, "tools", "testcluster", "testcluster")

PROFILE = """
intervals: {requeue: 30s}
instances:
  check:
  - {name: needed, type: hasLabel, config: {key: example.com/reboot, value: "yes"}}
  - {name: few, type: maxMaintenance, config: {max: 1}}
  - {name: settled, type: wait, config: {duration: 1s}}
  trigger:
  - {name: forget, type: alterLabel, config: {key: example.com/reboot, remove: true}}
profiles:
- name: reboot
  operational: {transitions: [{check: needed, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: few, next: in-maintenance}]}
  in-maintenance: {transitions: [{check: settled, next: operational, trigger: forget}]}
"""

WIDGET = {"apiVersion": CRD["spec"]["group"] + "/v1", "kind": "Widget", "metadata": {"name": "w1"},
          "spec": {"size": 3, "limits": {}, "unknown": "pruned"}}

LEASE = """
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: l1, namespace: default}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
"""




def workload(kind, name, **spec):
    """Its pods are labelled app=<name>."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": f"{name}:1"}]}}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    else:
        spec["selector"] = {"matchLabels": {"app": name}}
    return {"apiVersion": "batch/v1" if kind == "Job" else "apps/v1", "kind": kind,
            "metadata": {"name": name, "namespace": "default"}, "spec": {**spec, "template": template}}


class KubectlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        built = subprocess.run([TOOL, "build"], check=True, stdout=subprocess.PIPE, text=True).stdout
        cls.program = os.path.join(built.strip(), "kubectl")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="careen-kubectl-")
        self.addCleanup(self.folder.cleanup)
        self.kubeconfig = os.path.join(self.folder.name, "kubeconfig")
        self.model = Model(BINARY, "--nodes", "5", "--kubeconfig", self.kubeconfig)
        self.model.up()
        self.addCleanup(self._model_down)

    def _model_down(self):
        self.assertEqual(self.model.down(), 0)

    def _command(self, *arguments):
        return [self.program, "--kubeconfig", self.kubeconfig, "--cache-dir", self.folder.name + "/cache", *arguments]

    def kubectl(self, *arguments, stdin=None):
        result = subprocess.run(self._command(*arguments), text=True, input=stdin, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(result.returncode, 0, f"kubectl {' '.join(arguments)}:\n{result.stderr}")
        return result.stdout

    def refused(self, *arguments, stdin=None):
        result = subprocess.run(self._command(*arguments), text=True, input=stdin, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=120)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        return result.stderr

    def read(self, *arguments):
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    # --- reading ---------------------------------------------------------------

    def test_nodes_are_shown(self):
        table = self.kubectl("get", "nodes", "-L", "topology.kubernetes.io/zone").splitlines()
        self.assertEqual(table[0].split(), ["NAME", "STATUS", "ROLES", "AGE", "VERSION", "ZONE"])
        self.assertRegex(table[2], r"^node-1 +Ready +<none> +\d+s +v\S+ +zone-b$")
        self.assertEqual(len(table), 6)
        self.assertIn("10.64.0.2", self.kubectl("get", "nodes", "-o", "wide"))
        self.assertIn("kubernetes.io/hostname: node-1", self.kubectl("get", "node", "node-1", "-o", "yaml"))
        self.assertEqual(self.kubectl("get", "nodes", "-l", "topology.kubernetes.io/zone=zone-c", "-o", "name"),
                         "node/node-2\n")
        description = self.kubectl("describe", "node", "node-1")
        for line in ("Name:               node-1", "KubeletReady", "topology.kubernetes.io/zone=zone-b"):
            self.assertIn(line, description)
        self.assertIn('nodes "absent" not found', self.refused("get", "node", "absent"))

    def test_a_watch_tells_of_changes(self):
        with subprocess.Popen(self._command("get", "nodes", "-w", "-o", "name"), text=True,
                              stdout=subprocess.PIPE) as watch:
            lines = []
            reader = threading.Thread(target=lambda: lines.extend(iter(watch.stdout.readline, "")))
            reader.start()
            poll(lambda: len(lines) >= 5, 10, "the first five nodes")
            self.kubectl("label", "node", "node-3", "seen=yes")
            poll(lambda: len(lines) >= 6, 10, "the change")
            self.kubectl("delete", "node", "node-4")
            poll(lambda: len(lines) >= 7, 10, "the deletion")
            watch.terminate()
            reader.join()
        self.assertEqual([line.strip() for line in lines[5:]], ["node/node-3", "node/node-4"])

    def test_workloads_are_shown(self):
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
                  "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
        for made in (workload("Deployment", "web", replicas=2),
                     workload("StatefulSet", "db", replicas=2, serviceName="db"),
                     workload("DaemonSet", "agent"), workload("Job", "report", completions=3), budget):
            self.kubectl("create", "-f", "-", stdin=json.dumps(made))
        for kind, columns, row in (
                ("deployments", "NAME READY UP-TO-DATE AVAILABLE AGE", r"web +2/2 +2 +2 +\d+s"),
                ("statefulsets", "NAME READY AGE", r"db +2/2 +\d+s"),
                ("daemonsets", "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE",
                 r"agent +5 +5 +5 +5 +5 +<none> +\d+s"),
                ("replicasets", "NAME DESIRED CURRENT READY AGE", r"web-\S+ +2 +2 +2 +\d+s"),
                ("jobs", "NAME STATUS COMPLETIONS DURATION AGE", r"report +\S+ +\d/3 +\d+s +\d+s"),
                ("poddisruptionbudgets", "NAME MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE",
                 r"web +N/A +1 +1 +\d+s")):
            with self.subTest(kind=kind):
                poll(lambda: re.search(row, self.kubectl("get", kind)), 30, f"{row} among {kind}")
                self.assertEqual(self.kubectl("get", kind).splitlines()[0].split(), columns.split())

    def test_discovery(self):
        resources = self.kubectl("api-resources")
        for name in ("nodes", "leases", "configmaps"):
            self.assertRegex(resources, rf"(?m)^{name} ")
        self.assertIn("Server Version: v1.", self.kubectl("version"))

    # --- writing ---------------------------------------------------------------

    def test_nodes_are_changed(self):
        self.kubectl("label", "node", "node-0", "a=b")
        self.kubectl("annotate", "node", "node-0", "note=some text")
        self.assertIn("already has a value", self.refused("label", "node", "node-0", "a=c"))
        self.kubectl("label", "node", "node-0", "a=c", "--overwrite")
        self.kubectl("cordon", "node-0")
        self.assertIn("SchedulingDisabled", self.kubectl("get", "node", "node-0"))
        node = self.read("node", "node-0")
        self.assertEqual(node["metadata"]["labels"]["a"], "c")
        self.assertEqual(node["metadata"]["annotations"]["note"], "some text")
        self.assertIs(node["spec"]["unschedulable"], True)
        self.kubectl("uncordon", "node-0")
        self.assertNotIn("unschedulable", self.read("node", "node-0")["spec"])
        self.kubectl("taint", "node", "node-0", "k=v:NoSchedule")
        self.assertEqual(self.read("node", "node-0")["spec"]["taints"],
                         [{"effect": "NoSchedule", "key": "k", "value": "v"}])
        self.kubectl("taint", "node", "node-0", "k-")
        self.assertNotIn("taints", self.read("node", "node-0")["spec"])
        self.assertIn("is invalid", self.refused("patch", "node", "node-0", "--type=merge", "-p",
                                                 '{"metadata":{"labels":{"not valid":"x"}}}'))

    def test_patches(self):
        for kind, patch in (("merge", '{"metadata":{"labels":{"x":"1","kubernetes.io/os":null}}}'),
                            ("json", '[{"op":"add","path":"/metadata/labels/y","value":"2"}]'),
                            ("strategic", '{"spec":{"taints":[{"key":"t","effect":"NoSchedule"}]}}'),
                            ("strategic", '{"status":{"conditions":[{"type":"Extra","status":"True"}]}}')):
            self.kubectl("patch", "node", "node-0", f"--type={kind}", "-p", patch,
                         *(["--subresource=status"] if "status" in patch and "conditions" in patch else []))
        node = self.read("node", "node-0")
        self.assertNotIn("kubernetes.io/os", node["metadata"]["labels"])
        self.assertEqual((node["metadata"]["labels"]["x"], node["metadata"]["labels"]["y"]), ("1", "2"))
        self.assertEqual(node["spec"]["taints"], [{"effect": "NoSchedule", "key": "t"}])
        self.assertIn("Extra", [c["type"] for c in node["status"]["conditions"]])
        self.assertEqual(len(node["status"]["conditions"]), 5)

    def test_leases_and_config_maps_are_applied(self):
        self.kubectl("apply", "-f", "-", stdin=LEASE)
        self.kubectl("apply", "-f", "-", stdin=LEASE.replace("me,", "you,"))
        self.assertRegex(self.kubectl("get", "leases"), r"l1 +you +\d+s")
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c1"}, "data": {"a": "1"}}
        self.kubectl("create", "-f", "-", stdin=json.dumps(config_map))
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c1"}, "data": {"b": "2"}}))
        self.assertEqual(self.read("configmap", "c1")["data"], {"a": "1", "b": "2"})
        self.assertRegex(self.kubectl("get", "configmaps"), r"c1 +2 +\d+s")
        self.assertIn("already exists", self.refused("create", "-f", "-", stdin=json.dumps(config_map)))
        self.kubectl("delete", "lease", "l1")
        self.kubectl("delete", "configmap", "c1")
        self.assertIn("not found", self.refused("get", "lease", "l1"))

    def test_custom_resources(self):
        self.kubectl("apply", "-f", "-", stdin=json.dumps(CRD))
        self.kubectl("wait", "--for=condition=Established", "crd", CRD["metadata"]["name"], "--timeout=10s")
        self.kubectl("create", "--validate=false", "-f", "-", stdin=json.dumps(WIDGET))
        widget = self.read("widget", "w1")
        self.assertEqual(widget["spec"], {"size": 3, "color": "red", "limits": {"soft": 3}})
        self.kubectl("patch", "widget", "w1", "--type=merge", "--subresource=status", "-p", '{"status":{"phase":"New"}}')
        table = self.kubectl("get", "wd").splitlines()
        self.assertEqual(table[0].split(), ["NAME", "SIZE", "COLOR", "PHASE", "AGE"])
        self.assertRegex(table[1], r"^w1 +3 +red +New +\d+s$")
        message = self.refused("patch", "widget", "w1", "--type=merge", "-p", '{"spec":{"size":11}}')
        self.assertIn("spec.size in body should be less than or equal to 10", message)
        self.kubectl("delete", "widget", "w1")
        self.kubectl("delete", "crd", CRD["metadata"]["name"])
        self.assertRegex(self.refused("get", "widgets"), "doesn't have a resource type|could not find the requested")

    # --- workloads -------------------------------------------------------------

    def pods(self, *arguments):
        return self.read("pods", *arguments)["items"]

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin="\n".join(json.dumps(one) for one in objects))

    def test_a_deployment_is_rolled_out_scaled_and_deleted(self):
        self.apply(workload("Deployment", "web", replicas=3))
        done = self.kubectl("rollout", "status", "deployment", "web", "--timeout=100s")
        self.assertIn('deployment "web" successfully rolled out', done)
        self.assertEqual(self.read("deployment", "web")["status"]["availableReplicas"], 3)
        self.kubectl("scale", "deployment", "web", "--replicas=5")
        self.kubectl("rollout", "status", "deployment", "web", "--timeout=100s")
        self.assertEqual(len(self.pods("-l", "app=web")), 5)
        self.kubectl("set", "image", "deployment/web", "main=web:2")
        self.kubectl("rollout", "status", "deployment", "web", "--timeout=100s")
        images = {pod["spec"]["containers"][0]["image"] for pod in self.pods("-l", "app=web")
                  if "deletionTimestamp" not in pod["metadata"]}
        self.assertEqual(images, {"web:2"})
        self.kubectl("delete", "deployment", "web")
        poll(lambda: not self.pods("-l", "app=web"), 60, "the pods to go")
        self.assertEqual(self.read("replicasets")["items"], [])

    def test_a_stateful_set_and_a_daemon_set_are_rolled_out(self):
        self.apply(workload("StatefulSet", "db", replicas=2, serviceName="db"), workload("DaemonSet", "agent"))
        self.kubectl("rollout", "status", "statefulset", "db", "--timeout=100s")
        self.kubectl("rollout", "status", "daemonset", "agent", "--timeout=100s")
        self.assertEqual([pod["metadata"]["name"] for pod in self.pods("-l", "app=db")], ["db-0", "db-1"])
        self.assertEqual(sorted(pod["spec"]["nodeName"] for pod in self.pods("-l", "app=agent")),
                         [f"node-{index}" for index in range(5)])

    def test_a_job_completes(self):
        job = workload("Job", "once", completions=2, parallelism=1)
        job["spec"]["template"]["metadata"]["annotations"] = {"model.careen.dev/run-time": "1"}
        self.apply(job)
        self.kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=100s")
        self.assertEqual(self.read("job", "once")["status"]["succeeded"], 2)

    def test_a_node_is_drained_and_comes_back(self):
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
                  "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
        self.apply(workload("Deployment", "web", replicas=10), budget, workload("DaemonSet", "agent"),
                   workload("StatefulSet", "db", replicas=2, serviceName="db"))
        for owner in ("deployment/web", "daemonset/agent", "statefulset/db"):
            self.kubectl("rollout", "status", owner, "--timeout=100s")
        poll(lambda: self.read("pdb", "web")["status"].get("disruptionsAllowed") == 1, 60, "the budget's status")

        def apps_on(node):
            return [pod["metadata"]["name"] for pod in self.pods("--field-selector", f"spec.nodeName={node}")
                    if pod["metadata"]["labels"]["app"] != "agent"]
        node = self.pods("-l", "app=db")[0]["spec"]["nodeName"]
        self.assertTrue(apps_on(node))
        self.assertIn("cannot delete DaemonSet-managed Pods", self.refused("drain", node))
        drained = self.kubectl("drain", node, "--ignore-daemonsets", "--timeout=100s")
        self.assertIn(f"node/{node} drained", drained)
        self.assertEqual(apps_on(node), [])
        self.assertEqual(len(self.pods("-l", "app=agent", "--field-selector", f"spec.nodeName={node}")), 1)
        for owner in ("deployment/web", "statefulset/db"):
            self.kubectl("rollout", "status", owner, "--timeout=100s")
        # Only this node can take the next pod.
        for other in (f"node-{index}" for index in range(5)):
            if other != node:
                self.kubectl("cordon", other)
        self.kubectl("scale", "deployment", "web", "--replicas=11")
        poll(lambda: any(condition.get("reason") == "Unschedulable" for pod in self.pods("-l", "app=web")
                         for condition in pod["status"].get("conditions", [])), 60, "a pod that fits nowhere")
        self.kubectl("uncordon", node)
        self.kubectl("rollout", "status", "deployment/web", "--timeout=100s")
        self.assertEqual(len(apps_on(node)), 1)

    # --- careen ----------------------------------------------------------------

    def test_careen_takes_a_node_through_a_round(self):
        config = os.path.join(self.folder.name, "maintenance.yaml")
        with open(config, "w") as file:
            file.write(PROFILE)
        self.kubectl("label", "node", "node-2", "cloud.sap/maintenance-profile=reboot", "example.com/reboot=yes")
        careen = Careen(BINARY, self.kubeconfig, config, os.path.join(self.folder.name, "log"),
                        "--enable-leader-election", "--leader-election-namespace=default")
        self.addCleanup(careen.kill)
        careen.wait_ready()
        seen = set()

        def done():
            labels = self.read("node", "node-2")["metadata"]["labels"]
            seen.add(labels.get("cloud.sap/maintenance-state"))
            return "example.com/reboot" not in labels
        poll(done, 30, "the node to be through")
        self.assertIn("in-maintenance", seen)
        self.assertEqual(careen.complaints(), [])
        self.assertEqual(careen.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
