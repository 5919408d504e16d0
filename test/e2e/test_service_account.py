"""careen with the rights that deploy/rbac.yaml gives, and with those of the program it replaces."""

import json
import os

from audit import accepted, resource_of
from careen import poll
from cluster import ROOT
from harness import LIMIT, NODES, READ_PAUSES, CareenTest, profile_config

LEASES = "kube-system"
HOME = "careen-system"  # of deploy/rbac.yaml
RULES = {
    "nodes": {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
    "pods": {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "delete"]},
    "events": {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    "leases": {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
               "verbs": ["get", "list", "watch", "create", "update", "patch"]},
    "hypervisors": {"apiGroups": ["kvm.cloud.sap"], "resources": ["hypervisors"],
                    "verbs": ["get", "list", "watch", "patch"]},
    "apps": {"apiGroups": ["apps"], "resources": ["deployments", "daemonsets", "replicasets", "statefulsets"],
             "verbs": ["get", "list", "watch"]},
    "eviction": {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
}
MANIFEST = [RULES[name] for name in ("nodes", "pods", "events", "leases", "hypervisors")]
CHART = MANIFEST + [RULES["apps"], RULES["eviction"]]


def config(leases=LEASES):
    """The round of all tests, spaced out by leases of that namespace."""
    return profile_config().replace("  trigger:", f"""\
  - name: spaced
    type: stagger
    config: {{duration: 1s, leaseName: e2e-rights, leaseNamespace: {leases}, parallel: {NODES}}}
  trigger:""", 1).replace("check: room", "check: room && spaced")


class ServiceAccountTest(CareenTest):

    def setUp(self):
        super().setUp()
        for namespace in (LEASES, HOME):
            for index in range(NODES):
                path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/e2e-rights-{index}"
                self.addCleanup(self.api.delete, path)

    def _run_round(self, names, leases=LEASES, **changes):
        """Under election, until the events are there; the replica goes on."""
        careen = self.start_elected(self.write("maintenance.yaml", config(leases)), **changes).wait_ready()
        self.wait_leading(careen)
        self.want_maintenance(names)
        self.watch.wait_until(self.done(names), 120, "the end of the round")
        self.check_round(names)
        poll(lambda: len(self.events()) >= 3 * len(names), 20, "the events")
        return careen

    def _refused(self):
        return {(resource_of(entry), entry["verb"]) for entry in self.audit.entries()
                if not accepted(entry) and entry["responseStatus"]["code"] in (401, 403)}

    def test_documented_rights_suffice(self):
        """A round under election with a token of the service account: nothing is refused, and little is granted in
        vain."""
        with open(os.path.join(ROOT, "deploy", "rbac.yaml")) as file:
            manifest = file.read()
        self.assertIn("[maintenance-stagger-0]", manifest)
        named = ", ".join(f"e2e-rights-{index}" for index in range(NODES))
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}))
        self.cluster.kubectl("apply", "-f", "-", stdin=manifest.replace("[maintenance-stagger-0]", f"[{named}]"))
        token = self.token(HOME, "careen")
        kubeconfig = self.kubeconfig(user={"tokenFile": self.write("token", token)}, namespace=HOME)
        careen = self._run_round(self.node_names, HOME, namespace=HOME, kubeconfig=kubeconfig)
        self.assertEqual(careen.open_problems(), {})
        self.assertEqual(careen.stop(), 0)
        self.assertEqual(self._refused(), set())

        entries = self.audit.entries()
        self.assertEqual({entry["user"]["username"] for entry in entries}, {f"system:serviceaccount:{HOME}:careen"})
        # Which kinds there are everybody may ask who has a token (system:discovery).
        used = {(resource_of(entry), entry["verb"]) for entry in entries if not resource_of(entry).startswith("/apis/")}
        granted = set()
        for name in ("clusterrole/careen", "clusterrole/careen-profiles", "clusterrole/careen-auth", "role/careen",
                     "role/careen-profiles", "role/careen-events"):
            namespace = "default" if name.endswith("-events") else HOME
            role = json.loads(self.cluster.kubectl("get", "-n", namespace, name, "-o", "json"))
            granted |= {(resource, verb) for rule in role["rules"] for resource in rule.get("resources", [])
                        for verb in rule["verbs"]}
        self.assertEqual(used - granted, set())
        # After conflicts, for events that repeat, for replicas that do not lead, for those who look at the dashboard, for
        # drains and Cluster API's rules for them, for limits over all actors where there are such, and for hypervisors.
        seldom = {("nodes", "get"), ("events", "patch"), ("pods", "get"), ("pods/eviction", "create"),
                  *((resource, verb) for verb in ("list", "watch") for resource in (
                      "maintenancelimits", "machines", "machinesets", "nodeclaims", "nodepools", "nodemaintenances",
                      "virtualmachineinstances", "daemonsets", "machinedrainrules", "clusters", "namespaces")),
                  ("poddisruptionbudgets", "list"), ("poddisruptionbudgets", "watch"),
                  ("tokenreviews", "create"), ("subjectaccessreviews", "create"), ("serviceaccounts/token", "create")}
        self.assertEqual({(resource, verb) for resource, verb in granted - used if resource != "hypervisors"} - seldom,
                         set(), "rights that nothing uses")

    def test_rights_of_the_original(self):
        """With the chart's role nothing is missing but the past of the timeline. The plain manifest lacks workloads:
        that is reported, and costs a metric."""
        names = self.node_names[:LIMIT]
        for account, rules, missing in (
                ("chart", CHART, set()),
                ("manifest", MANIFEST, {"watch deployments", "watch statefulsets", "watch daemonsets"})):
            with self.subTest(account):
                token = self.service_account(account)
                self.grant_rules(account, rules)
                self._renew_nodes()
                self.audit.mark()
                careen = self._run_round(names, kubeconfig=self.kubeconfig(user={"token": token}))
                poll(lambda: set(careen.open_problems()) == missing, 20, f"the problems {missing}")
                self.assertEqual(self._refused(), {("events", "list")} | {(key.split()[1], "list") for key in missing})
                self.assertEqual(careen.readyz()[0], 200)
                for key in missing:
                    self._check_said_once(careen, key)
                self.assertEqual(careen.stop(), 0)

    def test_without_pods(self):
        """Rights on nodes, events and leases alone: what needs pods says so once, and the round continues."""
        token = self.service_account("few")
        self.grant_rules("few", [RULES[name] for name in ("nodes", "events", "leases")])
        careen = self._run_round(self.node_names[:LIMIT], kubeconfig=self.kubeconfig(user={"token": token}))
        missing = {"watch pods", "watch deployments", "watch statefulsets", "watch daemonsets"}
        poll(lambda: set(careen.open_problems()) == missing, 20, f"the problems {missing}")
        for key in missing:
            self._check_said_once(careen, key)
        self.assertEqual(careen.stop(), 0)
        self.assertTrue(careen.complaints("pods.*forbidden"))

    def test_without_leases_of_a_namespace(self):
        """Nodes that a stagger holds wait until its namespace may be read, and no others do."""
        staggered, plain = self.node_names[:LIMIT], self.node_names[LIMIT]
        token = self.service_account("few")
        self.grant_rules("few", [RULES[name] for name in ("nodes", "events", "pods", "apps")] + [READ_PAUSES])
        both = config() + """\
- name: plain
  operational: {transitions: [{check: wanted, next: in-maintenance}]}
  in-maintenance: {transitions: [{check: finished, next: operational, trigger: done}]}
"""
        careen = self.start(self.write("maintenance.yaml", both),
                            kubeconfig=self.kubeconfig(user={"token": token})).wait_ready()
        key = self.check_reported(careen, f"leases of {LEASES}", f"leases.*{LEASES}.*forbidden|forbidden.*leases",
                                  ready=True)
        self.want_maintenance(staggered)
        self.want_maintenance([plain], profile="plain")
        self.wait_state(staggered, "maintenance-required")
        self.watch.wait_until(self.done([plain]), 30, "a round of a profile without stagger")
        poll(lambda: set(careen.open_problems()) == {key}, 30, "no other problem than that")
        self.grant("few", "leases", "get", "list", "watch", "create", "patch")
        self.check_recovered(careen, key)
        self.watch.wait_until(self.done(staggered), 30, "the round of those that waited")
        self.check_round(staggered)
