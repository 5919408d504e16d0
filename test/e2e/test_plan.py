"""careen plan and careen snapshot: what is planned is what happens, in the same order and about as fast."""

import datetime
import json
import os
import subprocess

from careen import poll
from harness import CareenTest, Environment, profile_config

STAY = 4  # seconds in maintenance
LIMIT = 3
COUNT = 12


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class PlanTest(CareenTest):

    def setUp(self):
        super().setUp()
        self.names = self.node_names[:COUNT]
        self.path = self.write("maintenance.yaml", profile_config(limit=LIMIT, stay=f"{STAY}s"))

    def careen(self, *arguments):
        ended = subprocess.run([Environment.binary, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def plan(self, *arguments):
        return json.loads(self.careen("plan", "--for", "1h", "-o", "json", *arguments))

    def entered(self):
        """When each node entered maintenance, as its event tells."""
        times = {}
        for event in self.events():
            if "in-maintenance" in event["note"]:
                time = event.get("eventTime") or event["metadata"]["creationTimestamp"]
                times.setdefault(event["regarding"]["name"], seconds(time))
        return times

    def test_what_is_planned_happens(self):
        """Twelve nodes, three at a time: the same groups in the same order, and the same time within the noise."""
        self.want_maintenance(self.names)
        plan = self.plan("--kubeconfig", self.cluster.kubeconfig, "--config", self.path)
        rows = [row for row in plan["rows"] if row["profile"] == "e2e"]
        self.assertEqual(sorted(row["node"] for row in rows), self.names)
        self.assertEqual(plan["stuck"], [])
        self.assertEqual(plan["atOnce"], LIMIT)
        self.assertEqual(plan["limits"][0]["what"], "maxMaintenance room")
        planned = max(seconds(row["end"]) for row in rows) - min(seconds(row["begin"]) for row in rows)

        self.start(self.path).wait_ready()
        self.watch.wait_until(self.done(self.names), 180, "the end of the round")
        poll(lambda: set(self.names) <= set(self.entered()), 30, "an event of each node")
        times = self.entered()
        real = max(times.values()) + STAY - min(times.values())
        self.assertLess(abs(real - planned), planned * 0.5 + 10, f"planned {planned} s, took {real} s")

        # A node that is planned two groups before another one went before it. The first places go to the nodes whose
        # labels were answered first: a matter of milliseconds, which no plan can foresee.
        raced = {name for name in self.names if times[name] - min(times.values()) < STAY - 1}
        group = {row["node"]: (seconds(row["begin"]) - seconds(rows[0]["begin"])) // (STAY - 1) for row in rows}
        for first in self.names:
            for second in self.names:
                if group[first] + 2 <= group[second] and second not in raced:
                    self.assertLessEqual(times[first], times[second], f"{first} was planned before {second}")

    def test_snapshot_is_planned_like_the_cluster(self):
        """A file with the cluster and its configuration gives the same plan, and holds no secrets of pods."""
        self.api.create(f"/api/v1/namespaces/{self.namespace}/pods", {
            "metadata": {"name": "secretive", "annotations": {"example.com/a": "hunter2"}},
            "spec": {"containers": [{"name": "c", "image": "none", "command": ["hunter2"],
                                     "env": [{"name": "PASSWORD", "value": "hunter2"}]}]}})
        # It may be on any node, and would be in the way of a drain.
        self.addCleanup(self.api.delete, f"/api/v1/namespaces/{self.namespace}/pods/secretive")
        self.want_maintenance(self.names)
        cluster = ["--kubeconfig", self.cluster.kubeconfig]
        plain, packed = (os.path.join(self.folder, name) for name in ("cluster.json", "cluster.json.gz"))
        self.careen("snapshot", "-o", plain, "--config", self.path, *cluster)
        self.careen("snapshot", "-o", packed, "--config", self.path, *cluster)
        with open(plain) as file:
            text = file.read()
        self.assertNotIn("hunter2", text)
        self.assertIn("secretive", text)
        self.assertLess(os.path.getsize(packed), len(text) / 3)
        live = self.plan("--config", self.path, *cluster)
        nodes = [row["node"] for row in live["rows"]]
        for file in (plain, packed):
            self.assertEqual([row["node"] for row in self.plan("--snapshot", file)["rows"]], nodes)
        self.assertIn("All is done on", self.careen("plan", "--snapshot", plain))
        self.assertIn("BEGIN:VEVENT", self.careen("plan", "--snapshot", plain, "-o", "ical"))
        self.assertIn("<svg", self.careen("plan", "--snapshot", plain, "-o", "html"))

    def test_compares_configurations(self):
        """Twice as many at once are done earlier."""
        self.want_maintenance(self.names)
        wider = self.write("wider.yaml", profile_config(limit=2 * LIMIT, stay=f"{STAY}s"))
        table = self.careen("plan", "--kubeconfig", self.cluster.kubeconfig, "--compare", self.path, wider)
        self.assertRegex(table, r"ends .*earlier")
        self.assertRegex(table, r"nodes at once +3 +6 +3 more")
