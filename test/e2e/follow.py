"""Following a kind of objects by list and watch, without a line of careen's: the eyes of an impartial witness."""

import http.client
import json
import threading
import time

from api import Refused, close_watch


class Follower:
    """Follows all objects of a path in a thread of its own.

    It sees each version of each object in order, so what it has counted is the history as the API server knows it.
    Only a relist (after 410) leaves a gap, and it counts those.
    """

    def __init__(self, api, path):
        self._api, self._path = api, path
        self._changed = threading.Condition()
        self._connection = None
        self._stopping = False
        self._resume = None  # the version to go on from; None means to list first
        self.objects = {}    # by name, with the namespace before it if there is one
        self.version = 0
        self.relists = -1
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"watch {path}")

    def start(self):
        self._thread.start()
        self.wait_until(lambda watch: watch.relists >= 0, 30, f"the first list of {self._path}")
        return self

    def stop(self):
        self._stopping = True
        connection = self._connection
        if connection:
            close_watch(connection)
        self._thread.join(30)

    def wait_until(self, condition, seconds, what):
        """Waits until condition(self) holds after some event; the objects do not change while it is asked."""
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self), seconds):
                raise AssertionError(f"after {seconds} s still waiting for {what}; {self._summary()}")

    def wait_version(self, version, seconds=20):
        """Waits until the watch is at least as far as a version that the API server has answered."""
        self.wait_until(lambda watch: watch.version >= int(version), seconds, f"version {version} in the watch")

    def catch_up(self, seconds=20):
        """Waits until the watch has seen what is there now."""
        items, _ = self._api.list(self._path)
        wanted = {_name(one): int(one["metadata"]["resourceVersion"]) for one in items}

        def seen(watch):
            return all(name in watch.objects and int(watch.objects[name]["metadata"]["resourceVersion"]) >= version
                       for name, version in wanted.items()) or watch.version > max(wanted.values(), default=0)
        self.wait_until(seen, seconds, f"the watch of {self._path} to catch up")

    # --- for those who follow something in particular ------------------------

    def _take(self, name, old, new, version):
        """An object has come, changed (both are given) or gone; called with the lock held."""

    def _told(self):
        """The changes up to here are complete: a list is taken in object by object, and no such state ever was."""

    def _summary(self):
        return f"there are {len(self.objects)} objects at {self._path}"

    # --- the thread ----------------------------------------------------------

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
        items, version = self._api.list(self._path)
        with self._changed:
            found = {_name(one): one for one in items}
            for name in list(self.objects):
                if name not in found:
                    self._change(name, None, version)
            for name, one in found.items():
                self._change(name, one, one["metadata"]["resourceVersion"])
            self.relists += 1
            self._advance(version)

    def _follow(self):
        self._connection, response = self._api.open_watch(self._path, 90, resourceVersion=self._resume)
        try:
            for line in response:
                event = json.loads(line)
                kind, one = event["type"], event["object"]
                if kind == "ERROR":
                    if one.get("code") == 410:
                        self._resume = None
                    return
                with self._changed:
                    version = one["metadata"]["resourceVersion"]
                    if kind != "BOOKMARK":
                        self._change(_name(one), None if kind == "DELETED" else one, version)
                    self._advance(version)
        finally:
            self._connection.close()
            self._connection = None

    def _change(self, name, new, version):
        old = self.objects.get(name)
        if new is None:
            self.objects.pop(name, None)
        else:
            self.objects[name] = new
        self._take(name, old, new, int(version))

    def _advance(self, version):
        self._told()
        self._resume = version
        self.version = int(version)
        self._changed.notify_all()


def _name(one):
    namespace = one["metadata"].get("namespace")
    return f"{namespace}/{one['metadata']['name']}" if namespace else one["metadata"]["name"]
