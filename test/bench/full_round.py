"""The round with everything: several checks a transition, leases, a limit for each zone, pods that matter, messages.

careen against the plain loop in the same run, which sends what careen was seen to send: node patches, events, lease
writes (the ledger's included) and messages. And what careen asked for without need.
"""

import os
import shutil
import statistics
import time

from api import side_by_side
from audit import Audit, accepted, resource_of
from careen import poll
from node_watch import DATA, NodeWatch, annotations, labels
from slack_sink import SlackSink

OUTBOX = "careen.dev/outbox"
WANTED = "bench.careen.dev/wanted"
PODS_PER_NODE = 3
POLITE_SHARE = 10  # one node in this many has a pod that prefers operational nodes
TURNS = 250
OWN = ("cloud.sap/", "careen.dev/", "bench.careen.dev/")


def own_marks(node):
    """What careen may change of a node in this round."""
    return ({key: value for key, value in labels(node).items() if key.startswith(OWN)},
            {key: value for key, value in annotations(node).items() if key.startswith(OWN)})


class MarkWatch(NodeWatch):
    """Also counts the versions of each node that brought other marks: a write without effect brings none."""

    def reset(self):
        super().reset()
        with self._changed:
            self.marked = {}

    def _take(self, name, old, new, version):
        if old and new and own_marks(old) != own_marks(new):
            self.marked[name] = self.marked.get(name, 0) + 1
        super()._take(name, old, new, version)


def tally(entries):
    """What careen sent, by purpose, and what of it was of no use."""
    found = {"nodes": {}, "events": 0, "turns": 0, "ledger": 0, "lock": 0, "rest": {}, "useless": {}}

    def count(group, entry):
        code = entry.get("responseStatus", {}).get("code", 0)
        key = f"{entry['verb']} {resource_of(entry)} {code}"
        found[group][key] = found[group].get(key, 0) + 1

    for entry in entries:
        kind, verb = resource_of(entry), entry["verb"]
        name = entry.get("objectRef", {}).get("name", "")
        # Lists and watches are how a controller listens; they belong to the start and to a new configuration.
        if verb in ("list", "watch"):
            count("rest", entry)
        elif verb == "get" or not accepted(entry):
            count("useless", entry)
        elif kind == "nodes" and verb == "patch":
            found["nodes"][name] = found["nodes"].get(name, 0) + 1
        elif kind == "events":
            found["events"] += 1
        elif kind == "leases" and (name.startswith("bench-turn-") or verb == "create"):
            found["turns"] += 1
        elif kind == "leases" and name == "careen-ledger":
            found["ledger"] += 1
        elif kind == "leases":
            found["lock"] += 1
        else:
            count("rest", entry)
    return found


def shown(counts):
    return ", ".join(f"{number} × {what}" for what, number in sorted(counts.items())) or "none"


class FullRound:
    def __init__(self, bench, say):
        self.bench, self.say = bench, say
        self.sink = None

    def run(self):
        self.report(*self.take_turns())

    def run_large(self):
        rounds, loops = self.take_turns()
        nodes, one, loop = self.bench.options.nodes, rounds[0], loops[0]
        ratio = one["seconds"] / loop
        self.bench.report.add(
            "large_full_round", f"full round of {nodes:,} nodes: time relative to the plain loop", ratio,
            f"{ratio:.2f} ({one['seconds']:.0f} s to {loop:.0f} s; peak {one['peak'] / 1e6:.1f} MB with "
            f"{PODS_PER_NODE * nodes:,} pods, CPU {one['cpu']:.1f} s, {one['most maintained']} at once, "
            f"of no use {sum(one['found']['useless'].values())})", "at most 1.25", 1.25)

    def take_turns(self):
        """The rounds, and the loops after each."""
        bench = self.bench
        bench.bring_up("full", "--audit", "--pods-per-node", str(PODS_PER_NODE))
        bench.watch = MarkWatch(bench.api).start()
        self.furnish()
        self.sink = SlackSink()
        os.environ["BENCH_HOOK"] = self.sink.url
        try:
            self.say(f"== full rounds of {bench.options.nodes} nodes, each followed by the plain loop")
            rounds, loops = [], []
            for _ in range(bench.options.rounds):
                bench.prepare_nodes(annotations_wanted={WANTED: "true"})
                rounds.append(self.measure())
                bench.careen.stop(60)
                bench.prepare_nodes(annotations_wanted={WANTED: "true"})
                loops.append(self.measure_loop(rounds[-1]))
        finally:
            self.sink.stop()
        bench.take_down()
        return rounds, loops

    def furnish(self):
        """Leases for the loop, and pods that prefer operational nodes."""
        api = self.bench.api
        api.create("/api/v1/namespaces", {"metadata": {"name": "bench"}})
        for i in range(TURNS + 1):
            api.create("/apis/coordination.k8s.io/v1/namespaces/bench/leases", {"metadata": {"name": f"load-loop-{i}"}})
        # Made by a controller shortly after the namespace, and no pod is let in before.
        poll(lambda: api.list("/api/v1/namespaces/bench/serviceaccounts")[0], 60, "the default service account")
        preference = {"weight": 1, "preference": {"matchExpressions": [
            {"key": "cloud.sap/maintenance-state", "operator": "In", "values": ["operational"]}]}}

        def make(node):
            api.create("/api/v1/namespaces/bench/pods", {
                "metadata": {"name": f"polite-{node}"},
                "spec": {"nodeName": node, "containers": [{"name": "main", "image": "example.net/polite"}],
                         "tolerations": [{"operator": "Exists"}],
                         "affinity": {"nodeAffinity": {
                             "preferredDuringSchedulingIgnoredDuringExecution": [preference]}}}})

        side_by_side(make, sorted(self.bench.watch.nodes)[::POLITE_SHARE], 16)

    def measure(self):
        """One round by careen; leaves it running."""
        bench, nodes, sink = self.bench, self.bench.options.nodes, self.sink
        careen = bench.start("quiet.yaml", "--enable-leader-election", "--leader-election-namespace", "bench")
        careen.wait_ready(120)
        bench.watch.wait_until(lambda watch: all(DATA in annotations(node) for node in watch.nodes.values()), 300,
                               "the state of all nodes to be written once")
        poll(lambda: bench.cached(careen, "pods") >= nodes * PODS_PER_NODE, 300, "the pods to be known", 0.5)
        bench.watch.reset()
        sink.reset()
        audit = Audit(bench.cluster.audit_log)
        before, cpu = careen.metrics(), careen.cpu_seconds()
        new = os.path.join(bench.folder, "new.yaml")
        shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "full_round.yaml"), new)
        begun, clock = time.time(), time.monotonic()
        os.rename(new, os.path.join(bench.folder, "maintenance.yaml"))
        bench.watch.wait_until(lambda watch: watch.state_changes >= 3 * nodes, max(900, nodes / 3),
                               "the end of the round")
        poll(lambda: bench.events_sent(careen, before) >= 3 * nodes and sink.count >= 2 * nodes, 300,
             "the events and messages", 0.5)
        bench.watch.wait_until(lambda watch: not any(OUTBOX in annotations(node) for node in watch.nodes.values()), 60,
                               "the outboxes to be emptied")
        cpu, peak = careen.cpu_seconds() - cpu, careen.memory()[1]
        entries = audit.entries()
        return self.judge(entries, {"begun": begun, "clock": clock, "cpu": cpu, "peak": peak})

    def judge(self, entries, result):
        bench, nodes, sink = self.bench, self.bench.options.nodes, self.sink
        wrong = [name for name, states in bench.watch.history.items()
                 if states != ["maintenance-required", "in-maintenance", "operational"]]
        if wrong or len(bench.watch.history) != nodes:
            raise AssertionError(f"nodes that did not go through the round exactly once: {wrong[:5]}")
        found = tally(entries)
        sent = sum(found["nodes"].values())
        without_effect = sent - sum(bench.watch.marked.values())
        if without_effect:
            found["useless"]["node patches without effect"] = without_effect
        if sink.count != 2 * nodes:
            found["useless"]["messages sent twice"] = sink.count - 2 * nodes
        writes = [bench.written_at(entry) - result["begun"] for entry in entries if accepted(entry)
                  and entry["verb"] in ("patch", "create") and resource_of(entry) in ("nodes", "events", "leases")]
        result |= {"first": min(writes), "last transition": bench.watch.last_change - result["clock"],
                   "last message": sink.last - result["begun"],
                   "seconds": max(*self.ends(entries, result["begun"]), sink.last - result["begun"]),
                   "sent": sent, "found": found, "messages": sink.count, "most maintained": bench.watch.most,
                   "leases": found["turns"] + found["ledger"]}
        self.say(f"  careen: {result['seconds']:.2f} s, {result['cpu']:.2f} s CPU; {sent} node patches, "
                 f"{found['events']} events, {found['turns']} leases, {found['ledger']} ledger writes, "
                 f"{sink.count} messages")
        self.say(f"    first write after {result['first']:.2f} s, last transition after "
                 f"{result['last transition']:.2f} s, last message after {result['last message']:.2f} s")
        self.say(f"    of no use: {shown(found['useless'])}; of the lock: {found['lock']}; "
                 f"besides: {shown(found['rest'])}")
        return result

    def ends(self, entries, begun):
        """When the last write of each kind that makes up the round was answered."""
        return [max(self.bench.written_at(entry) - begun for entry in entries
                    if accepted(entry) and entry["verb"] in ("patch", "create") and resource_of(entry) == kind)
                for kind in ("nodes", "events")]

    def measure_loop(self, like):
        answer = self.bench.run_loop(like["sent"], like["found"]["events"], like["leases"], TURNS + 1, like["messages"],
                                     self.sink.url)
        return answer["seconds"]

    def report(self, rounds, loops):
        add, nodes = self.bench.report.add, self.bench.options.nodes
        middle = sorted(rounds, key=lambda each: each["seconds"])[len(rounds) // 2]
        found = middle["found"]
        most = max(each["most maintained"] for each in rounds)
        add("full_in_maintenance", f"full round of {nodes} nodes: most in maintenance at once", most, str(most),
            "at most 48", 48)
        each_node = middle["sent"] / nodes
        add("full_node_writes", "full round: accepted node writes", each_node,
            f"{middle['sent']} ({each_node:.2f} a node; {max(found['nodes'].values())} for the node with the most)")
        add("full_requests", "full round: other requests", middle["leases"],
            f"{found['events']} events, {found['turns']} leases, {found['ledger']} ledger writes, "
            f"{middle['messages']} messages, {found['lock']} for the lock; {shown(found['rest'])}")
        useless = [sum(each["found"]["useless"].values()) for each in rounds]
        add("full_useless", "full round: requests that changed and sent nothing", max(useless),
            f"{', '.join(map(str, useless))} ({shown(found['useless'])})", "0", 0)
        per_thousand = middle["cpu"] / (3 * nodes / 1000)
        add("full_cpu", "full round: CPU time of careen", per_thousand,
            f"{middle['cpu']:.2f} s ({per_thousand:.2f} s for 1,000 transitions)")
        add("full_peak", "full round: peak memory of careen", middle["peak"], f"{middle['peak'] / 1e6:.1f} MB")
        seconds = [each["seconds"] for each in rounds]
        loop, careen = statistics.median(loops), statistics.median(seconds)
        add("full_loop_seconds", "full round, plain loop: time", loop,
            f"{loop:.1f} s (runs: {', '.join(f'{each:.1f}' for each in loops)})")
        add("full_seconds", "full round: time", careen,
            f"{careen:.1f} s (runs: {', '.join(f'{each:.1f}' for each in seconds)})")
        add("full_ratio", "full round: time relative to the plain loop", careen / loop, f"{careen / loop:.2f}",
            "at most 1.25", 1.25)
