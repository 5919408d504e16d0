"""Plays the infrastructure under Cluster API: machines that are simulated nodes of other test clusters, and the power
of bare-metal hosts.

On the management cluster there are three kinds of ours, which keep Cluster API's contract v1beta2. A SimulatedCluster
names the test cluster that is its workload cluster; a SimulatedMachine becomes a Node there, with a provider ID, and
takes it away when it is deleted. One with `spec.host` runs on a BareMetalHost, whose power decides whether the Node is
Ready.
"""

import threading
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
_RETRY = 0.5
_WORKERS = 6


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


class _Kept:
    """The objects of a path as they are, followed by a thread; `changed` is told of each that came, changed or went."""

    def __init__(self, client, path, changed):
        self._client, self._path, self._changed = client, path, changed
        self.objects = {}  # by namespace and name

    def start(self):
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        said = ""
        while True:
            try:
                self._follow()
            except (Failure, OSError) as error:
                # Not every management cluster has hosts.
                if str(error) != said and getattr(error, "status", None) != 404:
                    said = str(error)
                    say(said)
            time.sleep(_RETRY)

    def _follow(self):
        listed = {}
        events = self._client.follow(self._path)
        for event in iter(lambda: next(events), None):
            listed[key_of(event[1])] = event[1]
        gone = self.objects.keys() - listed.keys()
        self.objects = listed
        for key in (*gone, *listed):
            self._changed(key)
        for kind, one in events:
            if kind == "DELETED":
                self.objects.pop(key_of(one), None)
            else:
                self.objects[key_of(one)] = one
            self._changed(key_of(one))


class Infrastructure:
    """Does at each change what is to be done about the object."""

    def __init__(self, management):
        self._client = management.client()
        self._clients = {}  # of workload clusters, by their names
        self._said = {}     # the last trouble with each object
        self._ready = {}    # whether the node of a host's machine was last told to be Ready
        self._changed = threading.Condition()
        self._todo = {}     # (what to do, key): when
        self._doing = set()
        self._clusters = _Kept(self._client, _path("simulatedclusters"), self._cluster_changed)
        self._machines = _Kept(self._client, _path("simulatedmachines"), self._machine_changed)
        self._hosts = _Kept(self._client, hosts.PATH, self._host_changed)

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
        for kept in (self._clusters, self._machines, self._hosts):
            kept.start()
        for _ in range(_WORKERS):
            threading.Thread(target=self._work, daemon=True).start()
        threading.Event().wait()

    def _work(self):
        while True:
            with self._changed:
                what = self._next()
            self._try(what)
            with self._changed:
                self._doing.discard(what)
                self._changed.notify_all()

    def _next(self):
        """Waits for something that is due, and that no other worker is about."""
        while True:
            now = time.monotonic()
            for what, when in self._todo.items():
                if when <= now and what not in self._doing:
                    del self._todo[what]
                    self._doing.add(what)
                    return what
            times = [when for what, when in self._todo.items() if what not in self._doing]
            self._changed.wait(min(times) - now if times else None)

    def _later(self, act, key, seconds=0.0):
        with self._changed:
            self._todo[act, key] = time.monotonic() + seconds
            self._changed.notify_all()

    def _cluster_changed(self, key):
        self._later(self._look_after_cluster, key)
        for machine in list(self._machines.objects.values()):
            if self._cluster_key(machine) == key:
                self._later(self._look_after_machine, key_of(machine))

    def _machine_changed(self, key):
        self._later(self._look_after_machine, key)
        machine = self._machines.objects.get(key)
        if machine and machine["spec"].get("host"):
            self._later(self._look_after_host, (key[0], machine["spec"]["host"]))

    def _host_changed(self, key):
        self._later(self._look_after_host, key)

    def _try(self, what):
        act, key = what
        try:
            act(key)
            self._said.pop(what, None)
        except (Failure, OSError) as error:
            if self._said.get(what) != str(error):
                self._said[what] = str(error)
                say(f"{'/'.join(key)}: {error}")
            self._later(act, key, _RETRY)

    def _patch(self, client, path, value):
        client.call("PATCH", path, value, _MERGE, attempts=1)

    def _cluster_key(self, machine):
        metadata = machine["metadata"]
        return metadata["namespace"], metadata.get("labels", {}).get(_CLUSTER_NAME)

    def _workload(self, machine):
        """A client of the machine's workload cluster; None while that is not known."""
        cluster = self._clusters.objects.get(self._cluster_key(machine))
        if not cluster:
            return None
        name = cluster["spec"]["testcluster"]
        if name not in self._clients:
            self._clients[name] = Cluster.get(name).client()
        return self._clients[name]

    # --- clusters and machines ---------------------------------------------

    def _look_after_cluster(self, key):
        one = self._clusters.objects.get(key)
        if not one or _is_provisioned(one):
            return
        path = _path("simulatedclusters", *key)
        port = Cluster.get(one["spec"]["testcluster"]).ports["apiserver"]
        self._patch(self._client, path, {"spec": {"controlPlaneEndpoint": {"host": "127.0.0.1", "port": port}}})
        self._patch(self._client, path + "/status", {"status": {"initialization": {"provisioned": True}}})

    def _look_after_machine(self, key):
        one = self._machines.objects.get(key)
        workload = one and self._workload(one)
        if not workload:
            return
        path, finalizers = _path("simulatedmachines", *key), one["metadata"].get("finalizers", [])
        if one["metadata"].get("deletionTimestamp"):
            if _FINALIZER in finalizers:
                self._remove_node(one, workload)
                left = [name for name in finalizers if name != _FINALIZER]
                self._patch(self._client, path, {"metadata": {"finalizers": left}})
            return
        if _is_provisioned(one):
            return
        provider_id = _provider_id(one)
        if _FINALIZER not in finalizers:
            self._patch(self._client, path, {"metadata": {"finalizers": [*finalizers, _FINALIZER]},
                                             "spec": {"providerID": provider_id}})
        workload.create("/api/v1/nodes", _node(one, provider_id))
        self._patch(self._client, path + "/status", {"status": {"initialization": {"provisioned": True}}})

    def _remove_node(self, one, workload):
        if one["spec"].get("leavesNode"):
            return
        try:
            workload.call("DELETE", f"/api/v1/nodes/{node_name(one)}", attempts=1)
        except Refused as error:
            if error.status != 404:
                raise

    # --- hosts -------------------------------------------------------------

    def _look_after_host(self, key):
        host = self._hosts.objects.get(key)
        if not host:
            return
        hosts.play(self._client, host)
        for machine in list(self._machines.objects.values()):
            if (machine["metadata"]["namespace"], machine["spec"].get("host")) == key and _is_provisioned(machine):
                self._power_node(host, machine)

    def _power_node(self, host, machine):
        """A node is Ready while its host is powered on."""
        name, ready = node_name(machine), bool(host.get("status", {}).get("poweredOn"))
        if self._ready.get(name, True) == ready:
            return
        self._patch(self._workload(machine), f"/api/v1/nodes/{name}", {
            "metadata": {"annotations": {"testcluster/ready": None if ready else "false"}}})
        self._ready[name] = ready


def key_of(one):
    return one["metadata"]["namespace"], one["metadata"]["name"]


def _is_provisioned(one):
    return one.get("status", {}).get("initialization", {}).get("provisioned", False)


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
