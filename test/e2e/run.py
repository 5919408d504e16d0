#!/usr/bin/python3
"""End-to-end tests of careen on a real control plane.

    CAREEN_BINARY=build/careen test/e2e/run.py            all of them
    test/e2e/run.py round.RoundTest outages               those of a class, or of a module
    test/e2e/run.py --part drains                         one of the parts that `make test` runs side by side

Brings up a cluster of its own with tools/testcluster, and takes it down again however the run ends. When a test
fails the logs of its replicas are kept. Debian's own Python runs it, because that is where python3-aiosmtpd is.

Many processes share a machine that may be busy. Up to two tests that failed are run once more, alone, and what they say
then counts; the first failure stays in the output. One that found careen unsafe is never forgiven.
"""

import argparse
import os
import sys
import time
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
sys.path[:0] = [FOLDER, os.path.join(ROOT, "test", "notify")]
sys.dont_write_bytecode = True

from cluster import Stopped, stop_on_signals  # noqa: E402
from harness import UNSAFE, Environment  # noqa: E402
from machines import MachinesEnvironment  # noqa: E402

# Parts for runs side by side, each on clusters of its own.
PARTS = {
    "profiles": ["test_round", "test_rolling", "test_flatcar", "test_notifications", "test_prometheus", "test_hypervisors",
                 "test_info", "test_pod_events", "test_dry_run", "test_migration", "test_signals", "test_reload", "test_service_account",
                 "test_bad_config", "test_bad_access", "test_outages", "test_failover"],
    "drains": ["test_nodemaintenance", "test_nodemaintenance_failures", "test_original_rights", "test_repairman_rights",
               "test_webhook", "test_eviction_webhook", "test_limit_webhook", "test_commands", "test_explain", "test_plan",
               "test_pause"],
    "budgets": ["test_requests", "test_requests_page", "test_one_budget"],
    "machines": ["test_machines_rollout", "test_machines_access", "test_machines", "test_machines_hosts",
                 "test_machines_original", "test_machines_hub"],
}
# What the tests of a part stand on, where it is not the one cluster of most.
ENVIRONMENTS = {"machines": MachinesEnvironment}


class Progress(unittest.TextTestResult):
    """One line a test, with the seconds it took, what it has measured, and where to look when it failed."""

    _shown = None

    def startTest(self, test):
        self._begun = time.monotonic()
        unittest.TestResult.startTest(self, test)
        self.stream.write(f"{test.id():<66} ")
        self.stream.flush()

    def _end(self, word, test=None):
        self.stream.writeln(f"{word} ({time.monotonic() - self._begun:.1f} s)")
        for remark in getattr(test, "remarks", []):
            self.stream.writeln(f"    {remark}")
        self.stream.flush()

    def addSuccess(self, test):
        unittest.TestResult.addSuccess(self, test)
        self._end("ok", test)

    def addFailure(self, test, err):
        unittest.TestResult.addFailure(self, test, err)
        self._end("FAILED")
        self._show(test)

    def addError(self, test, err):
        unittest.TestResult.addError(self, test, err)
        self._end("ERROR")
        self._show(test)

    def addSubTest(self, test, subtest, err):
        unittest.TestResult.addSubTest(self, test, subtest, err)
        if err is not None:
            self._end(f"FAILED {subtest._subDescription()}")
            self._show(test)

    def addSkip(self, test, reason):
        unittest.TestResult.addSkip(self, test, reason)
        self._end(f"skipped: {reason}")

    def _show(self, test):
        if test is self._shown:
            return
        self._shown = test
        for replica in getattr(test, "replicas", []):
            self.stream.writeln(f"    --- the end of {replica.log_path}, exit code {replica.process.poll()}")
            with open(replica.log_path, errors="replace") as file:
                for line in file.readlines()[-12:]:
                    self.stream.writeln("    " + line.rstrip()[:600])
        self.stream.flush()


MOST_AGAIN = 2


def by_environment(names):
    """The names, by the environment that their tests need."""
    found = {}
    for name in names:
        part = next((part for part, modules in PARTS.items() if name.partition(".")[0] in modules), None)
        found.setdefault(ENVIRONMENTS.get(part, Environment), []).append(name)
    return found


def run_on(environment, names, arguments):
    """Whether these tests passed, in an environment that is there for as long as they run."""
    passed = False
    try:
        environment.up(f"e2e-{os.getpid()}")
        run = unittest.TextTestRunner(verbosity=0, resultclass=Progress, failfast=arguments.failfast).run
        result = run(environment.arrange(unittest.defaultTestLoader.loadTestsFromNames(names)))
        passed = result.wasSuccessful() or run_again(result, run)
    finally:
        keep = arguments.keep_logs or not passed
        environment.down(keep)
        if keep and environment.folder:
            print(f"the logs of careen are in {environment.folder}", file=sys.stderr)
    return passed


def run_again(result, run):
    """Whether the tests that failed pass when they are run again, if that is allowed."""
    failed = result.failures + result.errors
    names = sorted({getattr(test, "test_case", test).id() for test, _ in failed})
    if len(names) > MOST_AGAIN or any(UNSAFE in text for _, text in failed):
        return False
    print(f"\n{len(names)} failed; run once more, alone: {', '.join(names)}", file=sys.stderr, flush=True)
    return run(unittest.defaultTestLoader.loadTestsFromNames(names)).wasSuccessful()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="modules, classes or methods (default: all)")
    parser.add_argument("--part", choices=PARTS, help="only these modules")
    parser.add_argument("--failfast", action="store_true", help="stop at the first failure")
    parser.add_argument("--keep-logs", action="store_true", help="keep the logs also when all went well")
    parser.add_argument("--deadline", type=int, default=1040, metavar="SECONDS",
                        help="for the whole run (default: 1040)")
    arguments = parser.parse_args()

    os.environ.setdefault("CAREEN_BINARY", os.path.join(ROOT, "build", "careen"))
    os.environ["CAREEN_BINARY"] = os.path.abspath(os.environ["CAREEN_BINARY"])
    if not os.access(os.environ["CAREEN_BINARY"], os.X_OK):
        print(f"there is no program {os.environ['CAREEN_BINARY']}; build careen first, or set CAREEN_BINARY",
              file=sys.stderr)
        return 2
    names = [name if name.startswith("test_") else "test_" + name for name in arguments.tests]
    names = names or PARTS.get(arguments.part) or sum(PARTS.values(), [])

    stop_on_signals(arguments.deadline)
    try:
        return 0 if all([run_on(*group, arguments) for group in by_environment(names).items()]) else 1
    except Stopped:
        return 1


if __name__ == "__main__":
    sys.exit(main())
