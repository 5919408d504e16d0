"""A full round of maintenance, as its user sees it."""

import collections

from api import side_by_side
from audit import accepted, resource_of
from careen import poll
from harness import LIMIT, NODES, WANTED, CareenTest, profile_config
from node_watch import PROFILE, STATE, annotations, labels


class RoundTest(CareenTest):

    def test_round_of_all_nodes_under_a_limit(self):
        """All nodes pass through all states, three at a time, with three writes and three events each."""
        careen = self.start_elected().wait_ready()
        self.wait_leading(careen)
        self.watch.wait_until(lambda watch: all(labels(node).get(STATE) == "operational"
                                                for node in watch.nodes.values()), 60, "the state label on all nodes")
        poll(lambda: careen.metrics().sum("careen_node_writes_total") >= NODES, 20, "the answers to these writes")
        before = careen.metrics().sum("careen_node_writes_total")
        self.audit.mark()
        self.want_maintenance()
        self.watch.wait_until(self.done(), 120, "the end of the round")
        self.check_round()
        self.assertEqual(self.watch.most, LIMIT, "the limit is used")

        poll(lambda: len(self.events()) >= 3 * NODES, 20, "three events a node")
        self.assertEqual(careen.stop(), 0)
        events = collections.Counter()
        for event in self.events():
            self.assertEqual(event["regarding"]["kind"], "Node")
            self.assertEqual(event["type"], "Normal")
            events[event["regarding"]["name"], event["note"]] += 1
        self.assertEqual(events, {
            (name, f"The node is now in the {state} state caused by profile e2e"): 1
            for name in self.node_names for state in ("maintenance-required", "in-maintenance", "operational")})

        entries = self.audit.entries()
        writes = collections.Counter(entry["objectRef"]["name"] for entry in entries
                                     if resource_of(entry) == "nodes" and entry["verb"] not in ("get", "list", "watch")
                                     and accepted(entry))
        self.assertEqual({name: count for name, count in writes.items() if count > 3}, {}, "writes of one node")
        self.assertEqual(sum(writes.values()), 3 * NODES)
        ledger = [entry for entry in entries if resource_of(entry) == "leases" and accepted(entry)
                  and entry["objectRef"].get("name") == "careen-ledger"]
        self.assertTrue(ledger, "admissions are recorded in the ledger")
        refused = [(entry["verb"], entry["requestURI"], entry["responseStatus"]["code"])
                   for entry in entries if not accepted(entry)
                   and entry["responseStatus"]["code"] not in (404, 409)]
        self.assertEqual(refused, [], "requests that the server refused")
        self.assertEqual(before, NODES, "one write to initialise a node")
        self.assertEqual(careen.complaints(), [])

    def test_kubectl_shows_states_and_events(self):
        """What people type: states as a column, events by kubectl get events."""
        names = self.node_names[:4]
        careen = self.start(self.write("maintenance.yaml", _stay_in_maintenance())).wait_ready()
        self.want_maintenance(names)
        self.watch.wait_until(lambda watch: watch.maintained == 2, 30, "two nodes in maintenance")
        shown = {line.split()[0]: line.split()[-1] for line in self.cluster.kubectl(
            "get", "nodes", "--no-headers", "-L", STATE).splitlines()}
        counts = collections.Counter(shown[name] for name in names)
        self.assertEqual(counts, {"in-maintenance": 2, "maintenance-required": 2})
        self.assertEqual({shown[name] for name in self.node_names[4:]} - {"operational"}, set())
        maintained = next(name for name in names if shown[name] == "in-maintenance")
        poll(lambda: "in the in-maintenance state" in self.cluster.kubectl(
            "get", "events", "--field-selector", f"involvedObject.name={maintained},reason=ChangedMaintenanceState"),
            20, "the event in kubectl's list")
        poll(lambda: "ChangedMaintenanceState" in self.cluster.kubectl("describe", "node", maintained), 20,
             "the event in kubectl's description of the node")
        self.assertTrue(careen.alive())

    def test_nodes_that_come_and_go(self):
        """A node that is deleted in maintenance frees its place; one created under its name starts afresh."""
        names = self.node_names[:2]
        victim = {"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": "e2e-short-lived", "labels": {PROFILE: "e2e", WANTED: "true"}}}
        self.addCleanup(self.api.delete, "/api/v1/nodes/e2e-short-lived")
        self.start(self.write("maintenance.yaml", _stay_in_maintenance(limit=1))).wait_ready()
        self.api.create("/api/v1/nodes", victim)
        self.watch.wait_until(lambda watch: watch.history.get("e2e-short-lived", [])[-1:] == ["in-maintenance"], 30,
                              "the short-lived node in maintenance")
        self.want_maintenance(names[:1])
        self.watch.wait_until(lambda watch: watch.history.get(names[0], [])[-1:] == ["maintenance-required"], 30,
                              "the other node to wait")
        self.api.delete("/api/v1/nodes/e2e-short-lived")
        self.watch.wait_until(lambda watch: watch.history.get(names[0], [])[-1:] == ["in-maintenance"], 30,
                              "the place of the deleted node")
        self.api.create("/api/v1/nodes", victim)
        self.watch.wait_until(lambda watch: watch.history["e2e-short-lived"][2:] == ["maintenance-required"], 30,
                              "the node of the same name to start anew")
        self.assertEqual(self.watch.most, 1)
        self.api.delete("/api/v1/nodes/e2e-short-lived")
        self.watch.wait_until(lambda watch: "e2e-short-lived" not in watch.nodes, 30, "the node to go")

    def test_others_write_the_same_nodes(self):
        """Someone who writes the nodes all the time costs conflicts, and neither side loses a change."""
        names = self.node_names[:10]
        careen = self.start().wait_ready()
        self.want_maintenance(names)
        rounds = 0
        while not self.done(names)(self.watch) and rounds < 200:
            rounds += 1
            side_by_side(lambda name: self.api.patch(f"/api/v1/nodes/{name}", {
                "metadata": {"annotations": {"e2e.careen.dev/counter": str(rounds)}}}), names)
        self.watch.wait_until(self.done(names), 60, "the end of the round")
        self.check_round(names)
        self.assertTrue(careen.alive())
        for name in names:
            node = self.api.get(f"/api/v1/nodes/{name}")
            self.assertEqual(annotations(node)["e2e.careen.dev/counter"], str(rounds))


def _stay_in_maintenance(limit=2):
    """A round that stops in maintenance."""
    return profile_config(limit=limit, stay="1h")
