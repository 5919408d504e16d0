"""A watch on the nodes that shares no code with careen: what an impartial witness has seen."""

import time

from follow import Follower

PROFILE = "cloud.sap/maintenance-profile"
STATE = "cloud.sap/maintenance-state"
DATA = "cloud.sap/maintenance-data"
IN_MAINTENANCE = "in-maintenance"


def labels(node):
    return node["metadata"].get("labels", {})


def annotations(node):
    return node["metadata"].get("annotations", {})


def state_of(node):
    return labels(node).get(STATE)


class NodeWatch(Follower):
    """Follows all nodes, the states they take and how many are in maintenance."""

    def __init__(self, api):
        super().__init__(api, "/api/v1/nodes")
        self.maintained = 0  # nodes in maintenance now
        self.reset()

    @property
    def nodes(self):
        return self.objects

    def reset(self):
        """Forgets the history, for the next test."""
        with self._changed:
            self.history = {}       # node name: the states it has taken, in order
            self.changes = []       # (node name, state before, state after, its data then), in order
            self.most = self.maintained
            self.last_change = 0.0  # when a state last changed, on the monotonic clock
            self.state_changes = 0

    def _summary(self):
        states = {}
        for node in self.nodes.values():
            states[state_of(node)] = states.get(state_of(node), 0) + 1
        return f"the nodes by state: {states}"

    def _told(self):
        self.most = max(self.most, self.maintained)

    def _take(self, name, old, new, version):
        before, after = old and state_of(old), new and state_of(new)
        if before == after:
            return
        if after:
            self.history.setdefault(name, []).append(after)
            self.changes.append((name, before, after, annotations(new).get(DATA)))
        self.last_change = time.monotonic()
        self.state_changes += 1
        self.maintained += (after == IN_MAINTENANCE) - (before == IN_MAINTENANCE)
