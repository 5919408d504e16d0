"""MaintenanceRequests under limits: how long a freed place stays free, and what it costs to give it away."""

import os
import random
import statistics

from actors import CLIENT, Finisher
from api import side_by_side
from audit import Audit, accepted, resource_of
from careen import poll
from cluster import ROOT
from out_watch import REQUESTS

LIMITS = "/apis/repairman.k8s.io/v1/maintenancelimits"
NODES, REQUESTED = 100, 200
FINISHED = 10_000
LARGE, ZONES, EACH, IN_ZONE = 5000, 40, 10, 2
ZONE = "bench.careen.dev/zone"
IN_FLIGHT = 16


class Places:
    def __init__(self, bench, say):
        self.bench, self.say, self.report = bench, say, bench.report

    def run(self):
        self._cluster("requests", NODES)
        self._limit("node", limit=5)
        names = [f"node-{index % NODES}" for index in range(REQUESTED)]
        self.say(f"== {REQUESTED} requests at once, 5 % of {NODES} nodes")
        self._measure("requests", f"{REQUESTED} requests at once, 5 % of {NODES} nodes", names, lambda node: "", 5)
        self.say(f"== the same beside {FINISHED:,} that are finished")
        side_by_side(lambda index: self._request(f"old-{index:05d}", f"node-{index % NODES}", "Completed"),
                     range(FINISHED), IN_FLIGHT)
        self._measure("requests_finished", f"the same beside {FINISHED:,} finished ones", names, lambda node: "", 5)
        self.bench.take_down()
        self._cluster("zones", LARGE)
        self._zones()
        self.bench.take_down()

    def _zones(self):
        self.say(f"== {LARGE:,} nodes with {ZONES} limits by zone")

        def zone_of(node):
            return f"z{int(node.partition('-')[2]) % ZONES:02d}"

        nodes = [f"node-{index}" for index in range(LARGE)]
        side_by_side(lambda node: self.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {ZONE: zone_of(node)}}}),
                     nodes, IN_FLIGHT)
        for index in range(ZONES):
            zone = f"z{index:02d}"
            self._limit(zone, type="node", maxUnavailable=IN_ZONE, selector={"matchLabels": {ZONE: zone}})
        # Actors that do nothing at all would keep the API server of such a machine busier than it can be.
        self._measure("requests_zones", f"{LARGE:,} nodes, {ZONES} limits by zone, {ZONES * EACH} requests at once, each for "
                      "half a second to one and a half", nodes[:ZONES * EACH], zone_of, IN_ZONE,
                      lambda: random.uniform(0.5, 1.5))

    # --- the cluster ---------------------------------------------------------

    def _cluster(self, name, nodes):
        options = self.bench.options
        kept, options.nodes = options.nodes, nodes
        self.bench.bring_up(name, "--audit")
        options.nodes = kept
        self.api = self.bench.api
        for crd in ("maintenancelimit", "maintenancerequest", "maintenanceselector"):
            self.bench.cluster.kubectl("apply", "--server-side", "-f", os.path.join(ROOT, "deploy", "crds", f"{crd}.yaml"))
            self.bench.cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/{crd}s.repairman.k8s.io")
        poll(lambda: self.api.get(REQUESTS) is not None and self.api.get(LIMITS) is not None, 30, "the API of requests")
        self.api.create("/api/v1/namespaces", {"metadata": {"name": "bench"}})

    def _limit(self, name, **spec):
        self.api.create(LIMITS, {"apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceLimit",
                                 "metadata": {"name": name}, "spec": spec})

    def _request(self, name, node, state="Pending"):
        self.api.call("POST", REQUESTS, {
            "apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceRequest",
            "metadata": {"name": name, "labels": {CLIENT: "bench"}}, "spec": {"name": node, "type": "node", "state": state}})

    # --- one measurement -------------------------------------------------------

    def _measure(self, key, what, nodes, group_of, places, work=lambda: 0):
        careen = self.bench.start("quiet.yaml", "--controllers=requests", "--enable-leader-election",
                                  "--leader-election-namespace", "bench")
        careen.wait_ready(120)
        finisher = Finisher(self.api, work).start()
        audit = Audit(self.bench.cluster.audit_log)
        cpu = careen.cpu_seconds()
        mine = {f"{key.replace('_', '-')}-{index:03d}": node for index, node in enumerate(nodes)}
        side_by_side(lambda name: self._request(name, mine[name]), mine, IN_FLIGHT)
        finisher.wait_until(lambda watch: sum(watch.states.get(name, [""])[-1] == "Completed" for name in mine) == len(mine),
                            300, "all requests to be completed")
        cpu = careen.cpu_seconds() - cpu
        memory, peak = careen.memory()
        entries = [entry for entry in audit.entries() if accepted(entry)]
        gaps = self._gaps(audit, entries, mine, group_of, places)
        if finisher.most > places * len({group_of(node) for node in nodes}) or finisher.shared:
            raise AssertionError(f"{finisher.most} nodes ran at once; two requests at once on {finisher.shared}")
        finisher.stop()
        careen.stop(30)
        median, late = statistics.median(gaps), statistics.quantiles(gaps, n=100)[98]
        writes = {}
        for entry in entries:
            writes[resource_of(entry)] = writes.get(resource_of(entry), 0) + 1
        shown = ", ".join(f"{count} {name}" for name, count in sorted(writes.items(), key=lambda one: -one[1])[:5])
        self.say(f"  {len(gaps)} places: median {1000 * median:.0f} ms, 99th {1000 * late:.0f} ms; {cpu:.2f} s CPU, "
                 f"{peak / 1e6:.1f} MB at the peak; {len(entries)} requests ({shown})")
        self.report.add(f"{key}_median", f"{what}: from a freed place to the next approval, median", median,
                        f"{1000 * median:.0f} ms ({len(gaps)} places)", "under 100 ms", 0.1)
        self.report.add(f"{key}_99", "the same, 99th of 100", late, f"{1000 * late:.0f} ms")
        self.report.add(f"{key}_cpu", "the same: CPU of careen, a request", cpu / len(mine),
                        f"{1000 * cpu / len(mine):.2f} ms ({cpu:.2f} s)")
        self.report.add(f"{key}_memory", "the same: memory of careen", memory,
                        f"{memory / 1e6:.1f} MB ({peak / 1e6:.1f} MB at the peak)")
        self.report.add(f"{key}_requests", "the same: API requests of careen, a request", len(entries) / len(mine),
                        f"{len(entries) / len(mine):.1f} ({len(entries)})")

    def _gaps(self, audit, ours, mine, group_of, places):
        """Seconds between the write that frees a place and careen's next approval in the same group, by the clock of the API
        server. The first approvals of a group took places that nobody had."""
        freed, given = {}, {}
        done = set()
        for entry in audit.entries("careen-test"):
            name = entry.get("objectRef", {}).get("name")
            # The second patch of a request completes it.
            if entry["verb"] != "patch" or name not in mine or not accepted(entry):
                continue
            if name in done:
                freed.setdefault(group_of(mine[name]), []).append(self.bench.written_at(entry))
            done.add(name)
        seen = set()
        for entry in ours:
            reference = entry.get("objectRef", {})
            name = reference.get("name")
            if reference.get("resource") != "maintenancerequests" or reference.get("subresource") or name not in mine:
                continue
            if name not in seen and entry["verb"] in ("update", "patch"):
                seen.add(name)
                given.setdefault(group_of(mine[name]), []).append(self.bench.written_at(entry))
        return [max(0.0, after - before) for group in given
                for before, after in zip(sorted(freed[group]), sorted(given[group])[places:])]
