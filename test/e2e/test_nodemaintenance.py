"""NodeMaintenance objects from creation to deletion, as the users of node-maintenance-operator know them."""

import datetime
import time

from audit import accepted
from careen import poll
from maintenance import API, EXCLUDE, FINALIZER, LEASES, LOCK, TAINTS, MaintenanceTest, condition
from node_watch import labels

SUCCEED = ("Normal", "SucceedMaintenance", "Node maintenance was succeeded")
BEGIN = ("Normal", "BeginMaintenance", "Begin a node maintenance")
FAILED = ("Warning", "FailedMaintenance", "Failed a node maintenance")
REMOVED = ("Normal", "RemovedMaintenance", "Removed a node maintenance")


class NodeMaintenanceTest(MaintenanceTest):

    def _operator(self, *flags):
        return self.start_operator(*flags).wait_ready()

    def test_from_creation_to_deletion(self):
        """Every trace that others rely on: finalizer, label, taints and their order, lease, events, status; one
        eviction a pod, and nothing left in the end."""
        node, other = self.node_names[:2]
        self.pool(node)
        self.deployment("web", 5)
        self.deployment("agent", 1, kind="DaemonSet")
        self.pool(other)
        careen = self._operator()
        # It is ready before it leads.
        lock = poll(lambda: self.lease(name=LOCK), 30, "the lock")
        self.assertEqual(lock["spec"]["holderIdentity"].count("_"), 1)
        self.audit.mark()
        begun = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=1)
        self.maintain("swap-dimm", node, reason="replace memory module")
        done = self.wait_phase("swap-dimm", "Succeeded")

        self.assertEqual(done["metadata"]["finalizers"], [FINALIZER])
        status = done["status"]
        self.assertEqual((status["drainProgress"], status["evictionPods"], status["totalpods"]), (100, 5, 6))
        for absent in ("pendingPods", "pendingPodsRefs", "lastError", "errorOnLeaseCount"):
            self.assertNotIn(absent, status)
        self.assertRegex(status["lastUpdate"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(condition(done, "Drained")[0], "True")
        self.check_in_maintenance(node)
        self.assertEqual(self.node(node)["spec"]["taints"], TAINTS, "without value and time")
        lease = self.api.get(f"{LEASES}/node-{node}")
        self.assertEqual((lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]), ("node-maintenance", 3600))
        for when in ("acquireTime", "renewTime"):
            self.assertGreater(datetime.datetime.fromisoformat(lease["spec"][when].replace("Z", "+00:00")), begun)
        owner = lease["metadata"]["ownerReferences"]
        self.assertEqual([(one["apiVersion"], one["kind"], one["name"]) for one in owner], [("v1", "Node", node)])
        self.assertEqual([pod["metadata"]["labels"]["app"] for pod in self.pods(node)], ["agent"])
        self.wait_ready_pods("web", 5)
        evictions = self.evictions()
        self.assertEqual(len(evictions), 5, evictions)
        self.assertEqual({code for _, code in evictions}, {201})
        poll(lambda: SUCCEED in self.maintenance_events("swap-dimm"), 20, "the event of its success")
        shown = self.cluster.kubectl("get", "nm", "swap-dimm", "--no-headers")
        for word in ("swap-dimm", node, "Succeeded", "100"):
            self.assertIn(word, shown)

        self.release("swap-dimm")
        self.check_released(node)
        poll(lambda: REMOVED in self.maintenance_events("swap-dimm"), 20, "the event of its end")
        self.assertEqual(sorted(self.maintenance_events("swap-dimm")), sorted([BEGIN, SUCCEED, REMOVED]))
        self.assertIn(("Normal", "UncordonNode", "Uncordon a node"), self.maintenance_events(node, kind="Node"))
        writes = [entry for entry in self.audit.entries()
                  if entry["objectRef"].get("resource") == "nodes" and entry["verb"] == "patch" and accepted(entry)]
        self.assertEqual(len(writes), 2, "one write of the node to begin, one to end")
        self.assertEqual(careen.complaints(), [])
        self.assertEqual(careen.stop(), 0)

    def test_what_was_there_before_stays(self):
        """A cordon by hand, the label, and taints of others survive a maintenance."""
        node = self.node_names[0]
        foreign = {"key": "example.com/gpu", "value": "yes", "effect": "NoSchedule"}
        self.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {EXCLUDE: "true"}},
                                                 "spec": {"unschedulable": True, "taints": [foreign]}})
        self._operator()
        self.maintain("careful", node)
        self.wait_phase("careful", "Succeeded")
        self.check_in_maintenance(node)
        self.assertIn(foreign, self.node(node)["spec"]["taints"])
        self.release("careful")
        after = self.node(node)
        self.assertTrue(after["spec"].get("unschedulable"))
        self.assertEqual(labels(after).get(EXCLUDE), "true")
        self.assertIn(foreign, after["spec"]["taints"])
        self.assertNotIn("medik8s.io/drain", [taint["key"] for taint in after["spec"]["taints"]])

    def test_a_taint_with_a_value_gives_way_and_comes_back(self):
        """Of somebody else's drain taint only the value goes, for as long as the maintenance lasts."""
        node = self.node_names[0]
        mine = {"key": "medik8s.io/drain", "value": "storage", "effect": "NoSchedule"}
        self.api.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": [mine]}})
        self._operator()
        self.maintain("valued", node)
        self.wait_phase("valued", "Succeeded")
        self.check_in_maintenance(node)
        self.assertEqual([taint.get("value") for taint in self.node(node)["spec"]["taints"]
                          if taint["key"] == "medik8s.io/drain"], [None])
        self.release("valued")
        poll(lambda: self.node(node)["spec"].get("taints") == [mine], 20, "the taint to be as it was")

    def test_an_earlier_cordon_ends_if_that_is_wanted(self):
        """As the original: --restore-cordon=false, with the taint that the control plane has put there."""
        node = self.node_names[0]
        self.api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
        poll(lambda: self.node(node)["spec"].get("taints"), 20, "the taint of the cordon")
        self.start_operator("--restore-cordon=false").wait_ready()
        self.maintain("uncordons", node)
        self.wait_phase("uncordons", "Succeeded")
        self.check_in_maintenance(node)
        self.release("uncordons")
        self.check_released(node)

    def test_people_may_uncordon_if_that_is_wanted(self):
        """As the original: --correct-drift=false."""
        node = self.node_names[0]
        self.start_operator("--correct-drift=false").wait_ready()
        self.maintain("lenient", node)
        self.wait_phase("lenient", "Succeeded")
        self.api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": None, "taints": None}})
        time.sleep(4)
        self.assertFalse(self.node(node)["spec"].get("unschedulable", False))
        self.release("lenient")
        self.check_released(node)

    def test_the_counts_are_there_while_it_waits_for_the_lease(self):
        """Consoles that divide by evictionPods show no finished maintenance that has not begun."""
        node = self.node_names[0]
        self.bare_pod("one", node)
        self.bare_pod("two", node)
        self.hold_lease(node)
        self._operator()
        self.maintain("waits", node)
        waiting = self.wait_maintenance("waits", lambda found: (condition(found, "Blocked") or ("",))[0] == "True", 60,
                                        "the lease to hold it up")["status"]
        self.assertEqual((waiting["phase"], waiting["evictionPods"], waiting["totalpods"]), ("Running", 2, 2))
        self.assertEqual(waiting["pendingPods"], ["one", "two"])
        self.assertNotIn("drainProgress", waiting)
        self.assertFalse(self.node(node)["spec"].get("unschedulable", False))
        self.bare_pod("three", node)
        self.api.delete(f"{LEASES}/node-{node}")
        done = self.wait_phase("waits", "Succeeded")["status"]
        self.assertEqual((done["evictionPods"], done["totalpods"], done["drainProgress"]), (2, 2, 100))

    def test_a_maintenance_without_a_node_name(self):
        """Without a webhook it can be created: it runs, says why nothing happens, and can be deleted."""
        self._operator()
        self.maintain("nameless", "")
        found = self.wait_maintenance("nameless", lambda one: one.get("status", {}).get("lastError"), 30, "its status")
        self.assertEqual((found["status"]["phase"], found["status"]["lastError"]),
                         ("Running", "resource name may not be empty"))
        self.release("nameless")

    def test_budget_blocks_and_frees(self):
        """The object says which budget blocks; the pod is not asked for again and again; freed, it goes at once."""
        node = self.node_names[0]
        self.pool(node)
        self.deployment("db", 3)
        self.budget("db", "db", 2)
        self._operator()
        self.audit.mark()
        self.maintain("blocked", node)
        # One may go; its successor finds no node, so the budget allows no other.
        blocked = self.wait_maintenance("blocked", lambda found: (condition(found, "Blocked") or ("",))[0] == "True"
                                        and found["status"].get("drainProgress") == 33, 60, "the budget to block")
        self.assertIn(f"{self.namespace}/db", condition(blocked, "Blocked")[2])
        self.assertEqual(blocked["status"]["phase"], "Running")
        self.assertEqual(len(blocked["status"]["pendingPods"]), 2)
        self.assertEqual({ref["namespace"] for ref in blocked["status"]["pendingPodsRefs"]}, {self.namespace})
        self.assertIn("db", blocked["status"]["lastError"])
        time.sleep(3)
        self.assertLessEqual(len(self.evictions()), 4, "evictions while the budget blocks")
        self.free_budget("db")
        done = self.wait_phase("blocked", "Succeeded")
        self.assertNotIn("lastError", done["status"])
        self.assertEqual(condition(done, "Blocked")[0], "False")

    def test_overlapping_budgets(self):
        """A pod under two budgets cannot be evicted: both are named, and once one is gone it goes."""
        node = self.node_names[0]
        self.pool(node)
        self.deployment("twice", 1)
        self.budget("one", "twice", 0)
        self.budget("two", "twice", 0)
        self._operator()
        self.maintain("overlap", node)
        blocked = self.wait_maintenance("overlap", lambda found: (condition(found, "Blocked") or ("",))[0] == "True",
                                        60, "the two budgets to block")
        for name in ("one", "two"):
            self.assertIn(f"{self.namespace}/{name}", condition(blocked, "Blocked")[2])
        self.api.delete(f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets/two")
        self.wait_phase("overlap", "Succeeded")

    def test_pod_that_never_ends(self):
        """It is waited for, with what holds it; the maintenance can be deleted meanwhile, and the node is free."""
        node = self.node_names[0]
        self.bare_pod("stubborn", node, {"testcluster/termination-time": "never"}, terminationGracePeriodSeconds=2)
        self._operator()
        self.maintain("waiting", node)
        self.wait_maintenance("waiting", lambda found: found.get("status", {}).get("pendingPods") == ["stubborn"], 60,
                              "the pod to be pending")
        poll(lambda: "deletionTimestamp" in self.pods(node)[0]["metadata"], 60, "the pod to be evicted")
        self.release("waiting")
        self.check_released(node)
        self.assertEqual(len(self.evictions()), 1)

    def test_pod_with_a_finalizer(self):
        node = self.node_names[0]
        self.bare_pod("kept", node, finalizers=["example.com/keep"], terminationGracePeriodSeconds=1)
        self._operator()
        self.maintain("kept", node)
        # It is terminating, and only the finalizer holds it.
        found = self.wait_maintenance("kept", lambda found: "example.com/keep" in str(found.get("status", {})), 60,
                                      "the finalizer to be named")
        self.assertEqual(found["status"]["phase"], "Running")
        self.api.patch(f"/api/v1/namespaces/{self.namespace}/pods/kept", {"metadata": {"finalizers": None}})
        self.wait_phase("kept", "Succeeded")

    def test_pod_made_again_under_its_name(self):
        """A StatefulSet's pod comes back elsewhere with the same name: that one is left alone."""
        node, other = self.node_names[:2]
        self.pool(node)
        self.deployment("db", 2, kind="StatefulSet", terminationGracePeriodSeconds=1)
        self.pool(other)
        self._operator()
        self.audit.mark()
        self.maintain("names", node)
        self.wait_phase("names", "Succeeded")
        self.wait_ready_pods("db", 2)
        self.assertEqual(sorted(self.evictions()), [("db-0", 201), ("db-1", 201)])
        self.assertEqual({pod["spec"]["nodeName"] for pod in self.pods()}, {other})

    def test_pods_that_come_later(self):
        """A pod that tolerates the taints and lands on the node after the drain is left alone, or chased if the
        maintenance asks for that; either has succeeded."""
        node, other = self.node_names[:2]
        self._operator()
        self.audit.mark()
        self.maintain("late", node)
        self.maintain("chased", other, drain={"chaseNewcomers": True})
        self.wait_phase("late", "Succeeded")
        self.wait_phase("chased", "Succeeded")
        self.bare_pod("latecomer", node)
        self.bare_pod("hunted", other, wait=False)  # it may be gone before it is ready
        poll(lambda: ("hunted", 201) in self.evictions(), 60, "the latecomer to be evicted")
        poll(lambda: self.pods(other) == [], 60, "the latecomer to be gone")
        self.assertEqual([pod for pod, _ in self.evictions()], ["hunted"])
        self.assertEqual(self.status("late")["phase"], "Succeeded")
        self.assertEqual(self.status("chased")["phase"], "Succeeded")

    def test_drift_is_corrected(self):
        node = self.node_names[0]
        self._operator()
        self.maintain("drift", node)
        self.wait_phase("drift", "Succeeded")
        self.cluster.kubectl("uncordon", node)
        poll(lambda: self.node(node)["spec"].get("unschedulable")
             and self.node(node)["spec"].get("taints", [])[:2] == TAINTS, 30, "the cordon to be back")
        self.release("drift")
        self.check_released(node)

    def test_missing_node(self):
        """Failed with the original's words; when the node appears the maintenance continues."""
        self._operator()
        self.maintain("ghost", "e2e-ghost")
        failed = self.wait_phase("ghost", "Failed")
        self.assertEqual(failed["status"]["lastError"], 'nodes "e2e-ghost" not found')
        for absent in ("evictionPods", "totalpods", "drainProgress"):
            self.assertNotIn(absent, failed["status"])
        poll(lambda: FAILED in self.maintenance_events("ghost"), 20, "the event of its failure")
        self.assertEqual(sorted(self.maintenance_events("ghost")), sorted([BEGIN, FAILED]))
        self.api.create("/api/v1/nodes", self.short_lived("e2e-ghost"))
        self.wait_phase("ghost", "Succeeded")
        # Deleted under a maintenance: its end needs no node.
        self.api.delete("/api/v1/nodes/e2e-ghost")
        self.release("ghost")

    def test_node_deleted_in_mid_drain(self):
        """Its pods go with it; created again under its name, it is put into maintenance again."""
        body = self.short_lived("e2e-short")
        self.api.create("/api/v1/nodes", body)
        self.bare_pod("stubborn", "e2e-short", {"testcluster/termination-time": "never"})
        self._operator()
        self.maintain("short", "e2e-short")
        self.wait_maintenance("short", lambda found: found.get("status", {}).get("pendingPods"), 60, "the drain to run")
        self.api.delete("/api/v1/nodes/e2e-short")
        self.wait_maintenance("short", lambda found: found["status"]["phase"] == "Failed", 60, "the loss to be told")
        self._kill(self.pods()[0])
        self.api.create("/api/v1/nodes", body)
        self.wait_phase("short", "Succeeded")
        self.check_in_maintenance("e2e-short")
        self.release("short")
        self.check_released("e2e-short")

    def test_namespace_that_terminates(self):
        """Its pods go away with it, and the drain ends."""
        node = self.node_names[0]
        self._operator()
        # One of its own: careen's lock lies in the other.
        home, self.namespace = self.namespace, self.namespace + "-ending"
        try:
            self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
            for name in ("a", "b"):
                self.bare_pod(name, node, {"testcluster/termination-time": "3"})
            self.api.delete(f"/api/v1/namespaces/{self.namespace}")
            self.maintain("ending", node)
            self.wait_phase("ending", "Succeeded")
            self.assertEqual(self.pods(), [])
        finally:
            self.namespace = home

    def test_two_maintenances_of_one_node(self):
        """The older owns the node; the younger says that it waits, and takes over when the older is gone."""
        node = self.node_names[0]
        self._operator()
        self.maintain("first", node)
        self.wait_phase("first", "Succeeded")
        time.sleep(1.1)  # their age counts in seconds
        self.maintain("second", node)
        waiting = self.wait_maintenance("second", lambda found: "first" in found.get("status", {}).get("lastError", ""),
                                        60, "the younger to wait")
        self.assertNotEqual(waiting["status"].get("phase"), "Succeeded")
        self.release("first")
        self.wait_phase("second", "Succeeded")
        self.check_in_maintenance(node)
        self.release("second")
        self.check_released(node)

    def test_lease_of_another(self):
        """As long as another operator holds the node's lease nothing happens to it."""
        node = self.node_names[0]
        self.hold_lease(node)
        self._operator()
        self.maintain("patient", node)
        waiting = self.wait_maintenance("patient", lambda found: found.get("status", {}).get("lastError"), 60, "the lease")
        self.assertIn("failed to obtain a lease that is not owned by us", waiting["status"]["lastError"])
        self.assertEqual(waiting["status"]["phase"], "Running")
        self.assertNotIn("errorOnLeaseCount", waiting["status"])
        self.assertFalse(self.node(node)["spec"].get("unschedulable", False))
        self.api.delete(f"{LEASES}/node-{node}")
        done = self.wait_phase("patient", "Succeeded")
        self.assertNotIn("lastError", done["status"])

    def test_lease_is_lost(self):
        """Taken by another for good: the maintenance fails, and the node is given back."""
        node = self.node_names[0]
        self._operator()
        self.maintain("losing", node)
        self.wait_phase("losing", "Succeeded")
        self.hold_lease(node)
        failed = self.wait_phase("losing", "Failed")
        self.assertGreater(failed["status"]["errorOnLeaseCount"], 3)
        self.assertIn("maintenance failed: lease could not be extended", failed["status"]["lastError"])
        poll(lambda: not self.node(node)["spec"].get("unschedulable", False), 30, "the node to be uncordoned")
        poll(lambda: FAILED in self.maintenance_events("losing"), 20, "the event")
        self.assertEqual(self.api.get(f"{LEASES}/node-{node}")["spec"]["holderIdentity"], "somebody-else")

    def test_blocked_ones_delay_nobody(self):
        """Ten maintenances that cannot end, and one that can; nodes are cordoned at once, and status writes are few."""
        blocked, free = self.node_names[:10], self.node_names[10]
        self.pool(*blocked)
        self.deployment("db", 20)
        self.budget("db", "db", 20)
        self._operator()
        self.audit.mark()
        for index, node in enumerate(blocked):
            self.maintain(f"blocked-{index}", node)
        for index in range(len(blocked)):
            self.wait_maintenance(f"blocked-{index}", lambda found: (condition(found, "Blocked") or ("",))[0] == "True",
                                  60, "the budget to block")
        self.maintain("free", free)
        self.wait_phase("free", "Succeeded")
        for node in blocked:
            self.check_in_maintenance(node)
        self.audit.mark()
        time.sleep(3)
        quiet = [entry for entry in self.audit.entries() if entry["verb"] not in ("watch", "list", "get")
                 and entry["objectRef"].get("resource") != "leases"]
        self.assertLessEqual(len(quiet), 20, "writes while nothing changes")

    def test_deletion_with_a_foreign_finalizer(self):
        """Once it has cleaned up it never touches the node again, however long the object lives."""
        node = self.node_names[0]
        self._operator()
        self.maintain("foreign", node)
        self.wait_phase("foreign", "Succeeded")
        self.api.patch(f"{API}/foreign", {"metadata": {"finalizers": [FINALIZER, "example.com/mine"]}})
        self.api.delete(f"{API}/foreign")
        self.wait_maintenance("foreign", lambda found: found["metadata"]["finalizers"] == ["example.com/mine"], 60,
                              "our finalizer to go")
        self.check_released(node)
        time.sleep(2)
        self.check_released(node)

    def test_one_the_original_began(self):
        """Finalizer, phase, taints and cordon without careen's record: deleted, the node is free again."""
        node = self.node_names[0]
        self.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {EXCLUDE: "true"}},
                                                 "spec": {"unschedulable": True, "taints": TAINTS}})
        self.maintain("inherited", node)
        self.api.patch(f"{API}/inherited", {"metadata": {"finalizers": [FINALIZER]}})
        self.api.patch(f"{API}/inherited/status", {"status": {"phase": "Succeeded", "drainProgress": 100,
                                                              "lastUpdate": "2026-01-02T03:04:05Z"}})
        self._operator()
        poll(lambda: self.api.get(f"{LEASES}/node-{node}"), 60, "the lease to be taken")
        self.release("inherited")
        self.check_released(node)
