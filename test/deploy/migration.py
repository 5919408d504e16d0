"""Moves from a program that careen replaces, on a real API server, with the commands of the page about it: they are taken
from it and run as they stand, on what the original's own manifests install.

A test brings up a cluster of its own with tools/testcluster and takes it down again. Pods are simulated; the careen that
serves is a process with the arguments of a Deployment in that cluster and the token of its account."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))

from api import write_kubeconfig  # noqa: E402
from chart import HELM  # noqa: E402
from cluster import Cluster, run_tests_on  # noqa: E402

ORIGINALS = ROOT / "test" / "deploy" / "original"
HOME = "careen-system"
LOCAL = ("--metrics-bind-address", "--health-probe-bind-address", "--webhook-bind-address", "--metrics-timeout", "--zap-")


class Move(unittest.TestCase):

    cluster = None
    careen = None
    renamed = {"REGISTRY": "registry.example.com"}  # what stands for something on the page

    @classmethod
    def setUpClass(cls):
        cls.api = cls.cluster.api
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="careen-migration-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for name, target in (("kubectl", cls.cluster.kubectl_path), ("helm", HELM)):
            (cls.folder / name).write_text(f'#!/bin/sh\nexec {target} "$@"\n')
            (cls.folder / name).chmod(0o755)

    def kubectl(self, *arguments, stdin=None):
        return self.cluster.kubectl(*arguments, stdin=stdin)

    def follow(self, commands):
        """Runs commands of the page."""
        for word, meaning in self.renamed.items():
            commands = commands.replace(word, meaning)
        environment = os.environ | {"KUBECONFIG": self.cluster.kubeconfig, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=ROOT, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(result.returncode, 0, f"{commands}\n{result.stdout}")
        return result.stdout

    def names(self, kinds, selector):
        return self.kubectl("get", kinds, "-A", "--selector", selector, "-o", "name").split()

    def container(self, namespace, deployment, name):
        """As the Deployment has it."""
        found = json.loads(self.kubectl("-n", namespace, "get", "deployment", deployment, "-o", "json"))
        return next(one for one in found["spec"]["template"]["spec"]["containers"] if one["name"] == name)

    def arguments_of_chart(self):
        """Of careen's Deployment, but for those that are about a pod."""
        return [one for one in self.container(HOME, "careen", "careen")["args"] if not one.startswith(LOCAL)]

    def kubeconfig_of(self, namespace, account):
        token = self.kubectl("-n", namespace, "create", "token", account).strip()
        return write_kubeconfig(str(self.folder / f"kubeconfig-{account}"), self.cluster.server,
                                {"certificate-authority": str(self.cluster.ca)}, {"token": token}, namespace)


def main(test_class, nodes):
    """The tests of the class on a cluster of so many nodes; the first argument is the program."""
    test_class.careen = str(pathlib.Path(sys.argv.pop(1)).resolve())
    return run_tests_on(Cluster(f"move-{os.getpid()}", "--nodes", str(nodes)), test_class)
