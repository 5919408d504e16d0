"""Other programs and people that take nodes out beside careen: real ones where they can be had, played ones otherwise."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

from api import Refused, side_by_side
from careen import die_with_parent, poll
from cluster import ROOT, TOOL
from node_watch import annotations
from out_watch import REQUESTS, RunningRequests

sys.path.append(os.path.join(ROOT, "test"))
from gobuild import module_folder  # noqa: E402

CLIENT = "maintenancerequests.repairman.k8s.io/clientname"
READY = "testcluster/ready"  # "false": the node reports that it is not ready


def built(actor):
    """The program of a real actor, which is built if it has not been yet."""
    return subprocess.run([TOOL, "build", actor], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Process:
    """A program beside careen; it ends with the test at the latest."""

    def __init__(self, log_path, *command, environment=None):
        self.log_path = log_path
        with open(log_path, "w") as log:
            self._process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})}, preexec_fn=die_with_parent)

    def output(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()

    def ended(self):
        return self._process.poll() is not None

    def wait(self, seconds):
        """Its exit code."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"after {seconds} s {self._process.args[0]} still runs; see {self.log_path}") from None

    def end(self):
        if not self.ended():
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()


def drain(cluster, node, log_path, *flags):
    """kubectl drain, as a person types it."""
    return Process(log_path, cluster.kubectl_path, "--kubeconfig", cluster.kubeconfig, "drain", node, "--ignore-daemonsets",
                   "--delete-emptydir-data", "--force", *flags)


# --- real ones -----------------------------------------------------------------

def karpenter_definitions(cluster):
    folder = module_folder(os.path.join(ROOT, "tools", "testcluster", "build", "karpenter"), "sigs.k8s.io/karpenter")
    for part in ("pkg/apis/crds", "kwok/apis/crds"):
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(folder / part))
    for crd in ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "kwoknodeclasses.karpenter.kwok.sh"):
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/{crd}")


class Karpenter(Process):
    """Karpenter with its provider of simulated nodes. A changed label in the pool's template makes its nodes drift, and it
    replaces them, as many at once as the pool's budget says."""

    POOLS = "/apis/karpenter.sh/v1/nodepools"
    CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
    POOL = "karpenter.sh/nodepool"

    def __init__(self, cluster, log_path):
        karpenter_definitions(cluster)
        super().__init__(log_path, built("karpenter"), environment={
            "KUBECONFIG": cluster.kubeconfig, "DISABLE_LEADER_ELECTION": "true", "SYSTEM_NAMESPACE": "default",
            "BATCH_IDLE_DURATION": "200ms"})
        self._api = cluster.api

    def pool(self, name, at_once, labels):
        self._api.create("/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses", {
            "apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": name}})
        self._api.call("POST", self.POOLS, {
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name},
            "spec": {
                "template": {"metadata": {"labels": labels}, "spec": {
                    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": name},
                    "requirements": [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["c-4x-amd64-linux"]}]}},
                "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never",
                               "budgets": [{"nodes": str(at_once)}]}}})

    def drift(self, name, labels):
        self._api.patch(f"{self.POOLS}/{name}", {"spec": {"template": {"metadata": {"labels": labels}}}})

    def clean_up(self):
        """Its nodes and what they stand for, whether it still runs or not."""
        self.end()
        for path in (self.CLAIMS, self.POOLS, "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"):
            for one in self._api.list(path)[0]:
                remove(self._api, f"{path}/{one['metadata']['name']}")
        for node in self._api.list("/api/v1/nodes", labelSelector=self.POOL)[0]:
            remove(self._api, f"/api/v1/nodes/{node['metadata']['name']}")


def remove(api, path):
    api.delete(path)
    try:
        api.patch(path, {"metadata": {"finalizers": None}})
    except Refused as error:
        if error.status != 404:
            raise


class FlatcarUpdates(Process):
    """The flatcar-linux-update-operator with an agent on each of these nodes, all of which want to reboot."""

    def __init__(self, cluster, log_path, namespace, nodes, at_once):
        super().__init__(log_path, built("flatcar-updates"), f"--kubeconfig={cluster.kubeconfig}",
                         f"--namespace={namespace}", "--nodes=" + ",".join(nodes), f"--max-rebooting-nodes={at_once}")


# --- played ones ---------------------------------------------------------------

class Worker:
    """Somebody who goes his way in a thread of his own; what went wrong there is raised by join()."""

    def __init__(self):
        self._error = None
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name=type(self).__name__)

    def start(self):
        self._thread.start()
        return self

    def work(self):
        raise NotImplementedError

    def _run(self):
        try:
            self.work()
        except Exception as error:  # raised again by join()
            self._error = error

    def join(self, seconds):
        self._thread.join(seconds)
        if self._error:
            raise self._error
        if self._thread.is_alive():
            raise AssertionError(f"after {seconds} s {type(self).__name__} is not done")

    def stop(self):
        self.stopping.set()
        self._thread.join(60)


def cordon(api, node, unschedulable=True):
    api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": unschedulable or None}})


def is_ready(node):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions", []))


def reboot(api, node):
    """It is away for a moment."""
    for ready in (False, True):
        api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {READY: None if ready else "false"}}})
        poll(lambda: is_ready(api.get(f"/api/v1/nodes/{node}")) == ready, 30,
             f"{node} to be {'ready' if ready else 'away'}", 0.1)


class Kured(Worker):
    """kured on these nodes, one after the other: its annotation says that a node wants to reboot, its lock on its DaemonSet
    whose turn it is; then it cordons, drains (with kubectl's own code, as kured does), reboots and cleans up."""

    LOCK = "weave.works/kured-node-lock"
    ANNOTATIONS = ("weave.works/kured-reboot-in-progress", "weave.works/kured-most-recent-reboot-needed")

    def __init__(self, cluster, folder, namespace, nodes):
        super().__init__()
        self._cluster, self._api, self._folder, self._nodes = cluster, cluster.api_as("kured"), folder, nodes
        self.path = f"/apis/apps/v1/namespaces/{namespace}/daemonsets/kured"
        # On no node: its pods are not what this is about.
        self._api.create(self.path.rpartition("/")[0], {"metadata": {"name": "kured"}, "spec": {
            "selector": {"matchLabels": {"name": "kured"}}, "template": {
                "metadata": {"labels": {"name": "kured"}},
                "spec": {"nodeSelector": {"e2e.careen.dev/nowhere": "true"},
                         "containers": [{"name": "kured", "image": "example.com/kured:1"}]}}}})

    def work(self):
        for node in self._nodes:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self._annotate(node, now)
        for node in self._nodes:
            if self.stopping.is_set():
                return
            self._take_lock(node)
            drained = drain(self._cluster, node, os.path.join(self._folder, f"kured-{node}.log"))
            if drained.wait(60):
                raise AssertionError(f"kured could not drain {node}: {drained.output()}")
            reboot(self._api, node)
            cordon(self._api, node, False)
            self._annotate(node, None)
            self._api.patch(self.path, {"metadata": {"annotations": {self.LOCK: None}}})

    def _annotate(self, node, value):
        self._api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": dict.fromkeys(self.ANNOTATIONS, value)}})

    def _take_lock(self, node):
        def taken():
            daemon_set = self._api.get(self.path)
            if self.LOCK in annotations(daemon_set):
                return False
            daemon_set["metadata"].setdefault("annotations", {})[self.LOCK] = json.dumps(
                {"nodeID": node, "metadata": {"unschedulable": False},
                 "created": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()), "TTL": 0})
            try:
                return self._api.call("PUT", self.path, daemon_set)
            except Refused as error:
                if error.status == 409:
                    return False
                raise
        poll(taken, 60, "kured's lock", 0.2)


class Autoscaler:
    """Takes nodes away as the cluster autoscaler does: its taint first, then the Node."""

    TAINT = "ToBeDeletedByClusterAutoscaler"

    def __init__(self, cluster):
        self._api = cluster.api_as("cluster-autoscaler")

    def mark(self, node):
        taints = self._api.get(f"/api/v1/nodes/{node}")["spec"].get("taints", [])
        self._api.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": [
            *taints, {"key": self.TAINT, "value": str(int(time.time())), "effect": "NoSchedule"}]}})

    def delete(self, node):
        self._api.delete(f"/api/v1/nodes/{node}")


class Died(Exception):
    """The actor ended here, as if its machine had gone."""


class Asker:
    """What an actor does with MaintenanceRequests, by the contract of the original's client library: it knows a request by
    the label with its name, looks for one that is not Completed, and makes one where there is none."""

    def __init__(self, cluster, client):
        self._api, self._client = cluster.api_as(client), client

    def _live(self, node):
        items, _ = self._api.list(REQUESTS, labelSelector=f"{CLIENT}={self._client}")
        return next((one for one in items if one["spec"].get("name", "").lower() == node.lower()
                     and one["spec"].get("type", "").lower() == "node" and one["spec"].get("state") != "Completed"), None)

    def is_approved(self, node):
        found = self._live(node)
        if not found:
            found = self._api.call("POST", REQUESTS, {
                "apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceRequest",
                "metadata": {"generateName": "mr-", "labels": {CLIENT: self._client}},
                "spec": {"name": node, "type": "node", "state": "Pending"}})
        return found["spec"]["state"] == "Approved"

    def update(self, node, state):
        assert state != "Approved", "the library refuses it"
        while True:
            found = self._live(node)
            if not found:
                raise LookupError("request must exist before state can be updated")
            if found["spec"]["state"] == "Pending":
                raise PermissionError("not approved")
            found["spec"]["state"] = state
            try:
                return self._api.call("PUT", f"{REQUESTS}/{found['metadata']['name']}", found)
            except Refused as error:
                if error.status != 409:
                    raise

    def maintain(self, node, dies_at=None, seconds=60):
        """One maintenance as the known actor does it; `dies_at` names the step before which it ends for good."""
        def step(name):
            if name == dies_at:
                raise Died(name)
        poll(lambda: self.is_approved(node), seconds, f"the request of {self._client} for {node} to be approved", 0.1)
        step("InProgress")
        self.update(node, "InProgress")
        step("cordon")
        cordon(self._api, node)
        step("reboot")
        reboot(self._api, node)
        step("Completed")
        self.update(node, "Completed")
        step("uncordon")
        cordon(self._api, node, False)


class RequestsScript(Worker):
    """A script that maintains nodes one after the other, and asks first."""

    def __init__(self, cluster, client, nodes, seconds=60):
        super().__init__()
        self._asker, self._nodes, self._seconds = Asker(cluster, client), nodes, seconds

    def work(self):
        for node in self._nodes:
            if self.stopping.is_set():
                return
            self._asker.maintain(node, seconds=self._seconds)


class Finisher(RunningRequests):
    """An actor that takes what is approved (InProgress) at once, and is done with it when `work` seconds have passed: by
    default at once."""

    def __init__(self, api, work=lambda: 0):
        super().__init__(api)
        self._work, self._todo = work, []
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def _take(self, name, old, new, version):
        super()._take(name, old, new, version)
        state = new["spec"].get("state") if new else None
        if state in self.RUNNING and (old is None or old["spec"].get("state") != state):
            approved = state == "Approved"
            due = time.monotonic() + (0 if approved else self._work())
            self._todo.append((due, name, "InProgress" if approved else "Completed"))

    def _due(self):
        return [one for one in self._todo if one[0] <= time.monotonic()]

    def _write(self):
        while not self._stopping:
            with self._changed:
                todo = self._due()
                self._todo = [one for one in self._todo if one not in todo]
                if not todo:
                    next_due = min((one[0] for one in self._todo), default=time.monotonic() + 1)
                    self._changed.wait(max(0, next_due - time.monotonic()))
            side_by_side(lambda one: self._api.patch(f"{REQUESTS}/{one[1]}", {"spec": {"state": one[2]}}), todo)
