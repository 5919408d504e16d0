"""What was measured, as a table for people, as JSON, and as docs/performance.md."""

import datetime
import os
import re


class Report:
    """Rows of (what, measured, goal, met); met is None for facts without a goal."""

    def __init__(self):
        self.rows = []
        self.values = {}

    def add(self, key, what, value, shown, goal=None, limit=None, least=None):
        """`limit` is the largest value that meets the goal, `least` the smallest."""
        met = value <= limit if limit is not None else value >= least if least is not None else None
        self.values[key] = {"value": value, "shown": shown, "goal": goal, "met": met}
        self.rows.append((what, shown, goal or "", {None: "", True: "yes", False: "**no**"}[met]))
        print(f"  {what}: {shown}" + (f" (goal {goal}: {'met' if met else 'MISSED'})" if goal else ""), flush=True)

    def missed(self):
        return [key for key, row in self.values.items() if row["met"] is False]

    def table(self):
        rows = [("What", "Measured", "Goal", "Met"), *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines)


def machine():
    """Facts that a reader needs to compare figures."""
    with open("/proc/cpuinfo") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    with open("/proc/meminfo") as file:
        memory = int(re.search(r"^MemTotal:\s+(\d+)", file.read(), re.M).group(1))
    system = os.uname()
    name = system.sysname
    try:
        with open("/etc/os-release") as file:
            name = re.search(r'^PRETTY_NAME="?([^"\n]*)', file.read(), re.M).group(1)
    except (OSError, AttributeError):
        pass
    return {"cpu": found.group(1) if found else system.machine, "cores": os.cpu_count(),
            "memory": f"{memory / (1 << 20):.1f} GiB", "kernel": system.release, "system": name,
            "load at the start": f"{os.getloadavg()[0]:.2f}"}


def document(report, facts, flags, version):
    date = datetime.date.today().isoformat()
    machine_lines = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    return f"""# Performance

Measured on {date} with `make bench`, which writes this page (`make bench BENCH=--update-docs`). Everything ran on one machine, the
control plane included, so the figures of a run can be compared with each other and hardly with those of another machine.

| Machine | |
|---|---|
{machine_lines}
| careen | {version} |

{report.table()}

**The round.** 1,000 simulated nodes go through three transitions each, at most 50 in maintenance at once, with leader election and the
ledger on. The nodes are labelled beforehand and careen runs with a configuration under which nothing happens; the clock starts when the
file is replaced by `test/bench/round.yaml` and ends when the API server has answered the last node write and the last event. The plain loop
(`test/bench/load_loop.cc`) sends as many node patches and events of the same size to the same server, 16 in flight, and decides nothing. Both
run in turn, loop first and last; the ratio is that of the medians. Writes and events are counted in the API server's audit log.

**Decisions alone.** `test/bench/decide_rate.cc` decides on 5,000 nodes, one after the other, again and again, on one core: every node waits
behind the same chain of ten checks (`hasAnnotation`, `hasLabel`, `condition`, `anyLabel`, `nodeCount`, `timeWindow`, `wait`, `maxMaintenance`
by zone, `stagger`, `affinity`), none of which is skipped. The time is CPU time.

**The full round.** As above with `test/bench/full_round.yaml`: more checks, a lease for each node that goes, a limit for each zone, a tenth of
the nodes with a pod that prefers operational nodes, and two messages a node to a Slack that listens on the loopback interface. It ends
with the last removal of a sent message from a node. The plain loop then sends as many node patches, events, lease writes (the ledger's
included) and messages. A request is of no use if it was refused, if it asked for one object, or if no other version of the node came of it.

**Idle.** After the round, for a minute: CPU time of the process, and what it asked of the API server.

**The model.** A whole campaign in virtual time, careen and the model cluster in one process on one core (`test/bench/model_campaign.cc`):
each node becomes required, is in maintenance for two minutes and returns, at most 1 % of the nodes at once. A node-hour is one simulated
node for one simulated hour.

**Memory.** Resident memory as the kernel counts it. Pods are cached, which is how careen runs unless `--no-cache-pods` is given.

## The control plane

```
{flags.strip()}
```
"""
