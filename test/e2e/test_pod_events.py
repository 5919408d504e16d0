"""What a profile's drain leaves at the pods: the events Evicting and, where it forces something, ForceDeleting."""

import json
import os

from careen import poll
from cluster import ROOT
from harness import WANTED, CareenTest
from node_watch import STATE, labels
from test_service_account import CHART, HOME

CONFIG = f"""\
intervals: {{requeue: 5s}}
instances:
  check:
  - {{name: wanted, type: hasLabel, config: {{key: {WANTED}}}}}
  trigger:
  - {{name: drain, type: eviction, config: {{action: drain}}}}
  - {{name: force, type: eviction, config: {{action: drain, forceEviction: true, evictionTimeout: 1m, deletionTimeout: 2s}}}}
  - {{name: uncordon, type: eviction, config: {{action: uncordon}}}}
profiles:
- name: e2e
  operational: {{transitions: [{{check: wanted, trigger: drain, next: in-maintenance}}]}}
  in-maintenance: {{transitions: [{{check: "!wanted", trigger: uncordon, next: operational}}]}}
- name: forced
  operational: {{transitions: [{{check: wanted, trigger: force, next: in-maintenance}}]}}
  in-maintenance: {{transitions: [{{check: "!wanted", trigger: uncordon, next: operational}}]}}
"""


class PodEventsTest(CareenTest):

    def setUp(self):
        super().setUp()
        self.node = self.node_names[0]
        self.uids = {}

    def _pod(self, name, annotations=None):
        pod = self.api.call("POST", f"/api/v1/namespaces/{self.namespace}/pods", {
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"nodeName": self.node, "terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "c", "image": "example.com/app:1"}]}})
        self.uids[name] = pod["metadata"]["uid"]

    def _drain(self, *flags, profile="e2e", **changes):
        careen = self.start(self.write("maintenance.yaml", CONFIG), *flags, **changes).wait_ready()
        self.want_maintenance([self.node], profile=profile)
        self.watch.wait_until(lambda watch: labels(watch.nodes[self.node]).get(STATE) == "in-maintenance", 120,
                              "the node to be drained")
        return careen

    def _pod_events(self, reason="Evicting"):
        items, _ = self.api.list(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        return [event for event in items if event.get("reason") == reason]

    def test_events_under_the_shipped_roles(self):
        """One at each pod, in its namespace, with the words of the original; nothing is refused."""
        for name in ("one", "two"):
            self._pod(name)
        with open(os.path.join(ROOT, "deploy", "rbac.yaml")) as file:
            manifest = file.read()
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}))
        self.cluster.kubectl("apply", "-f", "-", stdin=manifest)
        token = self.write("token", self.token(HOME, "careen"))
        kubeconfig = self.kubeconfig(user={"tokenFile": token}, namespace=HOME)
        careen = self._drain("--leader-election-namespace", HOME, kubeconfig=kubeconfig)
        poll(lambda: len(self._pod_events()) == 2, 20, "an event at each pod")
        self.assertEqual(careen.open_problems(), {})
        node_uid = self.api.get(f"/api/v1/nodes/{self.node}")["metadata"]["uid"]
        for event in self._pod_events():
            name = event["regarding"]["name"]
            self.assertEqual((event["regarding"]["kind"], event["regarding"]["namespace"], event["regarding"]["uid"]),
                             ("Pod", self.namespace, self.uids.pop(name)))
            self.assertEqual((event["related"]["kind"], event["related"]["name"], event["related"]["uid"]),
                             ("Node", self.node, node_uid))
            self.assertEqual((event["type"], event["action"], event["note"], event["reportingController"]),
                             ("Normal", "Drain", "Evicting pod during node drain", "maintenance"))
            self.assertTrue(event["reportingInstance"].startswith("maintenance-"))
            self.assertTrue(event["metadata"]["name"].startswith(name + "."))
        shown = self.cluster.kubectl("get", "events", "-n", self.namespace)
        self.assertEqual(shown.count("Evicting pod during node drain"), 2, shown)
        self.assertEqual(careen.stop(), 0)

    def test_a_pod_that_does_not_end(self):
        """It is deleted by force, and its event says so."""
        self._pod("stubborn", {"testcluster/termination-time": "never"})
        careen = self._drain(profile="forced")
        poll(lambda: self._pod_events("ForceDeleting"), 20, "the event")
        event, = self._pod_events("ForceDeleting")
        self.assertEqual((event["regarding"]["name"], event["action"], event["note"]),
                         ("stubborn", "Drain", "Force deleting pod that exceeded grace period during node drain"))
        self.assertEqual(careen.stop(), 0)

    def test_core_events_where_the_role_has_no_other(self):
        """The roles before v2.1.0 of the original."""
        self._pod("one")
        rules = [rule if rule["resources"] != ["events"] else {**rule, "apiGroups": [""]} for rule in CHART]
        token = self.service_account("older")
        self.grant_rules("older", rules)
        careen = self._drain(kubeconfig=self.kubeconfig(user={"token": token}))
        poll(lambda: len(self._pod_events()) == 1, 20, "an event at the pod")
        items, _ = self.api.list(f"/api/v1/namespaces/{self.namespace}/events")
        event, = [event for event in items if event["reason"] == "Evicting"]
        self.assertEqual((event["source"]["component"], event["message"], event["count"]),
                         ("maintenance", "Evicting pod during node drain", 1))
        self.assertNotIn("events", careen.open_problems())
        self.assertEqual(careen.stop(), 0)

    def test_turned_off(self):
        self._pod("one")
        careen = self._drain("--pod-events=false")
        poll(lambda: self.events(), 20, "the event of the node")
        self.assertEqual(careen.stop(), 0)
        self.assertEqual(self._pod_events(), [])
