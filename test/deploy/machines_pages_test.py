#!/usr/bin/env python3
"""docs/machines.md and docs/migration/runtime-extension-maintenance-controller.md: by a new image, by Helm, and back; and
the profile that answers. The cluster is its own workload cluster, with Nodes that nothing runs on.

Usage: machines_pages_test.py CAREEN"""

import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from migration import HOME, ORIGINALS, ROOT, Move, main  # noqa: E402

from careen import Careen, die_with_parent, free_port, poll  # noqa: E402
from page import Page, steps  # noqa: E402

sys.path.append(str(ROOT / "test"))
from gobuild import module_folder  # noqa: E402

PAGE, MOVE = Page("machines.md"), Page("migration/runtime-extension-maintenance-controller.md")
PROGRAM, NAMESPACE, FLEET = "runtime-extension-maintenance-controller", "runtime-extension", "fleet"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
API = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{FLEET}"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{PROGRAM}"
PREFIX = f"{PROGRAM}.cloud.sap/"
HOOK = "pre-drain.delete.hook.machine.cluster.x-k8s.io/maintenance-controller"
SKIP = "cluster.x-k8s.io/skip-remediation"
ASKED = "eu-1-md-0-x7k2p"  # as on the page


class MachinesPagesTest(Move):

    renamed = Move.renamed | {"VERSION": "1.2.3", "ORIGINAL-IMAGE": "example.com/back:1", "NAMESPACE": NAMESPACE}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = module_folder(ROOT / "tools/testcluster/build/cluster-api", "sigs.k8s.io/cluster-api") / "core/config/crd/bases"
        for plural in ("machines", "machinedeployments", "clusters"):
            text = (folder / f"cluster.x-k8s.io_{plural}.yaml").read_text()
            cls.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
            # Nobody converts here.
            cls.api.patch(f"{DEFINITIONS}/{plural}.cluster.x-k8s.io", {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
            poll(lambda plural=plural: cls.api.get(f"{API}/{plural}"), 30, f"{plural} to be served")
        cls.cluster.kubectl("create", "namespace", FLEET)
        cls.cluster.kubectl("-n", FLEET, "create", "secret", "generic", "eu-1-kubeconfig",
                            f"--from-file=value={cls.cluster.kubeconfig}")

    def machine(self, name, labels=(), annotations=()):
        """One with its Node, which goes with it; as Cluster API has them."""
        self.api.call("POST", "/api/v1/nodes", {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "spec": {"unschedulable": True}})
        self.addCleanup(self.api.delete, f"/api/v1/nodes/{name}")
        self.api.call("POST", f"{API}/machines", {
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": name, "finalizers": ["machine.cluster.x-k8s.io"], "annotations": dict(annotations),
                         "labels": {"cluster.x-k8s.io/cluster-name": "eu-1", PREFIX + "enabled": "true", **dict(labels)}},
            "spec": {"clusterName": "eu-1", "bootstrap": {"dataSecretName": name}, "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimulatedMachine", "name": name}}})
        self.addCleanup(self.forget, name)
        self.api.patch(f"{API}/machines/{name}/status", {"status": {"nodeRef": {"name": name}}})

    def forget(self, name):
        self.api.patch_if_there(f"{API}/machines/{name}", {"metadata": {"finalizers": None}})
        self.api.delete(f"{API}/machines/{name}")

    def labels(self, name):
        """Of the Node, without the prefix."""
        labels = self.api.get(f"/api/v1/nodes/{name}")["metadata"]["labels"]
        return {key.removeprefix(PREFIX): value for key, value in labels.items() if key.startswith(PREFIX)}

    def label_node(self, name, **labels):
        self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {
            PREFIX + key.replace("_", "-"): value for key, value in labels.items()}}})

    def about(self, name):
        return self.api.get(f"{API}/machines/{name}")["metadata"]

    def annotation(self, name, key):
        return self.about(name).get("annotations", {}).get(key)

    def wait(self, condition, what):
        poll(condition, 60, what)

    def original(self):
        """In the middle of a deletion and of a maintenance, with a lock that it never gives back."""
        manifests = str(ORIGINALS / f"{PROGRAM}.yaml")
        self.addCleanup(self.kubectl, "delete", "--ignore-not-found", "-f", manifests)
        self.kubectl("apply", "--server-side", "-f", manifests)
        self.kubectl("-n", NAMESPACE, "rollout", "status", "--timeout=60s", f"deployment/{PROGRAM}")
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        self.api.call("POST", LEASE.rpartition("/")[0], {"metadata": {"name": PROGRAM}, "spec": {
            "holderIdentity": "original", "leaseDurationSeconds": 15, "acquireTime": now, "renewTime": now, "leaseTransitions": 0}})
        hooked = {HOOK: PROGRAM}
        self.machine("held", annotations=hooked)
        self.machine(ASKED, {PREFIX + "maintenance": "requested"}, hooked)
        self.machine("spared", {PREFIX + "maintenance": "requested"}, {SKIP: "by ana", **hooked})
        for name in ("held", ASKED, "spared"):
            self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"cloud.sap/maintenance-state": "operational"}}})
        self.label_node("held", machine_deleted="true")
        self.label_node(ASKED, machine_maintenance="true")
        self.label_node("spared", machine_maintenance="true")
        self.api.call("DELETE", f"{API}/machines/held")

    def check_it_goes_on(self):
        self.assertEqual(self.annotation("held", HOOK), PROGRAM)
        self.label_node("held", approve_deletion="true")
        self.wait(lambda: self.annotation("held", HOOK) is None, "the hook to go")
        for name in (ASKED, "spared"):
            self.label_node(name, approve_maintenance="true")
            self.wait(lambda name=name: self.about(name)["labels"][PREFIX + "maintenance"] == "approved", "the approval")
        self.wait(lambda: self.annotation(ASKED, SKIP) == PROGRAM, "remediation to be kept away")
        self.assertEqual(self.annotation("spared", SKIP), "by ana")

    def deployed(self):
        return self.container(NAMESPACE, PROGRAM, PROGRAM)

    def start_program(self):
        """That of the new image, as the original's Deployment starts it, under its account."""
        self.assertEqual(self.deployed()["command"], [f"/{PROGRAM}"])
        program = self.folder / PROGRAM
        program.symlink_to(self.careen)
        self.log = self.folder / "log"
        with open(self.log, "wb") as log:
            process = subprocess.Popen(
                [program, *self.deployed().get("args", []), f"--metrics-addr=127.0.0.1:{free_port()}",
                 f"--health-addr=127.0.0.1:{free_port()}"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent,
                env={"PATH": os.environ["PATH"], "KUBECONFIG": self.kubeconfig_of(NAMESPACE, PROGRAM)})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def no_room(self):
        pods = json.loads(self.kubectl("-n", NAMESPACE, "get", "pods", "-o", "json"))["items"]
        return any("anti-affinity" in condition.get("message", "") for one in pods
                   for condition in one["status"].get("conditions", []) if condition["type"] == "PodScheduled")

    def holder(self):
        found = self.api.get(LEASE)
        return found["spec"].get("holderIdentity", "") if found else ""

    def test_by_a_new_image_and_back(self):
        self.original()
        self.follow(f"kubectl -n NAMESPACE set image deployment/{PROGRAM} '*=example.com/other:1'")
        self.wait(self.no_room, "the second pod to find no node")

        self.follow(MOVE.blocks("", "### Swap the image")[0])
        self.assertEqual(self.deployed()["image"], "registry.example.com/careen:1.2.3")
        self.assertEqual(len(self.names("pods", f"app={PROGRAM}")), 1)
        self.assertEqual(self.holder(), "original")
        began = time.monotonic()
        process = self.start_program()
        self.wait(lambda: self.holder() not in ("", "original"), "the lock to run out")
        self.assertLess(time.monotonic() - began, 20)
        self.check_it_goes_on()
        events = f"/api/v1/namespaces/{FLEET}/events"
        self.wait(lambda: {"PreDrainHookRemoved", "MaintenanceApproved"} <= {one["reason"] for one in self.api.list(events)[0]},
                  "events")

        back = steps(MOVE.blocks("", "## The way back")[0])
        self.assertEqual(sorted(back), [1, 2, 3])
        self.follow(back[1])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)
        self.assertEqual(self.holder(), "", "the lock is given back")
        self.assertNotRegex(self.log.read_text(), r"\b(ERROR|WARN)\b")
        self.follow(back[2])
        self.assertIsNone(self.annotation(ASKED, SKIP))
        self.assertEqual(self.annotation("spared", SKIP), "by ana")
        self.follow(back[3])
        self.assertEqual(self.deployed()["image"], "example.com/back:1")
        self.assertEqual(self.annotation(ASKED, HOOK), PROGRAM)

    def install(self, commands, *flags):
        """Those of a page that install the chart; a careen as its Deployment says, under its account."""
        self.addCleanup(self.follow, f"helm uninstall careen --namespace {HOME} --wait; kubectl delete namespace {HOME}")
        self.follow(commands)
        careen = Careen(self.careen, self.kubeconfig_of(HOME, "careen"), None, str(self.folder / "log"),
                        *self.arguments_of_chart(), f"--leader-election-namespace={HOME}", *flags)
        self.addCleanup(careen.kill)
        return careen.wait_ready()

    def test_by_helm(self):
        self.original()
        over = steps(MOVE.blocks("", "### By Helm")[0])
        self.assertEqual(sorted(over), [1, 2, 3])
        self.follow(over[1])
        self.assertEqual(self.names("pods", f"app={PROGRAM}"), [])
        careen = self.install(over[2])
        self.check_it_goes_on()
        self.follow(over[3])
        self.assertFalse([one for one in json.loads(self.kubectl("get", "clusterroles", "-o", "json"))["items"]
                          if one["metadata"]["name"] == PROGRAM])
        self.assertEqual(careen.complaints(), [])

    def test_the_page_of_machines(self):
        """The chart with kubeconfigs that are named, and the page's profile."""
        machines = self.install(PAGE.block("", "helm install").rstrip() + " --set 'machines.kubeconfigs[0].namespace=fleet' "
                                "--set 'machines.kubeconfigs[0].clusters={eu-1}'")
        config = self.folder / "maintenance.yaml"
        config.write_text(PAGE.blocks("yaml", "## The profile of the workload cluster")[0])
        subprocess.run([self.careen, "validate", "--strict", config], check=True, stdout=subprocess.DEVNULL)
        profiles = Careen(self.careen, self.cluster.kubeconfig, str(config), str(self.folder / "log"), "--enable-leader-election",
                          "--leader-election-namespace=default")
        self.addCleanup(profiles.kill)
        profiles.wait_ready()
        self.machine(ASKED)
        self.api.call("POST", f"{API}/machinedeployments", {
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": {"name": "eu-1-md-0"},
            "spec": {"clusterName": "eu-1", "selector": {"matchLabels": {"a": "b"}}, "template": {
                "metadata": {"labels": {"a": "b"}}, "spec": self.api.get(f"{API}/machines/{ASKED}")["spec"]}}})
        self.follow(PAGE.block("", "patch machinedeployment"))
        self.wait(lambda: self.annotation(ASKED, HOOK) == PROGRAM, "the hook")

        self.follow(PAGE.block("", "wait machine"))
        self.wait(lambda: self.labels(ASKED) == {} and self.annotation(ASKED, SKIP) is None, "the end of the maintenance")
        self.api.call("DELETE", f"{API}/machines/{ASKED}")
        self.wait(lambda: self.annotation(ASKED, HOOK) is None, "the profile to approve")
        self.assertEqual(self.labels(ASKED), {"machine-deleted": "true", "approve-deletion": "true"})

        # Of a dead Node nothing is drained.
        self.machine("dead")
        self.wait(lambda: self.annotation("dead", HOOK) == PROGRAM, "the hook")
        self.api.patch("/api/v1/nodes/dead", {"metadata": {"annotations": {"testcluster/ready": "false"}}})
        self.api.call("POST", "/api/v1/namespaces/default/pods", {
            "metadata": {"name": "stuck", "annotations": {"testcluster/termination-time": "never"}},
            "spec": {"nodeName": "dead", "containers": [{"name": "c", "image": "example.com/x"}]}})
        self.addCleanup(self.kubectl, "delete", "pod", "stuck", "--force", "--ignore-not-found")
        self.api.call("DELETE", f"{API}/machines/dead")
        self.wait(lambda: self.annotation("dead", HOOK) is None, "the profile to approve")
        self.assertEqual(machines.complaints() + profiles.complaints(), [])

    def test_a_hub(self):
        """The same profile, run from the management cluster for a Cluster that says so."""
        config = self.folder / "hub.yaml"
        config.write_text(PAGE.blocks("yaml", "## The profile of the workload cluster")[0])
        self.machine("in-hub")
        hub = self.install(PAGE.block("", "machines.hub.enabled").replace("maintenance.yaml", str(config)),
                           f"--config={config}")
        self.api.call("POST", f"{API}/clusters", {
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "eu-1"},
            "spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimulatedCluster", "name": "eu-1"}}})
        self.addCleanup(self.api.delete, f"{API}/clusters/eu-1")
        self.follow(PAGE.block("", "label cluster"))
        self.wait(lambda: self.annotation("in-hub", HOOK) == PROGRAM, "the hook")
        self.api.call("DELETE", f"{API}/machines/in-hub")
        self.wait(lambda: self.annotation("in-hub", HOOK) is None, "the profile to approve")
        ledgers = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases"
        self.assertIsNotNone(self.api.get(f"{ledgers}/careen-ledger.fleet.eu-1"))
        self.assertEqual(hub.complaints(), [])


if __name__ == "__main__":
    sys.exit(main(MachinesPagesTest, nodes=1))
