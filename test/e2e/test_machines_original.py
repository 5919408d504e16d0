"""careen in the place of the runtime-extension-maintenance-controller: its name, its flags, its role and its lock."""

import os

from audit import accepted, resource_of
from capi_cluster import RBAC, conditions, node_of
from careen import Careen, poll
from machines import (
    APPROVE_DELETION, APPROVE_MAINTENANCE, DELETED, ENABLED, MAINTAINED, MAINTENANCE, OWN, MachinesEnvironment, MachinesTest)

READ = ["get", "list", "watch"]
# Its chart's. There is no right on nodes: those of the management cluster are none of its business.
ROLE = [
    {"apiGroups": [""], "resources": ["secrets"], "verbs": READ},
    {"apiGroups": ["cluster.x-k8s.io"], "resources": ["machines"], "verbs": [*READ, "patch", "update"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch", "update"]},
]
# Of newer charts, with Metal3.
HOSTS = [{"apiGroups": ["metal3.io"], "resources": ["baremetalhosts"], "verbs": [*READ, "patch", "update"]}]
CONTEXT = "in-its-place"


class OriginalTest(MachinesTest):

    def _kubeconfig(self, rules):
        """Of an account with exactly these rights, in a context that is not the current one."""
        accounts = f"/api/v1/namespaces/{self.namespace}/serviceaccounts"
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.api.create(accounts, {"metadata": {"name": "original"}})
        token = self.api.call("POST", f"{accounts}/original/token", {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        name = f"e2e-{self.namespace}"
        self.api.create(f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        self.api.create(f"{RBAC}/clusterrolebindings", {
            "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "original", "namespace": self.namespace}]})
        self.addCleanup(self.api.delete, f"{RBAC}/clusterrolebindings/{name}")
        path, management = os.path.join(self.folder, "kubeconfig"), self.rig.management
        with open(path, "w") as file:
            file.write(f"""\
apiVersion: v1
kind: Config
current-context: nowhere
clusters:
- {{name: management, cluster: {{server: "{management.server}", certificate-authority: "{management.ca}"}}}}
users:
- {{name: original, user: {{token: "{token}"}}}}
contexts:
- {{name: nowhere, context: {{cluster: nowhere, user: nobody}}}}
- {{name: {CONTEXT}, context: {{cluster: management, user: original, namespace: {self.namespace}}}}}
""")
        return path

    def _start_in_its_place(self, rules, *flags):
        """Started by its name alone, with flags that it has."""
        link = os.path.join(self.folder, OWN)
        os.symlink(MachinesEnvironment.binary, link)
        careen = Careen(link, self._kubeconfig(rules), None, os.path.join(self.folder, "original.log"),
                        f"--kubecontext={CONTEXT}", *flags, verb=())
        self.replicas.append(careen)
        return careen.wait_ready()

    def _refused(self):
        """What careen was not allowed to do."""
        return {(resource_of(entry), entry["verb"]) for entry in self.audit.entries()
                if not accepted(entry) and entry["responseStatus"]["code"] == 403}

    def _flow(self, capi, leaving, maintained):
        """A maintenance and a deletion from beginning to end."""
        node = self.node_of(capi, leaving)
        self.wait_hook(capi, leaving)
        self.maintenance(capi, maintained)
        capi.delete_machine(leaving)
        self.wait_label(capi, node, DELETED)
        self.wait_deleting(capi, leaving, "WaitingForPreDrainHook")
        capi.patch_node(node, {APPROVE_DELETION: "true"})
        capi.wait_gone(leaving, 60)

    def test_under_its_role(self):
        """The older chart: whole flows, its own lock, events in core/v1, and not one request that the role does not
        allow, but for the past of the timeline."""
        careen = self._start_in_its_place(ROLE)
        capi = self.capi()
        leaving, maintained = self.pool(capi, 2)
        self._flow(capi, leaving, maintained)
        self.assertTrue(self.holder())
        poll(lambda: {"PreDrainHookAdded", "MaintenanceApproved"} <= {
            *self.events_of(capi, leaving), *self.events_of(capi, maintained)}, 30, "the events", 0.2)
        self.assertLessEqual(self._refused(), {("events", "list")}, "rights that are missing")
        self.assertEqual([line for line in careen.complaints() if "baremetalhosts" in str(line)], [])

    def test_metal3_under_its_role(self):
        """The newer chart with Metal3: a host is powered off and on. Without the rule, as in older charts, that is said
        once and the rest works."""
        capi = self.capi()
        host = capi.host("host", "machine")
        capi.machine("machine", ENABLED, host="host", nodeLabels=MAINTAINED)
        machine = capi.wait_machine("machine", node_of, 60, "its Node")
        careen = self._start_in_its_place(ROLE, "--enable-metal3-maintenance")
        leaving, maintained = self.pool(capi, 2)
        self._flow(capi, leaving, maintained)
        self.assertEqual(len(careen.complaints("baremetalhosts")), 1, careen.complaints("baremetalhosts"))
        name = f"e2e-{self.namespace}"
        self.api.patch(f"{RBAC}/clusterroles/{name}", {"rules": ROLE + HOSTS})
        capi.label("machine", **{MAINTENANCE: "requested"})
        capi.patch_node(node_of(machine), {APPROVE_MAINTENANCE: "true"})
        self.wait_asked(capi, "machine", "approved")
        poll(lambda: not self.api.get(host)["status"]["poweredOn"], 90, "the host to be off", 0.2)
        capi.label("machine", **{MAINTENANCE: None})
        poll(lambda: self.api.get(host)["status"]["poweredOn"], 60, "the host to be on", 0.2)
        capi.wait_node(node_of(machine), lambda one: conditions(one)["Ready"]["status"] == "True", 60, "Ready")
