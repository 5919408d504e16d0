"""A small HTTPS client with client certificates and kept connections."""

import http.client
import json
import os
import ssl
import threading
import time
import urllib.parse

from .common import Failure


class Refused(Failure):
    """The server answered with an error status."""

    def __init__(self, status, method, path, body):
        text = body.decode(errors="replace").strip()
        try:
            text = json.loads(text).get("message", text)
        except (ValueError, AttributeError):
            pass
        super().__init__(f"{method} {path}: {status}: {text[:1000]}")
        self.status = status


class Client:
    """Talks to one server; each thread has a connection of its own."""

    def __init__(self, pki_folder, port, client="admin", timeout=30.0):
        self._port = port
        self._timeout = timeout
        self._context = ssl.create_default_context(cafile=os.path.join(pki_folder, "ca.crt"))
        self._context.load_cert_chain(os.path.join(pki_folder, client + ".crt"),
                                      os.path.join(pki_folder, client + ".key"))
        self._local = threading.local()

    def _connect(self, timeout):
        return http.client.HTTPSConnection("127.0.0.1", self._port, timeout=timeout, context=self._context)

    def _connection(self):
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect(self._timeout)
        return connection

    def _drop(self):
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def raw(self, method, path, body=None, content_type="application/json"):
        """One request; returns status and body. Raises OSError when unreachable."""
        connection = self._connection()
        headers = {"Content-Type": content_type} if body is not None else {}
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

    def call(self, method, path, value=None, content_type="application/json", attempts=8):
        """One request with JSON both ways; tries again when the server is busy."""
        body = None if value is None else json.dumps(value, separators=(",", ":"))
        for attempt in range(attempts):
            last = attempt == attempts - 1
            try:
                status, answer = self.raw(method, path, body, content_type)
            except OSError as error:
                if last:
                    raise Failure(f"{method} {path}: {error}") from error
            else:
                if status < 300:
                    return json.loads(answer) if answer else None
                if status not in (429, 500, 502, 503, 504) or last:
                    raise Refused(status, method, path, answer)
            time.sleep(min(2.0, 0.1 * 2 ** attempt))
        raise AssertionError("unreachable")

    def create(self, path, value):
        """Creates an object; returns None when it was there already."""
        try:
            return self.call("POST", path, value)
        except Refused as error:
            if error.status == 409:
                return None
            raise

    def follow(self, path):
        """One list, and then all changes: (type of the event, object), until the watch ends. None once the list is
        complete. Raises as call() does, and OSError."""
        answer = self.call("GET", path, attempts=1)
        for item in answer["items"]:
            yield "ADDED", item
        yield None
        query = {"watch": "1", "resourceVersion": answer["metadata"]["resourceVersion"], "timeoutSeconds": "600"}
        connection = self._connect(None)
        try:
            connection.request("GET", path + "?" + urllib.parse.urlencode(query))
            response = connection.getresponse()
            if response.status != 200:
                raise Refused(response.status, "WATCH", path, response.read())
            for line in response:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                yield event["type"], event["object"]
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(f"WATCH {path}: {type(error).__name__}: {error}") from error
        finally:
            connection.close()

    def list(self, path, **query):
        """All items of a list, fetched in pages."""
        items = []
        query.setdefault("limit", "2000")
        while True:
            answer = self.call("GET", path + "?" + urllib.parse.urlencode(query))
            items += answer["items"]
            token = answer["metadata"].get("continue")
            if not token:
                return items
            query["continue"] = token


def concurrently(function, values, threads=16):
    """Calls function for every value in several threads; the first error is raised."""
    iterator = iter(values)
    lock = threading.Lock()
    stop = threading.Event()
    errors = []

    def work():
        try:
            while not stop.is_set():
                with lock:
                    value = next(iterator, iterator)
                if value is iterator:
                    return
                function(value)
        except Exception as error:  # handed to the caller below
            errors.append(error)
            stop.set()

    # Daemon threads: an interrupt of the main thread need not wait for them.
    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        stop.set()
    if errors:
        raise errors[0]
