"""A random sequence of operations, as a function of a seed alone.

An operation is a dictionary: `what` (its class, for reports), `method`, `path`, `query`, `type`, `accept` and `body`, or
`raw` for a body that is no JSON. What only a server knows is written symbolically and filled in by server.py:

    {"$object": KEY, "age": N, "edits": [...]}   an earlier answer about that object (age 0: the newest), changed
    "$version:KEY:N", "$uid:KEY:N"               its resourceVersion or uid
    "$generated:N"                               the Nth name from the last (0: the newest) that the server generated
    "$continue:PLURAL"                           the token of the last page of that kind

KEY is the object's path. A watch has `watch`, its number. The answer to an `unseen` operation is not compared. So operations can be left out, which is how a sequence that
shows a difference is made short.
"""

import random as random_module

from kinds import (BAD_FINALIZERS, BAD_LABELS, BAD_NAMES, FINALIZERS, KINDS, LABEL_KEYS, LABEL_VALUES, NAMESPACES, WRONG,
                   content, merge, metadata, node_status)

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

LABEL_SELECTORS = ["app=a", "app!=a", "app", "!app", "app in (a,b)", "tier notin (a)", "app=a,tier", "go=",
                   "example.com/zone=x-1", "app==b"]
BAD_SELECTORS = ["app=a=b", "in (a)", "app in a", "=x", "app=bad value!", "a,,b", "(", "app in ()"]
MOST_WATCHES = 14


class Generator:
    def __init__(self, seed):
        self.random = random_module.Random(seed)
        self.watches = 0
        self._generated = 0

    def operations(self, count):
        made = []
        while len(made) < count:
            made.extend(self._next())
        return [{"number": number, **operation} for number, operation in enumerate(made[:count])]

    # --- what to talk about --------------------------------------------------

    def _kind(self):
        return KINDS[self.random.choices(["nodes", "leases", "configmaps", "widgets"], [4, 2, 2, 4])[0]]

    def _place(self, kind):
        """Namespace and name of an object that may exist."""
        namespace = self.random.choice(NAMESPACES) if kind.namespaced else None
        if self.random.random() < 0.04:
            return namespace, f"$generated:{self.random.randint(0, 3)}"
        return namespace, self.random.choice(kind.pool)

    def _namespace(self, kind):
        """Of a collection; None for all. The real server has config maps of its own elsewhere."""
        if not kind.namespaced:
            return None
        return self.random.choice(NAMESPACES if kind.plural == "configmaps" else NAMESPACES + [None])

    def _target(self):
        kind = self._kind()
        namespace, name = self._place(kind)
        collection = kind.collection(namespace)
        return kind, namespace, name, collection, f"{collection}/{name}"

    def _full(self, kind, name, namespace):
        body = {"apiVersion": kind.api_version, "kind": kind.kind,
                "metadata": {"name": name, **metadata(self.random)}, **content(self.random, kind.plural)}
        if namespace and self.random.random() < 0.3:
            body["metadata"]["namespace"] = namespace
        return body

    # --- choosing ------------------------------------------------------------

    def _next(self):
        choices = [
            (self._create, 20), (self._create_wrong, 5), (self._get, 6), (self._list, 8), (self._update, 12),
            (self._update_wrong, 5), (self._status, 7), (self._merge_patch, 12), (self._merge_wrong, 5),
            (self._json_patch, 7), (self._strategic, 6), (self._apply, 4), (self._delete, 12), (self._finalize, 6),
            (self._delete_collection, 0.4), (self._race, 4), (self._recreate, 4), (self._watch, 1.0), (self._odd, 2),
        ]
        makers, weights = zip(*choices)
        return self.random.choices(makers, weights)[0]()

    # --- creating ------------------------------------------------------------

    def _create(self):
        kind, namespace, name, collection, _ = self._target()
        if name.startswith("$"):
            name = kind.pool[0]
        body = self._full(kind, name, namespace)
        query = {}
        draw = self.random.random()
        if draw < 0.06:
            del body["metadata"]["name"]
            # Numbered, so that they sort alike whatever the servers append.
            self._generated += 1
            body["metadata"]["generateName"] = f"gen-{self._generated:03d}-"
        elif draw < 0.10:
            query["dryRun"] = "All"
        elif draw < 0.14:
            del body["apiVersion"], body["kind"]
        return [dict(what="create", method="POST", path=collection, query=query, type=JSON, body=body)]

    def _create_wrong(self):
        kind, namespace, name, collection, _ = self._target()
        body = self._full(kind, kind.pool[0] if name.startswith("$") else name, namespace)
        operation = dict(method="POST", path=collection, type=JSON, body=body)
        meta = body["metadata"]
        way = self.random.choice(["name", "label", "finalizer", "no name", "version", "uid", "kind", "group", "broken",
                                  "empty", "array", "content", "content", "content", "namespace", "no namespace",
                                  "media", "label type", "annotation type", "generate", "dry run", "unknown field",
                                  "owner", "trailing"])
        if way == "name":
            meta["name"] = self.random.choice(BAD_NAMES)
        elif way == "label":
            key, value = self.random.choice(BAD_LABELS)
            meta["labels"] = {key: value}
        elif way == "finalizer":
            meta["finalizers"] = [self.random.choice(BAD_FINALIZERS)]
        elif way == "no name":
            del meta["name"]
        elif way == "version":
            meta["resourceVersion"] = "5"
        elif way == "uid":
            meta["uid"] = "99999999-2222-3333-4444-555555555555"
        elif way == "kind":
            body["kind"] = "Pod" if self.random.random() < 0.5 else "Nonsense"
        elif way == "group":
            body["apiVersion"] = "apps/v1"
        elif way == "broken":
            operation.pop("body")
            operation["raw"] = self.random.choice(['{"metadata":', "nonsense", '{"metadata":{"name":"x"}', '{"a":01}'])
        elif way == "empty":
            operation.pop("body")
            operation["raw"] = ""
        elif way == "array":
            operation["body"] = [body]
        elif way == "content":
            operation["body"] = merge(body, self.random.choice(WRONG[kind.plural]))
        elif way == "namespace":
            meta["namespace"] = "conf-other"
        elif way == "no namespace":
            if kind.namespaced:
                operation["path"] = kind.collection("conf-absent")
                meta.pop("namespace", None)
        elif way == "media":
            operation["type"] = self.random.choice(["text/plain", "application/xml", MERGE])
        elif way == "label type":
            meta["labels"] = self.random.choice([{"app": 5}, ["app"], "app"])
        elif way == "annotation type":
            meta["annotations"] = self.random.choice([{"app": True}, 7])
        elif way == "generate":
            del meta["name"]
            meta["generateName"] = "Bad_"
        elif way == "dry run":
            operation["query"] = {"dryRun": "Some"}
        elif way == "unknown field":
            body["metadata"]["nickname"] = "x"
            body["surprise"] = 1
            operation["query"] = {"fieldValidation": self.random.choice(["Ignore", "Strict", "Warn", "Odd"])}
        elif way == "owner":
            meta["ownerReferences"] = [self.random.choice([
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"},
                {"apiVersion": "v1", "kind": "", "name": "owner", "uid": "1"},
                {"kind": "ConfigMap", "name": "owner", "uid": "1"}])]
        elif way == "trailing":
            import json
            operation.pop("body")
            operation["raw"] = json.dumps(body) + " trailing"
        return [dict(what=f"create, wrong {way}", **operation)]

    # --- reading -------------------------------------------------------------

    def _get(self):
        kind, namespace, _, collection, path = self._target()
        draw = self.random.random()
        operation = dict(what="get", method="GET", path=path)
        if draw < 0.15 and kind.status:
            operation["path"] += "/status"
        elif draw < 0.20:
            operation["path"] += "/nonsense"
        elif draw < 0.40:
            operation["accept"] = TABLE
        elif draw < 0.45 and kind.namespaced:
            operation["path"] = f"{kind.prefix}/{kind.plural}/{kind.pool[0]}"
        elif draw < 0.50:
            operation["query"] = {"resourceVersion": "0"}
            operation["fresh"] = collection
        return [operation]

    def _list(self):
        kind = self._kind()
        namespace = self._namespace(kind)
        collection = kind.collection(namespace)
        query = {}
        operation = dict(what="list", method="GET", path=collection, query=query)
        for _ in range(self.random.randint(0, 2)):
            if "bad" in operation["what"]:
                break  # which of two mistakes is reported first does not matter
            way = self.random.choice(["labels", "labels", "fields", "limit", "continue", "any", "not older", "exact",
                                      "table", "bad labels", "bad fields", "bad limit", "future", "bad version",
                                      "bad match", "bad continue", "match alone", "old exact"])
            operation["what"] += f", {way}"
            key = f"{kind.collection(namespace or NAMESPACES[0])}/{kind.pool[0]}"
            if way == "labels":
                query["labelSelector"] = self.random.choice(LABEL_SELECTORS)
            elif way == "fields":
                choices = [f"metadata.name={kind.pool[0]}", f"metadata.name!={kind.pool[1]}", "metadata.name=absent"]
                if kind.namespaced:
                    choices.append("metadata.namespace=conf-a")
                if kind.plural == "nodes":
                    choices += ["spec.unschedulable=true", "spec.unschedulable=false"]
                query["fieldSelector"] = self.random.choice(choices)
            elif way == "limit":
                query["limit"] = str(self.random.randint(1, 4))
            elif way == "continue":
                query["limit"] = "2"
                query["continue"] = f"$continue:{kind.plural}"
                break
            elif way == "any":
                query["resourceVersion"] = "0"
            elif way == "not older":
                query["resourceVersion"] = f"$version:{key}:{self.random.randint(0, 2)}"
                if self.random.random() < 0.5:
                    query["resourceVersionMatch"] = "NotOlderThan"
            elif way == "exact":
                query["resourceVersion"] = f"$version:{key}:{self.random.randint(0, 2)}"
                query["resourceVersionMatch"] = "Exact"
            elif way == "table":
                operation["accept"] = TABLE
            elif way == "bad labels":
                query["labelSelector"] = self.random.choice(BAD_SELECTORS)
            elif way == "bad fields":
                query["fieldSelector"] = self.random.choice(["spec.nonsense=1", "metadata.name", "a=b=c", "=x"])
            elif way == "bad limit":
                query["limit"] = self.random.choice(["-1", "many", "0"])
            elif way == "bad version":
                query["resourceVersion"] = self.random.choice(["abc", "-1", "1.5"])
            elif way == "bad match":
                query["resourceVersionMatch"] = self.random.choice(["Sometimes", ""])
                query["resourceVersion"] = "0"
            elif way == "match alone":
                query["resourceVersionMatch"] = self.random.choice(["Exact", "NotOlderThan"])
            elif way == "bad continue":
                query["continue"] = self.random.choice(["nonsense", "e30", "%%%"])
            elif way == "old exact":
                query["resourceVersion"] = "0"
                query["resourceVersionMatch"] = "Exact"
        if "resourceVersion" in query:
            operation["fresh"] = collection
        return [operation]

    # --- updating ------------------------------------------------------------

    def _edits(self, kind):
        """Random changes of an object that leave it valid."""
        edits = []
        for _ in range(self.random.randint(1, 2)):
            way = self.random.choice(["label", "no labels", "annotation", "content", "nothing"])
            if way == "label":
                edits.append(["set", ["metadata", "labels", self.random.choice(LABEL_KEYS)],
                              self.random.choice(LABEL_VALUES)])
            elif way == "no labels":
                edits.append(["remove", ["metadata", "labels"]])
            elif way == "annotation":
                edits.append(["set", ["metadata", "annotations", "note-1"], f"text {self.random.randint(1, 9)}"])
            elif way == "content":
                for field, value in content(self.random, kind.plural).items():
                    edits.append(["set", [field], value])
        return edits

    def _update(self):
        kind, _, _, _, path = self._target()
        edits = self._edits(kind)
        age = 0
        what = "update"
        draw = self.random.random()
        query = {}
        if draw < 0.15:
            age, what = self.random.randint(1, 3), "update from an old version"
        elif draw < 0.35:
            edits.append(["remove", ["metadata", "resourceVersion"]])
            what = "update of any version"
        elif draw < 0.40:
            edits.append(["remove", ["metadata", "uid"]])
            what = "update without uid"
        elif draw < 0.45:
            query["dryRun"] = "All"
        return [dict(what=what, method="PUT", path=path, query=query, type=JSON,
                     body={"$object": path, "age": age, "edits": edits})]

    def _update_wrong(self):
        kind, namespace, name, _, path = self._target()
        way = self.random.choice(["uid", "name", "namespace", "version", "kind", "content", "label", "no name", "time",
                                  "generation", "empty version", "empty", "status field", "finalizer"])
        edits = []
        if way == "uid":
            edits = [["set", ["metadata", "uid"], "99999999-2222-3333-4444-555555555555"]]
        elif way == "name":
            edits = [["set", ["metadata", "name"], "other"]]
        elif way == "namespace":
            edits = [["set", ["metadata", "namespace"], "conf-other"]]
        elif way == "version":
            edits = [["set", ["metadata", "resourceVersion"], self.random.choice(["abc", "1", "0"])]]
        elif way == "kind":
            edits = [["set", ["kind"], "Pod"]]
        elif way == "content":
            edits = [["merge", [], self.random.choice(WRONG[kind.plural])]]
        elif way == "label":
            key, value = self.random.choice(BAD_LABELS)
            edits = [["set", ["metadata", "labels"], {key: value}]]
        elif way == "no name":
            edits = [["remove", ["metadata", "name"]]]
        elif way == "time":
            edits = [["set", ["metadata", "creationTimestamp"], "2020-01-01T00:00:00Z"],
                     ["set", ["metadata", "deletionTimestamp"], "2020-01-01T00:00:00Z"]]
        elif way == "generation":
            edits = [["set", ["metadata", "generation"], 77]]
        elif way == "empty version":
            edits = [["set", ["metadata", "resourceVersion"], ""]]
        elif way == "empty":
            return [dict(what="update, wrong empty", method="PUT", path=path, type=JSON, raw="")]
        elif way == "status field":
            edits = [["set", ["status"], {"phase": "Sneaky"} if kind.plural == "widgets" else node_status(self.random)]]
        elif way == "finalizer":
            edits = [["set", ["metadata", "finalizers"], [self.random.choice(FINALIZERS)]]]
        return [dict(what=f"update, wrong {way}", method="PUT", path=path, type=JSON,
                     body={"$object": path, "age": 0, "edits": edits})]

    def _status_body(self, kind):
        if kind.plural == "widgets":
            return {"phase": self.random.choice(["New", "Old"]), "observed": self.random.randint(1, 9)}
        return node_status(self.random)

    def _status(self):
        kind, _, _, _, path = self._target()
        status = self._status_body(kind)
        if self.random.random() < 0.5:
            patch = {"status": status}
            if self.random.random() < 0.3:
                patch["spec"] = {"size": 9} if kind.plural == "widgets" else {"unschedulable": True}
            if self.random.random() < 0.3:
                patch["metadata"] = {"labels": {"app": "by-status"}}
            if self.random.random() < 0.1:
                patch["status"] = self.random.choice([None, "text", {"phase": 5}, {"conditions": "none"}])
            return [dict(what="patch of the status", method="PATCH", path=path + "/status",
                         type=self.random.choice([MERGE, STRATEGIC]), body=patch)]
        edits = [["set", ["status"], status]]
        age = 0
        if self.random.random() < 0.3:
            edits += self._edits(kind)
        if self.random.random() < 0.2:
            age = self.random.randint(1, 2)
        if self.random.random() < 0.2:
            edits.append(["remove", ["metadata", "resourceVersion"]])
        return [dict(what="update of the status", method="PUT", path=path + "/status", type=JSON,
                     body={"$object": path, "age": age, "edits": edits})]

    # --- patching ------------------------------------------------------------

    def _merge_body(self, kind):
        patch = {"metadata": {}}
        for _ in range(self.random.randint(1, 3)):
            way = self.random.choice(["label", "drop label", "annotation", "drop annotation", "content", "finalizers",
                                      "null labels"])
            meta = patch["metadata"]
            if way == "label":
                meta.setdefault("labels", {})
                if meta["labels"] is not None:
                    meta["labels"][self.random.choice(LABEL_KEYS)] = self.random.choice(LABEL_VALUES)
            elif way == "drop label":
                meta.setdefault("labels", {})
                if meta["labels"] is not None:
                    meta["labels"][self.random.choice(LABEL_KEYS)] = None
            elif way == "annotation":
                meta["annotations"] = {"note-1": f"text {self.random.randint(1, 9)}"}
            elif way == "drop annotation":
                meta["annotations"] = {"note-1": None, "note-2": None}
            elif way == "content":
                patch.update(content(self.random, kind.plural))
            elif way == "finalizers" and self.random.random() < 0.4:
                meta["finalizers"] = self.random.choice([None, [], FINALIZERS[:1], FINALIZERS])
            elif way == "null labels" and self.random.random() < 0.4:
                meta["labels"] = None
        return patch

    def _merge_patch(self):
        kind, _, _, _, path = self._target()
        patch = self._merge_body(kind)
        what = "merge patch"
        query = {}
        draw = self.random.random()
        if draw < 0.15:
            patch["metadata"]["resourceVersion"] = f"$version:{path}:0"
            what = "merge patch with version"
        elif draw < 0.25:
            patch["metadata"]["resourceVersion"] = f"$version:{path}:{self.random.randint(1, 2)}"
            what = "merge patch with old version"
        elif draw < 0.30:
            patch["metadata"]["uid"] = f"$uid:{path}:0"
        elif draw < 0.33:
            query["dryRun"] = "All"
        return [dict(what=what, method="PATCH", path=path, query=query, type=MERGE, body=patch)]

    def _merge_wrong(self):
        kind, _, _, _, path = self._target()
        way = self.random.choice(["content", "content", "label", "broken", "array", "name", "uid", "version", "kind",
                                  "finalizer", "media", "empty", "number", "label type"])
        operation = dict(what=f"merge patch, wrong {way}", method="PATCH", path=path, type=MERGE)
        if way == "content":
            operation["body"] = self.random.choice(WRONG[kind.plural])
        elif way == "label":
            key, value = self.random.choice(BAD_LABELS)
            operation["body"] = {"metadata": {"labels": {key: value}}}
        elif way == "broken":
            operation["raw"] = '{"metadata":{'
        elif way == "array":
            operation["body"] = [{"op": "remove", "path": "/metadata/labels"}]
        elif way == "name":
            operation["body"] = {"metadata": {"name": "other"}}
        elif way == "uid":
            operation["body"] = {"metadata": {"uid": "99999999-2222-3333-4444-555555555555"}}
        elif way == "version":
            operation["body"] = {"metadata": {"resourceVersion": self.random.choice(["1", "abc", "0", ""])}}
        elif way == "kind":
            operation["body"] = {"kind": "Pod"}
        elif way == "finalizer":
            operation["body"] = {"metadata": {"finalizers": [self.random.choice(BAD_FINALIZERS)]}}
        elif way == "media":
            operation["type"] = self.random.choice([JSON, "text/plain", ""])
            operation["body"] = {"metadata": {"labels": {"app": "a"}}}
        elif way == "empty":
            operation["body"] = {}
        elif way == "number":
            operation["raw"] = "5"
        elif way == "label type":
            operation["body"] = {"metadata": {"labels": self.random.choice([{"app": 5}, ["x"], {"app": {"a": "b"}}])}}
        return [operation]

    def _json_patch(self):
        kind, _, _, _, path = self._target()
        choices = [
            [{"op": "add", "path": "/metadata/labels", "value": {"app": "a"}}],
            [{"op": "add", "path": "/metadata/labels/app", "value": "b"}],
            [{"op": "replace", "path": "/metadata/labels/app", "value": "x-1"}],
            [{"op": "remove", "path": "/metadata/labels/app"}],
            [{"op": "remove", "path": "/metadata/labels/example.com~1zone"}],
            [{"op": "test", "path": "/metadata/labels/app", "value": "a"},
             {"op": "replace", "path": "/metadata/labels/app", "value": "b"}],
            [{"op": "test", "path": "/metadata/name", "value": kind.pool[0]}],
            [{"op": "test", "path": "/metadata/resourceVersion", "value": f"$version:{path}:0"},
             {"op": "add", "path": "/metadata/annotations", "value": {"note-1": "tested"}}],
            [{"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/app"}],
            [{"op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/tier"}],
            [{"op": "add", "path": "/metadata/finalizers", "value": [FINALIZERS[0]]}],
            [{"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZERS[1]}],
            [{"op": "remove", "path": "/metadata/finalizers/0"}],
            [{"op": "remove", "path": "/spec/taints/0"}] if kind.plural == "nodes" else
            [{"op": "remove", "path": "/spec/parts/0"}],
            [{"op": "add", "path": "/spec/taints/0", "value": {"key": "first", "effect": "NoSchedule"}}]
            if kind.plural == "nodes" else [{"op": "add", "path": "/data/k", "value": "v"}],
            [{"op": "replace", "path": "/absent/deep", "value": 1}],
            [{"op": "jump", "path": "/metadata/labels"}],
            [{"op": "add", "value": 1}],
            [{"op": "add", "path": "metadata", "value": 1}],
            {"op": "add", "path": "/metadata/labels", "value": {}},
            [],
            [{"op": "replace", "path": "/metadata/name", "value": "other"}],
            [{"op": "remove", "path": "/metadata/resourceVersion"}],
        ]
        return [dict(what="json patch", method="PATCH", path=path, type=JSON_PATCH, body=self.random.choice(choices))]

    def _strategic(self):
        kind, _, _, _, path = self._target()
        choices = [self._merge_body(kind) for _ in range(6)]
        if kind.plural == "nodes":
            choices += [
                {"spec": {"taints": [{"key": "t2", "effect": "NoSchedule"}]}},
                {"spec": {"$patch": "replace", "taints": [{"key": "only", "effect": "NoExecute"}]}},
                {"status": {"conditions": [{"type": "Extra", "status": "True"}]}},
                {"metadata": {"$patch": "replace", "labels": {"tier": "b"}}},
                {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZERS[0]]}},
                {"metadata": {"finalizers": [FINALIZERS[1]]}},
                {"metadata": {"labels": {"$patch": "delete"}}},
                {"metadata": {"ownerReferences": [{"uid": "11111111-2222-3333-4444-555555555555", "$patch": "delete"}]}},
            ]
        if self.random.random() < 0.1:
            choices = WRONG[kind.plural]
        return [dict(what="strategic merge patch", method="PATCH", path=path, type=STRATEGIC,
                     body=self.random.choice(choices))]

    def _apply(self):
        # Objects that are only applied: the model knows which fields were applied by whom, but not who wrote others.
        kind, namespace, _, collection, _ = self._target()
        name = self.random.choice(["applied-1", "applied-2"])
        path = f"{collection}/{name}"
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, **metadata(self.random, False)},
                **content(self.random, kind.plural)}
        body.pop("status", None)
        # Who owns an empty spec that others have filled is not modelled.
        if not body.get("spec"):
            body.pop("spec", None)
        # One that applies no field at all leaves no manager behind on the real server; that is not modelled either.
        body["metadata"].setdefault("annotations", {"applied": "yes"})
        query = {"fieldManager": self.random.choice(["one", "two"])}
        draw = self.random.random()
        if draw < 0.4:
            query["force"] = "true"
        elif draw < 0.45:
            del query["fieldManager"]
        elif draw < 0.50:
            del body["kind"]
        elif draw < 0.55:
            body["metadata"]["name"] = "other"
            query["force"] = "true"
        elif draw < 0.60:
            body["metadata"]["managedFields"] = []
        elif draw < 0.75:
            return [dict(what="apply, delete", method="DELETE", path=path)]
        # The real server refuses fields that a schema does not tell of in applied objects (500); the model drops them.
        if kind.plural == "widgets":
            body["spec"].pop("unknown", None)
        return [dict(what="apply", method="PATCH", path=path, query=query, type=APPLY, body=body)]

    # --- deleting ------------------------------------------------------------

    def _delete(self):
        kind, _, _, _, path = self._target()
        operation = dict(what="delete", method="DELETE", path=path)
        draw = self.random.random()
        options = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if draw < 0.5:
            return [operation]
        operation["type"] = JSON
        operation["body"] = options
        if draw < 0.60:
            options["preconditions"] = {"uid": f"$uid:{path}:{self.random.choice([0, 0, 1])}"}
        elif draw < 0.70:
            options["preconditions"] = {"resourceVersion": f"$version:{path}:{self.random.choice([0, 0, 1])}"}
        elif draw < 0.78:
            options["gracePeriodSeconds"] = self.random.choice([0, 30, -1])
        elif draw < 0.88:
            # Foreground and Orphan are the work of the garbage collector, which the model has and the server alone has not.
            options["propagationPolicy"] = self.random.choice(["Background", "Sideways"])
        elif draw < 0.92:
            operation["query"] = {"dryRun": "All"}
        elif draw < 0.94:
            operation["query"] = {"propagationPolicy": "Background"}
            del operation["body"]
        elif draw < 0.96:
            del operation["body"]
            operation["raw"] = "{"
        elif draw < 0.98:
            options["kind"] = "Node"
        else:
            options["orphanDependents"] = False
        return [operation]

    def _finalize(self):
        """Takes the finalizers away: an object that waits for that goes."""
        _, _, _, _, path = self._target()
        return [dict(what="remove finalizers", method="PATCH", path=path, type=MERGE,
                     body={"metadata": {"finalizers": None}})]

    def _delete_collection(self):
        kind = self._kind()
        namespace = self.random.choice(NAMESPACES) if kind.namespaced else None
        return [dict(what="delete collection", method="DELETE", path=kind.collection(namespace),
                     query={"labelSelector": self.random.choice(LABEL_SELECTORS)})]

    # --- several in a row ----------------------------------------------------

    def _race(self):
        """Two writes computed from the same version."""
        kind, _, _, _, path = self._target()
        read = dict(what="race, read", method="GET", path=path)

        def write():
            if self.random.random() < 0.5:
                return dict(what="race, update", method="PUT", path=path, type=JSON,
                            body={"$object": path, "age": "read", "edits": self._edits(kind)})
            return dict(what="race, patch", method="PATCH", path=path, type=MERGE,
                        body={"metadata": {"resourceVersion": f"$version:{path}:read",
                                           "annotations": {"note-3": f"{self.random.randint(1, 9)}"}}})
        return [read, write(), write()]

    def _recreate(self):
        """The same name again, and what still means the first object."""
        kind, namespace, name, collection, path = self._target()
        if name.startswith("$"):
            name = kind.pool[0]
            path = f"{collection}/{name}"
        body = self._full(kind, name, namespace)
        body["metadata"].pop("finalizers", None)
        steps = [dict(what="recreate, read", method="GET", path=path),
                 dict(what="recreate, finalize", method="PATCH", path=path, type=MERGE,
                      body={"metadata": {"finalizers": None}}),
                 dict(what="recreate, delete", method="DELETE", path=path),
                 dict(what="recreate, create", method="POST", path=collection, type=JSON, body=body)]
        steps += self.random.sample([
            dict(what="recreate, update of the first", method="PUT", path=path, type=JSON,
                 body={"$object": path, "age": "read", "edits": self._edits(kind)}),
            dict(what="recreate, update of the first at any version", method="PUT", path=path, type=JSON,
                 body={"$object": path, "age": "read",
                       "edits": [["remove", ["metadata", "resourceVersion"]]]}),
            dict(what="recreate, delete of the first", method="DELETE", path=path, type=JSON,
                 body={"preconditions": {"uid": f"$uid:{path}:read"}}),
            dict(what="recreate, patch of the first", method="PATCH", path=path, type=MERGE,
                 body={"metadata": {"resourceVersion": f"$version:{path}:read", "labels": {"app": "late"}}}),
            dict(what="recreate, patch by uid", method="PATCH", path=path, type=MERGE,
                 body={"metadata": {"uid": f"$uid:{path}:read", "labels": {"app": "late"}}}),
        ], 2)
        return steps

    # --- watching ------------------------------------------------------------

    def _watch(self):
        if self.watches >= MOST_WATCHES:
            return []
        self.watches += 1
        kind = self._kind()
        namespace = self._namespace(kind)
        collection = kind.collection(namespace)
        query = {"watch": self.random.choice(["1", "true"])}
        key = f"{kind.collection(namespace or NAMESPACES[0])}/{kind.pool[0]}"
        what = "watch"
        start = self.random.choice(["", "0", "seen", "seen", "seen", "old", "bad", "initial", "future"])
        if start == "seen":
            query["resourceVersion"] = f"$version:{key}:{self.random.randint(0, 4)}"
        elif start in ("0", "old"):
            query["resourceVersion"] = "0" if start == "0" else "1"
        elif start == "bad":
            query["resourceVersion"] = self.random.choice(["abc", "-5"])
        elif start == "initial":
            query.update(sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true")
        elif start == "future":
            query.update(sendInitialEvents=self.random.choice(["true", "false"]))
        draw = self.random.random()
        if draw < 0.4:
            query["labelSelector"] = self.random.choice(LABEL_SELECTORS)
        elif draw < 0.55:
            query["fieldSelector"] = f"metadata.name={kind.pool[0]}"
        elif draw < 0.65 and kind.plural == "nodes":
            query["fieldSelector"] = "spec.unschedulable=true"
        elif draw < 0.7:
            query["labelSelector"] = self.random.choice(BAD_SELECTORS)
        operation = dict(what=what, method="GET", path=collection, query=query, watch=self.watches, fresh=collection)
        # The bookmark after the first events is a table of its own kind on the real server, an object on the model.
        if self.random.random() < 0.15 and start != "initial":
            operation["accept"] = TABLE
        return [operation]

    # --- the rest ------------------------------------------------------------

    def _odd(self):
        kind, _, _, collection, path = self._target()
        return [dict(what="odd", **self.random.choice([
            dict(method="GET", path=f"{kind.prefix}/nonsenses"),
            dict(method="GET", path="/apis/nonsense.example.com/v1/things"),
            dict(method="GET", path="/api/v2/nodes"),
            dict(method="POST", path="/api/v1/nodes/n1", type=JSON, body={}),
            dict(method="PUT", path=collection, type=JSON, body={}),
            dict(method="PATCH", path=collection, type=MERGE, body={}),
            dict(method="GET", path="/nonsense"),
            dict(method="POST", path="/api/v1/nodes/n1/status", type=JSON, body={}),
            dict(method="DELETE", path="/api/v1/nodes/n1/status"),
            dict(method="GET", path="/api/v1/nodes/n1", accept="text/plain"),
            dict(method="POST", path=f"{kind.prefix}/{kind.plural}", type=JSON,
                 body={"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}}),
        ]))]
