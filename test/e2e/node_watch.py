"""A watch on the nodes that shares no code with careen: what an impartial witness has seen."""

import http.client
import json
import threading
import time

from api import Refused, close_watch

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


class NodeWatch:
    """Follows all nodes in a thread of its own.

    It sees each version of each node in order, so the number of nodes in maintenance that it has counted is the
    history as the API server knows it. Only a relist (after 410) leaves a gap, and it counts those.
    """

    def __init__(self, api):
        self._api = api
        self._changed = threading.Condition()
        self._connection = None
        self._stopping = False
        self._resume = None  # the version to go on from; None means to list first
        self.nodes = {}
        self.version = 0
        self.maintained = 0  # nodes in maintenance now
        self.relists = -1
        self.reset()
        self._thread = threading.Thread(target=self._run, daemon=True, name="node watch")

    def start(self):
        self._thread.start()
        self.wait_until(lambda watch: watch.relists >= 0, 30, "the first list of nodes")
        return self

    def stop(self):
        self._stopping = True
        connection = self._connection
        if connection:
            close_watch(connection)
        self._thread.join(30)

    def reset(self):
        """Forgets the history, for the next test."""
        with self._changed:
            self.history = {}       # node name: the states it has taken, in order
            self.changes = []       # (node name, state before, state after, its data then), in order
            self.most = self.maintained
            self.last_change = 0.0  # when a state last changed, on the monotonic clock
            self.state_changes = 0

    def wait_until(self, condition, seconds, what):
        """Waits until condition(self) holds after some event; the nodes do not change while it is asked."""
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self), seconds):
                states = {}
                for node in self.nodes.values():
                    states[state_of(node)] = states.get(state_of(node), 0) + 1
                raise AssertionError(f"after {seconds} s still waiting for {what}; the nodes by state: {states}")

    def wait_version(self, version, seconds=20):
        """Waits until the watch is at least as far as a version that the API server has answered."""
        self.wait_until(lambda watch: watch.version >= int(version), seconds, f"version {version} in the watch")

    # --- the thread --------------------------------------------------------

    def _run(self):
        while not self._stopping:
            try:
                if self._resume is None:
                    self._list()
                self._follow()
            except Refused as error:
                if error.status == 410:
                    self._resume = None
                else:
                    time.sleep(0.1)  # the server is starting
            except (OSError, http.client.HTTPException, ValueError, AttributeError):
                # Gone, or closed by stop() (the standard library answers that with odd exceptions).
                time.sleep(0.1)

    def _list(self):
        items, version = self._api.list("/api/v1/nodes")
        with self._changed:
            found = {node["metadata"]["name"]: node for node in items}
            for name in list(self.nodes):
                if name not in found:
                    self._take(name, None)
            for name, node in found.items():
                self._take(name, node)
            self.relists += 1
            self._advance(version)

    def _follow(self):
        self._connection, response = self._api.open_watch("/api/v1/nodes", 90, resourceVersion=self._resume)
        try:
            for line in response:
                event = json.loads(line)
                kind, node = event["type"], event["object"]
                if kind == "ERROR":
                    if node.get("code") == 410:
                        self._resume = None
                    return
                with self._changed:
                    if kind != "BOOKMARK":
                        self._take(node["metadata"]["name"], None if kind == "DELETED" else node)
                    self._advance(node["metadata"]["resourceVersion"])
        finally:
            self._connection.close()
            self._connection = None

    def _advance(self, version):
        # A list is taken in node by node: what is counted before its end was never so.
        self.most = max(self.most, self.maintained)
        self._resume = version
        self.version = int(version)
        self._changed.notify_all()

    def _take(self, name, node):
        old = self.nodes.get(name)
        if node is None:
            self.nodes.pop(name, None)
        else:
            self.nodes[name] = node
        before, after = old and state_of(old), node and state_of(node)
        if before == after:
            return
        if after:
            self.history.setdefault(name, []).append(after)
            self.changes.append((name, before, after, annotations(node).get(DATA)))
        self.last_change = time.monotonic()
        self.state_changes += 1
        self.maintained += (after == IN_MAINTENANCE) - (before == IN_MAINTENANCE)
