#!/usr/bin/env python3
"""Runs the same random operations on the model cluster and on a real kube-apiserver, and compares every answer and
every watch event.

    CAREEN_BINARY=build/careen test/conformance/run.py      the seeds of the test
    test/conformance/run.py --seed 7 --operations 5000          more
    test/conformance/run.py --seed 7 --operations 900 --only 3,17,899    just these of them
    test/conformance/run.py --pods                              only pods, evictions and disruption budgets
    test/conformance/run.py --self                              a real server with another one: the test of the test

A difference is printed with the operations that lead to it, as few as were found in a short time. What differs on
purpose is in allowed.py.
"""

import argparse
import http.client
import json
import os
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
sys.path[:0] = [FOLDER, os.path.join(ROOT, "test", "e2e")]
sys.dont_write_bytecode = True

from allowed import ALLOWED  # noqa: E402
from cluster import Cluster, Stopped, stop_on_signals  # noqa: E402
from model import Model  # noqa: E402
from operations import Generator  # noqa: E402
from pods import PodGenerator  # noqa: E402
from server import Server  # noqa: E402

SEEDS = [1, 2, 3, 4]
OPERATIONS = 1000
# Pods and budgets: only the first seeds, with this many operations each; with --pods as many as are asked for.
POD_SEEDS = 2
POD_OPERATIONS = 450
# How long the events of a watch may take on the slower server.
PATIENCE = 5.0
QUIET = 0.25


class Difference:
    def __init__(self, operation, sides, number_of_event=None):
        self.operation, self.sides, self.event = operation, sides, number_of_event

    def signature(self):
        """What makes two differences the same one, while operations are left out."""
        return self.operation["number"], self.event is not None


class Comparison:
    """Two servers, and what they did differently."""

    def __init__(self, left, right):
        self.left, self.right = left, right
        self.compared = self.events = 0
        self.allowed = {}

    def run(self, operations, stop_at=1):
        """The differences; stops after that many."""
        differences = []
        watches = []
        for operation in operations:
            sides = [self._execute(server, operation) for server in (self.left, self.right)]
            self.compared += 1
            if "watch" in operation and sides[0]["status"] == sides[1]["status"] == 200:
                watches.append(operation)
            if not self._same(operation, sides):
                differences.append(Difference(operation, sides))
                if len(differences) >= stop_at:
                    return differences
                self._make_alike(operation)
        for operation in watches:
            difference = self._compare_events(operation)
            if difference:
                differences.append(difference)
        return differences

    @staticmethod
    def _execute(server, operation):
        try:
            return server.execute(operation)
        except (OSError, http.client.HTTPException) as error:
            raise RuntimeError(f"the {server.label} server gives no answer to {describe(operation)}: {error}") from error

    def _make_alike(self, operation):
        """After a difference: the object of the operation goes, so that what follows shows other differences."""
        body = operation.get("body")
        path = operation["path"]
        if operation["method"] == "POST":
            if not isinstance(body, dict) or "name" not in body.get("metadata", {}):
                return
            path += "/" + body["metadata"]["name"]
        elif operation["method"] == "GET":
            return
        for server in (self.left, self.right):
            server.remove(path)

    def _same(self, operation, sides):
        if sides[0] == sides[1]:
            return True
        for reason, applies in ALLOWED:
            if applies(operation, *sides):
                self.allowed[reason] = self.allowed.get(reason, 0) + 1
                return True
        return False

    def _settle(self, number):
        """Waits until both have sent equally many events, and no more come."""
        watches = [self.left.watches[number], self.right.watches[number]]
        end = time.monotonic() + PATIENCE
        since, last = time.monotonic(), None
        while time.monotonic() < end:
            counts = [len(watch.events) for watch in watches] + [watch.ended for watch in watches]
            if counts != last:
                since, last = time.monotonic(), counts
            if counts[0] == counts[1] and counts[2] == counts[3] and time.monotonic() - since > QUIET:
                return
            time.sleep(0.01)

    def _compare_events(self, operation):
        number = operation["watch"]
        self._settle(number)
        told = [self.left.events(number), self.right.events(number)]
        self.events += max(map(len, told))
        for index in range(max(map(len, told))):
            sides = [{"event": side[index]} if index < len(side) else {"event": None} for side in told]
            if not self._same(operation, sides):
                return Difference(operation, sides, index)
        return None

    def reset(self):
        self.left.clean()
        self.right.clean()

    def shrink(self, operations, difference, seconds):
        """Fewer operations that show a difference at the same place."""
        end = time.monotonic() + seconds
        index = next(i for i, o in enumerate(operations) if o["number"] == difference.operation["number"])
        # The events of a watch come from what follows it.
        kept = operations if difference.event is not None else operations[:index + 1]

        def shows(candidate):
            self.reset()
            return next((d for d in self.run(candidate, stop_at=10 ** 6)
                         if d.signature() == difference.signature()), None)

        path = difference.operation["path"]
        plural = next((word for word in reversed(path.split("/")) if word in
                       ("nodes", "leases", "configmaps", "widgets", "pods")), "")
        quick = [o for o in kept if o["path"].startswith(path) or o is difference.operation]
        wide = [o for o in kept if plural in o["path"]]
        found = difference
        for candidate in (quick, wide):
            again = shows(candidate)
            if again:
                kept, found = candidate, again
                break
        step = max(1, len(kept) // 2)
        while time.monotonic() < end and len(kept) > 1:
            position = 0
            smaller = False
            while position < len(kept) and time.monotonic() < end:
                candidate = [o for i, o in enumerate(kept)
                             if not position <= i < position + step or o is difference.operation]
                again = shows(candidate) if len(candidate) < len(kept) else None
                if again:
                    kept, found, smaller = candidate, again, True
                else:
                    position += step
            if step == 1 and not smaller:
                break
            step = max(1, step // 2)
        return kept, found


def lines(value):
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def short_diff(left, right):
    """The lines in which they differ, with a few around."""
    import difflib
    return [line for line in difflib.unified_diff(lines(left), lines(right), "real", "model", n=2, lineterm="")]


def describe(operation):
    text = f"{operation['method']} {operation['path']}"
    if operation.get("query"):
        text += "?" + "&".join(f"{key}={value}" for key, value in operation["query"].items())
    for key in ("type", "accept"):
        if operation.get(key):
            text += f" {key}={operation[key]}"
    if "body" in operation:
        text += " " + json.dumps(operation["body"], ensure_ascii=False)
    if "raw" in operation:
        text += f" raw={operation['raw']!r}"
    return f"#{operation['number']} {operation['what']}: {text}"


def report(again, operations, difference, before=12):
    where = "" if difference.event is None else f", event {difference.event} of its watch"
    print(f"\nDIFFERENCE at operation {difference.operation['number']}{where}")
    for operation in operations[-before:] if difference.event is None else operations[:before]:
        print("   ", describe(operation)[:600])
    if difference.operation not in operations[-before:]:
        print("   ", describe(difference.operation)[:600])
    for line in short_diff(*difference.sides)[2:60]:
        print("      ", line[:400])
    only = ",".join(str(operation["number"]) for operation in operations)
    print(f"  again: test/conformance/run.py {again}"
          + (f" --only {only}" if len(only) < 1000 else ""))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, action="append", help=f"may be repeated (default: {SEEDS})")
    parser.add_argument("--operations", type=int, default=OPERATIONS, metavar="N",
                        help=f"for each seed (default: {OPERATIONS})")
    parser.add_argument("--only", help="numbers of the operations to run, with commas")
    parser.add_argument("--all", action="store_true", help="go on after a difference, and do not look for fewer operations")
    parser.add_argument("--pods", action="store_true", help="only pods, evictions and disruption budgets")
    parser.add_argument("--self", action="store_true", dest="itself", help="compare a real server with a second one")
    parser.add_argument("--cluster", help="use this running testcluster instead of bringing one up")
    parser.add_argument("--second", help="the same for the second one of --self")
    parser.add_argument("--shrink", type=float, default=20, metavar="SECONDS", help="to look for fewer operations")
    parser.add_argument("--deadline", type=int, default=280, metavar="SECONDS", help="for the whole run")
    arguments = parser.parse_args()
    binary = os.path.abspath(os.environ.get("CAREEN_BINARY", os.path.join(ROOT, "build", "careen")))
    if not arguments.itself and not os.access(binary, os.X_OK):
        print(f"there is no program {binary}; build careen first, or set CAREEN_BINARY", file=sys.stderr)
        return 2

    stop_on_signals(arguments.deadline)
    ended = []
    try:
        return run(arguments, binary, ended)
    except Stopped:
        return 1
    finally:
        for thing in reversed(ended):
            thing.down()


def real_server(label, name, ended, running=None):
    # Nothing but the API server, and no lease of its own: nobody else writes the objects that are compared.
    cluster = Cluster(running or name, "--without", "controller-manager,scheduler,kwok",
                      "--arg", "apiserver=--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false")
    if running:
        cluster.connect()
    else:
        ended.append(cluster)
        cluster.up()
        # So that version 1 is too old for a watch.
        cluster.tool("compact")
    return Server(label, cluster.server, {"ca": cluster.ca, "certificate": cluster.certificate, "key": cluster.key})


def run(arguments, binary, ended):
    left = real_server("real", f"conformance-{os.getpid()}", ended, arguments.cluster)
    left.prepare()
    left.clean()
    if arguments.itself:
        right = real_server("second", f"conformance-{os.getpid()}-b", ended, arguments.second)
        right.prepare()
    found = 0
    for seed, pods in rounds(arguments):
        if not arguments.itself:
            model = Model(binary)
            ended.append(model)
            right = Server("model", model.up())
            right.prepare()
        begun = time.monotonic()
        count = min(arguments.operations, POD_OPERATIONS) if pods and not arguments.pods else arguments.operations
        operations = (PodGenerator if pods else Generator)(seed).operations(count)
        if arguments.only:
            wanted = {int(number) for number in arguments.only.split(",")}
            operations = [operation for operation in operations if operation["number"] in wanted]
        comparison = Comparison(left, right)
        differences = comparison.run(operations, stop_at=10 ** 6 if arguments.all else 1)
        print(f"seed {seed}{', pods' if pods else ''}: {comparison.compared} operations, {comparison.events} watch events "
              f"compared in {time.monotonic() - begun:.1f} s: {len(differences) or 'no'} differences", flush=True)
        for reason, times in sorted(comparison.allowed.items()):
            print(f"    {times} × {reason}")
        for difference in differences:
            found += 1
            again = f"--seed {seed} --operations {count}" + (" --pods" if pods else "")
            if arguments.all or arguments.only:
                report(again, operations if arguments.only else [difference.operation], difference)
            else:
                kept, shown = comparison.shrink(operations, difference, arguments.shrink)
                report(again, kept, shown)
        comparison.reset()
        if not arguments.itself:
            model.down()
            ended.remove(model)
    return 1 if found else 0


def rounds(arguments):
    """Seeds, and whether the round is one of pods."""
    seeds = arguments.seed or SEEDS
    if not arguments.pods:
        yield from ((seed, False) for seed in seeds)
    if arguments.pods or not arguments.only:
        yield from ((seed, True) for seed in (seeds if arguments.pods else seeds[:POD_SEEDS]))


if __name__ == "__main__":
    sys.exit(main())
