"""careen explain and careen status: why nodes do not move, asked from a running careen and computed on the spot.

The replicas of these tests run outside the cluster, where the API server's proxy does not lead: the leader is asked by
its address (--server), or a pod is made that has the address of this machine.
"""

import datetime
import json
import os
import socket
import subprocess

from careen import poll
from harness import CareenTest, Environment
from node_watch import PROFILE

CONTAINER = {"name": "c", "image": "none"}


def config():
    """Three profiles that get stuck: at a limit, before a window, in a drain."""
    far = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3)
    weekday = far.strftime("%A").lower()
    profile = """\
- name: {name}
  operational:
    transitions:
    - check: always
      next: maintenance-required
  maintenance-required:
    transitions:
    - check: {check}
      next: in-maintenance
      trigger: {trigger}
"""
    return f"""\
intervals:
  requeue: 5s
instances:
  check:
  - name: always
    type: hasLabel
    config: {{key: kubernetes.io/hostname}}
  - name: room
    type: maxMaintenance
    config: {{max: 1, profile: limited}}
  - name: night
    type: timeWindow
    config: {{start: "1:00", end: "2:00", weekdays: [{weekday}]}}
  trigger:
  - name: cordon
    type: eviction
    config: {{action: cordon}}
  - name: empty
    type: eviction
    config: {{action: drain}}
profiles:
""" + "".join([profile.format(name="limited", check="room", trigger="cordon"),
               profile.format(name="nightly", check="always && night", trigger="cordon"),
               profile.format(name="drained", check="always", trigger="empty")])


class ExplainTest(CareenTest):

    def setUp(self):
        super().setUp()
        self.first, self.second, self.nightly, self.drained = self.node_names[:4]
        self.addCleanup(self._give_back)
        self.path = self.write("maintenance.yaml", config())

    def tearDown(self):
        self._give_back()
        super().tearDown()

    def _give_back(self):
        self._end_replicas()
        self.api.call("DELETE", f"/apis/apps/v1/namespaces/{self.namespace}/deployments")
        self.api.call("DELETE", f"/api/v1/namespaces/{self.namespace}/pods?gracePeriodSeconds=0")
        for name in self.node_names[:4]:
            self.api.patch(f"/api/v1/nodes/{name}", {
                "metadata": {"labels": {PROFILE: None}, "annotations": {"careen.dev/holds": None}},
                "spec": {"unschedulable": None}})

    def careen(self, *words, code=0):
        environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        result = subprocess.run([Environment.binary, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=120, env={**environment, "COLUMNS": "250", "LC_ALL": "C.UTF-8"})
        self.assertEqual(result.returncode, code, f"{words}\n{result.stdout}\n{result.stderr}")
        return result.stdout, result.stderr

    def deploy_guarded(self):
        """A pod on the node to drain, which its budget does not let go."""
        selector = {"matchLabels": {"app": "db"}}
        self.api.create(f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets",
                        {"metadata": {"name": "db"}, "spec": {"minAvailable": 1, "selector": selector}})
        self.api.create(f"/apis/apps/v1/namespaces/{self.namespace}/deployments", {
            "metadata": {"name": "db"},
            "spec": {"replicas": 1, "selector": selector, "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"nodeSelector": {"kubernetes.io/hostname": self.drained}, "containers": [CONTAINER]}}}})

        def healthy():
            budget = self.api.get(f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets/db")
            return budget.get("status", {}).get("currentHealthy") == 1
        poll(healthy, 60, "the guarded pod to be ready")

    def test_why_nodes_do_not_move(self):
        self.deploy_guarded()
        replica = self.wait_leading(self.start_elected(self.path).wait_ready())
        server = f"http://127.0.0.1:{replica.metrics_port}"
        self.label([self.first], {PROFILE: "limited"})
        self.wait_state([self.first], "in-maintenance")
        self.label([self.second], {PROFILE: "limited"})
        self.label([self.nightly], {PROFILE: "nightly"})
        self.label([self.drained], {PROFILE: "drained"})
        self.wait_state([self.second, self.nightly], "maintenance-required")

        # The limit is named, and who has the place.
        text = poll(lambda: self._shows(server, self.second, self.first), 30, "the limit to be named")
        self.assertRegex(text, rf"node/{self.second}  ready\n")
        self.assertRegex(text, r"profile limited: maintenance-required since \S+Z")
        self.assertRegex(text, r"✗ → in-maintenance if room")
        self.assertRegex(text, rf"✗ room.*1 of 1.*{self.first}")
        self.assertIn("then        cordon", text)

        # Outside its window: when it opens, days ahead.
        text = poll(lambda: self._shows(server, "node/" + self.nightly, "night"), 30, "the window to be named")
        self.assertRegex(text, r"next change \S+T01:00:\S+Z \(in \d+d\d*h?\)")
        self.assertRegex(text, r"✓ always")
        self.assertRegex(text, r"✗ night")

        # The drain's pod, and the budget that keeps it.
        text = poll(lambda: self._shows(server, self.drained, f"budget {self.namespace}/db"), 60, "the blocked pod")
        self.assertRegex(text, rf"node/{self.drained}  ready, cordoned\n")
        self.assertRegex(text, r"drain for profile/drained\S*: draining since")
        self.assertRegex(text, rf"✗ {self.namespace}/db-\S+: blocked")

        self.check_documents(server)
        self.check_computed_here()
        self.check_status(server)
        self.assertEqual(replica.stop(), 0)

    def _shows(self, server, name, what):
        text = self.careen("explain", name, "--server", server)[0]
        return text if what in text else None

    def check_documents(self, server):
        out, err = self.careen("explain", self.second, self.nightly, "-o", "json", "--server", server)
        self.assertEqual(err, f"from careen at {server}\n")
        self.assertEqual([story["node"] for story in json.loads(out)], [self.second, self.nightly])
        out, _ = self.careen("explain", self.second, "-o", "yaml", "--server", server)
        self.assertIn(f"node: {self.second}\n", out)
        out, err = self.careen("explain", "nobody", self.second, "--server", server, code=1)
        self.assertIn("nobody", err)
        self.assertIn(f"node/{self.second}", out)

    def check_computed_here(self):
        """The same without asking anybody, and without a trace in the cluster."""
        reader = self.kubeconfig(user={"token": self.service_account("reader")})
        self.grant_rules("reader", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}])
        here = ("--config", self.path, "--kubeconfig", reader)
        out, err = self.careen("explain", self.second, *here)
        self.assertEqual(err, f"from the cluster and {self.path}, computed here\n")
        self.assertRegex(out, rf"✗ room.*1 of 1.*{self.first}")
        out, _ = self.careen("explain", self.nightly, *here)
        self.assertRegex(out, r"next change \S+T01:00:\S+Z")
        _, err = self.careen("explain", "nobody", *here, code=1)
        self.assertIn('there is no node "nobody"', err)
        user = f"system:serviceaccount:{self.namespace}:reader"
        verbs = {entry["verb"] for entry in self.audit.entries() if entry["user"]["username"] == user}
        self.assertLessEqual(verbs, {"get", "list", "watch"})
        self.assertIn("list", verbs)
        # The leader is not a pod: the command says what it tried, and what else there is.
        _, err = self.careen("explain", self.second, "--kubeconfig", reader, code=1)
        self.assertIn("no running careen could be asked", err)
        self.assertIn("--server", err)
        self.assertIn("--config", err)

    def check_status(self, server):
        out, _ = self.careen("status", "--server", server, "--kubeconfig", self.cluster.kubeconfig)
        self.assertRegex(out, r"limited +0 +1 +1")
        self.assertRegex(out, rf"room \(maxMaintenance\) +1/1 +1 .*{self.first}")
        self.assertRegex(out, rf"{self.drained} +profile/drained")
        self.assertRegex(out, r"NODE +BY +STATE")
        # From the nodes alone when nobody can be asked.
        out, err = self.careen("status", "--kubeconfig", self.cluster.kubeconfig)
        self.assertIn("budgets, drains and problems are not shown", err)
        self.assertRegex(out, r"limited +0 +1 +1")
        document = json.loads(self.careen("status", "-o", "json", "--kubeconfig", self.cluster.kubeconfig)[0])
        self.assertIn("maintenances", document)
        self.assertLessEqual({"drained", "limited", "nightly"},
                             {profile["name"] for profile in document["fleet"]["profiles"]})

    # --- through the API server --------------------------------------------

    def lead_as_pod(self, auth):
        """A replica that leads under the name of a pod, which has this machine's address and an account that may look."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("198.51.100.1", 9))  # sends nothing; says which address others see
            address = probe.getsockname()[0]
        replica = self.start_elected(self.path, f"--dashboard-auth={auth}", address=address,
                                     environment={"POD_NAME": "careen-0"}).wait_ready()
        self.wait_leading(replica)
        self.service_account("careen")
        self.grant_rules("careen", [{"nonResourceURLs": ["/careen/v1/*"], "verbs": ["get"]}])
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        self.api.create(pods, {"metadata": {"name": "careen-0"}, "spec": {
            "schedulerName": "nobody", "serviceAccountName": "careen", "containers": [
                {**CONTAINER, "ports": [{"name": "metrics", "containerPort": replica.metrics_port}]}]}})
        self.api.patch(f"{pods}/careen-0/status", {"status": {"podIP": address, "podIPs": [{"ip": address}]}})
        return replica

    def check_through_the_server(self, auth, may_make_tokens):
        """Somebody with a token of their own; careen is shown another one."""
        replica = self.lead_as_pod(auth)
        rules = [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]},
                 {"apiGroups": [""], "resources": ["pods", "pods/proxy"], "verbs": ["get"]}]
        if may_make_tokens:
            rules.append({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]})
        ana = self.kubeconfig(user={"token": self.service_account("ana")})
        self.grant_rules("ana", rules)
        asked = ("explain", self.first, "--kubeconfig", ana, "--namespace", self.namespace)
        if auth == "none" or may_make_tokens:
            out, err = self.careen(*asked)
            self.assertIn(f"from the leader careen-0 in namespace {self.namespace}, through the API server", err)
            self.assertIn(f"node/{self.first}", out)
        else:
            _, err = self.careen(*asked, code=1)
            self.assertIn("--audience careen.dev/view", err)
            made = self.api.call("POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/careen/token",
                                 {"spec": {"audiences": ["careen.dev/view"], "expirationSeconds": 600}})
            out, _ = self.careen(*asked, "--token", made["status"]["token"])
            self.assertIn(f"node/{self.first}", out)
        self.assertEqual(replica.stop(), 0)

    def test_a_leader_that_wants_a_token(self):
        self.check_through_the_server("token", may_make_tokens=True)

    def test_who_may_make_no_token(self):
        self.check_through_the_server("token", may_make_tokens=False)

    def test_a_leader_that_shows_everybody(self):
        self.check_through_the_server("none", may_make_tokens=False)

    def test_a_leader_that_shows_its_own_machine(self):
        self.check_through_the_server("loopback", may_make_tokens=True)
