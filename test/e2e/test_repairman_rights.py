"""careen in the place of repairman: started as its manifests start it, under its roles and definitions."""

import json
import os
import re
import signal
import subprocess

from careen import free_port, poll
from harness import UNSAFE, CareenTest, Environment
from maintenance import RBAC
from repairman import API, GROUP, KINDS, original_definitions, remove_definitions

ALL = ["create", "delete", "get", "list", "patch", "update", "watch"]
LOCK, LEDGER = "controller-leader-election-helper", "careen-ledger-requests"
# Its Deployment allows it so much; whoever swaps the image keeps that.
MEMORY = 30 << 20

MANAGER_ROLE = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ALL},
                *({"apiGroups": [GROUP], "resources": [kind], "verbs": ALL} for kind in KINDS),
                *({"apiGroups": [GROUP], "resources": [f"{kind}/status"], "verbs": ["get", "patch", "update"]}
                  for kind in KINDS)]
PROXY_ROLE = [{"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
              {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]}]
ELECTION_ROLE = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ALL},
                 {"apiGroups": [""], "resources": ["configmaps/status"], "verbs": ["get", "update", "patch"]}]
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}


class RepairmanTest(CareenTest):

    def setUp(self):
        super().setUp()
        self._processes = []
        self.addCleanup(self._clean)
        original_definitions(self.cluster)
        self.api.create(f"{API}/maintenancelimits", {"apiVersion": f"{GROUP}/v1", "kind": "MaintenanceLimit",
                                                     "metadata": {"name": "node"}, "spec": {"limit": 4}})

    def _clean(self):
        for process in self._processes:
            process.kill()
            process.wait(30)
        remove_definitions(self.cluster)

    # --- what the original has in a cluster --------------------------------

    def roles(self, cluster, own=ELECTION_ROLE):
        """The kubeconfig of an account with these."""
        token = self.service_account("operator")
        self.grant_rules("operator", cluster)
        base = f"{RBAC}/namespaces/{self.namespace}"
        self.api.create(f"{base}/roles", {"metadata": {"name": "operator"}, "rules": own})
        self.api.create(f"{base}/rolebindings", {
            "metadata": {"name": "operator"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "operator"},
            "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": self.namespace}]})
        return self.kubeconfig(user={"token": token}, namespace=self.namespace)

    # --- careen ------------------------------------------------------------

    def manager(self, *arguments):
        """By its name, in a folder without a configuration, with the arguments of its manifest."""
        folder = os.path.join(self.folder, f"manager-{len(self._processes)}")
        os.makedirs(folder)
        link = os.path.join(folder, "manager")
        os.symlink(Environment.binary, link)
        with open(os.path.join(folder, "log"), "wb") as log:
            process = subprocess.Popen([link, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env={"PATH": os.environ["PATH"]})
        process.folder = folder
        self._processes.append(process)
        return process

    def log_of(self, process):
        with open(os.path.join(process.folder, "log"), errors="replace") as file:
            return file.read()

    def wait_log(self, process, pattern, seconds=30):
        try:
            poll(lambda: re.search(pattern, self.log_of(process)), seconds, f"{pattern!r} in its log")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log_of(process)[-3000:]}") from None

    def request(self, name, node):
        self.api.create(f"{API}/maintenancerequests", {
            "apiVersion": f"{GROUP}/v1", "kind": "MaintenanceRequest", "metadata": {"name": name},
            "spec": {"name": node, "type": "node", "state": "Pending"}})

    def state(self, name):
        return self.api.get(f"{API}/maintenancerequests/{name}")["spec"]["state"]

    def wait_state_of(self, name, state, seconds=30):
        try:
            poll(lambda: self.state(name) == state, seconds, f"{name} to be {state}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log_of(self._processes[-1])[-3000:]}") from None

    def set_state(self, name, state):
        self.api.patch(f"{API}/maintenancerequests/{name}", {"spec": {"state": state}})

    # --- tests -------------------------------------------------------------

    def test_the_image_is_swapped(self):
        """The arguments, roles and definitions of the original: an actor made for it gets its turn, two at a time of
        fifty nodes with 4 %, and nothing is written but what those roles allow."""
        port = free_port()
        careen = self.manager(f"--metrics-addr=127.0.0.1:{port}",
                              f"--kubeconfig={self.roles(MANAGER_ROLE + PROXY_ROLE)}")
        names = [f"mr-{index}" for index in range(4)]
        for name, node in zip(names, self.node_names):
            self.request(name, node)
        self.wait_log(careen, "started as /manager.*requests")
        for name in names[:2]:
            self.wait_state_of(name, "Approved", 60)
        self.assertEqual([self.state(name) for name in names[2:]], ["Pending", "Pending"], UNSAFE + "beyond the limit")
        self.set_state(names[0], "InProgress")
        self.set_state(names[0], "Completed")
        self.wait_state_of(names[2], "Approved", 5)
        self.assertEqual(self.state(names[1]), "Approved")
        self.assertEqual(self.state(names[3]), "Pending", UNSAFE + "beyond the limit")
        self.assertEqual(self.api.get(f"{API}/maintenancelimits/node")["status"].get("limit"), 2)

        # Several would take turns by the original's lock, and admissions are on record beside it.
        base = f"/api/v1/namespaces/{self.namespace}/configmaps"
        record = json.loads(self.api.get(f"{base}/{LOCK}")["metadata"]["annotations"][
            "control-plane.alpha.kubernetes.io/leader"])
        self.assertEqual(record["leaseDurationSeconds"], 15)
        self.assertIn("careen.dev/ledger", self.api.get(f"{base}/{LEDGER}")["metadata"]["annotations"])
        self.assertEqual(self.api.list(f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases")[0], [])
        self.assertIsNone(careen.poll(), self.log_of(careen)[-3000:])
        # It looks for much that it may not see, and writes nothing that it may not write but Events.
        refused = {(entry["verb"], entry.get("objectRef", {}).get("resource")) for entry in self.audit.entries()
                   if entry["responseStatus"]["code"] in (401, 403) and "operator" in entry["user"]["username"]}
        self.assertLessEqual({one for one in refused if one[0] not in ("get", "list", "watch")}, {("create", "events")})

        with open(f"/proc/{careen.pid}/status") as file:
            most = int(re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.M).group(1)) << 10
        print(f"[memory {most >> 10} KiB of {MEMORY >> 10}] ", end="", flush=True)
        self.assertLess(most, MEMORY)

    def test_whom_it_stands_for_is_told_by_what_it_may(self):
        port = free_port()
        kubeconfig = self.roles([*MANAGER_ROLE, PODS])
        doubtful = self.manager(f"--metrics-addr=127.0.0.1:{port}", f"--kubeconfig={kubeconfig}")
        self.assertEqual(doubtful.wait(60), 1)
        self.wait_log(doubtful, r"in doubt.*pods may be listed.*--controllers")
        self.manager(f"--metrics-addr=127.0.0.1:{port}", f"--kubeconfig={kubeconfig}", "--controllers=requests",
                     "--health-addr=0", "--await-pauses=false")
        self.request("mr", self.node_names[0])
        self.wait_state_of("mr", "Approved", 60)

    def test_a_role_that_knows_no_limits_is_the_other_programs(self):
        other = self.manager("--metrics-addr=127.0.0.1:0", f"--kubeconfig={self.roles(MANAGER_ROLE[:1] + [PODS])}")
        self.wait_log(other, r"started as /manager.*profiles")
        self.wait_log(other, r"config/maintenance\.yaml")

    def test_the_server_of_a_flag(self):
        """--master is of this program alone, and replaces the kubeconfig's server."""
        config = self.roles(MANAGER_ROLE + PROXY_ROLE)
        with open(config) as file:
            text = file.read()
        with open(config, "w") as file:
            file.write(text.replace(self.cluster.server, "https://127.0.0.1:1"))
        silent = self.manager("--metrics-addr=127.0.0.1:0", f"--kubeconfig={config}")
        self.wait_log(silent, "without an answer")
        silent.send_signal(signal.SIGTERM)
        self.assertEqual(silent.wait(30), 0, "it was asked to end")
        self.request("mr", self.node_names[0])
        self.manager(f"--metrics-addr=127.0.0.1:{free_port()}", f"--kubeconfig={config}", f"--master={self.cluster.server}")
        self.wait_state_of("mr", "Approved", 60)
