"""Machines of Cluster API: how long an approval takes from a Node to its Machine and what it costs, how soon a new
kubeconfig is used, and what careen needs for a cluster in which nothing happens."""

import base64
import collections
import http.client
import json
import os
import ssl
import statistics
import subprocess
import sys
import time

from api import side_by_side
from audit import Audit, accepted, resource_of
from careen import Careen, poll
from cluster import ROOT, Cluster

sys.path.append(os.path.join(ROOT, "test"))
from gobuild import module_folder  # noqa: E402

PREFIX = "runtime-extension-maintenance-controller.cloud.sap/"
ENABLED, APPROVED, TOLD = PREFIX + "enabled", PREFIX + "approve-deletion", PREFIX + "machine-deleted"
STATE = "cloud.sap/maintenance-state"
HOOK = "pre-drain.delete.hook.machine.cluster.x-k8s.io/maintenance-controller"
OWN = "runtime-extension-maintenance-controller"
NAMESPACE = "fleet"
MACHINES = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{NAMESPACE}/machines"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
ACCOUNTS = "/api/v1/namespaces/kube-system/serviceaccounts"
NODES = 100  # of each workload cluster
AT_ONCE = 100
ROUNDS = 2
ROTATIONS = 3
FIRST, MORE = 2, 50  # for the memory of each cluster
IN_FLIGHT = 16
MODELS = (50, 500)
HOURS = 10


class Tail:
    """What an API server writes down from now on, read as it comes."""

    def __init__(self, cluster):
        self._file = open(cluster.audit_log)
        self._file.seek(0, os.SEEK_END)
        self._rest = ""

    def entries(self):
        text = self._rest + self._file.read()
        lines = text.split("\n")
        self._rest = lines.pop()
        for line in lines:
            entry = json.loads(line)
            if entry["stage"] == "ResponseComplete" and "objectRef" in entry and accepted(entry):
                yield entry

    def close(self):
        self._file.close()


def processor_seconds(pid):
    """More exactly than the clock's ticks."""
    threads = f"/proc/{pid}/task"
    spent = 0
    for thread in os.listdir(threads):
        with open(f"{threads}/{thread}/schedstat") as file:
            spent += int(file.read().split()[0])
    return spent / 1e9


class Relays:
    def __init__(self, bench, say):
        self.bench, self.say, self.report = bench, say, bench.report
        self.workloads, self.tokens = {}, {}

    def run(self):
        try:
            self._bring_up()
            self._approvals()
            self._kubeconfigs()
            self._memory()
        finally:
            side_by_side(lambda cluster: cluster.down(), self.workloads.values())
        self.bench.take_down()
        self._models()

    # --- one management cluster and two workload clusters --------------------

    def _bring_up(self):
        self.say("\n== API servers of a management cluster and two workload clusters")
        clusters = [Cluster(f"bench-{os.getpid()}-{name}", "--without", "controller-manager,scheduler,kwok", "--nodes", "0",
                            "--audit") for name in "mab"]
        self.bench.cluster = self.management = clusters[0]
        self.workloads = dict(zip("ab", clusters[1:]))
        side_by_side(lambda cluster: cluster.up(), clusters, 3)
        self.bench.flags = self.bench.flags or self.management.tool("flags")
        self.api = self.management.api
        definitions = module_folder(os.path.join(ROOT, "tools", "testcluster", "build", "cluster-api"),
                                    "sigs.k8s.io/cluster-api") / "core" / "config" / "crd" / "bases"
        self.management.kubectl("apply", "--server-side", "-f", str(definitions / "cluster.x-k8s.io_machines.yaml"))
        for namespace in (NAMESPACE, "bench"):
            self.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        poll(lambda: self.api.get(MACHINES) is not None, 30, "the API of Machines")
        for name in self.workloads:
            self._write_secret(name, name, self._administrator(name))
        # All are being deleted, and held until their Node approves.
        self.held = [f"{name}-{index:03d}" for index in range(NODES) for name in self.workloads]
        side_by_side(lambda name: self._make(name, name[0], name[0], {STATE: "operational", TOLD: "true"}, {HOOK: OWN}),
                     self.held, IN_FLIGHT)
        side_by_side(self._delete, self.held, IN_FLIGHT)

    def _make(self, name, cluster, workload, labels, annotations):
        """A Machine of that Cluster, and its Node."""
        self.workloads[workload].api.create("/api/v1/nodes", {"metadata": {
            "name": name, "labels": labels,
            "annotations": {"cluster.x-k8s.io/machine": name, "cluster.x-k8s.io/cluster-namespace": NAMESPACE}}})
        self.api.call("POST", MACHINES, {
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": name, "labels": {ENABLED: "true"}, "annotations": annotations,
                         "finalizers": ["machine.cluster.x-k8s.io"]},
            "spec": {"clusterName": cluster, "bootstrap": {"dataSecretName": "none"}, "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "BenchMachine", "name": name}}})
        self.api.patch(f"{MACHINES}/{name}/status", {"status": {"nodeRef": {"name": name}}})

    def _delete(self, machine):
        self.api.delete(f"{MACHINES}/{machine}")

    def _kubeconfig(self, workload, user):
        cluster = self.workloads[workload]
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "admin",
            "clusters": [{"name": "workload", "cluster": {"server": cluster.server,
                                                          "certificate-authority-data": encoded(cluster.ca)}}],
            "users": [{"name": "admin", "user": user}],
            "contexts": [{"name": "admin", "context": {"cluster": "workload", "user": "admin"}}]})

    def _administrator(self, workload):
        cluster = self.workloads[workload]
        return self._kubeconfig(workload, {"client-certificate-data": encoded(cluster.certificate),
                                           "client-key-data": encoded(cluster.key)})

    def _write_secret(self, name, workload, text):
        value = {"metadata": {"name": f"{name}-kubeconfig"}, "type": "cluster.x-k8s.io/secret",
                 "data": {"value": base64.b64encode(text.encode()).decode()}}
        if not self.api.create(SECRETS, value):
            self.api.patch(f"{SECRETS}/{name}-kubeconfig", {"data": value["data"]})

    def _start(self):
        return self.bench.start("quiet.yaml", "--controllers=machines", "--enable-leader-election",
                                "--leader-election-namespace", "bench").wait_ready(60)

    # --- approvals -------------------------------------------------------------

    def _approvals(self):
        self.say(f"== approvals, one at a time and {AT_ONCE} at once, in turn with the plain loop")
        ours, loops = [], []
        for _ in range(ROUNDS):
            loops.append(self._with_loop())
            self._hold_again()
            ours.append(self._with_careen())
            self._hold_again()
        approvals = sum(one["approvals"] for one in ours)
        for key, what in (("one", "an approval on a Node until its Machine's hook is gone"),
                          ("many", f"the same, {AT_ONCE} at once")):
            seconds, loop = ([second for one in rounds for second in one[key]] for rounds in (ours, loops))
            late, loop_late = (statistics.quantiles(one, n=100)[98] for one in (seconds, loop))
            median, loop_median = statistics.median(seconds), statistics.median(loop)
            self.report.add(f"relay_{key}_median", f"{what}: median", median,
                            f"{1000 * median:.1f} ms, the plain loop {1000 * loop_median:.1f} ms ({len(seconds)} approvals)")
            self.report.add(f"relay_{key}_99", "the same, 99th of 100", late,
                            f"{1000 * late:.1f} ms, the plain loop {1000 * loop_late:.1f} ms")
            self.report.add(f"relay_{key}_ratio", "the same: median relative to the plain loop", median / loop_median,
                            f"{median / loop_median:.2f}")
        requests = collections.Counter()
        for one in ours:
            requests.update(one["requests"])
        shown = ", ".join(f"{count / approvals:.2f} {name}" for name, count in requests.most_common(4))
        self.report.add("relay_requests", "API requests of careen, an approval", requests.total() / approvals,
                        f"{requests.total() / approvals:.2f} ({shown})")
        cpu, loop_cpu = (sum(one["cpu"] for one in rounds) / approvals for rounds in (ours, loops))
        self.report.add("relay_cpu", "CPU of careen, an approval", cpu,
                        f"{1000 * cpu:.2f} ms, the plain loop {1000 * loop_cpu:.2f} ms")
        memory = max(one["memory"] for one in ours)
        self.report.add("relay_memory", f"memory of careen, 2 clusters of {NODES} nodes", memory, f"{memory / 1e6:.1f} MB")

    def _with_loop(self):
        loop = subprocess.Popen([self.bench.options.relay_loop, self.management.kubeconfig,
                                 *(cluster.kubeconfig for cluster in self.workloads.values())], stdout=subprocess.PIPE)
        try:
            if loop.stdout.readline() != b"ready\n":
                raise AssertionError("the plain loop does not start")
            return self._measure("plain loop", loop.pid)
        finally:
            loop.kill()
            loop.wait()
            loop.stdout.close()

    def _with_careen(self):
        careen = self._start()
        self._wait(careen, "DeletionHeld", len(self.held))
        audits = [Audit(cluster.audit_log) for cluster in (self.management, *self.workloads.values())]
        result = self._measure("careen", careen.pid)
        time.sleep(0.5)  # the last events
        result["requests"] = collections.Counter(
            f"{entry['verb']} {resource_of(entry)}" for audit in audits for entry in audit.entries()
            if resource_of(entry) != "leases")
        result["memory"] = careen.memory()[0]
        careen.stop(30)
        return result

    def _measure(self, who, pid):
        cpu = processor_seconds(pid)
        one = []
        tails = self._tails()
        for name in self.held[:NODES]:
            self._approve(name)
            one += self._released(tails, [name])
        side_by_side(self._approve, self.held[NODES:NODES + AT_ONCE], IN_FLIGHT)
        many = self._released(tails, self.held[NODES:NODES + AT_ONCE])
        for tail in tails:
            tail.close()
        result = {"one": one, "many": many, "approvals": len(one) + len(many), "cpu": processor_seconds(pid) - cpu}
        self.say(f"  {who}: one at a time {1000 * statistics.median(one):.1f} ms, at once {1000 * statistics.median(many):.1f} ms "
                 f"(medians); {result['cpu']:.3f} s CPU")
        return result

    def _tails(self):
        return [Tail(cluster) for cluster in (self.management, *self.workloads.values())]

    def _approve(self, name, value="true"):
        self.workloads[name[0]].api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {APPROVED: value}}})

    def _released(self, tails, names):
        """Seconds from each Node's approval to the write that takes its Machine's hook away, by the clock of the API servers."""
        approved, released = {}, {}

        def look():
            for tail in tails:
                for entry in tail.entries():
                    name, kind = entry["objectRef"].get("name"), resource_of(entry)
                    if entry["verb"] != "patch" or name not in names:
                        continue
                    if kind == "nodes" and entry["userAgent"].startswith("careen-test"):
                        approved[name] = self.bench.written_at(entry)
                    elif kind == "machines" and name not in released:
                        released[name] = self.bench.written_at(entry)
            return len(approved) == len(released) == len(names)

        poll(look, 60, f"the release of {len(names)} Machines", 0.002)
        return [max(0.0, released[name] - approved[name]) for name in names]

    def _hold_again(self):
        def hold(name):
            self._approve(name, None)
            self.api.patch(f"{MACHINES}/{name}", {"metadata": {"annotations": {HOOK: OWN}}})
        side_by_side(hold, self.held, IN_FLIGHT)

    # --- kubeconfigs -------------------------------------------------------------

    def _kubeconfigs(self):
        self.say(f"== kubeconfigs that are replaced, {ROTATIONS} times in each cluster")
        for name in self.workloads:
            self._write_secret(name, name, self._with_token(name, 0))
        careen = self._start()
        turns = [f"{name}-turn-{turn}" for turn in range(1, ROTATIONS + 1) for name in self.workloads]
        side_by_side(lambda name: self._make(name, name[0], name[0], {STATE: "operational"}, {HOOK: OWN}), turns)
        self._wait(careen, "Guarded", len(turns))
        taken = {"fresh": [], "pending": []}
        for turn in range(1, ROTATIONS + 1):
            fresh, pending = ("ab", "ba")[turn % 2]
            seconds = self._rotate(turn, fresh, pending)
            self.say(f"  a deletion begun then reached the Node after {1000 * seconds[0]:.0f} ms, one begun before after "
                     f"{1000 * seconds[1]:.0f} ms")
            for key, one in zip(taken, seconds):
                taken[key].append(one)
        careen.stop(30)
        for key, what in (("fresh", "from a new kubeconfig in the Secret (the old one is refused) until a deletion begun then has "
                                    "reached the Node, median"),
                          ("pending", "the same, a deletion that was tried in vain for 5 s")):
            seconds = taken[key]
            self.report.add(f"relay_rotated_{key}", what, statistics.median(seconds),
                            f"{1000 * statistics.median(seconds):.0f} ms "
                            f"(from {1000 * min(seconds):.0f} to {1000 * max(seconds):.0f} ms, {len(seconds)} times)")

    def _rotate(self, turn, fresh, pending):
        replaced = {name: self._with_token(name, turn) for name in self.workloads}
        for name in self.workloads:
            self.workloads[name].api.delete(f"{ACCOUNTS}/bench-{turn - 1}")
        # The server remembers for ten seconds that a token was good.
        poll(lambda: not any(self._known(name, turn - 1) for name in self.workloads), 30, "the old tokens to be refused", 0.2)
        self._delete(f"{pending}-turn-{turn}")
        time.sleep(5)  # in vain
        late = self._replace(pending, f"{pending}-turn-{turn}", replaced[pending], False)
        return self._replace(fresh, f"{fresh}-turn-{turn}", replaced[fresh], True), late

    def _with_token(self, name, turn):
        """The kubeconfig of a new administrator with a token, who can be dismissed."""
        api, account = self.workloads[name].api, f"bench-{turn}"
        api.create(ACCOUNTS, {"metadata": {"name": account}})
        api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": account},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "kube-system"}]})
        answer = api.call("POST", f"{ACCOUNTS}/{account}/token", {"spec": {"expirationSeconds": 3600}})
        self.tokens[name, turn] = answer["status"]["token"]
        return self._kubeconfig(name, {"token": self.tokens[name, turn]})

    def _known(self, name, turn):
        cluster = self.workloads[name]
        # With a certificate of its own it would be known by that.
        connection = http.client.HTTPSConnection(cluster.api.host, cluster.api.port, timeout=20,
                                                 context=ssl.create_default_context(cafile=cluster.ca))
        connection.request("GET", "/api", headers={"Authorization": f"Bearer {self.tokens[name, turn]}"})
        status = connection.getresponse().status
        connection.close()
        return status != 401

    def _replace(self, name, machine, text, delete):
        """Seconds from the Secret's write to that of the Machine's Node."""
        tails = self._tails()
        self._write_secret(name, name, text)
        if delete:
            self._delete(machine)
        written, told = [], []

        def look():
            for tail in tails:
                for entry in tail.entries():
                    if entry["verb"] == "patch" and entry["objectRef"].get("name") == f"{name}-kubeconfig":
                        written.append(self.bench.written_at(entry))
                    if entry["verb"] == "patch" and resource_of(entry) == "nodes" and entry["objectRef"]["name"] == machine:
                        told.append(self.bench.written_at(entry))
            return written and told

        poll(look, 400, f"a relay to {machine}", 0.002)
        for tail in tails:
            tail.close()
        return told[0] - written[0]

    # --- memory with real API servers ----------------------------------------------

    def _memory(self):
        """More clusters than there are API servers: their Nodes are the same, so nothing may be written to any of them."""
        self.say(f"== {MORE} clusters of {NODES} nodes on two API servers")
        careen = self._start()
        machines, _ = self.api.list(MACHINES)
        side_by_side(lambda one: self.api.patch(f"{MACHINES}/{one['metadata']['name']}", {"metadata": {"finalizers": None}}),
                     [one for one in machines if "deletionTimestamp" in one["metadata"]], IN_FLIGHT)
        poll(lambda: not any(TOLD in node["metadata"]["labels"] for cluster in self.workloads.values()
                             for node in cluster.api.list("/api/v1/nodes")[0]), 60, "careen to tidy the Nodes up", 0.2)
        careen.stop(30)

        def make(name):
            self._write_secret(name, name[0], self._administrator(name[0]))
            self._make(name, name, name[0], {STATE: "operational"}, {HOOK: OWN})
        names = [f"{'ab'[index % 2]}-more-{index:02d}" for index in range(MORE + FIRST)]
        side_by_side(make, names[:FIRST])
        careen = self._start()
        self._wait(careen, "Guarded", FIRST)
        before = careen.memory()[0]
        side_by_side(make, names[FIRST:])
        self._wait(careen, "Guarded", len(names))
        time.sleep(2)  # the last of them open their watches
        each = (careen.memory()[0] - before) / MORE
        files = len(os.listdir(f"/proc/{careen.pid}/fd"))
        self.report.add("relay_memory_more", f"memory of each of {MORE} more clusters of {NODES} nodes, real API servers", each,
                        f"{each / 1e6:.2f} MB ({files / len(names):.1f} open files each)", "under 1 MB", 1e6)
        self._mark_all()
        poll(lambda: self._at_rest(careen), 120, "careen to tidy all Nodes up", 1)
        each = (careen.memory()[0] - before) / MORE
        self.report.add("relay_memory_burst", f"the same, after each has written its {NODES} Nodes at once", each,
                        f"{each / 1e6:.2f} MB", "under 1 MB", 1e6)
        careen.stop(30)

    def _mark_all(self):
        """As if for Machines that there are not any more: careen takes it back in each cluster."""
        def mark(name):
            self.workloads[name[0]].api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {TOLD: "true"}}})
        side_by_side(mark, self.held, IN_FLIGHT)

    @staticmethod
    def _at_rest(careen):
        def written():
            return careen.metrics().sum("careen_api_requests_total", resource="nodes", verb="patch")
        before = written()
        time.sleep(3)
        return written() == before

    @staticmethod
    def _wait(careen, phase, count):
        poll(lambda: careen.metrics().sum("careen_machines", phase=phase) == count, 60, f"{count} Machines to be {phase}", 0.1)

    # --- many clusters, as models --------------------------------------------------

    def _models(self):
        memory = {count: self._model(count) for count in MODELS}
        few, many = MODELS
        each = (memory[many] - memory[few]) / (many - few)
        self.report.add("clusters_memory", f"memory of each connected cluster of {NODES} nodes and as many Machines", each,
                        f"{each / 1e6:.2f} MB (with {few} {memory[few] / 1e6:.0f} MB, with {many} {memory[many] / 1e6:.0f} MB)",
                        "under 1 MB", 1e6)
        self._hours(few)

    def _model(self, clusters):
        self.say(f"== {clusters} model clusters of {NODES} nodes over TLS")
        kubeconfig = os.path.join(self.bench.folder, "model.kubeconfig")
        model = subprocess.Popen([self.bench.options.many_clusters, "serve", str(clusters), str(NODES), kubeconfig],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            if model.stdout.readline() != "ready\n":
                raise AssertionError("the model does not start")
            careen = Careen(self.bench.options.careen, kubeconfig, os.path.join(self.bench.folder, "maintenance.yaml"),
                            os.path.join(self.bench.folder, "careen.log"), "--controllers=machines", "--enable-leader-election",
                            "--leader-election-namespace", NAMESPACE)
            self.bench.careen = careen
            begun = careen.started

            def ask(what="?"):
                model.stdin.write(what + "\n")
                model.stdin.flush()
                return json.loads(model.stdout.readline())
            poll(lambda: ask()["streams"] > 2 * clusters, 120, f"careen to watch {clusters} clusters", 0.1)
            took = time.monotonic() - begun
            self._wait(careen, "Guarded", clusters * NODES)
            time.sleep(3)  # what was allocated for the lists is given back
            seconds = self.bench.options.idle_seconds / 2
            asked, cpu, begun = ask()["requests"], processor_seconds(careen.pid), time.monotonic()
            time.sleep(seconds)  # the time itself is what is measured
            cpu = (processor_seconds(careen.pid) - cpu) / (time.monotonic() - begun)
            requests = sum(ask()["requests"].values()) - sum(asked.values())
            memory, peak = careen.memory()
            self.say(f"  all are watched after {took:.1f} s; {memory / 1e6:.1f} MB, {peak / 1e6:.1f} MB at the peak; idle: "
                     f"{100 * cpu:.2f} % of a core, {requests} requests in {seconds:.0f} s")
            self.report.add(f"clusters_start_{clusters}", f"{clusters} clusters of {NODES} nodes: from the start until all are "
                            "watched", took, f"{took:.1f} s")
            self.report.add(f"clusters_idle_{clusters}", "the same, idle, each node posts its status every 300 s: CPU", cpu,
                            f"{100 * cpu:.2f} % of a core")
            took = ask("approve")["approvals"]
            middle, last = statistics.median(took), statistics.quantiles(took, n=100)[98]
            self.report.add(f"clusters_approvals_{clusters}", f"the same: from {len(took)} approvals, a hundred a second, until "
                            "each hook is gone", last, f"median {middle:.1f} ms, 99th {last:.1f} ms")
            careen.stop(30)
            return memory
        finally:
            model.kill()
            model.communicate()

    def _hours(self, clusters):
        answer = json.loads(subprocess.run(
            [self.bench.options.many_clusters, "hours", str(clusters), str(NODES), str(HOURS)], stdout=subprocess.PIPE, check=True,
            text=True).stdout)
        watches = others = 0
        for name, count in answer["requests"].items():
            self.say(f"  {name}: {count} in {HOURS} virtual hours")
            if name.split()[1] == "WATCH":
                watches += count
            elif not name.endswith("leases"):
                others += count
        per = clusters * HOURS
        self.report.add("clusters_requests", "requests of an idle cluster in an hour, but for its watches", others / per,
                        f"{others / per:.2f}, and {watches / per:.1f} watches that follow each other", "none", 0)


def encoded(path):
    with open(path, "rb") as file:
        return base64.b64encode(file.read()).decode()
