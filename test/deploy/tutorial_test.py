#!/usr/bin/env python3
"""docs/getting-started.md, followed to the letter: it works, it makes a cluster of its own, and it touches two nodes of it.

Usage: tutorial_test.py CAREEN"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))

from careen import free_port  # noqa: E402

CAREEN = None
PAGE = ROOT / "docs" / "getting-started.md"
NAMED = {"node-0", "node-1"}
# What nobody waits for in a script: it builds, or never ends by itself.
LEFT_OUT = r"^(make .*|.*--watch|build/careen top)$\n"

# Both nodes have been in maintenance and are back.
UNTIL_DONE = r"""
for attempt in $(seq 240); do
  found=$(kubectl get nodes node-0 node-1 -L example.com/reboot,cloud.sap/maintenance-state --no-headers)
  [ "$(echo "$found" | grep -c ' operational$')" = 2 ] && ! echo "$found" | grep -q ' yes ' && break
  [ $attempt != 240 ] || { echo "$found"; exit 1; }
  sleep 0.5
done
"""


def blocks():
    """The commands of the page from its cluster on, one text for each block."""
    text = PAGE.read_text()
    return re.findall(r"^```\n(.*?)^```$", text[text.index("## A cluster to throw away"):], re.M | re.S)


class TutorialTest(unittest.TestCase):

    def test_only_two_nodes_are_named(self):
        text = "".join(blocks())
        self.assertEqual(set(re.findall(r"\bnode-\d+\b", text)), NAMED)
        self.assertNotRegex(text, r"--all\b|\bnodes -l\b|--selector|\bcordon --")

    def test_the_safeguard_stops_at_another_cluster(self):
        line = re.search(r"^kubectl config view .*$", "".join(blocks()), re.M).group(0)
        for server, code in (("https://127.0.0.1:6443", 0), ("https://api.example.com:6443", 1)):
            with tempfile.NamedTemporaryFile("w") as file:
                json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "x",
                           "clusters": [{"name": "x", "cluster": {"server": server}}],
                           "users": [{"name": "x", "user": {"token": "x"}}],
                           "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]}, file)
                file.flush()
                result = subprocess.run(["bash", "-c", line], stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {"KUBECONFIG": file.name, "PATH": self._path()})
                self.assertEqual((result.returncode, result.stdout), (code, f"{server}\n" if code == 0 else ""))

    def test_followed_to_the_letter(self):
        with tempfile.TemporaryDirectory(prefix="careen-tutorial-") as scratch:
            folder = pathlib.Path(scratch)
            (folder / "build").mkdir()
            (folder / "build" / "careen").symlink_to(CAREEN)
            for name in ("tools", "deploy"):
                (folder / name).symlink_to(ROOT / name)
            cluster = f"tutorial-{os.getpid()}"
            self.addCleanup(subprocess.run, [ROOT / "tools/testcluster/testcluster", "down", "--name", cluster],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            result = subprocess.run(["bash", "-c", self._script(cluster)], cwd=folder, stdout=subprocess.PIPE, text=True,
                                    stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=400,
                                    # What other tests run on this machine is not found.
                                    env=os.environ | {"KUBECONFIG": "/nonexistent", "XDG_RUNTIME_DIR": scratch})
            self.assertEqual(result.returncode, 0, result.stdout)
            nodes = json.loads((folder / "nodes.json").read_text())["items"]
            moved = {node["metadata"]["name"] for node in nodes if "reboot" in self._profiles(node)}
            self.assertEqual(moved, NAMED)
            self.assertTrue(all(self._profiles(node) == {"default"} for node in nodes
                                if node["metadata"]["name"] not in NAMED))
            self.assertEqual(len(nodes), 6)
            self.assertFalse([node for node in nodes if node["spec"].get("unschedulable")])

    @staticmethod
    def _profiles(node):
        """Whose states it has gone through."""
        return set(json.loads(node["metadata"]["annotations"]["cloud.sap/maintenance-data"])["Profiles"])

    def _script(self, cluster):
        """All blocks, with a wait after the one that starts the profile, and the nodes kept before the end."""
        ports = f"--metrics-addr 127.0.0.1:{free_port()} --health-addr 127.0.0.1:{free_port()}"
        commands = ["set -emuo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"]
        for block in blocks():
            if block.startswith("kill %1"):
                commands.append("kubectl get nodes -o json > nodes.json\n")
            commands.append(re.sub(LEFT_OUT, "", block, flags=re.M))
            if "careen run" in block:
                commands.append(UNTIL_DONE)
        text = "".join(commands).replace("--name tutorial", f"--name {cluster}")
        return text.replace("build/careen run ", f"build/careen run {ports} ")

    @staticmethod
    def _path():
        folder = subprocess.run([ROOT / "tools/testcluster/testcluster", "build"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        return f"{folder}:{os.environ['PATH']}"


if __name__ == "__main__":
    CAREEN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
