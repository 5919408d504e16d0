"""Plays the infrastructure under Cluster API: machines that are simulated nodes of other test clusters, and the power
of bare-metal hosts.

On the management cluster there are three kinds of ours, which keep Cluster API's contract v1beta2. A SimulatedCluster
names the test cluster that is its workload cluster; a SimulatedMachine becomes a Node there, with a provider ID, and
takes it away when it is deleted. One with `spec.host` runs on a BareMetalHost, whose power decides whether the Node is
Ready.
"""

import time

from . import hosts
from .api import Refused
from .cluster import Cluster
from .common import Deadline, Failure, say

GROUP = "infrastructure.cluster.x-k8s.io"
VERSION = "v1beta1"
_CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
_CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
_FINALIZER = "testcluster/node"
_MERGE = "application/merge-patch+json"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PAUSE = 0.1


def _path(plural, namespace=None, name=None):
    path = f"/apis/{GROUP}/{VERSION}"
    if namespace:
        path += f"/namespaces/{namespace}"
    return f"{path}/{plural}" + (f"/{name}" if name else "")


def _definition(kind, spec):
    plural = kind.lower() + "s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        # The label says that this version keeps the contract v1beta2.
        "metadata": {"name": f"{plural}.{GROUP}", "labels": {"cluster.x-k8s.io/v1beta2": VERSION}},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind,
                      "listKind": kind + "List"},
            "versions": [{
                "name": VERSION, "served": True, "storage": True, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": spec}, "status": anything}}}}]}}


_TEXT = {"type": "string"}
_MACHINE = {
    "providerID": _TEXT,
    # The BareMetalHost of the same namespace that it runs on.
    "host": _TEXT,
    "nodeLabels": {"type": "object", "additionalProperties": _TEXT},
    # The Node outlives the machine, as in a cluster without a cloud controller.
    "leavesNode": {"type": "boolean"},
}
DEFINITIONS = [
    _definition("SimulatedCluster", {
        "testcluster": _TEXT,
        "controlPlaneEndpoint": {"type": "object", "properties": {
            "host": _TEXT, "port": {"type": "integer"}}}}),
    _definition("SimulatedMachine", _MACHINE),
    _definition("SimulatedMachineTemplate", {"template": {"type": "object", "properties": {
        "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "spec": {"type": "object", "properties": _MACHINE}}}}),
]


class Infrastructure:
    """Looks at everything on the management cluster again and again."""

    def __init__(self, management):
        self._client = management.client()
        self._clients = {}  # of workload clusters, by their names
        self._said = {}     # the last trouble with each object
        self._ready = {}    # whether the node of a host's machine was last told to be Ready

    def install(self, timeout=30):
        """Makes the three kinds known, and waits until they are served."""
        for definition in DEFINITIONS:
            self._client.create(_DEFINITIONS, definition)
        deadline = Deadline(timeout)
        for definition in DEFINITIONS:
            while not self._serves(definition["spec"]["names"]["plural"]):
                if deadline.passed():
                    raise Failure(f"the management cluster does not serve {definition['metadata']['name']}")
                time.sleep(0.05)

    def _serves(self, plural):
        try:
            self._client.list(_path(plural))
        except Refused as error:
            if error.status != 404:
                raise
            return False
        return True

    def run(self):
        """Until an interrupt."""
        while True:
            self._pass()
            time.sleep(_PAUSE)

    def _pass(self):
        try:
            clusters = self._client.list(_path("simulatedclusters"))
            machines = self._client.list(_path("simulatedmachines"))
        except (Failure, OSError) as error:
            self._complain("the management cluster", error)
            return
        of_name = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in clusters}
        for one in clusters:
            self._try(one, self._provision_cluster)
        for one in machines:
            metadata = one["metadata"]
            cluster = of_name.get((metadata["namespace"], metadata.get("labels", {}).get(_CLUSTER_NAME)))
            if cluster:
                self._try(one, lambda one, cluster=cluster: self._look_after(one, cluster))
        self._play_hosts(machines, of_name)

    def _try(self, one, act):
        key = f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}"
        try:
            act(one)
            self._said.pop(key, None)
        except (Failure, OSError) as error:
            # It is looked at again at once, and the others must not wait for it.
            self._complain(key, error)

    def _complain(self, what, error):
        if self._said.get(what) != str(error):
            self._said[what] = str(error)
            say(f"{what}: {error}")

    def _patch(self, client, path, value):
        client.call("PATCH", path, value, _MERGE, attempts=1)

    def _workload(self, cluster):
        """A client of its test cluster."""
        name = cluster["spec"]["testcluster"]
        if name not in self._clients:
            self._clients[name] = Cluster.get(name).client()
        return self._clients[name]

    # --- clusters and machines ---------------------------------------------

    def _provision_cluster(self, one):
        if one.get("status", {}).get("initialization", {}).get("provisioned"):
            return
        path = _path("simulatedclusters", one["metadata"]["namespace"], one["metadata"]["name"])
        port = Cluster.get(one["spec"]["testcluster"]).ports["apiserver"]
        self._patch(self._client, path, {"spec": {"controlPlaneEndpoint": {"host": "127.0.0.1", "port": port}}})
        self._patch(self._client, path + "/status", {"status": {"initialization": {"provisioned": True}}})

    def _look_after(self, one, cluster):
        metadata = one["metadata"]
        path = _path("simulatedmachines", metadata["namespace"], metadata["name"])
        finalizers = metadata.get("finalizers", [])
        if metadata.get("deletionTimestamp"):
            if _FINALIZER in finalizers:
                self._remove_node(one, cluster)
                left = [name for name in finalizers if name != _FINALIZER]
                self._patch(self._client, path, {"metadata": {"finalizers": left}})
            return
        if one.get("status", {}).get("initialization", {}).get("provisioned"):
            return
        if _FINALIZER not in finalizers:
            self._patch(self._client, path, {"metadata": {"finalizers": [*finalizers, _FINALIZER]}})
        provider_id = _provider_id(one)
        self._workload(cluster).create("/api/v1/nodes", _node(one, provider_id))
        self._patch(self._client, path, {"spec": {"providerID": provider_id}})
        self._patch(self._client, path + "/status", {"status": {"initialization": {"provisioned": True}}})

    def _remove_node(self, one, cluster):
        if one["spec"].get("leavesNode"):
            return
        try:
            self._workload(cluster).call("DELETE", f"/api/v1/nodes/{node_name(one)}", attempts=1)
        except Refused as error:
            if error.status != 404:
                raise

    # --- hosts -------------------------------------------------------------

    def _play_hosts(self, machines, of_name):
        try:
            found = self._client.list(hosts.PATH)
        except Refused as error:
            if error.status != 404:
                self._complain("hosts", error)
            return
        except (Failure, OSError) as error:
            self._complain("hosts", error)
            return
        on_host = {(one["metadata"]["namespace"], one["spec"].get("host")): one for one in machines}
        for host in found:
            self._try(host, lambda host: hosts.play(self._client, host))
            machine = on_host.get((host["metadata"]["namespace"], host["metadata"]["name"]))
            cluster = machine and of_name.get((machine["metadata"]["namespace"],
                                               machine["metadata"].get("labels", {}).get(_CLUSTER_NAME)))
            if cluster:
                self._try(host, lambda host, machine=machine, cluster=cluster:
                          self._power_node(host, machine, cluster))

    def _power_node(self, host, machine, cluster):
        """A node is Ready while its host is powered on."""
        name, ready = node_name(machine), bool(host.get("status", {}).get("poweredOn"))
        if self._ready.get(name, True) == ready:
            return
        self._patch(self._workload(cluster), f"/api/v1/nodes/{name}", {
            "metadata": {"annotations": {"testcluster/ready": None if ready else "false"}}})
        self._ready[name] = ready


def node_name(machine):
    """Not the name of the machine: nobody may take one for the other."""
    return f"{machine['metadata']['namespace']}-{machine['metadata']['name']}-node"


def _provider_id(machine):
    namespace, name = machine["metadata"]["namespace"], machine["metadata"]["name"]
    if machine["spec"].get("host"):
        return f"metal3://{namespace}/{machine['spec']['host']}/{name}"
    return machine["spec"].get("providerID") or f"simulated://{namespace}/{name}"


def _node(machine, provider_id):
    name = node_name(machine)
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
              **machine["spec"].get("nodeLabels", {})}
    if _CONTROL_PLANE in machine["metadata"].get("labels", {}):
        labels["node-role.kubernetes.io/control-plane"] = ""
    return {"apiVersion": "v1", "kind": "Node", "spec": {"providerID": provider_id},
            "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}}}
