"""Keys and certificates of one cluster, made with the openssl program."""

import base64
import os
import shutil
import subprocess

from .common import Failure, write_file

_CLIENTS = {
    # name: (user, group); the groups give the rights, through RBAC.
    "admin": ("testcluster-admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", None),
    "scheduler": ("system:kube-scheduler", None),
    "kwok": ("testcluster-kwok", "system:masters"),
    "etcd-client": ("testcluster-etcd-client", None),
    "front-proxy-client": ("front-proxy-client", None),
}

_LOOPBACK = "IP:127.0.0.1,DNS:localhost"
_SERVERS = {
    "apiserver": _LOOPBACK + ",IP:10.96.0.1,DNS:kubernetes,DNS:kubernetes.default,"
                 "DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local",
    "etcd": _LOOPBACK,
    "component": _LOOPBACK,
}


def _openssl(*arguments):
    try:
        result = subprocess.run(("openssl",) + arguments, capture_output=True, text=True)
    except FileNotFoundError:
        raise Failure("openssl is not installed (Debian: apt-get install openssl)") from None
    if result.returncode:
        raise Failure(f"openssl {' '.join(arguments[:2])} failed:\n{result.stderr.strip()}")


def _key(path):
    _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
    os.chmod(path, 0o600)


def _authority(folder, name):
    base = os.path.join(folder, name)
    _key(base + ".key")
    _openssl("req", "-x509", "-new", "-key", base + ".key", "-days", "365", "-sha256",
             "-subj", f"/CN=testcluster-{name}",
             "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-out", base + ".crt")


def _certificate(folder, name, subject, extensions, authority="ca"):
    base = os.path.join(folder, name)
    _key(base + ".key")
    write_file(base + ".ext", "\n".join(extensions) + "\n")
    _openssl("req", "-new", "-key", base + ".key", "-subj", subject, "-out", base + ".csr")
    _openssl("x509", "-req", "-in", base + ".csr", "-days", "365", "-sha256",
             "-CA", os.path.join(folder, authority + ".crt"),
             "-CAkey", os.path.join(folder, authority + ".key"),
             "-set_serial", "0x" + os.urandom(15).hex(), "-extfile", base + ".ext",
             "-out", base + ".crt")
    os.unlink(base + ".csr")
    os.unlink(base + ".ext")


def create(folder):
    """Makes everything a cluster needs; the folder holds *.crt, *.key and sa.pub."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700)
    _authority(folder, "ca")
    _authority(folder, "front-proxy-ca")
    for name, alternatives in _SERVERS.items():
        # etcd calls itself (its JSON gateway), so its certificate serves both ways.
        usage = "serverAuth,clientAuth" if name == "etcd" else "serverAuth"
        _certificate(folder, name, f"/CN=testcluster-{name}", [
            "keyUsage=critical,digitalSignature", "extendedKeyUsage=" + usage,
            "subjectAltName=" + alternatives])
    for name, (user, group) in _CLIENTS.items():
        subject = (f"/O={group}" if group else "") + f"/CN={user}"
        _certificate(folder, name, subject, [
            "keyUsage=critical,digitalSignature", "extendedKeyUsage=clientAuth"],
            "front-proxy-ca" if name == "front-proxy-client" else "ca")
    sa = os.path.join(folder, "sa")
    _key(sa + ".key")
    _openssl("pkey", "-in", sa + ".key", "-pubout", "-out", sa + ".pub")


def kubeconfig(folder, client, server, cluster_name):
    """A kubeconfig file with everything inline."""

    def data(file_name):
        with open(os.path.join(folder, file_name), "rb") as file:
            return base64.b64encode(file.read()).decode()

    context = f"testcluster-{cluster_name}"
    return f"""\
apiVersion: v1
kind: Config
clusters:
- name: {context}
  cluster:
    server: {server}
    certificate-authority-data: {data("ca.crt")}
users:
- name: {client}
  user:
    client-certificate-data: {data(client + ".crt")}
    client-key-data: {data(client + ".key")}
contexts:
- name: {context}
  context:
    cluster: {context}
    user: {client}
current-context: {context}
"""
