#!/usr/bin/env python3
"""Attacks careen's ports as anybody can who reaches them: connections that never finish, reviews that are too large or
wait for each other, targets that lead elsewhere, and a replica that is asked to pass them on.

    strangers_test.py CAREEN        on a model cluster, on loopback addresses only
"""

import http.client
import json
import multiprocessing
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import yaml

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from careen import free_port  # noqa: E402

CAREEN = ""
LEADER, FOLLOWER = "127.0.0.2", "127.0.0.1"  # addresses of two replicas, which serve on the same port
PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/validate-nodemaintenance-medik8s-io-v1beta1-nodemaintenance"
CONFIG = "intervals: {requeue: 10s}\ninstances: {}\nprofiles: []\n"
DEFINITION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "crds", "nodemaintenance.yaml")
JSON = {"Content-Type": "application/json"}
MANY_PEERS = ("127.0.0.4", "127.0.0.5")  # who together may have as many connections as there are
PATIENCE = 60


def poll(what, condition):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if value := condition():
                return value
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE} s for {what}")


def unverified():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def ask(address, port, path, secure=False, method="GET", body=None, headers=None, timeout=10, source=None):
    own = (source, 0) if source else None
    connection = (http.client.HTTPSConnection(address, port, timeout=timeout, context=unverified(), source_address=own) if secure
                  else http.client.HTTPConnection(address, port, timeout=timeout, source_address=own))
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def say(address, port, text):
    """What the server answers to these bytes until it closes or pauses."""
    with socket.create_connection((address, port), timeout=5) as connection:
        connection.sendall(text)
        return connection.recv(65536).decode()


class Trap:
    """A port that strangers have no business with."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]

    def caught(self):
        try:
            self.socket.accept()[0].close()
            return True
        except BlockingIOError:
            return False


class StrangersTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.config = os.path.join(self.folder, "maintenance.yaml")
        with open(self.config, "w") as file:
            file.write(CONFIG)
        self.model_port = free_port()
        self.start("model", "model", "--nodes=3", f"--listen=127.0.0.1:{self.model_port}", f"--kubeconfig={self.kubeconfig}")
        poll("the model cluster", lambda: os.path.exists(self.kubeconfig) and
             ask("127.0.0.1", self.model_port, "/api/v1/nodes")[0] == 200)
        self.webhook, self.metrics, self.health = free_port(), free_port(), free_port()

    def start(self, name, *arguments, environment=None):
        log = open(os.path.join(self.folder, f"{name}.log"), "w")
        process = subprocess.Popen([CAREEN, *arguments], stdout=log, stderr=log, env={**os.environ, **(environment or {})})

        def end():
            process.kill()
            process.wait()
            log.close()
        self.addCleanup(end)
        return process

    def run_careen(self, name="careen", address=FOLLOWER, *more):
        """A replica; with more than one, the lock decides."""
        process = self.start(name, "run", f"--kubeconfig={self.kubeconfig}", f"--config={self.config}",
                             f"--metrics-addr={address}:{self.metrics}", f"--health-addr={address}:{self.health}",
                             "--dashboard-auth=none", *more, environment={"POD_NAME": name})
        poll(f"{name} to be ready", lambda: ask(address, self.health, "/readyz")[0] == 200)
        return process

    def run_with_webhook(self, *more):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", os.path.join(self.folder, "tls.key"), "-out", os.path.join(self.folder, "tls.crt"),
                        "-days", "2", "-subj", "/CN=webhook"], check=True, stderr=subprocess.DEVNULL)
        return self.run_careen("careen", FOLLOWER, f"--webhook-bind-address=127.0.0.1:{self.webhook}",
                               f"--webhook-cert-dir={self.folder}", *more)

    def define_maintenances(self):
        with open(DEFINITION) as file:
            definition = json.dumps(yaml.safe_load(file))
        status, answer = ask("127.0.0.1", self.model_port, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                             method="POST", body=definition, headers=JSON)
        self.assertEqual(status, 201, answer)

    def review(self, text, source=None):
        return ask("127.0.0.1", self.webhook, REVIEWS, True, "POST", text, JSON, source=source)

    def create(self, name, node):
        """Whether the API server may create this maintenance, and why not."""
        response = json.loads(self.review(creation_of(name, node), "127.0.0.9")[1])["response"]
        return response["allowed"], response["status"].get("message", "")

    def all_answer(self):
        self.assertEqual(ask(FOLLOWER, self.health, "/healthz")[0], 200)
        self.assertEqual(ask(FOLLOWER, self.metrics, "/metrics")[0], 200)
        status, answer = self.review(review_with("0"))
        self.assertEqual((status, json.loads(answer)["response"]["allowed"]), (200, True), answer)

    def test_connections_that_never_finish(self):
        self.run_with_webhook()
        self.all_answer()
        body = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf"
        open_connections = []
        try:
            for port, begun in ((self.health, body), (self.metrics, body), (self.webhook, b""), (self.webhook, b"\x16\x03")):
                for _ in range(300):
                    connection = socket.create_connection(("127.0.0.1", port), timeout=5)
                    connection.sendall(begun)
                    open_connections.append(connection)
                self.all_answer()
        finally:
            for connection in open_connections:
                connection.close()

    def test_reviews_that_are_too_large(self):
        process = self.run_with_webhook()
        self.all_answer()
        before = memory(process.pid, "VmRSS")
        # Deep and wide takes the most memory for its text.
        for size in (1_000_000, 6_000_000):
            text = review_with("[" + ",".join(["[]"] * (size // 3)) + "]")
            for _ in range(10):
                try:
                    self.review(text)
                except (OSError, http.client.HTTPException):
                    pass  # refused before all of it was sent
        peak = memory(process.pid, "VmHWM")
        print(f"\nmemory: {before >> 10} MiB before, {peak >> 10} MiB at most")
        self.assertLess(peak - before, 64 << 10)
        self.all_answer()

    def test_reviews_that_wait_for_each_other(self):
        """Each asks for a maintenance of a node that another one has just been admitted for, and comes again."""
        self.define_maintenances()
        self.run_with_webhook()
        self.all_answer()
        # In a process of its own: whoever asks meanwhile does not wait for those who attack.
        answered = multiprocessing.Array("i", 256, lock=False)
        attack = multiprocessing.get_context("fork").Process(target=self.come_again_and_again, args=(answered,), daemon=True)
        attack.start()
        try:
            poll("most of them to be there", lambda: sum(1 for count in answered if count > 0) >= len(answered) // 2)
            for attempt in range(5):
                self.all_answer()
                self.assertEqual(self.create(f"real-{attempt}", f"node-{1 + attempt % 2}"), (True, ""))
                poll("a while", lambda until=time.monotonic() + 1: time.monotonic() > until)
            self.assertTrue(attack.is_alive())
        finally:
            attack.kill()
            attack.join()

    def come_again_and_again(self, answered):
        def come_again(which):
            while True:
                connection = http.client.HTTPSConnection("127.0.0.1", self.webhook, timeout=15, context=unverified(),
                                                         source_address=(MANY_PEERS[which % 2], 0))
                try:
                    while True:
                        connection.request("POST", REVIEWS, creation_of(f"x-{which}-{answered[which]}", "node-0"), JSON)
                        connection.getresponse().read()
                        answered[which] += 1
                        time.sleep(0.2)
                except (OSError, http.client.HTTPException):
                    time.sleep(1)  # it had to make room
                finally:
                    connection.close()
        for which in range(len(answered)):
            threading.Thread(target=come_again, args=(which,)).start()

    def test_a_made_up_review_keeps_no_control_plane_node_from_its_maintenance(self):
        self.define_maintenances()
        for node in ("node-0", "node-1", "node-2"):
            patch = json.dumps({"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}})
            status, answer = ask("127.0.0.1", self.model_port, f"/api/v1/nodes/{node}", method="PATCH", body=patch,
                                 headers={"Content-Type": "application/merge-patch+json"})
            self.assertEqual(status, 200, answer)
        self.run_with_webhook("--webhook-protect-control-plane")
        self.review(creation_of("made-up", "node-0"), MANY_PEERS[0])
        self.assertEqual(self.create("real", "node-1"), (True, ""))

    def test_targets_that_are_no_paths(self):
        self.run_careen()
        for target in ("%2Fmetrics", "metrics", "@127.0.0.1:1/x", "http://127.0.0.1/metrics", "//127.0.0.1/metrics", "*",
                       "/metrics/../metrics", "/%2e%2e/metrics", "/a%2fb", "/a%0d%0ab", "/a\\b"):
            answer = say(FOLLOWER, self.metrics, f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            self.assertTrue(answer.startswith("HTTP/1.1 400 "), (target, answer[:200]))

    def run_two(self, *flags):
        """One leads, the other passes on."""
        self.run_careen("leader", LEADER, "--enable-leader-election", *flags)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "leader", "namespace": "default"},
               "spec": {"containers": [{"name": "careen", "image": "careen"}], "nodeName": "node-0"}}
        status, answer = ask("127.0.0.1", self.model_port, PODS, method="POST", body=json.dumps(pod),
                             headers={"Content-Type": "application/json"})
        self.assertEqual(status, 201, answer)
        poll("the leader's address", self.set_address)
        self.run_careen("follower", FOLLOWER, "--enable-leader-election", *flags)

    def set_address(self):
        patch = json.dumps({"status": {"podIP": LEADER, "phase": "Running"}})
        status, answer = ask("127.0.0.1", self.model_port, f"{PODS}/leader/status", method="PATCH", body=patch,
                             headers={"Content-Type": "application/merge-patch+json"})
        self.assertEqual(status, 200, answer)
        return json.loads(ask("127.0.0.1", self.model_port, f"{PODS}/leader")[1])["status"]["podIP"] == LEADER

    def leads(self, answer):
        return json.loads(answer)["careen"]["identity"].startswith("leader_")

    def test_a_follower_passes_on_to_the_leader_and_nowhere_else(self):
        self.run_two()
        fleet = poll("the leader's answer", lambda: (found := ask(FOLLOWER, self.metrics, "/careen/v1/fleet"))[0] == 200 and found[1])
        self.assertTrue(self.leads(fleet), fleet[:500])
        trap = Trap()
        for target in (f"%2Fcareen%2Fv1%2F@127.0.0.1:{trap.port}/x", f"/careen/v1/@127.0.0.1:{trap.port}/x",
                       f"/careen/v1/..%2f@127.0.0.1:{trap.port}/x", f"//127.0.0.1:{trap.port}/careen/v1/x"):
            say(FOLLOWER, self.metrics, f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            self.assertFalse(trap.caught(), target)

    def test_replicas_know_each_other_over_tls(self):
        self.run_two("--metrics-secure")
        fleet = poll("the leader's answer",
                     lambda: (found := ask(FOLLOWER, self.metrics, "/careen/v1/fleet", True))[0] == 200 and found[1])
        self.assertTrue(self.leads(fleet), fleet[:500])


def review_with(filling):
    """An update that changes nothing, with something large beside it."""
    subject = '{"metadata": {"name": "m"}, "spec": {"nodeName": "node-0"}'
    return ('{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "1", "operation": "UPDATE", '
            f'"object": {subject}, "x": {filling}}}, "oldObject": {subject}}}}}}}')


def creation_of(name, node):
    subject = {"metadata": {"name": name}, "spec": {"nodeName": node}}
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
                       "request": {"uid": "1", "operation": "CREATE", "name": name, "object": subject}})


def memory(pid, what):
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(what + ":"))


if __name__ == "__main__":
    CAREEN = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
