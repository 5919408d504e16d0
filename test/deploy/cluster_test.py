#!/usr/bin/env python3
"""The chart on a real API server: it takes every object, Helm installs, upgrades and removes it, the pods are allowed
where pod security is restricted and classes of the system need a quota, OLM's definitions take the bundle, and careen
gathers what there is.

Usage: cluster_test.py CAREEN

Brings up a cluster of its own with tools/testcluster, without nodes, and takes it down again."""

import base64
import copy
import gzip
import http.server
import json
import os
import pathlib
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "e2e"), str(ROOT / "test")]

import gobuild  # noqa: E402
from chart import CHART, NAMESPACE, VALUES, find, helm, objects, render, values_flags  # noqa: E402
from careen import poll  # noqa: E402
from cluster import Cluster, run_tests_on  # noqa: E402
from test_webhook import certificate  # noqa: E402

# Kinds of other projects, so that the server takes objects of them. What is in these objects is not checked here:
# promtool looks at the alerts.
FOREIGN = [("monitoring.coreos.com", "v1", "ServiceMonitor"), ("monitoring.coreos.com", "v1", "PrometheusRule"),
           ("cert-manager.io", "v1", "Certificate"), ("cert-manager.io", "v1", "Issuer")]
APPLY = ["apply", "--server-side", "--validate=strict"]
CAREEN = None
# As GKE starts its API server: pods of these classes need a quota that allows them, wherever they are.
ADMISSION = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [{
    "name": "ResourceQuota", "configuration": {
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration", "limitedResources": [{
            "resource": "pods", "matchScopes": [{"scopeName": "PriorityClass", "operator": "In", "values": [
                "system-node-critical", "system-cluster-critical"]}]}]}}]}


class Kubelet(http.server.BaseHTTPRequestHandler):
    """Serves the logs of containers, which is all that the API server asks of it here."""

    def do_GET(self):
        previous = "previous=true" in self.path
        text = f"{'before' if previous else 'now'} {self.path.split('?')[0]}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def start_kubelet(folder):
    paths, _ = certificate(folder, "kubelet")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Kubelet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(paths["tls.crt"], paths["tls.key"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def foreign_crd(group, version, kind):
    plural = kind.lower() + "s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                     "versions": [{"name": version, "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": schema}}]}}


class ClusterTest(unittest.TestCase):

    cluster = None

    def kubectl(self, *arguments, stdin=None):
        return self.cluster.kubectl(*arguments, stdin=json.dumps(stdin) if isinstance(stdin, (dict, list)) else stdin)

    def may(self, verb, resource, group="", **where):
        """Whether careen's account may do that; `where`: namespace, name, subresource."""
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:careen",
            "groups": ["system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}"],
            "resourceAttributes": {"verb": verb, "resource": resource, "group": group, **where}}}
        answer = self.cluster.api.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return answer["status"]["allowed"]

    def helm(self, *arguments):
        result = helm(*arguments, "--namespace", NAMESPACE, kubeconfig=self.cluster.kubeconfig)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def setUp(self):
        namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}]
        self.kubectl("apply", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": namespaces})

    def test_1_server_takes_everything(self):
        """Unknown fields and wrong values are errors: the validation is strict, on the server."""
        crds = {"apiVersion": "v1", "kind": "List", "items": [foreign_crd(*kind) for kind in FOREIGN]}
        self.kubectl(*APPLY, "-f", "-", stdin=crds)
        for name in crds["items"]:
            self.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{name['metadata']['name']}")
        # Roles lie in them, also when nothing is written.
        for namespace in ("medik8s-leases", "fleet", "lab"):
            self.kubectl(*APPLY, "-f", "-", stdin={"apiVersion": "v1", "kind": "Namespace",
                                                    "metadata": {"name": namespace}})
        for name in VALUES:
            with self.subTest(values=name):
                self.kubectl(*APPLY, "--dry-run=server", "-f", "-", stdin=render(name))
        with self.assertRaisesRegex(RuntimeError, "replica"):
            wrong = find(objects(render("default")), "Deployment")
            wrong["spec"]["replica"] = 2
            self.kubectl(*APPLY, "--dry-run=server", "-f", "-", stdin=wrong)
        self.kubectl("delete", "namespace", "medik8s-leases", "--wait=false")

    def test_2_plain_manifests(self):
        """Of the namespace that the file brings, everything else is a dry run."""
        manifest = objects((ROOT / "deploy/manifests/careen.yaml").read_text())
        namespaces = [one for one in manifest if one["kind"] == "Namespace"]
        self.assertIn("careen-system", {one["metadata"]["name"] for one in namespaces})
        self.kubectl(*APPLY, "-f", "-", stdin=find(namespaces, "Namespace", "careen-system"))
        rest = [one for one in manifest if one["metadata"].get("namespace", "careen-system") == "careen-system"]
        self.kubectl(*APPLY, "--dry-run=server", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": rest})
        self.kubectl(*APPLY, "--dry-run=server", "-f", str(ROOT / "deploy/rbac.yaml"))

    def test_3_pods_are_restricted(self):
        """Pod security lets the pods in where it is restricted; it does look, because it refuses a looser one."""
        self.kubectl("-n", NAMESPACE, *APPLY, "-f", "-", stdin={
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "careen"}})
        self._allow_class(find(objects(render("default")), "ResourceQuota"))
        for name in VALUES:
            with self.subTest(values=name):
                template = find(objects(render(name)), "Deployment")["spec"]["template"]
                pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(template)}
                pod["metadata"]["name"] = "as-the-deployment-makes-it"
                pod["spec"]["serviceAccountName"] = "careen"
                create = ["-n", NAMESPACE, "create", "--dry-run=server", "-f", "-"]
                self.kubectl(*create, stdin=pod)
                container = pod["spec"]["containers"][0]
                self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
                del container["securityContext"]["capabilities"]
                with self.assertRaisesRegex(RuntimeError, "PodSecurity.*restricted"):
                    self.kubectl(*create, stdin=pod)
        self.kubectl("-n", NAMESPACE, "delete", "serviceaccount/careen", "resourcequota/careen-priority")

    def _allow_class(self, quota):
        self.kubectl(*APPLY, "-f", "-", stdin=quota)
        path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/{quota['metadata']['name']}"
        poll(lambda: self.cluster.api.get(path).get("status", {}).get("hard"), 60, "the quota to be counted")

    def pods_made(self):
        """How many pods of the Deployment exist, and why there are not more."""
        status = json.loads(self.kubectl("-n", NAMESPACE, "get", "deployment", "careen", "-o", "json")).get("status", {})
        failures = [one["message"] for one in status.get("conditions", []) if one["type"] == "ReplicaFailure"]
        return status.get("replicas", 0), "".join(failures)

    def test_4_install_upgrade_uninstall(self):
        self.kubectl("wait", "--for=delete", "namespace/medik8s-leases", "--timeout=60s")
        # A class of the system outside kube-system, as on GKE: without the quota no pod is made, with it all are.
        self.helm("install", "careen", CHART, "--set", "priorityClassQuota=false")
        poll(lambda: "insufficient quota" in self.pods_made()[1], 60, "pods to be refused for their priority")
        self.helm("upgrade", "careen", CHART, "--set", "priorityClassQuota=true")
        poll(lambda: self.pods_made()[0] == 2, 120, "the pods to be made")
        for path in (ROOT / "deploy" / "crds").glob("*.yaml"):
            for crd in objects(path.read_text()):
                self.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{crd['metadata']['name']}")
                # What is installed is what is in the file: strict validation also of the schema.
                self.kubectl(*APPLY, "--force-conflicts", "--dry-run=server", "-f", str(path))
        self._check_rights()

        # The CA that careen puts there stays when the chart is upgraded.
        self.kubectl("patch", "validatingwebhookconfiguration", "careen", "--type=json", "-p", json.dumps(
            [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": self._authority()}]))
        self.helm("upgrade", "careen", CHART, "--set", "replicas=3,profiles.forceEviction=true")
        configuration = json.loads(self.kubectl("get", "validatingwebhookconfiguration", "careen", "-o", "json"))
        self.assertEqual(configuration["webhooks"][0]["clientConfig"]["caBundle"], self._authority())
        deployment = json.loads(self.kubectl("-n", NAMESPACE, "get", "deployment", "careen", "-o", "json"))
        self.assertEqual(deployment["spec"]["replicas"], 3)
        self.assertTrue(self.may("delete", "pods"))

        self.helm("upgrade", "careen", CHART, *values_flags("silent"))
        self.assertFalse(self.may("delete", "pods"))
        self.assertFalse(self.may("get", "secrets", namespace=NAMESPACE, name="careen-webhook-tls"))
        self.assertEqual(self.kubectl("get", "validatingwebhookconfigurations", "-o", "name"), "")

        self.helm("uninstall", "careen")
        self.assertEqual(self.kubectl("-n", NAMESPACE, "get", "deployments", "-o", "name"), "")
        self.assertFalse(self.may("list", "nodes"))
        # Others may use it.
        self.kubectl("get", "namespace", "medik8s-leases")

    def test_5_lease_namespace_of_others(self):
        """It exists already, made by an earlier operator: Helm neither stumbles over it nor claims it."""
        self.kubectl("annotate", "namespace", "medik8s-leases", "--overwrite", "meta.helm.sh/release-name-",
                     "meta.helm.sh/release-namespace-", "helm.sh/resource-policy-")
        self.helm("install", "careen", CHART, "--set", "controllers={nodemaintenance}")
        self.helm("upgrade", "careen", CHART, "--set", "controllers={nodemaintenance}")
        namespace = json.loads(self.kubectl("get", "namespace", "medik8s-leases", "-o", "json"))
        self.assertFalse({key for key in namespace["metadata"].get("annotations", {}) if "helm" in key})
        self.assertTrue(self.may("delete", "leases", "coordination.k8s.io", namespace="medik8s-leases"))
        self.helm("uninstall", "careen")
        self.kubectl("get", "namespace", "medik8s-leases")

    def test_6_olm_takes_the_bundle(self):
        """Its definitions, as far as the API server checks them, and the swap of an image as the migration page has it."""
        module = gobuild.module_folder(ROOT / "test/deploy/olm", "github.com/operator-framework/api", "1.26.3")
        for name in ("clusterserviceversions", "subscriptions", "catalogsources", "operatorgroups"):
            self.kubectl(*APPLY, "-f", str(module / f"crds/operators.coreos.com_{name}.yaml"))
            # kubectl wait does not take a definition that has no status yet.
            definition = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}.operators.coreos.com"
            poll(lambda: "Established" in {one["type"] for one in self.cluster.api.get(definition)["status"].get(
                "conditions") or [] if one["status"] == "True"}, 60, f"the definition of {name}")  # noqa: B023
        for path in sorted((ROOT / "deploy/olm/bundle/manifests").glob("*.yaml")):
            one = objects(path.read_text())[0]
            if one["kind"] == "ClusterServiceVersion":
                one["metadata"]["namespace"] = NAMESPACE  # as OLM does
            if one["kind"] != "CustomResourceDefinition":
                self.kubectl("-n", NAMESPACE, *APPLY, "--dry-run=server", "-f", "-", stdin=one)

        page = (ROOT / "docs/openshift.md").read_text().split("```yaml\n", 1)[1].split("```", 1)[0]
        for one in objects(page.replace("REGISTRY", "registry.example.com")):
            if one["kind"] != "Namespace":
                one["metadata"]["namespace"] = NAMESPACE
            self.kubectl(*APPLY, "--dry-run=server", "-f", "-", stdin=one)

        # The original's, of which the page's commands need no more.
        service_version = objects((ROOT / "deploy/olm/bundle/manifests/careen.clusterserviceversion.yaml").read_text())[0]
        service_version["metadata"] |= {"name": "node-maintenance-operator.v5.4.0", "namespace": NAMESPACE}
        self.kubectl(*APPLY, "-f", "-", stdin=service_version)
        self.kubectl(*APPLY, "-f", "-", stdin={
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "node-maintenance-operator", "namespace": NAMESPACE},
            "spec": {"name": "node-maintenance-operator", "channel": "stable", "source": "a", "sourceNamespace": "b"}})
        self._follow("#### When OLM installed it")
        csv = json.loads(self.kubectl("-n", NAMESPACE, "get", "csv", "node-maintenance-operator.v5.4.0", "-o", "json"))
        container = csv["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["image"], "registry.example.com/careen:VERSION")
        subscription = json.loads(self.kubectl("-n", NAMESPACE, "get", "subscription", "-o", "json"))["items"][0]
        self.assertEqual(subscription["spec"]["installPlanApproval"], "Manual")
        self._follow("**What not to delete**", "NAMESPACE=x\nCSV=clusterserviceversion/node-maintenance-operator.v5.4.0\n"
                     "SUBSCRIPTION=subscription/node-maintenance-operator\n")
        self.assertEqual(self.kubectl("-n", NAMESPACE, "get", "csv,subscription", "-o", "name"), "")

    def _follow(self, place, before=""):
        """Runs all blocks of the migration page from a place to the next heading."""
        text = (ROOT / "docs/migration/node-maintenance-operator.md").read_text().split(place + "\n", 1)[1]
        blocks = text.split("\n#", 1)[0].split("```")[1::2]
        commands = "".join([before, *blocks]).replace("REGISTRY", "registry.example.com")
        commands = commands.replace("NAMESPACE=openshift-workload-availability", "").replace("NAMESPACE=x", "")
        folder = os.path.dirname(self.cluster.kubectl_path)
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env=os.environ | {
                                    "KUBECONFIG": self.cluster.kubeconfig, "NAMESPACE": NAMESPACE,
                                    "PATH": f"{folder}:{os.environ['PATH']}"})
        self.assertEqual(result.returncode, 0, commands + result.stdout)

    def test_7_gather(self):
        """Of a cluster with careen in it: objects, logs of now and from before a restart, and nothing secret."""
        with tempfile.TemporaryDirectory() as scratch:
            kubelet = start_kubelet(scratch)
            self.addCleanup(kubelet.server_close)
            self.addCleanup(kubelet.shutdown)
            self._run_a_pod(kubelet.server_address[1])
            dest = pathlib.Path(scratch, "gathered")
            # By the name that oc adm must-gather knows.
            program = pathlib.Path(scratch, "gather")
            program.symlink_to(CAREEN)
            result = subprocess.run([program, "--kubeconfig", self.cluster.kubeconfig, "--dest", dest], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(result.returncode, 0, result.stdout)
            files = {str(path.relative_to(dest)): path for path in dest.rglob("*") if path.is_file()}
            cluster, own = "cluster-scoped-resources", f"namespaces/{NAMESPACE}"
            logs = f"{own}/pods/careen-0/careen/careen/logs"
            for name in (f"{cluster}/core/nodes/gathered.yaml",
                         f"{cluster}/apiextensions.k8s.io/customresourcedefinitions/"
                         "nodemaintenances.nodemaintenance.medik8s.io.yaml",
                         f"{cluster}/nodemaintenance.medik8s.io/nodemaintenances/swap-dimm.yaml",
                         f"{cluster}/admissionregistration.k8s.io/validatingwebhookconfigurations/careen.yaml",
                         "namespaces/medik8s-leases/coordination.k8s.io/leases/node-gathered.yaml",
                         f"{own}/coordination.k8s.io/leases/135b1886.medik8s.io.yaml",
                         f"{own}/apps/deployments/careen.yaml", f"{own}/pods/careen-0/careen-0.yaml",
                         "careen-snapshot.json.gz", "version"):
                self.assertIn(name, files, result.stdout)
            self.assertEqual(files[f"{logs}/current.log"].read_text(), f"now /containerLogs/{NAMESPACE}/careen-0/careen\n")
            self.assertTrue(files[f"{logs}/previous.log"].read_text().startswith("before "))
            self.assertFalse([name for name, path in files.items() if b"hunter2" in path.read_bytes()])
            node = objects(files[f"{cluster}/core/nodes/gathered.yaml"].read_text())[0]
            self.assertEqual((node["kind"], node["metadata"]["name"]), ("Node", "gathered"))
            snapshot = json.loads(gzip.decompress(files["careen-snapshot.json.gz"].read_bytes()))
            self.assertIn("gathered", json.dumps(snapshot))

    def test_8_only_careen_approves(self):
        """The policy of requests.protectState, as the API server applies it; and the rights of an actor's role."""
        self.helm("install", "careen", CHART, *values_flags("requests"))
        self.addCleanup(self.helm, "uninstall", "careen")
        path = "/apis/repairman.k8s.io/v1/maintenancerequests"
        poll(lambda: self.cluster.api.get(path) is not None, 60, "requests to be served")
        here = {"namespace": NAMESPACE}
        for name in ("controller-leader-election-helper", "careen-ledger-requests"):
            self.assertTrue(self.may("update", "configmaps", name=name, **here))
        self.assertFalse(self.may("update", "configmaps", name="other", **here))
        self.assertFalse(self.may("update", "leases", "coordination.k8s.io", name="careen-ledger", **here))
        self.assertTrue(self.may("patch", "maintenancerequests", "repairman.k8s.io"))
        self.assertTrue(self.may("patch", "maintenancelimits", "repairman.k8s.io", subresource="status"))

        account = f"system:serviceaccount:{NAMESPACE}:careen"
        self.kubectl("create", "clusterrolebinding", "an-actor", "--clusterrole=careen-requests-actor", "--user=actor")
        self.addCleanup(self.kubectl, "delete", "clusterrolebinding", "an-actor")

        def state(value, user, **changes):
            """Nothing, or why not."""
            try:
                self.kubectl("patch", "maintenancerequests.repairman.k8s.io", "mr", "--type=merge", f"--as={user}", "-p",
                             json.dumps({"spec": {"state": value, **changes}}))
            except RuntimeError as error:
                return str(error)
            return ""

        def make(name, value, user):
            self.kubectl("create", f"--as={user}", "-f", "-", stdin={
                "apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceRequest", "metadata": {"name": name},
                "spec": {"name": "node-1", "type": "node", "state": value}})

        # A policy takes effect a moment after it was made.
        def refused():
            try:
                make("early", "Approved", "actor")
            except RuntimeError as error:
                return "only careen sets Approved" in str(error)
            self.kubectl("delete", "maintenancerequests.repairman.k8s.io", "early")
            return False
        poll(refused, 60, "the policy to be in force", 1)
        with self.assertRaisesRegex(RuntimeError, "a request begins as Pending"):
            make("early", "InProgress", "actor")
        make("mr", "Pending", "actor")
        self.addCleanup(self.kubectl, "delete", "maintenancerequests.repairman.k8s.io", "mr", "--ignore-not-found")
        self.assertIn("only careen sets Approved", state("Approved", "actor"))
        self.assertIn("Pending cannot become InProgress", state("InProgress", "actor"))
        self.assertIn("stay as they are", state("Pending", "actor", name="node-2"))
        self.assertEqual(state("Approved", account), "")
        self.assertIn("Approved cannot become Pending", state("Pending", "actor"))
        self.assertEqual(state("InProgress", "actor"), "")
        self.assertIn("stay as they are", state("InProgress", account, name="node-2"))
        self.assertEqual(state("Completed", "actor"), "")
        self.assertIn("Completed cannot become InProgress", state("InProgress", "actor"))
        self.assertEqual(state("Rejected", account), "")
        self.assertEqual(state("Completed", "actor"), "", "it is told that its work is over")

    def _run_a_pod(self, port):
        """careen's chart, and by hand what a scheduler and a kubelet would make of it."""
        self.helm("install", "careen", CHART, "--set", "controllers={nodemaintenance},env[0].name=TOKEN,env[0].value=hunter2")
        self.addCleanup(self.helm, "uninstall", "careen")
        self.kubectl("delete", "validatingwebhookconfiguration", "careen")  # nobody serves it
        self.cluster.api.call("POST", "/api/v1/nodes", {"metadata": {"name": "gathered"}})
        self.cluster.api.patch("/api/v1/nodes/gathered/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}})
        self.cluster.api.call("POST", "/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances", {
            "apiVersion": "nodemaintenance.medik8s.io/v1beta1", "kind": "NodeMaintenance",
            "metadata": {"name": "swap-dimm"}, "spec": {"nodeName": "gathered"}})
        self.helm("upgrade", "careen", CHART, "--set", "controllers={nodemaintenance},env[0].name=TOKEN,env[0].value=hunter2")
        leases = "/apis/coordination.k8s.io/v1/namespaces"
        self.cluster.api.call("POST", f"{leases}/medik8s-leases/leases", {
            "metadata": {"name": "node-gathered"}, "spec": {"holderIdentity": "node-maintenance"}})
        self.cluster.api.call("POST", f"{leases}/{NAMESPACE}/leases", {
            "metadata": {"name": "135b1886.medik8s.io"}, "spec": {"holderIdentity": "careen-0_1234"}})
        template = json.loads(self.kubectl("-n", NAMESPACE, "get", "deployment", "careen", "-o", "json"))["spec"]["template"]
        poll(lambda: self.pods_made()[0] == 2, 120, "the quota to let pods in")
        pod = {"apiVersion": "v1", "kind": "Pod", **template}
        pod["metadata"] |= {"name": "careen-0"}
        pod["spec"]["nodeName"] = "gathered"
        self.cluster.api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", pod)
        running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        self.cluster.api.patch(f"/api/v1/namespaces/{NAMESPACE}/pods/careen-0/status", {"status": {
            "phase": "Running", "containerStatuses": [{
                "name": "careen", "ready": True, "restartCount": 1, "image": "careen", "imageID": "", "state": running,
                "lastState": {"terminated": {"exitCode": 1}}}]}})

    def _check_rights(self):
        """The account may do what careen does, where it does it, and no more."""
        here, leases, default = ({"namespace": name} for name in (NAMESPACE, "medik8s-leases", "default"))
        locks, webhooks = "coordination.k8s.io", "admissionregistration.k8s.io"
        maintenances = "nodemaintenance.medik8s.io"
        for verb, resource, group, where in (
                ("patch", "nodes", "", {}),
                ("create", "pods", "", {"subresource": "eviction", **default}),
                ("watch", "poddisruptionbudgets", "policy", {}),
                ("patch", "nodemaintenances", maintenances, {"subresource": "status"}),
                ("create", "leases", locks, here),
                ("update", "leases", locks, {"name": "135b1886.medik8s.io", **here}),
                ("watch", "leases", locks, {"name": "maintenance-controller-leader-election.cloud.sap", **here}),
                ("patch", "leases", locks, {"name": "careen-ledger", **here}),
                ("watch", "leases", locks, {"name": "careen-pause", **here}),
                ("delete", "leases", locks, leases),
                ("create", "events", "events.k8s.io", default),
                ("create", "secrets", "", here),
                ("update", "secrets", "", {"name": "careen-webhook-tls", **here}),
                ("patch", "validatingwebhookconfigurations", webhooks, {"name": "careen"})):
            self.assertTrue(self.may(verb, resource, group, **where), f"may not {verb} {resource} {where}")
        for verb, resource, group, where in (
                ("delete", "nodes", "", {}),
                ("patch", "nodes", "", {"subresource": "status"}),
                ("delete", "pods", "", default),
                ("create", "pods", "", here),
                ("get", "secrets", "", {"name": "other", **here}),
                ("list", "secrets", "", here),
                ("get", "secrets", "", {"name": "careen-webhook-tls", **default}),
                ("update", "leases", locks, default),
                ("update", "leases", locks, {"name": "of-somebody-else", **here}),
                ("patch", "leases", locks, {"name": "careen-ledger-2", **here}),
                ("patch", "leases", locks, {"name": "careen-pause", **here}),
                ("list", "leases", locks, here),
                ("delete", "leases", locks, here),
                ("create", "serviceaccounts", "", {"name": "other", "subresource": "token", **here}),
                ("create", "namespaces", "", {}),
                ("patch", "validatingwebhookconfigurations", webhooks, {"name": "other"}),
                ("create", "nodemaintenances", maintenances, {})):
            self.assertFalse(self.may(verb, resource, group, **where), f"may {verb} {resource} {where}")

    def _authority(self):
        """Of the cluster: some certificate that is real."""
        return base64.b64encode(pathlib.Path(self.cluster.ca).read_bytes()).decode()


def main():
    global CAREEN
    CAREEN = str(pathlib.Path(sys.argv.pop(1)).resolve())
    admission = tempfile.NamedTemporaryFile("w", suffix=".json")
    json.dump(ADMISSION, admission)
    admission.flush()
    return run_tests_on(Cluster(f"deploy-{os.getpid()}", "--without", "scheduler,kwok", "--nodes", "0", "--arg",
                                f"apiserver=--admission-control-config-file={admission.name}"), ClusterTest)


if __name__ == "__main__":
    sys.exit(main())
