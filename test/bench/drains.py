"""Drains on a real control plane, in one run: ten nodes by careen, by ten kubectl drain side by side, and by a plain loop; then
all nodes at once by careen and by the loop."""

import collections
import json
import os
import subprocess
import sys
import threading
import time

from api import close_watch, side_by_side
from audit import Audit, accepted, resource_of
from careen import poll

DEPLOYMENTS = 30
REPLICAS = 100
NODES = 100
AT_ONCE = 10
# As many evictions as the engine has in flight.
IN_FLIGHT = 32
ALL_ROUNDS = 2
NAMESPACE = "drains"
PATIENCE = 600


class Pods:
    """Follows the pods of the namespace: how many are on each node, and how many are ready. Counts are kept, because
    the server throws out a slow watcher; it then lists again."""

    _PATH = f"/api/v1/namespaces/{NAMESPACE}/pods"

    def __init__(self, api):
        self._api = api
        self._changed = threading.Condition()
        self._stopped = False
        self._connection = None
        self._forget()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _forget(self):
        self.known = {}
        self.by_node = collections.Counter()
        self.ready = 0

    def _drop(self, uid):
        node, ready = self.known.pop(uid, (None, False))
        self.by_node[node] -= 1
        self.ready -= ready

    def _take(self, pod):
        uid = pod["metadata"]["uid"]
        if uid in self.known:
            self._drop(uid)
        ready = "deletionTimestamp" not in pod["metadata"] and any(
            one["type"] == "Ready" and one["status"] == "True" for one in pod.get("status", {}).get("conditions", []))
        self.known[uid] = (pod["spec"].get("nodeName"), ready)
        self.by_node[pod["spec"].get("nodeName")] += 1
        self.ready += ready

    def _run(self):
        while not self._stopped:
            try:
                items, version = self._api.list(self._PATH)
                with self._changed:
                    self._forget()
                    for pod in items:
                        self._take(pod)
                    self._changed.notify_all()
                self._connection, response = self._api.open_watch(self._PATH, 3600, resourceVersion=version)
                self._follow(response)
            except (OSError, ValueError, AttributeError):
                if self._stopped:
                    return
                time.sleep(0.2)

    def _follow(self, response):
        for line in response:
            event = json.loads(line)
            with self._changed:
                if event["type"] == "DELETED":
                    self._drop(event["object"]["metadata"]["uid"])
                elif event["type"] in ("ADDED", "MODIFIED"):
                    self._take(event["object"])
                elif event["type"] == "ERROR":
                    return
                self._changed.notify_all()

    def on(self, nodes):
        return sum(self.by_node[node] for node in nodes)

    def wait(self, condition, what):
        """Seconds on the clock when it came true."""
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self), PATIENCE):
                raise AssertionError(f"after {PATIENCE} s still waiting for {what}: there are {len(self.known)} pods, "
                                     f"{self.ready} are ready")
            return time.monotonic()

    def stop(self):
        self._stopped = True
        if self._connection:
            close_watch(self._connection)


class Measured:
    """A command that runs, and what it has used in the end. `usage.py` starts it and reads that: the kernel counts the
    memory of whoever starts a program as the program's own peak, and this process is large."""

    _USAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "usage.py")

    def __init__(self, command, log):
        self._command = command
        self._process = subprocess.Popen([sys.executable, self._USAGE, *command], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=log)

    def wait(self):
        """CPU seconds, and the peak of its memory in bytes."""
        usage = json.loads(self._process.communicate()[0])
        if usage["code"]:
            raise AssertionError(f"{' '.join(self._command[:3])} … ended with {usage['code']}")
        return usage


class Drains:
    def __init__(self, bench, say):
        self.bench, self.say = bench, say
        self.report = bench.report
        self._next_node = 0

    def run(self):
        options = self.bench.options
        nodes, options.nodes = options.nodes, NODES
        self.bench.bring_up("drains", "--audit", "--termination-time", "0")
        options.nodes = nodes
        self._open_up()
        self._make_workloads()
        try:
            self._wait_at_rest()
            self.say(f"== {AT_ONCE} of {NODES} nodes, budgets of 10 %, pods vanish at once")
            self._compare("at_once", "10 nodes of 30 pods, budgets of 10 %")
            self._set_budgets("2%")
            self.say("== the same with budgets of 2 %")
            self._compare("tight", "the same, budgets of 2 %")
            self._set_budgets("10%")
            self._set_termination("10")
            self.say("== the same with 10 s to end, budgets of 10 %")
            self._compare("slow", "the same, budgets of 10 %, 10 s to end")
            self._set_termination("0")
            self._all_at_once()
        finally:
            self.pods.stop()
        self.bench.take_down()

    # --- the cluster ---------------------------------------------------------

    def _open_up(self):
        self.api, self.cluster = self.bench.api, self.bench.cluster
        self.audit = Audit(self.cluster.audit_log)
        self.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.api.create("/api/v1/namespaces", {"metadata": {"name": "bench"}})
        self.pods = Pods(self.api)

    def _make_workloads(self):
        self.say(f"== {DEPLOYMENTS} Deployments of {REPLICAS} replicas")

        def make(number):
            name = f"app-{number:02}"
            self.api.create(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments", {
                "metadata": {"name": name}, "spec": {
                    "replicas": REPLICAS, "selector": {"matchLabels": {"app": name}},
                    # All pods of a Deployment at once would be a rolling update of a thousand seconds.
                    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "100%", "maxUnavailable": "100%"}},
                    "template": {"metadata": {"labels": {"app": name}}, "spec": {
                        "terminationGracePeriodSeconds": 30,
                        "containers": [{"name": "c", "image": "example.com/app:1"}]}}}})
            self.api.create(f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets", {
                "metadata": {"name": name},
                "spec": {"maxUnavailable": "10%", "selector": {"matchLabels": {"app": name}}}})

        side_by_side(make, range(DEPLOYMENTS))

    def _set_budgets(self, share):
        path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
        side_by_side(lambda n: self.api.patch(f"{path}/app-{n:02}", {"spec": {"maxUnavailable": share}}), range(DEPLOYMENTS))
        self._wait_at_rest()

    def _set_termination(self, seconds):
        """On the pods as they are, and on those to come."""
        items, _ = self.api.list(f"/api/v1/namespaces/{NAMESPACE}/pods")
        change = {"metadata": {"annotations": {"testcluster/termination-time": seconds}}}
        side_by_side(lambda pod: self.api.patch(
            f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}", change), items)
        self._wait_at_rest()

    def _wait_at_rest(self):
        """All pods are ready and all budgets know it."""
        wanted = DEPLOYMENTS * REPLICAS
        self.pods.wait(lambda pods: len(pods.known) == pods.ready == wanted, f"{wanted} pods to be ready")

        def settled():
            items, _ = self.api.list(f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets")
            return all(one["status"].get("currentHealthy") == REPLICAS
                       and one["status"].get("observedGeneration") == one["metadata"].get("generation")
                       and not one["status"].get("disruptedPods") for one in items)
        poll(settled, PATIENCE, "the budgets to count all pods", 0.5)

    def _nodes(self, count):
        """The next ones, so that each program gets nodes as full as the others'."""
        names = [f"node-{(self._next_node + i) % NODES}" for i in range(count)]
        self._next_node += count
        return names

    # --- one measurement -----------------------------------------------------

    def _measure(self, what, commands, nodes, user_agent):
        """Starts the commands together; seconds until the nodes are empty, and what it took."""
        evicted = self.pods.on(set(nodes))
        self.audit.mark()
        begun = time.monotonic()
        log = open(os.path.join(self.bench.folder, "drain.log"), "ab")
        running = [Measured(command, log) for command in commands]
        empty = self.pods.wait(lambda pods: pods.on(set(nodes)) == 0, f"{what} to empty {len(nodes)} nodes") - begun
        usages = [process.wait() for process in running]
        cpu = sum(usage["cpu"] for usage in usages)
        memory = max(usage["peak"] for usage in usages)
        ended = time.monotonic() - begun
        log.close()
        requests = collections.Counter()
        refused = 0
        for entry in self.audit.entries(user_agent):
            requests[f"{entry['verb']} {resource_of(entry)}"] += 1
            refused += resource_of(entry) == "pods/eviction" and not accepted(entry)
        side_by_side(lambda name: self.api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None}}), nodes)
        self._wait_at_rest()
        result = {"seconds": empty, "ended": ended, "pods": evicted, "requests": sum(requests.values()),
                  "evictions": requests["create pods/eviction"], "refused": refused, "cpu": cpu, "memory": memory,
                  "by_verb": dict(requests.most_common())}
        shown = ", ".join(f"{count} {verb}" for verb, count in requests.most_common(6))
        self.say(f"  {what}: {evicted} pods gone after {empty:.1f} s (ended after {ended:.1f} s), "
                 f"{result['requests']} requests ({shown}), {refused} evictions refused, {cpu:.2f} s CPU, "
                 f"{memory / 1e6:.1f} MB at the peak")
        return result

    def _careen(self, nodes):
        return [[self.bench.options.careen, "drain", *nodes, "--kubeconfig", self.cluster.kubeconfig,
                 "--ignore-daemonsets", "--delete-emptydir-data", "--force"]]

    def _kubectl(self, nodes):
        return [[self.cluster.kubectl_path, "--kubeconfig", self.cluster.kubeconfig, "drain", node,
                 "--ignore-daemonsets", "--delete-emptydir-data", "--force"] for node in nodes]

    def _loop(self, nodes, in_flight=0):
        return [[self.bench.options.drain_loop, self.cluster.kubeconfig, str(in_flight), *nodes]]

    def _compare(self, key, what):
        measured = {}
        for name, commands, agent in (("loop", self._loop, "careen"), ("careen", self._careen, "careen"),
                                      ("kubectl", self._kubectl, "kubectl")):
            nodes = self._nodes(AT_ONCE)
            measured[name] = self._measure(name, commands(nodes), nodes, agent)
        ours, theirs, loop = measured["careen"], measured["kubectl"], measured["loop"]
        self.report.add(f"drain_{key}_seconds", f"{what}: time to empty, against {AT_ONCE} kubectl drain",
                        ours["seconds"] / theirs["seconds"],
                        f"{ours['seconds']:.1f} s, kubectl {theirs['seconds']:.1f} s", "at most kubectl's", 1.0)
        if key != "slow":
            self.report.add(f"drain_{key}_loop", "the same, against the plain loop", ours["seconds"] / loop["seconds"],
                            f"{ours['seconds'] / loop['seconds']:.2f} times its {loop['seconds']:.1f} s",
                            "at most 1.25 times", 1.25)
        share = ours["requests"] / theirs["requests"]
        self.report.add(f"drain_{key}_requests", "the same: requests", share,
                        f"{ours['requests']} ({ours['evictions']} evictions of {ours['pods']} pods, {ours['refused']} refused), "
                        f"kubectl {theirs['requests']} ({theirs['evictions']} evictions of {theirs['pods']} pods, "
                        f"{theirs['refused']} refused)", "at most a third", 1 / 3)
        self.report.add(f"drain_{key}_cpu", "the same: CPU", ours["cpu"],
                        f"{ours['cpu']:.2f} s, kubectl {theirs['cpu']:.2f} s")
        self.report.values[f"drain_{key}_seconds"]["details"] = measured

    def _all_at_once(self):
        """Every node: the new pods have nowhere to go, and wait until the nodes are uncordoned."""
        self.say(f"== all {NODES} nodes at once, no budget in the way")
        path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
        side_by_side(lambda n: self.api.delete(f"{path}/app-{n:02}"), range(DEPLOYMENTS))
        nodes = self._nodes(NODES)
        loops, careens = [], []
        for _ in range(ALL_ROUNDS):
            loops.append(self._measure("loop", self._loop(nodes, IN_FLIGHT), nodes, "careen"))
            careens.append(self._measure("careen", self._careen(nodes), nodes, "careen"))
        ours, theirs = (sum(one["seconds"] for one in rounds) for rounds in (careens, loops))
        evictions = sum(one["evictions"] for one in careens)
        what = f"{NODES} nodes of {DEPLOYMENTS * REPLICAS // NODES} pods at once"
        self.report.add("drain_all_seconds", f"{what}: time to empty, against the plain loop, {IN_FLIGHT} in flight",
                        ours / theirs, f"{ours / theirs:.2f} ({_each(careens, 'seconds')} s, "
                        f"the loop {_each(loops, 'seconds')} s)", "at most 1.25 times", 1.25)
        each = sum(one["cpu"] for one in careens) / evictions
        self.report.add("drain_all_cpu", "the same: CPU an eviction", each,
                        f"{1000 * each:.2f} ms, the loop "
                        f"{1000 * sum(one['cpu'] for one in loops) / sum(one['evictions'] for one in loops):.2f} ms",
                        "at most 1 ms", 0.001)
        peak = max(one["memory"] for one in careens)
        self.report.add("drain_all_memory", "the same: peak memory", peak,
                        f"{peak / 1e6:.1f} MB, the loop {max(one['memory'] for one in loops) / 1e6:.1f} MB",
                        "at most 60 MB", 60e6)
        self.report.add("drain_all_requests", "the same: requests beyond the evictions",
                        sum(one["requests"] for one in careens) - evictions,
                        " and ".join(str(one["requests"] - one["evictions"]) for one in careens))
        self.report.values["drain_all_seconds"]["details"] = {"loop": loops, "careen": careens}


def _each(rounds, key):
    return " and ".join(f"{one[key]:.1f}" for one in rounds)
