"""The command line."""

import argparse
import os
import re
import shlex
import sys
import time

from . import build, cluster, components, infrastructure, process
from .cluster import Cluster
from .common import (INTERRUPTS, Failure, Interrupted, UsageError, check_name, say)

_PROGRAM = "testcluster"


def _seconds(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time; write 2s, 500ms or 1m")
    return float(match.group(1)) * {"ms": 0.001, "s": 1, "m": 60, None: 1}[match.group(2)]


def _count(text):
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a count")
    return int(text)


def _argument(text):
    component, separator, flag = text.partition("=")
    if not separator or not flag.startswith("--"):
        raise argparse.ArgumentTypeError(f"'{text}' is not COMPONENT=--FLAG=VALUE")
    try:
        return components.resolve(component), flag
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _without(text):
    names = []
    for word in filter(None, text.split(",")):
        try:
            name = components.resolve(word)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        if name not in components.OPTIONAL:
            raise argparse.ArgumentTypeError(
                f"there is no cluster without {name}; what may be left out is "
                + ", ".join(components.OPTIONAL))
        names.append(name)
    return names


# --- commands --------------------------------------------------------------

def _build(arguments):
    if arguments.actors:
        build.ensure(arguments.jobs)
        for name in build.ACTORS:
            print(build.ensure_actor(name, arguments.jobs))
    elif arguments.actor:
        print(build.ensure_actor(arguments.actor, arguments.jobs))
    else:
        print(build.ensure(arguments.jobs))


def _up(arguments):
    if arguments.pods_per_node and not arguments.nodes:
        raise UsageError("--pods-per-node needs --nodes")
    extra = {}
    for component, flag in arguments.arg:
        extra.setdefault(component, []).append(flag)
    options = {"without": arguments.without, "audit": arguments.audit,
               "slow_heartbeats": arguments.slow_heartbeats,
               "termination_time": arguments.termination_time, "arguments": extra}
    check_name(arguments.name)
    programs = build.ensure()
    with cluster.name_lock(arguments.name):
        made = cluster.up(arguments.name, options, arguments.nodes, arguments.pods_per_node,
                          programs, arguments.timeout)
    _print_flags(made, False)
    tool = shlex.quote(os.path.abspath(sys.argv[0]))
    say(f'use it:  eval "$({tool} env --name {arguments.name})"')


def _env(arguments):
    found = Cluster.get(arguments.name)
    paths = found.paths
    values = {"KUBECONFIG": paths.kubeconfig, "TESTCLUSTER_NAME": found.name,
              "TESTCLUSTER_SERVER": found.server, "TESTCLUSTER_CA": paths.key("ca.crt"),
              "TESTCLUSTER_CERT": paths.key("admin.crt"), "TESTCLUSTER_KEY": paths.key("admin.key"),
              "TESTCLUSTER_LOGS": paths.logs}
    for name, value in values.items():
        print(f"export {name}={shlex.quote(value)}")
    if found.options["audit"]:
        print(f"export TESTCLUSTER_AUDIT_LOG={shlex.quote(paths.audit_log)}")
    else:
        print("unset TESTCLUSTER_AUDIT_LOG")
    print(f'export PATH={shlex.quote(found.state["programs"])}:"$PATH"')


def _down(arguments):
    names = [arguments.name]
    if arguments.all:
        names = [found.name for found in Cluster.all()]
    for name in names:
        with cluster.name_lock(name):
            if cluster.down(name):
                say(f"cluster '{name}' is down")
            else:
                say(f"there is no cluster '{name}'")


def _list(_arguments):
    row = "{:<16} {:<8} {:>5}  {:<28} {:>8} {:>9}  {}"
    print(row.format("NAME", "STATE", "RUN", "SERVER", "AGE", "MEMORY", "FOLDER"))
    for found in Cluster.all():
        run = sum(found.running(name) for name in found.names)
        state = "up" if run == len(found.names) else "partly" if run else "stopped"
        memory = sum(process.resident_memory(found.record(name)) for name in found.names)
        age = int(time.time() - found.state["created"])
        shown = f"{age}s" if age < 120 else f"{age // 60}m" if age < 7200 else f"{age // 3600}h"
        print(row.format(found.name, state, f"{run}/{len(found.names)}",
                         found.server if "apiserver" in found.ports else "-", shown,
                         f"{memory / (1 << 20):.0f}MiB", found.paths.folder))


def _restart(arguments):
    names = [components.resolve(name) for name in arguments.component]
    with cluster.name_lock(arguments.name):
        found = Cluster.get(arguments.name)
        found.require(names)
        found.stop(names, arguments.graceful)
        found.start(names, arguments.timeout)


def _stop(arguments):
    names = [components.resolve(name) for name in arguments.component]
    with cluster.name_lock(arguments.name):
        found = Cluster.get(arguments.name)
        found.require(names)
        found.stop(names, arguments.graceful)


def _start(arguments):
    names = [components.resolve(name) for name in arguments.component]
    with cluster.name_lock(arguments.name):
        found = Cluster.get(arguments.name)
        found.require(names)
        found.start(names, arguments.timeout)


def _compact(arguments):
    with cluster.name_lock(arguments.name):
        found = Cluster.get(arguments.name)
        if arguments.etcd_only:
            revision = found.compact()
        else:
            # While it is down nobody sees a later revision than the one that is compacted.
            found.stop(["apiserver"], False)
            revision = found.compact()
            found.start(["apiserver"], arguments.timeout)
        say(f"etcd compacted at revision {revision}")
        if not arguments.etcd_only:
            say(f"watches and lists from before revision {revision} now get 410")


def _nodes(arguments):
    with cluster.name_lock(arguments.name):
        found = Cluster.get(arguments.name)
        paused = bool(arguments.pods_per_node) and found.running("controller-manager")
        if paused:
            found.stop(["controller-manager"], True)
        try:
            names = found.add_nodes(arguments.count, arguments.pods_per_node, arguments.timeout)
        finally:
            if paused:
                found.start(["controller-manager"], arguments.timeout)
        found.wait_nodes(names, arguments.timeout)


def _infrastructure(arguments):
    played = infrastructure.Infrastructure(Cluster.get(arguments.name))
    played.install()
    print("playing", flush=True)
    played.run()


def _print_flags(found, everything):
    versions = build.versions()
    print(f"Kubernetes {versions['kubernetes']}, etcd {versions['etcd']}, KWOK {versions['kwok']}")
    for name in found.names:
        flags = components.arguments(name, found.paths, found.ports, found.options)
        if not everything:
            flags = components.interesting(flags)
        print(f"{components.PROGRAM[name]}:")
        for flag in flags:
            print(f"  {flag}")
        if name == "kwok":
            beats = components.heartbeats(found.options)
            for setting, value in components.kwok_settings().items():
                print(f"  {setting}: {value}")
            print(f"  lease renewed every {beats['lease'] // 4}s, "
                  f"node status posted every {beats['status']}s, "
                  f"pods terminate in {found.options['termination_time']:g}s")


def _flags(arguments):
    _print_flags(Cluster.get(arguments.name), arguments.all)


# --- parser ----------------------------------------------------------------

def _parser():
    parser = argparse.ArgumentParser(
        prog=_PROGRAM, description="A real Kubernetes control plane on this machine, with "
        "simulated nodes, for tests and benchmarks.",
        epilog="Each command has --help with an example. Exit status: 0 done, 1 failed, "
        "2 wrong usage.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name, function, summary, example, named=True, timeout=False):
        command = commands.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".",
            epilog=f"Example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter)
        command.set_defaults(function=function)
        if named:
            command.add_argument("--name", default="default",
                                 help="the cluster (default: default)")
        if timeout:
            command.add_argument("--timeout", type=_seconds, default=180.0, metavar="TIME",
                                 help="how long to wait for each thing (default: 3m)")
        return command

    up = add("up", _up, "bring up a cluster (and build its programs when needed)",
             "testcluster up --name bench --nodes 1000 --pods-per-node 10 --audit", timeout=True)
    up.add_argument("--nodes", type=_count, default=0, metavar="N",
                    help="simulated nodes to create: node-0 … node-(N-1) (default: 0)")
    up.add_argument("--pods-per-node", type=_count, default=0, metavar="N",
                    help="pods to create on each of them (default: 0)")
    up.add_argument("--without", type=_without, default=[], metavar="LIST",
                    help="leave out any of " + ",".join(components.OPTIONAL))
    up.add_argument("--termination-time", type=_seconds, default=1.0, metavar="TIME",
                    help="how long a deleted pod takes to go, at most its grace period "
                    "(default: 1s)")
    up.add_argument("--slow-heartbeats", action="store_true",
                    help="leases every 150 s and node status every 30 min instead of every "
                    "10 s and 5 min, and a grace period to match")
    up.add_argument("--audit", action="store_true",
                    help="log all requests at level Metadata; `env` tells where")
    up.add_argument("--arg", type=_argument, action="append", default=[],
                    metavar="COMPONENT=FLAG", help="another flag for a component, for instance "
                    "apiserver=--v=3; may be repeated")

    add("env", _env, "print shell commands that make kubectl use the cluster",
        'eval "$(testcluster env --name bench)" && kubectl get nodes')
    down = add("down", _down, "take down a cluster and remove its files",
               "testcluster down --name bench")
    down.add_argument("--all", action="store_true", help="all clusters of this user")
    add("list", _list, "list the clusters of this user", "testcluster list", named=False)
    make = add("build", _build, "build the programs and print the folder they are in",
               "testcluster build", named=False)
    which = make.add_mutually_exclusive_group()
    which.add_argument("actor", nargs="?", choices=build.ACTORS,
                       help="build only this other actor, and print its program")
    which.add_argument("--actors", action="store_true",
                       help="the programs and all other actors; prints the actors")
    make.add_argument("--jobs", type=_count, metavar="N",
                      help="compilers at a time (default: by cores and memory)")
    flags = add("flags", _flags, "print the versions and the flags that matter",
                "testcluster flags --name bench")
    flags.add_argument("--all", action="store_true", help="files and ports as well")

    for name, function, summary in (
            ("restart", _restart, "end components (SIGKILL) and start them again on the same "
             "ports, until they are ready"),
            ("stop", _stop, "end components (SIGKILL)"),
            ("start", _start, "start stopped components and wait until they are ready")):
        command = add(name, function, summary, f"testcluster {name} apiserver --name bench",
                      timeout=name != "stop")
        command.add_argument("component", nargs="+", metavar="COMPONENT",
                             help=", ".join(components.NAMES))
        if name != "start":
            command.add_argument("--graceful", action="store_true",
                                 help="SIGTERM first, SIGKILL only after 30 s")

    compact = add("compact", _compact, "compact etcd at its current revision and restart the "
                  "apiserver (whose watch cache would otherwise still serve old revisions), so "
                  "that old watches get 410", "testcluster compact --name bench", timeout=True)
    compact.add_argument("--etcd-only", action="store_true", help="leave the apiserver alone")
    add("infrastructure", _infrastructure, "play Cluster API's infrastructure on this management "
        "cluster until interrupted: machines are simulated nodes of other test clusters",
        "testcluster infrastructure --name management")
    nodes = add("nodes", _nodes, "add simulated nodes to a running cluster",
                "testcluster nodes --name bench --count 100", timeout=True)
    nodes.add_argument("--count", type=_count, required=True, metavar="N", help="how many")
    nodes.add_argument("--pods-per-node", type=_count, default=0, metavar="N",
                       help="pods to create on each new node (default: 0); the "
                       "controller-manager is stopped meanwhile")
    return parser


def main():
    INTERRUPTS.install()
    arguments = _parser().parse_args()
    try:
        arguments.function(arguments)
    except UsageError as error:
        say(f"{_PROGRAM}: {error}")
        return 2
    except Failure as error:
        say(f"{_PROGRAM}: error: {error}")
        return 1
    except Interrupted as error:
        say(f"{_PROGRAM}: stopped by {error}")
        return 128 + error.number
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0
