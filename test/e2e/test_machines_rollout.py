"""A whole MachineDeployment is replaced while a profile of its workload cluster lets so many Nodes go at a time."""

import os
import time

from capi_cluster import node_of
from careen import Careen
from machines import APPROVE_DELETION, DELETED, ENABLED, STATE, MachinesEnvironment, MachinesTest
from node_watch import PROFILE, labels
from release_watch import ReleaseWatch

LIMIT = 2


def profile(name):
    """What the README of the program that careen replaces has: a Node whose Machine is deleted asks for maintenance, and
    approves the deletion when it is its turn."""
    return f"""\
intervals:
  requeue: 2s
instances:
  check:
  - name: deleted
    type: hasLabel
    config: {{key: {DELETED}, value: "true"}}
  - name: room
    type: maxMaintenance
    config: {{max: {LIMIT}}}
  trigger:
  - name: approve
    type: alterLabel
    config: {{key: {APPROVE_DELETION}, value: "true"}}
profiles:
- name: {name}
  operational:
    transitions:
    - check: deleted
      next: maintenance-required
  maintenance-required:
    transitions:
    - check: room
      next: in-maintenance
      trigger: approve
  in-maintenance:
    transitions:
    - check: "!deleted"
      next: operational
"""


class Rollout(MachinesTest):
    """A MachineDeployment whose Nodes have a profile of their own, and the careen that runs it."""

    def begin(self, count):
        """The Cluster, the names of its Machines, and the witness; everybody is deleted at once."""
        capi = self.capi()
        self.deploy(capi, count, ENABLED, {PROFILE: capi.namespace}, {"maxSurge": 0, "maxUnavailable": "100%"})
        config = os.path.join(self.folder, "maintenance.yaml")
        with open(config, "w") as file:
            file.write(profile(capi.namespace))
        profiles = Careen(MachinesEnvironment.binary, capi.workload.kubeconfig, config,
                          os.path.join(self.folder, "profiles.log"), "--await-pauses=false")
        self.addCleanup(profiles.kill)
        names = self.wait_running(capi, count, 240)
        for name in names:
            self.wait_hook(capi, name, seconds=60)
        witness = ReleaseWatch(capi)
        self.addCleanup(witness.stop)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        capi.patch("machinedeployments", self.pool_name, {"spec": {"rollout": {"after": now}}})
        return capi, names, witness

    def finish(self, capi, names, witness, seconds):
        old = set(names)
        capi.wait_machines(lambda found: not old & found.keys() and len(found) == len(old) and all(
            node_of(one) for one in found.values()), seconds, "the Machines to be replaced", self.pool_name)
        witness.check(self, names, LIMIT)
        for name in capi.machines(self.pool_name):
            node = capi.wait_node(self.node_of(capi, name), lambda one: STATE in labels(one), 30, "to be maintained")
            self.assertNotIn(DELETED, labels(node))


class RolloutTest(Rollout):

    beside_others = True

    def test_rollout_of_twenty(self):
        """Never more than two Nodes are released at a time, and nobody goes who was not."""
        begun = time.monotonic()
        capi, names, witness = self.begin(20)
        self.finish(capi, names, witness, 240)
        self.remarks.append(f"20 Machines replaced, {LIMIT} at a time, in {time.monotonic() - begun:.0f} s")


class FailoverTest(Rollout):

    def test_killed_in_the_middle(self):
        """The careen that leads is killed while some are let go and others are held: the one that waits goes on where it
        stopped, and nobody goes who was not released."""
        first = self.start().wait_ready()
        capi, names, witness = self.begin(6)
        second = self.start()
        witness.wait_let_go(1, 60)
        first.kill()
        begun = time.monotonic()
        before = witness.let_go()
        witness.wait_let_go(before + 1, 90)
        self.remarks.append(f"the next Machine was let go {time.monotonic() - begun:.1f} s after the kill")
        self.finish(capi, names, witness, 120)
        self.assertTrue(second.alive())
