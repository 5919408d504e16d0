"""The people and machines of the demonstration: nodes reboot into the new system when it is their turn, technicians
repair, somebody approves, releases come out, hardware fails, colleagues take nodes out. They look at the cluster every
few seconds and keep a list of what is due when."""

import json
import time

from workloads import NEWEST_OS, job

FAULTS = ["memory errors", "a disk is failing", "a power supply is lost", "a fan has stopped"]
WORKS = [("swap-disk", "swap a disk"), ("firmware", "new firmware for the network card"),
         ("memory", "add memory modules")]


class Node:
    """What is written on a node."""

    def __init__(self, item):
        metadata = item["metadata"]
        labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
        self.name = metadata["name"]
        self.outdated = "demo.careen.dev/os-update" in labels
        self.hardware = labels.get("demo.careen.dev/hardware", "")
        self.storage = labels.get("demo.careen.dev/pool") == "storage"
        self.approved = "demo.careen.dev/approved" in annotations
        self.cordoned = item["spec"].get("unschedulable", False)
        data = json.loads(annotations.get("cloud.sap/maintenance-data") or "{}")
        self.states = {name: profile.get("Current", "operational")
                       for name, profile in (data.get("Profiles") or {}).items()}

    def state(self, profile):
        return self.states.get(profile, "operational")

    def at_rest(self):
        return not (self.outdated or self.hardware or self.cordoned) and set(self.states.values()) <= {"operational"}


class Actors:
    def __init__(self, kubectl, draw, people):
        self._kubectl = kubectl
        self._draw = draw
        self._people = people
        self._states = {}   # by node and profile, as they were last seen
        self._due = []      # (when, what)
        self._approving = set()
        self._nodes = {}
        self._release, self._newest = 0, NEWEST_OS
        self._publishing = False
        self._job = 0
        if people:
            self._later(7, 9, self._take_out)
            self._later(25, 40, self._break)
            self._later(0, 1, self._run_job)

    def look(self):
        self._nodes = {item["metadata"]["name"]: Node(item) for item in self._kubectl.json("get", "nodes")["items"]}
        for node in self._nodes.values():
            self._react(node)
        if self._people and not self._publishing and not any(node.outdated for node in self._nodes.values()):
            self._publishing = True
            self._later(240, 720, self._publish)
        now = time.monotonic()
        ready = [what for when, what in self._due if when <= now]
        self._due = [(when, what) for when, what in self._due if when > now]
        for what in ready:
            what()

    def _later(self, least, most, what):
        self._due.append((time.monotonic() + self._draw.uniform(least, most), what))

    @staticmethod
    def _say(text):
        print(f"{time.strftime('%H:%M:%S', time.gmtime())}  {text}", flush=True)

    def _react(self, node):
        for profile, state in node.states.items():
            before = self._states.get((node.name, profile), "operational")
            self._states[node.name, profile] = state
            if state == before:
                continue
            if state != "maintenance-required":
                self._say(f"{node.name}: {before} → {state} ({profile})")
            if state == "in-maintenance":
                self._begin(node.name, profile)
        waits = node.state("os-update") == "maintenance-required" and node.storage and not node.approved
        if self._people and waits and node.name not in self._approving:
            self._approving.add(node.name)
            self._later(300, 1500, lambda: self._approve(node.name))

    def _begin(self, name, profile):
        if profile == "hardware-repair":
            self._later(60, 240, lambda: self._repair(name))
        else:
            self._later(4, 10, lambda: self._stop(name))

    # --- machines ----------------------------------------------------------

    def _stop(self, name):
        self._kubectl("label", "--overwrite", "node", name, "testcluster/kubelet=stopped", must=False)
        self._later(25, 100, lambda: self._start(name))

    def _start(self, name):
        self._kubectl("label", "--overwrite", "node", name, "testcluster/kubelet-", "demo.careen.dev/os-update-",
                      f"demo.careen.dev/os={self._newest}", must=False)

    # --- people ------------------------------------------------------------

    def _repair(self, name):
        self._kubectl("label", "--overwrite", "node", name, "demo.careen.dev/hardware=repaired", must=False)
        self._say(f"{name}: a technician has repaired it")

    def _approve(self, name):
        self._approving.discard(name)
        node = self._nodes.get(name)
        if node and node.state("os-update") == "maintenance-required" and not node.approved:
            self._kubectl("annotate", "--overwrite", "node", name, "demo.careen.dev/approved=ana", must=False)
            self._say(f"{name}: Ana has approved its update")

    def _publish(self):
        self._publishing = False
        self._release += 1
        self._newest = f"2.1.{self._release}"
        self._say(f"OS release {self._newest} is out: all nodes need it")
        self._kubectl("label", "--overwrite", "nodes", "--all", "demo.careen.dev/os-update=needed")
        for node in self._nodes.values():
            node.outdated = True

    def _any_at_rest(self):
        resting = sorted(node.name for node in self._nodes.values() if node.at_rest())
        return self._draw.choice(resting) if resting else None

    def _break(self):
        self._later(180, 600, self._break)
        name = self._any_at_rest()
        if name and sum(node.hardware == "broken" for node in self._nodes.values()) < 2:
            self._say(f"{name}: hardware fault: {self._draw.choice(FAULTS)}")
            self._kubectl("label", "--overwrite", "node", name, "demo.careen.dev/hardware=broken", must=False)

    def _take_out(self):
        self._later(240, 720, self._take_out)
        node = self._any_at_rest()
        if not node:
            return
        work, reason = self._draw.choice(WORKS)
        name = f"{work}-{node}"
        self._kubectl.apply([{"apiVersion": "nodemaintenance.medik8s.io/v1beta1", "kind": "NodeMaintenance",
                              "metadata": {"name": name}, "spec": {"nodeName": node, "reason": reason}}])
        self._say(f"NodeMaintenance {name}: {reason}")
        self._later(120, 360, lambda: self._kubectl("delete", "nodemaintenance", name, "--wait=false", must=False))

    def _run_job(self):
        self._job += 1
        self._kubectl.apply([job(f"report-{self._job}")])
        if self._job > 2:
            self._kubectl("-n", "batch", "delete", "job", f"report-{self._job - 2}", "--wait=false", must=False)
        self._later(1800, 1800, self._run_job)
