"""Finding a Go toolchain that is new enough, or fetching one.

Go publishes its toolchains as the module golang.org/toolchain, and from 1.21
on fetches the one a go.mod asks for by itself. An older `go` (Debian 12 has
1.19) is used once to download that module, which is checked against the hashes
below and unpacked in the cache folder.
"""

import base64
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import time
import zipfile

from .common import Failure, cache_dir, file_lock, say

_VERSION = "go1.26.8"
# The module hashes, as the Go checksum database has them.
_HASHES = {
    "linux-amd64": "h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=",
    "linux-arm64": "h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=",
}
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


class Go:
    """A way to run Go: the program, its environment and its version."""

    def __init__(self, program, environment, version):
        self.program = program
        self.environment = environment
        self.version = version


def _numbers(version):
    found = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(part or 0) for part in found.groups()) if found else (0, 0, 0)


def _version_of(program):
    try:
        result = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True,
                                env={**os.environ, "GOTOOLCHAIN": "local"}, cwd="/")
    except OSError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def architecture():
    machine = platform.machine()
    return _MACHINES.get(machine, machine)


def find(needed):
    """The Go to build with; `needed` is the version that the go.mod files ask for.

    Nothing is downloaded here, so the answer comes quickly.
    """
    program = shutil.which("go")
    version = _version_of(program) if program else ""
    if _numbers(version) >= _numbers("go" + needed):
        return Go(program, {"GOTOOLCHAIN": "local"}, version)
    if _numbers(version) >= (1, 21, 0):
        # New enough to fetch (and check) the wanted toolchain by itself.
        return Go(program, {"GOTOOLCHAIN": _VERSION}, _VERSION)
    return Go(None, {"GOTOOLCHAIN": "local"}, _VERSION)


def provide(go):
    """Makes sure that go.program exists; fetches the toolchain when it does not."""
    if go.program:
        return go
    system = f"linux-{architecture()}"
    if system not in _HASHES:
        raise Failure(f"no Go on the PATH and none known for {system}: install Go {_VERSION[2:]}")
    old = shutil.which("go")
    if not old:
        raise Failure("no Go on the PATH: install Debian's golang-go; a newer one is then fetched by it")
    home = os.path.join(cache_dir(), f"{_VERSION}.{system}")
    go.program = os.path.join(home, "bin", "go")
    go.environment["GOROOT"] = home
    if os.path.exists(go.program):
        return go
    os.makedirs(cache_dir(), exist_ok=True)
    with file_lock(os.path.join(cache_dir(), ".go.lock"), "another process that fetches Go"):
        if not os.path.exists(go.program):
            _fetch(old, system, home)
    return go


def _fetch(old, system, home):
    module = f"golang.org/toolchain@v0.0.1-{_VERSION}.{system}"
    say(f"the Go on the PATH is too old: fetching {_VERSION} for {system} (70 MB) …")
    begun = time.monotonic()
    # The checksum database is not asked: the hash above is what counts.
    result = subprocess.run([old, "mod", "download", "-json", module], capture_output=True, text=True, cwd="/",
                            env={**os.environ, "GOFLAGS": "-mod=mod", "GONOSUMDB": "golang.org/toolchain"})
    try:
        answer = json.loads(result.stdout)
    except ValueError:
        answer = {}
    archive = answer.get("Zip")
    if result.returncode != 0 or not archive:
        raise Failure(f"cannot fetch Go as the module {module}:\n  {answer.get('Error') or result.stderr.strip()}")
    found = module_hash(archive)
    if found != _HASHES[system]:
        raise Failure(f"{archive}: the hash of {module} is {found} instead of {_HASHES[system]}")
    _unpack(archive, module + "/", home)
    say(f"Go is in {home} ({time.monotonic() - begun:.0f}s)")


def module_hash(archive):
    """Go's own hash of a module archive: a hash over the sorted file hashes."""
    total = hashlib.sha256()
    try:
        with zipfile.ZipFile(archive) as content:
            for name in sorted(content.namelist()):
                one = hashlib.sha256()
                with content.open(name) as file:
                    while block := file.read(1 << 20):
                        one.update(block)
                total.update(f"{one.hexdigest()}  {name}\n".encode())
    except zipfile.BadZipFile:
        return "(not a zip archive)"
    return "h1:" + base64.b64encode(total.digest()).decode()


def _unpack(archive, prefix, home):
    temporary = home + ".unpacking"
    shutil.rmtree(temporary, ignore_errors=True)
    with zipfile.ZipFile(archive) as content:
        for entry in content.infolist():
            path = entry.filename[len(prefix):]
            parts = path.split("/")
            if not entry.filename.startswith(prefix) or ".." in parts or entry.is_dir():
                continue
            target = os.path.join(temporary, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with content.open(entry) as source, open(target, "wb") as out:
                shutil.copyfileobj(source, out)
            # Module archives do not say which files are programs.
            if parts[0] == "bin" or parts[:2] == ["pkg", "tool"]:
                os.chmod(target, 0o755)
    os.replace(temporary, home)
