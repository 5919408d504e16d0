#!/usr/bin/env python3
"""careen demo as a person uses it: every command that it prints, a real kubectl, Ctrl-C.

    CAREEN_BINARY=build/dev/careen test/demo/demo_test.py [DemoTest.test_… …]
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
sys.path[:0] = [os.path.join(ROOT, "test", "e2e")]
sys.dont_write_bytecode = True

from careen import _die_with_parent, http_get, poll  # noqa: E402

BINARY = os.path.abspath(os.environ.get("CAREEN_BINARY", os.path.join(ROOT, "build", "dev", "careen")))
TOOL = os.path.join(ROOT, "tools", "testcluster", "testcluster")
# The last line before the live log.
READY = "Ctrl-C ends it."


class Demo:
    """A running demonstration and what it has printed."""

    def __init__(self, folder, path, *flags):
        self.lines = []
        # Temporary files go where the test can see that they are removed.
        environment = {**os.environ, "TMPDIR": folder, "PATH": path}
        environment.pop("KUBECONFIG", None)
        self.process = subprocess.Popen([BINARY, "demo", "--listen", "127.0.0.1:0", *flags], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                                        preexec_fn=_die_with_parent)
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

    def shell(self, demo, command):
        """Runs it as in the other terminal of the hints."""
        export = next(one for one in demo.commands() if one.startswith("export "))
        return subprocess.run(["bash", "-c", f"{export}\n{command}"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60,
                              env={**os.environ, "PATH": self.path, "HOME": self.folder.name})

    def run_ok(self, demo, command):
        result = self.shell(demo, command)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

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
            outputs[command] = self.run_ok(demo, command)
        nodes = next(text for one, text in outputs.items() if one.startswith("kubectl get nodes"))
        self.assertEqual(len(nodes.splitlines()), 61)
        annotated = next(one for one in commands if "kubectl annotate" in one)
        approved = re.search(r"node (node-\d+)", annotated).group(1)
        moved = {"in-maintenance", "operational"}
        poll(lambda: self.node(demo, approved)["spec"].get("unschedulable") or
             self.node(demo, approved)["metadata"]["labels"]["cloud.sap/maintenance-state"] in moved,
             120, "the approved node's turn")
        self.assertEqual(demo.end(), 0)

    def test_drains_and_watches_at_any_speed(self):
        for speed in ("1", "60"):
            with self.subTest(speed=speed):
                demo = self.start("--speed", speed, "--no-actors")
                export = next(one for one in demo.commands() if one.startswith("export "))
                with subprocess.Popen(["bash", "-c", f"{export}\nexec kubectl get nodes -w -o name"], text=True,
                                      env={**os.environ, "PATH": self.path, "HOME": self.folder.name},
                                      stdout=subprocess.PIPE) as watch:
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
