"""MaintenanceLimits and MaintenanceRequests, as tests of requests and of one budget over all actors need them."""

import os

from actors import CLIENT, READY, REQUESTS
from api import Refused, side_by_side
from careen import poll
from cluster import ROOT
from maintenance import MaintenanceTest
from node_watch import annotations, labels
from out_watch import OutWatch

LIMITS = "/apis/repairman.k8s.io/v1/maintenancelimits"
CRDS = ("maintenancelimit", "maintenancerequest", "maintenanceselector")
TERMINAL = ("Completed", "Rejected")


class BudgetTest(MaintenanceTest):
    """The controller of MaintenanceRequests, alone or with others, and a witness of who has which node out."""

    may_be_refused = None

    def setUp(self):
        super().setUp()
        for crd in CRDS:
            self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f",
                                 os.path.join(ROOT, "deploy", "crds", f"{crd}.yaml"))
            self.cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/{crd}s.repairman.k8s.io")
        poll(lambda: self.api.get(REQUESTS) is not None and self.api.get(LIMITS) is not None, 30, "the API to serve requests")
        self.out = OutWatch(self.api, self.namespace).start()
        self.addCleanup(self.out.stop)

    def _clean(self):
        self._end_replicas()
        for path in (REQUESTS, LIMITS):
            try:
                self.api.call("DELETE", path)
            except Refused as error:
                if error.status != 404:
                    raise
            poll(lambda: self._emptied(path), 60, f"{path} to be empty", 0.2)
        super()._clean()

    def _emptied(self, path):
        items, _ = self.api.list(path)
        for one in items:
            if one["metadata"].get("finalizers"):
                self.api.patch(f"{path}/{one['metadata']['name']}", {"metadata": {"finalizers": None}})
        return not items

    def _restore(self, name):
        super()._restore(name)
        node = self.watch.nodes[name]
        ours = [key for key in annotations(node) if key == READY or key.startswith(
            ("weave.works/", "flatcar-linux-update.v1.", "repairman.k8s.io/", "careen.dev/"))]
        keys = [key for key in labels(node) if key.startswith(("flatcar-linux-update.v1.", "cloud.sap/"))]
        if ours or keys:
            self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": dict.fromkeys(ours),
                                                                  "labels": dict.fromkeys(keys)}})

    def start_requests(self, controllers="requests", config=None, *flags, **changes):
        """Not under election, so that one that is killed can be followed by another at once."""
        return self.start(config, f"--controllers={controllers}", *flags, **changes)

    # --- limits ----------------------------------------------------------------

    def limit(self, name="node", **spec):
        """Known to whoever runs: its status has been written for what the spec says now."""
        body = {"apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceLimit", "metadata": {"name": name}, "spec": spec}
        if not self.api.create(LIMITS, body):
            found = self.api.get(f"{LIMITS}/{name}")
            found["spec"] = spec
            self.api.call("PUT", f"{LIMITS}/{name}", found)

    def wait_limit(self, holds, seconds=30, what="the status of the limit", name="node"):
        def found():
            one = self.api.get(f"{LIMITS}/{name}")
            return one if one and one.get("status") and holds(one["status"]) else None
        try:
            return poll(found, seconds, what, 0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.api.get(f'{LIMITS}/{name}')}") from None

    # --- requests --------------------------------------------------------------

    def request(self, name, node, state="Pending", client="e2e", **spec):
        return self.api.call("POST", REQUESTS, {
            "apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceRequest",
            "metadata": {"name": name, "labels": {CLIENT: client}},
            "spec": {"name": node, "type": "node", "state": state, **spec}})

    def request_named(self, name):
        return self.api.get(f"{REQUESTS}/{name}")

    def set_state(self, name, state):
        return self.api.patch(f"{REQUESTS}/{name}", {"spec": {"state": state}})

    def wait_request(self, name, holds, seconds=30, what="a change of the request"):
        def seen(watch):
            one = watch.objects.get(name)
            return one is not None and holds(one)
        try:
            self.out.requests.wait_until(seen, seconds, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.request_named(name)}") from None
        return self.out.requests.objects[name]

    def wait_request_state(self, name, state, seconds=30):
        return self.wait_request(name, lambda one: one["spec"].get("state") == state, seconds, f"{name} to be {state}")

    def wait_approved(self, count, seconds=30):
        self.out.requests.wait_until(lambda watch: len(watch.approved) >= count, seconds, f"{count} approvals")

    def wait_reason(self, name, reason, seconds=30):
        return self.wait_request(name, lambda one: one.get("status", {}).get("reason") == reason, seconds,
                                 f"{name} to say {reason}")

    def more_nodes(self, count):
        """Nodes of this test alone, simulated as the others are."""
        names = [f"e2e-more-{index:02d}" for index in range(count)]
        bodies = {name: self.short_lived(name) for name in names}
        side_by_side(lambda name: self.api.create("/api/v1/nodes", bodies[name]), names)
        self.watch.wait_until(lambda watch: all(name in watch.nodes for name in names), 30, "the nodes to be there")
        return names
