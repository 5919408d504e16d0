"""Filling a cluster with simulated nodes and with pods on them."""

import time
import uuid

from .api import concurrently
from .common import Deadline, Failure, say

_ZONES = "abc"
_PODS_PER_OWNER = 100
_NAMESPACES = 10
NOT_READY = "node.kubernetes.io/not-ready"


_CONDITIONS = [
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory",
     "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
]


def _node(index, kubelet_version, ready):
    """A node as its kubelet would register it; Ready at once saves a write for each."""
    name = f"node-{index}"
    identity = str(uuid.uuid4())
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
                "beta.kubernetes.io/arch": "amd64", "node.kubernetes.io/instance-type": "simulated",
                "topology.kubernetes.io/region": "region-1",
                "topology.kubernetes.io/zone": f"zone-{_ZONES[index % len(_ZONES)]}",
            },
        },
        "status": {
            "conditions": [
                {"type": kind, "status": status, "reason": reason, "message": message,
                 "lastHeartbeatTime": now, "lastTransitionTime": now}
                for kind, status, reason, message in _CONDITIONS] if ready else [],
            "addresses": [
                {"type": "InternalIP",
                 "address": f"10.{64 + index // 62500}.{index // 250 % 250}.{index % 250 + 1}"},
                {"type": "Hostname", "address": name}],
            "capacity": {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "500Gi",
                         "pods": "110"},
            "allocatable": {"cpu": "31", "memory": "124Gi", "ephemeral-storage": "450Gi",
                            "pods": "110"},
            "nodeInfo": {
                "architecture": "amd64", "bootID": str(uuid.uuid4()), "machineID": identity,
                "systemUUID": identity, "kernelVersion": "6.1.0-testcluster",
                "osImage": "Simulated Linux", "operatingSystem": "linux",
                "containerRuntimeVersion": "containerd://2.1.0", "kubeProxyVersion": "",
                "kubeletVersion": kubelet_version},
        },
    }


def create_nodes(client, first, count, kubelet_version, ready):
    begun = time.monotonic()
    concurrently(
        lambda index: client.create("/api/v1/nodes", _node(index, kubelet_version, ready)),
        range(first, first + count))
    say(f"created {count} nodes in {time.monotonic() - begun:.1f}s")
    return [f"node-{index}" for index in range(first, first + count)]


def next_index(client):
    """The lowest number above those of all nodes named node-N."""
    numbers = [int(item["metadata"]["name"][5:]) for item in client.list("/api/v1/nodes")
               if item["metadata"]["name"].startswith("node-")
               and item["metadata"]["name"][5:].isdigit()]
    return max(numbers, default=-1) + 1


def wait_nodes(client, names, taints_go, timeout):
    """Waits until nodes are Ready and, if taints_go, without the not-ready taint."""
    names = set(names)
    begun = time.monotonic()
    deadline = Deadline(timeout)
    while True:
        nodes = [node for node in client.list("/api/v1/nodes") if node["metadata"]["name"] in names]
        unready = [node for node in nodes if not _node_ready(node)]
        tainted = [node for node in nodes
                   if any(taint["key"] == NOT_READY for taint in node["spec"].get("taints", []))]
        if not unready and not (taints_go and tainted):
            if nodes:
                say(f"{len(nodes)} nodes Ready after {time.monotonic() - begun:.1f}s")
            return
        if deadline.passed():
            some = (unready or tainted)[0]["metadata"]["name"]
            raise Failure(f"after {timeout:.0f}s {len(unready)} of {len(nodes)} nodes are not Ready"
                          f" and {len(tainted)} have the taint {NOT_READY} (for instance {some})")
        time.sleep(0.2 + len(nodes) / 2000)


def _node_ready(node):
    return any(condition["type"] == "Ready" and condition["status"] == "True"
               for condition in node.get("status", {}).get("conditions", []))


# --- pods ------------------------------------------------------------------

def _pod_spec(application):
    """A specification of realistic size: a pod has 6.5 KB as JSON, managed fields included."""
    return {
        "terminationGracePeriodSeconds": 30,
        "containers": [{
            "name": "server",
            "image": f"registry.example/{application}:1.4.2",
            "ports": [{"name": "http", "containerPort": 8080}],
            "env": [
                {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "POD_NAMESPACE",
                 "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                {"name": "LOG_LEVEL", "value": "info"},
                {"name": "DATABASE", "value": f"postgres://{application}.db.example:5432/main"},
            ],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"},
                          "limits": {"memory": "256Mi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/server", "readOnly": True}],
            "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]}},
        }],
        # No emptyDir: `kubectl drain` would ask for one more flag.
        "volumes": [{"name": "config", "configMap": {"name": f"{application}-config",
                                                     "optional": True}}],
    }


def _metadata(application, **more):
    labels = {"app.kubernetes.io/name": application, "app.kubernetes.io/part-of": "load",
              "app.kubernetes.io/managed-by": "testcluster"}
    return {"labels": labels, "annotations": {"testcluster/purpose": "load"}, **more}


def create_pods(client, first_node, nodes, per_node):
    """Creates pods on given nodes, each owned by a ReplicaSet of up to 100 pods.

    The controller-manager must not run meanwhile: it would see a ReplicaSet
    without its pods and make others in their place.
    """
    begun = time.monotonic()
    total = nodes * per_node
    for number in range(_NAMESPACES):
        namespace = f"load-{number}"
        client.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        client.create(f"/api/v1/namespaces/{namespace}/serviceaccounts",
                      {"metadata": {"name": "default"}})

    owners = {}

    def make_owner(number):
        application = f"app-{first_node}-{number}"
        namespace = f"load-{number % _NAMESPACES}"
        size = min(_PODS_PER_OWNER, total - number * _PODS_PER_OWNER)
        path = f"/apis/apps/v1/namespaces/{namespace}/replicasets"
        made = client.create(path, {
            "metadata": _metadata(application, name=application),
            "spec": {"replicas": size,
                     "selector": {"matchLabels": {"app.kubernetes.io/name": application}},
                     "template": {"metadata": _metadata(application),
                                  "spec": _pod_spec(application)}}})
        if made is None:
            made = client.call("GET", f"{path}/{application}")
        owners[number] = (namespace, application, made["metadata"]["uid"])

    def make_pod(number):
        namespace, application, uid = owners[number // _PODS_PER_OWNER]
        client.create(f"/api/v1/namespaces/{namespace}/pods", {
            "metadata": _metadata(
                application, name=f"{application}-{number % _PODS_PER_OWNER:02d}",
                ownerReferences=[{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                                  "name": application, "uid": uid, "controller": True,
                                  "blockOwnerDeletion": True}]),
            "spec": {**_pod_spec(application), "nodeName": f"node-{first_node + number % nodes}"},
        })

    concurrently(make_owner, range((total + _PODS_PER_OWNER - 1) // _PODS_PER_OWNER))
    concurrently(make_pod, range(total))
    say(f"created {total} pods in {time.monotonic() - begun:.1f}s")


def wait_pods(client, timeout):
    """Waits until no pod is Pending any more."""
    begun = time.monotonic()
    deadline = Deadline(timeout)
    while client.call("GET", "/api/v1/pods?fieldSelector=status.phase%3DPending&limit=1")["items"]:
        if deadline.passed():
            raise Failure(f"after {timeout:.0f}s there are still pods that are Pending")
        time.sleep(0.3)
    say(f"no pod is Pending after {time.monotonic() - begun:.1f}s")
