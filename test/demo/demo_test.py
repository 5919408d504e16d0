#!/usr/bin/env python3
"""careen demo as a person uses it: every command that it prints, a real kubectl, Ctrl-C.

    CAREEN_BINARY=build/careen test/demo/demo_test.py [DemoTest.test_… …]
"""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
sys.path[:0] = [os.path.join(ROOT, "test", "e2e")]
sys.dont_write_bytecode = True

from careen import die_with_parent, http_get, poll  # noqa: E402

BINARY = os.path.abspath(os.environ.get("CAREEN_BINARY", os.path.join(ROOT, "build", "careen")))
TOOL = os.path.join(ROOT, "tools", "testcluster", "testcluster")
# The last line before the live log.
READY = "Ctrl-C ends it."


class Demo:
    """A running demonstration and what it has printed."""

    def __init__(self, folder, path, *flags):
        self.lines = []
        # What it leaves in files goes where the test can see that it is removed.
        environment = {**os.environ, "TMPDIR": folder, "XDG_RUNTIME_DIR": folder, "PATH": path}
        for name in ("KUBECONFIG", "CAREEN_SERVER"):
            environment.pop(name, None)
        self.process = subprocess.Popen([BINARY, "demo", "--listen", "127.0.0.1:0", *flags], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                                        preexec_fn=die_with_parent)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        poll(lambda: any(READY in line for line in self.lines) or self.process.poll() is not None, 60, "its start")

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def text(self):
        return "\n".join(self.lines)

    def found(self, pattern):
        match = re.search(pattern, self.text)
        assert match, f"{pattern} is not in:\n{self.text}"
        return match.group(1)

    def commands(self):
        """As they can be pasted."""
        end = next(i for i, line in enumerate(self.lines) if READY in line)
        return [line.strip() for line in self.lines[:end] if line.startswith("    ")]

    @property
    def dashboard(self):
        return self.found(r"Dashboard +(\S+)/")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(30)
        self._reader.join(10)
        self.process.stdout.close()
        return code


class DemoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        built = subprocess.run([TOOL, "build"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        cls.path = f"{built}:{os.environ['PATH']}"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="careen-demo-test-")
        self.addCleanup(self.folder.cleanup)

    def start(self, *flags):
        demo = Demo(self.folder.name, self.path, *flags)
        self.addCleanup(lambda: demo.process.poll() is None and demo.process.kill())
        return demo

    def environment(self):
        """Of the other terminal: nothing in it leads to the demonstration but what that prints."""
        return {"PATH": self.path, "HOME": self.folder.name, "XDG_RUNTIME_DIR": self.folder.name, "LANG": "C.UTF-8"}

    def pasted(self, demo, command):
        """The command in the other terminal, after the line that is to be pasted first."""
        exports = [one for one in demo.commands() if one.startswith("export ")]
        self.assertEqual(exports, demo.commands()[:1], demo.text)
        return ["bash", "-c", f"{exports[0]}\n{command}"]

    def shell(self, demo, command):
        return subprocess.run(self.pasted(demo, command), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60, env=self.environment())

    def run_ok(self, demo, command):
        result = self.shell(demo, command)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def budget(self, demo, command):
        """kured asks nobody, so more nodes may be out than the limit allows: that is an answer with a code of its own."""
        result = self.shell(demo, command)
        beyond = "nodes are out where" in result.stdout
        self.assertEqual(result.returncode, 3 if beyond else 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def asked(self, demo, command):
        """What a command says that is to ask the demonstration's careen, and whom it has asked."""
        result = self.shell(demo, command)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        self.assertIn(f"from careen at {demo.dashboard}", result.stderr, command)
        return result.stdout

    def on_terminal(self, demo, command, awaited, keys):
        """What a command shows on a terminal until `awaited` is there; then it gets these keys, and must end well."""
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))

        def own_terminal():
            die_with_parent()
            os.setsid()
            fcntl.ioctl(its, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(self.pasted(demo, command), stdin=its, stdout=its, stderr=its, close_fds=True,
                                   env={**self.environment(), "TERM": "xterm"}, preexec_fn=own_terminal)
        os.close(its)
        shown = []

        def read():
            try:
                while data := os.read(ours, 65536):
                    shown.append(data.decode(errors="replace"))
            except OSError:  # the other side is closed
                pass

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        poll(lambda: awaited in "".join(shown) or process.poll() is not None, 30, f"{awaited} of {command}")
        os.write(ours, keys)
        code = process.wait(30)
        reader.join(10)
        os.close(ours)
        text = "".join(shown)
        self.assertEqual(code, 0, text)
        return text

    def node(self, demo, name):
        return json.loads(self.run_ok(demo, f"kubectl get node {name} -o json"))

    def test_every_printed_command_works(self):
        demo = self.start()
        commands = demo.commands()
        self.assertTrue(any(one.startswith("kubectl ") for one in commands), demo.text)
        self.assertTrue(any(one.startswith("careen ") for one in commands), demo.text)
        outputs = {}
        for command in commands:
            if command == "careen status" and any("maintain" in one for one in outputs):
                poll(lambda: "data/orders" in self.run_ok(demo, "careen status"), 60, "the blocked drain")
            if command == "careen top":
                outputs[command] = self.on_terminal(demo, command, "BUDGETS", b"q")
            elif command == "careen budget":
                outputs[command] = self.budget(demo, command)
            elif command.startswith(("careen status", "careen explain")):
                outputs[command] = self.asked(demo, command)
            else:
                outputs[command] = self.run_ok(demo, command)
        self.assertIn("BUDGET", outputs["careen status"])
        self.assertRegex(outputs["careen budget"], r"(?m)^nodes +- +7 ")
        self.assertIn("node-9", outputs["careen explain node-9"])
        self.assertIn("os-update", outputs["careen top"])
        nodes = next(text for one, text in outputs.items() if one.startswith("kubectl get nodes"))
        self.assertEqual(len(nodes.splitlines()), 61)
        annotated = next(one for one in commands if "kubectl annotate" in one)
        approved = re.search(r"node (node-\d+)", annotated).group(1)
        moved = {"in-maintenance", "operational"}
        poll(lambda: self.node(demo, approved)["spec"].get("unschedulable") or
             self.node(demo, approved)["metadata"]["labels"]["cloud.sap/maintenance-state"] in moved,
             120, "the approved node's turn")
        self.assertEqual(demo.end(), 0)

    def test_every_printed_command_works_with_several_clusters(self):
        demo = self.start("--clusters", "3", "--nodes", "30")
        names = ["fleet/ap-1", "fleet/eu-1", "fleet/us-1"]

        def clusters():
            return json.loads(self.asked(demo, "careen clusters -o json"))

        poll(lambda: [one["name"] for one in clusters() if one["phase"] == "Connected"] == names, 60, "all clusters")
        # Machines of Cluster API that are not deleted before their node may go.
        poll(lambda: all(one["machines"] == {"Guarded": 30} for one in clusters()), 60, "all Machines")
        outputs = {}
        for command in demo.commands():
            if command.startswith("careen top"):
                outputs[command] = self.on_terminal(demo, command, "BUDGETS", b"q")
            elif command.startswith("careen budget"):
                outputs[command] = self.budget(demo, command)
            elif command.startswith("careen plan"):
                outputs[command] = self.run_ok(demo, command)
                # The limits of a workload cluster are those of its hub.
                limit = "kubectl patch maintenancelimit nodes --type merge -p '{\"spec\":{\"maxUnavailable\":%d}}'"
                slowest = [json.loads(self.run_ok(demo, f"{command} -o json"))["limits"][0]["what"]]
                self.run_ok(demo, limit % 1)
                slowest.append(json.loads(self.run_ok(demo, f"{command} -o json"))["limits"][0]["what"])
                self.assertEqual(slowest, ["maxMaintenance zone_has_room", "MaintenanceLimits"])
                self.run_ok(demo, limit % 7)
                missing = self.shell(demo, command.replace("eu-1", "nowhere"))
                self.assertEqual((missing.returncode, missing.stdout), (1, ""))
                self.assertIn('secrets "nowhere-kubeconfig" not found', missing.stderr)
            elif command.startswith(("careen clusters", "careen status", "careen explain")):
                outputs[command] = self.asked(demo, command)
            else:
                outputs[command] = self.run_ok(demo, command)
        self.assertIn("os-update", outputs["careen top --cluster fleet/eu-1"])
        self.assertRegex(outputs["careen status --cluster fleet/eu-1"], r"(?m)^node-\d+ +profile/os-update ")
        self.assertIn("node-9", outputs["careen explain cluster/fleet/eu-1/node/node-9"])
        nodes = next(text for one, text in outputs.items() if "get nodes" in one)
        self.assertEqual(len(nodes.splitlines()), 31)
        # The node that was approved moves, and that of the same name in another cluster does not.
        port = int(demo.found(r"Dashboard +http://127\.0\.0\.1:(\d+)/"))
        poll(lambda: json.loads(http_get(port, "/careen/v1/fleet")[1])["hub"] == names, 30, "the cluster that is put back")

        def state(cluster, node):
            story = json.loads(http_get(port, f"/careen/v1/nodes/{node}?cluster={cluster}")[1])
            return next(one["state"] for one in story["profiles"] if one["name"] == "os-update")

        poll(lambda: state("fleet/eu-1", "node-9") != "maintenance-required", 120, "the approved node's turn")
        self.assertEqual(state("fleet/ap-1", "node-9"), "maintenance-required")
        self.assertEqual(http_get(port, "/careen/v1/nodes/node-9")[0], 404)
        self.assertEqual(demo.end(), 0)
        self.assertFalse([one for one in os.listdir(self.folder.name) if "careen" in one])

    def test_nodes_are_in_the_order_people_count(self):
        demo = self.start("--no-actors")
        numbers = list(range(60))
        port = int(demo.found(r"Dashboard +http://127\.0\.0\.1:(\d+)/"))
        fleet = json.loads(http_get(port, "/careen/v1/fleet")[1])
        self.assertNotIn("hub", fleet)
        self.assertEqual([row["name"] for row in fleet["nodes"]], [f"node-{number}" for number in numbers])
        shown = json.loads(self.run_ok(demo, "careen status -o json"))["maintenances"]
        named = [int(row["node"].removeprefix("node-")) for row in shown]
        self.assertGreater(len(named), 20)
        self.assertEqual(named, sorted(named))
        lines = self.run_ok(demo, "careen drain --dry-run --ignore-daemonsets -l topology.kubernetes.io/zone=zone-a")
        drained = [int(number) for number in re.findall(r"node/node-(\d+) cordoned", lines)]
        self.assertEqual(drained, numbers[::3])
        self.assertEqual(demo.end(), 0)

    def test_a_careen_on_this_machine_is_found(self):
        demo = self.start("--no-actors")
        status = "CAREEN_SERVER=auto careen status"
        found = self.shell(demo, status)
        self.assertIn(f"from careen at {demo.dashboard} (CAREEN_SERVER=auto)", found.stderr)
        self.assertIn(demo.dashboard, self.shell(demo, "careen explain node-1 --server auto").stderr)
        other = self.start("--no-actors")
        both = self.shell(demo, "careen explain node-1 --server auto")
        self.assertEqual(both.returncode, 1)
        for one in (demo, other):
            self.assertIn(f"{one.dashboard}  careen demo, process {one.process.pid}", both.stderr)
        # What is left of one that was killed leads nobody astray.
        other.process.kill()
        other.process.wait(30)
        other.process.stdout.close()
        self.assertIn(demo.dashboard, self.shell(demo, "careen explain node-1 --server auto").stderr)
        self.assertEqual(demo.end(), 0)
        self.assertIn("no careen of yours runs", self.shell(demo, "careen explain node-1 --server auto").stderr)

    def test_drains_and_watches_at_any_speed(self):
        for speed in ("1", "60"):
            with self.subTest(speed=speed):
                demo = self.start("--speed", speed, "--no-actors")
                with subprocess.Popen(self.pasted(demo, "exec kubectl get nodes -w -o name"), text=True,
                                      env=self.environment(), stdout=subprocess.PIPE) as watch:
                    lines = []
                    reader = threading.Thread(target=lambda: lines.extend(iter(watch.stdout.readline, "")))
                    reader.start()
                    poll(lambda: len(lines) >= 60, 30, "all nodes")
                    self.run_ok(demo, "kubectl drain node-0 --ignore-daemonsets --timeout 60s")
                    self.run_ok(demo, "careen drain node-4 --ignore-daemonsets --timeout 60s")
                    poll(lambda: "node/node-4\n" in lines[60:], 30, "the drained nodes in the watch")
                    watch.terminate()
                    reader.join()
                self.assertEqual(demo.end(), 0)

    def test_things_happen_by_themselves_and_nothing_is_left(self):
        demo = self.start("--speed", "60")
        kubeconfig = demo.found(r"Kubeconfig +(\S+)")
        self.assertTrue(os.path.exists(kubeconfig))
        poll(lambda: re.search(r"in-maintenance → operational", demo.text), 60, "a round")
        port = int(demo.found(r"Dashboard +http://127\.0\.0\.1:(\d+)/"))
        status, metrics = http_get(port, "/metrics")
        self.assertEqual(status, 200)
        self.assertIn("process_cpu_seconds_total", metrics)
        self.assertEqual(demo.end(), 0)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_it_ends_by_itself_and_removes_the_kubeconfig(self):
        kubeconfig = os.path.join(self.folder.name, "mine")
        demo = self.start("--for", "1s", "--kubeconfig", kubeconfig)
        self.assertEqual(demo.process.wait(30), 0)
        demo.process.stdout.close()
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_the_configuration_is_valid(self):
        config = subprocess.run([BINARY, "demo", "--print-config"], check=True, stdout=subprocess.PIPE,
                                text=True).stdout
        path = os.path.join(self.folder.name, "maintenance.yaml")
        with open(path, "w") as file:
            file.write(config)
        checked = subprocess.run([BINARY, "validate", "--strict", path], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
