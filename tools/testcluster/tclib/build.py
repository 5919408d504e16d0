"""Building the cluster's programs from pinned Go modules, once."""

import collections
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from . import gotoolchain
from .common import INTERRUPTS, SOURCE_DIR, Failure, cache_dir, duration, file_lock, say

# program: (folder under build/, package). The folder holds go.mod and go.sum.
PROGRAMS = {
    "etcd": ("etcd", "go.etcd.io/etcd/server/v3"),
    "kube-apiserver": ("kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kubectl": ("kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    "kube-controller-manager": ("kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    "kube-scheduler": ("kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    "kwok": ("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
}
_MODULES = {"kubernetes": "k8s.io/kubernetes", "etcd": "go.etcd.io/etcd/server/v3",
            "kwok": "sigs.k8s.io/kwok"}
# Other programs that take nodes out, for the tests that want them: (folder under build/, package), where
# "." is a main package of our own. They are no part of the cluster and are built apart from it.
ACTORS = {
    "karpenter": ("karpenter", "."),
    "flatcar-updates": ("flatcar", "."),
    "cluster-api": ("cluster-api", "sigs.k8s.io/cluster-api/core"),
}
# What is fetched with an actor, because its tests read files of it: a folder under build/ with a go.mod.
_READ = {"cluster-api": "metal3"}
# Not -trimpath: it would have a package that was compiled for one program compiled anew for another that
# has it by a `replace`.
_FLAGS = ["-buildvcs=false", "-mod=readonly"]


def _source(folder, name):
    with open(os.path.join(SOURCE_DIR, "build", folder, name)) as file:
        return file.read()


def versions():
    """The version of each pinned module, as its go.mod has it."""
    found = {}
    for folder, module in _MODULES.items():
        match = re.search(rf"^(?:require)?\s*{re.escape(module)} (v\S+)",
                          _source(folder, "go.mod"), re.MULTILINE)
        found[folder] = match.group(1)
    return found


def _needed_go(folders):
    return max((re.search(r"^go (\S+)", _source(folder, "go.mod"), re.MULTILINE).group(1)
                for folder in folders), key=lambda text: [int(n) for n in text.split(".")])


def _linker_flags(folder):
    flags = ["-s", "-w"]
    if folder == "kubernetes":
        version = versions()[folder]
        major, minor = version[1:].split(".")[:2]
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
            for variable, value in (("gitVersion", version), ("gitMajor", major),
                                    ("gitMinor", minor), ("gitCommit", "unknown"),
                                    ("gitTreeState", "archive")):
                flags += ["-X", f"{package}.{variable}={value}"]
    return " ".join(flags)


def _folder(go, folders, sources=("go.mod", "go.sum")):
    """The cache folder: its name changes with everything that goes into a build."""
    key = hashlib.sha256()
    for part in [go.version, gotoolchain.architecture(), *_FLAGS]:
        key.update(part.encode() + b"\0")
    for folder in sorted(folders):
        for name in sources:
            key.update(_source(folder, name).encode() + b"\0")
        key.update(_linker_flags(folder).encode() + b"\0")
    return os.path.join(cache_dir(), key.hexdigest()[:16])


def _jobs():
    """Compilers at a time: each core one, but about 2 GB of memory for each."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 31
    return max(1, min(os.cpu_count() or 1, memory))


def ensure(jobs=None):
    """Builds what is missing of the cluster; returns the folder with the programs."""
    go = gotoolchain.find(_needed_go(_MODULES))
    return _ensure(go, _folder(go, _MODULES), PROGRAMS, jobs)


def ensure_actor(name, jobs=None):
    """Builds one of ACTORS if it is missing; returns the program."""
    source, package = ACTORS[name]
    go = gotoolchain.find(_needed_go([source]))
    files = ("go.mod", "go.sum", "main.go") if package == "." else ("go.mod", "go.sum")
    program = os.path.join(_folder(go, [source], files), "bin", name)
    built = os.path.exists(program)
    _ensure(go, _folder(go, [source], files), {name: (source, package)}, jobs)
    if name in _READ and not built:
        _fetch(go, _READ[name])
    return program


def _fetch(go, folder):
    result = subprocess.run([go.program, "mod", "download"], cwd=os.path.join(SOURCE_DIR, "build", folder),
                            env=_environment(go), capture_output=True, text=True)
    if result.returncode:
        raise Failure(f"fetching what build/{folder} names failed:\n{result.stderr.strip()}")


def _environment(go):
    return {**os.environ, **go.environment, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "", "GOOS": "linux",
            "GOARCH": gotoolchain.architecture()}


def _ensure(go, folder, wanted, jobs):
    programs = os.path.join(folder, "bin")

    def missing():
        return [name for name in wanted if not os.path.exists(os.path.join(programs, name))]

    if not missing():
        return programs
    os.makedirs(programs, exist_ok=True)
    with file_lock(os.path.join(folder, ".lock"), "another process that builds the same"):
        todo = missing()
        if not todo:
            return programs
        gotoolchain.provide(go)
        begun = time.monotonic()
        done = len(wanted) - len(todo)
        say(f"building {len(todo)} of {len(wanted)} programs with {go.version} into {programs}")
        for name in todo:
            done += 1
            _build(go, name, wanted[name], programs, f"[{done}/{len(wanted)}]", jobs or _jobs())
        say(f"built in {duration(time.monotonic() - begun)}")
    return programs


def _build(go, name, source, programs, label, jobs):
    folder, package = source
    target = os.path.join(programs, name)
    # A name of its own until it is whole: what is called kubectl is a whole kubectl.
    temporary = os.path.join(programs, f".{name}.unfinished")
    command = [go.program, "build", "-v", "-p", str(jobs), *_FLAGS,
               "-ldflags", _linker_flags(folder), "-o", temporary, package]
    environment = _environment(go)
    # Go's own temporary files, so that an interrupted build leaves none behind.
    scratch = os.path.join(programs, ".scratch")
    shutil.rmtree(scratch, ignore_errors=True)
    os.mkdir(scratch)
    environment["GOTMPDIR"] = scratch
    begun = time.monotonic()
    process = subprocess.Popen(
        command, cwd=os.path.join(SOURCE_DIR, "build", folder), env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, errors="replace", start_new_session=True)
    output = collections.deque(maxlen=30)
    count = [0]

    def read():
        for line in process.stderr:
            output.append(line.rstrip())
            count[0] += not line.startswith(("go:", "#", " ", "\t"))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    terminal = sys.stderr.isatty()
    shown = 0.0
    try:
        while True:
            try:
                process.wait(timeout=1)
                break
            except subprocess.TimeoutExpired:
                elapsed = time.monotonic() - begun
                if elapsed - shown < (1 if terminal else 30):
                    continue
                shown = elapsed
                last = output[-1] if output else ""
                if terminal:
                    text = f"{label} {name} {duration(elapsed)}, {count[0]} packages: {last}"
                    print(f"\r\033[K{text[:100]}", end="", file=sys.stderr, flush=True)
                else:
                    say(f"{label} {name} … {duration(elapsed)}, {count[0]} packages compiled")
    except BaseException:
        # Go and its compilers are one process group that was started here.
        if process.poll() is None:
            with INTERRUPTS.ignored():
                os.killpg(process.pid, signal.SIGINT)
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        raise
    finally:
        if terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        shutil.rmtree(scratch, ignore_errors=True)
        if process.returncode and os.path.exists(temporary):
            os.unlink(temporary)
    reader.join(5)
    if process.returncode:
        raise Failure(f"building {name} failed (go build status {process.returncode}):\n"
                      + "\n".join("    " + line for line in output))
    os.replace(temporary, target)
    say(f"{label} {name} {duration(time.monotonic() - begun)}")
