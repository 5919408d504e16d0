"""One of the two servers: carries operations out, remembers what it answered, and makes its answers comparable.

Each server makes up uids, versions, names and times of its own. Symbols takes their place: the first uid that a
server tells is u1, and so on, so that two servers that behave alike tell the same.
"""

import copy
import http.client
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse

from kinds import CRD, KINDS, NAMESPACES, merge

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
# Those that the generator uses stay as they are.
_OWN_UUID = re.compile(r"(11111111|99999999|00000000)-")
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
# Times that the generator uses.
_OWN_TIME = "2026-01-02T"
_AGE = re.compile(r"^(\d+[smhd])+$")
_GENERATED = re.compile(r"\b(gen-\d{3}-|Bad_)[a-z0-9]{5}\b")
_TOO_OLD = re.compile(r"(too old resource version: \d+) \(\d+\)")
_PRECONDITION = re.compile(r"(ResourceVersion in (?:the precondition|record)) \((\d+)\)")
# A patch that does not fit the type: the message holds the whole patched object, managed fields included.
_QUOTED_OBJECT = re.compile(r'Invalid value: "\{\\"(?:apiVersion|kind).*\}"')
_MISSING_UID = "00000000-0000-0000-0000-000000000000"


class Answer:
    def __init__(self, status, body, content_type="", retry_after=None):
        self.status, self.content_type, self.retry_after = status, content_type, retry_after
        try:
            self.value = json.loads(body) if body else None
        except ValueError:
            self.value = body.decode(errors="replace")


class Symbols:
    """What a server made up, by order of appearance. Uids and versions count by object, so that a difference in one
    object does not make all others look different."""

    def __init__(self):
        self._uids, self._versions, self._counts, self._lives = {}, {}, {}, {}

    def _count(self, *what):
        self._counts[what] = self._counts.get(what, 0) + 1
        return self._counts[what]

    def begin_anew(self, owner):
        """What comes of that object from now on is counted from one."""
        self._lives[owner] = self._lives.get(owner, 0) + 1

    def uid(self, uid, owner="an object"):
        if _OWN_UUID.match(uid) or not _UUID.match(uid):
            return uid
        if uid not in self._uids:
            self._uids[uid] = f"<uid {self._count('uid', owner)} of {owner}>"
        return self._uids[uid]

    def version(self, version, owner="an object"):
        if version not in self._versions:
            self._versions[version] = f"<version {self._count('version', owner)} of {owner}>"
        return self._versions[version]

    def list_version(self, version):
        """Of a list: other things happen in a real cluster, so it is told by the newest object version it includes."""
        if not version.isdigit():
            return version
        known = [v for v in self._versions if v.isdigit() and int(v) <= int(version)]
        return f"<at {self._versions[max(known, key=int)]}>" if known else "<before all>"

    def text(self, text):
        text = _UUID.sub(lambda match: self.uid(match.group(0)), text)
        text = _GENERATED.sub(r"\1<suffix>", text)
        text = _TOO_OLD.sub(r"\1 (<now>)", text)
        text = _PRECONDITION.sub(lambda match: f"{match.group(1)} ({self.version(match.group(2))})", text)
        return _QUOTED_OBJECT.sub('Invalid value: "<the object>"', text)

    def comparable(self, value, key=None):
        if isinstance(value, dict):
            result = {name: self.comparable(value[name], name) for name in sorted(value) if name != "metadata"}
            if isinstance(value.get("metadata"), dict):
                result["metadata"] = self._metadata(value)
            return result
        if isinstance(value, list):
            return [self.comparable(element, key) for element in value]
        if isinstance(value, str):
            if _TIME.match(value) and not value.startswith(_OWN_TIME):
                return "<time>"
            return "<age>" if key == "cells" and _AGE.match(value) else self.text(value)
        return value

    def _metadata(self, holder):
        metadata = holder["metadata"]
        is_list = "items" in holder or holder.get("kind") == "Table"
        owner = self.text("/".join(metadata[name] for name in ("namespace", "name") if name in metadata))
        owner += "′" * self._lives.get(owner, 0)
        result = {}
        for name in sorted(metadata):
            value = metadata[name]
            if name == "managedFields":
                continue
            if name == "resourceVersion" and isinstance(value, str):
                result[name] = self.list_version(value) if is_list else self.version(value, owner)
            elif name == "uid" and isinstance(value, str):
                result[name] = self.uid(value, owner)
            elif name in ("creationTimestamp", "deletionTimestamp") and isinstance(value, str):
                result[name] = "<time>" if _TIME.match(value) else value
            elif name == "continue":
                result[name] = "<token>" if value else value
            else:
                result[name] = self.comparable(value, name)
        return result


class Watch:
    """Collects the events of one watch on a thread of its own."""

    def __init__(self, connection, socket_, response):
        self._connection, self._response, self._socket = connection, response, socket_
        self.events = []
        self.ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            for line in self._response:
                if line.strip():
                    self.events.append(json.loads(line))
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass
        self.ended = True

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._thread.join(5)
        self._connection.close()


class Server:
    def __init__(self, label, url, tls=None):
        self.label = label
        self._address = urllib.parse.urlsplit(url)
        self._context = None
        if tls:
            self._context = ssl.create_default_context(cafile=tls["ca"])
            self._context.load_cert_chain(tls["certificate"], tls["key"])
        self._connection = None
        self.forget()

    def forget(self):
        self.symbols = Symbols()
        self._seen = {}       # answers about an object, oldest first, by its path
        self._read = {}       # the last answer to a GET
        self._tokens = {}
        self._generated = []
        self.watches = {}

    # --- HTTP ----------------------------------------------------------------

    def _connect(self):
        host, port = self._address.hostname, self._address.port
        if self._context:
            connection = http.client.HTTPSConnection(host, port, timeout=30, context=self._context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=30)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def request(self, method, path, body=None, content_type=None, accept=None):
        headers = {"User-Agent": "conformance", "Accept": accept or "application/json"}
        if content_type:
            headers["Content-Type"] = content_type
        for attempt in range(2):
            if self._connection is None:
                self._connection = self._connect()
            try:
                self._connection.request(method, path, body=body, headers=headers)
                response = self._connection.getresponse()
                return Answer(response.status, response.read(), response.headers.get("Content-Type", ""),
                              response.headers.get("Retry-After"))
            except (OSError, http.client.HTTPException):
                self._connection.close()
                self._connection = None
                if attempt or method != "GET":
                    raise
        raise AssertionError("unreachable")

    def call(self, method, path, value=None, content_type="application/json"):
        return self.request(method, path, None if value is None else json.dumps(value), content_type)

    # --- symbols to what this server knows -----------------------------------

    def _state(self, path, age):
        if age == "read":
            return self._read.get(path)
        states = self._seen.get(path)
        return states[max(0, len(states) - 1 - age)] if states else None

    def _fill(self, value):
        if isinstance(value, dict):
            if "$object" in value:
                return self._edited(value)
            return {key: self._fill(member) for key, member in value.items()}
        if isinstance(value, list):
            return [self._fill(member) for member in value]
        return self._fill_text(value) if isinstance(value, str) and value.startswith("$") else value

    def _fill_text(self, text):
        kind, _, rest = text.partition(":")
        if kind == "$continue":
            return self._tokens.get(rest, "")
        if kind == "$generated":
            return self._generated[-1 - int(rest)] if int(rest) < len(self._generated) else "gen-none"
        if kind not in ("$version", "$uid"):
            return text
        path, _, age = rest.rpartition(":")
        state = self._state(self._fill_path(path), age if age == "read" else int(age))
        meta = state["metadata"] if state else {}
        return meta.get("resourceVersion", "1") if kind == "$version" else meta.get("uid", _MISSING_UID)

    def _fill_path(self, path):
        return re.sub(r"\$generated:\d+", lambda match: self._fill_text(match.group(0)), path)

    def _edited(self, reference):
        path = self._fill_path(reference["$object"])
        state = self._state(path, reference["age"])
        if state is None:
            words = path.split("/")
            kind = KINDS[words[-2]]
            state = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": words[-1]}}
        state = copy.deepcopy(state)
        for what, where, *value in reference["edits"]:
            if what == "merge":
                state = merge(state, value[0])
                continue
            place = state
            for word in where[:-1]:
                if not isinstance(place.get(word), dict):
                    place[word] = {}
                place = place[word]
            if what == "set":
                place[where[-1]] = value[0]
            else:
                place.pop(where[-1], None)
        return state

    # --- carrying out --------------------------------------------------------

    def execute(self, operation):
        """The comparable answer."""
        if "fresh" in operation:
            # Reads that may be answered from a cache: a read that may not be waits until the cache has caught up.
            self.request("GET", operation["fresh"])
        path = self._fill_path(operation["path"])
        query = {key: self._fill(value) for key, value in operation.get("query", {}).items()}
        target = urllib.parse.quote(path)
        if query:
            target += "?" + urllib.parse.urlencode(query)
        body = operation.get("raw")
        if "body" in operation:
            body = json.dumps(self._fill(operation["body"]))
        if body is not None:
            body = body.encode()
        if "watch" in operation:
            return self._open_watch(operation, target)
        answer = self.request(operation["method"], target, body, operation.get("type"), operation.get("accept"))
        self._remember(operation, path, answer)
        if operation.get("unseen"):
            return {}
        comparable = {"status": answer.status, "type": answer.content_type,
                      "body": self.symbols.comparable(answer.value)}
        if answer.retry_after:
            comparable["retry after"] = answer.retry_after
        return comparable

    def _remember(self, operation, path, answer):
        value = answer.value
        if answer.status >= 300 or not isinstance(value, dict) or value.get("kind") in ("Status", "Table"):
            return
        if "items" in value:
            self._tokens[path.rpartition("/")[2]] = value["metadata"].get("continue", "")
            return
        meta = value.get("metadata", {})
        if "name" not in meta or operation.get("query", {}).get("dryRun"):
            return
        if operation["method"] == "POST":
            if meta.get("generateName"):
                self._generated.append(meta["name"])
            path = f"{path}/{meta['name']}"
        path = path.removesuffix("/status")
        self._seen.setdefault(path, []).append(value)
        if operation["method"] == "GET":
            self._read[path] = value

    def remove(self, path):
        """The object goes, whatever holds it, and is forgotten."""
        path = self._fill_path(path).removesuffix("/status").removesuffix("/eviction").removesuffix("/binding")
        self.call("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        self.call("DELETE", path + "?gracePeriodSeconds=0")
        self._seen.pop(path, None)
        self._read.pop(path, None)
        words = path.split("/")
        self.symbols.begin_anew("/".join(words[-3::2] if "namespaces" in words else words[-1:]))

    # --- watches -------------------------------------------------------------

    def _open_watch(self, operation, target):
        connection = self._connect()
        connection.request("GET", target, headers={"User-Agent": "conformance",
                                                   "Accept": operation.get("accept", "application/json")})
        # A connection that ends with the answer is handed over to it.
        connected = connection.sock
        response = connection.getresponse()
        if response.status != 200:
            answer = Answer(response.status, response.read(), response.headers.get("Content-Type", ""))
            connection.close()
            return {"status": answer.status, "type": answer.content_type,
                    "body": self.symbols.comparable(answer.value)}
        connected.settimeout(None)
        self.watches[operation["watch"]] = Watch(connection, connected, response)
        return {"status": 200, "type": response.headers.get("Content-Type", "")}

    def events(self, number):
        """What the watch sent, comparable."""
        watch = self.watches[number]
        told = []
        for event in list(watch.events):
            value = event["object"]
            if event["type"] == "BOOKMARK":
                # Ordinary ones come when the time has come; only the one that ends the first events has its place.
                if value.get("kind") != "Table" and value["metadata"].get("annotations"):
                    told.append(["BOOKMARK", {"kind": value.get("kind"), "annotations": value["metadata"]["annotations"]}])
            else:
                told.append([event["type"], self.symbols.comparable(value)])
        if watch.ended:
            told.append(["the stream ends", None])
        return told

    def close_watches(self):
        for watch in self.watches.values():
            watch.close()
        self.watches = {}

    # --- before and after ----------------------------------------------------

    def prepare(self):
        """Namespaces and the custom resource, which stay."""
        for name in NAMESPACES + ["conf-other"]:
            self.call("POST", "/api/v1/namespaces",
                      {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            # Pods need one; a controller would make it.
            self.call("POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
        self.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if self.request("GET", KINDS["widgets"].collection(NAMESPACES[0])).status == 200:
                return
            time.sleep(0.05)
        raise RuntimeError(f"{self.label}: the custom resource is not served")

    def clean(self):
        """Removes every object of the kinds, whatever holds it."""
        self.close_watches()
        for kind in KINDS.values():
            for item in self.request("GET", kind.collection(None)).value["items"]:
                meta = item["metadata"]
                if kind.namespaced and meta["namespace"] not in NAMESPACES + ["conf-other"]:
                    continue
                path = f"{kind.collection(meta.get('namespace'))}/{meta['name']}"
                if meta.get("finalizers"):
                    self.call("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
                self.call("DELETE", path + "?gracePeriodSeconds=0")
        for item in self.request("GET", "/api/v1/namespaces").value["items"]:
            # No controller ends these.
            if item["metadata"]["name"].startswith("conf-going"):
                item["spec"]["finalizers"] = []
                self.call("PUT", f"/api/v1/namespaces/{item['metadata']['name']}/finalize", item)
        self.forget()
