"""The kinds that are compared, and random contents for them: mostly right, sometimes wrong in one way."""

NAMESPACES = ["conf-a", "conf-b"]

GROUP = "conformance.careen.dev"

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP, "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
                  "shortNames": ["wd"]},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "subresources": {"status": {}},
            "additionalPrinterColumns": [
                {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
                {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "description": "where it is"},
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
            "schema": {"openAPIV3Schema": {
                "type": "object", "required": ["spec"],
                "properties": {
                    "spec": {
                        "type": "object", "required": ["size"],
                        "properties": {
                            "size": {"type": "integer", "minimum": 1, "maximum": 10},
                            "color": {"type": "string", "enum": ["red", "green", "blue"], "default": "red"},
                            "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                            "ratio": {"type": "number"},
                            "on": {"type": "boolean"},
                            "note": {"type": "string", "nullable": True},
                            "limits": {"type": "object", "properties": {
                                "soft": {"type": "integer", "default": 3}, "hard": {"type": "integer"}}},
                            "parts": {"type": "array", "maxItems": 3, "items": {
                                "type": "object", "required": ["name"], "properties": {
                                    "name": {"type": "string"}, "count": {"type": "integer", "default": 1}}}},
                            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        }},
                    "status": {
                        "type": "object", "properties": {
                            "phase": {"type": "string"},
                            "observed": {"type": "integer", "format": "int64"}}},
                }}},
        }],
    },
}


class Kind:
    def __init__(self, plural, kind, prefix, namespaced, status, pool):
        self.plural, self.kind, self.prefix = plural, kind, prefix
        self.namespaced, self.status, self.pool = namespaced, status, pool
        self.api_version = prefix.removeprefix("/apis/").removeprefix("/api/")

    def collection(self, namespace):
        if not self.namespaced or namespace is None:
            return f"{self.prefix}/{self.plural}"
        return f"{self.prefix}/namespaces/{namespace}/{self.plural}"


KINDS = {kind.plural: kind for kind in [
    Kind("nodes", "Node", "/api/v1", False, True, ["n1", "n2", "n3", "n4", "n5"]),
    Kind("leases", "Lease", "/apis/coordination.k8s.io/v1", True, False, ["l1", "l2", "l3"]),
    Kind("configmaps", "ConfigMap", "/api/v1", True, False, ["c1", "c2", "c3"]),
    Kind("widgets", "Widget", f"/apis/{GROUP}/v1", True, True, ["w1", "w2", "w3"]),
    # Only in pods.py.
    Kind("pods", "Pod", "/api/v1", True, True, []),
    Kind("poddisruptionbudgets", "PodDisruptionBudget", "/apis/policy/v1", True, True, []),
]}

LABEL_KEYS = ["app", "tier", "example.com/zone", "go"]
LABEL_VALUES = ["a", "b", "", "x-1"]
BAD_LABELS = [("bad key", "x"), ("app", "not valid!"), ("a/b/c", "x"), ("app", "x" * 64), ("-x", "y"), ("", "x"),
              ("Ex_ample.com/x", "y"), ("x" * 64, "y"), ("example.com/", "z")]
BAD_NAMES = ["Upper", "under_score", "-dash", "dot.", "a..b", "x" * 254, "sp ace", "sla/sh", "tail-"]
FINALIZERS = ["example.com/hold", "careen.dev/keep"]
BAD_FINALIZERS = ["hold", "bad key/x", "orphan?"]


def metadata(random, deep=True):
    meta = {}
    if random.random() < 0.6:
        meta["labels"] = {key: random.choice(LABEL_VALUES)
                          for key in random.sample(LABEL_KEYS, random.randint(0, 3))}
    if random.random() < 0.4:
        meta["annotations"] = {f"note-{random.randint(1, 3)}": random.choice(["", "some text", "ünï", '{"a":1}'])}
    if deep and random.random() < 0.12:
        meta["finalizers"] = random.sample(FINALIZERS, random.randint(1, 2))
    if deep and random.random() < 0.04:
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
                                    "uid": "11111111-2222-3333-4444-555555555555"}]
    return meta


def _taint(random):
    taint = {"key": random.choice(["example.com/t", "t2", "node.kubernetes.io/unreachable"]),
             "effect": random.choice(["NoSchedule", "PreferNoSchedule", "NoExecute"])}
    if random.random() < 0.6:
        taint["value"] = random.choice(["", "v", "w"])
    return taint


def _taints(random):
    taints = {}
    for _ in range(random.randint(1, 3)):
        taint = _taint(random)
        taints[taint["key"], taint["effect"]] = taint
    return list(taints.values())


def node_spec(random):
    spec = {}
    if random.random() < 0.4:
        spec["unschedulable"] = random.random() < 0.7
    if random.random() < 0.4:
        spec["taints"] = _taints(random)
    if random.random() < 0.2:
        spec["providerID"] = "sim://host-1"
    return spec


def node_status(random):
    status = {}
    if random.random() < 0.6:
        status["conditions"] = [{"type": "Ready", "status": random.choice(["True", "False", "Unknown"]),
                                 "lastHeartbeatTime": "2026-01-02T03:04:05Z",
                                 "lastTransitionTime": "2026-01-02T03:04:05Z",
                                 "reason": "Test", "message": "as the test says"}]
    if random.random() < 0.4:
        status["capacity"] = {"cpu": random.choice(["4", "500m"]), "memory": "8Gi", "pods": "110"}
    if random.random() < 0.3:
        status["addresses"] = [{"type": "InternalIP", "address": "10.0.0.1"}]
    return status


def lease_spec(random):
    spec = {"holderIdentity": random.choice(["me", "you"]), "leaseDurationSeconds": random.randint(1, 40)}
    if random.random() < 0.5:
        spec["renewTime"] = "2026-01-02T03:04:05.123456Z"
        spec["acquireTime"] = "2026-01-02T03:04:05.000000Z"
    if random.random() < 0.3:
        spec["leaseTransitions"] = random.randint(0, 5)
    return spec


def widget_spec(random):
    spec = {"size": random.randint(1, 10)}
    if random.random() < 0.5:
        spec["color"] = random.choice(["red", "green", "blue"])
    if random.random() < 0.3:
        spec["tags"] = {"k1": random.choice("abc"), "k2": "v"}
    if random.random() < 0.3:
        spec["parts"] = [{"name": f"p{i}", **({"count": i} if random.random() < 0.5 else {})}
                         for i in range(random.randint(0, 2))]
    if random.random() < 0.2:
        spec["limits"] = random.choice([{}, {"hard": 5}, {"soft": 1}])
    if random.random() < 0.2:
        spec["unknown"] = {"pruned": True}
    if random.random() < 0.2:
        spec["free"] = {"kept": [1, {"a": None}], "x": "y"}
    if random.random() < 0.2:
        spec["ratio"] = random.choice([0.5, 2, 1e3])
    if random.random() < 0.15:
        spec["note"] = random.choice([None, "n"])
    if random.random() < 0.2:
        spec["on"] = True
    if random.random() < 0.2:
        spec["code"] = "abc"
    return spec


def content(random, plural):
    """The fields of an object beside its metadata."""
    if plural == "nodes":
        body = {"spec": node_spec(random)}
        if random.random() < 0.4:
            body["status"] = node_status(random)
        return body
    if plural == "leases":
        return {"spec": lease_spec(random)}
    if plural == "configmaps":
        body = {}
        if random.random() < 0.8:
            body["data"] = {f"key{random.randint(1, 3)}": random.choice(["v", "", "line\nline"])}
        if random.random() < 0.1:
            body["binaryData"] = {"bin": "aGVsbG8="}
        if random.random() < 0.04:
            body["immutable"] = True
        return body
    body = {"spec": widget_spec(random)}
    if random.random() < 0.3:
        body["status"] = {"phase": "Ignored on create"}
    return body


# Merge patches that make an object invalid, by kind. Left out: binaryData that is no base64, which the model keeps,
# and a fraction for an integer, of which the real server tells twice in different words.
WRONG = {
    "nodes": [
        {"spec": {"taints": [{"key": "a", "effect": "Sometimes"}]}},
        {"spec": {"taints": [{"key": "bad key", "effect": "NoSchedule"}]}},
        {"spec": {"taints": [{"key": "a", "value": "bad value!", "effect": "NoSchedule"}]}},
        {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]}},
        {"spec": {"taints": [{"effect": "NoSchedule"}]}},
        {"spec": {"taints": [{"key": "a"}]}},
        {"spec": {"unschedulable": "yes"}},
        {"spec": {"taints": "none"}},
        {"spec": {"providerID": 5}},
        {"spec": "text"},
    ],
    "leases": [
        {"spec": {"leaseDurationSeconds": 0}},
        {"spec": {"leaseDurationSeconds": -3}},
        {"spec": {"leaseDurationSeconds": "15"}},
        {"spec": {"leaseTransitions": -1}},
        {"spec": {"renewTime": "yesterday"}},
        {"spec": {"holderIdentity": 7}},
    ],
    "configmaps": [
        {"data": {"bad key!": "x"}},
        {"data": {"a": 5}},
        {"data": ["x"]},
        {"data": {"": "x"}},
        {"data": {"..": "x"}},
        {"data": {"same": "x"}, "binaryData": {"same": "aGVsbG8="}},
        {"immutable": "yes"},
    ],
    "widgets": [
        {"spec": {"size": 11}},
        {"spec": {"size": 0}},
        {"spec": {"size": None}},
        {"spec": {"size": "3"}},
        {"spec": {"color": "pink"}},
        {"spec": {"code": "A1"}},
        {"spec": {"code": "abcdefgh"}},
        {"spec": {"tags": {"a": 1}}},
        {"spec": {"parts": [{"count": 1}]}},
        {"spec": {"parts": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]}},
        {"spec": {"parts": {"a": "b"}}},
        {"spec": {"on": "true"}},
        {"spec": {"ratio": "much"}},
        {"spec": None},
        {"spec": []},
    ],
}


def merge(target, patch):
    """RFC 7386, for building bodies."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result
