#!/usr/bin/env python3
"""Tries the tool as a user would. Run: python3 tools/testcluster/testcluster_test.py

The first run builds the programs (about ten minutes); later ones take about a
minute, and longer on a busy machine (84 s on two cores at a load of 13).
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "testcluster")
NAME = f"selftest-{os.getpid()}"


def tool(*arguments, status=0):
    """Runs the tool; returns what it printed."""
    result = subprocess.run([TOOL, *arguments], capture_output=True, text=True)
    if result.returncode != status:
        raise AssertionError(f"testcluster {' '.join(arguments)}: status {result.returncode} "
                             f"instead of {status}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def state_folder(name):
    base = os.environ.get("TESTCLUSTER_STATE") or f"/tmp/careen-testcluster-{os.getuid()}"
    return os.path.join(base, name)


def processes_of(name):
    """The ids of all processes that have the cluster's folder on their command line."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if f"{state_folder(name)}/".encode() in file.read():
                    found.append(int(entry))
        except OSError:
            pass
    return found


def eventually(function, seconds=30):
    """Calls function until it returns something true, which is returned."""
    end = time.monotonic() + seconds
    while True:
        value = function()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.2)


def setUpModule():
    tool("build")


class RunningCluster(unittest.TestCase):
    """What one running cluster must do."""

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(tool, "down", "--name", NAME)
        cls.up_output = tool("up", "--name", NAME, "--nodes", "5", "--audit")
        shell = subprocess.run(
            ["sh", "-c", f'eval "$("{TOOL}" env --name {NAME})"; env -0'],
            capture_output=True, check=True)
        pairs = (entry.partition(b"=") for entry in shell.stdout.split(b"\0") if entry)
        cls.environment = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}

    def kubectl(self, *arguments, status=0):
        result = subprocess.run(["kubectl", *arguments], env=self.environment,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout if status == 0 else result.stderr

    def get(self, *arguments):
        return json.loads(self.kubectl("get", "-o", "json", *arguments))

    def test_nodes_are_ready_and_labelled(self):
        nodes = self.get("nodes")["items"]
        self.assertEqual([node["metadata"]["name"] for node in nodes],
                         [f"node-{index}" for index in range(5)])
        zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes]
        self.assertEqual(zones, ["zone-a", "zone-b", "zone-c", "zone-a", "zone-b"])
        for node in nodes:
            ready = [condition["status"] for condition in node["status"]["conditions"]
                     if condition["type"] == "Ready"]
            self.assertEqual(ready, ["True"])
            self.assertNotIn("taints", node["spec"])

    def test_kubectl_is_of_the_servers_version(self):
        version = json.loads(self.kubectl("version", "-o", "json"))
        self.assertEqual(version["clientVersion"]["gitVersion"],
                         version["serverVersion"]["gitVersion"])
        self.assertIn(version["serverVersion"]["gitVersion"], self.up_output)

    def test_deployment_runs_and_its_pod_goes_in_time(self):
        self.kubectl("create", "deployment", "web", "--image=web", "--replicas=2")
        self.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        pods = self.get("pods", "-l", "app=web")["items"]
        self.assertEqual([pod["status"]["phase"] for pod in pods], ["Running"] * 2)
        begun = time.monotonic()
        self.kubectl("delete", "pod", pods[0]["metadata"]["name"])
        self.assertGreater(time.monotonic() - begun, 0.8)

    def test_rights_are_checked(self):
        self.kubectl("create", "serviceaccount", "nobody")
        token = self.kubectl("create", "token", "nobody").strip()
        server = ["--kubeconfig=/dev/null", f"--server={self.environment['TESTCLUSTER_SERVER']}",
                  f"--certificate-authority={self.environment['TESTCLUSTER_CA']}",
                  f"--token={token}"]
        self.assertIn("Forbidden", self.kubectl("get", "nodes", *server, status=1))

    def test_restarts_keep_the_objects(self):
        self.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        tool("restart", "apiserver", "--name", NAME)
        tool("restart", "etcd", "--name", NAME)
        self.assertEqual(self.get("configmap", "kept")["data"], {"a": "b"})
        tool("stop", "apiserver", "--name", NAME)
        self.kubectl("get", "nodes", status=1)
        tool("start", "apiserver", "--name", NAME)
        self.kubectl("get", "nodes")

    def test_simulated_machine_is_a_node_for_as_long_as_it_is_there(self):
        played = subprocess.Popen([TOOL, "infrastructure", "--name", NAME], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(played.stdout.close)
        self.addCleanup(played.wait)
        self.addCleanup(played.terminate)
        self.assertEqual(played.stdout.readline(), "playing\n")

        def create(kind, name, spec, labels=""):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "spec": spec,
                           "metadata": {"name": name, "labels": labels or {}}}, file)
                file.flush()
                self.kubectl("create", "-f", file.name)

        create("SimulatedCluster", "workload", {"testcluster": NAME})
        create("SimulatedMachine", "m", {}, {"cluster.x-k8s.io/cluster-name": "workload"})
        node = "default-m-node"
        self.assertTrue(eventually(lambda: any(
            one["metadata"]["name"] == node and one["spec"].get("providerID") == "simulated://default/m"
            for one in self.get("nodes")["items"])))
        self.kubectl("wait", "--for=condition=Ready", "--timeout=30s", f"node/{node}")
        self.assertTrue(eventually(lambda: self.get("simulatedmachine", "m").get("status") == {
            "initialization": {"provisioned": True}}))
        self.kubectl("delete", "simulatedmachine", "m", "--timeout=30s")
        self.kubectl("get", "node", node, status=1)

    def test_old_watch_expires_after_compaction(self):
        path = "/api/v1/namespaces/default/configmaps"
        version = json.loads(self.kubectl("get", "--raw", path))["metadata"]["resourceVersion"]
        watch = f"{path}?watch=1&timeoutSeconds=1&resourceVersion={version}"
        self.assertNotIn("410", self.kubectl("get", "--raw", watch))
        tool("compact", "--name", NAME)
        event = json.loads(self.kubectl("get", "--raw", watch).splitlines()[0])
        self.assertEqual((event["type"], event["object"]["code"]), ("ERROR", 410))

    def test_requests_are_logged(self):
        self.kubectl("get", "--raw", "/api/v1/namespaces/default/secrets?limit=17")
        with open(self.environment["TESTCLUSTER_AUDIT_LOG"]) as log:
            self.assertIn("secrets?limit=17", log.read())

    def test_flags_are_shown(self):
        for output in (self.up_output, tool("flags", "--name", NAME)):
            self.assertIn("--unsafe-no-fsync=true", output)
            self.assertIn("--authorization-mode=Node,RBAC", output)


class EndOfClusters(unittest.TestCase):
    """Nothing may be left behind, and nothing else may be touched."""

    def test_down_leaves_nothing(self):
        name = NAME + "-down"
        self.addCleanup(tool, "down", "--name", name)
        tool("up", "--name", name, "--without", "scheduler,controller-manager,kwok")
        self.assertEqual(len(processes_of(name)), 2)
        self.assertIn(name, tool("list"))
        tool("down", "--name", name)
        self.assertEqual(processes_of(name), [])
        self.assertFalse(os.path.exists(state_folder(name)))
        self.assertNotIn(name, tool("list"))

    def test_interrupted_up_leaves_nothing(self):
        name = NAME + "-stop"
        self.addCleanup(tool, "down", "--name", name)
        process = subprocess.Popen([TOOL, "up", "--name", name], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.assertTrue(eventually(lambda: len(processes_of(name)) >= 2))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 128 + signal.SIGTERM)
        self.assertEqual(processes_of(name), [])
        self.assertFalse(os.path.exists(state_folder(name)))

    def test_down_spares_a_process_that_only_has_the_same_id(self):
        name = NAME + "-other"
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        with open("/proc/sys/kernel/random/boot_id") as file:
            record = {"pid": other.pid, "start": 1, "boot": file.read().strip()}
        os.makedirs(state_folder(name))
        with open(os.path.join(state_folder(name), "cluster.json"), "w") as file:
            json.dump({"created": 0, "options": {"without": []}, "ports": {},
                       "processes": {"etcd": record}, "programs": "/"}, file)
        tool("down", "--name", name)
        self.assertIsNone(other.poll())
        self.assertFalse(os.path.exists(state_folder(name)))


class CommandLine(unittest.TestCase):

    def test_status_tells_what_went_wrong(self):
        tool("up", "--name", "No_Name", status=2)
        tool("up", "--without", "etcd", status=2)
        tool("restart", "nothing", status=2)
        tool("env", "--name", NAME + "-none", status=1)
        tool("down", "--name", NAME + "-none")

    def test_every_command_has_help_with_an_example(self):
        for command in ("up", "env", "down", "list", "build", "flags", "restart", "stop", "start",
                        "compact", "nodes"):
            self.assertIn(f"testcluster {command}", tool(command, "--help").split("Example:")[1])

    def test_half_a_build_is_not_taken_for_a_whole_one(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        script = ("import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1])\n"
                  "from tclib import build, common\n"
                  "build._build = lambda go, name, source, programs, label, jobs: print('built', name)\n"
                  "build.gotoolchain.provide = lambda go: go\n"
                  "import os\n"
                  "programs = build.ensure()\n"
                  "open(os.path.join(programs, '.etcd.unfinished'), 'w').close()\n"
                  "open(os.path.join(programs, 'kubectl'), 'w').close()\n"
                  "build.ensure()\n")
        result = subprocess.run([sys.executable, "-c", script, os.path.dirname(TOOL)],
                                env={**os.environ, "CAREEN_CACHE": folder},
                                capture_output=True, text=True)
        built = result.stdout.split()[1::2]
        self.assertEqual(len(built), 6 + 5, result.stdout + result.stderr)
        self.assertEqual(built.count("etcd"), 2)
        self.assertEqual(built.count("kubectl"), 1)


if __name__ == "__main__":
    unittest.main()
