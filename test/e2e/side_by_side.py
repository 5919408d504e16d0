"""Tests that wait more than they work, in threads beside each other."""

import io
import threading
import unittest

THREADS = 8


class SideBySide(unittest.TestSuite):
    """Each test tells of itself when it is over, so that no two lines mix. No fixtures of classes or modules; what all of
    them need is prepared by a function."""

    def __init__(self, tests, prepare):
        super().__init__(tests)
        self._prepare = prepare

    def run(self, result, debug=False):
        tests, lock = list(self), threading.Lock()
        if tests:
            self._prepare()
        tests = iter(tests)

        def work():
            while True:
                with lock:
                    test = None if result.shouldStop else next(tests, None)
                if test is None:
                    return
                own = type(result)(unittest.runner._WritelnDecorator(io.StringIO()), False, 0)
                test.run(own)
                with lock:
                    _add(result, own)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return result


def _add(result, own):
    result.stream.write(own.stream.getvalue())
    result.stream.flush()
    result.testsRun += own.testsRun
    for kind in ("failures", "errors", "skipped", "expectedFailures", "unexpectedSuccesses"):
        getattr(result, kind).extend(getattr(own, kind))
    if result.failfast and not own.wasSuccessful():
        result.stop()
