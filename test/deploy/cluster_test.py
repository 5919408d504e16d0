#!/usr/bin/env python3
"""The chart on a real API server: it takes every object, Helm installs, upgrades and removes it, and the pods are
allowed where pod security is restricted.

Brings up a cluster of its own with tools/testcluster, without nodes, and takes it down again."""

import base64
import copy
import json
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))

from chart import CHART, NAMESPACE, VALUES, find, helm, objects, render, values_flags  # noqa: E402
from cluster import Cluster, Stopped, stop_on_signals  # noqa: E402

# Kinds of other projects, so that the server takes objects of them. What is in these objects is not checked here:
# promtool looks at the alerts.
FOREIGN = [("monitoring.coreos.com", "v1", "ServiceMonitor"), ("monitoring.coreos.com", "v1", "PrometheusRule"),
           ("cert-manager.io", "v1", "Certificate"), ("cert-manager.io", "v1", "Issuer")]
APPLY = ["apply", "--server-side", "--validate=strict"]


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
        # A role lies in it, also when nothing is written.
        self.kubectl(*APPLY, "-f", "-", stdin={"apiVersion": "v1", "kind": "Namespace",
                                                "metadata": {"name": "medik8s-leases"}})
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
        self.kubectl("-n", NAMESPACE, "delete", "serviceaccount", "careen")

    def test_4_install_upgrade_uninstall(self):
        self.kubectl("wait", "--for=delete", "namespace/medik8s-leases", "--timeout=60s")
        self.helm("install", "careen", CHART)
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
    stop_on_signals()
    ClusterTest.cluster = Cluster(f"deploy-{os.getpid()}", "--without", "scheduler,kwok", "--nodes", "0")
    try:
        ClusterTest.cluster.up()
        return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1
    except Stopped:
        return 1
    finally:
        ClusterTest.cluster.down()


if __name__ == "__main__":
    sys.exit(main())
