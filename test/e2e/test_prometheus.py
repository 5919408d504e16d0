"""A real Prometheus decides when nodes may go."""

from harness import CareenTest
from careen import poll
from node_watch import PROFILE
from prometheus_server import Prometheus


def config(url):
    return f"""\
intervals:
  requeue: 1s
instances:
  check:
  - {{name: always, type: nodeCount, config: {{count: 1}}}}
  - {{name: quiet, type: prometheusInstant, config: {{url: "{url}", query: max(load), expr: value < 5}}}}
profiles:
- name: gated
  operational:
    transitions: [{{check: always, next: maintenance-required}}]
  maintenance-required:
    transitions: [{{check: quiet, next: in-maintenance}}]
"""


class PrometheusTest(CareenTest):

    def setUp(self):
        super().setUp()
        self.prometheus = Prometheus(self.folder, 10).start()
        self.addCleanup(self.prometheus.close)

    def _gate(self, careen, name):
        transition, = careen.info()[name]["profiles"][0]["applied"]["transitions"]
        return transition["chain"]["info"]["quiet"]

    def test_gate(self):
        """Closed by its value, by its absence and open again: every answer lets one node pass."""
        first, rest = self.node_names[0], self.node_names[1:7]
        self.label([first] + rest, {PROFILE: "gated"})
        self.prometheus.set(10)
        careen = self.start(self.write("maintenance.yaml", config(self.prometheus.url))).wait_ready()
        self.wait_state([first] + rest, "maintenance-required")
        gate = poll(lambda: (found := self._gate(careen, first))["info"].get("value") == 10 and found, 20,
                    "the value in the information about the node")
        self.assertEqual(gate["id"], "prometheusInstant")
        self.assertFalse(gate["passed"])
        self.assertEqual({key: gate["info"][key] for key in ("url", "query", "expr")},
                         {"url": self.prometheus.url, "query": "max(load)", "expr": "value < 5"})
        self.assertEqual(self.watch.maintained, 0)
        self.assertEqual(careen.metrics().sum("maintenance_controller_transition_failure_count"), 0)

        self._lose_prometheus(careen, first)
        before = careen.metrics().sum("careen_observations_total", result="success")
        self.prometheus.start().set(1)
        self.wait_state([first] + rest, "in-maintenance", 60)
        answers = careen.metrics().sum("careen_observations_total", result="success") - before
        self.assertGreaterEqual(answers, len(rest) + 1, "an answer for each node")
        self.assertEqual(careen.stop(), 0)

    def _lose_prometheus(self, careen, name):
        self.prometheus.stop()
        poll(lambda: careen.metrics().sum("maintenance_controller_transition_failure_count", profile="gated") > 0, 30,
             "the failure to be counted")
        event = poll(lambda: next(iter(self.events("ChangeMaintenanceStateFailed")), None), 20, "the event")
        self.assertEqual(event["note"], "At least one check plugin failed for profile gated: "
                                        "Will stay in maintenance-required state")
        gate = poll(lambda: (found := self._gate(careen, name))["info"].get("error") and found, 20, "the error")
        self.assertIn(self.prometheus.url, gate["info"]["error"])
        self.assertEqual(self.watch.maintained, 0)
        self.assertEqual(careen.readyz()[0], 200)
