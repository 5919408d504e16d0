"""The control plane that the tests run against: started once, and surely ended."""

import http.client
import json
import os
import shlex
import signal
import ssl
import subprocess
import sys
import unittest
import urllib.parse

from api import Api

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "testcluster", "testcluster")


class Cluster:
    """A cluster of tools/testcluster."""

    def __init__(self, name, *flags):
        self.name = name
        self._flags = list(flags)
        self._guard = None
        self.up_output = ""

    def up(self):
        # Whatever ends this process, also a SIGKILL: the shell then sees the end of its input and cleans up.
        self._guard = subprocess.Popen(
            ["sh", "-c", f"trap '' INT TERM HUP; read go_on || exec {shlex.quote(TOOL)} down --name {self.name}"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.up_output = subprocess.run([TOOL, "up", "--name", self.name, *self._flags], check=True,
                                        stdout=subprocess.PIPE, text=True).stdout
        return self.connect()

    def connect(self):
        """Learns how to reach the cluster, which runs."""
        environment = {}
        for line in self.tool("env").splitlines():
            words = shlex.split(line)
            if words[0] == "export":
                key, _, value = words[1].partition("=")
                environment[key] = value
        self.server = environment["TESTCLUSTER_SERVER"]
        self.kubeconfig = environment["KUBECONFIG"]
        self.ca = environment["TESTCLUSTER_CA"]
        self.certificate = environment["TESTCLUSTER_CERT"]
        self.key = environment["TESTCLUSTER_KEY"]
        self.audit_log = environment.get("TESTCLUSTER_AUDIT_LOG")
        self.kubectl_path = os.path.join(environment["PATH"].split(":")[0], "kubectl")
        self.api = self.api_as("careen-test")
        return self

    def api_as(self, agent):
        """A client that the API server knows by that name, also as the manager of what it writes."""
        return Api(self.server, self.ca, self.certificate, self.key, agent=agent)

    def status_for(self, token, path):
        """What the API server answers to whoever has that token and nothing else."""
        address = urllib.parse.urlsplit(self.server)
        connection = http.client.HTTPSConnection(address.hostname, address.port, timeout=20,
                                                 context=ssl.create_default_context(cafile=self.ca))
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "User-Agent": "careen-test"})
            return connection.getresponse().status
        finally:
            connection.close()

    def etcd(self, path, value):
        """Asks etcd itself, past the API server, through its JSON gateway."""
        folder = os.path.dirname(self.kubeconfig)
        with open(os.path.join(folder, "cluster.json")) as file:
            port = json.load(file)["ports"]["etcd"]
        key = os.path.join(folder, "pki", "etcd-client")
        return Api(f"https://127.0.0.1:{port}", self.ca, f"{key}.crt", f"{key}.key").call("POST", path, value)

    def tool(self, command, *arguments):
        result = subprocess.run([TOOL, command, "--name", self.name, *arguments], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if result.returncode:
            raise RuntimeError(f"testcluster {command} {' '.join(arguments)} failed:\n{result.stderr}")
        return result.stdout

    def kubectl(self, *arguments, stdin=None):
        result = subprocess.run([self.kubectl_path, "--kubeconfig", self.kubeconfig, *arguments], text=True,
                                input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if result.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)} failed:\n{result.stderr}")
        return result.stdout

    def down(self):
        subprocess.run([TOOL, "down", "--name", self.name], check=False)
        if self._guard:
            self._guard.stdin.write(b"done\n")
            self._guard.stdin.close()
            self._guard.wait()
            self._guard = None


class Stopped(KeyboardInterrupt):
    """A signal asked the program to end. unittest takes whatever else comes up in a test for the test's failure."""


def stop_on_signals(deadline=None):
    """Turns signals, and the passing of a deadline in seconds, into an exception, so that clean-up runs."""
    def arrived(number, _frame):
        for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            signal.signal(ignored, signal.SIG_IGN)
        print(f"\nstopped by {signal.Signals(number).name}, cleaning up", file=sys.stderr, flush=True)
        raise Stopped(signal.Signals(number).name)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, arrived)
    if deadline:
        signal.alarm(deadline)


def run_tests_on(cluster, test_class):
    """The tests of the running program on a cluster that is there for as long as they run; the exit code."""
    stop_on_signals()
    test_class.cluster = cluster
    try:
        cluster.up()
        return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1
    except Stopped:
        return 1
    finally:
        cluster.down()
