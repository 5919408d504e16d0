"""A leader that vanishes, or that wakes too late."""

import signal
import time

from careen import poll
from harness import UNSAFE, CareenTest, elapsed_since


class FailoverTest(CareenTest):

    def _two_replicas(self):
        first = self.start_elected().wait_ready()
        self.wait_leading(first)
        second = self.start_elected().wait_ready()
        self.want_maintenance()
        self.watch.wait_until(self.some_done(8), 60, "the first eight nodes")
        return first, second

    def test_leader_is_killed(self):
        """kill -9 in the middle: the other replica takes over when the lock has run out, and finishes."""
        first, second = self._two_replicas()
        first.kill()
        begun = time.monotonic()
        self.wait_leading(second, 40)
        took = elapsed_since(begun)
        self.assertGreater(took, 4, "the lock was taken while it was still held")
        self.assertLess(took, 30)
        self.watch.wait_until(self.done(), 120, "the end of the round")
        self.check_round()
        self.assertEqual(second.stop(), 0)

    def test_leader_is_suspended(self):
        """SIGSTOP until another leads: on waking it writes nothing more, and ends with code 1.

        The answer to a write that it sent before may still wait in its socket; on waking it reports that one too. The
        witness has then seen the node in that state long before the waking.
        """
        first, second = self._two_replicas()
        first.signal(signal.SIGSTOP)
        self.wait_leading(second, 40)
        told = len(self._moves_of(first))
        seen = {name: list(states) for name, states in self.watch.history.items()}
        first.signal(signal.SIGCONT)
        self.assertEqual(first.wait_exit(20), 1)
        self.watch.wait_until(self.done(), 120, "the end of the round")
        self.check_round()
        for move in self._moves_of(first)[told:]:
            self.assertIn(move["state"], seen.get(move["node"], []), f"{UNSAFE}a write after waking: {move}")
        self.assertTrue(second.alive())

    def _moves_of(self, replica):
        """Accepted moves as the replica's own log tells them."""
        return [line for line in replica.log("info") if "moved" in line["msg"]]

    def test_deleted_lock_and_ledger(self):
        """Somebody deletes both Leases in the middle: the limit still holds, and both are there again."""
        careen = self.start_elected().wait_ready()
        self.wait_leading(careen)
        self.want_maintenance()
        self.watch.wait_until(self.some_done(5), 60, "the first five nodes")
        base = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
        self.api.call("DELETE", base)
        self.watch.wait_until(self.done(), 120, "the end of the round")
        self.check_round()
        poll(self.lease, 20, "the lock to be made again")
