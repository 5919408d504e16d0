"""A witness of how many Machines are let go at a time: by the Nodes that approve it, and by the Machines themselves."""

from capi_cluster import node_of
from cluster_api import API
from follow import Follower
from harness import UNSAFE
from machines import APPROVE_DELETION, HOOK
from node_watch import annotations, labels


class ApprovedNodes(Follower):
    """The Nodes of a namespace's Machines whose deletion is approved, until they are gone."""

    def __init__(self, api, namespace):
        super().__init__(api, "/api/v1/nodes")
        self._prefix = f"{namespace}-"
        self._now = set()
        self.ever = set()
        self.most = 0

    def _take(self, name, old, new, version):
        if new and name.startswith(self._prefix) and labels(new).get(APPROVE_DELETION) == "true":
            self._now.add(name)
            self.ever.add(name)
        else:
            self._now.discard(name)

    def _told(self):
        self.most = max(self.most, len(self._now))


class Deletions(Follower):
    """What happened to a namespace's Machines that were deleted."""

    def __init__(self, api, namespace):
        super().__init__(api, f"{API}/namespaces/{namespace}/machines")
        self.held = set()  # had the hook when they were deleted
        self.let_go = {}   # without a hook, and the Node that they had

    def _take(self, name, old, new, version):
        if not new or "deletionTimestamp" not in new["metadata"]:
            return
        short, hooked = new["metadata"]["name"], HOOK in annotations(new)
        if old and "deletionTimestamp" not in old["metadata"] and hooked:
            self.held.add(short)
        if not hooked:
            self.let_go[short] = node_of(new)


class ReleaseWatch:
    """Both of them."""

    def __init__(self, capi):
        self._nodes = ApprovedNodes(capi.workload.api, capi.namespace).start()
        self._deletions = Deletions(capi.api, capi.namespace).start()

    def stop(self):
        self._nodes.stop()
        self._deletions.stop()

    def let_go(self):
        return len(self._deletions.let_go)

    def wait_let_go(self, count, seconds):
        self._deletions.wait_until(lambda watch: len(watch.let_go) >= count, seconds, f"{count} Machines to be let go")

    def check(self, test, machines, limit):
        """All of these were held, none was let go unasked, and never more than the limit at a time."""
        self._nodes.catch_up()
        test.assertLessEqual(self._nodes.most, limit, UNSAFE + "more Nodes were released than the profile allows")
        unasked = {name for name, node in self._deletions.let_go.items() if node not in self._nodes.ever}
        test.assertEqual(unasked, set(), UNSAFE + "Machines were let go whose Nodes had not approved it")
        test.assertEqual(set(machines) - self._deletions.held, set(), "Machines that nobody held")
        test.assertEqual(self._deletions.relists + self._nodes.relists, 0, "the witness has seen everything")
