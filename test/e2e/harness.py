"""What every end-to-end test stands on: one cluster for the run, its nodes made fresh for each test."""

import json
import os
import re
import shutil
import tempfile
import time
import unittest
import zlib

from api import side_by_side, write_kubeconfig
from audit import Audit
from careen import Careen, poll
from cluster import Cluster
from node_watch import DATA, PROFILE, NodeWatch, annotations, labels

NODES = 50
LIMIT = 3
WANTED = "e2e.careen.dev/wanted"
LOCK = "maintenance-controller-leader-election.cloud.sap"
ROUND = ["maintenance-required", "in-maintenance", "operational"]

# What somebody else keeps on the nodes, and must find there after everything.
_FOREIGN_LABELS = {"example.com/rack": "r7", "topology.example.com/row": "3"}
_FOREIGN_ANNOTATIONS = {"example.com/note": 'says "hello" — über\nlines', "example.com/empty": ""}
_FOREIGN_FINALIZERS = ["example.com/inventory"]
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")


# What begins so was harm done to the cluster, and no test may have a second try at it.
UNSAFE = "unsafe: "

# Without it careen stands still for minutes, lest it overlook a pause.
READ_PAUSES = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["careen-pause"],
               "verbs": ["get", "list", "watch"]}


class Environment:
    """What all tests of a run share."""

    cluster = None
    watch = None
    binary = None
    folder = None

    @classmethod
    def up(cls, name):
        cls.binary = os.environ["CAREEN_BINARY"]
        cls.folder = tempfile.mkdtemp(prefix="careen-e2e-")
        cls.cluster = Cluster(name, "--nodes", str(NODES), "--audit")
        cls.cluster.up()
        cls.watch = NodeWatch(cls.cluster.api).start()

    @classmethod
    def arrange(cls, suite):
        """One after the other."""
        return suite

    @classmethod
    def down(cls, keep_logs):
        if cls.watch:
            cls.watch.stop()
        if cls.cluster:
            cls.cluster.down()
        if cls.folder and not keep_logs:
            shutil.rmtree(cls.folder, ignore_errors=True)


def profile_config(wanted=WANTED, limit=LIMIT, stay="200ms", profile="e2e"):
    """Through all three states and out again; a node stays in maintenance for a moment."""
    return f"""\
intervals:
  requeue: 5s
instances:
  check:
  - name: wanted
    type: hasLabel
    config:
      key: {wanted}
  - name: room
    type: maxMaintenance
    config:
      max: {limit}
  - name: finished
    type: wait
    config:
      duration: {stay}
  trigger:
  - name: done
    type: alterLabel
    config:
      key: {wanted}
      remove: true
profiles:
- name: {profile}
  operational:
    transitions:
    - check: wanted
      next: maintenance-required
  maintenance-required:
    transitions:
    - check: room
      next: in-maintenance
  in-maintenance:
    transitions:
    - check: finished
      next: operational
      trigger: done
"""


class CareenTest(unittest.TestCase):
    """Starts and ends replicas, wants rounds of maintenance, and looks at the nodes afterwards."""

    def setUp(self):
        self.cluster, self.api, self.watch = Environment.cluster, Environment.cluster.api, Environment.watch
        self.replicas = []
        self.folder = os.path.join(Environment.folder, self.id().partition(".")[2])
        if os.path.exists(self.folder):
            self.folder += ".again"
        os.makedirs(self.folder)
        words = re.sub(r"[^a-z0-9]+", "-", self._testMethodName.removeprefix("test_"))[:40].strip("-")
        self.namespace = f"e2e-{words}-{zlib.crc32(self.id().encode()) & 0xFFFF:04x}"
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self._renew_nodes()
        self.audit = Audit(self.cluster.audit_log)
        self.addCleanup(self._end_replicas)

    def tearDown(self):
        self._end_replicas()
        self.check_nothing_lost()

    # --- nodes -------------------------------------------------------------

    @property
    def node_names(self):
        return sorted(self.watch.nodes)

    def _renew_nodes(self):
        """As if careen had never seen them."""
        self.api.call("DELETE", "/apis/events.k8s.io/v1/namespaces/default/events")
        versions = []

        def renew(name):
            node = self.watch.nodes[name]
            ours = ("cloud.sap/", "careen.dev/", "e2e.careen.dev/", "flatcar-linux-update.v1.flatcar-linux.net/")
            answer = self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {
                "labels": {**{key: None for key in labels(node) if key.startswith(ours)}, **_FOREIGN_LABELS},
                "annotations": {**{key: None for key in annotations(node) if key.startswith(ours)},
                                **_FOREIGN_ANNOTATIONS},
                "finalizers": _FOREIGN_FINALIZERS}})
            versions.append(int(answer["metadata"]["resourceVersion"]))

        side_by_side(renew, self.node_names)
        self.watch.wait_version(max(versions))
        self.watch.reset()

    def label(self, names, values):
        side_by_side(lambda name: self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": values}}), names)

    def annotate(self, names, values):
        side_by_side(lambda name: self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": values}}), names)

    def wait_state(self, names, state, seconds=30):
        """Waits until these nodes are in a state, which they have reached since the test began."""
        self.watch.wait_until(lambda watch: all(watch.history.get(name, [])[-1:] == [state] for name in names), seconds,
                              f"{', '.join(names)} to be {state}")

    def want_maintenance(self, names=None, profile="e2e", wanted=WANTED):
        self.label(names or self.node_names, {PROFILE: profile, wanted: "true"})

    def done(self, names=None):
        """A condition for the watch: these nodes have been through all states."""
        names = names or self.node_names
        return lambda watch: all(watch.history.get(name, [])[-1:] == ["operational"]
                                 and "in-maintenance" in watch.history[name] for name in names)

    def some_done(self, count):
        return lambda watch: sum(self.done([name])(watch) for name in watch.nodes) >= count

    def check_round(self, names=None, profile="e2e", limit=LIMIT):
        """Every node went the whole way exactly once, and the limit held all the time."""
        self.assertLessEqual(self.watch.most, limit, UNSAFE + "more nodes in maintenance than allowed")
        for name in names or self.node_names:
            states = [state for index, state in enumerate(self.watch.history.get(name, []))
                      if index or state != "operational"]
            self.assertEqual(states, ROUND, f"states of {name}")
            node = self.watch.nodes[name]
            self.assertNotIn(WANTED, labels(node), f"the trigger's change on {name}")
            data = json.loads(annotations(node)[DATA])
            self.assertEqual(list(data), ["Profiles", "Notifications"])
            self.assertEqual(data["Notifications"], {})
            self.assertEqual(list(data["Profiles"]), [profile])
            entry = data["Profiles"][profile]
            self.assertEqual(list(entry), ["Transition", "Current", "Previous"])
            self.assertEqual((entry["Current"], entry["Previous"]), ("operational", "operational"))
            self.assertRegex(entry["Transition"], _RFC3339)

    def check_nothing_lost(self):
        """What others keep on the nodes is still there, on every one."""
        for name in self.node_names:
            node = self.watch.nodes[name]
            self.assertLessEqual(_FOREIGN_LABELS.items(), labels(node).items(), f"{UNSAFE}labels of {name}")
            self.assertLessEqual(_FOREIGN_ANNOTATIONS.items(), annotations(node).items(),
                                 f"{UNSAFE}annotations of {name}")
            self.assertEqual(node["metadata"].get("finalizers"), _FOREIGN_FINALIZERS, f"{UNSAFE}finalizers of {name}")
            self.assertEqual(labels(node)["kubernetes.io/hostname"], name)
            self.assertIn("kwok.x-k8s.io/node", annotations(node))

    def events(self, reason="ChangedMaintenanceState"):
        items, _ = self.api.list("/apis/events.k8s.io/v1/namespaces/default/events")
        return [event for event in items if event.get("reason") == reason]

    # --- careen ------------------------------------------------------------

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start(self, config=None, *flags, kubeconfig=None, **changes):
        """A replica with leader election off. `config` is a path; by default that of profile_config()."""
        config = config or self.write("maintenance.yaml", profile_config())
        log = os.path.join(self.folder, f"careen-{len(self.replicas)}.log")
        replica = Careen(Environment.binary, kubeconfig or self.cluster.kubeconfig, config, log, *flags,
                         **changes)
        self.replicas.append(replica)
        return replica

    def start_elected(self, config=None, *flags, namespace=None, **changes):
        return self.start(config, "--enable-leader-election", "--leader-election-namespace",
                          namespace or self.namespace, *flags, **changes)

    def _end_replicas(self):
        for replica in self.replicas:
            if replica.alive():
                replica.kill()

    def lease(self, namespace=None, name=LOCK):
        return self.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace or self.namespace}/leases/{name}")

    def holder(self):
        lease = self.lease()
        return lease["spec"].get("holderIdentity", "") if lease else ""

    def wait_leading(self, replica, seconds=30):
        poll(lambda: replica.metrics().sum("leader_election_master_status") == 1, seconds, "the replica to lead")
        return replica

    # --- problems ----------------------------------------------------------

    def check_reported(self, replica, problem, pattern, ready, seconds=30, attempts=None):
        """One clear message, the metric and the readiness detail tell of the problem.

        With `attempts`, a function that counts how often careen has run into it, the message is still the only one
        after two more of them.
        """
        def tells(line):
            return (line["level"] == "error" and re.search(pattern, line["msg"])
                    and re.search(problem, line.get("problem", "")))
        key = replica.wait_log(tells, seconds, f"a problem {problem!r} that matches {pattern!r}")["problem"]
        poll(lambda: key in replica.open_problems(), seconds, f"the metric of problem {key!r}")
        status, text = replica.readyz()
        self.assertEqual(status, 200 if ready else 503, text)
        self.assertRegex(text, pattern)
        if attempts:
            before = attempts()
            poll(lambda: attempts() >= before + 2, 60, f"two more attempts despite problem {key!r}")
        self._check_said_once(replica, key)
        return key

    def _check_said_once(self, replica, key):
        same = [line for line in replica.complaints() if line.get("problem") == key]
        self.assertEqual(len(same), 1, f"one message for one problem: {json.dumps(same, indent=1)}")

    def check_recovered(self, replica, key, seconds=60):
        replica.wait_log(lambda line: line["level"] == "info" and line.get("problem") == key, seconds,
                         f"the end of problem {key!r}")
        self._check_said_once(replica, key)
        poll(lambda: key not in replica.open_problems(), 5, f"the metric to forget problem {key!r}")
        replica.wait_ready()

    # --- credentials -------------------------------------------------------

    def service_account(self, name):
        """A service account of this test's namespace and a token of it."""
        base = f"/api/v1/namespaces/{self.namespace}/serviceaccounts"
        self.api.create(base, {"metadata": {"name": name}})
        return self.token(self.namespace, name)

    def token(self, namespace, name):
        answer = self.api.call("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
                               {"spec": {"expirationSeconds": 3600}})
        return answer["status"]["token"]

    def grant(self, account, resource, *verbs):
        """Gives a service account of this test's namespace these rights on a resource, and no others on it."""
        group = {"nodes": "", "leases": "coordination.k8s.io"}[resource]
        self.grant_rules(account, [{"apiGroups": [group], "resources": [resource], "verbs": verbs}], resource)

    def grant_rules(self, account, rules, suffix="rules"):
        """Gives a service account of this test's namespace a role of its own in the whole cluster."""
        name = f"{self.namespace}-{account}-{suffix}"
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        if not self.api.create(f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules}):
            self.api.patch(f"{rbac}/clusterroles/{name}", {"rules": rules})
        self.api.create(f"{rbac}/clusterrolebindings", {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": self.namespace}]})
        self.addCleanup(self.api.delete, f"{rbac}/clusterrolebindings/{name}")

    def kubeconfig(self, cluster=None, user=None, server=None, namespace="default", folder=None):
        """The administrator's, except for what is given."""
        return write_kubeconfig(
            os.path.join(folder or self.folder, "kubeconfig"), server or self.cluster.server,
            cluster if cluster is not None else {"certificate-authority": self.cluster.ca},
            user or {"client-certificate": self.cluster.certificate, "client-key": self.cluster.key}, namespace)


def elapsed_since(begun):
    return time.monotonic() - begun
