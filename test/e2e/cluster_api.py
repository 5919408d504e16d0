"""Cluster API's real core controllers on a management cluster, with everything that they need to run Machines: their
definitions and webhooks, the infrastructure that tools/testcluster plays, and workload clusters of simulated nodes."""

import base64
import os
import sys

import yaml

from actors import Process, built
from api import side_by_side
from careen import free_port, http_get, poll
from cluster import ROOT, TOOL, Cluster
from follow import Follower

sys.path.append(os.path.join(ROOT, "test"))
from gobuild import module_folder  # noqa: E402

_BUILD = os.path.join(ROOT, "tools", "testcluster", "build")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
API = "/apis/cluster.x-k8s.io/v1beta2"
INFRASTRUCTURE_GROUP = "infrastructure.cluster.x-k8s.io"
INFRASTRUCTURE = f"/apis/{INFRASTRUCTURE_GROUP}/v1beta1"
HOSTS = "/apis/metal3.io/v1alpha1"


def _documents(*path):
    with open(os.path.join(*path)) as file:
        return [one for one in yaml.load_all(file, yaml.CSafeLoader) if one]


def _wait_served(api, group, version, plural):
    poll(lambda: api.get(f"/apis/{group}/{version}/{plural}"), 30, f"{plural} to be served", 0.05)


class Controllers(Process):
    """The core controllers as their project builds them, feature gates at their defaults. The API server asks their
    webhooks, also for the conversion of versions, on the loopback interface."""

    def __init__(self, cluster, log_path):
        self._api = cluster.api
        self._port, self._health = free_port(), free_port()
        # The certificate of the test cluster's own components is good for 127.0.0.1.
        keys = os.path.dirname(cluster.ca)
        with open(cluster.ca, "rb") as file:
            self._ca = base64.b64encode(file.read()).decode()
        self._module = module_folder(os.path.join(_BUILD, "cluster-api"), "sigs.k8s.io/cluster-api") / "core" / "config"
        self._install_definitions()
        super().__init__(
            log_path, built("cluster-api"), "--kubeconfig", cluster.kubeconfig, "--leader-elect=false",
            f"--webhook-port={self._port}", f"--webhook-cert-dir={keys}", "--webhook-cert-name=component.crt",
            "--webhook-key-name=component.key", "--diagnostics-address=0", f"--health-addr=127.0.0.1:{self._health}")

    def _client_config(self, path):
        return {"url": f"https://127.0.0.1:{self._port}{path}", "caBundle": self._ca}

    def _install_definitions(self):
        folder = self._module / "crd" / "bases"
        found = [one for name in sorted(os.listdir(folder)) for one in _documents(folder, name)]
        for one in found:
            one["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"], "clientConfig": self._client_config("/convert")}}
        side_by_side(lambda one: self._api.create(_DEFINITIONS, one), found)
        for one in found:
            _wait_served(self._api, one["spec"]["group"], "v1beta2", one["spec"]["names"]["plural"])

    def wait_ready(self):
        """Their webhooks answer, and from now on every write is shown to them."""
        poll(self._healthy, 60, "Cluster API's controllers to be ready", 0.1)
        for one in _documents(self._module / "webhook" / "manifests.yaml"):
            for webhook in one["webhooks"]:
                webhook["clientConfig"] = self._client_config(webhook["clientConfig"]["service"]["path"])
            self._api.create(f"{_ADMISSION}/{one['kind'].lower()}s", one)
        return self

    def _healthy(self):
        if self.ended():
            raise AssertionError(f"Cluster API's controllers ended:\n{self.output()[-3000:]}")
        try:
            return http_get(self._health, "/readyz")[0] == 200
        except OSError:
            return False


class Infrastructure(Process):
    """What tools/testcluster plays: SimulatedMachines that become nodes, and the power of BareMetalHosts."""

    def __init__(self, cluster, log_path):
        self._api = cluster.api
        super().__init__(log_path, TOOL, "infrastructure", "--name", cluster.name)

    def wait_ready(self):
        poll(lambda: "playing" in self.output(), 30, "the infrastructure to be played", 0.1)
        for plural in ("simulatedclusters", "simulatedmachines", "simulatedmachinetemplates"):
            _wait_served(self._api, INFRASTRUCTURE_GROUP, "v1beta1", plural)
        return self


def install_hosts(cluster):
    """The definition of BareMetalHost, as the baremetal-operator ships it."""
    folder = module_folder(os.path.join(_BUILD, "metal3"), "github.com/metal3-io/baremetal-operator")
    for one in _documents(folder / "config" / "base" / "crds" / "bases" / "metal3.io_baremetalhosts.yaml"):
        cluster.api.create(_DEFINITIONS, one)
    _wait_served(cluster.api, "metal3.io", "v1alpha1", "baremetalhosts")


class Rig:
    """The management cluster, two workload clusters, and whoever works on them. Pods run on the first workload cluster,
    which has a scheduler and the controllers of disruption budgets; the second one has nodes and nothing else."""

    def __init__(self, name, folder):
        self._folder = folder
        self.management = Cluster(f"{name}-m", "--without", "controller-manager,scheduler,kwok", "--audit")
        self.first = Cluster(f"{name}-a", "--audit")
        self.second = Cluster(f"{name}-b", "--without", "controller-manager,scheduler", "--audit")
        self._processes = []
        self.machines = None  # follows all Machines
        self.nodes = {}       # follow the Nodes of a workload cluster, by its name

    def _log(self, name):
        return os.path.join(self._folder, f"{name}.log")

    def up(self):
        side_by_side(lambda cluster: cluster.up(), (self.management, self.first, self.second), 3)
        controllers = Controllers(self.management, self._log("cluster-api"))
        self._processes.append(controllers)
        infrastructure = Infrastructure(self.management, self._log("infrastructure"))
        self._processes.append(infrastructure)
        install_hosts(self.management)
        controllers.wait_ready()
        infrastructure.wait_ready()
        self.machines = Follower(self.management.api, f"{API}/machines").start()
        self.nodes = {cluster.name: Follower(cluster.api, "/api/v1/nodes").start() for cluster in (self.first, self.second)}
        return self

    def down(self):
        for follower in (self.machines, *self.nodes.values()):
            if follower:
                follower.stop()
        for process in reversed(self._processes):
            process.end()
        side_by_side(lambda cluster: cluster.down(), (self.management, self.first, self.second), 3)
