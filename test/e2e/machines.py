"""What tests of Machines stand on: one rig for the part, one careen for the tests that run beside each other, and
witnesses of what happened to Machines and Nodes."""

import contextlib
import os
import shutil
import tempfile
import threading
import time
import unittest
import zlib

from audit import Audit
from capi_cluster import CapiCluster, conditions, node_of
from careen import Careen, poll
from cluster_api import Rig
from node_watch import annotations, labels
from side_by_side import SideBySide

PREFIX = "runtime-extension-maintenance-controller.cloud.sap/"
ENABLED = {PREFIX + "enabled": "true"}
MAINTENANCE = PREFIX + "maintenance"
HOOK = "pre-drain.delete.hook.machine.cluster.x-k8s.io/maintenance-controller"
OWN = "runtime-extension-maintenance-controller"
SKIP_REMEDIATION = "cluster.x-k8s.io/skip-remediation"
STATE = "cloud.sap/maintenance-state"
DELETED = PREFIX + "machine-deleted"
APPROVE_DELETION = PREFIX + "approve-deletion"
REQUESTED = PREFIX + "machine-maintenance"
APPROVE_MAINTENANCE = PREFIX + "approve-maintenance"
# Of a profile that looks after a Node: what it keeps there while nothing is to be done.
MAINTAINED = {STATE: "operational"}


class MachinesEnvironment:
    """What all tests of Machines share."""

    rig = None
    binary = None
    folder = None
    _resident = None
    _common = None
    _lock = threading.Lock()
    _names = 0

    @classmethod
    def up(cls, name):
        cls.binary = os.environ["CAREEN_BINARY"]
        cls.folder = tempfile.mkdtemp(prefix="careen-e2e-")
        cls.rig = Rig(name, cls.folder)
        cls.rig.up()

    @classmethod
    def down(cls, keep_logs):
        cls.dismiss()
        if cls.rig:
            cls.rig.down()
        if cls.folder and not keep_logs:
            shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def arrange(cls, suite):
        """Those that share a careen side by side, then the others one after the other."""
        tests = list(_flat(suite))
        # Started by a thread that ends, it would end with it.
        beside = SideBySide([test for test in tests if getattr(test, "beside_others", False)], cls.resident)
        return unittest.TestSuite([beside, *(test for test in tests if not getattr(test, "beside_others", False))])

    @classmethod
    def resident(cls):
        """The careen of all tests that run beside each other."""
        with cls._lock:
            if cls._resident is None or not cls._resident.alive():
                cls._resident = start_machines(os.path.join(cls.folder, "resident.log"), "e2e-resident",
                                               "--enable-metal3-maintenance")
                cls._resident.wait_ready()
            return cls._resident

    @classmethod
    def common(cls):
        """The Cluster of all tests that need none of their own."""
        with cls._lock:
            if cls._common is None:
                cls._common = CapiCluster(cls.rig, cls.rig.first, "e2e-common").create()
            return cls._common

    @classmethod
    def dismiss(cls):
        """Whoever starts a careen alone wants to see what it does, and not what another one has done."""
        with cls._lock:
            if cls._resident is not None:
                cls._resident.kill()
                cls._resident = None

    @classmethod
    def namespace(cls):
        with cls._lock:
            cls._names += 1
            return f"e2e-{cls._names}"


def _flat(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from _flat(one)
        else:
            yield one


def start_machines(log, namespace, *flags, kubeconfig=None):
    """`careen run --controllers machines` under election in a namespace of its own."""
    management = MachinesEnvironment.rig.management
    management.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    return Careen(MachinesEnvironment.binary, kubeconfig or management.kubeconfig, None, log, "--controllers=machines",
                  "--enable-leader-election", "--leader-election-namespace", namespace, *flags)


class MachinesTest(unittest.TestCase):
    """A test with Clusters of its own; what it leaves behind goes while the next ones run."""

    beside_others = False

    def setUp(self):
        self.rig = MachinesEnvironment.rig
        self.api = self.rig.management.api
        self.folder = os.path.join(MachinesEnvironment.folder, self.id().partition(".")[2])
        self.namespace = f"careen-{zlib.crc32(self.id().encode()) & 0xFFFF:04x}"
        self._again = os.path.exists(self.folder)
        if self._again:
            self.folder += ".again"
            self.namespace += "-again"
        os.makedirs(self.folder)
        self.replicas = []
        self.remarks = []
        self.pool_name = self._testMethodName.removeprefix("test_").replace("_", "-")
        self._clusters, self._pools = [], []
        self.audit = Audit(self.rig.management.audit_log)
        if self.beside_others:
            self.careen = MachinesEnvironment.resident()
            self.replicas.append(self.careen)
        else:
            MachinesEnvironment.dismiss()
        self.addCleanup(self._clean)

    def _clean(self):
        for index, replica in enumerate(self.replicas):
            with contextlib.suppress(OSError), open(os.path.join(self.folder, f"metrics-{index}"), "w") as file:
                file.write(f"{replica.readyz()}\n{replica.get('/metrics')[1]}")
        if not self.beside_others:
            for replica in self.replicas:
                if replica.alive():
                    replica.kill()
        # No careen sees them as its own from now on; they are deleted while others go on.
        nothing = {PREFIX + "enabled": None, MAINTENANCE: None}
        for capi, pool in self._pools:
            capi.label_template(pool, nothing)
            for name in capi.machines(pool):
                self.api.patch_if_there(f"{capi.path}/machines/{name}", {"metadata": {"labels": nothing}})
            capi.delete_pool(pool)
        for capi in self._clusters:
            capi.write_secret(capi.certificate_kubeconfig())
            capi.delete()

    def common(self):
        """A Cluster on the first workload cluster, in which this test has its own Machines; at a second try one of its own,
        because what is left of the first one may still be there."""
        return self.capi() if self._again else MachinesEnvironment.common()

    def capi(self, workload=None, name="workload"):
        """A Cluster of this test alone; on the first workload cluster unless another is given."""
        capi = CapiCluster(self.rig, workload or self.rig.first, MachinesEnvironment.namespace(), name)
        self._clusters.append(capi)
        return capi.create()

    def deploy(self, capi, count, machine_labels=ENABLED, node_labels=MAINTAINED, rolling=None, **infrastructure):
        """This test's MachineDeployment in that Cluster, by default in careen's care and maintained by profiles."""
        capi.deploy(self.pool_name, count, machine_labels, rolling, nodeLabels=node_labels, **infrastructure)
        self._pools.append((capi, self.pool_name))

    def wait_running(self, capi, count, seconds=120):
        return capi.wait_running(count, self.pool_name, seconds)

    def pool(self, capi, count, *arguments, **more):
        """So many Machines with their Nodes; their names."""
        self.deploy(capi, count, *arguments, **more)
        return self.wait_running(capi, count)

    def start(self, *flags, kubeconfig=None):
        log = os.path.join(self.folder, f"careen-{len(self.replicas)}.log")
        replica = start_machines(log, self.namespace, *flags, kubeconfig=kubeconfig)
        self.replicas.append(replica)
        return replica

    def holder(self):
        lease = self.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/{OWN}")
        return lease["spec"].get("holderIdentity", "") if lease else ""

    # --- what is waited for ----------------------------------------------------

    def node_of(self, capi, machine):
        return node_of(capi.machines()[machine])

    def wait_hook(self, capi, machine, there=True, seconds=30):
        wanted = OWN if there else None
        return capi.wait_machine(machine, lambda one: annotations(one).get(HOOK) == wanted, seconds,
                                 f"its hook to be {wanted}")

    def wait_deleting(self, capi, machine, reason, seconds=30, says=""):
        """Waits until Cluster API says that of the deletion."""
        def told(one):
            deleting = conditions(one).get("Deleting", {})
            return deleting.get("reason") == reason and says in deleting.get("message", "")
        return capi.wait_machine(machine, told, seconds, f"its deletion to be {reason} {says}")

    def wait_asked(self, capi, machine, value, seconds=30):
        """Waits until the maintenance label says so; None: it is not there."""
        return capi.wait_machine(machine, lambda one: labels(one).get(MAINTENANCE) == value, seconds,
                                 f"its maintenance to be {value}")

    def wait_label(self, capi, node, key, value="true", seconds=30):
        """Waits until the Node has the label; None: has it no more."""
        return capi.wait_node(node, lambda one: labels(one).get(key) == value, seconds, f"label {key} to be {value}")

    def wait_skipping(self, capi, machine, value, seconds=30):
        return capi.wait_machine(machine, lambda one: annotations(one).get(SKIP_REMEDIATION) == value, seconds,
                                 f"{SKIP_REMEDIATION} to be {value}")

    def maintenance(self, capi, machine, seconds=30):
        """One maintenance from the request to its end; the seconds it took."""
        begun = time.monotonic()
        node = self.node_of(capi, machine)
        capi.label(machine, **{MAINTENANCE: "requested"})
        self.wait_label(capi, node, REQUESTED, seconds=seconds)
        capi.patch_node(node, {APPROVE_MAINTENANCE: "true"})
        self.wait_asked(capi, machine, "approved", seconds)
        capi.patch_node(node, {APPROVE_MAINTENANCE: None})
        capi.label(machine, **{MAINTENANCE: None})
        self.wait_label(capi, node, REQUESTED, None, seconds)
        return time.monotonic() - begun

    def events_of(self, capi, machine):
        """The reasons of the events on that Machine, from whoever."""
        items, _ = self.api.list(f"/api/v1/namespaces/{capi.namespace}/events")
        return {one["reason"]: one.get("message", "") for one in items if one["involvedObject"].get("name") == machine}

    def wait_event(self, capi, machine, reason, seconds=30):
        return poll(lambda: self.events_of(capi, machine).get(reason), seconds, f"the event {reason} on {machine}", 0.2)
