#!/usr/bin/env python3
"""The bundle and the catalog for OLM: operator-framework's own code has nothing to say against them, and what they install
is the chart's.

Usage: olm_test.py CAREEN"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))
import gobuild  # noqa: E402
import yaml  # noqa: E402

from pod_security import restricted_v2  # noqa: E402

CAREEN = None
OLM = ROOT / "deploy" / "olm"
SERVICE_VERSION = "bundle/manifests/careen.clusterserviceversion.yaml"


class OlmTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="careen-olm-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.judge = cls.folder / "judge"
        # With the flags of the control plane and of Helm, so that what these have compiled is not compiled again.
        gobuild.build(ROOT / "test/deploy/olm", cls.judge, "-trimpath", needed="1.26.3")
        cls.csv = yaml.safe_load((OLM / SERVICE_VERSION).read_text())

    def complaints(self, folder):
        result = subprocess.run([self.judge, folder / "bundle", folder / "catalog"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        self.assertIn(result.returncode, (0, 1), result.stdout)
        return result.stdout

    def broken(self, path, old, new):
        """A copy of deploy/olm with one mistake in it."""
        copy = self.folder / "broken"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(OLM, copy)
        text = (copy / path).read_text()
        self.assertIn(old, text)
        (copy / path).write_text(text.replace(old, new))
        return copy

    def test_operator_framework_has_no_complaints(self):
        self.assertEqual(self.complaints(OLM), "")

    def test_operator_framework_does_look(self):
        for path, old, new, told in (
                (SERVICE_VERSION, "nodemaintenances.nodemaintenance.medik8s.io", "others.example.com", "not found in bundle"),
                (SERVICE_VERSION, "supported: true", "supported: false", "none of InstallModeTypes are supported"),
                (SERVICE_VERSION, "minKubeVersion: 1.25.0", "minKubeVersion: soon", "MinKubeVersion"),
                ("catalog/catalog.yaml", "- name: careen.v0.1.0", "- name: careen.v9.9.9",
                 "not found in any channel entries"),
                ("catalog/catalog.yaml", "defaultChannel: stable", "defaultChannel: fast", "fast")):
            with self.subTest(told):
                self.assertIn(told, self.complaints(self.broken(path, old, new)))

    def test_pods_start_under_restricted_v2_with_flags_that_careen_knows(self):
        pod = self.csv["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]
        self.assertEqual(restricted_v2(pod), [])
        container = pod["containers"][0]
        result = subprocess.run([CAREEN, "run", *container["args"], "--help"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("--controllers=nodemaintenance", container["args"])
        # Where OLM puts the certificate of the webhook that it makes, and the port it sends the API server to.
        webhook = self.csv["spec"]["webhookdefinitions"][0]
        self.assertIn(f"--webhook-bind-address=:{webhook['targetPort']}", container["args"])
        self.assertIn("--webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs", container["args"])
        self.assertEqual(webhook["deploymentName"], "careen")

    def test_every_field_of_the_object_is_described(self):
        crd = yaml.safe_load((ROOT / "deploy/crds/nodemaintenance.yaml").read_text())
        fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        owned = self.csv["spec"]["customresourcedefinitions"]["owned"]
        self.assertEqual([one["name"] for one in owned], [crd["metadata"]["name"]])
        for part in ("spec", "status"):
            described = {one["path"].split(".")[0] for one in owned[0][part + "Descriptors"]}
            self.assertEqual(described, set(fields[part]["properties"]))

    def test_only_all_namespaces(self):
        self.assertEqual([one["type"] for one in self.csv["spec"]["installModes"] if one["supported"]],
                         ["AllNamespaces"])

    def test_images_of_another_registry(self):
        target = self.folder / "mine"
        subprocess.run([ROOT / "tools/manifests", "--registry", "registry.example.com/ops", "--output", target],
                       check=True, stderr=subprocess.DEVNULL)
        self.assertEqual(self.complaints(target / "deploy/olm"), "")
        for path in (target / "deploy/olm").rglob("*.yaml"):
            for line in path.read_text().splitlines():
                if "image:" in line.lower():
                    self.assertIn("registry.example.com/ops/careen", line)


if __name__ == "__main__":
    CAREEN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
