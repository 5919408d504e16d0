"""An API server that cannot be reached, or that does not let careen in."""

import os
import socket
import subprocess
import threading

from careen import free_port, poll
from harness import READ_PAUSES, CareenTest


class BadAccessTest(CareenTest):
    """Each: one message, not one a second; the probe and the metric tell; it recovers by itself."""

    def _attempts(self, careen, **labels):
        """How often the API was asked in vain."""
        def count():
            return sum(value for found, value in careen.metrics().find("careen_api_requests_total", **labels)
                       if not found["code"].startswith("2"))
        return count

    def test_no_way_in(self):
        """Six replicas that cannot get in, each for another reason; all are let in, and one of them leads."""
        cases = [Unreachable(self), Hanging(self), WrongAuthority(self), ExpiredToken(self), Forbidden(self),
                 NoLock(self)]
        for case in cases:
            case.careen = self.start_elected(kubeconfig=case.kubeconfig)
        keys = {}
        for case in cases:
            with self.subTest(case=type(case).__name__, step="reported"):
                keys[case] = [
                    self.check_reported(case.careen, problem, pattern, case.ready, seconds=45,
                                        attempts=case.retries_soon and self._attempts(case.careen, resource=resource))
                    for problem, pattern, resource in case.problems]
        self.assertEqual(sum(case.careen.metrics().sum("careen_node_writes_total") for case in cases), 0)
        for case in cases:
            case.repair()
        for case in cases:
            with self.subTest(case=type(case).__name__, step="recovered"):
                for key in keys.get(case, []):
                    self.check_recovered(case.careen, key)
                case.careen.wait_ready()
        poll(lambda: sum(case.careen.metrics().sum("leader_election_master_status") for case in cases) == 1, 30,
             "one of them to lead")
        self.want_maintenance(self.node_names[:2])
        self.watch.wait_until(self.done(self.node_names[:2]), 60, "a round after the recovery")

    def test_forbidden_writes(self):
        """Nodes may be read, not written: one cause, one message, however many nodes; with the rights it continues."""
        token = self.service_account("careen")
        self.grant("careen", "nodes", "get", "list", "watch")
        self.grant_rules("careen", [READ_PAUSES], "pauses")
        names = self.node_names[:2]
        self.want_maintenance(names)
        careen = self.start(kubeconfig=self.kubeconfig(user={"token": token})).wait_ready()
        key = self.check_reported(careen, "write", "forbidden|403", ready=True,
                                  attempts=self._attempts(careen, verb="patch", resource="nodes"))
        self.assertEqual(len(careen.complaints("nodes.*forbidden")), 1, "messages about the rights on nodes")
        self.grant("careen", "nodes", "get", "list", "watch", "patch")
        self.check_recovered(careen, key)
        self.watch.wait_until(self.done(names), 60, "a round after the recovery")

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


class _Case:
    """A replica that is not let in."""

    ready = False        # whether it is ready nevertheless: it knows the nodes
    retries_soon = True  # often enough to wait for two more attempts

    def __init__(self, test):
        self.test = test
        self.name = type(self).__name__.lower()
        self.folder = os.path.join(test.folder, self.name)
        os.mkdir(self.folder)
        self.prepare()

    def write_kubeconfig(self, **changes):
        self.kubeconfig = self.test.kubeconfig(folder=self.folder, **changes)

    def write(self, name, text):
        return self.test.write(os.path.join(self.name, name), text)


class Unreachable(_Case):
    """Nobody listens."""

    def prepare(self):
        self.port = free_port()
        self.write_kubeconfig(server=f"https://127.0.0.1:{self.port}")
        self.problems = [("nodes", f"nodes.*127.0.0.1:{self.port}", "nodes"),
                         ("election", f"lease.*127.0.0.1:{self.port}", "leases")]

    def repair(self):
        self.test.addCleanup(Forwarder(self.port, self.test.api.port).close)


class Hanging(Unreachable):
    """Connections are taken and never answered: a time-out ends each attempt."""

    retries_soon = False

    def prepare(self):
        super().prepare()
        self.silent = socket.socket()
        self.test.addCleanup(self.silent.close)
        self.silent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.silent.bind(("127.0.0.1", self.port))
        self.silent.listen(50)

    def repair(self):
        self.silent.close()
        super().repair()


class WrongAuthority(_Case):
    """The kubeconfig trusts another authority; the file is then replaced by the right one."""

    problems = [("nodes", "[Cc]ertificate.*authorit", "nodes"), ("election", "lease.*certificate", "leases")]

    def prepare(self):
        self.authority = os.path.join(self.folder, "ca.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", os.devnull, "-out", self.authority, "-days", "1", "-subj", "/CN=somebody else"],
                       check=True, capture_output=True)
        self.write_kubeconfig(cluster={"certificate-authority": self.authority})

    def repair(self):
        with open(self.test.cluster.ca) as right:
            os.rename(self.write("ca.new", right.read()), self.authority)


class ExpiredToken(_Case):
    """A token that the server no longer takes; the file is then rotated."""

    problems = [("nodes", "watch nodes.*credentials", "nodes"), ("election", "lease.*Unauthorized", "leases")]

    def prepare(self):
        self.token = self.test.service_account(self.name)
        self.test.grant(self.name, "nodes", "get", "list", "watch", "patch")
        self.test.grant(self.name, "leases", "get", "list", "watch", "create", "update", "patch")
        head, body, signature = self.token.split(".")
        self.path = self.write("token", ".".join([head, body, signature[::-1]]))
        self.write_kubeconfig(user={"tokenFile": self.path})

    def repair(self):
        os.rename(self.write("token.new", self.token), self.path)


class Forbidden(_Case):
    """A service account without rights, until somebody grants them."""

    retries_soon = False
    problems = [("nodes", "nodes.*forbidden", "nodes"), ("election", "lease.*forbidden", "leases")]

    def prepare(self):
        self.write_kubeconfig(user={"token": self.test.service_account(self.name)})

    def repair(self):
        self.test.grant(self.name, "nodes", "get", "list", "watch", "patch")
        self.test.grant(self.name, "leases", "get", "list", "watch", "create", "update", "patch")


class NoLock(_Case):
    """Nodes may be read and written, and the lock may not: nothing is decided."""

    ready = True
    problems = [("election", "lease.*forbidden", "leases")]

    def prepare(self):
        self.write_kubeconfig(user={"token": self.test.service_account(self.name)})
        self.test.grant(self.name, "nodes", "get", "list", "watch", "patch")

    def repair(self):
        self.test.grant(self.name, "leases", "get", "list", "watch", "create", "update", "patch")


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
