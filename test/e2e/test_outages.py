"""The control plane breaks in the middle of a round."""

import threading

from api import Refused
from careen import poll
from harness import CareenTest


class Supervised:
    """Starts a replica again when it ended with code 1 because its lock was lost, as a kubelet does."""

    def __init__(self, test, start):
        self._test, self._start = test, start
        self.replica = start()
        self.restarts = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        test.addCleanup(self.stop)

    def _run(self):
        while True:
            code = self.replica.process.wait()
            if self._stopping.is_set() or code != 1:
                return
            self.restarts += 1
            self.replica = self._start()

    def stop(self):
        self._stopping.set()
        self.replica.kill()
        self._thread.join(10)


class OutageTest(CareenTest):

    def _break_in_the_middle(self, *command):
        self.want_maintenance()
        self.watch.wait_until(self.some_done(8), 60, "the first eight nodes")
        self.cluster.tool(*command)
        self.watch.wait_until(self.done(), 150, "the end of the round")
        self.check_round()

    def test_api_server_restarts(self):
        """A leader may lose its lock while nobody answers; it then ends with code 1, and starts afresh."""
        supervised = Supervised(self, lambda: self.start_elected())
        self.wait_leading(supervised.replica.wait_ready())
        self._break_in_the_middle("restart", "apiserver")
        self.assertLessEqual(supervised.restarts, 1)
        for replica in self.replicas[:-1]:
            self.assertEqual(replica.process.returncode, 1)
        self.assertTrue(self.replicas[-1].alive())

    def test_etcd_restarts(self):
        """Killed and started again under the API server's feet."""
        supervised = Supervised(self, lambda: self.start_elected())
        self.wait_leading(supervised.replica.wait_ready())
        self._break_in_the_middle("restart", "etcd")
        self.assertTrue(self.replicas[-1].alive())
        self.assertLessEqual(supervised.restarts, 1)

    def test_history_is_compacted(self):
        """The API server restarts and its history is gone: watches get 410, everything is listed again, nothing is
lost. Without a lock to lose, the same process carries on.
        """
        careen = self.start().wait_ready()
        before = careen.metrics().sum("careen_cache_relists_total", resource="nodes")
        self._break_in_the_middle("compact")
        # The round may have ended before the server went down: then careen notices only now.
        poll(lambda: careen.metrics().sum("careen_cache_relists_total", resource="nodes") > before, 60,
             "the nodes to be listed anew")
        self.assertTrue(careen.alive())
        self._finishes_quietly(careen)

    def _finishes_quietly(self, careen):
        """No problem stays open, and what was said was not said all the time."""
        poll(lambda: careen.open_problems() == {}, 60, "all problems to be over")
        self.assertEqual(careen.readyz()[0], 200)
        self.assertLess(len(careen.complaints()), 20, careen.complaints())
        self.assertEqual(careen.stop(), 0)


class BrokenWebhookTest(CareenTest):
    """An admission webhook that cannot be called refuses every write of some nodes."""

    BROKEN = "e2e.careen.dev/broken"
    HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

    def _break(self, names):
        self.label(names, {self.BROKEN: "true"})
        self.api.create(self.HOOKS, {"metadata": {"name": self.namespace}, "webhooks": [{
            "name": "nobody.e2e.careen.dev", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 1,
            "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/"},
            "objectSelector": {"matchLabels": {self.BROKEN: "true"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"]}]}]})
        self.addCleanup(self._mend)

    def _mend(self):
        try:
            self.api.call("DELETE", f"{self.HOOKS}/{self.namespace}")
        except Refused as refused:
            self.assertEqual(refused.status, 404)

    def test_others_go_on(self):
        """With more broken nodes than there are places and write slots, all others go through; then the broken ones too."""
        broken, healthy = self.node_names[:20], self.node_names[20:40]
        self.want_maintenance(broken + healthy)
        self._break(broken)
        self.start_elected()
        self.watch.wait_until(self.done(healthy), 90, "the nodes that can be written")
        self._mend()
        self.watch.wait_until(self.done(broken), 120, "the nodes that can be written again")
        self.check_round(broken + healthy)
