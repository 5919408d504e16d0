"""The definitions of repairman as they live on in clusters that are older than they look."""

import base64
import json
import os

import yaml

from careen import poll
from cluster import ROOT

GROUP = "repairman.k8s.io"
API = f"/apis/{GROUP}/v1"
KINDS = ("maintenancelimits", "maintenancerequests", "maintenanceselectors")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
ORIGINAL_SCHEMAS = {
    "maintenancelimits": ({"limit": {"type": "integer", "minimum": 0, "maximum": 100},
                           "policies": {"type": "array", "items": TEXT}},
                          {"limit": NUMBER, "unavailable": {"type": "object", "additionalProperties": TEXT}}),
    "maintenancerequests": ({"name": TEXT, "type": {"type": "string", "enum": ["node"]},
                             "state": {"type": "string", "enum": ["Pending", "Approved", "InProgress", "Completed"]}}, {}),
    "maintenanceselectors": ({}, {}),
}


def original_definitions(cluster):
    """As they were made as v1beta1: they preserve unknown fields, which a server of today only keeps."""
    api = cluster.api
    for kind in KINDS:
        with open(os.path.join(ROOT, "deploy", "crds", f"{kind[:-1]}.yaml")) as file:
            body = yaml.safe_load(file)
        spec, status = ORIGINAL_SCHEMAS[kind]
        version = body["spec"]["versions"][0]
        version.pop("additionalPrinterColumns", None)
        version["schema"]["openAPIV3Schema"] = {"type": "object", "properties": {
            "apiVersion": TEXT, "kind": TEXT, "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": spec}, "status": {"type": "object", "properties": status}}}
        name = f"{kind}.{GROUP}"
        api.delete(f"{DEFINITIONS}/{name}")
        poll(lambda: api.get(f"{DEFINITIONS}/{name}") is None, 30, f"an earlier {name} to be gone")  # noqa: B023
        api.create(DEFINITIONS, body)
        poll(lambda: api.get(f"{API}/{kind}") is not None, 30, f"{kind} to be served")  # noqa: B023
        stored = api.get(f"{DEFINITIONS}/{name}")
        stored["spec"]["preserveUnknownFields"] = True
        stored["metadata"].pop("resourceVersion", None)
        # Past the API server, which would refuse it.
        key, value = (base64.b64encode(text.encode()).decode() for text in (
            f"/registry/apiextensions.k8s.io/customresourcedefinitions/{name}", json.dumps(stored)))
        cluster.etcd("/v3/kv/put", {"key": key, "value": value})


def remove_definitions(cluster):
    """With all objects."""
    api = cluster.api
    for kind in KINDS:
        for one in api.list(f"{API}/{kind}")[0] if api.get(API) else []:
            api.delete(f"{API}/{kind}/{one['metadata']['name']}")
    for kind in KINDS:
        api.delete(f"{DEFINITIONS}/{kind}.{GROUP}")
    poll(lambda: api.get(f"{API}/maintenancelimits") is None, 30, "the definitions to be gone")
