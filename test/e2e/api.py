"""A small client of the Kubernetes API on the standard library, and kubeconfig files."""

import http.client
import json
import socket
import ssl
import threading
import time
import urllib.parse

MERGE_PATCH = "application/merge-patch+json"


class Refused(Exception):
    """The API server answered with an error status."""

    def __init__(self, status, method, path, body):
        text = body.decode(errors="replace").strip()
        try:
            text = json.loads(text).get("message", text)
        except (ValueError, AttributeError):
            pass
        super().__init__(f"{method} {path}: {status}: {text[:500]}")
        self.status = status


class Api:
    """Talks to one API server with the administrator's certificate; each thread has its own connection."""

    def __init__(self, server, ca, certificate, key, timeout=20.0, agent="careen-test"):
        address = urllib.parse.urlsplit(server)
        self.server = server
        self.host, self.port = address.hostname, address.port
        self._timeout, self._agent = timeout, agent
        self._context = ssl.create_default_context(cafile=ca)
        self._context.load_cert_chain(certificate, key)
        self._local = threading.local()

    def connect(self, timeout=None):
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout or self._timeout,
                                           context=self._context)

    def raw(self, method, path, body=None, content_type="application/json"):
        """One request on a kept connection; status and body. Raises OSError when the server is away."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self.connect()
        headers = {"User-Agent": self._agent}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return response.status, response.read()
        except http.client.HTTPException as error:
            self._drop()
            raise OSError(f"{type(error).__name__}: {error}") from error
        except BaseException:
            self._drop()
            raise

    def _drop(self):
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
        self._local.connection = None

    def call(self, method, path, value=None, content_type="application/json", attempts=10):
        """One request with JSON both ways; tried again while the server is away or busy."""
        body = None if value is None else json.dumps(value, separators=(",", ":"))
        for attempt in range(attempts):
            last = attempt == attempts - 1
            try:
                status, answer = self.raw(method, path, body, content_type)
            except OSError:
                if last:
                    raise
            else:
                if status < 300:
                    return json.loads(answer) if answer else None
                if status not in (429, 500, 502, 503, 504) or last:
                    raise Refused(status, method, path, answer)
            time.sleep(min(2.0, 0.05 * 2 ** attempt))
        raise AssertionError("unreachable")

    def get(self, path):
        """The object, or None when there is none."""
        try:
            return self.call("GET", path)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def create(self, path, value):
        """Creates an object; one that is there already is left as it is."""
        try:
            return self.call("POST", path, value)
        except Refused as error:
            if error.status != 409:
                raise
            return None

    def patch(self, path, value):
        return self.call("PATCH", path, value, MERGE_PATCH)

    def patch_if_there(self, path, value):
        try:
            return self.patch(path, value)
        except Refused as error:
            if error.status != 404:
                raise
            return None

    def delete(self, path):
        try:
            return self.call("DELETE", path)
        except Refused as error:
            if error.status != 404:
                raise
            return None

    def list(self, path, **query):
        """All items of a list, and the version it was taken at."""
        items = []
        query.setdefault("limit", "1000")
        while True:
            answer = self.call("GET", path + "?" + urllib.parse.urlencode(query))
            items += answer["items"]
            token = answer["metadata"].get("continue")
            if not token:
                return items, answer["metadata"]["resourceVersion"]
            query["continue"] = token

    def open_watch(self, path, timeout, **query):
        """An open watch as (connection, response); the caller closes the connection."""
        query["watch"] = "1"
        query["allowWatchBookmarks"] = "true"
        connection = self.connect(timeout)
        try:
            connection.request("GET", path + "?" + urllib.parse.urlencode(query),
                               headers={"User-Agent": self._agent})
            response = connection.getresponse()
            if response.status != 200:
                raise Refused(response.status, "WATCH", path, response.read())
            return connection, response
        except BaseException:
            connection.close()
            raise


def close_watch(connection):
    """Ends a watch, also while another thread waits for its next event."""
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
    connection.close()


def side_by_side(function, values, threads=8):
    """Calls function for every value from several threads; the first error is raised."""
    values = iter(values)
    lock = threading.Lock()
    errors = []

    def work():
        while not errors:
            with lock:
                try:
                    value = next(values)
                except StopIteration:
                    return
            try:
                function(value)
            except Exception as error:  # handed to the caller below
                errors.append(error)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


def write_kubeconfig(path, server, cluster, user, namespace="default"):
    """A kubeconfig with one context; JSON is YAML."""
    with open(path, "w") as file:
        json.dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": server, **cluster}}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test",
                                                      "namespace": namespace}}],
        }, file, indent=1)
        file.write("\n")
    return path
