"""Limits of mode Queue and Enforce on a real control plane: whoever drains waits his turn, and reads why."""

import os
import threading
import time

from actors import cordon, drain
from api import Refused
from careen import free_port, poll
from cluster import ROOT
from harness import UNSAFE
from maintenance import MaintenanceTest

LIMITS = "/apis/repairman.k8s.io/v1/maintenancelimits"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/careen-limits"
WORKER = "e2e.careen.dev/worker"


class Evicted(threading.Thread):
    """Which nodes are out, as somebody sees who knows neither careen nor limits: cordoned, and some of their pods gone."""

    def __init__(self, api, namespace, pods_on):
        super().__init__(daemon=True)
        self._api, self._namespace, self._before = api, namespace, pods_on
        self._stopping = threading.Event()
        self.most, self.error = set(), None

    def run(self):
        try:
            while not self._stopping.wait(0.05):
                self._look()
        except Exception as error:  # raised again by stop()
            self.error = error

    def _look(self):
        # First the nodes: one that is uncordoned meanwhile counts, which is on the safe side.
        nodes = self._api.list("/api/v1/nodes", labelSelector=WORKER)[0]
        pods = {}
        for pod in self._api.list(f"/api/v1/namespaces/{self._namespace}/pods")[0]:
            if "deletionTimestamp" not in pod["metadata"]:
                pods[pod["spec"].get("nodeName")] = pods.get(pod["spec"].get("nodeName"), 0) + 1
        cordoned = {node["metadata"]["name"] for node in nodes if node["spec"].get("unschedulable")}
        out = {name for name in cordoned if pods.get(name, 0) < self._before.get(name, 0)}
        if len(out) > len(self.most):
            self.most = out

    def stop(self):
        self._stopping.set()
        self.join(30)
        if self.error:
            raise self.error


class LimitWebhookTest(MaintenanceTest):

    may_be_refused = None

    def setUp(self):
        super().setUp()
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f",
                             *sum((["-f", os.path.join(ROOT, "deploy", "crds", f"{name}.yaml")] for name in (
                                 "maintenancelimit", "maintenancerequest", "maintenanceselector")), [])[1:])
        self.cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s",
                             "crd/maintenancelimits.repairman.k8s.io", "crd/maintenancerequests.repairman.k8s.io")
        poll(lambda: self.api.get(LIMITS) is not None, 30, "the API to serve MaintenanceLimits")
        self.port = free_port()

    def _clean(self):
        for limit in self.api.list(LIMITS)[0]:
            self.api.delete(f"{LIMITS}/{limit['metadata']['name']}")
        self.api.delete(CONFIGURATION)
        super()._clean()

    def _start(self):
        return self.start_elected(None, "--controllers=requests", f"--webhook-bind-address=127.0.0.1:{self.port}",
                                  "--webhook-self-signed", "--webhook-host=127.0.0.1", "--webhook-configuration=",
                                  "--webhook-secret=careen-webhook-tls").wait_ready()

    def _limit(self, at_once, mode="Queue"):
        spec = {"type": "node", "selector": {"matchLabels": {WORKER: "true"}}, "maxUnavailable": at_once, "mode": mode}
        if not self.api.create(LIMITS, {"apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceLimit",
                                        "metadata": {"name": "workers"}, "spec": spec}):
            self.api.patch(f"{LIMITS}/workers", {"spec": spec})

    def _workers(self, count, pods=2):
        names = self.node_names[:count]
        self.label(names, {WORKER: "true"})
        for name in names:
            for index in range(pods):
                self.bare_pod(f"{name}-{index}", name, wait=False, terminationGracePeriodSeconds=0)
        poll(lambda: all(pod.get("status", {}).get("phase") == "Running" for pod in self.pods()), 60, "the pods to run")
        return names

    def _registered(self, resources):
        """The API server asks about these. It learns that by a watch."""
        def there():
            configuration = self.api.get(CONFIGURATION)
            return [one["rules"][0]["resources"][0] for one in (configuration or {}).get("webhooks", [])] == resources
        poll(there, 30, f"the API server to be asked to ask about {resources}", 0.1)
        time.sleep(1)

    def _drain(self, node):
        return drain(self.cluster, node, os.path.join(self.folder, f"drain-{node}.log"), "--timeout=120s")

    def test_a_second_drain_waits_and_says_why(self):
        one, other = self._workers(2)
        self._start()
        self._limit(1)
        self._registered(["pods/eviction"])
        first = self._drain(one)
        self.assertEqual(first.wait(30), 0, first.output())
        second = self._drain(other)
        poll(lambda: "in limit workers (1 of 1: 1 kubectl on " + one in second.output(), 30,
             "kubectl to print why it waits: " + second.output())
        self.assertFalse(second.ended())
        self.assertEqual(len(self.pods(other)), 2)
        cordon(self.api, one, False)
        self.assertEqual(second.wait(60), 0, second.output())
        self.assertEqual(self.pods(other), [])

    def test_ten_drains_at_once(self):
        """Never more than the limit, whoever comes first."""
        names = self._workers(10)
        self._start()
        self._limit(3)
        self._registered(["pods/eviction"])
        out = Evicted(self.api, self.namespace, {name: 2 for name in names})
        out.start()
        drains = {name: self._drain(name) for name in names}
        waiting = set(names)
        end = time.monotonic() + 240
        while waiting and time.monotonic() < end:
            for name in [name for name in waiting if drains[name].ended()]:
                self.assertEqual(drains[name].wait(1), 0, drains[name].output())
                time.sleep(0.5)  # it is being worked on
                cordon(self.api, name, False)
                waiting.remove(name)
            time.sleep(0.1)
        out.stop()
        self.assertEqual(waiting, set(), "these were never let through")
        self.assertLessEqual(len(out.most), 3, f"{UNSAFE}more nodes out than the limit allows: {out.most}")
        self.assertEqual(len(out.most), 3, "and as many as it allows")

    def _replica(self, name, address):
        """As in a pod. The API server calls the second one, whoever leads."""
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        self.api.create(pods, {"metadata": {"name": name}, "spec": {
            "schedulerName": "nobody", "containers": [{"name": "careen", "image": "example.com/careen"}]}})
        self.api.patch(f"{pods}/{name}/status", {"status": {"podIP": address, "podIPs": [{"ip": address}]}})
        return self.start_elected(None, "--controllers=requests", f"--webhook-bind-address={address}:{self.port}",
                                  "--webhook-self-signed", "--webhook-host=127.0.0.3", "--webhook-host=127.0.0.2",
                                  "--webhook-configuration=", "--webhook-secret=careen-webhook-tls", address=address,
                                  environment={"POD_NAME": name}).wait_ready()

    def test_a_replica_that_does_not_lead(self):
        """It asks the one that does; and when that one is gone nobody has lost his place or gets another's."""
        one, other = self._workers(2)
        leader = self._replica("careen-a", "127.0.0.2")
        self._limit(1)
        self._registered(["pods/eviction"])
        follower = self._replica("careen-b", "127.0.0.3")
        first = self._drain(one)
        self.assertEqual(first.wait(30), 0, first.output())
        second = self._drain(other)
        poll(lambda: "in limit workers (1 of 1: 1 kubectl on " + one in second.output(), 30,
             "kubectl to print why it waits: " + second.output())
        self.assertGreaterEqual(follower.metrics().sum("careen_limit_webhook_answers_total", answer="leader"), 2)
        self.assertEqual(leader.metrics().sum("careen_limit_webhook_answers_total", answer="admitted"), 1)
        leader.kill()
        poll(lambda: follower.metrics().sum("careen_limit_webhook_answers_total", answer="waits") >= 1, 60,
             "the other one to lead, and to let nobody else go")
        self.assertEqual(len(self.pods(other)), 2)
        cordon(self.api, one, False)
        self.assertEqual(second.wait(60), 0, second.output())

    def test_single_evictions_pass(self):
        """A node that stays waits for nobody."""
        one, other = self._workers(2)
        careen = self._start()
        self._limit(1)
        self._registered(["pods/eviction"])
        self.assertEqual(self._drain(one).wait(30), 0)
        self._evict(other, 0)
        self.assertGreaterEqual(careen.metrics().sum("careen_limit_webhook_answers_total", answer="staying"), 1)

    def _evict(self, node, index):
        self.api.call("POST", f"/api/v1/namespaces/{self.namespace}/pods/{node}-{index}/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": f"{node}-{index}", "namespace": self.namespace}})

    def test_what_had_begun_before_goes_on(self):
        names = self._workers(3)
        for name in names[:2]:
            cordon(self.api, name)
        self._start()
        self._limit(1)
        self._registered(["pods/eviction"])
        for name in names[:2]:
            self._evict(name, 0)
        cordon(self.api, names[2])
        with self.assertRaises(Refused) as raised:
            self._evict(names[2], 0)
        self.assertEqual(raised.exception.status, 429)

    def test_nobody_is_asked_where_limits_observe(self):
        one, other = self._workers(2)
        self._start()
        self._limit(1, "Observe")
        for name in (one, other):
            self.assertEqual(self._drain(name).wait(30), 0)
        self.assertIsNone(self.api.get(CONFIGURATION))
        self._limit(1)
        self._registered(["pods/eviction"])
        self._limit(1, "Observe")
        poll(lambda: self.api.get(CONFIGURATION) is None, 30, "the API server to be told not to ask any more", 0.1)

    def _wait_said(self, status):
        """By the limit itself."""
        def said():
            conditions = self.api.get(f"{LIMITS}/workers").get("status", {}).get("conditions", [])
            return any((one["type"], one["status"]) == ("WebhookServing", status) for one in conditions)
        poll(said, 30, f"the limit to say WebhookServing={status}", 0.1)

    def test_without_an_address_the_limit_says_that_it_only_observes(self):
        one, other = self._workers(2)
        self.start_elected(None, "--controllers=requests").wait_ready()
        self._limit(1)
        self._wait_said("False")
        for name in (one, other):
            self.assertEqual(self._drain(name).wait(30), 0)

    def test_enforce_holds_a_cordon(self):
        one, other = self._workers(2)
        careen = self._start()
        self._limit(1, "Enforce")
        self._registered(["pods/eviction", "nodes", "machines", "nodeclaims"])
        self._wait_said("True")
        cordon(self.api, one)
        with self.assertRaises(Refused) as raised:
            cordon(self.api, other)
        self.assertEqual(raised.exception.status, 429)
        self.assertIn("in limit workers", str(raised.exception))
        self.annotate([other], {"careen.dev/break-glass": "its disk burns"})
        cordon(self.api, other)
        self.assertEqual(careen.metrics().sum("careen_limit_webhook_answers_total", answer="break-glass"), 1)
        poll(lambda: self.events("BreakGlass"), 30, "an event about it")

    def test_without_a_replica_nobody_waits(self):
        one, other = self._workers(2)
        careen = self._start()
        self._limit(1)
        self._registered(["pods/eviction"])
        self.assertEqual(self._drain(one).wait(30), 0)
        careen.kill()
        self.assertEqual(self._drain(other).wait(60), 0, "failurePolicy: Ignore")
