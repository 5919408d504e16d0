"""One Cluster of Cluster API with its Machines, and the Secret by which its API server is reached."""

import base64
import json

from api import Refused
from careen import poll
from cluster_api import API, HOSTS, INFRASTRUCTURE, INFRASTRUCTURE_GROUP

CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def kubeconfig(server, user, ca):
    """Everything inline, as Cluster API's providers write it."""
    with open(ca, "rb") as file:
        authority = base64.b64encode(file.read()).decode()
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "admin@workload", "preferences": {},
        "clusters": [{"name": "workload", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "admin@workload", "context": {"cluster": "workload", "user": "admin"}}]})


def conditions(one):
    return {each["type"]: each for each in one.get("status", {}).get("conditions", [])}


def node_of(machine):
    """The name of its Node, or None."""
    return machine.get("status", {}).get("nodeRef", {}).get("name")


class CapiCluster:
    """Made at once with one control-plane Machine, without which Cluster API skips hooks and drains."""

    def __init__(self, rig, workload, namespace, name="workload"):
        self.rig, self.workload, self.namespace, self.name = rig, workload, namespace, name
        self.api = rig.management.api
        self.nodes = rig.nodes[workload.name]
        self.path = f"{API}/namespaces/{namespace}"
        self._infrastructure = f"{INFRASTRUCTURE}/namespaces/{namespace}"
        self.secret_name = f"{name}-kubeconfig"
        self._secrets = f"/api/v1/namespaces/{namespace}/secrets"

    def create(self):
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.write_secret(self.certificate_kubeconfig())
        self._post(self._infrastructure, "SimulatedCluster", self.name, {"testcluster": self.workload.name})
        self._post(self.path, "Cluster", self.name, {"infrastructureRef": {
            "apiGroup": INFRASTRUCTURE_GROUP, "kind": "SimulatedCluster", "name": self.name}})
        self.machine(f"{self.name}-control-plane", {CONTROL_PLANE: ""})
        return self

    def wait_initialized(self, seconds=60):
        def initialized():
            found = conditions(self.get("clusters", self.name)).get("ControlPlaneInitialized", {})
            return found.get("status") == "True"
        poll(initialized, seconds, f"the control plane of {self.namespace}/{self.name}", 0.1)
        return self

    def get(self, plural, name):
        return self.api.get(f"{self.path}/{plural}/{name}")

    def patch(self, plural, name, value):
        return self.api.patch(f"{self.path}/{plural}/{name}", value)

    def _post(self, path, kind, name, spec, labels=None):
        group = path.split("/namespaces/")[0].removeprefix("/apis/")
        return self.api.call("POST", f"{path}/{kind.lower()}s", {
            "apiVersion": group, "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": self.namespace, "labels": {CLUSTER_NAME: self.name, **(labels or {})}}})

    # --- machines ------------------------------------------------------------

    def machine(self, name, labels=None, **infrastructure):
        """A Machine of nobody else; `infrastructure` is of its SimulatedMachine."""
        self._post(self._infrastructure, "SimulatedMachine", name, infrastructure, labels)
        return self._post(self.path, "Machine", name, self._machine_spec("SimulatedMachine", name), labels)

    def _machine_spec(self, kind, name):
        return {"clusterName": self.name, "bootstrap": {"dataSecretName": "none"},
                "infrastructureRef": {"apiGroup": INFRASTRUCTURE_GROUP, "kind": kind, "name": name}}

    def deploy(self, name, replicas, labels=None, rolling=None, **infrastructure):
        """A MachineDeployment; its Machines have the labels."""
        of_pool = {"e2e.careen.dev/pool": name}
        self._post(self._infrastructure, "SimulatedMachineTemplate", name, {"template": {"spec": infrastructure}})
        strategy = {"type": "RollingUpdate", "rollingUpdate": rolling or {"maxSurge": 0, "maxUnavailable": 1}}
        return self._post(self.path, "MachineDeployment", name, {
            "clusterName": self.name, "replicas": replicas, "selector": {"matchLabels": of_pool},
            "rollout": {"strategy": strategy},
            "template": {"metadata": {"labels": {**of_pool, **(labels or {})}},
                         "spec": self._machine_spec("SimulatedMachineTemplate", name)}})

    def machines(self, pool=None):
        """Those that the rig's watch knows, by their names."""
        with_pool = {} if pool is None else {"e2e.careen.dev/pool": pool}
        return {one["metadata"]["name"]: one for one in list(self.rig.machines.objects.values())
                if one["metadata"]["namespace"] == self.namespace and one["spec"]["clusterName"] == self.name
                and with_pool.items() <= one["metadata"].get("labels", {}).items()}

    def wait_machines(self, holds, seconds, what, pool=None):
        """Waits until holds(machines by name) is true."""
        self.rig.machines.wait_until(lambda _: holds(self.machines(pool)), seconds, what)
        return self.machines(pool)

    def wait_machine(self, name, holds, seconds, what):
        """Waits until the Machine is there and holds(machine) is true."""
        self.wait_machines(lambda machines: name in machines and holds(machines[name]), seconds, f"{name}: {what}")
        return self.machines()[name]

    def wait_running(self, count, pool, seconds=60):
        """The names of that many Machines of a pool, all Running with a Node."""
        found = self.wait_machines(
            lambda machines: len(machines) == count and all(
                one.get("status", {}).get("phase") == "Running" and node_of(one) for one in machines.values()),
            seconds, f"{count} Machines of {self.namespace}/{pool} to be Running", pool)
        return sorted(found)

    def wait_gone(self, name, seconds=60):
        self.rig.machines.wait_until(lambda watch: f"{self.namespace}/{name}" not in watch.objects, seconds,
                                     f"the Machine {name} to be gone")

    def label(self, name, **labels):
        return self.patch("machines", name, {"metadata": {"labels": labels}})

    def delete_pool(self, name):
        self.api.delete(f"{self.path}/machinedeployments/{name}")

    def label_template(self, pool, labels):
        """Cluster API carries them to the Machines that are there."""
        return self.api.patch_if_there(f"{self.path}/machinedeployments/{pool}",
                                       {"spec": {"template": {"metadata": {"labels": labels}}}})

    def delete_machine(self, name):
        self.api.delete(f"{self.path}/machines/{name}")

    def health_check(self, pool, seconds):
        """Deletes Machines of the pool whose Nodes are not Ready for so long."""
        return self._post(self.path, "MachineHealthCheck", pool, {
            "clusterName": self.name, "selector": {"matchLabels": {"e2e.careen.dev/pool": pool}},
            "checks": {"unhealthyNodeConditions": [
                {"type": "Ready", "status": status, "timeoutSeconds": seconds} for status in ("False", "Unknown")]}})

    def delete(self):
        self.api.delete(f"{self.path}/clusters/{self.name}")

    # --- nodes ---------------------------------------------------------------

    def node(self, name):
        return self.workload.api.get(f"/api/v1/nodes/{name}")

    def patch_node(self, name, labels=None, annotations=None):
        return self.workload.api.patch(f"/api/v1/nodes/{name}", {
            "metadata": {"labels": labels or {}, "annotations": annotations or {}}})

    def wait_node(self, name, holds, seconds, what):
        """Waits until the Node is there and holds(node) is true."""
        self.nodes.wait_until(lambda watch: name in watch.objects and holds(watch.objects[name]), seconds, f"{name}: {what}")
        return self.nodes.objects[name]

    def wait_node_gone(self, name, seconds=30):
        self.nodes.wait_until(lambda watch: name not in watch.objects, seconds, f"the Node {name} to be gone")

    # --- hosts ---------------------------------------------------------------

    def host(self, name, machine, spec=None, annotations=None, state="provisioned"):
        """A BareMetalHost that is on, consumed by that machine's infrastructure."""
        path = f"{HOSTS}/namespaces/{self.namespace}/baremetalhosts"
        self.api.call("POST", path, {
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"online": True, "consumerRef": {
                "apiVersion": f"{INFRASTRUCTURE_GROUP}/v1beta1", "kind": "SimulatedMachine", "name": machine,
                "namespace": self.namespace}, **(spec or {})}})
        self.api.patch(f"{path}/{name}/status", {"status": {
            "poweredOn": True, "operationalStatus": "OK", "errorCount": 0, "errorMessage": "",
            "provisioning": {"state": state, "ID": "e2e", "image": {"url": ""}}}})
        return f"{path}/{name}"

    # --- the Secret ----------------------------------------------------------

    def certificate_kubeconfig(self, server=None):
        """The administrator's, with a client certificate."""
        with open(self.workload.certificate, "rb") as certificate, open(self.workload.key, "rb") as key:
            user = {"client-certificate-data": base64.b64encode(certificate.read()).decode(),
                    "client-key-data": base64.b64encode(key.read()).decode()}
        return kubeconfig(server or self.workload.server, user, self.workload.ca)

    def token_kubeconfig(self, account):
        """That of a new administrator with a token, who can be dismissed; and the token."""
        accounts, api = "/api/v1/namespaces/kube-system/serviceaccounts", self.workload.api
        api.create(accounts, {"metadata": {"name": account}})
        api.create(f"{RBAC}/clusterrolebindings", {
            "metadata": {"name": account},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "kube-system"}]})
        token = api.call("POST", f"{accounts}/{account}/token", {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        return kubeconfig(self.workload.server, {"token": token}, self.workload.ca), token

    def dismiss(self, account):
        """Its token is good for nothing from now on, or ten seconds later, for so long the server may remember it."""
        self.workload.api.delete(f"/api/v1/namespaces/kube-system/serviceaccounts/{account}")

    def write_secret(self, text):
        value = {"metadata": {"name": self.secret_name, "labels": {CLUSTER_NAME: self.name}},
                 "type": "cluster.x-k8s.io/secret", "data": {"value": base64.b64encode(text.encode()).decode()}}
        if not self.api.create(self._secrets, value):
            self.api.patch(f"{self._secrets}/{self.secret_name}", {"data": value["data"]})

    def delete_secret(self):
        try:
            self.api.call("DELETE", f"{self._secrets}/{self.secret_name}")
        except Refused as error:
            if error.status != 404:
                raise
