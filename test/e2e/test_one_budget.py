"""One budget over all actors: careen never adds to what is out beyond the cap, whoever took the rest, and names them."""

import os

from actors import (
    Autoscaler, FlatcarUpdates, Karpenter, Kured, RequestsScript, cordon, drain, karpenter_definitions, remove)
from budgets import BudgetTest
from careen import free_port, poll
from harness import UNSAFE, WANTED, profile_config
from node_watch import PROFILE, labels

CAP = 3
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/careen-limits"
KARPENTER_POOL = "e2e-karpenter"


class ObserveTest(BudgetTest):
    """Nothing foreign is ever blocked; careen's own work waits for it."""

    def setUp(self):
        super().setUp()
        self.limit("all", type="node", maxUnavailable=CAP)

    def _check_cap(self, cap=CAP):
        self.out.catch_up()
        self.assertEqual(self.out.additions_beyond(cap), [], UNSAFE + "careen has added to what was out already")
        self.assertLessEqual(self.out.most_own(), cap, UNSAFE + "careen alone has more out than the cap")

    def _used_by(self, *actors, seconds=30):
        """Waits until the limit's status names these actors; returns the status."""
        def told(status):
            named = str([group.get("usedBy") for group in status.get("groups", [])])
            return all(actor in named for actor in actors)
        return self.wait_limit(told, seconds, f"the limit to name {actors}", "all")["status"]

    def _start_all(self):
        """Profiles, NodeMaintenances and requests in one careen."""
        config = self.write("maintenance.yaml", profile_config(limit=10, stay="500ms"))
        return self.start_requests("profiles,nodemaintenance,requests", config).wait_ready()

    def test_cordons_by_hand(self):
        """As many nodes as may be out are cordoned by a person: careen's work waits, and goes on when one is free."""
        self._start_all()
        for node in self.node_names[:CAP]:
            self.cluster.kubectl("cordon", node)
        self._used_by("kubectl")
        self.want_maintenance(self.node_names[5:8])
        self.request("waits", self.node_names[10])
        waiting = self.wait_request("waits", lambda one: "kubectl" in one.get("status", {}).get("message", ""), 30,
                                    "the person to be named")
        self.assertEqual(waiting["spec"]["state"], "Pending")
        self.assertEqual(self.out.most_own(), 0)
        self.cluster.kubectl("uncordon", self.node_names[0])
        # Which of them is first depends on a second.
        self.wait_request_state("waits", "Approved", 60)
        self.set_state("waits", "Completed")
        self.watch.wait_until(self.done(self.node_names[5:8]), 60, "the round of the three nodes")
        self._check_cap()

    def test_overshoot_is_named_and_not_added_to(self):
        """Others take more than the cap: it is told who, and nothing of careen's is added until they are back below."""
        self._start_all()
        for node in self.node_names[:CAP + 2]:
            self.cluster.kubectl("cordon", node)
        status = self.wait_limit(lambda status: any(group.get("used") == CAP + 2 for group in status.get("groups", [])), 30,
                                 "the overshoot", "all")["status"]
        within = {one["type"]: one["status"] for one in status["conditions"]}
        self.assertEqual(within.get("WithinBudget"), "False")
        self.request("waits", self.node_names[10])
        self.wait_request("waits", lambda one: one.get("status", {}).get("message"), 30, "the reason")
        for node in self.node_names[:2]:
            self.cluster.kubectl("uncordon", node)
        self.wait_limit(lambda status: any(group.get("used") == CAP for group in status.get("groups", [])), 30,
                        "the cap", "all")
        self.assertEqual(self.request_named("waits")["spec"]["state"], "Pending")
        self.cluster.kubectl("uncordon", self.node_names[2])
        self.wait_request_state("waits", "Approved", 60)
        self._check_cap()

    def test_node_maintenances_ask_where_they_run_alone(self):
        """The second waits for the place of the first; a successor knows what the first has."""
        self.limit("all", type="node", maxUnavailable=1)
        first, second = self.node_names[:2]
        careen = self.start_elected(None, "--controllers=nodemaintenance").wait_ready()
        self.maintain("first", first)
        self.wait_phase("first", "Succeeded")
        self.maintain("second", second)
        self.wait_maintenance("second", lambda one: "limit all" in str(one.get("status")), 30, "the second to wait")
        careen.kill()
        self.start_elected(None, "--controllers=nodemaintenance").wait_ready()
        self.release("first")
        self.wait_phase("second", "Succeeded")
        self.assertEqual(self.out.most_own(), 1)
        self._check_cap(1)

    def test_node_that_is_down_needs_no_part_of_the_cap(self):
        """Failures take the whole cap: their own repair goes on, what is healthy waits."""
        down = self.node_names[:CAP]
        self._start_all()
        for node in down:
            self.annotate([node], {"testcluster/ready": "false"})
        self._used_by("failure")
        self.request("healthy", self.node_names[10])
        self.request("repair", down[0])
        self.wait_request_state("repair", "Approved")
        self.assertEqual(self.request_named("healthy")["spec"]["state"], "Pending")
        self.set_state("repair", "Completed")
        self._check_cap()

    def test_autoscaler_takes_nodes_away(self):
        """A node that was out when it was deleted is missing; one that was scaled down is not."""
        lost, scaled = self.more_nodes(2)
        poll(lambda: all(any(one["type"] == "Ready" and one["status"] == "True"
                             for one in self.node(name)["status"].get("conditions", [])) for name in (lost, scaled)), 30,
             "the nodes to be ready")
        self._start_all()
        autoscaler = Autoscaler(self.cluster)
        autoscaler.mark(scaled)
        self._used_by("cluster-autoscaler")
        autoscaler.delete(scaled)
        self.wait_limit(lambda status: all(group.get("used", 0) == 0 for group in status["groups"]), 30,
                        "the scaled node not to count", "all")
        self.annotate([lost], {"testcluster/ready": "false"})
        self._used_by("failure")
        self.api.delete(f"/api/v1/nodes/{lost}")
        self.wait_limit(lambda status: any(group.get("missing") == 1 for group in status["groups"]), 30,
                        "the lost node to be missing", "all")
        self._check_cap()

    def test_kured_is_known_by_its_lock(self):
        """Its annotation alone is a wish; with the cordon it counts, and careen's own work waits meanwhile."""
        nodes = self.node_names[:2]
        self.limit("all", type="node", maxUnavailable=1)
        self._start_all()
        kured = Kured(self.cluster, self.folder, self.namespace, nodes)
        self.addCleanup(kured.stop)
        self.want_maintenance(self.node_names[5:8])
        kured.start()
        kured.join(120)
        self.watch.wait_until(self.done(self.node_names[5:8]), 60, "careen's own round")
        self.assertTrue(set(nodes) <= self.out.seen("cordon"))
        self._check_cap(1)

    def test_machines_and_claims(self):
        """What a Machine, a NodeClaim and a MachineSet say of nodes counts, though the nodes say nothing of it."""
        of_machine, of_claim = self.node_names[:2]
        for plural, kind in (("machines", "Machine"), ("machinesets", "MachineSet")):
            self._serve("cluster.x-k8s.io", "v1beta2", plural, kind)
        karpenter_definitions(self.cluster)
        self._stays("machinesets", "e2e", {"spec": {"replicas": 1}})
        machine = self._stays("machines", "e2e-1", {"status": {"nodeRef": {"name": of_machine}}}, ownerReferences=[
            {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "e2e", "uid": "e2e"}])
        claim = self._claim("e2e-claim", of_claim)
        self._start_all()
        self.assertEqual(self._group()["used"], 0)
        self.api.delete(machine)
        self._used_by("cluster-api")
        self.api.delete(claim)
        self._used_by("cluster-api", "karpenter")
        sets = f"{self.machines}/machinesets/e2e"
        self.api.patch(sets, {"spec": {"replicas": 2}})
        self.wait_limit(lambda status: status["groups"][0].get("missing") == 1, 30, "a node to be missing", "all")
        self.request("waits", self.node_names[10])
        self.wait_request("waits", lambda one: "cluster-api" in one.get("status", {}).get("message", ""), 30,
                          "Cluster API to be named")
        self.assertEqual(self.request_named("waits")["spec"]["state"], "Pending")
        self.api.patch(sets, {"spec": {"replicas": 1}})
        self.wait_request_state("waits", "Approved", 60)
        self._check_cap()

    def _group(self):
        return self.wait_limit(lambda status: status.get("groups"), 30, "its groups", "all")["status"]["groups"][0]

    @property
    def machines(self):
        return f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{self.namespace}"

    def _serve(self, group, version, plural, kind):
        """A kind of which the server knows no more than its name."""
        name = f"{plural}.{group}"
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.api.create(path, {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
        self.addCleanup(self.api.delete, f"{path}/{name}")
        self.cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/{name}")
        poll(lambda: self.api.get(f"{self.machines}/{plural}") is not None, 30, f"the API to serve {plural}")

    def _stays(self, plural, name, body, **metadata):
        """One that nobody lets go while the test lasts; its path."""
        path = f"{self.machines}/{plural}/{name}"
        self.api.call("POST", f"{self.machines}/{plural}", {
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine" if plural == "machines" else "MachineSet",
            "metadata": {"name": name, "finalizers": ["e2e.careen.dev/stays"], **metadata}, **body})
        self.addCleanup(remove, self.api, path)
        return path

    def _claim(self, name, node):
        path = f"{Karpenter.CLAIMS}/{name}"
        self.api.call("POST", Karpenter.CLAIMS, {
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {"name": name, "finalizers": ["e2e.careen.dev/stays"]},
            "spec": {"nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "e2e"},
                     "requirements": []}})
        self.addCleanup(remove, self.api, path)
        self.api.patch(f"{path}/status", {"status": {"nodeName": node}})
        return path

    def test_everybody_at_once(self):
        """Karpenter replaces nodes, Flatcar's operator reboots some, a person drains, a script asks for places, and careen
        runs a profile and a NodeMaintenance: careen never adds beyond the cap, and everybody gets through."""
        flatcar_nodes, script_nodes = self.node_names[:3], self.node_names[3:6]
        profile_nodes, maintained, by_hand = self.node_names[6:10], self.node_names[10], self.node_names[11]
        karpenter = Karpenter(self.cluster, os.path.join(self.folder, "karpenter.log"))
        self._short_lived.append(lambda: self._clean_karpenter(karpenter))
        karpenter.pool(KARPENTER_POOL, 1, {"e2e.careen.dev/turn": "1"})
        self._karpenter_work(2)
        self._start_all()
        before = self._karpenter_nodes()
        self.assertEqual(len(before), 2)

        karpenter.drift(KARPENTER_POOL, {"e2e.careen.dev/turn": "2"})
        flatcar = FlatcarUpdates(self.cluster, os.path.join(self.folder, "flatcar.log"), self.namespace, flatcar_nodes, 1)
        self.addCleanup(flatcar.end)
        script = RequestsScript(self.cluster, "upgrade-script", script_nodes, 120).start()
        self.addCleanup(script.stop)
        self.want_maintenance(profile_nodes)
        self.maintain("everybody", maintained)
        drained = drain(self.cluster, by_hand, os.path.join(self.folder, "drain.log"))
        self.assertEqual(drained.wait(60), 0, drained.output())
        cordon(self.api, by_hand, False)

        self.wait_phase("everybody", "Succeeded", 120)
        self.release("everybody")
        self.assertEqual(flatcar.wait(120), 0, flatcar.output())
        self.watch.wait_until(self.done(profile_nodes), 120, "the round of the profile")
        script.join(120)
        poll(lambda: not before & self._karpenter_nodes(), 120, "Karpenter to have replaced its nodes", 0.5)
        self._check_cap()
        self.assertTrue(set(flatcar_nodes) | {by_hand} <= self.out.seen("cordon"))
        self.assertTrue(self.out.seen("taint karpenter.sh/disrupted") & before)

    def _karpenter_work(self, pods):
        """Each needs a node of its own, which Karpenter makes."""
        self.api.call("POST", f"/apis/apps/v1/namespaces/{self.namespace}/deployments", {
            "metadata": {"name": "work"}, "spec": {
                "replicas": pods, "selector": {"matchLabels": {"app": "work"}}, "template": {
                    "metadata": {"labels": {"app": "work"}},
                    "spec": {"nodeSelector": {Karpenter.POOL: KARPENTER_POOL}, "containers": [
                        {"name": "c", "image": "example.com/app:1", "resources": {"requests": {"cpu": "2500m"}}}]}}}})
        self.wait_ready_pods("work", pods, 90)

    def _karpenter_nodes(self):
        return {name for name, node in self.watch.nodes.items() if labels(node).get(Karpenter.POOL) == KARPENTER_POOL}

    def _clean_karpenter(self, karpenter):
        self.api.delete(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/work")
        karpenter.clean_up()
        self.watch.wait_until(lambda watch: not self._karpenter_nodes(), 60, "Karpenter's nodes to be gone")


class QueueTest(BudgetTest):
    """With Queue, whoever evicts waits for his turn: those of careen and others in one line."""

    def setUp(self):
        super().setUp()
        self.port = free_port()

    def _clean(self):
        self.api.delete(CONFIGURATION)
        super()._clean()

    def _start(self, controllers, config):
        return self.start_elected(config, f"--controllers={controllers}", f"--webhook-bind-address=127.0.0.1:{self.port}",
                                  "--webhook-self-signed", "--webhook-host=127.0.0.1", "--webhook-configuration=",
                                  "--webhook-secret=careen-webhook-tls").wait_ready()

    def _queue(self, careen, cap):
        """In force, and the API server asks, as it does about an eviction that is only rehearsed."""
        self.limit("queue", type="node", maxUnavailable=cap, mode="Queue")
        pod = self.pods()[0]["metadata"]["name"]

        def asked():
            self.api.call("POST", f"/api/v1/namespaces/{self.namespace}/pods/{pod}/eviction?dryRun=All", {
                "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}, "deleteOptions": {"dryRun": ["All"]}})
            return careen.metrics().sum("careen_limit_webhook_answers_total")
        poll(asked, 60, "the API server to ask about evictions", 0.2)

    def _fill(self, nodes):
        """A pod on each of them, and room elsewhere for those that are evicted."""
        for node in nodes:
            self.bare_pod(f"on-{node}", node, wait=False)
        for node in nodes:
            self.wait_ready_pods(f"on-{node}", 1)

    def _drain(self, node):
        drained = drain(self.cluster, node, os.path.join(self.folder, f"drain-{node}.log"))
        self.addCleanup(drained.end)
        return drained

    def _check_cap(self, cap):
        self.out.catch_up()
        self.assertLessEqual(self.out.most_at_work(), cap, UNSAFE + "more nodes are emptied than the limit allows")

    def test_careen_and_people_share(self):
        """A campaign, a NodeMaintenance, a script and three drains, two places: nobody is out beyond them."""
        profile_nodes, maintained, script_nodes = self.node_names[:2], self.node_names[2], self.node_names[3:5]
        by_hand = self.node_names[5:8]
        self._fill([maintained, *by_hand])
        config = self.write("maintenance.yaml", profile_config(limit=10, stay="500ms"))
        self._queue(self._start("profiles,nodemaintenance,requests", config), 2)
        drains = {node: self._drain(node) for node in by_hand}
        script = RequestsScript(self.cluster, "upgrade-script", script_nodes, 120).start()
        self.addCleanup(script.stop)
        self.want_maintenance(profile_nodes)
        self.maintain("shared", maintained)
        poll(lambda: self._end_drains(drains) and self.status("shared").get("phase") == "Succeeded", 120,
             "the drains and the NodeMaintenance")
        self.release("shared")
        self.watch.wait_until(self.done(profile_nodes), 120, "the round of the profile")
        script.join(120)
        self._check_cap(2)

    def _end_drains(self, drains):
        """Whoever is through lets its node go at once."""
        for node in [name for name, one in drains.items() if one.ended()]:
            self.assertEqual(drains.pop(node).wait(1), 0)
            cordon(self.api, node, False)
        return not drains
