"""Who has which node out, by an impartial reading of the API: what careen's one budget is held against.

Each follower notes when a node gets or loses a reason to be out, with the version of the object that said so. Versions are
those of one etcd, so what several followers have noted is one history.
"""

import threading
import time

from follow import Follower
from node_watch import IN_MAINTENANCE, annotations, state_of

REQUESTS = "/apis/repairman.k8s.io/v1/maintenancerequests"
HOLDS = "careen.dev/holds"
KURED = "weave.works/kured-reboot-in-progress"
# Taints by which other programs say that they are taking a node out.
TAINTS = {"karpenter.sh/disrupted", "karpenter.sh/rebooting", "ToBeDeletedByClusterAutoscaler", "medik8s.io/drain"}


def is_ready(node):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in node.get("status", {}).get("conditions", []))


def reasons(node):
    """Why a node counts as out: those of careen begin with `careen:`, those that mean a failure with `down:`."""
    found = set()
    if HOLDS in annotations(node):
        found.add("careen: hold")
    if state_of(node) == IN_MAINTENANCE:
        found.add("careen: profile")
    if node["spec"].get("unschedulable"):
        found.add("cordon")
    found |= {f"taint {one['key']}" for one in node["spec"].get("taints", []) if one["key"] in TAINTS}
    if not is_ready(node):
        found.add("down: not ready")
    return found


class History:
    """The changes that all followers have noted."""

    def __init__(self):
        self._lock = threading.Lock()
        self._changes = []

    def note(self, version, node, source, now):
        """From that version on these are the node's reasons, as far as this source knows."""
        with self._lock:
            self._changes.append((version, len(self._changes), time.monotonic(), node, source, frozenset(now)))

    def steps(self):
        """In order of the versions: (seen at, node, its reasons before, all reasons after by node)."""
        with self._lock:
            changes = sorted(self._changes)
        by_source, out = {}, {}
        for _, _, seen, node, source, now in changes:
            before = out.get(node, frozenset())
            by_source.setdefault(node, {})[source] = now
            after = frozenset().union(*by_source[node].values())
            if after:
                out[node] = after
            else:
                out.pop(node, None)
            yield seen, node, before, dict(out)


class OutNodes(Follower):
    def __init__(self, api, history):
        super().__init__(api, "/api/v1/nodes")
        self._history = history

    def _take(self, name, old, new, version):
        before = reasons(old) if old else set()
        now = reasons(new) if new else set()
        if before != now:
            self._history.note(version, name, "node", now)
        if "cordon" in before and "cordon" not in now:
            self._history.note(version, name, "pods", set())


class EmptiedNodes(Follower):
    """Nodes that lose pods of a namespace: from the first one on, until they are schedulable again."""

    def __init__(self, api, history, namespace):
        super().__init__(api, f"/api/v1/namespaces/{namespace}/pods")
        self._history = history

    def _take(self, name, old, new, version):
        going = new and "deletionTimestamp" in new["metadata"]
        if going and not (old and "deletionTimestamp" in old["metadata"]):
            self._history.note(version, new["spec"].get("nodeName"), "pods", {"emptied"})


class RunningRequests(Follower):
    """How many nodes have a request that is Approved or InProgress, and how the requests' states went."""

    RUNNING = ("Approved", "InProgress")

    def __init__(self, api, history=None):
        super().__init__(api, REQUESTS)
        self._history = history
        self._running = {}  # node: names of requests
        self.most = 0       # nodes at once
        self.shared = set()  # nodes with two running requests at once
        self.states = {}    # request: the states it has taken, in order
        self.approved = []  # (request, node), in the order of their approvals

    def running(self):
        return len(self._running)

    def _told(self):
        self.most = max(self.most, len(self._running))

    def _take(self, name, old, new, version):
        state, node = (_spec(new, "state"), _spec(new, "name")) if new else (None, _spec(old, "name"))
        before = _spec(old, "state") if old else None
        if new and state != before:
            self.states.setdefault(name, []).append(state)
            if state == "Approved":
                self.approved.append((name, node))
        if (state in self.RUNNING) == (before in self.RUNNING):
            return
        names = self._running.setdefault(node, set())
        names.add(name) if state in self.RUNNING else names.discard(name)
        if len(names) > 1:
            self.shared.add(node)
        if not names:
            del self._running[node]
        if self._history:
            self._history.note(version, node, "requests", {"careen: request"} if names else set())

    def _summary(self):
        states = {}
        for one in self.objects.values():
            states[_spec(one, "state")] = states.get(_spec(one, "state"), 0) + 1
        return f"the requests by state: {states}"


def _spec(one, key):
    return one.get("spec", {}).get(key)


class OutWatch:
    """All of them together; the pods are those of a namespace. `selects` tells of a node whether a limit is about it."""

    def __init__(self, api, namespace):
        self.history = History()
        self.nodes = OutNodes(api, self.history)
        self.requests = RunningRequests(api, self.history)
        self._all = [self.nodes, self.requests, EmptiedNodes(api, self.history, namespace)]

    def start(self):
        for follower in self._all:
            follower.start()
        return self

    def stop(self):
        for follower in self._all:
            follower.stop()

    def catch_up(self):
        """Until all have seen what is so now."""
        for follower in self._all:
            follower.catch_up()

    def additions_beyond(self, cap, selects=lambda node: True, grace=3.0):
        """What careen took out although so many were out already. What others did counts once this watch has known of
        it for `grace` seconds, because careen's own knowledge of it is only as fresh as a watch; what careen did counts
        at once."""
        found = []
        since = {}  # node: since when this watch has known of a reason that is not careen's
        for seen, node, before, out in self.history.steps():
            now = out.get(node, frozenset())
            if not _foreign(now):
                since.pop(node, None)
            elif node not in since:
                since[node] = seen
            added = _own(now) and not before
            if not added or not selects(node):
                continue
            others = [name for name, why in out.items() if name != node and selects(name)
                      and (_own(why) or seen - since.get(name, seen) > grace)]
            if len(others) >= cap:
                found.append(f"{node} ({', '.join(sorted(now))}) beside " + ", ".join(
                    f"{name} ({', '.join(sorted(out[name]))})" for name in sorted(others)))
        return found

    def most_own(self, selects=lambda node: True):
        """How many nodes careen had out at once, at most."""
        return max((sum(_own(why) and selects(name) for name, why in out.items())
                    for _, _, _, out in self.history.steps()), default=0)

    def most_at_work(self, selects=lambda node: True):
        """How many nodes careen had out, or lost pods, at once, at most: with those who were told to wait left out."""
        return max((sum((_own(why) or "emptied" in why) and selects(name) for name, why in out.items())
                    for _, _, _, out in self.history.steps()), default=0)

    def seen(self, reason):
        """The nodes that had a reason that begins so."""
        return {node for _, node, _, out in self.history.steps()
                if any(why.startswith(reason) for why in out.get(node, ()))}


def _own(why):
    return any(one.startswith("careen:") for one in why)


def _foreign(why):
    return any(not one.startswith("careen:") for one in why)
