"""One cluster: bringing it up, changing it, taking it down."""

import base64
import contextlib
import json
import os
import random
import shutil
import socket
import time

from . import build, components, pki, populate, process
from .api import Client, Refused
from .common import (INTERRUPTS, Deadline, Failure, UsageError, check_name, file_lock, say,
                     state_base, tail, write_file, write_json)

_PORT_ATTEMPTS = 5


class PortTaken(Failure):
    """A component could not listen on the port chosen for it."""


class Cluster:
    """A cluster's recorded state, and what can be done with it."""

    def __init__(self, name, state):
        self.name = name
        self.state = state
        self.paths = components.Paths(os.path.join(state_base(), name))

    # --- state -------------------------------------------------------------

    @classmethod
    def load(cls, name):
        """The cluster of that name, or None."""
        check_name(name)
        try:
            with open(os.path.join(state_base(), name, "cluster.json")) as file:
                return cls(name, json.load(file))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise Failure(f"the state of cluster '{name}' cannot be read: {error}") from None

    @classmethod
    def get(cls, name):
        cluster = cls.load(name)
        if cluster is None:
            raise Failure(f"there is no cluster '{name}' (`testcluster list` shows all)")
        return cluster

    @classmethod
    def all(cls):
        found = []
        for entry in sorted(os.listdir(state_base())):
            if entry.startswith("."):
                continue
            try:
                cluster = cls.load(entry)
            except (Failure, UsageError) as error:
                say(f"skipped: {error}")
                continue
            if cluster:
                found.append(cluster)
        return found

    def save(self):
        write_json(self.paths.state, self.state)

    @property
    def ports(self):
        return self.state["ports"]

    @property
    def options(self):
        return self.state["options"]

    @property
    def names(self):
        """The components this cluster has, in starting order."""
        return [name for name in components.NAMES if name not in self.options["without"]]

    @property
    def server(self):
        return f"https://127.0.0.1:{self.ports['apiserver']}"

    def record(self, component):
        return self.state["processes"].get(component)

    def running(self, component):
        return process.alive(self.record(component))

    def client(self):
        return Client(self.paths.pki, self.ports["apiserver"])

    def require(self, names):
        for component in names:
            if component not in self.names:
                raise Failure(f"cluster '{self.name}' was made without {component}")

    # --- components --------------------------------------------------------

    def launch(self, component):
        """Starts a component without waiting for it."""
        if component == "kwok":
            self._forget_leases()
        program = os.path.join(self.state["programs"], components.PROGRAM[component])
        flags = components.arguments(component, self.paths, self.ports, self.options)

        def started(record):
            self.state["processes"][component] = record
            self.save()

        process.start([program] + flags, self.paths.log(component), started, self.paths.folder,
                      components.environment(component, self.paths))

    def wait_ready(self, component, timeout):
        """Waits until a component says that it is ready."""
        deadline = Deadline(timeout)
        program = components.PROGRAM[component]
        log = self.paths.log(component)
        while True:
            if not self.running(component):
                kind = PortTaken if "address already in use" in tail(log, 40) else Failure
                raise kind(f"{program} exited; the end of {log}:\n{tail(log)}")
            problem = components.ready(component, self.paths, self.ports)
            if problem is None:
                return
            if deadline.passed():
                raise Failure(f"{program} is not ready after {timeout:.0f}s ({problem}); "
                              f"the end of {log}:\n{tail(log)}")
            time.sleep(0.1)

    def _forget_leases(self):
        """Removes the node leases, which name the previous KWOK process as holder.

        A new process would otherwise leave every node alone until they expire.
        """
        with contextlib.suppress(Failure):
            self.client().call(
                "DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
                attempts=2)

    def stop(self, names, graceful):
        for component in names:
            if process.end([self.record(component)], graceful):
                say(f"stopped {component}" + ("" if graceful else " (SIGKILL)"))
            else:
                say(f"{component} was not running")
            self.state["processes"].pop(component, None)
            self.save()

    def start(self, names, timeout):
        for component in sorted(names, key=components.NAMES.index):
            if self.running(component):
                say(f"{component} runs already")
                continue
            begun = time.monotonic()
            self.launch(component)
            self.wait_ready(component, timeout)
            if component == "etcd" and self.running("apiserver"):
                self.wait_ready("apiserver", timeout)
            say(f"{component} ready after {time.monotonic() - begun:.1f}s")
        for component in self.names:
            if component in self.state["processes"] and not self.running(component):
                raise Failure(f"{components.PROGRAM[component]} exited meanwhile; the end of "
                              f"{self.paths.log(component)}:\n{tail(self.paths.log(component))}")

    # --- etcd --------------------------------------------------------------

    def compact(self):
        """Compacts etcd at its current revision, which is returned.

        A write comes first, so that the current revision is one that no client
        of the apiserver has seen, not even one that was up to date.
        """
        client = Client(self.paths.pki, self.ports["etcd"], "etcd-client")
        answer = client.call("POST", "/v3/kv/put", {
            "key": base64.b64encode(b"testcluster/compacted").decode()})
        revision = answer["header"]["revision"]
        client.call("POST", "/v3/kv/compaction", {"revision": revision, "physical": True},
                    attempts=1)
        return revision

    # --- nodes and pods ----------------------------------------------------

    def add_nodes(self, count, per_node, timeout):
        """Adds nodes, with pods if wanted; returns the names of the nodes."""
        client = self.client()
        first = populate.next_index(client)
        simulated = self.running("kwok")
        names = populate.create_nodes(client, first, count, build.versions()["kubernetes"],
                                      simulated)
        if per_node:
            if simulated:
                populate.wait_nodes(client, names, False, timeout)
            populate.create_pods(client, first, count, per_node)
            if simulated:
                populate.wait_pods(client, timeout + count * per_node / 50)
        return names

    def wait_nodes(self, names, timeout):
        """Waits for nodes as far as this cluster can make them Ready."""
        if not self.running("kwok"):
            say("KWOK does not run: the nodes stay NotReady")
            return
        controlled = self.running("controller-manager")
        if not controlled:
            say(f"the controller-manager does not run: the nodes keep the taint "
                f"{populate.NOT_READY}")
        populate.wait_nodes(self.client(), names, controlled, timeout)


# --- locks and ports -------------------------------------------------------

def name_lock(name):
    return file_lock(os.path.join(state_base(), f".cluster-{check_name(name)}.lock"),
                     f"another testcluster command on cluster '{name}'")


def _ports_in_use():
    """The ports that the clusters of this user have been given."""
    used = set()
    for cluster in Cluster.all():
        used.update(cluster.ports.values())
    return used


def _choose_ports(names, cluster):
    """Gives the cluster free ports, below the range that outgoing connections use.

    A port from that range could be taken by some connection while a component
    is stopped, and the component could not be started again on its port.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        top = min(32768, int(file.read().split()[0]))
    candidates = range(20000, top) if top > 24000 else range(1024 + 9000, 20000)
    with file_lock(os.path.join(state_base(), ".ports.lock"), "another choice of ports"):
        used = _ports_in_use()
        with contextlib.ExitStack() as stack:
            for name in names:
                for port in random.sample(candidates, len(candidates)):
                    if port in used:
                        continue
                    attempt = stack.enter_context(socket.socket())
                    attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    try:
                        attempt.bind(("127.0.0.1", port))
                    except OSError:
                        continue
                    cluster.ports[name] = port
                    used.add(port)
                    break
                else:
                    raise Failure("there is no free port on 127.0.0.1")
        cluster.save()


# --- up and down -----------------------------------------------------------

def up(name, options, nodes, per_node, programs, timeout):
    """Makes a cluster; leaves no process behind when that fails or is interrupted."""
    begun = time.monotonic()
    old = Cluster.load(name)
    if old:
        if any(old.running(component) for component in old.state["processes"]):
            raise Failure(f"cluster '{name}' is up already "
                          f"(`testcluster down --name {name}` takes it down)")
        say(f"removing what is left of an earlier cluster '{name}'")
    cluster = Cluster(name, {"created": time.time(), "options": options, "ports": {},
                             "processes": {}, "programs": programs})
    paths = cluster.paths
    shutil.rmtree(paths.folder, ignore_errors=True)
    try:
        os.makedirs(paths.logs, mode=0o700)
        _bring_up(cluster, nodes, per_node, timeout)
        say(f"cluster '{name}' is up after {time.monotonic() - begun:.1f}s: {cluster.server}")
    except BaseException as error:
        with INTERRUPTS.ignored():
            records = list(cluster.state["processes"].values())
            if records:
                say(f"stopping what was started of cluster '{name}' …")
            process.end(records)
            if isinstance(error, Failure):
                say(f"the logs are kept in {paths.logs}")
            else:
                shutil.rmtree(paths.folder, ignore_errors=True)
        raise
    return cluster


def _bring_up(cluster, nodes, per_node, timeout):
    paths = cluster.paths
    version = build.versions()["kubernetes"]
    _choose_ports([*cluster.names, "etcd-peer"], cluster)
    pki.create(paths.pki)
    components.write_configuration(paths, cluster.options, version)

    _start_with_free_ports(cluster, ["etcd"], timeout)
    _start_with_free_ports(cluster, ["apiserver"], timeout)
    for client in ["admin", "controller-manager", "scheduler", "kwok"]:
        target = paths.kubeconfig if client == "admin" else paths.client_kubeconfig(client)
        write_file(target, pki.kubeconfig(paths.pki, client, cluster.server, cluster.name))

    rest = [name for name in cluster.names if name not in ("etcd", "apiserver")]
    # Pods come before the controller-manager; see populate.create_pods.
    late = ["controller-manager"] if per_node and "controller-manager" in rest else []
    _start_with_free_ports(cluster, [name for name in rest if name not in late], timeout)
    names = cluster.add_nodes(nodes, per_node, timeout) if nodes else []
    _start_with_free_ports(cluster, late, timeout)
    if names:
        cluster.wait_nodes(names, timeout)
    if "controller-manager" in cluster.names:
        _wait_service_account(cluster, timeout)


def _start_with_free_ports(cluster, names, timeout):
    """Starts components side by side; chooses other ports for one that cannot listen."""
    begun = time.monotonic()
    for name in names:
        cluster.launch(name)
    for name in names:
        for attempt in range(_PORT_ATTEMPTS):
            try:
                cluster.wait_ready(name, timeout)
                break
            except PortTaken:
                if attempt == _PORT_ATTEMPTS - 1:
                    raise
                say(f"a port of {name} was taken meanwhile; trying another one")
                process.end([cluster.record(name)])
                if name == "etcd":
                    shutil.rmtree(cluster.paths.etcd, ignore_errors=True)
                _choose_ports(["etcd", "etcd-peer"] if name == "etcd" else [name], cluster)
                # Only now, so that the message about the old port is not found again.
                os.replace(cluster.paths.log(name), cluster.paths.log(name) + ".port-taken")
                cluster.launch(name)
        say(f"{components.PROGRAM[name]} ready after {time.monotonic() - begun:.1f}s")


def _wait_service_account(cluster, timeout):
    """Waits for the service account that pods in the namespace default need."""
    client = cluster.client()
    deadline = Deadline(timeout)
    while True:
        try:
            client.call("GET", "/api/v1/namespaces/default/serviceaccounts/default")
            return
        except Refused as error:
            if error.status != 404:
                raise
        if deadline.passed():
            raise Failure("kube-controller-manager made no service account 'default'; the end of "
                          f"its log:\n{tail(cluster.paths.log('controller-manager'))}")
        time.sleep(0.1)


def down(name):
    """Ends a cluster's processes and removes its files; True if there was one."""
    cluster = Cluster.load(name)
    folder = os.path.join(state_base(), name)
    if cluster is None and not os.path.isdir(folder):
        return False
    with INTERRUPTS.ignored():
        if cluster:
            records = list(cluster.state["processes"].values())
            process.end(records)
            left = [record["pid"] for record in records if process.alive(record)]
            if left:
                raise Failure(f"cluster '{name}': processes {left} do not end")
        shutil.rmtree(folder, ignore_errors=True)
    return True
