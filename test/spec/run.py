#!/usr/bin/env python3
"""Searches the models in docs/spec to the end.

    run.py                  all searches
    run.py no-touch         only those whose name contains it

The protocol as it is must hold in every reachable state; with a piece of it left out the limit must break, and the
shortest way there is printed. Every search is exhaustive: one that meets a bound of depth or memory fails.
"""

import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = ROOT / "docs/spec"
COMPILER = os.environ.get("CC", "clang-19")
MEGABYTES = 900
DEEPEST = 2_500_000
LONGEST_STORY = 25
# Spin would call gcc to preprocess.
PREPROCESSOR = f"-P{COMPILER} -E -x c"


class Search(NamedTuple):
    name: str
    model: str
    defines: str
    says: str
    breaks: bool = False   # a piece is left out: what is searched for must be found
    runs: bool = False     # a property of whole runs, not of states


def holds(name, model, defines, says):
    return Search(name, model, defines, says)


def comes_true(name, model, defines, says):
    return Search(name, model, defines + " -DCALM", says, runs=True)


def breaks(name, model, defines, says):
    return Search(name, model, defines, says, breaks=True)


def loses(name, model, defines, says):
    return Search(name, model, defines + " -DCALM", says, breaks=True, runs=True)


SEARCHES = [
    # With the property of whole runs, assertions are checked as well.
    comes_true("limit-1", "ledger", "-DLIMIT=1", "one node at a time, whatever the clocks say, and no place is lost"),
    comes_true("limit-2", "ledger", "-DLIMIT=2", "two nodes at a time, whatever the clocks say, and no place is lost"),
    breaks("no-touch", "ledger", "-DLEASE=1 -DNO_TOUCH", "a write of unknown fate counts as failed"),
    breaks("unrecorded", "ledger", "-DLEASE=1 -DUNRECORDED", "the node is written before its admission is recorded"),
    breaks("ambiguous", "ledger", "-DLEASE=1 -DAMBIGUOUS", "no answer counts as a failure"),
    breaks("inherited", "ledger", "-DLEASE=1 -DINHERITED_FORGOTTEN", "what a predecessor has admitted is forgotten"),
    breaks("read-back", "ledger", "-DLEASE=1 -DREAD_BACK", "an entry that was there before counts as recorded"),
    breaks("no-fencing", "ledger", "-DNO_FENCING", "a leader writes over another's record"),
    breaks("nodes-first", "ledger", "-DNODES_FIRST", "a new leader lists the nodes before it has the ledger"),
    loses("leak", "ledger", "-DLEASE=1 -DLEAK", "a place is given back only by a node that gets there"),
    holds("no-fencing, right clocks", "ledger", "-DLEASE=1 -DNO_FENCING", "fencing is for clocks that are wrong"),
]


class Failure(Exception):
    pass


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def build(search, folder):
    """The verifier that Spin makes of the model."""
    model = SPEC / f"{search.model}.pml"
    code, output = run(["spin", PREPROCESSOR, *shlex.split(search.defines), "-a", str(model)], folder)
    if code != 0 or "rror" in output or not (folder / "pan.c").exists():
        raise Failure(f"spin does not accept {model}:\n{output}")
    # Breadth first finds the shortest way; cycles need depth first.
    kind = ["-DNOREDUCE"] if search.runs else ["-DSAFETY", "-DBFS", "-DNOREDUCE"]
    code, output = run([COMPILER, "-O1", "-w", f"-DMEMLIM={MEGABYTES}", *kind, "-o", "pan", "pan.c"], folder)
    if code != 0:
        raise Failure(f"the verifier does not compile:\n{output}")


def figure(pattern, report):
    found = re.search(pattern, report, re.MULTILINE)
    if not found:
        raise Failure(f"the verifier's report is not understood:\n{report}")
    return float(found.group(1))


def explore(search, folder):
    """Returns the report's figures: errors, states, depth, megabytes."""
    flags = ["-a", f"-m{DEEPEST}", "-w22"] if search.runs else ["-E", "-w22"]
    code, report = run(["./pan", *flags], folder)
    for stop in ("max search depth too small", "reached -DMEMLIM", "out of memory", "resized the hashtable failed"):
        if stop in report:
            raise Failure(f"the search is not exhaustive ({stop}):\n{report}")
    errors = int(figure(r"errors: (\d+)", report))
    if errors == 0 and "Search not completed" in report:
        raise Failure(f"the search was not completed:\n{report}")
    if "assertion violations\t+" not in report:
        raise Failure(f"assertions were not checked:\n{report}")
    if search.runs and not re.search(r"never claim\s+\+", report):
        raise Failure(f"the property was not checked:\n{report}")
    return {
        "errors": errors,
        "states": int(figure(r"^\s*([0-9.e+]+) states, stored", report)),
        "depth": int(figure(r"depth reached (\d+)", report)),
        "megabytes": figure(r"([0-9.]+)\s+total actual memory usage", report),
        "report": report,
    }


def story(search, folder):
    """The trail, in the words of the model."""
    trail = next(folder.glob("*.trail"), None)
    if not trail:
        raise Failure("there is no trail")
    _, output = run(["spin", PREPROCESSOR, *shlex.split(search.defines), "-t", "-T", "-k", trail.name,
                     str(SPEC / f"{search.model}.pml")], folder)
    lines = []
    for line in output.splitlines():
        if line.startswith("spin:") and "rror" in line:
            lines.append("   " + re.sub(r"^spin: \S+, ", "", line))
            break
        if re.match(r"\d: |   \S", line):
            lines.append(line)
    # Depth first finds long ways; only the end of one tells anything.
    return lines if len(lines) <= LONGEST_STORY else ["..."] + lines[-LONGEST_STORY:]


def judge(search):
    with tempfile.TemporaryDirectory(prefix="careen-spec-") as name:
        folder = pathlib.Path(name)
        build(search, folder)
        found = explore(search, folder)
        print(f"{search.name:<25} {found['states']:>9,} states, depth {found['depth']:>6,}, "
              f"{found['megabytes']:>4.0f} MB  {search.says}: "
              f"{'broken' if found['errors'] else 'holds'}", flush=True)
        trail = story(search, folder) if found["errors"] else []
    for line in trail:
        print("    " + line, flush=True)
    if found["errors"] and not search.breaks:
        raise Failure(f"the model breaks:\n{found['report']}")
    expected = "acceptance cycle" if search.runs else "assertion violated"
    if search.breaks and expected not in found["report"]:
        raise Failure(f"leaving this out is not found ({expected} was expected)")


def check_names():
    """The README says which step is which function: both exist."""
    page = (SPEC / "README.md").read_text().split("## Which step is which function")[1].split("\n## ")[0]
    model = (SPEC / "ledger.pml").read_text()
    code = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.cc")))
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `")]
    if len(rows) < 10:
        raise Failure("the table in docs/spec/README.md is not found")
    for step, functions in rows:
        for text in re.findall(r"`([^`]+)`", step):
            if text not in model:
                raise Failure(f"docs/spec/README.md: `{text}` is not in ledger.pml")
        for name in re.findall(r"`([A-Z]\w*(?:::\w+)+)`", functions):
            if f" {name}(" not in code:
                raise Failure(f"docs/spec/README.md: there is no {name} in src/; bring the table, and the model, in line")


def main():
    for tool in ("spin", COMPILER):
        if not shutil.which(tool):
            sys.exit(f"test/spec/run.py: {tool} is missing; tools/deps test installs it")
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    searches = [search for search in SEARCHES if wanted in search.name]
    if not searches:
        sys.exit(f"test/spec/run.py: no search is called {wanted}; there are: {', '.join(s.name for s in SEARCHES)}")
    print("two leaders, three nodes; faults, take-overs and changes by others without bound\n", flush=True)
    failed = 0
    for name, check in [("names", check_names), *((s.name, functools.partial(judge, s)) for s in searches)]:
        try:
            check()
        except Failure as failure:
            failed += 1
            print(f"FAILED {name}: {failure}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
