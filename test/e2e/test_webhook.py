"""The real API server calls careen's webhook over TLS."""

import base64
import os
import subprocess
import threading
import time

import yaml

from api import Refused, side_by_side
from careen import free_port, http_get, poll
from cluster import ROOT
from harness import profile_config
from maintenance import API, FINALIZER, MaintenanceTest, shipped_roles

PATH = "/validate-nodemaintenance-medik8s-io-v1beta1-nodemaintenance"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def certificate(folder, name):
    """A CA and a certificate for 127.0.0.1 signed by it, as files; the CA's text."""
    paths = {kind: os.path.join(folder, f"{name}-{kind}") for kind in ("ca.key", "ca.crt", "tls.key", "tls.csr", "tls.crt")}

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *curve, "-keyout", paths["ca.key"], "-out", paths["ca.crt"], "-days", "2", "-subj", f"/CN={name}")
    openssl("req", *curve, "-keyout", paths["tls.key"], "-out", paths["tls.csr"], "-subj", "/CN=webhook")
    extensions = os.path.join(folder, f"{name}-extensions")
    with open(extensions, "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", paths["tls.csr"], "-CA", paths["ca.crt"], "-CAkey", paths["ca.key"], "-CAcreateserial",
            "-out", paths["tls.crt"], "-days", "2", "-extfile", extensions)
    with open(paths["ca.crt"]) as file:
        return paths, file.read()


class WebhookTest(MaintenanceTest):

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.configuration = "careen"  # the roles name it, and the Secret
        self.addCleanup(self.api.delete, f"{CONFIGURATIONS}/{self.configuration}")

    def tearDown(self):
        self.api.delete(f"{CONFIGURATIONS}/{self.configuration}")
        super().tearDown()

    def _register(self, bundle=None, operations=("CREATE", "UPDATE")):
        client = {"url": f"https://127.0.0.1:{self.port}{PATH}"}
        if bundle:
            client["caBundle"] = base64.b64encode(bundle.encode()).decode()
        self.api.call("POST", CONFIGURATIONS, {
            "metadata": {"name": self.configuration}, "webhooks": [{
                "name": "vnodemaintenance.kb.io", "clientConfig": client, "failurePolicy": "Fail", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 15,
                "rules": [{"apiGroups": ["nodemaintenance.medik8s.io"], "apiVersions": ["v1beta1"],
                           "operations": list(operations), "resources": ["nodemaintenances"]}]}]})

    def _wait_called(self):
        """The API server learns of a configuration by a watch, and of the CA in it."""
        def refused():
            try:
                self.maintain("probe", "e2e-no-such-node")
            except Refused as error:
                return "no node with name e2e-no-such-node found" in str(error)
            self.api.patch(f"{API}/probe", {"metadata": {"finalizers": None}})
            self.api.delete(f"{API}/probe")
            return False
        poll(refused, 60, "the API server to call the webhook", 0.3)

    def _self_signed(self):
        self._register()
        careen = self.start_operator(f"--webhook-bind-address=127.0.0.1:{self.port}", "--webhook-self-signed",
                                     "--webhook-host=127.0.0.1", f"--webhook-configuration={self.configuration}",
                                     "--webhook-secret=careen-webhook-tls").wait_ready()
        self._wait_called()
        return careen

    def _denied(self, function, message):
        with self.assertRaises(Refused) as raised:
            function()
        self.assertEqual(raised.exception.status, 403)
        self.assertIn(f'admission webhook "vnodemaintenance.kb.io" denied the request: {message}', str(raised.exception))

    def test_rules(self):
        """With certificates of its own; the words are those users know."""
        node, other = self.node_names[:2]
        careen = self._self_signed()
        self._denied(lambda: self.maintain("a", "e2e-missing"), "invalid nodeName, no node with name e2e-missing found")
        self.maintain("a", node)
        self._denied(lambda: self.maintain("b", node), f"invalid nodeName, a NodeMaintenance for node {node} already exists")
        self._refused_by_the_crd(lambda: self.api.patch(f"{API}/a", {"spec": {"nodeName": other}}))
        self._refused_by_the_crd(lambda: self.api.patch(f"{API}/a", {"spec": None}))
        self.api.patch(f"{API}/a", {"spec": {"reason": "another"}})
        self.wait_phase("a", "Succeeded")
        self.release("a")
        self.maintain("b", node)
        metrics = careen.metrics()
        self.assertGreaterEqual(metrics.sum("controller_runtime_webhook_requests_total", webhook=PATH), 6)
        self.assertEqual(metrics.sum("controller_runtime_webhook_requests_total", webhook=PATH, code="500"), 0)
        self.assertEqual(http_get(careen.health_port, "/readyz/webhook")[0], 200)

    def test_update_under_the_originals_crd_and_registration(self):
        """It has no rule for nodeName, and the webhook is called for every change: careen judges as the original."""
        node, other = self.node_names[:2]
        path = os.path.join(self.folder, "crd.yaml")
        with open(os.path.join(ROOT, "deploy", "crds", "nodemaintenance.yaml")) as file:
            crd = yaml.safe_load(file)
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        del schema["x-kubernetes-validations"]
        del schema["properties"]["spec"]["properties"]["nodeName"]["x-kubernetes-validations"]
        with open(path, "w") as file:
            yaml.safe_dump(crd, file)
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", path)
        self._self_signed()
        self.maintain("a", node)

        def denied():
            try:
                self.api.patch(f"{API}/a", {"spec": {"nodeName": other}})
            except Refused as error:
                return error.status == 403 and "denied the request: updating spec.NodeName isn't allowed" in str(error)
            return False
        # Until the API server has taken the CRD its own rule refuses that.
        poll(denied, 30, "the webhook to refuse another node", 0.3)
        self.api.patch(f"{API}/a", {"spec": {"reason": "another"}})
        self.wait_phase("a", "Succeeded")
        self.release("a")

    def test_an_unreachable_webhook_is_in_nobodys_way_but_creations(self):
        """As it is shipped, with nobody behind it: finalizers and statuses are written, and nodeName stays."""
        first, second, other = self.node_names[:3]
        self.maintain("a", first)
        self.bare_pod("db-0", second)
        self.budget("db", "db-0", 1)
        self.maintain("b", second)
        self._register(operations=self._shipped_operations())  # nobody listens on that port
        poll(lambda: self._creation_fails(other), 60, "the API server to call nobody", 0.3)

        self.start_operator().wait_ready()
        self.assertEqual(self.wait_phase("a", "Succeeded")["metadata"]["finalizers"], [FINALIZER])
        found = self.wait_phase("b", "Running")
        self.assertEqual((found["status"]["evictionPods"], found["status"]["pendingPods"]), (1, ["db-0"]))
        self._refused_by_the_crd(lambda: self.api.patch(f"{API}/a", {"spec": {"nodeName": other}}))
        self.free_budget("db")
        self.wait_phase("b", "Succeeded")
        self.release("a")
        self.release("b")
        self.check_released(first)
        self.assertTrue(self._creation_fails(other), "nobody has served it all the time")

    def test_a_broken_configuration_and_a_restart(self):
        """Of profiles alone nothing is decided: maintenances go on, and their webhook is served by a replica that
        has never seen a good file."""
        first, second = self.node_names[:2]
        config = self.write("maintenance.yaml", "profiles: [\n")
        self._register()
        kubeconfig = self.restricted(*shipped_roles())
        flags = ("--controllers=profiles,nodemaintenance", "--cache-pods=false", f"--webhook-bind-address=127.0.0.1:{self.port}",
                 "--webhook-self-signed", "--webhook-host=127.0.0.1", f"--webhook-configuration={self.configuration}",
                 "--webhook-secret=careen-webhook-tls")
        careen = self.start_elected(config, *flags, kubeconfig=kubeconfig).wait_ready()
        self._wait_called()
        key = self.check_reported(careen, "^config$", "maintenance.yaml", ready=True)
        self.maintain("a", first)
        self._denied(lambda: self.maintain("b", first), f"invalid nodeName, a NodeMaintenance for node {first} already exists")
        self.wait_phase("a", "Succeeded")
        careen.kill()
        careen = self.start_elected(config, *flags, kubeconfig=kubeconfig).wait_ready()
        self._denied(lambda: self.maintain("b", first), f"invalid nodeName, a NodeMaintenance for node {first} already exists")
        self.release("a")
        self.check_released(first)
        key = self.check_reported(careen, "^config$", "maintenance.yaml", ready=True)
        self.want_maintenance([second])
        self.write("maintenance.yaml", profile_config())
        self.check_recovered(careen, key)
        self.watch.wait_until(self.done([second]), 60, "a round after the repair")

    def test_a_dry_run_is_not_ready_for_a_webhook_that_it_does_not_serve(self):
        careen = self.start(None, "--dry-run", "--controllers=nodemaintenance",
                            f"--webhook-bind-address=127.0.0.1:{self.port}")
        careen.wait_log(lambda line: line["msg"] == "node maintenances are known", 30, "the caches")
        self.assertEqual(http_get(careen.health_port, "/readyz/caches")[0], 200)
        status, text = http_get(careen.health_port, "/readyz")
        self.assertEqual(status, 503, text)
        self.assertIn("[-]webhook failed: a dry run serves no webhook", text)
        self.start(None, "--dry-run", "--controllers=nodemaintenance").wait_ready()

    def _shipped_operations(self):
        with open(os.path.join(ROOT, "deploy", "manifests", "careen.yaml")) as file:
            for document in yaml.safe_load_all(file):
                if document["kind"] == "ValidatingWebhookConfiguration":
                    return document["webhooks"][0]["rules"][0]["operations"]
        raise AssertionError("no webhook is shipped")

    def _creation_fails(self, node):
        try:
            self.api.call("POST", API, {"apiVersion": "nodemaintenance.medik8s.io/v1beta1", "kind": "NodeMaintenance",
                                        "metadata": {"name": "probe"}, "spec": {"nodeName": node}}, attempts=1)
        except Refused as error:
            return "failed calling webhook" in str(error)
        self.api.delete(f"{API}/probe")
        return False

    def _refused_by_the_crd(self, function):
        with self.assertRaises(Refused) as raised:
            function()
        self.assertEqual(raised.exception.status, 422)
        self.assertIn("updating spec.NodeName isn't allowed", str(raised.exception))

    def test_only_one_of_many(self):
        """Ten creations for one node at the same time: one object, nine refusals."""
        node = self.node_names[0]
        self._self_signed()
        refused = []

        def create(name):
            try:
                self.api.call("POST", API, {"apiVersion": "nodemaintenance.medik8s.io/v1beta1", "kind": "NodeMaintenance",
                                            "metadata": {"name": name}, "spec": {"nodeName": node}}, attempts=1)
            except Refused as error:
                refused.append(str(error))
        side_by_side(create, [f"many-{index}" for index in range(10)], 10)
        self.assertEqual(len(refused), 9, refused)
        self.assertEqual(len(self.api.list(API)[0]), 1)

    def test_two_replicas_share_a_certificate(self):
        """Both make one at the same time: one Secret, and both serve what the API server trusts."""
        self._register()
        ports = [self.port, free_port()]
        replicas = [self.start_operator(f"--webhook-bind-address=127.0.0.1:{port}", "--webhook-self-signed",
                                        "--webhook-host=127.0.0.1", f"--webhook-configuration={self.configuration}",
                                        "--webhook-secret=careen-webhook-tls") for port in ports]
        for replica in replicas:
            replica.wait_ready()
        self._wait_called()
        shown = {subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                 .stdout.partition("BEGIN CERTIFICATE")[2].partition("END CERTIFICATE")[0] for port in ports}
        self.assertEqual(len(shown), 1, "the replicas serve different certificates")
        self.assertGreater(len(shown.pop()), 100)

    def test_certificate_rotated_under_load(self):
        """Mounted files are replaced by a symbolic link, as a kubelet does, while objects are changed all the time:
        both CAs are trusted meanwhile, and no call fails."""
        first, first_ca = certificate(self.folder, "first")
        second, second_ca = certificate(self.folder, "second")
        mounted = os.path.join(self.folder, "mounted")
        for name, paths in (("1", first), ("2", second)):
            os.makedirs(os.path.join(mounted, name))
            for kind in ("tls.crt", "tls.key"):
                os.rename(paths[kind], os.path.join(mounted, name, kind))
        os.symlink("1", os.path.join(mounted, "..data"))
        for kind in ("tls.crt", "tls.key"):
            os.symlink(os.path.join("..data", kind), os.path.join(mounted, kind))
        self._register(first_ca + second_ca)
        self.start_operator(f"--webhook-bind-address=127.0.0.1:{self.port}", f"--webhook-cert-dir={mounted}").wait_ready()
        self._wait_called()
        self.maintain("busy", self.node_names[0])
        failures, calls, ended = [], [], threading.Event()

        def work():
            while not ended.is_set():
                try:
                    self.api.call("PATCH", f"{API}/busy", {"spec": {"reason": f"number {len(calls)}"}},
                                  "application/merge-patch+json", attempts=1)
                    calls.append(1)
                except Refused as error:
                    if error.status != 409:
                        failures.append(str(error))
                time.sleep(0.01)
        worker = threading.Thread(target=work, daemon=True)
        worker.start()

        def shown():
            answer = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            return next((ca for ca in ("first", "second") if f"i:CN = {ca}" in answer), None)
        self.assertEqual(shown(), "first")
        os.symlink("2", os.path.join(mounted, "..new"))
        os.replace(os.path.join(mounted, "..new"), os.path.join(mounted, "..data"))
        poll(lambda: shown() == "second", 60, "the new certificate to be served", 0.3)
        before = len(calls)
        poll(lambda: len(calls) > before + 5, 60, "calls after the rotation")
        ended.set()
        worker.join(30)
        self.assertEqual(failures, [])
