#!/usr/bin/env python3
"""The same workloads on the model cluster and on a real control plane: at rest, their status and their pods are alike.

    CAREEN_BINARY=build/careen test/conformance/workloads_test.py
    TESTCLUSTER=name test/conformance/workloads_test.py      with a cluster of four nodes that runs already
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
sys.path[:0] = [FOLDER, os.path.join(ROOT, "test", "e2e")]
sys.dont_write_bytecode = True

from careen import poll  # noqa: E402
from cluster import Cluster  # noqa: E402
from model import Model  # noqa: E402

BINARY = os.path.abspath(os.environ.get("CAREEN_BINARY", os.path.join(ROOT, "build", "careen")))
NAMESPACE = "alike"
NODES = 4
PATIENCE = 120


def pods_of(name, **more):
    return {"metadata": {"labels": {"app": name}, "annotations": {"model.careen.dev/run-time": "1"} if name == "once" else {"note": "kept"}},
            "spec": {"containers": [{"name": "main", "image": f"{name}:1",
                                     "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}], **more}}


def owner(kind, name, **spec):
    if kind != "Job":
        spec["selector"] = {"matchLabels": {"app": name}}
    return {"apiVersion": "batch/v1" if kind == "Job" else "apps/v1", "kind": kind,
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


OWNERS = [
    owner("Deployment", "web", replicas=3, template=pods_of("web")),
    owner("ReplicaSet", "plain", replicas=2, template=pods_of("plain")),
    owner("StatefulSet", "db", replicas=2, serviceName="db", template=pods_of("db")),
    owner("DaemonSet", "agent", template=pods_of("agent", tolerations=[{"key": "own", "operator": "Exists"}])),
    owner("DaemonSet", "zonal", template=pods_of("zonal", hostNetwork=True,
                                                 nodeSelector={"topology.kubernetes.io/zone": "zone-a"})),
    owner("Job", "once", completions=2, parallelism=2, template=pods_of("once", restartPolicy="Never")),
    # Fits nowhere, but one pod of it is counted.
    owner("Deployment", "stuck", replicas=1, template=pods_of("stuck", nodeSelector={"absent": "yes"})),
]

# What the model leaves out of pods, or what nobody can foresee.
FORGOTTEN_METADATA = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "name")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HASH = re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{6,10}(?=[-\"]|$)")


def shaped(text):
    """With placeholders for times, UIDs and hashes."""
    return HASH.sub("HASH", UID.sub("UID", TIME.sub("TIME", text)))


def as_shape(value):
    if isinstance(value, dict):
        return {key: "HASH" if key.endswith("-hash") and not inner.startswith("db-") else as_shape(inner)
                for key, inner in value.items()}
    if isinstance(value, list):
        return [as_shape(inner) for inner in value]
    return shaped(value) if isinstance(value, str) else value


def pod_shape(pod):
    """What its controller made of it."""
    meta = {key: value for key, value in pod["metadata"].items() if key not in FORGOTTEN_METADATA}
    name = re.sub(r"-[a-z0-9]{5}$", "-RANDOM", pod["metadata"]["name"])
    # The topology is that of the node it happens to be on.
    labels = {key: value for key, value in meta.get("labels", {}).items() if not key.startswith("topology.")}
    spec = dict(pod["spec"])
    for key in ("nodeName", "volumes"):
        spec.pop(key, None)
    spec["containers"] = [{key: value for key, value in container.items() if key != "volumeMounts"}
                          for container in spec["containers"]]
    shape = as_shape({"name": name, "metadata": {**meta, "labels": labels}, "spec": spec})
    return json.dumps(shape, sort_keys=True)


class Side:
    """A cluster, and kubectl on it."""

    def __init__(self, kubectl, kubeconfig, cache):
        self._command = [kubectl, "--kubeconfig", kubeconfig, "--cache-dir", cache, "-n", NAMESPACE]

    def kubectl(self, *arguments, stdin=None):
        result = subprocess.run([*self._command, *arguments], text=True, input=stdin, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=PATIENCE + 10)
        if result.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}:\n{result.stderr}")
        return result.stdout

    def items(self, kind):
        return json.loads(self.kubectl("get", kind, "-o", "json"))["items"]

    def make(self):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self.kubectl("create", "-f", "-", stdin="\n".join(json.dumps(one) for one in (namespace, *OWNERS)))

    def at_rest(self):
        for what in ("deployment/web", "statefulset/db", "daemonset/agent", "daemonset/zonal"):
            self.kubectl("rollout", "status", what, f"--timeout={PATIENCE}s")
        self.kubectl("wait", "--for=condition=Complete", "job/once", f"--timeout={PATIENCE}s")
        self.kubectl("wait", "--for=jsonpath={.status.availableReplicas}=2", "replicaset/plain",
                     f"--timeout={PATIENCE}s")
        poll(lambda: any(condition.get("reason") == "Unschedulable" for pod in self.items("pods")
                         for condition in pod["status"].get("conditions", [])), PATIENCE, "the pod that fits nowhere")
        poll(lambda: self.items("statefulsets")[0]["status"].get("availableReplicas") == 2, PATIENCE, "the set")


class WorkloadsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        running = os.environ.get("TESTCLUSTER")
        real = Cluster(running or f"careen-workloads-{os.getpid()}", "--nodes", str(NODES))
        if running:
            real.connect()
        else:
            cls.addClassCleanup(real.down)
            real.up()
        folder = tempfile.TemporaryDirectory(prefix="careen-workloads-")
        cls.addClassCleanup(folder.cleanup)
        kubeconfig = os.path.join(folder.name, "kubeconfig")
        model = Model(BINARY, "--nodes", str(NODES), "--kubeconfig", kubeconfig)
        model.up()
        cls.addClassCleanup(model.down)
        cls.real = Side(real.kubectl_path, real.kubeconfig, os.path.join(folder.name, "real"))
        cls.model = Side(real.kubectl_path, kubeconfig, os.path.join(folder.name, "model"))
        if running:
            cls.addClassCleanup(cls.real.kubectl, "delete", "namespace", NAMESPACE)
        for side in (cls.real, cls.model):
            side.make()
        for side in (cls.real, cls.model):
            side.at_rest()

    def test_pods_are_alike(self):
        real, model = (sorted(pod_shape(pod) for pod in side.items("pods")) for side in (self.real, self.model))
        self.assertEqual(len(real), len(model))
        for one, other in zip(real, model):
            self.assertEqual(json.loads(one), json.loads(other))

    def test_owners_are_alike(self):
        self.maxDiff = None
        for kind in ("deployments", "replicasets", "statefulsets", "daemonsets", "jobs"):
            sides = []
            for side in (self.real, self.model):
                shapes = [as_shape({"labels": item["metadata"].get("labels"), "spec": item["spec"],
                                    "annotations": item["metadata"].get("annotations"),
                                    "owners": item["metadata"].get("ownerReferences"), "status": item["status"]})
                          for item in side.items(kind)]
                # Of the same type at the same time: in any order.
                for shape in shapes:
                    shape["status"].get("conditions", []).sort(key=lambda condition: condition["type"])
                sides.append(shapes)
            for real, model in zip(*sides):
                with self.subTest(kind=kind):
                    self.assertEqual(real, model)

    def test_a_pod_that_fits_nowhere_says_the_same(self):
        messages = []
        for side in (self.real, self.model):
            pod = next(pod for pod in side.items("pods") if pod["metadata"]["labels"]["app"] == "stuck")
            condition, = pod["status"]["conditions"]
            messages.append({"message": condition["message"].split(". ")[0].rstrip("."),
                             **{key: condition[key] for key in ("type", "status", "reason")}})
        self.assertEqual(*messages)

    def test_a_scale_is_alike(self):
        scales = [as_shape(json.loads(side.kubectl(
            "get", "--raw", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/web/scale")))
            for side in (self.real, self.model)]
        for scale in scales:
            scale["metadata"].pop("resourceVersion")
        self.assertEqual(*scales)


if __name__ == "__main__":
    unittest.main(verbosity=2)
