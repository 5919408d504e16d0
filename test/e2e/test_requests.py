"""MaintenanceRequests on the real control plane: the limit holds whatever happens, and what actors leave behind heals."""

import base64
import json
import os
import time

from actors import REQUESTS, Asker, Died, Finisher, RequestsScript, cordon
from api import side_by_side
from budgets import BudgetTest
from careen import poll
from cluster import ROOT
from harness import UNSAFE
from maintenance import condition

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class RequestsTest(BudgetTest):

    def _finisher(self):
        finisher = Finisher(self.api).start()
        self.addCleanup(finisher.stop)
        return finisher

    def _check_limit(self, most):
        self.out.requests.catch_up()
        self.assertLessEqual(self.out.requests.most, most, UNSAFE + "more requests run than the limit allows")
        self.assertEqual(self.out.requests.shared, set(), UNSAFE + "two requests run on one node")

    def _check_order(self):
        """Nothing that was approved, or had begun, was taken back."""
        for name, states in self.out.requests.states.items():
            kept = [state for state in states if state != "Pending"]
            self.assertEqual(kept, [state for state in ("Approved", "InProgress", "Completed", "Rejected") if state in kept],
                             f"{UNSAFE}states of {name}: {states}")

    def test_two_hundred_at_once(self):
        """Two for each of 100 nodes, 5 %: never more than five, none twice on a node, and all get through."""
        names = self.node_names[:50] + self.more_nodes(50)
        self.limit(limit=5)
        careen = self.start_requests().wait_ready()
        self._finisher()
        side_by_side(lambda one: self.request(f"mr-{one[0]}-{one[1]}", one[1], client=f"client-{one[0]}"),
                     [(turn, name) for turn in range(2) for name in names])
        self.out.requests.wait_until(lambda watch: sum(states[-1] == "Completed" for states in watch.states.values()) == 200,
                                     60, "all requests to be completed")
        self._check_limit(5)
        self._check_order()
        self.assertEqual(self.out.requests.most, 5, "the limit is used up")
        self.assertEqual(careen.stop(), 0)

    def test_killed_between_write_and_cache(self):
        """Whoever comes after the one that was killed right after an approval counts it."""
        self.limit(limit=4)  # of 50: two
        self._finisher()
        for index, name in enumerate(self.node_names[:24]):
            self.request(f"mr-{index:02d}", name)
        for turn in range(4):
            careen = self.start_requests()
            self.wait_approved(5 * (turn + 1), 60)
            careen.kill()
        self.start_requests()
        self.out.requests.wait_until(lambda watch: sum(states[-1] == "Completed" for states in watch.states.values()) == 24,
                                     60, "all requests to be completed")
        self._check_limit(2)
        self._check_order()

    def test_two_leaders_in_turn(self):
        """Under election: the second takes over with what the first has approved."""
        self.limit(limit=4)
        first = self.start_elected(None, "--controllers=requests").wait_ready()
        for index, name in enumerate(self.node_names[:6]):
            self.request(f"mr-{index}", name)
        self.wait_approved(2)
        second = self.start_elected(None, "--controllers=requests")
        self.assertEqual(first.stop(), 0)
        second.wait_ready()
        self._finisher()
        self.wait_approved(6)
        self._check_limit(2)
        self._check_order()

    def test_actor_dies_in_each_state(self):
        """Approved and never begun, begun without a trace, done but not said so, said so but still cordoned: the place is
        free again in the end, without anybody's help."""
        nodes = self.node_names[:4]
        self.limit(limit=8, timeouts={"approvedSeconds": 2, "evidenceSeconds": 3})
        self.start_requests().wait_ready()
        for node, step in zip(nodes, ("InProgress", "cordon", "Completed", "uncordon")):
            with self.assertRaises(Died):
                Asker(self.cluster, f"dies-{step.lower()}").maintain(node, dies_at=step)
        # Somebody else takes the cordon away, so that the known actor never says Completed.
        cordon(self.api, nodes[2], False)
        by_node = {one["spec"]["name"]: name for name, one in self.out.requests.objects.items()}
        for node, state, reason in ((nodes[0], "Rejected", "ApprovalExpired"), (nodes[1], "Rejected", "NoWorkSeen"),
                                    (nodes[2], "Completed", "FinishedByEvidence"), (nodes[3], "Completed", None)):
            self.wait_request_state(by_node[node], state)
            if reason:
                self.wait_reason(by_node[node], reason)
        self.assertTrue(self.node(nodes[3])["spec"].get("unschedulable"), "careen does not undo another's cordon")
        self._check_limit(4)
        self._check_order()
        # The actor's next attempt after NoWorkSeen makes a request anew, once the rejected one is gone.
        self.api.delete(f"{REQUESTS}/{by_node[nodes[1]]}")
        Asker(self.cluster, "dies-cordon").maintain(nodes[1])

    def test_two_installations_share_a_name(self):
        """The known actor is known by its namespace: two of them in one share a request, and nobody is confused."""
        node = self.node_names[0]
        self.limit(limit=2)
        self.start_requests().wait_ready()
        one, other = (Asker(self.cluster, "twins") for _ in range(2))
        poll(lambda: one.is_approved(node), 30, "the approval")
        self.assertTrue(other.is_approved(node))
        self.assertEqual(len(self.out.requests.objects), 1)
        one.update(node, "InProgress")
        self.assertFalse(other.is_approved(node), "as in the original: it says yes to Approved alone")
        other.update(node, "Completed")
        self._check_order()

    def test_two_actors_on_one_node(self):
        """The second waits for the first, however many places there are."""
        node = self.node_names[0]
        self.limit(limit=100)
        self.start_requests().wait_ready()
        self.request("first", node, client="one")
        self.wait_request_state("first", "Approved")
        self.request("second", node, client="two")
        self.wait_reason("second", "TargetBusy")
        self.set_state("first", "InProgress")
        self.set_state("first", "Completed")
        self.wait_request_state("second", "Approved")
        self.assertEqual(self.out.requests.shared, set())

    def test_node_whose_kubelet_is_gone(self):
        """Ready is Unknown: it counts as out, so that no other is taken; its own repair needs no part of the limit."""
        lost, other = self.node_names[:2]
        self.limit(limit=2, policies=["NotReady", "Unschedulable"])  # of 50: one
        self.start_requests().wait_ready()
        self.api.patch(f"/api/v1/nodes/{lost}", {"metadata": {"labels": {"testcluster/kubelet": "stopped"}}})
        self.addCleanup(self._revive, lost)
        # The control plane would need 50 s to find out.
        self._unknown(lost)
        self.wait_limit(lambda status: status.get("unavailable", {}).get(lost) == "NotReady")
        self.request("other", other)
        self.wait_request("other", lambda one: "NotReady" in one.get("status", {}).get("message", ""), 30, "the reason")
        self.request("repair", lost)
        self.wait_request_state("repair", "Approved")
        self.assertEqual(self.request_named("other")["spec"]["state"], "Pending")
        self.set_state("repair", "Completed")
        self._revive(lost)
        self.wait_request_state("other", "Approved", 60)

    def _unknown(self, name):
        node = self.api.get(f"/api/v1/nodes/{name}")
        for one in node["status"]["conditions"]:
            if one["type"] == "Ready":
                one.update(status="Unknown", reason="NodeStatusUnknown")
        self.api.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": node["status"]["conditions"]}})

    def _revive(self, name):
        self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"testcluster/kubelet": None}}})
        poll(lambda: any(one["type"] == "Ready" and one["status"] == "True"
                         for one in self.node(name)["status"]["conditions"]), 60, f"{name} to be ready", 0.2)

    def test_ten_thousand_finished(self):
        """Ten thousand requests that are over cost the living nothing."""
        self.limit(limit=2)
        body = {"apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceRequest"}
        side_by_side(lambda index: self.api.call("POST", REQUESTS, {
            **body, "metadata": {"name": f"old-{index:05d}"},
            "spec": {"name": self.node_names[index % 50], "type": "node", "state": "Completed"}}), range(10000), 16)
        careen = self.start_requests().wait_ready(60)
        self.audit.mark()
        self.request("new", self.node_names[0])
        self.wait_request_state("new", "Approved")
        begun = time.monotonic()
        self.set_state("new", "InProgress")
        self.set_state("new", "Completed")
        self.request("next", self.node_names[1])
        self.wait_request_state("next", "Approved")
        self.assertLess(time.monotonic() - begun, 10)
        old = {entry["objectRef"].get("name") for entry in self.audit.entries() if entry["verb"] in ("patch", "update", "delete")
               and entry["objectRef"].get("resource") == "maintenancerequests"}
        self.assertEqual({name for name in old if name.startswith("old-")}, set(), "nothing is written to what is over")
        self.assertEqual(careen.stop(), 0)

    def test_overlapping_selectors(self):
        """A node needs a place in each limit that selects it, and takes none where another has none."""
        a, b, c = self.node_names[:3]
        self.label([a, b], {"e2e.careen.dev/left": "1"})
        self.label([b, c], {"e2e.careen.dev/right": "1"})
        self.limit("left", type="node", maxUnavailable=1, count="Policies",
                   selector={"matchLabels": {"e2e.careen.dev/left": "1"}})
        self.limit("right", type="node", maxUnavailable=1, count="Policies",
                   selector={"matchLabels": {"e2e.careen.dev/right": "1"}})
        self.start_requests().wait_ready()
        self.request("on-a", a)
        self.wait_request_state("on-a", "Approved")
        self.request("on-b", b)
        waiting = self.wait_request("on-b", lambda one: "left" in one.get("status", {}).get("message", ""), 30,
                                    "the limit to be named")
        self.assertEqual(waiting["spec"]["state"], "Pending")
        self.request("on-c", c)
        self.wait_request_state("on-c", "Approved")
        self.set_state("on-a", "Completed")
        self.wait_request("on-b", lambda one: "right" in one.get("status", {}).get("message", ""), 30, "the other limit")
        self.set_state("on-c", "Completed")
        self.wait_request_state("on-b", "Approved")

    def test_leader_dies_during_a_drain(self):
        """A request whose limit drains: cordoned, emptied and only then approved, also when careen dies in between."""
        node = self.node_names[0]
        self.pool(node)
        self.deployment("db", 2)
        self.budget("db", "db", 2)
        self.limit(limit=2, drain={"enabled": True})
        careen = self.start_requests().wait_ready()
        self.request("drained", node)
        self.wait_request("drained", lambda one: one.get("status", {}).get("phase") == "Draining", 30, "the drain to begin")
        self.assertTrue(self.node(node)["spec"].get("unschedulable"))
        careen.kill()
        self.start_requests().wait_ready()
        self.free_budget("db")
        self.wait_request_state("drained", "Approved", 60)
        self.assertEqual([pod for pod in self.pods(node) if "deletionTimestamp" not in pod["metadata"]], [])
        self.set_state("drained", "Completed")
        poll(lambda: not self.node(node)["spec"].get("unschedulable"), 30, "the node to be uncordoned")

    # --- definitions of the original ---------------------------------------------

    def _rewrite_definition(self, plural, change):
        """In etcd itself: the API server refuses to store one that does not prune."""
        key = base64.b64encode(f"/registry/apiextensions.k8s.io/customresourcedefinitions/{plural}.repairman.k8s.io".encode())
        found = self.cluster.etcd("/v3/kv/range", {"key": key.decode()})["kvs"][0]["value"]
        definition = json.loads(base64.b64decode(found))
        change(definition)
        self.cluster.etcd("/v3/kv/put", {"key": key.decode(),
                                         "value": base64.b64encode(json.dumps(definition).encode()).decode()})

    def test_definitions_of_another_time(self):
        """The original's CRD as it lives on in upgraded clusters: nothing is pruned, and Rejected is no word of its enum.
        A request that has to end is deleted then, after an Event that says why."""
        def as_born(definition):
            definition["spec"]["preserveUnknownFields"] = True
            # It is stored as v1beta1 to this day.
            schema = definition["spec"]["validation"]["openAPIV3Schema"]["properties"]
            schema["spec"] = {"type": "object", "properties": {
                "name": {"type": "string"}, "type": {"type": "string", "enum": ["node"]},
                "state": {"type": "string", "enum": ["Pending", "Approved", "InProgress", "Completed"]}}}
            schema["status"] = {"type": "object"}
        self._rewrite_definition("maintenancerequests", as_born)
        self._rewrite_definition("maintenancelimits", lambda definition: definition["spec"].update(preserveUnknownFields=True))
        poll(lambda: self.api.get(f"{CRD}/maintenancerequests.repairman.k8s.io")["spec"].get("preserveUnknownFields"), 30,
             "the API server to see the old definition")
        poll(self._refuses_rejected, 30, "the old enum to be in force")
        self.limit(limit=2, timeouts={"approvedSeconds": 1})
        self.start_requests().wait_ready()
        self.request("late", self.node_names[0], foo="bar")
        self.wait_request_state("late", "Approved")
        self.out.requests.wait_until(lambda watch: "late" not in watch.objects, 30, "the request to be deleted")
        poll(lambda: any(reason == "MaintenanceRejected" for _, reason, _ in self.maintenance_events(
            "late", "MaintenanceRequest")), 20, "the event that says why")
        # Whoever applies careen's own definition with its explicit false has it pruned again, and everything goes on.
        for crd in ("maintenancerequest", "maintenancelimit"):
            self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f",
                                 os.path.join(ROOT, "deploy", "crds", f"{crd}.yaml"))
        poll(lambda: not self.api.get(f"{CRD}/maintenancerequests.repairman.k8s.io")["spec"].get("preserveUnknownFields"), 30,
             "the definition to prune again")
        self.request("after", self.node_names[1])
        self.wait_request_state("after", "Approved")

    def _refuses_rejected(self):
        status, _ = self.api.raw("POST", REQUESTS + "?dryRun=All", json.dumps({
            "apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceRequest", "metadata": {"name": "probe"},
            "spec": {"name": "x", "type": "node", "state": "Rejected"}}))
        return status == 422

    # --- together with the rest ----------------------------------------------------

    def test_freed_place_is_given_at_once(self):
        """Not after a minute: a script that does ten nodes with one place does not wait between them."""
        self.limit(limit=2)
        self.start_requests().wait_ready()
        script = RequestsScript(self.cluster, "script", self.node_names[:3])
        self.addCleanup(script.stop)
        script.start().join(60)
        self._check_limit(1)
        self.assertEqual({states[-1] for states in self.out.requests.states.values()}, {"Completed"})
        limit = self.wait_limit(lambda status: status.get("limit") == 1)
        self.assertEqual(condition(limit, "Valid")[0] if condition(limit, "Valid") else "True", "True")
