#!/usr/bin/env python3
"""docs/migration/repairman.md: by a new image, by Helm, and back.

Usage: repairman_migration_test.py CAREEN"""

import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

from migration import HOME, ORIGINALS, Move, main  # noqa: E402

from careen import Careen, die_with_parent, free_port, poll  # noqa: E402
from page import Page, steps  # noqa: E402
from repairman import API, original_definitions, remove_definitions  # noqa: E402

PAGE = Page("migration/repairman.md")
ORIGINALS_HOME, DEPLOYMENT = "repairman-system", "repairman-controller-manager"
REQUESTS, LIMIT = f"{API}/maintenancerequests", f"{API}/maintenancelimits/node"


class RepairmanMigrationTest(Move):

    renamed = Move.renamed | {"VERSION": "1.2.3"}

    def setUp(self):
        self.addCleanup(remove_definitions, self.cluster)
        original_definitions(self.cluster)
        original = str(ORIGINALS / "repairman.yaml")
        self.addCleanup(self.kubectl, "delete", "--ignore-not-found", "-f", original)
        self.kubectl("apply", "--server-side", "-f", original)
        self.kubectl("-n", ORIGINALS_HOME, "rollout", "status", "--timeout=60s", f"deployment/{DEPLOYMENT}")
        self.api.create(f"{API}/maintenancelimits", {"apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceLimit",
                                                     "metadata": {"name": "node"}, "spec": {"limit": 5}})
        # The original is in the middle of one; of five nodes there is no place for another.
        self.request("begun", "node-0", "InProgress")
        self.request("waits", "node-1")

    def request(self, name, node, state="Pending"):
        self.api.create(REQUESTS, {"apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceRequest",
                                   "metadata": {"name": name}, "spec": {"name": node, "type": "node", "state": state}})

    def state(self, name):
        found = self.api.get(f"{REQUESTS}/{name}")
        return found["spec"]["state"] if found else None

    def wait_state(self, name, state):
        poll(lambda: self.state(name) == state, 60, f"{name} to be {state}, after {self.log.read_text()[-2000:]}")

    def set_state(self, name, state):
        self.api.patch(f"{REQUESTS}/{name}", {"spec": {"state": state}})

    def manager(self):
        return self.container(ORIGINALS_HOME, DEPLOYMENT, "manager")

    def start_manager(self):
        """/manager of the new image, as the original's Deployment starts it, under its account."""
        manager = self.manager()
        self.assertEqual((manager["image"], manager["command"]), ("registry.example.com/careen:1.2.3", ["/manager"]))
        program = self.folder / "manager"
        program.symlink_to(self.careen)
        arguments = [one.replace(":8080", f":{free_port()}") for one in manager["args"]]
        self.log = self.folder / "log"
        with open(self.log, "wb") as log:
            process = subprocess.Popen([program, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       preexec_fn=die_with_parent, env={
                                           "PATH": os.environ["PATH"],
                                           "KUBECONFIG": self.kubeconfig_of(ORIGINALS_HOME, "default")})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def check_it_goes_on(self):
        """What the original had begun, and what waited meanwhile."""
        self.assertEqual((self.state("begun"), self.state("waits")), ("InProgress", "Pending"))
        self.set_state("begun", "Completed")
        self.wait_state("waits", "Approved")

    def test_by_a_new_image_and_back(self):
        move, memory = PAGE.blocks("", "## The move")[:2]
        self.assertIn("begun", self.follow(move))
        self.assertEqual(len(self.names("pods", "control-plane=controller-manager")), 1)
        process = self.start_manager()
        self.request("next", "node-2")
        poll(lambda: self.api.get(LIMIT).get("status", {}).get("limit") == 1, 60, "careen to have looked at the limit")
        self.check_it_goes_on()
        self.follow(memory)
        self.assertEqual(self.manager()["resources"]["limits"], {"cpu": "100m", "memory": "128Mi"})

        # Now it can say no, and tell why.
        self.follow(PAGE.block("", "kubectl patch clusterrole"))
        self.request("mistaken", "no-such-node")
        self.wait_state("mistaken", "Rejected")
        self.set_state("waits", "Completed")
        self.wait_state("next", "Approved")
        poll(lambda: any(one["involvedObject"]["name"] == "next" for one in self.api.list("/api/v1/events")[0]), 60,
             "an Event about the approval")

        back = steps(PAGE.blocks("", "## The way back")[0])
        self.assertEqual(sorted(back), [1, 2, 3, 4])
        self.follow(back[1])
        self.request("late", "node-3")
        self.set_state("next", "Completed")
        self.assertRegex(self.follow(back[2]), r"next\b.*Completed")
        self.assertEqual(self.state("late"), "Pending", "nothing new begins")
        self.follow(back[3])
        self.assertEqual({one["spec"]["state"] for one in self.api.list(REQUESTS)[0]}, {"Completed"})
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)
        self.follow(back[4])
        self.assertEqual(self.manager()["image"], "awesomenix/repairman-manager:latest")
        self.assertEqual(self.api.get(LIMIT)["spec"]["limit"], 5)
        self.assertFalse([node for node in self.api.list("/api/v1/nodes")[0] if node["spec"].get("unschedulable")])

    def test_by_helm(self):
        self.addCleanup(self.follow, f"helm uninstall careen --namespace {HOME} --wait; kubectl delete namespace {HOME}")
        over = steps(PAGE.blocks("", "### By Helm")[0])
        self.assertEqual(sorted(over), [1, 2, 3])
        self.follow(over[1])
        self.assertEqual(self.names("pods", "control-plane=controller-manager"), [])
        self.follow(over[2])
        self.log = self.folder / "log"
        careen = Careen(self.careen, self.kubeconfig_of(HOME, "careen"), os.devnull, str(self.log),
                        *self.arguments_of_chart(), f"--leader-election-namespace={HOME}")
        self.addCleanup(careen.kill)
        careen.wait_ready()
        self.check_it_goes_on()
        self.follow(over[3])
        self.assertEqual([name for name in json.loads(self.kubectl("get", "clusterroles", "-o", "json"))["items"]
                          if name["metadata"]["name"].startswith("repairman-")], [])
        self.assertEqual(self.state("waits"), "Approved", "the definitions stay, and what people have made")
        self.assertEqual(careen.complaints(), [])


if __name__ == "__main__":
    sys.exit(main(RepairmanMigrationTest, nodes=5))
