"""Drains as others rely on them: a webhook hears of each eviction and moves the pod, as operators of virtual machines and
brokers do; and pods that come back to the node keep no drain from its end."""

import base64
import http.server
import json
import ssl
import subprocess
import threading

from careen import free_port, poll
from harness import Environment
from maintenance import MaintenanceTest
from test_webhook import certificate

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MOVED_AFTER = 2  # seconds


class Mover:
    """Serves the webhook: deletes each pod two seconds after it was first asked for, unless it is told not to. With a
    code it denies the request with that meanwhile, else it lets it pass, for the disruption budget to refuse."""

    def __init__(self, api, namespace, paths, port, code, moves):
        self.asked = []
        self._api, self._namespace, self._code, self._moves = api, namespace, code, moves
        self._timers = []
        mover = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(mover.answer(review)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(paths["tls.crt"], paths["tls.key"])
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def answer(self, review):
        request = review["request"]
        name = request["name"]
        if self._moves and name not in self.asked:
            timer = threading.Timer(MOVED_AFTER, self._move, [name])
            self._timers.append(timer)
            timer.start()
        self.asked.append(name)
        response = {"uid": request["uid"], "allowed": self._code is None}
        if self._code is not None:
            response["status"] = {"code": self._code, "reason": "TooManyRequests", "message": "it is being moved"}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}

    def _move(self, name):
        self._api.delete(f"/api/v1/namespaces/{self._namespace}/pods/{name}")

    def stop(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for timer in self._timers:
            timer.join()


class EvictionWebhookTest(MaintenanceTest):

    def _serve(self, code=None, moves=True):
        port, name = free_port(), f"e2e-mover-{self.namespace}"
        paths, authority = certificate(self.folder, "mover")
        mover = Mover(self.api, self.namespace, paths, port, code, moves)
        self.addCleanup(mover.stop)
        self.api.call("POST", CONFIGURATIONS, {"metadata": {"name": name}, "webhooks": [{
            "name": "mover.example.com", "failurePolicy": "Ignore", "sideEffects": "NoneOnDryRun",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 5,
            "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(authority.encode()).decode()},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                       "resources": ["pods/eviction"]}]}]})
        self.addCleanup(self.api.delete, f"{CONFIGURATIONS}/{name}")
        self._wait_called(mover)
        return mover

    def _wait_called(self, mover):
        """The API server learns of a configuration by a watch."""
        def asked():
            self.bare_pod("probe", self.node_names[2], wait=False)
            self.api.raw("POST", f"/api/v1/namespaces/{self.namespace}/pods/probe/eviction", json.dumps({
                "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "probe", "namespace": self.namespace},
                "deleteOptions": {"gracePeriodSeconds": 0}}), "application/json")
            self.api.delete(f"/api/v1/namespaces/{self.namespace}/pods/probe?gracePeriodSeconds=0")
            poll(lambda: self.api.get(f"/api/v1/namespaces/{self.namespace}/pods/probe") is None, 20, "the probe to be gone")
            return "probe" in mover.asked
        poll(asked, 60, "the API server to call the webhook", 0.3)

    def _machine(self):
        """One replica that must never be missing, on the first node; another node would take it."""
        node, other = self.node_names[:2]
        self.pool(node)
        self.deployment("vm", 1)
        self.budget("vm", "vm", 1)
        self.pool(other)
        return node

    def _asked_for(self, mover):
        return [name for name in mover.asked if name.startswith("vm-")]

    def test_a_webhook_that_passes_the_request_on(self):
        """The budget refuses, the webhook moves the pod all the same, and the maintenance succeeds."""
        node = self._machine()
        mover = self._serve()
        self.start_operator().wait_ready()
        self.audit.mark()
        self.maintain("move", node)
        self.wait_phase("move", "Succeeded", 30)
        self.assertEqual(len(self._asked_for(mover)), 1, "once is enough")
        self.assertEqual([code for _, code in self.evictions()], [429])

    def test_a_webhook_that_denies(self):
        node = self._machine()
        mover = self._serve(429)
        self.start_operator().wait_ready()
        self.maintain("move", node)
        self.wait_phase("move", "Succeeded", 30)
        self.assertEqual(len(self._asked_for(mover)), 1)

    def test_from_the_terminal(self):
        node = self._machine()
        mover = self._serve()
        code, said = self._drain(node, "--chunk-size", "0", "--timeout", "60s")
        self.assertEqual(code, 0, said)
        self.assertEqual(len(self._asked_for(mover)), 1)

    def test_what_is_denied_for_good_ends_the_command(self):
        """As it ends kubectl drain: after one request, once the other pods are gone, with exit code 1."""
        node = self._machine()
        self.bare_pod("other", node, terminationGracePeriodSeconds=1)
        mover = self._serve(403, moves=False)
        code, said = self._drain(node, "--force")
        self.assertEqual(code, 1, said)
        pod = self._asked_for(mover)[0]
        self.assertIn(f'unable to drain node "{node}" due to error: error when evicting pods/"{pod}" -n "{self.namespace}": '
                      'admission webhook "mover.example.com" denied the request: it is being moved', said)
        self.assertEqual(sorted(set(mover.asked) - {"probe"}), sorted(["other", pod]))
        self.assertEqual(len(self._asked_for(mover)), 1)

    def _drain(self, node, *flags):
        """The exit code, and all that was said."""
        run = subprocess.run([Environment.binary, "drain", "--kubeconfig", self.cluster.kubeconfig, node,
                              "--ignore-daemonsets", *flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=120)
        return run.returncode, run.stdout

    def test_pods_that_come_back(self):
        """A Deployment that is pinned to the node and tolerates everything: its pods of the beginning go, those that
        come later are left alone, and the maintenance succeeds."""
        node = self.node_names[0]
        self.deployment("pinned", 3, nodeSelector=None, nodeName=node, tolerations=[{"operator": "Exists"}],
                        terminationGracePeriodSeconds=0)
        self.start_operator().wait_ready()
        self.audit.mark()
        self.maintain("pinned", node)
        self.wait_phase("pinned", "Succeeded", 60)
        self.wait_ready_pods("pinned", 3)
        self.assertLessEqual(len(self.evictions()), 6)
        self.assertEqual(self.status("pinned")["phase"], "Succeeded")
