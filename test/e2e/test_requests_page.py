"""docs/requests.md and docs/one-budget.md, followed to the letter: every example asks the real API server, with no other
rights than those that the page names."""

import json
import os
import re
import subprocess
import sys

import yaml

from actors import CLIENT, REQUESTS, cordon
from budgets import LIMITS, BudgetTest
from careen import poll
from cluster import ROOT
from harness import Environment
from page import Page

sys.path.append(os.path.join(ROOT, "test"))
import gobuild  # noqa: E402

PAGE = Page("requests.md")
SELECTORS = "/apis/repairman.k8s.io/v1/namespaces/default/maintenanceselectors"
# Its modules have been fetched and compiled for the cluster itself.
MODULE = os.path.join(ROOT, "tools", "testcluster", "build", "kubernetes")
DID_IT = "#!/bin/sh\necho did it to \"$@\"\n"


class PageTest(BudgetTest):

    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.folder, "bin")
        os.makedirs(self.bin)
        os.symlink(Environment.binary, os.path.join(self.bin, "careen"))
        os.symlink(self.cluster.kubectl_path, os.path.join(self.bin, "kubectl"))
        for work in ("ssh", "update-and-reboot"):
            self.program(work, DID_IT)

    def program(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def begin(self, *command, kubeconfig=None, **more):
        """A command of the page, with the programs of setUp before all others."""
        environment = {**os.environ, "KUBECONFIG": kubeconfig or self.cluster.kubeconfig,
                       "PATH": f"{self.bin}:{os.environ['PATH']}", **more}
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=environment, cwd=self.folder)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def end(self, process, code=0, seconds=60):
        output, _ = process.communicate(timeout=seconds)
        self.assertEqual(process.returncode, code, output)
        return output

    def apply(self, text):
        """A definition of the page, as it stands there."""
        return self.cluster.kubectl("create", "-f", "-", stdin=text)


class RequestsPageTest(PageTest):

    def setUp(self):
        super().setUp()
        self.token_of_actor = self.service_account("actor")
        self.grant_rules("actor", yaml.safe_load(PAGE.block("yaml", "verbs:")))
        self.actor = self.kubeconfig(user={"token": self.token_of_actor})
        self.limit_yaml, self.request_yaml = PAGE.blocks("yaml")[0].split("---\n")

    def _clean(self):
        for one in self.api.list(SELECTORS)[0]:
            self.api.delete(f"{SELECTORS}/{one['metadata']['name']}")
        super()._clean()

    def _python(self):
        """The program, in what looks like a pod to it."""
        text = PAGE.block("python", "import ssl")
        account = re.search(r'^ACCOUNT = "(.*)"$', text, re.M).group(1)
        ours = os.path.join(self.folder, "account", "")
        os.makedirs(ours)
        with open(ours + "token", "w") as file:
            file.write(self.token_of_actor)
        os.symlink(self.cluster.ca, ours + "ca.crt")
        return self.program("rebooter.py", text.replace(account, ours))

    def _go(self):
        folder = os.path.join(self.folder, "go")
        os.makedirs(folder)
        for name in ("go.mod", "go.sum"):
            os.symlink(os.path.join(MODULE, name), os.path.join(folder, name))
        with open(os.path.join(folder, "main.go"), "w") as file:
            file.write(PAGE.block("go", "package main"))
        program = os.path.join(self.bin, "rebooter-in-go")
        gobuild.build(folder, program, "-trimpath")
        return program

    def _request_of(self, node):
        return next((one for one in self.api.list(REQUESTS, labelSelector=f"{CLIENT}=rebooter")[0]
                     if one["spec"]["name"] == node), None)

    def test_every_example_waits_for_its_turn(self):
        """As many nodes are out as may be, so all of them wait; then each does its work, and says so."""
        self.apply(self.limit_yaml)
        self.start_requests().wait_ready()
        out = self.node_names[:5]  # 10 % of 50
        for node in out:
            cordon(self.api, node)
        self.wait_limit(lambda status: any(group.get("used") == 5 for group in status.get("groups", [])))

        run = re.search(r"^\$ (careen request run .*)$", PAGE.block("", "$ careen request run"), re.M).group(1)
        step_by_step = PAGE.block("sh", "careen request start")
        script = self.program("when-approved", PAGE.block("sh", "#!/bin/sh"))
        examples = {
            "run": lambda node: ("sh", "-euc", run.replace("worker-7", node)),
            "step by step": lambda node: ("sh", "-euc", step_by_step.replace("worker-7", node)),
            "kubectl": lambda node: (script, node, "ssh", node),
            "Python": lambda node: (sys.executable, self._python(), node),
            "Go": lambda node: (self._go(), node),
        }
        nodes = dict(zip(examples, self.node_names[10:]))
        processes = {name: self.begin(*example(nodes[name]), kubeconfig=self.actor, API_SERVER=self.cluster.server)
                     for name, example in examples.items()}
        poll(lambda: all((self._request_of(node) or {}).get("status", {}).get("message") for node in nodes.values()), 30,
             "careen to say why all of them wait")
        for name, node in nodes.items():
            one = self._request_of(node)
            self.assertEqual(one["spec"]["state"], "Pending", name)
            self.assertRegex(one["status"]["message"], r"^place \d in limit node \(5 of 5: ", name)
        for node in out:
            cordon(self.api, node, False)
        outputs = {name: self.end(process) for name, process in processes.items()}
        for name, node in nodes.items():
            self.assertRegex(outputs[name], rf"(did it to|rebooting) .*{node}", name)
            self.assertEqual(self._request_of(node)["spec"]["state"], "Completed", name)
        # What the page shows, line by line.
        shown = re.sub(r"mr-\w+", "mr-", outputs["run"]).splitlines()
        self.assertEqual(shown[0], "maintenancerequest.repairman.k8s.io/mr- created")
        self.assertRegex(shown[1], rf"^node/{nodes['run']}: place \d in limit node \(5 of 5: ")
        self.assertEqual(shown[-3::2], ["maintenancerequest.repairman.k8s.io/mr- in progress",
                                        "maintenancerequest.repairman.k8s.io/mr- completed"])

    def test_a_rejection_ends_them(self):
        self.apply(self.limit_yaml)
        self.start_requests().wait_ready()
        script = self.program("when-approved", PAGE.block("sh", "#!/bin/sh"))
        processes = [self.begin(*command, kubeconfig=self.actor, API_SERVER=self.cluster.server) for command in (
            (script, "no-such-node-a", "false"), (sys.executable, self._python(), "no-such-node-b"),
            (self._go(), "no-such-node-c"))]
        for process in processes:
            self.assertRegex(self.end(process, 1, 30), r"mr-\w+ is Rejected")

    def test_the_objects_of_the_page(self):
        """Those that somebody may apply as they stand: they are understood, and do what they say."""
        node = self.node_names[0]
        self.apply(self.limit_yaml)
        self.apply(self.request_yaml.replace("worker-7", node))
        self.start_requests().wait_ready()
        poll(lambda: self._request_of(node)["spec"]["state"] == "Approved", 30, "the request to be approved")
        for block in PAGE.blocks("yaml", "## What careen does before it approves"):
            self.limit(**yaml.safe_load(block)["spec"])
        generation = self.api.get(f"{LIMITS}/node")["metadata"]["generation"]
        limit = self.wait_limit(lambda status: status.get("observedGeneration") == generation)
        self.assertEqual({one["type"]: one["status"] for one in limit["status"]["conditions"]}["Valid"], "True", limit)
        matching = self.node_names[1]
        self.label([matching], {"kernel": "old"})
        self.addCleanup(self.label, [matching], {"kernel": None})
        self.apply(PAGE.block("yaml", "kind: MaintenanceSelector"))
        poll(lambda: self._request_of(matching), 30, "the selector's request")


class OneBudgetPageTest(PageTest):
    PAGE = Page("one-budget.md")
    WORKER = "node-role.kubernetes.io/worker"

    def test_what_you_see(self):
        """The limit of the page over nodes in two zones: the same columns, the same words, the exit code."""
        workers = [name for name in self.node_names if self.watch.nodes[name]["metadata"]["labels"][
            "topology.kubernetes.io/zone"] != "zone-c"]
        self.label(workers, {self.WORKER: ""})
        self.addCleanup(self.label, workers, {self.WORKER: None})
        self.apply(self.PAGE.blocks("yaml")[0])
        careen = self.start_requests().wait_ready()
        self.cluster.kubectl("cordon", workers[0])
        self.wait_limit(lambda status: any(group.get("used") for group in status.get("groups", [])), name="workers")

        block = self.PAGE.block("", "$ careen budget")
        asked = [*re.search(r"^\$ (careen budget)$", block, re.M).group(1).split(), "--server",
                 f"http://127.0.0.1:{careen.metrics_port}"]
        output = self.end(self.begin(*asked))
        columns = next(line.split() for line in block.splitlines() if line.startswith("LIMIT"))
        self.assertEqual(next(line.split() for line in output.splitlines() if line.startswith("LIMIT")), columns)
        self.assertRegex(output, rf"(?m)^workers +zone-[ab] +1 +1 +0 +0 +0 +kubectl 1 \({workers[0]}")
        # More nodes of one zone than may be out.
        zone = [name for name in workers if self._zone(name) == self._zone(workers[0])]
        self.cluster.kubectl("cordon", zone[1])
        self.wait_limit(lambda status: any(group.get("used") == 2 for group in status.get("groups", [])), name="workers")
        told = self.end(self.begin(*asked, "-o", "json"), 3)
        group = next(one for one in json.loads(told[told.index("{"):])["groups"] if one["used"] == 2)
        self.assertEqual([one["node"] for one in group["overshoot"]], [zone[1]])
        for node in (workers[0], zone[1]):
            self.cluster.kubectl("uncordon", node)

    def _zone(self, name):
        return self.watch.nodes[name]["metadata"]["labels"]["topology.kubernetes.io/zone"]
