"""Workload clusters that cannot be reached, that take credentials away, or that go: whoever looks after many clusters must
not stand still for one of them."""

import contextlib
import socket
import threading
import time

from audit import Audit, accepted
from careen import free_port, poll
from machines import APPROVE_MAINTENANCE, DELETED, ENABLED, MAINTENANCE, REQUESTED, MachinesTest
from node_watch import labels

CONNECTED = "careen_cluster_connected"
OUTAGE = 60.0
PACE = 1.0  # seconds from one maintenance to the next


class Load:
    """One maintenance after the other on these Machines, from their requests to their ends."""

    def __init__(self, test, capi, machines):
        self._test, self._capi = test, capi
        self._stopping = threading.Event()
        self._rounds = dict.fromkeys(machines, 0)
        self.errors = []
        self._threads = [threading.Thread(target=self._work, args=(name,), daemon=True) for name in machines]
        for thread in self._threads:
            thread.start()

    def _work(self, machine):
        while not self._stopping.is_set():
            now = time.monotonic()
            try:
                self._test.maintenance(self._capi, machine, 120)
                self._rounds[machine] += 1
            except Exception as error:  # told by stop()
                self.errors.append(error)
                return
            self._stopping.wait(max(0, now + PACE - time.monotonic()))

    def wait_round(self, seconds=120):
        """Until each of them has been through one that began from now on."""
        before = dict(self._rounds)
        poll(lambda: self.errors or all(self._rounds[name] > count + 1 for name, count in before.items()), seconds,
             "a maintenance of each Machine", 0.1)

    def stop(self):
        self._stopping.set()
        for thread in self._threads:
            thread.join(130)
        if self.errors:
            raise self.errors[0]
        return sum(self._rounds.values())


@contextlib.contextmanager
def black_hole():
    """The address of a server that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(100)
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


class AccessTest(MachinesTest):

    beside_others = True

    def _connected(self, capi):
        """Whether careen says so; None: it does not speak of that cluster."""
        found = self.careen.metrics().find(CONNECTED, cluster=f"{capi.namespace}/{capi.name}")
        return bool(found[0][1]) if found else None

    def _requests(self, capi):
        return self.careen.metrics().sum("careen_api_requests_total", cluster=f"{capi.namespace}/{capi.name}")

    def _wait_connected(self, capi, value, seconds=60):
        poll(lambda: self._connected(capi) == value, seconds, f"{capi.namespace} to be connected: {value}", 0.1)

    def _wait_refused(self, capi, account, token):
        """Until the server has forgotten that the token was good."""
        def refused():
            return capi.workload.status_for(token, "/api/v1/nodes?limit=1") == 401
        poll(refused, 60, f"the token of {account} to be refused", 0.5)

    def _new_administrator(self, capi, name):
        """The account, and a kubeconfig and the token of it."""
        account = f"{capi.namespace}-{name}"
        text, token = capi.token_kubeconfig(account)
        self.addCleanup(capi.workload.api.delete, f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{account}")
        self.addCleanup(capi.dismiss, account)
        return account, text, token

    def _wait_request(self, capi, account, audit, seconds=60):
        """Until careen has written a Node as that account; how long ago the audit began."""
        user = f"system:serviceaccount:kube-system:{account}"
        poll(lambda: any(entry["user"]["username"] == user and entry["verb"] == "patch" and accepted(entry)
                         for entry in audit.entries()), seconds, f"careen to come as {account}", 0.1)
        return time.monotonic() - audit.begun

    def _replace(self, capi, text):
        audit = Audit(capi.workload.audit_log)
        audit.begun = time.monotonic()
        capi.write_secret(text)
        return audit

    def test_rotation_under_load(self):
        """The Secret gets a new credential and the old one is taken away, in this order and in the other: maintenances
        go on with the new one, and none of them is lost."""
        capi = self.capi()
        names = self.pool(capi, 4)
        load = Load(self, capi, names)
        first, text, _ = self._new_administrator(capi, "first")
        took = self._wait_request(capi, first, self._replace(capi, text))
        self.remarks.append(f"a new credential was used {took:.1f} s after the Secret had it")
        second, text, token = self._new_administrator(capi, "second")
        audit = self._replace(capi, text)
        capi.dismiss(first)
        self._wait_request(capi, second, audit)
        load.wait_round()
        capi.dismiss(second)
        self._wait_refused(capi, second, token)
        third, text, _ = self._new_administrator(capi, "third")
        took = self._wait_request(capi, third, self._replace(capi, text))
        self.remarks.append(f"after every request was refused a new credential was used {took:.1f} s after the Secret had it")
        load.wait_round()
        self.remarks.append(f"{load.stop()} maintenances went on meanwhile")
        self._wait_connected(capi, True)

    def test_lost_secret(self):
        """The Secret is deleted: what is known goes on, and when there is one again it is taken."""
        capi = self.capi()
        machine = self.pool(capi, 1)[0]
        self.maintenance(capi, machine)
        capi.delete_secret()
        poll(lambda: any(capi.namespace in key for key in self.careen.open_problems()), 30, "careen to miss the Secret", 0.1)
        self.maintenance(capi, machine)
        account, text, _ = self._new_administrator(capi, "again")
        audit = self._replace(capi, text)
        load = Load(self, capi, [machine])
        self._wait_request(capi, account, audit)
        load.stop()
        poll(lambda: not any(capi.namespace in key for key in self.careen.open_problems()), 30, "careen to be content", 0.1)

    def test_unreachable_from_the_start(self):
        """A port that accepts and never answers, one where nobody listens, a credential that is refused for ever and no
        Secret at all: none of them keeps careen from the other clusters, and each is served once it can be reached."""
        good, *bad = clusters = [self.common(), *(self.capi() for _ in range(4))]
        silent, closed, refused, without = bad
        for capi in clusters:
            self.deploy(capi, 1, {} if capi in bad else ENABLED)
        machines = {capi: self.wait_running(capi, 1)[0] for capi in clusters}
        account, text, token = self._new_administrator(refused, "dismissed")
        refused.dismiss(account)
        self._wait_refused(refused, account, token)
        refused.write_secret(text)
        closed.write_secret(closed.certificate_kubeconfig(f"https://127.0.0.1:{free_port()}"))
        without.delete_secret()
        with black_hole() as address:
            silent.write_secret(silent.certificate_kubeconfig(address))
            for capi in bad:
                capi.label_template(self.pool_name, ENABLED)
                capi.label(machines[capi], **{MAINTENANCE: "requested"})
            for capi in bad:
                poll(lambda capi=capi: self._connected(capi) is False and any(
                    capi.namespace in key for key in self.careen.open_problems()), 60, f"{capi.namespace} to be in trouble", 0.1)
            slowest = max(self.maintenance(good, machines[good]) for _ in range(5))
            self.remarks.append(f"beside four clusters that cannot be reached a maintenance took at most {slowest:.1f} s")
            for capi in bad:
                self.assertLess(self._requests(capi), 60, f"{capi.namespace}: it is not tried again and again without a pause")
            for capi in bad:
                begun = time.monotonic()
                capi.write_secret(capi.certificate_kubeconfig())
                self.wait_label(capi, self.node_of(capi, machines[capi]), REQUESTED, seconds=120)
                self.wait_hook(capi, machines[capi])
                self.remarks.append(f"{['silent', 'closed', 'refused', 'without a Secret'][bad.index(capi)]}: served "
                                    f"{time.monotonic() - begun:.1f} s after the Secret was good")

    def test_deleted_cluster(self):
        """A whole Cluster goes while its Machines are in maintenance and one is held: nothing is held up, the labels go
        from the Nodes that are left, and so does the connection."""
        capi = self.capi()
        names = self.pool(capi, 4, leavesNode=True)
        nodes = {name: self.node_of(capi, name) for name in names}
        for node in nodes.values():
            self.addCleanup(capi.workload.api.delete, f"/api/v1/nodes/{node}")
        approved, requested, held, _ = names
        for name in (approved, requested):
            capi.label(name, **{MAINTENANCE: "requested"})
            self.wait_label(capi, nodes[name], REQUESTED)
        capi.patch_node(nodes[approved], {APPROVE_MAINTENANCE: "true"})
        self.wait_asked(capi, approved, "approved")
        self.wait_hook(capi, held)
        capi.delete_machine(held)
        self.wait_label(capi, nodes[held], DELETED)
        self._wait_connected(capi, True)
        capi.delete()
        for name in names:
            capi.wait_gone(name, 120)
        for node in nodes.values():
            capi.wait_node(node, lambda one: not {DELETED, REQUESTED} & labels(one).keys(), 60, "careen's labels to go")
        self._wait_connected(capi, None)
        poll(lambda: capi.get("clusters", capi.name) is None, 60, "the Cluster to be gone", 0.2)

    def test_outage_of_one_of_two_namesakes(self):
        """Two Clusters of one name in two namespaces, each with its own API server, one of which is away for a minute: the
        other goes on all the time, and what was asked for meanwhile happens when it is back."""
        here, there = self.capi(self.rig.first, "twin"), self.capi(self.rig.second, "twin")
        names = {}
        for capi in (here, there):
            self.deploy(capi, 2)
        for capi in (here, there):
            names[capi] = self.wait_running(capi, 2)
            self.maintenance(capi, names[capi][0])
        node = self.node_of(there, names[there][0])
        self.addCleanup(self.rig.second.tool, "start", "apiserver")
        begun = time.monotonic()
        self.rig.second.tool("stop", "apiserver")
        there.label(names[there][0], **{MAINTENANCE: "requested"})
        there.delete_machine(names[there][1])
        took = []
        while (now := time.monotonic()) - begun < OUTAGE:
            took.append(self.maintenance(here, names[here][0]))
            threading.Event().wait(max(0, now + PACE - time.monotonic()))
        self._wait_connected(there, False)
        self.assertEqual(self._connected(here), True)
        self.rig.second.tool("start", "apiserver")
        begun = time.monotonic()
        self.wait_label(there, node, REQUESTED, seconds=120)
        self.wait_label(there, self.node_of(there, names[there][1]), DELETED, seconds=120)
        self.remarks.append(f"{len(took)} maintenances in the other cluster meanwhile, the slowest in {max(took):.1f} s; "
                            f"caught up {time.monotonic() - begun:.1f} s after the return")
        self._wait_connected(there, True)
        self.wait_deleting(there, names[there][1], "WaitingForPreDrainHook", 60)
        for name in names[here]:
            self.assertFalse({DELETED, REQUESTED} & labels(here.node(self.node_of(here, name))).keys())
