"""The whole command line with one controller more (careen_lantern), on a model cluster: whoever lists, names, shows or
plans controllers has found the line in the list.

    lantern_test.py CAREEN_LANTERN
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
CAREEN = ""
LIMIT = 60
CONFIG = "intervals: {requeue: 30s}\nprofiles: []\n"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def ask(url, body=None):
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def poll(what, condition):
    """What the condition yields, once it does."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            if found := condition():
                return found
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


class LanternTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.kubeconfig, cls.config = (os.path.join(cls.folder.name, name) for name in ("kubeconfig", "maintenance.yaml"))
        with open(cls.config, "w") as file:
            file.write(CONFIG)
        model, cls.dashboard = free_port(), free_port()
        cls.api = f"http://127.0.0.1:{model}"
        cls.start("model", "--nodes=3", f"--listen=127.0.0.1:{model}", f"--kubeconfig={cls.kubeconfig}")
        poll("the model cluster", lambda: os.path.exists(cls.kubeconfig) and ask(cls.api + "/api/v1/nodes"))
        with open(os.path.join(HERE, "lantern.yaml")) as file:
            ask(cls.api + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(file))
        cls.nodes = sorted(node["metadata"]["name"] for node in ask(cls.api + "/api/v1/nodes")["items"])
        for name, node in zip(("one", "two", "three"), cls.nodes):
            ask(cls.api + "/apis/lanterns.careen.test/v1/lanterns",
                {"apiVersion": "lanterns.careen.test/v1", "kind": "Lantern", "metadata": {"name": name},
                 "spec": {"nodeName": node, "color": "red"}})
        cls.start("run", f"--kubeconfig={cls.kubeconfig}", "--controllers=lantern", "--lantern-limit=2", "--health-addr=0",
                  f"--metrics-addr=127.0.0.1:{cls.dashboard}", "--enable-leader-election", "--leader-election-namespace=default")
        poll("two lights", lambda: len(cls.lit()) == 2)

    @classmethod
    def start(cls, *arguments):
        log = open(os.path.join(cls.folder.name, arguments[0] + ".log"), "w")
        process = subprocess.Popen([CAREEN, *arguments], stdout=log, stderr=log)

        def end():
            process.kill()
            process.wait()
            log.close()
        cls.addClassCleanup(end)

    @classmethod
    def lit(cls):
        return [node["metadata"]["name"] for node in ask(cls.api + "/api/v1/nodes")["items"]
                if "lanterns.careen.test/lit" in node["metadata"]["labels"]]

    def run_careen(self, *words, code=0):
        environment = {key: value for key, value in os.environ.items() if key not in ("KUBECONFIG", "CAREEN_SERVER")}
        result = subprocess.run([CAREEN, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                                env={**environment, "HOME": "/nonexistent"})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def on_cluster(self, *words, **more):
        return self.run_careen(*words, f"--kubeconfig={self.kubeconfig}", **more)

    def test_help_and_completion(self):
        self.assertIn("--lantern-limit", self.run_careen("run", "--help"))
        self.assertIn("profiles, nodemaintenance, requests, machines, lantern", " ".join(self.run_careen("run", "--help").split()))
        self.assertIn("there are profiles, nodemaintenance, requests, machines, lantern", self.run_careen("run", "--controllers=moon", code=2))
        self.assertIn("lantern/three", self.run_careen("__complete", "explain", "--kubeconfig", self.kubeconfig, "lantern/t"))

    def test_the_dashboards_documents(self):
        fleet = ask(f"http://127.0.0.1:{self.dashboard}/careen/v1/fleet")
        self.assertEqual([(one["name"], one["phase"]) for one in fleet["lanterns"]],
                         [("one", "Lit"), ("three", "Waiting"), ("two", "Lit")])
        story = ask(f"http://127.0.0.1:{self.dashboard}/careen/v1/lanterns/three")
        self.assertEqual(story["node"], self.nodes[2])

    def test_explain(self):
        for name in ("lantern/three", "ln/three", "lanterns/three"):
            self.assertIn("2 of 2 nodes are lit", self.run_careen(
                "explain", name, f"--server=http://127.0.0.1:{self.dashboard}"))
        self.assertIn("lantern/three: Waiting", self.on_cluster("explain", "lantern/three", f"--config={self.config}"))

    def test_a_light_keeps_nobody_from_uncordoning(self):
        self.on_cluster("uncordon", self.nodes[0])

    def test_status(self):
        self.assertIn("three", self.on_cluster("status"))

    def test_snapshot_and_plan(self):
        snapshot = os.path.join(self.folder.name, "cluster.json")
        self.assertIn("3 Lanterns", self.on_cluster("snapshot", "-o", snapshot, "--config", self.config))
        plan = self.run_careen("plan", "--snapshot", snapshot, "--for", "1d", "--output", "json")
        self.assertIn("lantern/three", plan)

    def test_gather(self):
        folder = os.path.join(self.folder.name, "gathered")
        self.on_cluster("gather", "--dest", folder)
        found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
        self.assertTrue([name for name in found if "lanterns" in name and "three" in name], found)


if __name__ == "__main__":
    CAREEN = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
