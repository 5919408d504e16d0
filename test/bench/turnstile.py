"""What it costs that the API server asks careen about evictions: the latency of each, and the time of whole drains."""

import json
import os
import statistics
import subprocess

from api import side_by_side
from careen import free_port, poll
from cluster import ROOT
from drains import AT_ONCE, NODES, Drains

LIMITS = "/apis/repairman.k8s.io/v1/maintenancelimits"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/careen-limits"
RATE, SECONDS = 500, 10
LEAVING = 10
ROUNDS = 5


class Turnstile(Drains):
    """On the cluster of the drain benchmark, with budgets that never stand in the way."""

    def run(self):
        options = self.bench.options
        nodes, options.nodes = options.nodes, NODES
        self.bench.bring_up("turnstile", "--audit", "--termination-time", "0")
        options.nodes = nodes
        self._open_up()
        self._make_workloads()
        for crd in ("maintenancelimit", "maintenancerequest", "maintenanceselector"):
            self.cluster.kubectl("apply", "--server-side", "-f", os.path.join(ROOT, "deploy", "crds", f"{crd}.yaml"))
        poll(lambda: self.api.get(LIMITS) is not None, 30, "the API of limits")
        try:
            self._wait_at_rest()
            self.bench.start(
                "quiet.yaml", "--controllers=requests", "--enable-leader-election", "--leader-election-namespace", "bench",
                f"--webhook-bind-address=127.0.0.1:{free_port()}", "--webhook-self-signed", "--webhook-host=127.0.0.1",
                "--webhook-configuration=", "--webhook-secret=careen-webhook-tls").wait_ready(60)
            self._evictions()
            self._drains()
        finally:
            self.pods.stop()
        self.bench.take_down()

    # --- the webhook on and off ----------------------------------------------

    def _on(self, cap):
        self.api.call("POST", LIMITS, {
            "apiVersion": "repairman.k8s.io/v1", "kind": "MaintenanceLimit", "metadata": {"name": "bench"},
            "spec": {"type": "node", "maxUnavailable": cap, "mode": "Queue"}})
        pod = next(iter(self._pods()))

        def asked():
            before = self._answers()
            self._rate([pod], 1, 1)
            return self._answers() > before
        poll(asked, 60, "the API server to ask about evictions", 0.2)

    def _off(self):
        self.api.delete(f"{LIMITS}/bench")
        poll(lambda: self.api.get(CONFIGURATION) is None, 60, "the webhook to be gone", 0.1)

    def _answers(self):
        return self.bench.careen.metrics().sum("careen_limit_webhook_answers_total")

    # --- single evictions ------------------------------------------------------

    def _pods(self, on=None):
        return [pod for pod in self.api.list("/api/v1/namespaces/drains/pods")[0]
                if on is None or pod["spec"].get("nodeName") in on]

    def _rate(self, pods, rate=RATE, seconds=SECONDS):
        text = "".join(f"{pod['metadata']['namespace']} {pod['metadata']['name']}\n" for pod in pods)
        result = subprocess.run([self.bench.options.evict_rate, self.cluster.kubeconfig, str(rate), str(seconds)], input=text,
                                stdout=subprocess.PIPE, check=True, text=True)
        return json.loads(result.stdout)

    def _evictions(self):
        self.say(f"== {RATE} evictions a second for {SECONDS} s, rehearsed")
        plain = self._rate(self._pods())
        self._on("100%")
        asked = self._rate(self._pods())
        self._off()
        leaving = [f"node-{index}" for index in range(LEAVING)]
        self._on(LEAVING // 2)
        self._cordon(leaving, True)
        queued = self._rate(self._pods(leaving))
        self._cordon(leaving, None)
        self._off()
        for name, one in (("nobody asked", plain), ("asked, of nodes that stay", asked), ("asked, of nodes that leave", queued)):
            self.say(f"  {name}: median {1000 * one['median']:.1f} ms, 99th {1000 * one['p99']:.1f} ms; {one['asked']} in "
                     f"{one['took']:.1f} s, {one['refused']} refused")
        for key, what, one in (("stay", "nodes that stay", asked), ("leave", f"{LEAVING} nodes that leave", queued)):
            self.report.add(f"turnstile_{key}_median", f"{RATE} evictions a second of {what}: latency added, median",
                            one["median"] - plain["median"], f"{1000 * (one['median'] - plain['median']):.1f} ms on top of "
                            f"{1000 * plain['median']:.1f} ms")
            self.report.add(f"turnstile_{key}_99", "the same, 99th of 100", one["p99"] - plain["p99"],
                            f"{1000 * (one['p99'] - plain['p99']):.1f} ms on top of {1000 * plain['p99']:.1f} ms")

    def _cordon(self, nodes, value):
        side_by_side(lambda node: self.api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": value}}), nodes)

    # --- whole drains ------------------------------------------------------------

    def _drains(self):
        self.say(f"== {AT_ONCE} of {NODES} nodes drained by kubectl, in turn without and with the webhook")
        took = {"off": [], "on": []}
        for _ in range(ROUNDS):
            for name in took:
                if name == "on":
                    self._on("100%")
                nodes = self._nodes(AT_ONCE)
                took[name].append(self._measure(f"webhook {name}", self._kubectl(nodes), nodes, "kubectl")["seconds"])
                if name == "on":
                    self._off()
        # A single eviction that a budget refuses costs five seconds, so the middle of several.
        ratio = statistics.median(took["on"]) / statistics.median(took["off"])
        self.report.add("turnstile_drains", f"{AT_ONCE} kubectl drain: time with the webhook relative to without", ratio,
                        f"{ratio:.2f} ({' and '.join(f'{one:.1f}' for one in took['on'])} s to "
                        f"{' and '.join(f'{one:.1f}' for one in took['off'])} s)", "at most 1.1", 1.1)
