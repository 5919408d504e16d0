"""The emergency stop: careen pause and careen resume, as an operator types them."""

import json
import subprocess
import time

from careen import poll
from harness import CareenTest, Environment

QUIET = 6  # seconds in which nothing may move; a node's turn takes a fraction of one


class PauseTest(CareenTest):

    def setUp(self):
        super().setUp()
        # Whatever happens, no later test may find everything stopped.
        self.addCleanup(self._careen, "resume")

    def _careen(self, command, *arguments, code=0):
        """stdout and stderr of a command that must end with this code; about this test's namespace."""
        result = subprocess.run(
            [Environment.binary, command, "--kubeconfig", self.cluster.kubeconfig, "-n", self.namespace, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout, result.stderr

    def _check_quiet(self):
        """No node moves for a while."""
        # What was on the wire when the pause came.
        time.sleep(1)
        before = {name: list(states) for name, states in self.watch.history.items()}
        time.sleep(QUIET)
        self.assertEqual({name: list(states) for name, states in self.watch.history.items()}, before)

    def _told(self, replica, paused):
        poll(lambda: len(replica.metrics().find("careen_paused", profile="")) == paused, 30,
             f"careen_paused of {replica.log_path}")

    def test_stop_restart_and_go_on(self):
        """In the middle of a campaign everything stops, also for the next process, until it is resumed."""
        first = self.start_elected().wait_ready()
        self.wait_leading(first)
        self.want_maintenance()
        self.watch.wait_until(self.some_done(5), 60, "the first five nodes")

        out, _ = self._careen("pause", "--reason", "broken images")
        self.assertEqual(out, "paused: everything\n")
        self._told(first, 1)
        self._check_quiet()
        self.assertFalse(self.done()(self.watch), "the campaign was over before it was stopped")
        out, _ = self._careen("pause")
        self.assertRegex(out, r"^already paused: everything \(paused by \S+@\S+ since \S+Z: broken images\)\n$")

        self.assertEqual(first.stop(), 0)
        second = self.start_elected().wait_ready()
        self.wait_leading(second)
        self._told(second, 1)
        self._check_quiet()

        out, _ = self._careen("resume")
        self.assertRegex(out, r"^resumed: everything \(was paused by \S+@\S+ since \S+Z: broken images\)\n$")
        self._told(second, 0)
        self.watch.wait_until(self.done(), 120, "the end of the round")
        self.check_round()
        self.assertEqual(self._careen("resume")[0], "nothing is paused\n")
        events, _ = self.api.list(f"/api/v1/namespaces/{self.namespace}/events")
        reasons = [event["reason"] for event in events if event["involvedObject"]["name"] == "careen-pause"]
        self.assertEqual(sorted(reasons), ["Paused", "Resumed"])

    def test_one_profile(self):
        """The pause of a profile, and what pausing and resuming say of it."""
        careen = self.start_elected().wait_ready()
        self.wait_leading(careen)
        _, err = self._careen("pause", "--profile", "e2f")
        self.assertIn('Warning: no node has profile "e2f"', err)
        out, _ = self._careen("pause", "--profile", "e2e", "-o", "json")
        document = json.loads(out)
        self.assertEqual((document["namespace"], document["changed"]), (self.namespace, True))
        self.assertEqual([pause["profile"] for pause in document["pauses"]], ["e2e", "e2f"])
        poll(lambda: careen.metrics().sum("careen_paused") == 2, 30, "both pauses to be known")
        self.want_maintenance(self.node_names[:4])
        self.watch.wait_until(lambda watch: all(watch.history.get(name) for name in self.node_names[:4]), 30,
                              "the nodes to have a state")
        self._check_quiet()
        self.assertEqual({state for name in self.node_names[:4] for state in self.watch.history[name]}, {"operational"})

        self._careen("pause")
        _, err = self._careen("resume", "--profile", "e2e")
        self.assertIn("everything is still paused by", err)
        self._careen("resume", "--profile", "e2e", code=1)
        out, _ = self._careen("resume")
        self.assertEqual(len(out.splitlines()), 2, out)
        self.watch.wait_until(self.done(self.node_names[:4]), 60, "the round of the four nodes")

    def test_drain_is_refused(self):
        """careen drain asks, too."""
        self._careen("pause", "--reason", "look at it first")
        node = self.node_names[0]
        command = [Environment.binary, "drain", "--kubeconfig", self.cluster.kubeconfig, node, "--ignore-daemonsets"]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertRegex(refused.stderr, r"error: careen is paused by \S+ since \S+Z: look at it first \(lease "
                                         rf"{self.namespace}/careen-pause\); .*--ignore-pause")
        self.assertFalse(self.api.get(f"/api/v1/nodes/{node}")["spec"].get("unschedulable"))
        try:
            done = subprocess.run([*command, "--ignore-pause"], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Warning: careen is paused by", done.stderr)
        finally:
            self.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"careen.dev/holds": None}},
                                                     "spec": {"unschedulable": None}})
