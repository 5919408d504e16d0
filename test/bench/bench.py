#!/usr/bin/env python3
"""Measures careen on a real control plane and prints a table.

    make bench                          all of it, twenty to forty minutes
    test/bench/bench.py --only round    one part: round (with idle), full, large (both with 5,000 nodes), drain, requests,
                                        turnstile, machines, pods, size, decide, model

The clusters and processes it starts end with it, however it ends.
"""

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
sys.path[:0] = [FOLDER, os.path.join(ROOT, "test", "e2e")]
sys.dont_write_bytecode = True

from api import side_by_side  # noqa: E402
from audit import Audit, accepted, resource_of  # noqa: E402
from careen import Careen, poll  # noqa: E402
from cluster import Cluster, Stopped, stop_on_signals  # noqa: E402
from drains import Drains  # noqa: E402
from full_round import FullRound  # noqa: E402
from node_watch import DATA, PROFILE, STATE, NodeWatch, annotations, labels  # noqa: E402
from places import Places  # noqa: E402
from relays import Relays  # noqa: E402
from report import Report, document, machine  # noqa: E402
from turnstile import Turnstile  # noqa: E402

WANTED = "bench.careen.dev/wanted"
LIMIT = 50
LARGE = 5000
IN_FLIGHT = 16


def say(text):
    print(text, flush=True)


def written_at(entry):
    """When the server had answered, as seconds since 1970."""
    return datetime.datetime.fromisoformat(entry["stageTimestamp"].replace("Z", "+00:00")).timestamp()


class Bench:
    written_at = staticmethod(written_at)

    def __init__(self, options, report):
        self.options, self.report = options, report
        self.folder = tempfile.mkdtemp(prefix="careen-bench-")
        self.cluster = self.watch = self.careen = None
        self.flags = ""

    # --- surroundings ------------------------------------------------------

    def bring_up(self, name, *flags):
        if self.options.nodes >= LARGE:
            # Otherwise the leases of all nodes are most of what the machine has to do.
            flags = (*flags, "--slow-heartbeats")
        say(f"\n== a cluster of {self.options.nodes} nodes {' '.join(flags)}")
        self.cluster = Cluster(f"bench-{os.getpid()}-{name}", "--nodes", str(self.options.nodes), "--timeout", "10m",
                               *flags)
        self.cluster.up()
        self.flags = self.flags or self.cluster.tool("flags")
        self.api = self.cluster.api

    def take_down(self):
        if self.careen and self.careen.alive():
            self.careen.kill()
        self.careen = None
        if self.watch:
            self.watch.stop()
        self.watch = None
        if self.cluster:
            self.cluster.down()
        self.cluster = None

    def clean_up(self):
        self.take_down()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, config, *flags):
        path = os.path.join(self.folder, "maintenance.yaml")
        shutil.copy(os.path.join(FOLDER, config), path)
        log = os.path.join(self.folder, "careen.log")
        self.careen = Careen(self.options.careen, self.cluster.kubeconfig, path, log, *flags)
        return self.careen

    def prepare_nodes(self, annotations_wanted=None):
        """Nodes as careen and the loop want to find them: without traces of either, marked for a round."""
        ours = ("cloud.sap/", "careen.dev/", "load.loop/", "bench.careen.dev/")

        def prepare(name):
            node = self.watch.nodes[name]
            self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {
                "labels": {**{key: None for key in labels(node) if key.startswith(ours)},
                           PROFILE: "bench", WANTED: "true"},
                "annotations": {**{key: None for key in annotations(node) if key.startswith(ours)},
                                **(annotations_wanted or {})}}})

        side_by_side(prepare, sorted(self.watch.nodes), IN_FLIGHT)
        self.watch.wait_until(lambda watch: all(WANTED in labels(node) and STATE not in labels(node)
                                                for node in watch.nodes.values()), 180, "the labels on all nodes")

    # --- the round ---------------------------------------------------------

    def run_loop(self, patches, events, *more):
        path = os.path.join(self.folder, "nodes")
        with open(path, "w") as file:
            for name, node in sorted(self.watch.nodes.items()):
                file.write(f"{name} {node['metadata']['uid']}\n")
        arguments = [str(each) for each in (IN_FLIGHT, patches, events, *more)]
        result = subprocess.run([self.options.load_loop, self.cluster.kubeconfig, path, *arguments],
                                stdout=subprocess.PIPE, check=True, text=True)
        answer = json.loads(result.stdout)
        say(f"  plain loop: {answer['seconds']:.2f} s")
        return answer

    def measure_loop(self):
        return self.run_loop(3 * self.options.nodes, 3 * self.options.nodes)["seconds"]

    def measure_round(self):
        """One round by careen; leaves it running."""
        nodes = self.options.nodes
        careen = self.start("quiet.yaml", "--enable-leader-election", "--leader-election-namespace", "bench")
        careen.wait_ready(60)
        self.watch.wait_until(lambda watch: all(DATA in annotations(node) for node in watch.nodes.values()), 300,
                              "the state of all nodes to be written once")
        self.watch.reset()
        audit = Audit(self.cluster.audit_log)
        before = careen.metrics()
        quiet_memory, quiet_peak = careen.memory()
        cpu = careen.cpu_seconds()
        new = os.path.join(self.folder, "new.yaml")
        shutil.copy(os.path.join(FOLDER, "round.yaml"), new)
        begun, begun_wall = time.monotonic(), time.time()
        os.rename(new, os.path.join(self.folder, "maintenance.yaml"))
        self.watch.wait_until(lambda watch: watch.state_changes >= 3 * nodes, max(600, nodes / 4), "the end of the round")
        last_change = self.watch.last_change - begun
        poll(lambda: self.events_sent(careen, before) >= 3 * nodes or not careen.alive(), 60, "the events", 0.5)
        cpu = careen.cpu_seconds() - cpu
        memory, peak = careen.memory()
        after = careen.metrics()

        entries = [entry for entry in audit.entries() if accepted(entry)]
        writes = {}
        events = 0
        ledger = others = 0
        end = begun_wall
        for entry in entries:
            kind, verb = resource_of(entry), entry["verb"]
            if kind == "nodes" and verb in ("patch", "update"):
                name = entry["objectRef"]["name"]
                writes[name] = writes.get(name, 0) + 1
                end = max(end, written_at(entry))
            elif kind == "events":
                events += 1
                end = max(end, written_at(entry))
            elif kind == "leases" and verb != "get" and entry["objectRef"].get("name") == "careen-ledger":
                ledger += 1
            else:
                others += 1
        wrong = [name for name, states in self.watch.history.items()
                 if states != ["maintenance-required", "in-maintenance", "operational"]]
        if wrong or len(self.watch.history) != nodes:
            raise AssertionError(f"nodes that did not go through the round exactly once: {wrong[:5]}")
        result = {
            "seconds": end - begun_wall, "last change": last_change, "cpu": cpu, "peak": peak, "memory": memory,
            "quiet memory": quiet_memory, "quiet peak": quiet_peak,
            "writes": sum(writes.values()), "most writes": max(writes.values()), "events": events, "ledger": ledger,
            "others": others, "most maintained": self.watch.most,
            "conflicts": after.sum("careen_node_writes_total", outcome="conflict")
            - before.sum("careen_node_writes_total", outcome="conflict"),
            "dropped": after.sum("careen_events_dropped_total"),
        }
        say(f"  careen: {result['seconds']:.2f} s (last transition after {last_change:.2f} s)")
        return result

    @staticmethod
    def events_sent(careen, before):
        def sent(metrics):
            return metrics.sum("careen_api_requests_total", resource="events", code="201") + metrics.sum(
                "careen_events_dropped_total")
        return sent(careen.metrics()) - sent(before)

    def round_and_idle(self):
        self.bring_up("round", "--audit")
        self.watch = NodeWatch(self.api).start()
        self.api.create("/api/v1/namespaces", {"metadata": {"name": "bench"}})
        say(f"== rounds of {self.options.nodes} nodes, in turn with the plain loop")
        loops, rounds = [], []
        for number in range(self.options.rounds):
            self.prepare_nodes()
            loops.append(self.measure_loop())
            self.prepare_nodes()
            rounds.append(self.measure_round())
            if number < self.options.rounds - 1:
                self.careen.stop(30)
        self.report_round(loops, rounds)
        self.idle()
        self.careen.stop(30)
        self.prepare_nodes()
        loops.append(self.measure_loop())
        self.report_ratio(loops, rounds)
        self.take_down()

    def large(self):
        """Both rounds at a size where whatever is slow for each node times each node shows."""
        options = self.options
        kept = options.nodes, options.rounds
        options.nodes, options.rounds = LARGE, 1
        try:
            self.bring_up("large", "--audit")
            self.watch = NodeWatch(self.api).start()
            self.api.create("/api/v1/namespaces", {"metadata": {"name": "bench"}})
            say(f"== a round of {LARGE} nodes, between two of the plain loop")
            self.prepare_nodes()
            loops = [self.measure_loop()]
            self.prepare_nodes()
            one = self.measure_round()
            self.careen.stop(60)
            self.prepare_nodes()
            loops.append(self.measure_loop())
            self.take_down()
            ratio = one["seconds"] / statistics.mean(loops)
            self.report.add("large_round", f"round of {LARGE:,} nodes: time relative to the plain loop", ratio,
                            f"{ratio:.2f} ({one['seconds']:.0f} s to {' and '.join(f'{each:.0f}' for each in loops)} s; "
                            f"peak {one['peak'] / 1e6:.1f} MB, CPU {one['cpu']:.1f} s, {one['most maintained']} at once)",
                            "at most 1.25", 1.25)
            FullRound(self, say).run_large()
        finally:
            options.nodes, options.rounds = kept

    def report_round(self, loops, rounds):
        add, nodes = self.report.add, self.options.nodes
        best = sorted(rounds, key=lambda each: each["seconds"])[len(rounds) // 2]
        worst = max(each["most maintained"] for each in rounds)
        add("in_maintenance", f"round of {nodes} nodes: most in maintenance at once", worst, str(worst), f"at most {LIMIT}",
            LIMIT)
        most = max(each["most writes"] for each in rounds)
        add("node_writes", "round: accepted node writes", most,
            f"{best['writes']} ({most} for the node with the most; {best['conflicts']:.0f} conflicts)", "3 a node", 3)
        events = best["events"] / nodes
        add("events", "round: events", events, f"{best['events']} ({events:.2f} a node, {best['dropped']:.0f} dropped)",
            "3 a node", 3 if events == 3 else 0)
        share = 100 * best["ledger"] / best["writes"]
        add("ledger", "round: ledger writes", share, f"{best['ledger']} ({share:.1f} % of the node writes)", "at most 10 %",
            10)
        add("others", "round: other requests", best["others"], str(best["others"]))
        add("cpu", "round: CPU time of careen", best["cpu"], f"{best['cpu']:.2f} s")
        add("peak", "round: peak memory of careen", best["peak"], f"{best['peak'] / 1e6:.1f} MB", "under 25 MB", 25e6)

    def report_ratio(self, loops, rounds):
        add = self.report.add
        seconds = [each["seconds"] for each in rounds]
        loop, careen = statistics.median(loops), statistics.median(seconds)
        add("loop_seconds", "plain loop: time", loop,
            f"{loop:.1f} s (runs: {', '.join(f'{each:.1f}' for each in loops)})")
        add("round_seconds", "round: time", careen, f"{careen:.1f} s (runs: {', '.join(f'{each:.1f}' for each in seconds)})")
        add("ratio", "round: time relative to the plain loop", careen / loop, f"{careen / loop:.2f}", "at most 1.25", 1.25)

    def idle(self):
        say(f"== idle for {self.options.idle_seconds} s")
        audit = Audit(self.cluster.audit_log)
        before, begun = self.careen.cpu_seconds(), time.monotonic()
        time.sleep(self.options.idle_seconds)  # the time itself is what is measured
        cpu, took = self.careen.cpu_seconds() - before, time.monotonic() - begun
        requests = [resource_of(entry) for entry in audit.entries()]
        share = 100 * cpu / took
        self.report.add("idle", f"idle, {self.options.nodes} nodes, requeue 5 s: CPU", share,
                        f"{share:.2f} % of a core ({len(requests)} requests in {took:.0f} s, "
                        f"{sum(kind != 'leases' for kind in requests)} not for the lock)", "under 0.5 %", 0.5)
        memory, _ = self.careen.memory()
        self.report.add("memory_nodes", f"memory, {self.options.nodes} nodes", memory, f"{memory / 1e6:.1f} MB",
                        "under 25 MB", 25e6)

    # --- memory with pods, and the start -----------------------------------

    def pods(self):
        per_node = self.options.pods_per_node
        pods = self.options.nodes * per_node
        self.bring_up("pods", "--pods-per-node", str(per_node))
        say(f"== a cache of {pods} pods")
        starts, memories, peaks = [], [], []
        for _ in range(3):
            careen = self.start("round.yaml")  # pods are cached without being asked for
            begun = careen.started
            careen.wait_log(lambda line: line["msg"] == "nodes are known", 120, "all nodes to be known")
            careen.wait_ready()
            poll(lambda: self.cached(careen, "pods") >= pods
                 and self.cached(careen, "nodes") == self.options.nodes, 120, f"careen to know {pods} pods", 0.1)
            starts.append(time.monotonic() - begun)
            # Its state labels are written once, which is the other work of a start.
            poll(lambda: careen.metrics().sum("careen_node_writes_total") >= self.options.nodes
                 or len(starts) > 1, 120, "the nodes to be written once", 1)
            memory, peak = careen.memory()
            memories.append(memory)
            peaks.append(peak)
            careen.stop(30)
        memory, peak, start = max(memories), max(peaks), statistics.median(starts)
        self.report.add("memory_pods", f"memory, {self.options.nodes} nodes and {pods} pods", memory,
                        f"{memory / 1e6:.1f} MB (peak {peak / 1e6:.1f} MB)", "under 35 MB", 35e6)
        self.report.add("memory_pods_peak", "the same, peak", peak, f"{peak / 1e6:.1f} MB", "under 35 MB", 35e6)
        self.report.add("start", "start until both are known", start, f"{start:.2f} s (from {min(starts):.2f} to "
                        f"{max(starts):.2f} s)")
        self.take_down()

    @staticmethod
    def cached(careen, resource):
        return careen.metrics().sum("careen_cache_objects", resource=resource)

    # --- what needs no cluster ---------------------------------------------

    def size(self):
        say("\n== sizes")
        stripped = os.path.join(self.folder, "careen")
        subprocess.run(["strip", "-o", stripped, self.options.careen], check=True)
        size = os.path.getsize(stripped)
        self.report.add("binary", "binary, stripped", size, f"{size / 1e6:.1f} MB", "under 12 MB", 12e6)
        if os.access(self.options.pod_memory, os.X_OK):
            result = subprocess.run([self.options.pod_memory], stdout=subprocess.PIPE, check=True, text=True)
            answer = json.loads(result.stdout.splitlines()[-1])
            each = answer["bytes_per_pod"]
            self.report.add("bytes_per_pod", f"synthetic list of {answer['pods']} pods: memory a pod", each,
                            f"{each:.0f} B", "at most 250 B", 250)
            self.report.add("bytes_per_node", f"the same, {answer['nodes']} nodes: memory a node", answer["bytes_per_node"],
                            f"{answer['bytes_per_node']:.0f} B", "at most 4 KB", 4096)
            grown = 100 * (answer["rss_after_churn"] - 1)
            self.report.add("churn", f"after {answer['churned']} pods came and went: memory grown by", grown,
                            f"{grown:.1f} %", "at most 10 %", 10)
        else:
            say(f"  there is no {self.options.pod_memory}: bytes a pod are not measured")

    def decide(self):
        say("\n== decisions alone")
        result = subprocess.run([self.options.decide_rate], stdout=subprocess.PIPE, check=True, text=True)
        answer = json.loads(result.stdout)
        what = f"{answer['nodes']:,} nodes that wait behind {answer['checks']} checks"
        rate = answer["verdicts_per_second"]
        self.report.add("decide", f"{what}: decisions a CPU second", rate,
                        f"{rate:,} ({answer['verdicts_in_fastest_pass']:,} in the fastest pass)", "at least 200,000",
                        least=200_000)
        self.report.add("decide_reasons", "the same with all reasons in words", answer["reasons_per_second"],
                        f"{answer['reasons_per_second']:,}")

    def full_round(self):
        FullRound(self, say).run()

    def drain(self):
        Drains(self, say).run()

    def requests(self):
        Places(self, say).run()

    def turnstile(self):
        Turnstile(self, say).run()

    def machines(self):
        Relays(self, say).run()

    def model(self):
        say("\n== campaigns on the model cluster, in virtual time")
        for nodes in (1_000, 100_000):
            result = subprocess.run([self.options.model_campaign, str(nodes)], stdout=subprocess.PIPE, check=True, text=True)
            answer = json.loads(result.stdout)
            if answer["through"] != nodes or answer["most_at_once"] > nodes // 100 or answer["late"]:
                raise AssertionError(f"the campaign went wrong: {answer}")
            what = f"model, {nodes:,} nodes through a round, 1 % at once"
            self.report.add(f"model_rate_{nodes}", f"{what}: node-hours a second", answer["node_hours_per_second"],
                            f"{answer['node_hours_per_second']:,} ({answer['virtual_hours']:.1f} h in {answer['seconds']:.1f} s)")
        self.report.add("model_seconds", f"{what}: time", answer["seconds"], f"{answer['seconds']:.1f} s", "at most 45 s", 45)
        self.report.add("model_memory", f"{what}: memory, model and careen", answer["peak_megabytes"],
                        f"{answer['peak_megabytes']:.0f} MB", "under 1 GB", 1000)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="a part; may be repeated",
                        choices=["round", "full", "large", "drain", "requests", "turnstile", "machines", "pods", "size", "decide",
                                 "model"])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods-per-node", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=2, help="how often to measure the round (default: 2)")
    parser.add_argument("--idle-seconds", type=int, default=60)
    parser.add_argument("--careen", default=os.path.join(ROOT, "build", "careen"))
    programs = os.path.join(ROOT, "build", "release", "test", "bench")
    parser.add_argument("--load-loop", default=os.path.join(programs, "load_loop"))
    parser.add_argument("--drain-loop", default=os.path.join(programs, "drain_loop"))
    parser.add_argument("--evict-rate", default=os.path.join(programs, "evict_rate"))
    parser.add_argument("--relay-loop", default=os.path.join(programs, "relay_loop"))
    parser.add_argument("--many-clusters", default=os.path.join(programs, "many_clusters"))
    parser.add_argument("--pod-memory", default=os.path.join(programs, "pod_memory"))
    parser.add_argument("--decide-rate", default=os.path.join(programs, "decide_rate"))
    parser.add_argument("--model-campaign", default=os.path.join(programs, "model_campaign"))
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    parser.add_argument("--update-docs", action="store_true", help="rewrite docs/performance.md")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a goal is missed")
    options = parser.parse_args()
    for name in ("careen", "load_loop", "drain_loop", "evict_rate", "relay_loop", "many_clusters", "pod_memory", "decide_rate",
                 "model_campaign"):
        setattr(options, name, os.path.abspath(getattr(options, name)))
    needed = {"size": ["careen"], "decide": ["decide_rate"], "model": ["model_campaign"], "pods": ["careen"],
              "round": ["careen", "load_loop"], "full": ["careen", "load_loop"], "large": ["careen", "load_loop"],
              "drain": ["careen", "drain_loop"], "requests": ["careen"], "turnstile": ["careen", "evict_rate"],
              "machines": ["careen", "relay_loop", "many_clusters"]}
    for program in sorted({getattr(options, name) for part in options.only or needed for name in needed[part]}
                          | {options.careen}):
        if not os.access(program, os.X_OK):
            parser.error(f"there is no program {program}; run `make bench`, which builds it")
    return options


def main():
    options = parse()
    facts = machine()
    version = subprocess.run([options.careen, "version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    report = Report()
    bench = Bench(options, report)
    stop_on_signals()
    try:
        say("machine: " + ", ".join(f"{key} {value}" for key, value in facts.items()))
        parts = {"size": bench.size, "decide": bench.decide, "model": bench.model, "round": bench.round_and_idle,
                 "full": bench.full_round, "large": bench.large, "drain": bench.drain, "requests": bench.requests,
                 "turnstile": bench.turnstile, "machines": bench.machines, "pods": bench.pods}
        for part, run in parts.items():
            if part in (options.only or parts):
                run()
    except Stopped:
        return 1
    except BaseException:
        log = os.path.join(bench.folder, "careen.log")
        if os.path.exists(log):
            with open(log, errors="replace") as file:
                print("the end of careen's log:\n" + "".join(file.readlines()[-15:]), file=sys.stderr)
        raise
    finally:
        bench.clean_up()
    say("\n" + "\n".join(f"{key}: {value}" for key, value in facts.items()))
    say("\n" + bench.flags)
    say(report.table())
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                       "machine": facts, "careen": version.splitlines()[0], "flags": bench.flags.splitlines(),
                       "figures": report.values}, file, indent=1)
            file.write("\n")
    if options.update_docs:
        with open(os.path.join(ROOT, "docs", "performance.md"), "w") as file:
            file.write(document(report, facts, bench.flags, version.splitlines()[0]))
        say("docs/performance.md is written")
    if report.missed():
        say(f"\ngoals missed: {', '.join(report.missed())}")
    return 1 if options.strict and report.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
