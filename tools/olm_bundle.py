"""The bundle and the catalog for the Operator Lifecycle Manager, made of what the chart renders with deploy/olm/values.yaml
and of the CRD: what is installed by OLM is what Helm installs, as far as OLM lets it."""

import base64
import json
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy/helm/careen"
CRD = ROOT / "deploy/crds/nodemaintenance.yaml"
ICON = ROOT / "deploy/olm/icon.svg"
PACKAGE, CHANNEL = "careen", "stable"
WEBHOOK_PATH = "/validate-nodemaintenance-medik8s-io-v1beta1-nodemaintenance"
# Objects that OLM takes as they are; accounts, roles and the Deployment it makes from the CSV.
AS_THEY_ARE = ("Service", "PodDisruptionBudget")
NOTE = "# Made from the chart and the CRD by: make manifests\n"

SUMMARY = "Drains nodes while a NodeMaintenance object exists, within disruption budgets and with reasons"
DESCRIPTION = """\
careen keeps nodes in maintenance: for as long as a `NodeMaintenance` object exists its node is cordoned, tainted and
drained, disruption budgets are respected, and the object's status says how far it is and what it waits for. It serves the
objects of node-maintenance-operator as that program does, and takes over maintenances that are under way.

**Before you install it**, remove the Subscription and the ClusterServiceVersion of node-maintenance-operator: both own the
same definition. Its NodeMaintenance objects stay, and careen goes on with them.
"""


def _dump(value):
    return yaml.safe_dump(value, sort_keys=False, width=120, allow_unicode=True)


def _without_nulls(value):
    """A list that the chart leaves empty is null; the API server takes that in a Deployment, and not in a CSV."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _words(name):
    """deleteAfterSeconds: Delete after seconds."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=total)(?=pods)", " ", name).lower()
    return words[0].upper() + words[1:]


def _descriptors(schema, path=""):
    """One for each field that people read or write, with the words of the CRD."""
    for name, field in schema.get("properties", {}).items():
        place = path + name
        if field.get("type") == "object" and field.get("properties"):
            yield from _descriptors(field, place + ".")
        elif "description" in field:
            one = {"path": place, "displayName": _words(name), "description": " ".join(field["description"].split())}
            if place in WIDGETS:
                one["x-descriptors"] = [WIDGETS[place]]
            yield one


WIDGETS = {
    "nodeName": "urn:alm:descriptor:io.kubernetes:Node",
    "reason": "urn:alm:descriptor:com.tectonic.ui:text",
    "phase": "urn:alm:descriptor:io.kubernetes.phase",
    "conditions": "urn:alm:descriptor:io.kubernetes.conditions",
}


def _owned(crd):
    version = crd["spec"]["versions"][0]
    fields = version["schema"]["openAPIV3Schema"]
    return {
        "name": crd["metadata"]["name"], "kind": crd["spec"]["names"]["kind"], "version": version["name"],
        "displayName": "Node maintenance", "description": fields["description"],
        "resources": [{"kind": "Node", "name": "", "version": "v1"}, {"kind": "Pod", "name": "", "version": "v1"},
                      {"kind": "Lease", "name": "", "version": "coordination.k8s.io/v1"}],
        "specDescriptors": list(_descriptors(fields["properties"]["spec"])),
        "statusDescriptors": list(_descriptors(fields["properties"]["status"])),
    }


def _rights(documents, home):
    """Rules for the whole cluster, and those of careen's own namespace. OLM knows no other namespace: what the chart grants
    there is granted everywhere, and OLM's careen makes the namespace of the leases itself."""
    account = next(one for one in documents if one["kind"] == "ServiceAccount")["metadata"]["name"]
    bound = {(one["roleRef"]["kind"], one["metadata"].get("namespace"), one["roleRef"]["name"]) for one in documents
             if one["kind"].endswith("Binding")}
    everywhere, own = [], []
    for role in documents:
        place = role["metadata"].get("namespace")
        if role["kind"] in ("Role", "ClusterRole") and (role["kind"], place, role["metadata"]["name"]) in bound:
            (own if place == home else everywhere).extend(role["rules"])
    everywhere.append({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]})
    return {"clusterPermissions": [{"serviceAccountName": account, "rules": everywhere}],
            "permissions": [{"serviceAccountName": account, "rules": own}]}


def _webhook(deployment):
    return {
        "type": "ValidatingAdmissionWebhook", "generateName": "vnodemaintenance.kb.io", "deploymentName": deployment,
        "containerPort": 443, "targetPort": 9443, "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
        "sideEffects": "None", "timeoutSeconds": 15, "webhookPath": WEBHOOK_PATH,
        "rules": [{"apiGroups": ["nodemaintenance.medik8s.io"], "apiVersions": ["v1beta1"],
                   "operations": ["CREATE", "UPDATE"], "resources": ["nodemaintenances"], "scope": "Cluster"}],
    }


def _images(registry, version):
    prefix = f"{registry}/" if registry else ""
    return {name: f"{prefix}{name}:{version}" for name in ("careen", "careen-must-gather", "careen-bundle")}


def _annotations(crd, images):
    example = {"apiVersion": f"{crd['spec']['group']}/{crd['spec']['versions'][0]['name']}",
               "kind": crd["spec"]["names"]["kind"], "metadata": {"name": "replace-memory-worker-7"},
               "spec": {"nodeName": "worker-7", "reason": "replace a memory module"}}
    features = {"disconnected": "true", "fips-compliant": "false", "proxy-aware": "false", "tls-profiles": "false",
                "token-auth-aws": "false", "token-auth-azure": "false", "token-auth-gcp": "false", "cnf": "false",
                "cni": "false", "csi": "false"}
    return {
        "alm-examples": json.dumps([example], indent=2), "capabilities": "Basic Install",
        "categories": "OpenShift Optional", "containerImage": images["careen"], "description": SUMMARY,
        "operatorframework.io/suggested-namespace": "careen-system",
        "operatorframework.io/suggested-namespace-template": json.dumps({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "careen-system", "annotations": {"openshift.io/node-selector": ""}}}),
        "operators.openshift.io/must-gather-image": images["careen-must-gather"],
        **{f"features.operators.openshift.io/{name}": value for name, value in features.items()},
    }


def _service_version(documents, crd, chart, images, home):
    deployment = next(one for one in documents if one["kind"] == "Deployment")
    spec = _without_nulls(deployment["spec"])
    spec["template"]["spec"]["containers"][0]["image"] = images["careen"]
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    return {
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{PACKAGE}.v{chart['version']}", "namespace": "placeholder",
                     "annotations": _annotations(crd, images)},
        "spec": {
            "displayName": "careen", "description": DESCRIPTION, "version": chart["version"], "maturity": "beta",
            "minKubeVersion": re.search(r"\d+\.\d+\.\d+", chart["kubeVersion"]).group(0),
            "keywords": chart["keywords"], "provider": {"name": "careen"},
            "links": LINKS, "icon": [{"base64data": base64.b64encode(ICON.read_bytes()).decode(), "mediatype": "image/svg+xml"}],
            "installModes": [{"type": mode, "supported": mode == "AllNamespaces"} for mode in modes],
            "customresourcedefinitions": {"owned": [_owned(crd)]},
            "install": {"strategy": "deployment", "spec": {
                **_rights(documents, home),
                "deployments": [{"name": deployment["metadata"]["name"], "label": deployment["metadata"]["labels"],
                                 "spec": spec}]}},
            "webhookdefinitions": [_webhook(deployment["metadata"]["name"])],
            "relatedImages": [{"name": name, "image": images[name]} for name in ("careen", "careen-must-gather")],
        },
    }


LINKS = [{"name": "NodeMaintenance objects", "url": "https://github.com/medik8s/node-maintenance-operator"}]

BUNDLE_ANNOTATIONS = {
    "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
    "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
    "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    "operators.operatorframework.io.bundle.package.v1": PACKAGE,
    "operators.operatorframework.io.bundle.channels.v1": CHANNEL,
    "operators.operatorframework.io.bundle.channel.default.v1": CHANNEL,
}


def _dockerfile():
    labels = "".join(f"LABEL {key}={value}\n" for key, value in BUNDLE_ANNOTATIONS.items())
    return ("# The bundle's image: docker build -f deploy/olm/bundle.Dockerfile -t REGISTRY/careen-bundle:VERSION deploy/olm\n"
            f"FROM scratch\n{labels}COPY bundle/manifests /manifests/\nCOPY bundle/metadata /metadata/\n")


def _catalog(csv, crd, images):
    shown = ("annotations", "displayName", "description", "installModes", "keywords", "links", "maturity",
             "minKubeVersion", "provider")
    metadata = {"annotations": csv["metadata"]["annotations"], "apiServiceDefinitions": {},
                "crdDescriptions": csv["spec"]["customresourcedefinitions"],
                **{key: csv["spec"][key] for key in shown if key in csv["spec"]}}
    name, version = csv["metadata"]["name"], csv["spec"]["version"]
    gvk = {"group": crd["spec"]["group"], "kind": crd["spec"]["names"]["kind"],
           "version": crd["spec"]["versions"][0]["name"]}
    parts = [
        {"schema": "olm.package", "name": PACKAGE, "defaultChannel": CHANNEL, "description": DESCRIPTION},
        {"schema": "olm.channel", "package": PACKAGE, "name": CHANNEL, "entries": [{"name": name}]},
        {"schema": "olm.bundle", "package": PACKAGE, "name": name, "image": images["careen-bundle"],
         "properties": [{"type": "olm.gvk", "value": gvk},
                        {"type": "olm.package", "value": {"packageName": PACKAGE, "version": version}},
                        {"type": "olm.csv.metadata", "value": metadata}],
         "relatedImages": [{"name": "", "image": images["careen-bundle"]}, *csv["spec"]["relatedImages"]]},
    ]
    return "---\n".join(map(_dump, parts))


def _plain(one):
    """As OLM wants it: it puts the object into the namespace of the operator."""
    one["metadata"].pop("namespace", None)
    return one


def files(rendered, home, registry=""):
    """The texts of all files, by their paths. `rendered` is what the chart gives with deploy/olm/values.yaml."""
    documents = [one for one in yaml.safe_load_all(rendered) if one]
    crd = yaml.safe_load(CRD.read_text())
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    images = _images(registry, chart["appVersion"])
    csv = _service_version(documents, crd, chart, images, home)
    bundle = {f"{one['metadata']['name']}.{one['kind'].lower()}.yaml": _dump(_plain(one)) for one in documents
              if one["kind"] in AS_THEY_ARE
              or one["kind"] == "ClusterRole" and one["metadata"]["name"].endswith(("-editor", "-viewer", "-reader"))}
    bundle["careen.clusterserviceversion.yaml"] = _dump(csv)
    bundle["nodemaintenances.crd.yaml"] = CRD.read_text()
    out = {f"deploy/olm/bundle/manifests/{name}": NOTE + text for name, text in sorted(bundle.items())}
    out["deploy/olm/bundle/metadata/annotations.yaml"] = NOTE + _dump({"annotations": BUNDLE_ANNOTATIONS})
    out["deploy/olm/bundle.Dockerfile"] = NOTE + _dockerfile()
    out["deploy/olm/catalog/catalog.yaml"] = NOTE + _catalog(csv, crd, images)
    return out
