"""Ending a replica, and handing over to another."""

import json
import signal
import threading
import time

from careen import poll
from harness import LOCK, CareenTest, elapsed_since, profile_config


class SignalTest(CareenTest):

    def test_sigterm_ends_with_code_0(self):
        for elected in (False, True):
            with self.subTest(elected=elected):
                careen = (self.start_elected() if elected else self.start()).wait_ready()
                begun = time.monotonic()
                self.assertEqual(careen.stop(10), 0)
                self.assertLess(elapsed_since(begun), 5)
                self.assertEqual(careen.complaints("panic|abort|bug"), [])

    def test_sigint_in_the_middle_of_a_round_loses_nothing(self):
        """What is under way is finished; the next process continues where this one stopped."""
        careen = self.start().wait_ready()
        self.want_maintenance()
        self.watch.wait_until(self.some_done(5), 60, "the first five nodes")
        careen.signal(signal.SIGINT)
        self.assertEqual(careen.wait_exit(20), 0)
        self.start().wait_ready()
        self.watch.wait_until(self.done(), 120, "the end of the round")
        self.check_round()

    def test_second_signal_ends_at_once(self):
        """While a stop waits for a last scrape of the metrics, a second signal does not wait."""
        careen = self.start(None, "--metrics-timeout=60s").wait_ready()
        careen.metrics()
        careen.metrics()  # twice: somebody scrapes regularly
        careen.signal(signal.SIGTERM)
        careen.wait_log(lambda line: "scrape" in line["msg"], 10, "the wait for a scrape")
        self.assertTrue(careen.alive())
        begun = time.monotonic()
        careen.signal(signal.SIGTERM)
        self.assertEqual(careen.wait_exit(5), 1)
        self.assertLess(elapsed_since(begun), 2)

    def test_last_scrape_ends_the_wait(self):
        careen = self.start(None, "--metrics-timeout=60s").wait_ready()
        careen.metrics()
        careen.metrics()  # twice: somebody scrapes regularly
        careen.signal(signal.SIGTERM)
        careen.wait_log(lambda line: "scrape" in line["msg"], 10, "the wait for a scrape")
        careen.metrics()
        self.assertEqual(careen.wait_exit(10), 0)

    def test_stop_before_anything_works(self):
        """A process that never reached a server stops as well as any other."""
        careen = self.start(kubeconfig=self.kubeconfig(server="https://127.0.0.1:9"))
        poll(lambda: careen.readyz()[0] == 503, 15, "the probe")
        self.assertEqual(careen.stop(10), 0)

    def test_planned_hand_over(self):
        """A leader that is stopped gives the lock away; the other replica leads a moment later and continues."""
        first = self.start_elected().wait_ready()
        self.wait_leading(first)
        second = self.start_elected().wait_ready()
        self.want_maintenance()
        self.watch.wait_until(self.some_done(5), 60, "the first five nodes")
        held = self.holder()
        taken = _Takeover(self, held)
        begun = time.monotonic()
        first.signal(signal.SIGTERM)
        at = taken.wait(20)
        self.assertEqual(first.wait_exit(20), 0)
        self.wait_leading(second, 10)
        self.assertLess(at - begun, 5, "the hand-over took too long")
        self.watch.wait_until(self.done(), 120, "the end of the round")
        self.check_round()
        self.assertEqual(second.complaints(), [])
        self.assertGreaterEqual(self.lease()["spec"]["leaseTransitions"], 1)

    def test_follower_does_nothing(self):
        """Ready, up to date, and silent."""
        first = self.start_elected().wait_ready()
        self.wait_leading(first)
        second = self.start_elected(self.write("other.yaml", profile_config())).wait_ready()
        self.want_maintenance(self.node_names[:6])
        self.watch.wait_until(self.done(self.node_names[:6]), 60, "the end of the round")
        metrics = second.metrics()
        self.assertEqual(metrics.sum("careen_node_writes_total"), 0)
        self.assertEqual(metrics.sum("leader_election_master_status"), 0)
        self.assertEqual(second.stop(), 0)
        self.assertEqual(first.metrics().sum("leader_election_master_status"), 1)


class _Takeover:
    """Watches the lock until somebody else than `held` has it."""

    def __init__(self, test, held):
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{test.namespace}/leases"
        self._api, self._held = test.api, held
        self._at = None
        _, version = self._api.list(self._path)
        self._connection, self._response = self._api.open_watch(self._path, 60, resourceVersion=version)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        for line in self._response:
            lease = json.loads(line)["object"]
            if lease["metadata"].get("name") != LOCK:
                continue
            holder = lease["spec"].get("holderIdentity", "")
            if holder and holder != self._held:
                self._at = time.monotonic()
                return

    def wait(self, seconds):
        self._thread.join(seconds)
        self._connection.close()
        if self._at is None:
            raise AssertionError(f"nobody took the lock within {seconds} s")
        return self._at
