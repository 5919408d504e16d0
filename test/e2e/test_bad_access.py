"""An API server that cannot be reached, or that does not let careen in."""

import os
import socket
import subprocess
import threading

from careen import free_port
from harness import CareenTest


class BadAccessTest(CareenTest):
    """Each: one message, not one a second; the probe and the metric tell; it recovers by itself."""

    def _attempts(self, careen, **labels):
        """How often the API was asked in vain."""
        def count():
            return sum(value for found, value in careen.metrics().find("careen_api_requests_total", **labels)
                       if not found["code"].startswith("2"))
        return count

    def _goes_on(self, careen, key):
        self.check_recovered(careen, key)
        self.want_maintenance(self.node_names[:2])
        self.watch.wait_until(self.done(self.node_names[:2]), 60, "a round after the recovery")

    def test_unreachable_server(self):
        port = free_port()
        careen = self.start(kubeconfig=self.kubeconfig(server=f"https://127.0.0.1:{port}"))
        key = self.check_reported(careen, "nodes", f"127.0.0.1:{port}|[Cc]onnect", ready=False,
                                  attempts=self._attempts(careen))
        forwarder = Forwarder(port, self.api.port)
        self.addCleanup(forwarder.close)
        self._goes_on(careen, key)

    def test_server_that_hangs(self):
        """Connections are taken and never answered: a time-out ends each attempt."""
        port = free_port()
        with socket.socket() as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            silent.bind(("127.0.0.1", port))
            silent.listen(50)
            careen = self.start(kubeconfig=self.kubeconfig(server=f"https://127.0.0.1:{port}"))
            key = self.check_reported(careen, "nodes", "time", ready=False, seconds=45)
        forwarder = Forwarder(port, self.api.port)
        self.addCleanup(forwarder.close)
        self._goes_on(careen, key)

    def test_wrong_authority(self):
        """The kubeconfig trusts another authority; the file is then replaced by the right one."""
        authority = os.path.join(self.folder, "ca.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", os.devnull, "-out", authority, "-days", "1", "-subj", "/CN=somebody else"],
                       check=True, capture_output=True)
        careen = self.start(kubeconfig=self.kubeconfig(cluster={"certificate-authority": authority}))
        key = self.check_reported(careen, "nodes", "[Cc]ertificate|authority|issuer", ready=False,
                                  attempts=self._attempts(careen))
        with open(self.cluster.ca) as right:
            text = right.read()
        os.rename(self.write("ca.new", text), authority)
        self._goes_on(careen, key)

    def test_expired_token(self):
        """401; the token file is then rotated."""
        token = self.service_account("careen")
        self._bind(["get", "list", "watch", "patch"])
        path = self.write("token", _expired(token))
        careen = self.start(kubeconfig=self.kubeconfig(user={"tokenFile": path}))
        key = self.check_reported(careen, "nodes", "401|Unauthorized|token", ready=False,
                                  attempts=self._attempts(careen, code="401"))
        os.rename(self.write("token.new", token), path)
        self._goes_on(careen, key)

    def test_forbidden_watch(self):
        """403 until somebody grants the rights."""
        token = self.service_account("careen")
        careen = self.start(kubeconfig=self.kubeconfig(user={"token": token}))
        key = self.check_reported(careen, "nodes", "403|[Ff]orbidden", ready=False)
        self._bind(["get", "list", "watch", "patch"])
        self._goes_on(careen, key)

    def test_forbidden_writes(self):
        """Nodes may be read, not written: told once a node, nothing is lost, and it goes on with the rights."""
        token = self.service_account("careen")
        self._bind(["get", "list", "watch"])
        names = self.node_names[:2]
        self.want_maintenance(names)
        careen = self.start(kubeconfig=self.kubeconfig(user={"token": token})).wait_ready()
        key = self.check_reported(careen, names[0], "forbidden|403", ready=True)
        self._bind(["get", "list", "watch", "patch"])
        self.check_recovered(careen, key)
        self.watch.wait_until(self.done(names), 60, "a round after the recovery")

    def test_lock_that_cannot_be_read(self):
        """With election on and no rights on leases nothing is decided; with them it begins."""
        token = self.service_account("careen")
        self._bind(["get", "list", "watch", "patch"])
        self.want_maintenance(self.node_names[:1])
        careen = self.start_elected(kubeconfig=self.kubeconfig(user={"token": token})).wait_ready()
        key = self.check_reported(careen, "lead|elect|lock|lease", "forbidden|403", ready=True,
                                  attempts=self._attempts(careen, code="403"))
        self.assertEqual(careen.metrics().sum("careen_node_writes_total"), 0)
        self._bind(["get", "list", "watch", "create", "update", "patch"], "coordination.k8s.io", "leases")
        self.check_recovered(careen, key)
        self.watch.wait_until(self.done(self.node_names[:1]), 60, "a round under the lock")

    def test_kubeconfig_that_makes_no_sense(self):
        """Nothing to wait for: the message names the file, and the process ends with code 1."""
        for text, pattern in ((None, "No such file|not exist"), ("{}", "context|empty|no "),
                              ("clusters:\n\t- x", "tab|:2:")):
            with self.subTest(text=text):
                path = os.path.join(self.folder, "bad-kubeconfig")
                if text is not None:
                    self.write("bad-kubeconfig", text)
                careen = self.start(kubeconfig=path)
                self.assertEqual(careen.wait_exit(10), 1)
                self.assertEqual(len(careen.complaints()), 1, careen.complaints())
                self.assertEqual(len(careen.complaints("bad-kubeconfig.*(" + pattern + ")")), 1, careen.complaints())

    def _bind(self, verbs, group="", resource="nodes"):
        """Gives the test's service account rights on a resource."""
        name = f"{self.namespace}-{resource}"
        rights = "/apis/rbac.authorization.k8s.io/v1"
        rules = [{"apiGroups": [group], "resources": [resource], "verbs": verbs}]
        if not self.api.create(f"{rights}/clusterroles", {"metadata": {"name": name}, "rules": rules}):
            self.api.patch(f"{rights}/clusterroles/{name}", {"rules": rules})
        self.api.create(f"{rights}/clusterrolebindings", {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "careen", "namespace": self.namespace}]})
        self.addCleanup(self.api.delete, f"{rights}/clusterrolebindings/{name}")


def _expired(token):
    """The token with another signature: as good as any that the server no longer takes."""
    head, body, signature = token.split(".")
    return ".".join([head, body, signature[::-1]])


class Forwarder:
    """Passes connections to a port on to another one."""

    def __init__(self, port, target):
        self._target = target
        self._sockets = []
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self._listener.listen(50)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._sockets += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pass(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            source.close()
            sink.close()

    def close(self):
        self._listener.close()
        for each in self._sockets:
            each.close()
