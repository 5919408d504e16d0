"""A new version is rolled out to nodes of three zones: approved, in a time window, spaced out, announced in Slack."""

import collections
import datetime
import json

from audit import accepted, resource_of
from careen import poll
from harness import LOCK, CareenTest
from node_watch import PROFILE, annotations, labels
from slack_double import SlackDouble

ZONE = "topology.kubernetes.io/zone"
VERSION = "e2e.careen.dev/version"
APPROVED = "e2e.careen.dev/approved"
OLD, NEW = "1.9.0", "1.10.0-rc.1"
PER_ZONE = 4
PARALLEL = 3  # leases of one second
ALWAYS = "{start: '0:00', end: '24:00', weekdays: [mon, tue, wed, thu, fri, sat, sun]}"


def config(namespace, closed_on):
    return f"""\
intervals:
  requeue: 30s
dashboard:
  labelFilter: [{ZONE}, {VERSION}]
instances:
  check:
  - {{name: outdated, type: clusterSemver, config: {{key: {VERSION}}}}}
  - {{name: approved, type: hasLabel, config: {{key: {APPROVED}, value: "yes"}}}}
  - {{name: open, type: timeWindow, config: {{windows: [{ALWAYS}]}}}}
  - {{name: closed, type: timeWindow, config: {{windows: [{ALWAYS}], exclude: {json.dumps(closed_on)}}}}}
  - {{name: pods_move_once, type: affinity, config: null}}
  - {{name: room, type: maxMaintenance, config: {{max: 25%, profile: rolling, groupBy: [{ZONE}]}}}}
  - {{name: spaced, type: stagger,
     config: {{duration: 1s, leaseName: rolling, leaseNamespace: {namespace}, parallel: {PARALLEL}}}}}
  - {{name: finished, type: wait, config: {{duration: 300ms}}}}
  notify:
  - name: tell
    type: slackThread
    schedule: {{type: periodic, config: {{interval: 24h}}}}
    config:
      token: ${{SLACK_TOKEN}}
      channel: "#rollout"
      title: "Rollout <{{{{ .Profile }}}}> & more"
      message: "{{{{ .Node.Name }}}} ({{{{ index .Node.Labels \\"{ZONE}\\" }}}}) is {{{{ .State }}}}"
      leaseName: rollout-thread
      leaseNamespace: {namespace}
      period: 1h
  trigger:
  - {{name: installed, type: alterLabel, config: {{key: {VERSION}, value: {NEW}}}}}
  - {{name: cordon, type: eviction, config: {{action: cordon}}}}
  - {{name: uncordon, type: eviction, config: {{action: uncordon}}}}
profiles:
- name: rolling
  operational:
    transitions:
    - {{check: outdated, next: maintenance-required}}
  maintenance-required:
    transitions:
    - {{check: approved && open && pods_move_once && room && spaced, next: in-maintenance, trigger: cordon}}
  in-maintenance:
    notify: tell
    transitions:
    - {{check: finished, next: operational, trigger: installed && uncordon}}
- name: never
  operational:
    transitions:
    - {{check: outdated, next: maintenance-required}}
  maintenance-required:
    transitions:
    - {{check: approved && closed, next: in-maintenance}}
"""


class RollingTest(CareenTest):

    def setUp(self):
        super().setUp()
        by_zone = collections.defaultdict(list)
        for name in self.node_names:
            by_zone[labels(self.watch.nodes[name])[ZONE]].append(name)
        self.zones = {zone: names[:PER_ZONE] for zone, names in by_zone.items()}
        self.names = sorted(sum(self.zones.values(), []))
        rest = [name for name in self.node_names if name not in self.names]
        self.newest, self.shut = rest[0], rest[1:3]
        self.label(self.names, {PROFILE: "rolling", VERSION: OLD})
        self.label(self.shut, {PROFILE: "never", VERSION: OLD, APPROVED: "yes"})
        today = datetime.datetime.now(datetime.timezone.utc).date()
        self.closed_on = [(today + datetime.timedelta(days=days)).strftime("%b %d") for days in (0, 1)]

    def _make_pods(self):
        """On the first node two pods of a Deployment, placed by the scheduler; on the second one that is bound by hand.
        They all prefer nodes that are operational."""
        self.preferring = self.names[:2]
        prefer = [{"weight": 1, "preference": {"matchExpressions": [
            {"key": "cloud.sap/maintenance-state", "operator": "In", "values": ["operational"]}]}}]
        here = {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [self.preferring[0]]}]}]}
        containers = [{"name": "main", "image": "example.com/none"}]
        self.api.create(f"/apis/apps/v1/namespaces/{self.namespace}/deployments", {
            "metadata": {"name": "web"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": containers, "affinity": {"nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": prefer,
                    "requiredDuringSchedulingIgnoredDuringExecution": here}}}}}})
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        poll(lambda: self.api.get(f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default"), 20,
             "the namespace's service account")
        self.api.create(pods, {"metadata": {"name": "bound"}, "spec": {
            "nodeName": self.preferring[1], "containers": containers,
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": prefer}}}})
        poll(lambda: sum(bool(pod["spec"].get("nodeName")) for pod in self.api.list(pods)[0]) == 3, 30,
             "the pods to be bound")
        self.addCleanup(self.api.delete, f"{pods}/bound?gracePeriodSeconds=0")
        self.addCleanup(self.api.delete, f"/apis/apps/v1/namespaces/{self.namespace}/deployments/web")

    def test_rollout(self):
        with SlackDouble(token="xoxb-e2e", channels=["#rollout"]) as slack:
            self._make_pods()
            careen = self.start_elected(self.write("maintenance.yaml", config(self.namespace, self.closed_on)),
                                        "--slack-api", slack.api, "--strict-config",
                                        environment={"SLACK_TOKEN": "xoxb-e2e"}).wait_ready()
            self.wait_leading(careen)
            self.watch.wait_until(lambda watch: len(watch.history) == len(watch.nodes), 30, "all nodes to be known")
            self.audit.mark()
            self.label([self.newest], {VERSION: NEW})
            self.wait_state(self.names + self.shut, "maintenance-required")
            self.assertEqual(self.watch.maintained, 0, "nodes that nobody has approved")
            self.label(self.names, {APPROVED: "yes"})
            self.watch.wait_until(self.done(self.names), 90, "the end of the rollout")
            self.watch.wait_until(lambda watch: not any("careen.dev/outbox" in annotations(node)
                                                        for node in watch.nodes.values()), 20, "empty outboxes")
            poll(lambda: len(self.events()) >= 3 * len(self.names) + len(self.shut), 20, "the events")
            self._check_slack(slack)
            self._check_order()
            self._check_shut(careen)
            self._check_metrics(careen.metrics())
            self.assertEqual(careen.stop(), 0)
            self.assertEqual(careen.complaints(), [])
        self._check_leases(slack)
        self._check_requests()
        for name in self.names:
            node = self.watch.nodes[name]
            self.assertEqual(labels(node)[VERSION], NEW)
            self.assertFalse(node["spec"].get("unschedulable"), f"{name} is still cordoned")

    def _check_slack(self, slack):
        self.assertEqual(slack.complaints, [])
        title, *replies = slack.messages
        self.assertEqual((title.text, title.thread_ts), ("Rollout <rolling> & more", None))
        self.assertEqual({message.thread_ts for message in replies}, {title.ts})
        zone_of = {name: zone for zone, names in self.zones.items() for name in names}
        self.assertEqual(sorted(message.text for message in replies),
                         sorted(f"{name} ({zone_of[name]}) is in-maintenance" for name in self.names))

    def _entries(self):
        """Name of each node that entered maintenance and when, in order."""
        return [(name, json.loads(data)["Profiles"]["rolling"]["Transition"])
                for name, _, after, data in self.watch.changes if after == "in-maintenance"]

    def _check_order(self):
        """One a zone, three a second, and those last whose pods would have to move."""
        inside, most = set(), collections.Counter()
        for name, before, after, _ in self.watch.changes:
            if before == "in-maintenance":
                inside.discard(name)
            if after == "in-maintenance":
                inside.add(name)
            for zone, names in self.zones.items():
                most[zone] = max(most[zone], len(inside & set(names)))
        self.assertEqual(most, {zone: 1 for zone in self.zones}, "nodes of a zone in maintenance at once")
        entries = self._entries()
        self.assertEqual(sorted(name for name, _ in entries), self.names, "each node once")
        self.assertEqual({name for name, _ in entries[-2:]}, set(self.preferring), "nodes that go last")
        # Written side by side, so in the order of the decisions.
        times = sorted(datetime.datetime.fromisoformat(time[:26].rstrip("Z") + "+00:00").timestamp()
                       for _, time in entries)
        for index in range(PARALLEL, len(times)):
            self.assertGreater(times[index] - times[index - PARALLEL], 1, f"entry {index} of {times}")

    def _check_shut(self, careen):
        """The window is closed today, and says so."""
        for name in self.shut:
            self.assertEqual(self.watch.history[name][-1], "maintenance-required")
        node = careen.info()[self.shut[0]]
        self.assertEqual(set(node["labels"]), {ZONE, VERSION})
        transition, = node["profiles"][0]["applied"]["transitions"]
        self.assertEqual(transition["chain"]["info"]["closed"]["info"], {"reason": "day/month forbidden"})

    def _check_leases(self, slack):
        transitions = 0
        for index in range(PARALLEL):
            lease = self.lease(name=f"rolling-{index}")["spec"]
            self.assertEqual(set(lease), {"holderIdentity", "acquireTime", "renewTime", "leaseDurationSeconds",
                                          "leaseTransitions"})
            self.assertIn(lease["holderIdentity"], self.names)
            self.assertEqual(lease["leaseDurationSeconds"], 1)
            self.assertLessEqual(lease["acquireTime"], lease["renewTime"])
            self.assertRegex(lease["renewTime"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            transitions += lease["leaseTransitions"] + 1
        self.assertEqual(transitions, len(self.names), "each entry took one lease")
        self.assertIsNone(self.lease(name=f"rolling-{PARALLEL}"))
        thread = self.lease(name="rollout-thread")["spec"]
        self.assertEqual(set(thread), {"holderIdentity", "acquireTime", "renewTime", "leaseDurationSeconds"})
        self.assertEqual(thread["holderIdentity"], slack.messages[0].ts)
        self.assertEqual((thread["leaseDurationSeconds"], thread["acquireTime"]), (3600, thread["renewTime"]))

    def _check_metrics(self, metrics):
        web = {"owner": "deployment_web", "profile": "rolling"}
        for name, value in (("maintenance_controller_pod_shuffle_count", 2),
                            ("maintenance_controller_pod_shuffles_per_replica", 1)):
            self.assertEqual(metrics.sum(name, **web), value, name)
        self.assertEqual(metrics.sum("careen_transitions_total", profile="rolling"), 3 * len(self.names))
        self.assertEqual(metrics.sum("careen_notifications_total", result="sent"), len(self.names))
        self.assertEqual(metrics.sum("careen_sweep_late_total"), 0)
        for name, wanted in (("controller_runtime_reconcile_total", {"controller": "node", "result": "requeue_after"}),
                             ("controller_runtime_reconcile_errors_total", {"controller": "node"}),
                             ("controller_runtime_reconcile_time_seconds_count", {"controller": "node"}),
                             ("workqueue_depth", {"name": "node"}), ("rest_client_requests_total", {"method": "PATCH"}),
                             ("process_cpu_seconds_total", {}), ("process_resident_memory_bytes", {})):
            self.assertTrue(metrics.find(name, **wanted), f"metric {name}")
        self.assertEqual(metrics.sum("leader_election_master_status", name=LOCK), 1)

    def _check_requests(self):
        entries = self.audit.entries()
        refused = [(entry["verb"], entry["requestURI"], entry["responseStatus"]["code"]) for entry in entries
                   if not accepted(entry) and entry["responseStatus"]["code"] not in (404, 409)]
        self.assertEqual(refused, [])
        writes = collections.Counter()
        for entry in entries:
            if entry["verb"] not in ("get", "list", "watch") and accepted(entry):
                name = entry["objectRef"].get("name", "")
                writes[resource_of(entry), name if resource_of(entry) == "leases" else ""] += 1
        nodes = len(self.names)
        # Three transitions, and the message leaves the outbox with one of them or on its own.
        self.assertLessEqual(writes["nodes", ""], 4 * nodes + len(self.shut))
        self.assertLessEqual(writes["events", ""], 3 * nodes + len(self.shut) + 1)
        self.assertEqual(sum(count for (kind, name), count in writes.items()
                             if kind == "leases" and name.startswith("rolling-")), nodes)
        self.assertEqual(writes["leases", "rollout-thread"], 1)
        self.assertLessEqual(writes["leases", "careen-ledger"], 2 * nodes + 1)
        # One question for the thread a message; everything else is known from watches, except after a conflict.
        conflicts = sum(entry["responseStatus"]["code"] == 409 for entry in entries)
        reads = collections.Counter((resource_of(entry), entry["objectRef"].get("name", "")) for entry in entries
                                    if entry["verb"] in ("get", "list") and entry["objectRef"].get("name") != LOCK)
        self.assertLessEqual(reads.pop(("leases", "rollout-thread")), nodes)
        self.assertLessEqual(reads.total(), conflicts, reads)
