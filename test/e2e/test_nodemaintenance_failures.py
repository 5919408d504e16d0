"""NodeMaintenance objects while replicas and servers fail."""

from careen import poll
from maintenance import LOCK, MaintenanceTest, condition


class MaintenanceFailureTest(MaintenanceTest):

    def _blocked(self):
        """A drain that a budget stops half way."""
        node = self.node_names[0]
        self.pool(node)
        self.deployment("db", 4)
        self.budget("db", "db", 2)
        self.maintain("halfway", node)
        return node

    def _wait_blocked(self):
        self.wait_maintenance("halfway", lambda found: (condition(found, "Blocked") or ("",))[0] == "True"
                              and found["status"].get("drainProgress") == 50, 60, "the budget to block half way")

    def _finish(self, node):
        self.free_budget("db")
        self.wait_phase("halfway", "Succeeded", 90)
        accepted = [pod for pod, code in self.evictions() if code == 201]
        self.assertEqual(len(accepted), len(set(accepted)), "a pod that was evicted twice")
        self.release("halfway", 90)
        self.check_released(node)

    def test_second_replica_takes_over(self):
        """The leader is killed in the middle of a drain; the other continues where it was."""
        self.audit.mark()
        first = self.start_operator().wait_ready()
        poll(lambda: first.metrics().sum("leader_election_master_status") == 1, 30, "the first to lead")
        second = self.start_operator().wait_ready()
        node = self._blocked()
        self._wait_blocked()
        first.kill()
        poll(lambda: second.metrics().sum("leader_election_master_status", name=LOCK) == 1, 60, "the second to lead")
        self._finish(node)
        events = self.maintenance_events("halfway")
        self.assertEqual(sum(reason == "BeginMaintenance" for _, reason, _ in events), 1, events)
        self.assertEqual(second.complaints(), [])

    def test_api_server_restarts(self):
        """In the middle of a drain; the leader may have to start again."""
        self.may_be_refused = None  # a server that has just started does not know the roles yet
        self.audit.mark()
        careen = self.start_operator().wait_ready()
        node = self._blocked()
        self._wait_blocked()
        self.cluster.tool("restart", "apiserver")
        if not careen.alive():
            careen = self.start_operator().wait_ready()
        poll(lambda: self.maintenance("halfway"), 60, "the API server")
        if not careen.alive():
            self.start_operator().wait_ready()
        self._finish(node)

    def test_both_controllers_in_one_process(self):
        """Profiles and NodeMaintenance objects, each under its own lock."""
        careen = self.start_elected(None, "--controllers=profiles,nodemaintenance").wait_ready()
        poll(lambda: careen.metrics().sum("leader_election_master_status") == 2, 60, "both locks")
        names = self.node_names[:3]
        self.want_maintenance(names)
        self.maintain("beside", self.node_names[10])
        self.wait_phase("beside", "Succeeded")
        self.watch.wait_until(self.done(names), 60, "the round of the profiles")
        self.release("beside")
        self.assertEqual(careen.complaints(), [])
        self.assertEqual(careen.stop(), 0)
