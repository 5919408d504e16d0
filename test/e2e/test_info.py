"""/api/v1/info of two replicas: the same answer, whichever is asked."""

import json
import urllib.request

import data_annotation
from careen import free_port, poll
from harness import CareenTest, profile_config
from node_watch import PROFILE

_TEXT, _YES = str, bool


def check_shape(test, node):
    """Each field that readers know is there with its type; what careen adds is named here too."""
    def fields(value, wanted, more=()):
        test.assertIsInstance(value, dict)
        test.assertEqual(set(wanted) - set(value), set(), f"fields that are missing in {value}")
        test.assertEqual(set(value) - set(wanted) - set(more), set(), f"fields that nobody knows in {value}")
        for key, kind in wanted.items():
            test.assertIsInstance(value[key], kind, key)

    fields(node, {"node": _TEXT, "profiles": list, "labels": dict, "updated": _TEXT}, ["pending"])
    data_annotation.check_time(node["updated"], "updated")
    for profile in node["profiles"]:
        fields(profile, {"name": _TEXT, "state": _TEXT, "applied": dict}, ["wake"])
        test.assertIn(profile["state"], data_annotation.STATES)
        fields(profile["applied"], {"next": _TEXT, "error": _TEXT, "transitions": list})
        for transition in profile["applied"]["transitions"]:
            fields(transition, {"passed": _YES, "target": _TEXT, "error": _TEXT, "chain": dict})
            fields(transition["chain"], {"passed": _YES, "expression": _TEXT, "info": dict})
            for check in transition["chain"]["info"].values():
                fields(check, {"id": _TEXT, "passed": _YES, "info": dict}, ["reason"])


class InfoTest(CareenTest):

    def _replica(self, name, address, port, config):
        """As in a pod: its name in the identity, and an address of its own."""
        return self.start_elected(config, address=address, metrics_port=port, environment={"POD_NAME": name})

    def _make_pod(self, name, address):
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        self.api.create(pods, {"metadata": {"name": name}, "spec": {
            "schedulerName": "nobody", "containers": [{"name": "careen", "image": "example.com/careen"}]}})
        self.addCleanup(self.api.delete, f"{pods}/{name}?gracePeriodSeconds=0")
        self.api.patch(f"{pods}/{name}/status", {"status": {"podIP": address, "podIPs": [{"ip": address}]}})

    def test_two_replicas(self):
        port, names = free_port(), self.node_names[:3]
        config = self.write("maintenance.yaml", profile_config(limit=2, stay="1h") +
                            f"dashboard: {{labelFilter: [{PROFILE}]}}\n")
        first = self._replica("careen-a", "127.0.0.2", port, config).wait_ready()
        self.wait_leading(first)
        self.assertTrue(self.holder().startswith("careen-a_"), self.holder())
        second = self._replica("careen-b", "127.0.0.3", port, config).wait_ready()
        self.want_maintenance(names)
        self.watch.wait_until(lambda watch: watch.maintained == 2, 30, "two nodes in maintenance")

        def error():
            status, text = second.get("/api/v1/info")
            return (status, json.loads(text)) if status == 502 else None
        _, answer = poll(error, 20, "the follower to miss the leader's pod")
        self.assertEqual(list(answer), ["error"])
        self.assertIn(f"{self.namespace}/careen-a", answer["error"])

        poll(lambda: self.api.get(f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default"), 20,
             "the namespace's service account")
        self._make_pod("careen-a", "127.0.0.2")
        self._make_pod("careen-b", "127.0.0.3")
        poll(lambda: second.get("/api/v1/info")[0] == 200, 20, "the follower to find the leader")
        self._check_documents(first, second, names)
        self._check_page(first)
        self._check_page(second)

        self.assertEqual(first.stop(), 0)
        self.wait_leading(second)
        poll(lambda: second.get("/api/v1/info")[0] == 200, 20, "the new leader's own answer")
        self.assertEqual(sorted(second.info()), self.node_names)

    def _check_documents(self, leader, follower, names):
        poll(lambda: _without_times(leader) == _without_times(follower), 20, "the same answer from both")
        nodes = follower.info()
        self.assertEqual(list(nodes), sorted(self.node_names))
        for node in nodes.values():
            check_shape(self, node)
        self.assertEqual(nodes[names[0]]["labels"], {PROFILE: "e2e"})
        self.assertEqual(nodes[self.node_names[-1]]["profiles"][0]["name"], "default")
        states = sorted(nodes[name]["profiles"][0]["state"] for name in names)
        self.assertEqual(states, ["in-maintenance", "in-maintenance", "maintenance-required"])
        waiting = next(nodes[name] for name in names
                       if nodes[name]["profiles"][0]["state"] == "maintenance-required")
        self.assertEqual(waiting["profiles"][0]["applied"]["transitions"], [{
            "passed": False, "target": "in-maintenance", "error": "",
            "chain": {"passed": False, "expression": "room", "info": {"room": {
                "id": "maxMaintenance", "passed": False,
                "info": {"scope": "all nodes in the cluster", "maintained": 2, "max": 2},
                "reason": waiting["profiles"][0]["applied"]["transitions"][0]["chain"]["info"]["room"]["reason"]}}}}])

    def _check_page(self, replica):
        with urllib.request.urlopen(f"http://{replica.address}:{replica.metrics_port}/", timeout=10) as page:
            self.assertEqual(page.status, 200)
            self.assertTrue(page.headers["Content-Type"].startswith("text/html"))
            self.assertIn("careen", page.read().decode())


def _without_times(replica):
    nodes = replica.info()
    for node in nodes.values():
        del node["updated"]
        for profile in node["profiles"]:
            for transition in profile["applied"]["transitions"]:
                for check in transition["chain"]["info"].values():
                    check["info"].pop("remaining_seconds", None)
                    check.pop("reason", None)
    return nodes
