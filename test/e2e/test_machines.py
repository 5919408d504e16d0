"""The relay between Machines and their Nodes, as the program that careen replaces did it, on the real Cluster API."""

from audit import Audit
from capi_cluster import conditions
from machines import (
    APPROVE_DELETION, APPROVE_MAINTENANCE, DELETED, ENABLED, HOOK, MAINTAINED, MAINTENANCE, OWN, PREFIX, REQUESTED,
    SKIP_REMEDIATION, STATE, MachinesTest)
from node_watch import annotations, labels

READY = "testcluster/ready"  # "false": the node reports that it is not ready
BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"


class RelayTest(MachinesTest):

    beside_others = True

    def _pod(self, capi, name, node):
        capi.workload.api.call("POST", f"/api/v1/namespaces/{self.namespace}/pods", {
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "c", "image": "example.com/web:1"}]}})

    def _one_pod_and_its_budget(self, capi, node):
        """A pod that may not be evicted while it is alone."""
        api = capi.workload.api
        api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.addCleanup(api.delete, f"/api/v1/namespaces/{self.namespace}")
        self._pod(capi, "first", node)
        api.call("POST", BUDGETS.format(self.namespace), {"metadata": {"name": "web"}, "spec": {
            "minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}})

    def test_deletion(self):
        """Held until the Node's maintenance has approved it; then Cluster API drains under a budget, and Machine and Node
        go. The Machine that takes its place is held as the others are."""
        capi = self.common()
        victim, other = names = self.pool(capi, 2)
        for name in names:
            self.wait_hook(capi, name)
        node = self.node_of(capi, victim)
        self._one_pod_and_its_budget(capi, node)

        capi.delete_machine(victim)
        self.wait_label(capi, node, DELETED)
        self.wait_deleting(capi, victim, "WaitingForPreDrainHook", says=HOOK)
        capi.wait_machine(victim, lambda one: one["status"].get("deletion", {}).get("waitForPreDrainHookStartTime"), 30,
                          "since when it is held")
        self.assertNotIn("unschedulable", capi.node(node)["spec"])
        self.assertNotIn(DELETED, labels(capi.node(self.node_of(capi, other))))

        capi.patch_node(node, {APPROVE_DELETION: "true"})
        self.wait_hook(capi, victim, False)
        self.wait_deleting(capi, victim, "DrainingNode", says="disruption budget")
        self.assertTrue(capi.node(node)["spec"].get("unschedulable"))
        self._pod(capi, "second", self.node_of(capi, other))
        capi.wait_gone(victim, 90)
        capi.wait_node_gone(node)
        for name in self.wait_running(capi, 2):
            self.wait_hook(capi, name)

    def test_maintenance(self):
        """Asked for on the Machine, approved on the Node, and over when the label goes; nothing is approved unasked, and
        other values mean nothing."""
        capi = self.common()
        machine = self.pool(capi, 1)[0]
        node = self.node_of(capi, machine)
        self.wait_hook(capi, machine)
        capi.label(machine, **{MAINTENANCE: "perhaps"})
        capi.label(machine, **{MAINTENANCE: "requested"})
        self.wait_label(capi, node, REQUESTED)
        self.assertEqual(labels(capi.get("machines", machine))[MAINTENANCE], "requested")
        capi.patch_node(node, {APPROVE_MAINTENANCE: "true"})
        self.wait_asked(capi, machine, "approved")
        self.wait_skipping(capi, machine, OWN)
        self.assertNotIn(DELETED, labels(capi.node(node)))
        capi.patch_node(node, {APPROVE_MAINTENANCE: None})
        capi.label(machine, **{MAINTENANCE: None})
        self.wait_label(capi, node, REQUESTED, None)
        self.wait_skipping(capi, machine, None)
        self.assertEqual(annotations(capi.get("machines", machine)).get(HOOK), OWN)

    def test_health_check(self):
        """A MachineHealthCheck that finds Nodes not Ready deletes their Machines, and leaves alone the one in maintenance,
        until it is back, and the one that a user protects."""
        capi = self.common()
        maintained, failed, protected = self.pool(capi, 3)
        nodes = {name: self.node_of(capi, name) for name in (maintained, failed, protected)}
        capi.patch("machines", protected, {"metadata": {"annotations": {SKIP_REMEDIATION: "mine"}}})
        for name in (maintained, protected):
            capi.label(name, **{MAINTENANCE: "requested"})
            capi.patch_node(nodes[name], {APPROVE_MAINTENANCE: "true"})
        self.wait_skipping(capi, maintained, OWN)
        self.wait_asked(capi, protected, "approved")
        for node in nodes.values():
            capi.patch_node(node, annotations={READY: "false"})
        for node in nodes.values():
            capi.wait_node(node, lambda one: conditions(one)["Ready"]["status"] == "False", 30, "not Ready")
        capi.health_check(self.pool_name, 1)
        self.wait_deleting(capi, failed, "WaitingForPreDrainHook", 60)
        capi.label(maintained, **{MAINTENANCE: None})
        self.wait_label(capi, nodes[maintained], REQUESTED, None)
        capi.patch_node(nodes[failed], {APPROVE_DELETION: "true"})
        capi.wait_gone(failed, 60)
        # The health check has looked at all of them more than once.
        for name, value in ((maintained, OWN), (protected, "mine")):
            one = capi.get("machines", name)
            self.assertNotIn("deletionTimestamp", one["metadata"], name)
            self.assertEqual(annotations(one).get(SKIP_REMEDIATION), value)
        capi.patch_node(nodes[maintained], annotations={READY: None})
        self.wait_skipping(capi, maintained, None, 60)
        capi.label(protected, **{MAINTENANCE: None})
        self.wait_label(capi, nodes[protected], REQUESTED, None)
        self.assertEqual(annotations(capi.get("machines", protected)).get(SKIP_REMEDIATION), "mine")

    def test_disabled(self):
        """Without the label all that careen wrote goes, and a deletion that it held goes on; also for the last Machine of
        its Cluster."""
        capi = self.capi()
        held, asked = self.pool(capi, 2)
        nodes = {name: self.node_of(capi, name) for name in (held, asked)}
        for name in nodes:
            self.wait_hook(capi, name)
        capi.delete_machine(held)
        self.wait_deleting(capi, held, "WaitingForPreDrainHook")
        self.wait_label(capi, nodes[held], DELETED)
        capi.label(asked, **{MAINTENANCE: "requested"})
        self.wait_label(capi, nodes[asked], REQUESTED)
        # Cluster API carries labels of the template to the Machines that are not being deleted.
        capi.label_template(self.pool_name, {PREFIX + "enabled": "yes"})
        self.wait_hook(capi, asked, False)
        self.wait_label(capi, nodes[asked], REQUESTED, None)
        capi.label(held, **{PREFIX + "enabled": None})
        capi.wait_gone(held)
        self.assertNotIn(REQUESTED, labels(capi.node(nodes[asked])))
        capi.label_template(self.pool_name, ENABLED)
        self.wait_hook(capi, asked)
        self.wait_label(capi, nodes[asked], REQUESTED)

    def test_node_of_somebody_else(self):
        """Whoever may write Nodes of one cluster annotates one with a Machine of another cluster, and approves: nothing
        happens to that Machine, nor to the Node."""
        capi, other = self.common(), self.capi()
        victim, machine = self.pool(capi, 1)[0], self.pool(other, 1)[0]
        self.wait_hook(capi, victim)
        capi.label(victim, **{MAINTENANCE: "requested"})
        capi.delete_machine(victim)
        self.wait_deleting(capi, victim, "WaitingForPreDrainHook")
        intruder = f"{other.namespace}-intruder"
        other.workload.api.call("POST", "/api/v1/nodes", {"metadata": {
            "name": intruder,
            "labels": {"kubernetes.io/hostname": intruder, APPROVE_DELETION: "true", APPROVE_MAINTENANCE: "true", **MAINTAINED},
            "annotations": {"cluster.x-k8s.io/machine": victim, "cluster.x-k8s.io/cluster-namespace": capi.namespace,
                            "cluster.x-k8s.io/cluster-name": capi.name}}})
        self.addCleanup(other.workload.api.delete, f"/api/v1/nodes/{intruder}")
        # careen has seen that Node when it has carried out what happened to another one of that cluster after it.
        self.maintenance(other, machine)
        other.patch_node(intruder, {"e2e.careen.dev/touched": "true"})
        self.maintenance(other, machine)
        found = capi.get("machines", victim)
        self.assertEqual(annotations(found).get(HOOK), OWN, "the hook of somebody else's Machine")
        self.assertEqual(labels(found).get(MAINTENANCE), "requested", "the maintenance of somebody else's Machine")
        self.assertFalse({DELETED, REQUESTED} & labels(other.node(intruder)).keys())

    def test_two_clusters_of_one_server(self):
        """A Secret that leads to the API server of another Cluster: careen sees the Nodes of both through both, and writes
        those of each only for that one."""
        capi, other = self.common(), self.capi()
        machine, neighbour = self.pool(capi, 1)[0], self.pool(other, 1)[0]
        node = self.node_of(capi, machine)
        self.wait_hook(other, neighbour)
        audit = Audit(capi.workload.audit_log)
        capi.label(machine, **{MAINTENANCE: "requested"})
        self.wait_label(capi, node, REQUESTED)
        # What careen does about the neighbour it does after it has seen that label through both.
        self.maintenance(other, neighbour)
        self.maintenance(other, neighbour)
        self.assertEqual(labels(capi.node(node)).get(REQUESTED), "true")
        writes = [entry for entry in audit.entries() if entry["verb"] == "patch" and entry["objectRef"].get("name") == node]
        self.assertEqual(len(writes), 1, "writes of the labels of one Node")

    def test_node_is_gone(self):
        """The Node that a Machine refers to does not exist: its deletion is not held for ever, and others go on."""
        capi = self.common()
        lost, machine = self.pool(capi, 2)
        self.wait_hook(capi, lost)
        node = self.node_of(capi, lost)
        capi.workload.api.delete(f"/api/v1/nodes/{node}")
        capi.wait_node_gone(node)
        self.maintenance(capi, machine)
        capi.delete_machine(lost)
        capi.wait_gone(lost, 90)


class ProfileTest(MachinesTest):
    """Alone, because profiles put their label on every Node of a cluster in which they run."""

    def test_profile_comes_and_leaves(self):
        """While no profile looks after the Node nobody would ever approve: there is no hook, the Node is told nothing, and
        the Machine goes at once."""
        self.start()
        capi = self.capi(self.rig.second)
        machine, leaves = self.pool(capi, 2, node_labels={})
        node = self.node_of(capi, machine)
        capi.patch_node(node, MAINTAINED)
        self.wait_hook(capi, machine)
        capi.label(machine, **{MAINTENANCE: "requested"})
        self.wait_label(capi, node, REQUESTED)
        self.assertNotIn(HOOK, annotations(capi.get("machines", leaves)))
        capi.label(leaves, **{MAINTENANCE: "requested"})
        capi.delete_machine(leaves)
        capi.wait_gone(leaves)
        capi.patch_node(node, {STATE: None})
        self.wait_hook(capi, machine, False)
        self.wait_label(capi, node, REQUESTED, None)
