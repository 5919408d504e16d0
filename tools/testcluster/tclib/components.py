"""The components of a cluster: their flags, and how to tell that they are ready."""

import http.client
import os
import ssl

from .api import Client
from .common import SOURCE_DIR, UsageError, write_file

# In the order in which they are started.
NAMES = ["etcd", "apiserver", "controller-manager", "scheduler", "kwok"]
OPTIONAL = ["controller-manager", "scheduler", "kwok"]
PROGRAM = {"etcd": "etcd", "apiserver": "kube-apiserver",
           "controller-manager": "kube-controller-manager",
           "scheduler": "kube-scheduler", "kwok": "kwok"}
_ALIASES = {"kcm": "controller-manager", "api-server": "apiserver",
            **{program: name for name, program in PROGRAM.items()}}

CLIENT_QPS = 1000
CLIENT_BURST = 2000
KWOK_PARALLELISM = 32
# What kubelets do: the lease (40 s) every 10 s, the status every 5 minutes.
HEARTBEATS = {"lease": 40, "status": 300, "grace": None}
# On request: the lease every 150 s, the status every 30 minutes.
SLOW_HEARTBEATS = {"lease": 600, "status": 1800, "grace": 620}


def resolve(name):
    name = _ALIASES.get(name, name)
    if name not in NAMES:
        raise UsageError(f"unknown component '{name}': there are {', '.join(NAMES)}")
    return name


def heartbeats(options):
    return SLOW_HEARTBEATS if options["slow_heartbeats"] else HEARTBEATS


class Paths:
    """The files of one cluster."""

    def __init__(self, folder):
        self.folder = folder
        self.state = os.path.join(folder, "cluster.json")
        self.pki = os.path.join(folder, "pki")
        self.logs = os.path.join(folder, "logs")
        self.etcd = os.path.join(folder, "etcd")
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        self.audit_policy = os.path.join(folder, "audit-policy.yaml")
        self.audit_log = os.path.join(folder, "audit.log")
        self.kwok_config = os.path.join(folder, "kwok.yaml")

    def log(self, component):
        return os.path.join(self.logs, PROGRAM[component] + ".log")

    def client_kubeconfig(self, client):
        return os.path.join(self.folder, f"{client}.kubeconfig")

    def key(self, name):
        return os.path.join(self.pki, name)


# --- command lines ---------------------------------------------------------

def arguments(component, paths, ports, options):
    """The flags of a component, without the program."""
    maker = {"etcd": _etcd, "apiserver": _apiserver, "controller-manager": _controller_manager,
             "scheduler": _scheduler, "kwok": _kwok}[component]
    flags = maker(paths, ports, options)
    return [f"--{name}={value}" for name, value in flags.items()] + \
        options["arguments"].get(component, [])


def _etcd(paths, ports, _options):
    client = f"https://127.0.0.1:{ports['etcd']}"
    peer = f"https://127.0.0.1:{ports['etcd-peer']}"
    return {
        "name": "testcluster", "data-dir": paths.etcd,
        "listen-client-urls": client, "advertise-client-urls": client,
        "listen-peer-urls": peer, "initial-advertise-peer-urls": peer,
        "initial-cluster": f"testcluster={peer}",
        "cert-file": paths.key("etcd.crt"), "key-file": paths.key("etcd.key"),
        "trusted-ca-file": paths.key("ca.crt"), "client-cert-auth": "true",
        "peer-cert-file": paths.key("etcd.crt"), "peer-key-file": paths.key("etcd.key"),
        "peer-trusted-ca-file": paths.key("ca.crt"), "peer-client-cert-auth": "true",
        "unsafe-no-fsync": "true", "auto-compaction-retention": "0",
        "quota-backend-bytes": str(8 << 30), "log-level": "warn",
    }


def _apiserver(paths, ports, options):
    flags = {
        "etcd-servers": f"https://127.0.0.1:{ports['etcd']}",
        "etcd-cafile": paths.key("ca.crt"), "etcd-certfile": paths.key("etcd-client.crt"),
        "etcd-keyfile": paths.key("etcd-client.key"),
        "bind-address": "127.0.0.1", "secure-port": str(ports["apiserver"]),
        # There is nothing behind the service "kubernetes": no kube-proxy.
        "advertise-address": "127.0.0.1", "endpoint-reconciler-type": "none",
        "tls-cert-file": paths.key("apiserver.crt"),
        "tls-private-key-file": paths.key("apiserver.key"),
        "client-ca-file": paths.key("ca.crt"),
        "requestheader-client-ca-file": paths.key("front-proxy-ca.crt"),
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": paths.key("front-proxy-client.crt"),
        "proxy-client-key-file": paths.key("front-proxy-client.key"),
        "authorization-mode": "Node,RBAC", "enable-admission-plugins": "NodeRestriction",
        "service-cluster-ip-range": "10.96.0.0/16",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": paths.key("sa.pub"),
        "service-account-signing-key-file": paths.key("sa.key"),
        "allow-privileged": "true",
        # Lets a graceful stop end the watches instead of waiting for them for a minute.
        "shutdown-watch-termination-grace-period": "5s",
        # The defaults, spelled out because benchmarks depend on them.
        "max-requests-inflight": "400", "max-mutating-requests-inflight": "200",
        "enable-priority-and-fairness": "true",
    }
    if options["audit"]:
        flags.update({"audit-policy-file": paths.audit_policy, "audit-log-path": paths.audit_log,
                      "audit-log-maxsize": "1000000"})
    return flags


def _client_flags(paths, client):
    config = paths.client_kubeconfig(client)
    return {
        "kubeconfig": config, "authentication-kubeconfig": config,
        "authorization-kubeconfig": config, "bind-address": "127.0.0.1",
        "tls-cert-file": paths.key("component.crt"),
        "tls-private-key-file": paths.key("component.key"),
        "leader-elect": "false", "kube-api-qps": str(CLIENT_QPS),
        "kube-api-burst": str(CLIENT_BURST),
    }


def _controller_manager(paths, ports, options):
    flags = {
        **_client_flags(paths, "controller-manager"),
        "secure-port": str(ports["controller-manager"]),
        "root-ca-file": paths.key("ca.crt"),
        "service-account-private-key-file": paths.key("sa.key"),
        "use-service-account-credentials": "true",
        "cluster-signing-cert-file": paths.key("ca.crt"),
        "cluster-signing-key-file": paths.key("ca.key"),
        "allocate-node-cidrs": "false",
    }
    grace = heartbeats(options)["grace"]
    if grace:
        flags["node-monitor-grace-period"] = f"{grace}s"
    return flags


def _scheduler(paths, ports, _options):
    return {**_client_flags(paths, "scheduler"), "secure-port": str(ports["scheduler"])}


def _kwok(paths, ports, options):
    return {
        "config": paths.kwok_config, "kubeconfig": paths.client_kubeconfig("kwok"),
        "server-address": f"127.0.0.1:{ports['kwok']}",
        "cidr": "10.128.0.0/9", "manage-all-nodes": "false",
        "manage-nodes-with-label-selector": "testcluster/kubelet!=stopped",
        "node-lease-duration-seconds": str(heartbeats(options)["lease"]),
    }


def environment(component, paths):
    # KWOK would otherwise look into the home folder of the user.
    return {"HOME": paths.folder} if component == "kwok" else {}


# --- configuration files ---------------------------------------------------

def write_configuration(paths, options, kubelet_version):
    write_file(paths.audit_policy, """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
""")
    settings = "\n".join(f"  {name}: {value}" for name, value in kwok_settings().items())
    documents = [f"""\
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
{settings}
"""]
    status = heartbeats(options)["status"] * 1000
    words = {
        "KUBELET_VERSION": kubelet_version,
        "STATUS_INTERVAL_MS": status, "STATUS_INTERVAL_JITTER_MS": status + status // 20,
        "TERMINATION_MS": int(options["termination_time"] * 1000),
        "TERMINATION_SECONDS": f"{options['termination_time']:g}",
    }
    stages = os.path.join(SOURCE_DIR, "stages")
    for name in sorted(os.listdir(stages)):
        if name.endswith(".yaml"):
            with open(os.path.join(stages, name)) as file:
                text = file.read()
            for word, value in words.items():
                text = text.replace(f"@{word}@", str(value))
            documents.append(text)
    write_file(paths.kwok_config, "---\n".join(documents))


def kwok_settings():
    return {"nodeLeaseParallelism": KWOK_PARALLELISM, "nodePlayStageParallelism": KWOK_PARALLELISM,
            "podPlayStageParallelism": KWOK_PARALLELISM,
            "podsOnNodeSyncParallelism": KWOK_PARALLELISM}


# --- readiness -------------------------------------------------------------

def ready(component, paths, ports):
    """None when the component is ready, otherwise what it says instead."""
    try:
        if component == "kwok":
            return _plain("/healthz", ports["kwok"])
        path = "/readyz" if component in ("etcd", "apiserver") else "/healthz"
        client = {"etcd": "etcd-client"}.get(component, "admin")
        status, body = Client(paths.pki, ports[component], client, timeout=5).raw("GET", path)
    except (OSError, ssl.SSLError) as error:
        return str(error)
    if status == 200:
        return None
    lines = body.decode(errors="replace").splitlines()
    failed = [line for line in lines if line.startswith("[-]")] or lines[:1]
    return f"{status} " + "; ".join(failed)[:300]


def _plain(path, port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return None if response.status == 200 else f"{response.status}"
    except http.client.HTTPException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()


# --- what a reader of a benchmark wants to know ----------------------------

_DULL = ("-file", "cafile", "kubeconfig", "-urls", "-dir", "-port", "-address", "initial-cluster",
         "etcd-servers", "-issuer", "-path", "certfile", "keyfile")
_DULL_NAMES = {"name", "config", "client-cert-auth", "peer-client-cert-auth", "log-level",
               "audit-log-maxsize"}


def interesting(flags):
    """The flags that change what a cluster does, without those that name files and ports."""
    found = []
    for flag in flags:
        name = flag.lstrip("-").partition("=")[0]
        if (name not in _DULL_NAMES and not name.endswith(_DULL)
                and not name.startswith("requestheader-")):
            found.append(flag)
    return found
